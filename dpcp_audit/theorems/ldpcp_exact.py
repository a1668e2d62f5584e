"""Theorem 4 of LDP-CP without sampling: its failure probability, exactly."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from flint import arb, ctx

from dpcp_audit.mechanisms.ldpcp.window_enclosures import EnclosedSearch, enclosed_hoeffding_width
from dpcp_audit.mechanisms.ldpcp.window_law import ThresholdLaw, threshold_law
from dpcp_audit.stats.enclosures import NEGLIGIBLE, UNIT, at_most, exact
from dpcp_audit.theorems.statement import inputs_of
from dpcp_audit.theorems.theorem import outside
from dpcp_audit.words.computed import Computation
from dpcp_audit.words.figures import Figure, FigureKind, Series
from dpcp_audit.words.proofs import ProofMethod
from dpcp_audit.words.quantities import Quantity

if TYPE_CHECKING:
    from dpcp_audit.stats.enclosures import Number
    from dpcp_audit.theorems.ldpcp_coverage import ScoreTheorem
    from dpcp_audit.words.arrays import FloatArray

_ARGUMENT = (
    "Given its midpoint, a block's sum of reports is binomial, and rounds are independent: the law "
    "of the threshold is a tree of at most 2^T midpoints. F does not decrease, so that beside each "
    "midpoint of one path through the tree all thresholds fail or none does. The failure "
    "probability is a sum of products of at most T binomial tails."
)


_TINY = 1e-15
"""A δ so small that what is pruned by default is not negligible beside it."""
_BITS, _DIGITS = (96, 192, 384), 60
"""The precisions that are tried, and the relative accuracy that is enough, in bits."""
_ROUNDING = 1e-14
"""By how much a few operations on doubles may be off."""


def exact_failure(theorem: ScoreTheorem) -> Computation:
    """Compute the failure probability of Theorem 4 on one population, against δ.

    The law of the threshold is enumerated (``threshold_law``) and the coverage of each
    threshold q is F(q), so nothing is sampled. Its verdict rests on ``enclosed_failure``, where
    the population encloses its F.
    """
    law = _law(theorem)
    coverage = theorem.population.cdf(law.threshold)
    mean = float(np.sum(law.mass * coverage))
    found = Computation(
        quantity=Quantity.COVERAGE_FAILURE,
        value=law.probability(outside(coverage, theorem.bounds)),
        claimed=theorem.allowed_failure,
        slack=law.slack,
        witness=theorem.parameters | {"limits": theorem.bounds},
        note=(
            f"Mean coverage {mean:.4g}; the search misses its window with probability "
            f"{law.probability(law.missed):.3g}."
        ),
        figures=(_coverage_figure(coverage, law, theorem.bounds),),
    )
    return _enclosed(found, theorem)


def _law(theorem: ScoreTheorem) -> ThresholdLaw:
    """Return the law of the threshold; what is pruned is far less likely than a failure may be."""
    if theorem.delta > _TINY:
        return threshold_law(theorem.mechanism, theorem.population, n=theorem.n)
    prune = theorem.delta * _TINY
    return threshold_law(theorem.mechanism, theorem.population, n=theorem.n, prune=prune)


def coverage_law(theorem: ScoreTheorem) -> tuple[FloatArray, FloatArray, float]:
    """Return the coverages that are possible, their probabilities, and what is left out of 1."""
    law = _law(theorem)
    return theorem.population.cdf(law.threshold), law.mass, law.slack


def failure_probability(theorem: ScoreTheorem) -> float:
    """Compute the failure probability in floating point, at most the law's slack too low."""
    law = _law(theorem)
    return law.probability(outside(theorem.population.cdf(law.threshold), theorem.bounds))


def enclosed_failure(theorem: ScoreTheorem) -> arb:
    """Enclose the failure probability of Theorem 4 at FLINT's current precision.

    Of the algorithm in exact arithmetic, with a window as wide as Δ_S itself (see
    ``EnclosedSearch``). A window or a bound that is not Δ_S or 1−α−Δ_S rounded, as in a planted
    error, is the double that it is.

    Raises
    ------
    NotImplementedError
        If the population does not enclose its F.
    """
    search = theorem.mechanism
    formula = theorem.correction * enclosed_hoeffding_width(
        n=theorem.n - theorem.n % theorem.rounds,
        epsilon=theorem.epsilon,
        rounds=theorem.rounds,
        delta=theorem.delta,
    )
    width = arb(_unrounded(search.window_width, formula))
    law = EnclosedSearch(mechanism=search, population=theorem.population, n=theorem.n, width=width)
    least, *most = theorem.bounds.values()
    low = law.below(_unrounded(least, law.target if search.starred else law.target - width))
    high = (law.above(_unrounded(bound, law.target + 2 * width)) for bound in most)
    return sum(high, low)


def _unrounded(rounded: float, formula: Number) -> Number:
    """Return a formula's value where a double is that value rounded, else the double."""
    close = abs(rounded - float(formula)) <= _ROUNDING * max(1.0, abs(rounded))
    return formula if close else exact(rounded)


def _enclosed(found: Computation, theorem: ScoreTheorem) -> Computation:
    """Return the computation between rigorous ends, with its proof."""
    try:
        within = at_most(_failing(theorem), _narrow(theorem), found.claimed)
    except NotImplementedError:
        return found
    proved = found.between(
        within,
        method=ProofMethod.ENUMERATION,
        argument=_ARGUMENT,
        parameters=inputs_of(theorem),
    )
    return replace(proved, upper=min(within.left[1], 1.0))


def _narrow(theorem: ScoreTheorem) -> arb:
    """Enclose the failure probability to more digits than a double has.

    Where the law meets the bound with equality no precision tells the sides apart: the ball at
    the last one is what is known.
    """
    found = UNIT
    for bits in _BITS:
        with ctx.workprec(bits):
            found = enclosed_failure(theorem)
        if found < NEGLIGIBLE or found.rel_accuracy_bits() > _DIGITS:
            break
    return found


def _failing(theorem: ScoreTheorem) -> str:
    low = "1−α" if theorem.mechanism.starred else "1−α−Δ_S"
    high = " or F(q̂) > 1−α+2Δ_S" if theorem.two_sided else ""
    return f"P(F(q̂) < {low}{high}) ≤ δ"


def _coverage_figure(coverage: FloatArray, law: ThresholdLaw, bounds: dict[str, float]) -> Figure:
    order = np.argsort(coverage)
    points = coverage[order]
    below = np.minimum(1.0, np.cumsum(law.mass[order]))
    return Figure(
        kind=FigureKind.LINES,
        title="Law of the coverage, exact",
        x_label="coverage",
        y_label="P(coverage ≤ x)",
        series=[
            Series(
                name="distribution function",
                x=np.repeat(points, 2).tolist(),
                y=np.concatenate([[0.0], np.repeat(below, 2)[:-1]]).tolist(),
            )
        ],
        marks=dict(bounds),
        description=(
            "The distribution function of the coverage over calibration users and noise, "
            "computed exactly, with the bounds of the theorem as vertical lines."
        ),
    )
