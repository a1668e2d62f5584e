"""Which search the rows of LDP-CP-L in Table 1 can come from.

Algorithm 2 stops at the first midpoint whose estimate lies in a window of width Δ: at the targets
1−α and 1−α+Δ it ends up somewhere in [1−α, 1−α+Δ] and [1−α+Δ, 1−α+2Δ], where the scores decide.
NACP's own search (``NoiseAwareLabels``) ends at its target, so that the two coverages of a data set
are Δ apart, whatever the scores are and whatever a label noise that both share adds to them.
"""

from __future__ import annotations

from typing import NamedTuple

from dpcp_audit.extensions.claims import Computation, Quantity, Table, TableColumn
from dpcp_audit.extensions.mechanisms import KaryRandomizedResponse, dkw_width
from dpcp_ledger.reproduce import ldpcp_experiments
from dpcp_ledger.reproduce.table_cells import Printed

_PLAIN, _STARRED = "LDP-CP-L", "LDP-CP-L*"


class LabelPair(NamedTuple):
    """The printed coverages of LDP-CP-L and LDP-CP-L* on a data set, and Δ_L.

    ``still`` is where the printed size of LDP-CP-L does not vary over the seeds.
    """

    rows: str
    plain: float
    starred: float
    width: float
    still: bool

    @property
    def gap(self) -> float:
        """How far the difference of the coverages is from Δ_L."""
        return abs(self.starred - self.plain - self.width)


def label_pairs(*, epsilon: float, delta: float) -> list[LabelPair]:
    """Return the ten pairs of Table 1, coverages as shares."""
    pairs: list[LabelPair] = []
    for name, entry in ldpcp_experiments.published().items():
        beta = KaryRandomizedResponse(epsilon, int(entry["classes"])).beta
        width = dkw_width(n=int(entry["n"]), beta=beta, delta=delta)
        plain, starred = (
            [Printed.parse(text) for text in entry["rows"][row].split()]
            for row in (_PLAIN, _STARRED)
        )
        for place, score in ((0, "HPS"), (2, "APS")):
            pairs.append(
                LabelPair(
                    rows=f"{name}, {score}",
                    plain=plain[place + 1].value / 100,
                    starred=starred[place + 1].value / 100,
                    width=width,
                    still=not plain[place].spread,
                )
            )
    return pairs


def search_ends_at_its_target(*, epsilon: float, delta: float, within: float) -> Computation:
    """Compute how far the coverages with and without a star are from Δ_L apart.

    Rows whose size does not vary over 100 seeds are of one threshold in all of them, which no
    estimate chose: they are shown, and left out.

    Parameters
    ----------
    within : float
        The largest distance that is allowed.
    """
    pairs = label_pairs(epsilon=epsilon, delta=delta)
    moving = [pair for pair in pairs if not pair.still]
    worst = max(moving, key=lambda pair: pair.gap)
    still = ", ".join(pair.rows for pair in pairs if pair.still)
    return Computation(
        quantity=Quantity.DIFFERENCE,
        detail=f"largest distance of the coverages' difference from Δ_L, on {len(moving)} pairs",
        value=worst.gap,
        claimed=within,
        witness={"worst": worst.rows, "pairs": len(moving), "left out": still},
        note=(
            "The printed coverages of LDP-CP-L and LDP-CP-L* are Δ_L apart, as a search gives that "
            "ends at its target: NACP's public code. Algorithm 2's window would add up to Δ_L to "
            f"either. Left out: {still}, where the size does not vary and one threshold was "
            "returned throughout, as a search does whose lowest point covers more than it is asked "
            "for. The public code of LDP-CP-L was not at hand, and what fits is no proof that it "
            "was so."
        ),
        tables=(_shown(pairs),),
    )


def _shown(pairs: list[LabelPair]) -> Table:
    numbers = {
        "LDP-CP-L %": [pair.plain for pair in pairs],
        "LDP-CP-L* %": [pair.starred for pair in pairs],
        "difference %": [pair.starred - pair.plain for pair in pairs],
        "Δ_L %": [pair.width for pair in pairs],
    }
    return Table(
        title="Printed coverages of LDP-CP-L, with and without a star",
        columns=[
            TableColumn(name="rows", texts=[pair.rows for pair in pairs]),
            *(
                TableColumn(
                    name=name,
                    texts=[f"{100 * value:.2f}" for value in values],
                    values=[100 * value for value in values],
                )
                for name, values in numbers.items()
            ),
        ],
    )
