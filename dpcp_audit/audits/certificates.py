"""Certificates: from an event's counts on two neighbours to a verdict, or to the loss shown.

A claim is exceeded by most standard errors at an event of middling probability; what is left of a
loss after the error is taken off is often largest far out, where the neighbour hardly ever goes.

Power: an event with the probability p′ on the neighbour is refuted with probability 0.95 from some
p on; the loss that the two show, in the claim's own parameter, is the smallest at the event that
shows it best. Rényi and Gaussian claims are compared with a Gaussian release, of which an event
shows a part only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from dpcp_audit.audits.search.event_search import Event
from dpcp_audit.laws.losses import linear_claim, log_ratio, loss_of
from dpcp_audit.stats.curve_test import CurveTest
from dpcp_audit.stats.rates import clopper_pearson
from dpcp_audit.stats.ratio_test import RatioTest, epsilon_lower_bound, power_along, rate_detected
from dpcp_audit.stats.roots import turn, turn_by_factor
from dpcp_audit.words.evidence import of_loss, refutes
from dpcp_audit.words.guarantees import ApproxDP, PureDP
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import Count, Evidence, Measure, Power, Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike

    from dpcp_audit.audits.search.event_search import Feature
    from dpcp_audit.laws.losses import Loss
    from dpcp_audit.words.guarantees import PrivacyGuarantee
    from dpcp_audit.words.results import PlainData
    from dpcp_audit.words.validate import FloatArray


_OF_EVENT = "of the event"
_OF_COMPLEMENT = "of the event's complement"
_LARGEST_EPSILON = 50.0
_RESOLUTION = 0.01
"""The relative resolution of a loss that is found by inversion of a test."""
_NOTHING = 1e-3
_WIDEST = 0.99


class Hits(NamedTuple):
    """Counts of an event among ``trials`` outputs of each of two neighbours."""

    successes: int
    neighbour_successes: int
    trials: int

    def complement(self) -> Hits:
        """Return the counts of the complement, which is likelier on the other input."""
        return Hits(
            self.trials - self.neighbour_successes, self.trials - self.successes, self.trials
        )

    @property
    def rates(self) -> tuple[float, float]:
        """The event's rates, for estimates: none of a count stands for half of one, as does all.

        So that the loss which they show is finite: no number of outputs shows an infinite one.
        """
        most = self.trials - 0.5
        first, second = (
            min(max(count, 0.5), most) / self.trials
            for count in (self.successes, self.neighbour_successes)
        )
        return first, second

    def as_sample(self) -> Sample:
        """Return the counts as evidence keeps them."""
        return Sample(
            measure=Measure.LOG_RATIO,
            counts=tuple(
                Count(of=f"the event on {of}", hits=hits, trials=self.trials)
                for of, hits in (
                    ("one input", self.successes),
                    ("its neighbour", self.neighbour_successes),
                )
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Evidence from fresh outputs, and what it says beside its numbers.

    Parameters
    ----------
    held : dict
        The facts from the fresh outputs that are to stand in the witness, as plain data.
    """

    evidence: Evidence
    note: str = ""
    held: PlainData = field(default_factory=dict[str, Any])

    @property
    def refuted(self) -> bool:
        """True if the claim is refuted."""
        return refutes(self.evidence)


def certify(
    guarantee: PrivacyGuarantee,
    hits: Hits,
    *,
    significance: float,
    complement: bool = False,
) -> Judgement:
    """Judge a claim by the counts of an event that was chosen before they were drawn.

    A true claim is refuted with probability at most ``significance``, and with nearly as much
    where it holds with equality. What the counts would have refuted is told by
    ``smallest_violation``.

    Parameters
    ----------
    complement : bool
        True if the score test looks at the event's complement; chosen beforehand, too.
    """
    linear = linear_claim(guarantee)
    if linear is None:
        return _by_curve(guarantee, hits, significance)
    return _by_score(linear, hits, significance, complement=complement)


