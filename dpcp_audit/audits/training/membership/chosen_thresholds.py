"""Thresholds and lines that pilots choose, and what fresh models certify of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit

from dpcp_audit.audits.estimates.attack_loss import attack_loss
from dpcp_audit.audits.estimates.loss_bracket import SIGNIFICANCE
from dpcp_audit.audits.loss_bounds import event_loss
from dpcp_audit.audits.training.membership.attack_rates import RateLine, rate, shares

if TYPE_CHECKING:
    from dpcp_audit._types import BoolArray, FloatArray
    from dpcp_audit.guarantees import PrivacyGuarantee
    from dpcp_audit.results import Estimate, Power

_LEVELS = expit(np.linspace(-7.0, 7.0, 57))
_EPSILONS = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
_LOW_RATES = (1e-2, 1e-3)
LARGEST = "At the largest advantage"
_ERRORS = 2.0
"""Standard errors that a threshold's rates have to part by, in the pilots."""


class AttackScores(NamedTuple):
    """The attack's scores of the targets, and their coins; both of shape (models, targets)."""

    scores: FloatArray
    coins: BoolArray

    def gains(self, line: RateLine, threshold: float) -> FloatArray:
        """Return every model's gain, where "in" is said from the threshold on."""
        return line.gains(self.scores >= threshold, self.coins)


class ChosenThreshold(NamedTuple):
    """A line, and the threshold from which on "in" is said."""

    line: RateLine
    threshold: float


class Held(NamedTuple):
    """A line and a threshold that pilots chose, and what fresh models certify of them."""

    line: RateLine
    threshold: float
    value: float
    lower: float
    upper: float
    smallest_violation: Power

    @property
    def excess(self) -> float:
        """How far the certified gain lies above what is allowed; the claim is false if > 0."""
        return self.lower - self.line.allowed


def candidates(played: AttackScores) -> FloatArray:
    """Return thresholds of many false-positive rates and of none, the largest first."""
    outside = played.scores[~played.coins]
    levels = np.unique(np.quantile(outside, 1 - _LEVELS, method="inverted_cdf"))
    return np.append(levels, np.nextafter(outside.max(), np.inf))[::-1]


def shares_from(scores: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Return the share of scores at or above each threshold."""
    below = np.searchsorted(np.sort(scores), thresholds, side="left")
    return np.asarray(1 - below / scores.size, dtype=np.float64)


def thresholds(pilot: AttackScores) -> dict[str, float]:
    """Return the thresholds of largest advantage and of low false-positive rates."""
    levels = candidates(pilot)
    fpr = shares_from(pilot.scores[~pilot.coins], levels)
    tpr = shares_from(pilot.scores[pilot.coins], levels)
    near = {
        f"At an FPR near {level:g}": float(levels[np.argmin(np.abs(fpr - level))])
        for level in _LOW_RATES
    }
    return {LARGEST: float(levels[np.argmax(tpr - fpr)])} | near


def shown_loss(guarantee: PrivacyGuarantee, pilot: AttackScores, fresh: AttackScores) -> Estimate:
    """Return the loss in a claim's unit that the attack shows, by its mean rates over the targets.

    A guarantee's power curve is concave: the mean rates lie below it, where those of every target
    do. The pilots choose the threshold, by what they certify themselves, roughly.
    """
    said = fresh.scores >= _largest_loss(guarantee, pilot)
    hits, alarms = (
        rate(said, chosen, significance=SIGNIFICANCE / 2) for chosen in (fresh.coins, ~fresh.coins)
    )
    return attack_loss(
        guarantee,
        hits,
        alarms,
        confidence=1 - SIGNIFICANCE,
        detail="of the attack at one threshold, mean over the targets",
    )


def _largest_loss(guarantee: PrivacyGuarantee, pilot: AttackScores) -> float:
    """Return the threshold whose rates in the pilots show most; else that of the advantage."""
    loss = event_loss(guarantee)

    def least(threshold: float) -> float:
        said = pilot.scores >= threshold
        hits, alarms = shares(said, pilot.coins), shares(said, ~pilot.coins)
        room = _ERRORS / np.sqrt(len(hits))
        p_low, q_high = hits.mean() - room * hits.std(), alarms.mean() + room * alarms.std()
        return loss.lower_bound(float(np.clip(p_low, 0, 1)), float(np.clip(q_high, 0, 1)))

    levels: list[float] = [thresholds(pilot)[LARGEST], *candidates(pilot).tolist()]
    return max(levels, key=least)


def _most_telling(lines: list[RateLine], pilot: AttackScores) -> ChosenThreshold:
    """Return the line and the threshold against which a bet grows most on the pilots."""
    levels = candidates(pilot).tolist()
    growths = [
        [line.growth(pilot.gains(line, threshold)) for threshold in levels] for line in lines
    ]
    best, at = np.unravel_index(np.argmax(growths), np.shape(growths))
    return ChosenThreshold(lines[int(best)], levels[int(at)])


def choices(
    guarantee: PrivacyGuarantee, pilot: AttackScores
) -> tuple[ChosenThreshold, ChosenThreshold]:
    """Return what is held: the advantage, and the line that the pilots find most telling."""
    targets = pilot.coins.shape[1]
    lines = [RateLine.of(guarantee, epsilon, targets=targets) for epsilon in _EPSILONS]
    return ChosenThreshold(lines[0], thresholds(pilot)[LARGEST]), _most_telling(lines, pilot)


def hold(
    choice: ChosenThreshold, pilot: AttackScores, fresh: AttackScores, *, significance: float
) -> Held:
    """Certify a line at its threshold on fresh models."""
    line, threshold = choice
    gains, earlier = (played.gains(line, threshold) for played in (fresh, pilot))
    lower, upper = line.limits(gains, significance=significance, pilot=earlier)
    return Held(
        line=line,
        threshold=threshold,
        value=float(gains.mean()),
        lower=lower,
        upper=upper,
        smallest_violation=line.smallest_violation(gains, significance=significance, pilot=earlier),
    )


def draws_needed(
    choice: ChosenThreshold, pilot: AttackScores, fresh: AttackScores, *, significance: float
) -> float:
    """Return how many models like the fresh ones are refuted with probability 0.95."""
    gains, earlier = (played.gains(*choice) for played in (fresh, pilot))
    return choice.line.draws_needed(gains, significance=significance, pilot=earlier)
