"""The power of an event's certificate: the smallest violation, and the draws needed.

An event with the probability p′ on the neighbour is refuted with probability 0.95 from some p on;
the loss that the two show, in the claim's own parameter, is the smallest at the event that shows
it best. What bounds a Rényi divergence, or is Gaussian, is held against a Gaussian release, of
which an event shows a part only.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from dpcp_audit.audits.certificates import linear_claim
from dpcp_audit.laws.losses import loss_of
from dpcp_audit.stats.ratio_test import RatioTest, power_along, rate_detected
from dpcp_audit.stats.roots import fewest, turn
from dpcp_audit.words.guarantees import ApproxDP, PureDP
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import Power

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcp_audit.words.guarantees import PrivacyGuarantee
    from dpcp_audit.words.validate import FloatArray

_DETECTION = 0.95
_LEAST_LOSS = 0.1
"""The loss that stands in for twice a loss of 0."""
_LARGEST_EPSILON = 50.0
_HALVINGS = 16
_FEWEST = 16
_RATES = tuple(np.geomspace(1e-9, 0.5, 40).tolist())
"""An event's rates on the neighbour, among which the one that shows a loss best is looked for."""
_BEST = "at the event that shows it best"
_CUTS = np.linspace(-3, 8, 89)
"""The half-lines among which the one that shows a shift best is looked for."""
_LARGEST_SHIFT = 40.0
_RARE = 3.0
"""Hits below which an event counts as rarer than can be told."""
_TRIED = 3
"""Half-lines whose power is worked out."""
_NEAR = 1e-3
"""The relative distance over which a curve's slope is taken."""


@lru_cache(maxsize=256)
def smallest_violation(guarantee: PrivacyGuarantee, trials: int, *, significance: float) -> Power:
    """Return the smallest loss that ``certify`` refutes with probability 0.95.

    Parameters
    ----------
    trials : int
        Fresh outputs of each of the two neighbours.
    """
    linear = linear_claim(guarantee)
    if loss_of(guarantee).gaussian:
        shift = gaussian_shift(guarantee, trials, significance=significance)
        return _if_gaussian(guarantee, shift)
    if linear is None:
        rates = _rates_tested(guarantee, _RATES, trials, significance=significance)
        return _by_rates(guarantee, rates)
    return Power(
        quantity=Quantity.EPSILON,
        smallest=_least_by_score(linear, trials, significance),
        claimed=linear.epsilon,
        at={"delta": linear.delta} if linear.delta else {},
        detail=_BEST,
    )


def draws_needed(guarantee: PrivacyGuarantee, violation: float, *, significance: float) -> int:
    """Return how many fresh outputs of each neighbour refute a violation, to 1 in 500.

    Parameters
    ----------
    violation : float
        The true loss, in the unit of ``smallest_violation``: an ε, a ρ, a D_α or a μ.
    """

    def power(trials: int) -> Power:
        return smallest_violation(guarantee, trials, significance=significance)

    needed = None
    if violation > power(_FEWEST).claimed:
        needed = fewest(
            lambda trials: power(trials).smallest <= violation,
            at_least=_FEWEST,
            most=2**28,
            share=500,
        )
    if needed is None:
        raise ValueError(f"violation is too close to the claim, got {violation!r}")
    return needed


def power_of_twice(guarantee: PrivacyGuarantee, rates: ArrayLike) -> FloatArray:
    """Return the power that the guarantee allows against two people: twice the loss of one.

    Of a claim that nothing is lost, that of a small ε.
    """
    twice = guarantee.power(guarantee.power(rates))
    nothing = (twice <= np.asarray(rates)).all()
    return PureDP(_LEAST_LOSS).power(rates) if nothing else twice


def _least_by_score(claim: ApproxDP, trials: int, significance: float) -> float:
    test = RatioTest(n=trials, n_prime=trials, epsilon=claim.epsilon, delta=claim.delta)
    if test.p_value(trials, 0, nuisance_error=significance / 1000) > significance:
        return math.inf  # not even an event that one input always gives, and the other never
    loss, smallest = loss_of(claim), _LARGEST_EPSILON
    balanced = 1 / (1 + math.exp(min(_LARGEST_EPSILON, 2 * claim.epsilon)))  # randomised response
    for rate in (balanced, *_RATES[::-1]):
        most = float(ApproxDP(smallest, claim.delta).power(rate))
        p = rate_detected(
            test,
            rate,
            significance=significance,
            detection=_DETECTION,
            at_most=most,
            steps=_HALVINGS,
        )
        if math.isfinite(p):
            smallest = min(smallest, loss.of_event(p, rate))
    return smallest if smallest < _LARGEST_EPSILON else math.inf


