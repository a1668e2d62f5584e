"""Every experiment that can be reproduced, and how many of its trials are.

Of LDP-CP's Table 1, the numbers that follow from formulas. DP-SKIN's printed numbers.
"""

from __future__ import annotations

import math
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any

from dpcp_audit.extensions.claims import UsageError
from dpcp_audit.extensions.mechanisms import KaryRandomizedResponse, dkw_width
from dpcp_ledger.reproduce import pcoqs_experiments
from dpcp_ledger.reproduce.simulation import Effort
from dpcp_ledger.reproduce.table_cells import (
    Experiment,
    Form,
    Printed,
    ReproducedNumber,
    TableCell,
    printed_tables,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dpcp_ledger.reproduce.simulation import Demand, Measured


_ALPHA, _EPSILON, _DELTA, _SEEDS = 0.1, 4.0, 1e-3, 100
_UNSTATED = (
    f"δ = {_DELTA:g} is ours: the paper states none. It is the one that explains the starred rows "
    "of LDP-CP-L best."
)
_NOT_AT_HAND = "The datasets are not at hand: sizes and coverages of the other rows are not run."
_CUT = (
    "As published, a starred coverage of LDP-CP-L is 1−α+Δ_L, in %, and ε_eff is ε/√n cut, not "
    "rounded, to three decimals."
)


def published_table() -> dict[str, dict[str, Any]]:
    """Return the printed Table 1 of LDP-CP by dataset."""
    return printed_tables("ldpcp_table.toml")


def thesis_numbers() -> dict[str, dict[str, Any]]:
    """Return DP-SKIN's printed numbers: ``data``, ``budgets``, ``accuracies``, ``resnet18``."""
    return printed_tables("dpskin_tables.toml")


def _table_1(measured: Mapping[Demand, Measured]) -> list[TableCell]:  # noqa: ARG001  (none)
    return list(_cells())


def _cells() -> Iterator[TableCell]:
    for name, entry in published_table().items():
        n = int(entry["n"])
        effective = _EPSILON / math.sqrt(n)
        yield TableCell(
            row=name,
            column="ε_eff",
            printed=Printed.parse(entry["effective"]),
            as_published=ReproducedNumber(value=math.floor(effective * 1000) / 1000),
            as_written=ReproducedNumber(value=effective),
        )
        beta = KaryRandomizedResponse(_EPSILON, int(entry["classes"])).beta
        starred = 100 * (1 - _ALPHA + dkw_width(n=n, beta=beta, delta=_DELTA))
        for method, text in entry["rows"].items():
            for place, printed in enumerate(map(Printed.parse, text.split())):
                formula = method == "LDP-CP-L*" and place % 2 == 1
                yield TableCell(
                    row=f"{name}, {method}",
                    column=f"{('HPS', 'APS')[place // 2]} {('size', 'coverage %')[place % 2]}",
                    printed=Printed(
                        value=printed.value, spread=printed.spread, decimals=2, runs=_SEEDS
                    ),
                    as_published=ReproducedNumber(value=starred) if formula else None,
                    note="" if formula else _NOT_AT_HAND,
                )


_TABLE_1 = Experiment(
    id="ldpcp-table-1",
    title="Calibration at ε = 4, α = 0.1 over 100 seeds",
    source="LDP-CP, Table 1",
    compute=_table_1,
    compared=tuple(Form),
    notes=(_UNSTATED, _CUT),
)


class Extent(StrEnum):
    """The share of the published trials that is run; the values are those of ``--profile``."""

    SMOKE = "smoke"
    """Under a minute."""
    CI = "ci"
    """Minutes: naive Bayes at n = 10,000 in full, a few trials of the forests."""
    FULL = "full"
    """All 1,000 trials of everything: over an hour on two cores."""

    @property
    def effort(self) -> Effort:
        """The trials of the simulation study."""
        return {
            Extent.SMOKE: Effort(main=20, side=10, forest=2),
            Extent.CI: Effort(main=1000, side=150, forest=10),
            Extent.FULL: Effort(main=1000, side=1000, forest=1000),
        }[self]

    @classmethod
    def at(cls, effort: float) -> Extent:
        """Return the extent of a run's effort (see ``settings.Profile``)."""
        if effort < 1:
            return cls.SMOKE
        return cls.CI if effort < 10 else cls.FULL


@cache
def experiments() -> dict[str, Experiment]:
    """Return all experiments by id, in the order of the papers."""
    return {each.id: each for each in (*pcoqs_experiments.experiments(), _TABLE_1)}


def select(ids: Sequence[str]) -> list[Experiment]:
    """Return the experiments with these ids, each once; ``all`` stands for every one."""
    known = experiments()
    if "all" in ids:
        return list(known.values())
    for given in ids:
        if given not in known:
            raise UsageError(
                f"no experiment has the id {given!r}; 'dpcp-audit reproduce list' shows all"
            )
    return [known[given] for given in dict.fromkeys(ids)]
