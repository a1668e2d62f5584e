"""The loss that an attack shows by its two rates, with two sides, or known from below alone.

The loss on a pair that was bet on: two sides, from samples whose size no bet has decided.

Bets stop in view of what they have seen, so that an interval for a sample of fixed size does not
hold for the rounds of a run that was stopped. Two kinds of samples have a size that was fixed:

- After a refutation, fresh outputs: their number and the partition that they are counted in are
  functions of the past, and they are independent of it.
- Without one, those of a stage: it ran as long as planned. A quarter chooses the partition, the
  rest is counted. The interval of the stage as it was planned errs as often as stated, and where
  the bets have stopped it before its end it is not shown.

Which kind will be shown, and of which stage, is not known beforehand: the kinds have half of the
error each, and the stages share theirs.

Upper ends from traces: what the noise reveals bounds what the release does, on that pair.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpcp_audit.audits.estimates.loss_bracket import SIGNIFICANCE, claimed_loss
from dpcp_audit.laws.losses import loss_of
from dpcp_audit.stats.roc import RocCurve
from dpcp_audit.words.results import Estimate

if TYPE_CHECKING:
    from dpcp_audit.audits.search.pair_race import Bank
    from dpcp_audit.audits.search.pair_space import Candidate
    from dpcp_audit.tracing.loss_samples import LossSample
    from dpcp_audit.tracing.pair_traces import PairTrace
    from dpcp_audit.words.arrays import FloatArray
    from dpcp_audit.words.guarantees import PrivacyGuarantee
    from dpcp_audit.words.results import Evidence


class Rate(NamedTuple):
    """A rate with its limits."""

    value: float
    lower: float
    upper: float

    def __str__(self) -> str:
        return f"{self.value:.4g} [{self.lower:.4g}, {self.upper:.4g}]"


def attack_loss(
    guarantee: PrivacyGuarantee, hits: Rate, alarms: Rate, *, confidence: float, detail: str
) -> Estimate:
    """Return the loss of the event that an attack says "in", in a claim's unit.

    The lower end is of an attack that is right more often than wrong; the upper one of either.
    Where no alarm was false, the estimate is the lower end: no sample shows an infinite loss.

    Parameters
    ----------
    hits, alarms : Rate
        How often it says so where that is true, and where it is not; all limits hold at once with
        probability ``confidence``.
    detail : str
        Of which attack.

    Examples
    --------
    >>> from dpcp_audit.words.guarantees import PureDP
    >>> found = attack_loss(
    ...     PureDP(1.0),
    ...     Rate(0.7, 0.65, 0.75),
    ...     Rate(0.3, 0.26, 0.34),
    ...     confidence=0.95,
    ...     detail="of a guess",
    ... )
    >>> round(found.lower, 2), round(found.value, 2), found.upper, round(found.partition_upper, 2)
    (0.65, 0.85, inf, 1.09)
    """
    loss = loss_of(guarantee)
    lower = loss.lower_bound(hits.lower, alarms.upper)
    value = loss.lower_bound(hits.value, alarms.value)
    ways = ((hits.upper, alarms.lower), (alarms.upper, hits.lower))
    upper = max(loss.lower_bound(*ends) for ends in ways)
    return Estimate(
        quantity=loss.quantity,
        value=value if math.isfinite(value) else lower,
        lower=lower,
        upper=math.inf,
        confidence=confidence,
        at=loss.at,
        detail=f"{detail} (the whole loss may be larger)",
        partition_upper=upper,
    )


def from_below(estimate: Estimate, *, why: str) -> Estimate:
    """Return a loss of which only a lower end is known, with the reason in its detail."""
    return Estimate(
        quantity=estimate.quantity,
        value=estimate.value,
        lower=estimate.lower,
        upper=math.inf,
        confidence=estimate.confidence,
        at=estimate.at,
        detail=f"from below alone: {why}",
    )


KINDS = 2
_LEAST, _AGAIN = 600, 2
"""Outputs that measure a loss that was refuted: so many, or half as many as it took."""
_FEWEST = 100
_TAUGHT = 4
"""A quarter of a stage's outputs choose the partition that its others are counted in."""
_NO_UPPER_END = "no outputs are left for an upper end"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppedLoss:
    """The two-sided estimate of the loss in a claim's unit, at 95 %.

    Parameters
    ----------
    guarantee : PrivacyGuarantee
        The claim.
    bounds : tuple of float or None
        The interval of a bisecting target.
    stages : int
        That were planned.
    """

    guarantee: PrivacyGuarantee
    bounds: tuple[float, float] | None
    stages: int

    def of_stage(self, outputs: tuple[FloatArray, FloatArray]) -> tuple[Estimate, ...]:
        """Return the loss of the outputs of either input in a stage that ran to its end."""
        sizes = [len(each) // _TAUGHT for each in outputs]
        if min(sizes) < _FEWEST // _TAUGHT:
            return ()
        pilot, counted = (
            (outputs[0][first], outputs[1][second])
            for first, second in (
                [slice(0, size) for size in sizes],
                [slice(size, None) for size in sizes],
            )
        )
        return self._two_sided(pilot, counted, SIGNIFICANCE / KINDS / self.stages)

    def of_refuted(
        self, bank: Bank, candidate: Candidate, *, draws: int, evidence: Evidence
    ) -> tuple[Estimate, ...]:
        """Return the loss of fresh outputs, within ``draws`` in all.

        Where too few are left it is that of the evidence, which has no upper end.
        """
        size = min(draws - bank.spent, max(_LEAST, bank.spent // _AGAIN)) // 2
        if size < _FEWEST:
            return (from_below(evidence, why=_NO_UPPER_END),)
        pilot = bank.pilot(candidate)
        first, second = (bank.fresh(value, size) for value in candidate.inputs)
        return self._two_sided(pilot, (first, second), SIGNIFICANCE / KINDS)

    def _two_sided(
        self,
        pilot: tuple[FloatArray, FloatArray],
        counted: tuple[FloatArray, FloatArray],
        significance: float,
    ) -> tuple[Estimate, ...]:
        found = claimed_loss(
            self.guarantee, pilot, counted, bounds=self.bounds, significance=significance
        )
        return tuple(replace(each, confidence=1 - SIGNIFICANCE) for each in found)


_POINTS = 8
_FEWEST_LOSS = 40
_LARGEST = 600.0


def transcript_curve(trace: PairTrace, *, significance: float) -> RocCurve | None:
    """Return a curve above the ROC curve of the release; None where the traces give none.

    δ(ε) of the transcript is bounded at a few ε in either direction, which a quarter of the paths
    chooses and the others bound; by post-processing δ(ε) of the release is at most that. The
    curve errs with probability at most ``significance``.
    """
    departed = any(sample.departed.any() for sample in trace.samples)
    if not trace.followed or trace.leaks or departed or trace.forward.size < _FEWEST_LOSS:
        return None
    error = significance / (2 * _POINTS)
    forward, backward = (_bounded(sample, error) for sample in trace.samples)
    lines = [(delta, math.exp(epsilon)) for epsilon, delta in forward]
    lines += [(1 - (1 - delta) * math.exp(-eps), math.exp(-eps)) for eps, delta in backward]
    return RocCurve.below(lines)


def _bounded(sample: LossSample, error: float) -> list[tuple[float, float]]:
    """Return points (ε, δ) that the profile lies below, but for the given error each."""
    first = sample.size // 4
    pilot, rest = sample.part(slice(0, first)), sample.part(slice(first, None))
    positive = pilot.losses[(pilot.losses > 0) & (pilot.losses < _LARGEST)]
    chosen: set[float] = {0.0}
    if positive.size:
        chosen.update(np.quantile(positive, np.linspace(0.1, 1.0, _POINTS - 1)).tolist())
    return [
        (epsilon, rest.delta(epsilon, significance=2 * error).upper) for epsilon in sorted(chosen)
    ]
