"""DP-SKIN's printed accuracies that are no share of its test images (GRIM)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpcp_audit.extensions.claims import (
    Computation,
    Standing,
    Table,
    TableColumn,
    Verdict,
)
from dpcp_ledger.dpskin.printed_accuracies import (
    PrintedRate,
    accuracy_tables,
    impossible,
    total_of_test,
)
from dpcp_ledger.paper import Paper
from dpcp_ledger.reproduce import dpskin_experiments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcp_audit.extensions.claims import PlainData


paper = Paper(title="DP-SKIN", subject="DP-SKIN, the printed tables")
_BATCH = 20
"""The batch size of Chapter 4."""


@paper.claim(
    "dpskin.accuracies[grim]",
    "Sections 4.1 to 4.4",
    Verdict.REFUTED,
    "Every printed accuracy is a share of the test images.",
    standing=Standing.ERRATUM,
    parameters={"cases": 1512},
)
def shares_of_the_test_set() -> Computation:
    """Count the printed accuracies that are no share of the test images (GRIM)."""
    data = dpskin_experiments.published()["data"]
    rates = [rate for table in accuracy_tables().values() for rate in (table.plain, *table.private)]
    wrong = impossible(rates, data["test_total"])
    elsewhere = [d for d in wrong if not impossible(_rates([d]), data["validation_total"])]
    return Computation.counted(
        len(wrong),
        detail=f"of {len(rates)} printed accuracies, those that no count of images gives",
        witness={"cases": data["test_total"], "impossible": list(wrong)},
        note=(
            f"{', '.join(wrong)} % are k/{data['test_total']} for no k, rounded or cut off. "
            f"Of the {data['validation_total']} validation images, {', '.join(elsewhere) or 'none'}"
            " is one. The other "
            f"{len({r.digits for r in rates} - set(wrong))} distinct accuracies are shares of the "
            f"test images. Means over batches of {_BATCH}, the last of them smaller, do not give "
            f"{', '.join(d for d in wrong if not _mean_of_batches(d, data['test_total']))} either; "
            "other batches could."
        ),
        tables=(_grim_table(),),
    )


def _mean_of_batches(digits: str, cases: int) -> bool:
    """Return whether a mean of the batches' accuracies, with equal weights, is printed so."""
    rate = PrintedRate(digits=digits, whole=100)
    full, rest = divmod(cases, _BATCH)
    for last in range(rest + 1):
        ends = [
            _BATCH * ((rate.rate + side) * (full + 1) - Fraction(last, rest))
            for side in (-rate.unit / 2, rate.unit)
        ]
        if math.ceil(ends[0]) < ends[1]:
            return True
    return False


def _rates(digits: list[str]) -> list[PrintedRate]:
    return [PrintedRate(digits=each, whole=100) for each in digits]


_ELSEWHERE: tuple[tuple[str, int, str, int], ...] = (
    ("P-COQS, Tables 1 to 14: coverages of 1,000 runs, n = 100", 16_000, "0.9594", 1),
    ("P-COQS, Table 4: model accuracies", 1_600_000, "0.8125", 1),
    ("P-COQS, CIFAR-10: model accuracies", 10_000, "60", 100),
    ("P-COQS, CoronaHack: model accuracies", 500, "64", 100),
    ("LDP-CP, Table 1: coverages of 100 seeds, OrganSMNIST", 882_900, "84.81", 100),
)
"""The sources of a printed mean of rates: the cases behind it, one as printed, its whole."""


def _grim_table() -> Table:
    rows = list(_grim_rows())
    return Table(
        title="Printed rates, and whether their digits can be tested",
        columns=[
            TableColumn(name=name, texts=[str(row[name]) for row in rows]) for name in rows[0]
        ],
        notes=["Where the shares of so many cases lie closer than the digits, any digits pass."],
    )


def _grim_rows() -> Iterator[PlainData]:
    own: tuple[tuple[str, int, str, int], ...] = (
        ("DP-SKIN, Chapter 4: accuracies", total_of_test(), "59.83", 100),
    )
    for place, cases, digits, whole in (*own, *_ELSEWHERE):
        rate = PrintedRate(digits=digits, whole=whole)
        row: dict[str, Any] = {
            "printed": place,
            "cases": f"{cases:,}",
            "a share is": f"{whole / cases:.2g}",
            "a digit is": f"{float(rate.unit * whole):g}",
            "tested": "yes" if rate.tested(cases) else "no",
        }
        yield row
