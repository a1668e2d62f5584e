"""Split conformal prediction's coverage, exactly: the non-private reference of every calibrator.

The miscoverage and its bound are compared as rationals. α is the decimal that it was
written as, which the rank is computed from as well.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from flint import arb, ctx, fmpq
from scipy.special import betainc

from dpcp_audit.computed import Computation
from dpcp_audit.data.populations import Beta, Deferred, Pool, Uniform
from dpcp_audit.figures import Figure, FigureKind, Series
from dpcp_audit.mechanisms.conformal import conformal_rank
from dpcp_audit.proofs import ProofMethod
from dpcp_audit.quantities import Quantity
from dpcp_audit.stats.binomial_enclosures import beta_cdf
from dpcp_audit.stats.enclosures import at_most, decimal, ends, lower, upper

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.data.populations import Population

_ARGUMENT = (
    "The rank of the next score among n+1 exchangeable ones is uniform, ties broken at random, so "
    "that it is beyond the r-th smallest of the n others with probability 1 − r/(n+1), or less "
    "with ties."
)
_SHARP = 500
"""Levels of a pool up to which the miscoverage is summed to all digits."""


def split_miscoverage(population: Population, *, n: int, alpha: float) -> Computation:
    """Compute E[1 − F(q)] of the r-th smallest of n i.i.d. scores, against α.

    In terms of U = F(S), the r-th smallest is Beta(r, n+1−r), so that the miscoverage is
    1 − r/(n+1) without atoms, and the sum over the atoms' levels with them (Vovk 2012).
    """
    rank = conformal_rank(n, alpha=alpha)
    low, high = miscoverage_ends(population, n=n, rank=rank)
    found = Computation(
        quantity=Quantity.MISCOVERAGE,
        detail="mean",
        value=high,
        claimed=alpha,
        witness={"n": n, "alpha": alpha, "rank": rank, "population": population.name},
        note=(
            f"The rank is {rank}; without ties the miscoverage is at least α − 1/(n+1) = "
            f"{alpha - 1 / (n + 1):.4g}."
        ),
        figures=(_law_figure(rank, n, alpha),),
    )
    bounded = found.between(
        at_most("1 − r/(n+1) ≤ α", fmpq(n + 1 - rank, n + 1), decimal(alpha)),
        method=ProofMethod.CLOSED_FORM,
        argument=_ARGUMENT,
        parameters={"n": n, "alpha": alpha, "population": population.name},
    )
    return replace(bounded, lower=low, upper=min(high, bounded.evidence.upper))


def miscoverage_ends(population: Population, *, n: int, rank: int) -> tuple[float, float]:
    """Return rigorous ends of E[1 − F(q)], q the ``rank``-th smallest of n i.i.d. scores.

    Of a pool of many levels they are a few parts in a thousand apart; of a law that may have
    atoms, and is no pool, the lower one is 0.
    """
    bound = ends(fmpq(max(0, n + 1 - rank), n + 1))
    law = population.population if isinstance(population, Deferred) else population
    if rank > n or isinstance(law, Uniform | Beta):
        return bound
    if not isinstance(law, Pool):
        return 0.0, bound[1]
    levels = _levels(law)
    sharp = len(levels) <= _SHARP
    with ctx.workprec(128 if sharp else 64):
        flat = arb(2) ** (-64 if sharp else -8)
        summed = _step_integral(levels, partial(beta_cdf, a=rank, b=n + 1 - rank), flat)
    return max(lower(summed), 0.0), min(upper(summed), bound[1])


def split_overcoverage(*, n: int, alpha: float) -> Computation:
    """Compute E[F(q)] without ties, r/(n+1), against the upper bound 1−α+1/(n+1)."""
    rank = conformal_rank(n, alpha=alpha)
    compared = at_most(
        "r/(n+1) ≤ 1−α+1/(n+1)", fmpq(rank, n + 1), 1 - decimal(alpha) + fmpq(1, n + 1)
    )
    found = Computation(
        quantity=Quantity.COVERAGE,
        detail="mean",
        value=rank / (n + 1),
        claimed=1 - alpha + 1 / (n + 1),
        witness={"n": n, "alpha": alpha, "rank": rank},
        note="With ties the coverage can exceed this by the mass of the tied scores.",
        figures=(_law_figure(rank, n, alpha),),
    )
    return found.between(
        compared,
        method=ProofMethod.CLOSED_FORM,
        argument=_ARGUMENT,
        parameters={"n": n, "alpha": alpha},
    )


def _levels(pool: Pool) -> list[fmpq]:
    """Return 0 and the values that F takes, increasing to 1."""
    counts = np.unique(pool.scores, return_counts=True)[1]
    return [fmpq(int(below), pool.scores.size) for below in (0, *np.cumsum(counts))]


def _step_integral(levels: list[fmpq], reached: Callable[[fmpq], arb], flat: arb) -> arb:
    """Enclose the integral over [0, 1] of a step function that rises from 0 to 1.

    From a level to the next it is ``reached(level)``; where it rises by less than ``flat``, few
    are computed.
    """

    def between(first: int, last: int, low: arb, high: arb) -> arb:
        if high - low < flat:
            return low.union(high) * (levels[last] - levels[first])
        if last - first == 1:
            return low * (levels[last] - levels[first])
        middle = (first + last) // 2
        inside = reached(levels[middle])
        return between(first, middle, low, inside) + between(middle, last, inside, high)

    return between(0, len(levels) - 1, arb(0), arb(1))


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