def gaussian_shift(guarantee: PrivacyGuarantee, trials: int, *, significance: float) -> float:
    """Return the least shift μ of N(μ, 1) against N(0, 1) at which an event is refuted.

    With probability at least 0.95, by the best half-line, at ``trials`` outputs of either law;
    infinity where no shift below 40 is.
    """
    cuts: list[float] = _CUTS.tolist()
    rates = np.asarray(ndtr(-_CUTS))
    tests = list(zip(cuts, rates.tolist(), _tangents(guarantee, rates, trials), strict=True))
    along = cache(partial(power_along, significance=significance))

    def refuted(shift: float) -> bool:
        cases = [(test, float(ndtr(shift - cut)), q) for cut, q, test in tests if test]
        best = sorted(cases, key=lambda case: -_excess(*case))[:_TRIED]
        return any(along(test, q)(p) >= _DETECTION for test, p, q in best)

    if not refuted(_LARGEST_SHIFT):
        return math.inf
    return turn(refuted, 0.0, _LARGEST_SHIFT, relative=1e-4).holds


def _excess(test: RatioTest, p: float, rate: float) -> float:
    """Return by about how many standard errors a rate exceeds what a line allows."""
    spread = p * (1 - p) + test.ratio**2 * max(rate, _RARE / test.n)
    return float((p - test.ratio * rate - test.delta) / math.sqrt(spread))


def _tangents(
    guarantee: PrivacyGuarantee, rates: FloatArray, trials: int
) -> list[RatioTest | None]:
    """Return the tests of the power curve's tangents: near where it touches, those of the curve.

    None where the slope is below 1, where the complement shows more, or beyond all measure.
    """
    nearby = rates[:, None] * np.array([1 - _NEAR, 1.0, 1 + _NEAR])
    low, allowed, high = guarantee.power(np.minimum(nearby, 1.0)).T
    slopes = (high - low) / (nearby[:, 2] - nearby[:, 0])
    intercepts = np.clip(allowed - slopes * rates, 0.0, 1 - _NEAR)
    return [
        RatioTest(n=trials, n_prime=trials, epsilon=math.log(slope), delta=intercept)
        if 1 <= slope <= math.exp(_LARGEST_EPSILON)
        else None
        for slope, intercept in zip(slopes.tolist(), intercepts.tolist(), strict=True)
    ]


def _rates_tested(
    guarantee: PrivacyGuarantee, fpr: ArrayLike, trials: int, *, significance: float
) -> FloatArray:
    """Return the least p that the test of the curve refutes with probability 0.95."""
    rates = np.asarray(fpr, dtype=np.float64)
    found = [
        math.inf
        if test is None
        else rate_detected(
            test, rate, significance=significance, detection=_DETECTION, steps=_HALVINGS
        )
        for rate, test in zip(rates.tolist(), _tangents(guarantee, rates, trials), strict=True)
    ]
    return np.array(found)


def _if_gaussian(guarantee: PrivacyGuarantee, shift: float) -> Power:
    loss = loss_of(guarantee)
    return Power(
        quantity=loss.quantity,
        smallest=loss.of_shift(shift),
        claimed=loss.claimed,
        at=loss.at,
        detail="if the release is Gaussian",
    )


def _by_rates(guarantee: PrivacyGuarantee, needed: FloatArray) -> Power:
    """Return the loss of the event of which the least multiple of the claim is refuted."""
    loss, best = loss_of(guarantee), (math.inf, math.inf, math.nan)
    for rate, p in zip(_RATES, needed.tolist(), strict=True):
        if math.isfinite(p):
            shown, claimed = loss.of_event(p, rate), loss.claimed_at(rate)
            best = min(best, (shown / claimed if claimed > 0 else math.inf, shown, claimed))
    _, smallest, claimed = best
    if math.isnan(claimed):
        claimed = loss.claimed
    return Power(
        quantity=loss.quantity, smallest=smallest, claimed=claimed, at=loss.at, detail=_BEST
    )
