"""Certificates: from an event's counts on two neighbours to a verdict with evidence."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from scipy.special import ndtr, ndtri

from dpcp_audit.laws.losses import log_ratio, loss_of
from dpcp_audit.stats.curve_test import CurveTest
from dpcp_audit.stats.intervals import clopper_pearson
from dpcp_audit.stats.ratio_test import RatioTest, epsilon_lower_bound
from dpcp_audit.stats.roots import turn_by_factor
from dpcp_audit.words.evidence import of_loss, refutes
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import Count, Evidence, Measure, Sample

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.laws.losses import Loss
    from dpcp_audit.words.guarantees import ApproxDP, PrivacyGuarantee
    from dpcp_audit.words.results import PlainData

_OF_EVENT = "of the event"
_OF_COMPLEMENT = "of the event's complement"
_LARGEST_EPSILON = 50.0
_RESOLUTION = 0.01
"""Of a loss that is found by inversion of a test, relatively."""
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
        What was learned from the fresh outputs and is to stand in the witness, as plain data.
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
    ``event_power.smallest_violation``.

    Parameters
    ----------
    complement : bool
        Whether the score test looks at the event's complement; chosen beforehand, too.
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


def linear_claim(guarantee: PrivacyGuarantee) -> ApproxDP | None:
    """Return the (ε, δ) that the guarantee is, where the score test can judge it."""
    linear = loss_of(guarantee).linear
    if linear is None or linear.delta == 1 or linear.epsilon > _LARGEST_EPSILON:
        return None
    return linear


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
            f"The claim allows at most {float(guarantee.power(q)):.4g} where the neighbour has "
            f"{q:.4g}."
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
