"""Certificates: from an event's counts on two neighbours to a verdict with evidence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpcp_audit.audits.loss_bounds import event_loss, log_ratio
from dpcp_audit.guarantees import ApproxDP, PureDP
from dpcp_audit.quantities import Quantity
from dpcp_audit.results import (
    Count,
    Evidence,
    EvidenceKind,
    Measure,
    Sample,
    Verdict,
)
from dpcp_audit.stats.intervals import clopper_pearson, detectable_excess
from dpcp_audit.stats.ratio_power import detectable_epsilon, power
from dpcp_audit.stats.ratio_test import RatioTest, epsilon_lower_bound

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcp_audit._types import FloatArray
    from dpcp_audit.guarantees import PrivacyGuarantee

_OF_EVENT = "of the event"
_OF_COMPLEMENT = "of the event's complement"
_LARGEST_EPSILON = 50.0
_DETECTION = 0.95
_LEAST_LOSS = 0.1
"""What stands in for twice nothing."""
_RATES = tuple(np.geomspace(1e-9, 0.5, 40))
"""An event's rates on the neighbour, among which the one that shows a loss best is looked for."""


class Certificate(StrEnum):
    """How the counts of an event are held against a claim."""

    SCORE = "score"
    """The exactly calibrated score test, for ε-DP and (ε, δ)-DP: it spends the whole level."""
    CLOPPER_PEARSON = "clopper-pearson"
    """A Clopper–Pearson box of both probabilities, for every guarantee."""

    def fits(self, guarantee: PrivacyGuarantee) -> bool:
        """Tell whether the certificate can judge the guarantee."""
        return self is Certificate.CLOPPER_PEARSON or _linear(guarantee) is not None


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

    def as_sample(self, *, any_time: bool = False) -> Sample:
        """Return the counts as evidence keeps them."""
        return Sample(
            measure=Measure.LOG_RATIO,
            counts=tuple(
                Count(of=f"the event on {of}", hits=hits, trials=self.trials, any_time=any_time)
                for of, hits in (
                    ("one input", self.successes),
                    ("its neighbour", self.neighbour_successes),
                )
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A verdict with its evidence, and what else could have been detected."""

    verdict: Verdict
    evidence: Evidence
    note: str


def certify(
    guarantee: PrivacyGuarantee,
    hits: Hits,
    *,
    significance: float,
    certificate: Certificate = Certificate.SCORE,
    complement: bool = False,
) -> Judgement:
    """Judge a claim by the counts of an event that was chosen before they were drawn.

    A true claim is refuted with probability at most ``significance``. Guarantees that the
    score test does not fit are judged by Clopper–Pearson limits. What is not refuted is
    CONSISTENT where so many trials would have refuted a loss of twice the claim with probability
    0.95, at the event that shows it best, and INCONCLUSIVE where they are too few for that.

    Parameters
    ----------
    complement : bool
        Whether the score test looks at the event's complement; chosen beforehand, too.
    """
    linear = _linear(guarantee)
    if certificate is Certificate.CLOPPER_PEARSON or linear is None:
        return _by_limits(guarantee, hits, significance)
    return _by_score(linear, hits, significance, complement=complement)


def complement_speaks_louder(guarantee: PrivacyGuarantee, pilot: Hits) -> bool:
    """Tell, from pilot counts, which of the event and its complement to test."""
    linear = _linear(guarantee)
    if linear is None:
        return False
    test = RatioTest(
        n=pilot.trials, n_prime=pilot.trials, epsilon=linear.epsilon, delta=linear.delta
    )
    other = pilot.complement()
    return test.statistic(other.successes, other.neighbour_successes) > test.statistic(
        pilot.successes, pilot.neighbour_successes
    )


def _linear(guarantee: PrivacyGuarantee) -> ApproxDP | None:
    """Return the (ε, δ) that the guarantee is, where the score test can judge it."""
    if isinstance(guarantee, PureDP):
        guarantee = ApproxDP(guarantee.epsilon, 0.0)
    if not isinstance(guarantee, ApproxDP) or guarantee.delta == 1:
        return None
    return guarantee if guarantee.epsilon <= _LARGEST_EPSILON else None


def _verdict(*, refuted: bool, shows_twice: bool) -> Verdict:
    if refuted:
        return Verdict.REFUTED
    return Verdict.CONSISTENT if shows_twice else Verdict.INCONCLUSIVE


def power_of_twice(guarantee: PrivacyGuarantee, rates: ArrayLike) -> FloatArray:
    """Return the power that the guarantee allows against two people: twice the loss of one.

    It is that of 2ε, or of 4ρ: half of the noise. Of a claim that nothing is lost, that of a
    small ε.
    """
    twice = guarantee.power(guarantee.power(rates))
    nothing = (twice <= np.asarray(rates)).all()
    return PureDP(_LEAST_LOSS).power(rates) if nothing else twice


def _by_score(claim: ApproxDP, hits: Hits, significance: float, *, complement: bool) -> Judgement:
    x, y, trials = hits.complement() if complement else hits
    test = RatioTest(n=trials, n_prime=trials, epsilon=claim.epsilon, delta=claim.delta)
    spent = significance / 1000
    refuted = test.p_value(x, y, nuisance_error=spent) <= significance
    shows = refuted or _score_shows_twice(claim, trials, significance)
    bound = epsilon_lower_bound(x, trials, y, trials, delta=claim.delta, significance=significance)
    inside = math.nextafter(claim.epsilon, math.inf)
    return Judgement(
        verdict=_verdict(refuted=refuted, shows_twice=shows),
        evidence=Evidence(
            kind=EvidenceKind.CERTIFIED,
            quantity=Quantity.EPSILON,
            at={"delta": claim.delta} if claim.delta else {},
            detail=_OF_COMPLEMENT if complement else _OF_EVENT,
            value=max(0.0, log_ratio(x / trials - claim.delta, y / trials)),
            lower=max(bound, inside) if refuted else min(max(0.0, bound), claim.epsilon),
            upper=math.inf,
            claimed=claim.epsilon,
            confidence=1 - significance,
            n_samples=2 * trials,
            sample=Hits(x, y, trials).as_sample(),
        ),
        note=_detectable(claim, (y + 0.5) / (trials + 1), trials, significance),
    )


@lru_cache(maxsize=256)
def _score_shows_twice(claim: ApproxDP, trials: int, significance: float) -> bool:
    """Tell whether so many trials refute twice the claim, at the event that shows it best."""
    test = RatioTest(n=trials, n_prime=trials, epsilon=claim.epsilon, delta=claim.delta)
    if test.p_value(trials, 0, nuisance_error=significance / 1000) > significance:
        return False  # not even an event that one input always gives, and the other never
    balanced = 1 / (1 + math.exp(2 * claim.epsilon))  # where randomised response shows it
    rates = (balanced, *_RATES)
    return any(
        power(test, p, rate, significance=significance) >= _DETECTION
        for p, rate in zip(power_of_twice(claim, rates).tolist(), rates, strict=True)
    )


@lru_cache(maxsize=256)
def limits_show_twice(guarantee: PrivacyGuarantee, trials: int, significance: float) -> bool:
    """Tell whether so many trials refute twice the claim by Clopper–Pearson limits.

    At the event that shows it best, with the neighbour's rate at its upper end.
    """
    from scipy.stats import binom  # noqa: PLC0415  (slow to import)

    each = (1 + _DETECTION) / 2  # of the neighbour's count, and of the event's
    most = np.asarray(binom.ppf(each, trials, _RATES)).tolist()
    highs = [clopper_pearson(int(y), trials, significance=significance)[1] for y in most]
    pairs = zip(
        guarantee.power(highs).tolist(), power_of_twice(guarantee, _RATES).tolist(), strict=True
    )
    return any(
        detectable_excess(allowed, trials, significance=significance, detection=each) <= p
        for allowed, p in pairs
    )


def _detectable(claim: ApproxDP, rate: float, trials: int, significance: float) -> str:
    smallest = detectable_epsilon(
        rate,
        trials,
        epsilon=claim.epsilon,
        delta=claim.delta,
        significance=significance,
        detection=_DETECTION,
    )
    if math.isinf(smallest):
        return "No violation at this event would have been refuted with probability 0.95."
    times = f" ({smallest / claim.epsilon:.3g} times the claim)" if claim.epsilon > 0 else ""
    return (
        f"A true ε of {smallest:.4g}{times} at this event would have been refuted with "
        f"probability about {_DETECTION:g}."
    )


def _by_limits(guarantee: PrivacyGuarantee, hits: Hits, significance: float) -> Judgement:
    x, y, trials = hits
    p_low, p_high = clopper_pearson(x, trials, significance=significance)
    q_high = clopper_pearson(y, trials, significance=significance)[1]
    allowed = float(guarantee.power(q_high))
    refuted = p_low > allowed
    smallest = detectable_excess(min(1.0, allowed), trials, significance=significance)
    note = f"The claim allows at most {allowed:.4g} where the neighbour has {q_high:.4g}."
    if math.isfinite(smallest):
        note += f" A probability of {smallest:.4g} would have been refuted with probability 0.95."
    return Judgement(
        verdict=_verdict(
            refuted=refuted,
            shows_twice=refuted or limits_show_twice(guarantee, trials, significance),
        ),
        evidence=_box_evidence(
            guarantee, hits, (p_low, p_high, q_high), significance=significance, refuted=refuted
        ),
        note=note,
    )


def _box_evidence(
    guarantee: PrivacyGuarantee,
    hits: Hits,
    limits: tuple[float, float, float],
    *,
    significance: float,
    refuted: bool,
) -> Evidence:
    """Return the loss that the event shows, with its certified lower end on the verdict's side."""
    p_low, _, q_high = limits
    p, q = hits.successes / hits.trials, hits.neighbour_successes / hits.trials
    loss = event_loss(guarantee)
    claimed, bound = loss.claimed_at(q_high), loss.lower_bound(p_low, q_high)
    of_ratio = loss.quantity is Quantity.EPSILON
    complement = of_ratio and log_ratio(1 - q, 1 - p) > log_ratio(p, q)
    return Evidence(
        kind=EvidenceKind.CERTIFIED,
        quantity=loss.quantity,
        at=loss.at,
        detail=_OF_COMPLEMENT if complement else _OF_EVENT,
        value=loss.of(p, q),
        lower=max(bound, math.nextafter(claimed, math.inf)) if refuted else min(bound, claimed),
        upper=math.inf,
        claimed=claimed,
        confidence=1 - significance,
        n_samples=2 * hits.trials,
        sample=(hits.complement() if complement else hits).as_sample(),
    )