def prefers_complement(guarantee: PrivacyGuarantee, pilot: Hits) -> bool:
    """Tell, from pilot counts, which of the event and its complement to test."""
    linear = linear_claim(guarantee)
    if linear is None:
        return False
    test = RatioTest(
        n=pilot.trials, n_prime=pilot.trials, epsilon=linear.epsilon, delta=linear.delta
    )
    other = pilot.complement()
    return test.statistic(other.successes, other.neighbour_successes) > test.statistic(
        pilot.successes, pilot.neighbour_successes
    )


def _by_score(claim: ApproxDP, hits: Hits, significance: float, *, complement: bool) -> Judgement:
    x, y, trials = hits.complement() if complement else hits
    p, q = Hits(x, y, trials).rates
    test = RatioTest(n=trials, n_prime=trials, epsilon=claim.epsilon, delta=claim.delta)
    p_value = test.p_value(x, y, nuisance_error=significance / 1000)
    return Judgement(
        evidence=of_loss(
            Quantity.EPSILON,
            log_ratio(p - claim.delta, q),
            epsilon_lower_bound(x, trials, y, trials, delta=claim.delta, significance=significance),
            refuted=p_value <= significance,
            at={"delta": claim.delta} if claim.delta else {},
            detail=_OF_COMPLEMENT if complement else _OF_EVENT,
            claimed=claim.epsilon,
            confidence=1 - significance,
            n_samples=2 * trials,
            sample=Hits(x, y, trials).as_sample(),
        )
    )


def _by_curve(guarantee: PrivacyGuarantee, hits: Hits, significance: float) -> Judgement:
    """Return the loss that the event shows, and the largest that its counts refute."""
    p, q = hits.rates
    loss = loss_of(guarantee)
    p_value = _curve_p_value(guarantee, hits, significance)
    return Judgement(
        evidence=of_loss(
            loss.quantity,
            loss.of_event(p, q),
            _largest_refuted(loss, hits, significance),
            refuted=p_value <= significance,
            at=loss.at,
            detail=_OF_EVENT,
            claimed=loss.claimed_at(q),
            confidence=1 - significance,
            n_samples=2 * hits.trials,
            sample=hits.as_sample(),
        ),
        note=(
            f"The claim allows a probability of at most {float(guarantee.power(q)):.4g}, if it is "
            f"{q:.4g} on the neighbour."
        ),
    )


def _curve_p_value(guarantee: PrivacyGuarantee, hits: Hits, significance: float) -> float:
    x, y, trials = hits
    test = CurveTest(n=trials, n_prime=trials, curve=guarantee.power)
    return test.p_value(x, y, nuisance_error=significance / 1000)


def _largest_refuted(loss: Loss, hits: Hits, significance: float) -> float:
    """Return the largest loss that the counts refute, to 1 %; 0 where none is.

    It is looked for from where a box of two limits refutes, each at the level that makes it the
    size of the test if the two counts matter alike, and along a line in the normal quantiles.
    """
    x, y, trials = hits
    quantile = -float(ndtri(significance))
    side = _side(quantile)
    p_low, _ = clopper_pearson(x, trials, significance=side)
    _, q_high = clopper_pearson(y, trials, significance=side)
    start, shown = loss.lower_bound(p_low, q_high), loss.of_event(*hits.rates)
    if not 0 < start < math.inf:
        return 0.0

    def exceeds(value: float) -> float:
        """Return by how many normal quantiles the counts exceed the level; refuted if >= 0."""
        p_value = _curve_p_value(loss.allowing(value), hits, significance)
        return -float(ndtri(p_value)) - quantile

    root, beyond = math.sqrt(start), exceeds(start)
    slope = (math.sqrt(shown) - root) / max(quantile + beyond, _NOTHING)
    guess = max(root + slope * beyond, root / 2) ** 2
    return _turn_near(lambda value: exceeds(value) < 0, guess)


def _side(quantile: float) -> float:
    """Return the error of each of two intervals that part where their difference is so large."""
    return min(_WIDEST, 2 * float(ndtr(-quantile / math.sqrt(2))))


