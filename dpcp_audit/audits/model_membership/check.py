"""Membership inference on trained models, held against what a guarantee of the training allows.

What is certified is a mean over the targets, which are ordinary records: another record may be
easier to find, so that an attack that stays below the bound proves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit

from dpcp_audit import _validate
from dpcp_audit.audits.evidence import Evidence, EvidenceKind, Outcome, Verdict
from dpcp_audit.audits.membership import AttackResult, OperatingPoint, roc_figure
from dpcp_audit.audits.model_membership.statistics import Line, rate
from dpcp_audit.audits.model_membership.views import View

if TYPE_CHECKING:
    from dpcp_audit._types import BoolArray, FloatArray
    from dpcp_audit.audits.check import Context
    from dpcp_audit.audits.model_membership.attacks import ShadowAttack
    from dpcp_audit.audits.model_membership.cohorts import Cohort, Models
    from dpcp_audit.mechanisms.guarantees import PrivacyGuarantee

_LEVELS = expit(np.linspace(-7.0, 7.0, 57))
_EPSILONS = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
_LOW_RATES = (1e-2, 1e-3)
_SHADOWS, _PILOTS = 3 / 8, 1 / 2
_DESCRIBED = 0.05
_FIGURE = (
    "How often the attack names a target that was in a fresh model's data, against how often one "
    "that was not, over all targets. The limits of a certified point hold at 95 %; the verdict "
    "rests on TPR − e^ε·FPR and on the whole error budget."
)


class Played(NamedTuple):
    """The attack's scores of the targets, and their coins; both of shape (models, targets)."""

    scores: FloatArray
    coins: BoolArray

    def gains(self, line: Line, threshold: float) -> FloatArray:
        """Return every model's gain, where "in" is said from the threshold on."""
        return line.gains(self.scores >= threshold, self.coins)


class Held(NamedTuple):
    """A line that was chosen on pilots, and what the fresh models certify of it."""

    line: Line
    value: float
    lower: float
    upper: float
    detectable: float
    perfect: float
    """The lower limit that a perfect attack would have had."""

    @property
    def excess(self) -> float:
        """How far the certified gain lies above what is allowed; the claim is false if > 0."""
        return self.lower - self.line.allowed


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelMembership:
    """Hold a guarantee against a membership attack on trained models.

    Three eighths of the models are shadows, on which the attack is fitted; an eighth are
    pilots, which choose thresholds; the rest are fresh. Two lines TPR − e^ε·FPR ≤ δ(ε) are
    held against these, each at half of the significance: the advantage (ε = 0), and the line
    that the pilots found most telling. A true claim is refuted with probability at most the
    significance. INCONCLUSIVE only where not even a perfect attack could have refuted.

    Parameters
    ----------
    models : Models
        Trains the models. Checks of the same models share them.
    attack : ShadowAttack
    view : View
        What the attacker sees.
    guarantee : PrivacyGuarantee
        The claim, under the relation by which the models' data differ.
    n_models : int
        Models at effort 1, shadows and pilots included.
    """

    models: Models
    attack: ShadowAttack
    view: View
    guarantee: PrivacyGuarantee
    n_models: int = 1000

    def __post_init__(self) -> None:
        _validate.choice(View, view=self.view)
        _validate.integer(n_models=self.n_models, at_least=100)

    @property
    def sampled(self) -> bool:
        """The verdict takes from the error budget."""
        return True

    def __call__(self, context: Context) -> Outcome:
        """Train the models, fit the attack, and judge the guarantee by fresh ones."""
        count = context.samples(self.n_models)
        pilot, fresh = self.play(context)
        thresholds = _thresholds(pilot)
        targets = fresh.coins.shape[1]
        lines = [Line.of(self.guarantee, epsilon, targets=targets) for epsilon in _EPSILONS]
        telling, threshold = _most_telling(lines, pilot)
        share = context.significance / 2
        advantage = _hold(lines[0], thresholds["At the largest advantage"], pilot, fresh, share)
        sharpest = max(
            advantage, _hold(telling, threshold, pilot, fresh, share), key=lambda one: one.excess
        )
        if _shown(sharpest, advantage) is not advantage:
            thresholds["On the most telling line"] = threshold
        result = self._result(thresholds, fresh)
        return Outcome(
            verdict=_verdict(sharpest, advantage),
            evidence=_evidence(_shown(sharpest, advantage), context, fresh),
            witness=self.models.parameters
            | {
                "guarantee": str(self.guarantee),
                "attack": self.attack.name,
                "view": str(self.view),
                "models": count,
                "seed": context.seed,
            },
            note=self._note(result, advantage, fresh),
            figures=(replace(roc_figure(self.guarantee, result, None), description=_FIGURE),),
        )

    def play(self, context: Context) -> tuple[Played, Played]:
        """Return the fitted attack's scores of pilots and of fresh models."""
        count = context.samples(self.n_models)
        streams = replace(context, name=self.models.name, effort=1.0, significance=0.5)
        cohort = _cohort(self.models, count, streams)
        cuts = [0, round(_SHADOWS * count), round(_PILOTS * count), count]
        shadows, pilot, fresh = (cohort.part(start, stop) for start, stop in pairwise(cuts))
        score = self.attack.fit(shadows, self.view)
        return tuple(  # type: ignore[return-value]
            Played(part.compared(score(part)), part.coins) for part in (pilot, fresh)
        )

    def _result(self, thresholds: dict[str, float], fresh: Played) -> AttackResult:
        points = []
        for purpose, threshold in thresholds.items():
            said = fresh.scores >= threshold
            tpr, fpr = (
                rate(said, world, significance=_DESCRIBED) for world in (fresh.coins, ~fresh.coins)
            )
            allowed = float(self.guarantee.power(fpr.upper))
            points.append(OperatingPoint(purpose=purpose, tpr=tpr, fpr=fpr, allowed=allowed))
        curve = _candidates(fresh)
        return AttackResult(
            attack=self.attack.name,
            points=tuple(points),
            roc_fpr=_shares(fresh.scores[~fresh.coins], curve),
            roc_tpr=_shares(fresh.scores[fresh.coins], curve),
            games=int(min(fresh.coins.sum(), (~fresh.coins).sum())),
        )

    def _note(self, result: AttackResult, advantage: Held, fresh: Played) -> str:
        models, targets = fresh.scores.shape
        reached = (
            f"Attack: {result.attack}, on {models} fresh models and {targets} targets of each. "
            f"Its advantage is {advantage.value:.4g}; the claim allows "
            f"{advantage.line.allowed:.4g}"
        )
        if advantage.detectable <= 1:
            reached += f", and {advantage.detectable:.4g} would have been refuted"
        points = [
            f"{point.purpose}: TPR {point.tpr} at FPR {point.fpr}, where "
            f"{float(self.guarantee.power(min(1.0, point.fpr.value))):.4g} is allowed."
            for point in result.points[1:]
        ]
        return " ".join([f"{reached}.", *points, "Limits of rates, in brackets, hold at 95 %."])


