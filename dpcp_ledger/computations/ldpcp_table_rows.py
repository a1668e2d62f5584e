"""How Algorithm 3 as printed can give the rows of Table 1 that lie far below 90 %.

The shape of the table gives it away: starred rows whose coverage does not vary (97.75 ± .06), and
plain ones below 1−α that vary much (84.81 ± 4.48). So it is where scores jump: no midpoint has a
coverage between some a < 1−α and b > 1−α+Δ. Then the search for 1−α misses its window whenever the
estimate at b does, and returns its last midpoint, on the lower side of the jump; that for 1−α+Δ
has b in its window.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.extensions.claims import Computation, Quantity, Table, TableColumn
from dpcp_audit.extensions.laws import atoms
from dpcp_audit.extensions.mechanisms import LDPCPScores, hoeffding_width, threshold_law
from dpcp_ledger.reproduce import ldpcp_experiments
from dpcp_ledger.reproduce.table_cells import Printed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


_PLAIN, _STARRED = "LDP-CP-S", "LDP-CP-S*"
_ALPHA, _EPSILON = 0.1, 4.0
_GRID = 10_000
_STEPS = (-0.01, -0.005, 0.0, 0.005)
"""Where a is tried around what a law on two points of the printed moments has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Jump:
    """Coverages ``low`` and ``high`` on both sides of a jump, and what the search makes of them.

    ``mean`` and ``spread`` are those of the plain calibration, ``starred`` the other's mean, all
    exact; ``gap`` is their largest distance from the printed ones.
    """

    low: float
    high: float
    mean: float
    spread: float
    starred: float
    gap: float


def best_jump(dataset: str, score: str, *, rounds: int, delta: float) -> Jump:
    """Return the jump at which Algorithm 3 comes nearest to a pair of printed rows."""
    entry = ldpcp_experiments.published()[dataset]
    place = 1 if score == "HPS" else 3
    plain, starred = (_printed(entry["rows"][row].split()[place]) for row in (_PLAIN, _STARRED))
    width = hoeffding_width(n=int(entry["n"]), epsilon=_EPSILON, rounds=rounds, delta=delta)
    law_of_two = plain[0] - plain[1] ** 2 / (starred[0] - plain[0])
    fits: list[Jump] = []
    for step in _STEPS:
        low, high = round(law_of_two + step, 4), starred[0]
        (mean, spread), (other, _) = (
            _moments(int(entry["n"]), rounds, width, (low, high), starred=each)
            for each in (False, True)
        )
        gap = max(abs(mean - plain[0]), abs(spread - plain[1]), abs(other - high))
        fits.append(Jump(low=low, high=high, mean=mean, spread=spread, starred=other, gap=gap))
    return min(fits, key=lambda fit: fit.gap)


def explained_rows(
    cases: Sequence[tuple[str, str]], *, rounds: int, delta: float, within: float
) -> Computation:
    """Compute how far Algorithm 3 as printed, at the best jumps, is from printed coverages.

    Parameters
    ----------
    cases : sequence of tuple of str
        Data sets and scores.
    within : float
        The largest distance of a mean or a spread that is allowed.
    """
    fits = {case: best_jump(*case, rounds=rounds, delta=delta) for case in cases}
    worst = max(fits, key=lambda case: fits[case].gap)
    return Computation(
        quantity=Quantity.DIFFERENCE,
        detail="largest distance of a mean coverage, or its spread, from the printed one",
        value=fits[worst].gap,
        claimed=within,
        witness={"rows": [list(case) for case in cases], "worst": list(worst)},
        note=(
            "On scores that jump over the window, as an over-confident classifier's do, Algorithm "
            "3 as printed gives both rows, in mean and in spread: it returns its last midpoint "
            "where every estimate misses. The paper states neither T nor δ, and others fit, too; "
            "such scores are not admissible for so few rounds. The upper end of the last bracket "
            "would have covered 1−α."
        ),
        tables=(_fits(fits),),
    )


def _printed(text: str) -> tuple[float, float]:
    cell = Printed.parse(text)
    return cell.value / 100, (cell.spread or 0.0) / 100


def _moments(
    n: int, rounds: int, width: float, jump: tuple[float, float], *, starred: bool
) -> tuple[float, float]:
    """Return the mean and the spread of F at the threshold, exactly, for a jump just below 1/2."""
    mechanism = LDPCPScores(
        alpha=_ALPHA, epsilon=_EPSILON, rounds=rounds, window_width=width, starred=starred
    )
    below, above = (round(_GRID * share) for share in jump)
    # the first midpoint, 1/2, is above the jump, and the last of those that follow it below
    law = atoms(
        [0.0, 0.5 - 2.0 ** -(rounds + 1), 1.0],
        np.array([below, above - below, _GRID - above]),
        name="jump",
    )
    released = threshold_law(mechanism, law, n=n)
    coverage = np.asarray(law.cdf(released.threshold))
    mean = float(released.mass @ coverage)
    return mean, math.sqrt(max(0.0, float(released.mass @ (coverage - mean) ** 2)))


def _fits(fits: dict[tuple[str, str], Jump]) -> Table:
    shown: dict[str, Callable[[Jump], float]] = {
        "jump from %": lambda fit: fit.low,
        "to %": lambda fit: fit.high,
        "mean %": lambda fit: fit.mean,
        "± %": lambda fit: fit.spread,
        "starred mean %": lambda fit: fit.starred,
    }
    return Table(
        title="Coverages of LDP-CP-S on scores with a jump, exact",
        columns=[
            TableColumn(name="rows", texts=[", ".join(case) for case in fits]),
            *(
                TableColumn(
                    name=name,
                    texts=[f"{100 * read(fit):.2f}" for fit in fits.values()],
                    values=[100 * read(fit) for fit in fits.values()],
                )
                for name, read in shown.items()
            ),
        ],
    )