def _turn_near(fails: Callable[[float], bool], guess: float) -> float:
    """Return the largest value, to 1 %, at which a condition does not hold; 0 if that is tiny."""
    step, low, high = 1 + _RESOLUTION, guess / (1 + _RESOLUTION / 2), guess
    while fails(low):
        low, high, step = low / step, low, step**2
        if low <= _NOTHING * guess:
            return 0.0
    if high == guess:
        high = low * step
        while not fails(high):
            low, high, step = high, high * step, step**2
    return turn_by_factor(fails, low, high, ratio=1 + _RESOLUTION).fails


_RANKS = np.unique(np.geomspace(1, 2**17, 60).astype(np.int64))
_SURE = 3.0
_DIGITS = 1
"""Decimals of a half-line's end, relative to the spread of the outputs."""
_CAUTION = 0.5
"""The weight of the pilot's own variance, which reduces an event's promise."""
_UNSEEN = 1.0
"""Hits on the neighbour beside those of the pilot: the luckiest of many events looks rarest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundingEvent:
    """The event that promises to certify the largest loss.

    Parameters
    ----------
    event : Event
    swapped : bool
        True if the event is the likelier one on the neighbour.
    refutes : bool
        True if it refutes the claim as good as surely: with three standard errors to spare.
    """

    event: Event
    swapped: bool
    refutes: bool


def bounding_event(
    guarantee: PrivacyGuarantee,
    event: Event,
    samples: tuple[FloatArray, FloatArray],
    *,
    trials: int,
    significance: float,
) -> BoundingEvent | None:
    """Return the event with the largest bound to come among some: the given one, and half-lines.

    Parameters
    ----------
    event : Event
        Whose feature the half-lines are of.
    samples : tuple of ndarray
        Pilot outputs on the input and on its neighbour.
    trials : int
        Fresh outputs of each of the two that will certify.

    Returns
    -------
    BoundingEvent or None
        None where no event promises any loss.
    """
    loss, found = _loss_of_event(guarantee), (-math.inf, event, False, 0.0, 0.0)
    values = event.feature(samples[0]), event.feature(samples[1])
    size, outside = len(values[0]), replace(event, inside=~event.inside)
    caution = math.sqrt(1 + _CAUTION * trials / size)

    def bound(p: float, q: float, level: float, share: float = 1.0) -> float:
        value, radius = _promised(loss, p, q, trials, level)
        return value - share * radius

    for candidate in (event, outside, *_half_lines(event.feature, values)):
        inside = [_inside(candidate, value) for value in values]
        for swapped in (False, True):
            p, q = inside[::-1] if swapped else inside
            q += _UNSEEN / size
            if p > q and (reached := bound(p, q, significance, caution)) > found[0]:
                found = reached, candidate, swapped, p, q
    largest, chosen, swapped, p, q = found
    if largest <= 0:
        return None
    stricter = float(ndtr(float(ndtri(significance)) - _SURE))
    refutes = bound(p, q, stricter) > loss_of(guarantee).claimed_at(q)
    return BoundingEvent(event=chosen, swapped=swapped, refutes=refutes)


def _loss_of_event(guarantee: PrivacyGuarantee) -> Callable[[float, float], float]:
    """Return the loss that an event shows, its complement left aside where a test does so."""
    linear = linear_claim(guarantee)
    if linear is None:
        return loss_of(guarantee).of_event
    delta = linear.delta
    return lambda p, q: max(0.0, log_ratio(p - delta, q))


def _promised(
    loss: Callable[[float, float], float], p: float, q: float, trials: int, level: float
) -> tuple[float, float]:
    """Return a loss, and about how far below it the bound lies that counts at their means certify.

    The distances of the two rates' limits are added in squares.
    """
    counts = np.minimum(trials, np.rint([p * trials, q * trials])).astype(np.int64)
    low, high = clopper_pearson(counts, trials, significance=min(2 * level, _WIDEST))
    limits = (float(low[0]), q), (p, float(high[1]))
    value = loss(p, q)
    one, other = (loss(a, b) if a > b else 0.0 for a, b in limits)
    return value, math.hypot(value - one, value - other)


def _inside(event: Event, values: FloatArray) -> float:
    """Return the share of a feature's values that lie in an event of it."""
    cells = np.searchsorted(event.cuts, values, side="left")
    return float(event.inside[cells].mean())