@lru_cache(maxsize=2)
def _cohort(models: Models, count: int, streams: Context) -> Cohort:
    """Train a cohort, or return the one that an earlier check of the same run has trained."""
    return models(count, rng=streams.rng())


def _candidates(played: Played) -> FloatArray:
    """Return thresholds of many false-positive rates, the largest first."""
    outside = played.scores[~played.coins]
    return np.unique(np.quantile(outside, 1 - _LEVELS, method="inverted_cdf"))[::-1]


def _shares(scores: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Return the share of scores at or above each threshold."""
    below = np.searchsorted(np.sort(scores), thresholds, side="left")
    return np.asarray(1 - below / scores.size, dtype=np.float64)


def _thresholds(pilot: Played) -> dict[str, float]:
    """Return the thresholds of largest advantage and of low false-positive rates."""
    candidates = _candidates(pilot)
    fpr = _shares(pilot.scores[~pilot.coins], candidates)
    tpr = _shares(pilot.scores[pilot.coins], candidates)
    near = {
        f"At an FPR near {level:g}": float(candidates[np.argmin(np.abs(fpr - level))])
        for level in _LOW_RATES
    }
    return {"At the largest advantage": float(candidates[np.argmax(tpr - fpr)])} | near


def _most_telling(lines: list[Line], pilot: Played) -> tuple[Line, float]:
    """Return the line and the threshold against which a bet grows most on the pilots."""
    candidates = _candidates(pilot).tolist()
    growths = [
        [line.growth(pilot.gains(line, threshold)) for threshold in candidates] for line in lines
    ]
    best, at = np.unravel_index(np.argmax(growths), np.shape(growths))
    return lines[int(best)], candidates[int(at)]


def _hold(line: Line, threshold: float, pilot: Played, fresh: Played, significance: float) -> Held:
    gains, earlier = (played.gains(line, threshold) for played in (fresh, pilot))
    lower, upper = line.limits(gains, significance=significance, pilot=earlier)
    told = line.gains(fresh.coins, fresh.coins)
    return Held(
        line=line,
        value=float(gains.mean()),
        lower=lower,
        upper=upper,
        detectable=line.detectable(gains, significance=significance, pilot=earlier),
        perfect=line.limits(told, significance=significance, pilot=told)[0],
    )


def _verdict(sharpest: Held, advantage: Held) -> Verdict:
    if sharpest.excess > 0:
        return Verdict.REFUTED
    enough = advantage.perfect > advantage.line.allowed
    return Verdict.CONSISTENT if enough else Verdict.INCONCLUSIVE


def _shown(sharpest: Held, advantage: Held) -> Held:
    """Return the advantage, or the line that refutes where the advantage does not."""
    return sharpest if sharpest.excess > 0 >= advantage.excess else advantage


def _evidence(shown: Held, context: Context, fresh: Played) -> Evidence:
    return Evidence(
        kind=EvidenceKind.CERTIFIED,
        quantity=shown.line.quantity,
        value=shown.value,
        lower=shown.lower,
        upper=shown.upper,
        claimed=shown.line.allowed,
        confidence=1 - context.significance,
        n_samples=len(fresh.scores),
    )
