"""Split conformal prediction's coverage, exactly: the non-private reference of every calibrator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betainc

from dpcp_audit.computed import Computation
from dpcp_audit.data.populations import Deferred, Pool
from dpcp_audit.figures import Figure, FigureKind, Series
from dpcp_audit.mechanisms.conformal import conformal_rank
from dpcp_audit.quantities import Quantity

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray
    from dpcp_audit.data.populations import Population


def split_miscoverage(population: Population, *, n: int, alpha: float) -> Computation:
    """Compute E[1 − F(q)] of the r-th smallest of n i.i.d. scores, against α.

    In terms of U = F(S), the r-th smallest is Beta(r, n+1−r), so that the miscoverage is
    1 − r/(n+1) without atoms, and the sum over the atoms' levels with them (Vovk 2012).
    """
    rank = conformal_rank(n, alpha=alpha)
    levels = _levels(population)
    value = 1 - rank / (n + 1) if levels is None else _mean_miscoverage(levels, rank, n)
    atoms = "" if levels is None else ", summed over the pool's levels"
    return Computation(
        quantity=Quantity.MISCOVERAGE,
        detail="mean",
        value=value,
        claimed=alpha,
        covers=f"the law of the coverage is Beta(r, n+1−r){atoms}.",
        witness={"n": n, "alpha": alpha, "rank": rank, "population": population.name},
        note=(
            f"The rank is {rank}; without ties the miscoverage is at least α − 1/(n+1) = "
            f"{alpha - 1 / (n + 1):.4g}."
        ),
        figures=(_law_figure(rank, n, alpha),),
    )


def split_overcoverage(*, n: int, alpha: float) -> Computation:
    """Compute E[F(q)] without ties, r/(n+1), against the upper bound 1−α+1/(n+1)."""
    rank = conformal_rank(n, alpha=alpha)
    return Computation(
        quantity=Quantity.COVERAGE,
        detail="mean",
        value=rank / (n + 1),
        claimed=1 - alpha + 1 / (n + 1),
        covers="without ties the law of the coverage is Beta(r, n+1−r), whatever the scores.",
        witness={"n": n, "alpha": alpha, "rank": rank},
        note="With ties the coverage can exceed this by the mass of the tied scores.",
        figures=(_law_figure(rank, n, alpha),),
    )


def _levels(population: Population) -> FloatArray | None:
    """Return the values that F takes at the atoms, increasing to 1; None without atoms."""
    if isinstance(population, Deferred):
        return _levels(population.population)
    if isinstance(population, Pool):
        return population.cdf(np.unique(population.scores))
    return None


def _mean_miscoverage(levels: FloatArray, rank: int, n: int) -> float:
    if rank > n:
        return 0.0
    reached = betainc(rank, n + 1 - rank, np.concatenate([[0.0], levels]))
    return float(np.sum((1 - levels) * np.diff(reached)))


def _law_figure(rank: int, n: int, alpha: float) -> Figure:
    grid = np.linspace(max(0.0, 1 - 3 * alpha), 1.0, 201)
    below = betainc(rank, max(n + 1 - rank, 1e-9), grid)
    return Figure(
        kind=FigureKind.LINES,
        title=f"Law of the coverage of one calibrated set, n = {n}",
        x_label="coverage",
        y_label="P(coverage ≤ x)",
        series=[Series(name="Beta(r, n+1−r)", x=grid.tolist(), y=below.tolist())],
        marks={"1−α": 1 - alpha},
        description="The distribution function of the coverage over calibration sets, exact.",
    )