def _half_lines(feature: Feature, values: tuple[FloatArray, FloatArray]) -> Iterator[Event]:
    """Yield half-lines that begin at some ranks from either end of the two samples."""
    low, high = np.quantile(values[0], [0.25, 0.75], method="inverted_cdf")
    spread = high - low if np.isfinite(low) and np.isfinite(high) else 0.0
    digits = _DIGITS - math.floor(math.log10(spread)) if spread > 0 else None
    cuts: set[float] = set()
    for sample in values:
        ordered = np.sort(sample)
        ranks = _RANKS[ordered.size > _RANKS]
        ends = np.concatenate([ordered[ranks - 1], ordered[-ranks - 1]])
        ends = ends[np.isfinite(ends)]
        cuts |= set((ends if digits is None else np.round(ends, digits)).tolist())
    for cut in sorted(cuts):
        for inside in ([True, False], [False, True]):
            yield Event(np.array([cut]), np.array(inside), feature)


_DETECTION = 0.95
_LEAST_LOSS = 0.1
"""The loss that stands in for twice a loss of 0."""
_HALVINGS = 16
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
        return _by_rates(guarantee, trials, significance)
    return Power(
        quantity=Quantity.EPSILON,
        smallest=_least_by_score(linear, trials, significance),
        claimed=linear.epsilon,
        at={"delta": linear.delta} if linear.delta else {},
        detail=_BEST,
    )


def power_of_twice(guarantee: PrivacyGuarantee, rates: ArrayLike) -> FloatArray:
    """Return the power that the guarantee allows against two people: twice the loss of one.

    Of a claim that nothing is lost, that of a small ε.
    """
    twice = guarantee.power(guarantee.power(rates))
    nothing = (twice <= np.asarray(rates)).all()
    return PureDP(_LEAST_LOSS).power(rates) if nothing else twice


def _detected(test: RatioTest, rate: float, significance: float, at_most: float = 1.0) -> float:
    return rate_detected(test, rate, significance=significance, at_most=at_most, steps=_HALVINGS)


def _least_by_score(claim: ApproxDP, trials: int, significance: float) -> float:
    test = RatioTest(n=trials, n_prime=trials, epsilon=claim.epsilon, delta=claim.delta)
    if test.p_value(trials, 0, nuisance_error=significance / 1000) > significance:
        return math.inf  # not even an event that one input always gives, and the other never
    loss, smallest = loss_of(claim), _LARGEST_EPSILON
    balanced = 1 / (1 + math.exp(min(_LARGEST_EPSILON, 2 * claim.epsilon)))  # randomised response
    for rate in (balanced, *_RATES[::-1]):
        most = float(ApproxDP(smallest, claim.delta).power(rate))
        p = _detected(test, rate, significance, most)
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


def _if_gaussian(guarantee: PrivacyGuarantee, shift: float) -> Power:
    loss = loss_of(guarantee)
    return Power(
        quantity=loss.quantity,
        smallest=loss.of_shift(shift),
        claimed=loss.claimed,
        at=loss.at,
        detail="if the release is Gaussian",
    )


def _by_rates(guarantee: PrivacyGuarantee, trials: int, significance: float) -> Power:
    """Return the loss of the event of which the least multiple of the claim is refuted.

    With probability 0.95, by the test of the curve.
    """
    loss, best = loss_of(guarantee), (math.inf, math.inf, math.nan)
    for rate, test in zip(_RATES, _tangents(guarantee, np.array(_RATES), trials), strict=True):
        p = math.inf if test is None else _detected(test, rate, significance)
        if math.isfinite(p):
            shown, claimed = loss.of_event(p, rate), loss.claimed_at(rate)
            best = min(best, (shown / claimed if claimed > 0 else math.inf, shown, claimed))
    _, smallest, claimed = best
    if math.isnan(claimed):
        claimed = loss.claimed
    return Power(
        quantity=loss.quantity, smallest=smallest, claimed=claimed, at=loss.at, detail=_BEST
    )
