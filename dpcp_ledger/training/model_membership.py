"""Membership inference on trained models, compared with what a guarantee of the training allows.

What is certified is a mean over the targets, which are ordinary records: another record may be
easier to find, so that an attack that stays below the bound proves nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.extensions.audits import (
    AttackResult,
    OperatingPoint,
    power_of_twice,
    roc_figure,
)
from dpcp_audit.extensions.claims import (
    Evidence,
    EvidenceKind,
    Outcome,
    Power,
    Quantity,
    conclude,
)
from dpcp_audit.extensions.claims import validate as _validate
from dpcp_audit.extensions.mechanisms import SubsampledGaussian
from dpcp_ledger.mechanisms.private_pipeline import PrivatePipeline
from dpcp_ledger.training.attack_rates import (
    AttackScores,
    Held,
    candidates,
    choices,
    draws_needed,
    hold,
    rate,
    shares_from,
    shown_loss,
    thresholds,
)
from dpcp_ledger.training.model_attacks import View

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.extensions.claims import Context, FloatArray, PrivacyGuarantee, Relation
    from dpcp_ledger.training.model_attacks import Cohort, Models, ShadowAttack


_SHADOWS, _PILOTS = 3 / 8, 1 / 2
_BARE, _FEWEST_BARE = 1 / 4, 64
_RATES = np.linspace(0.0, 1.0, 201)
_DESCRIBED = 0.05
_FIGURE = (
    "How often the attack names a target that was in a fresh model's data, against how often one "
    "that was not, over all targets. The limits of a certified point hold at 95 %; the verdict "
    "rests on TPR − e^ε·FPR and on the whole error budget."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelMembership:
    """Test a guarantee against a membership attack on trained models.

    Three eighths of the models are shadows, on which the attack is fitted; an eighth are
    pilots, which choose thresholds; the rest are fresh. Two lines TPR − e^ε·FPR ≤ δ(ε) are
    held against these, each at half of the significance: the advantage (ε = 0), and the line
    that the pilots found most telling. A true claim is refuted with probability at most the
    significance.

    The power is what the attack, through this view and on as many fresh models, reaches against
    the same training without its noise, where that would have been refuted with probability 0.95.
    It is measured on a quarter as many models without noise, at least 64: each half has the
    attack fitted on the other. Where the models do not know how they are without noise, it is the
    smallest advantage that is refuted, which has to be that of twice the claimed loss.

    Beside the verdict stands the loss that the attack shows, in the claim's unit, with two sides.

    Parameters
    ----------
    models : Models
        Trains the models. Checks of the same models share them.
    attack : ShadowAttack
    view : View
        The attacker's view.
    guarantee : PrivacyGuarantee
        The claim, under the relation by which the models' data differ.
    n_models : int
        Models at effort 1, shadows and pilots included, and those without noise not.

    Raises
    ------
    ValueError
        If the guarantee speaks of another relation than the models.
    """

    models: Models
    attack: ShadowAttack
    view: View
    guarantee: PrivacyGuarantee
    n_models: int = 1000

    def __post_init__(self) -> None:
        _validate.choice(View, view=self.view)
        _validate.integer(n_models=self.n_models, at_least=100)
        claimed, given = _relation(self.guarantee), self.models.relation
        if claimed is not None and claimed is not given:
            raise ValueError(
                f"guarantee must be under the models' relation, {given}, got one under {claimed}"
            )

    @property
    def sampled(self) -> bool:
        """The verdict takes from the error budget."""
        return True

    def __call__(self, context: Context) -> Outcome:
        """Train the models, fit the attack, and judge the guarantee by fresh ones."""
        pilot, fresh = self.play(context)
        share = context.significance / 2
        advantage, telling = (
            hold(choice, pilot, fresh, significance=share)
            for choice in choices(self.guarantee, pilot)
        )
        sharpest = max(advantage, telling, key=lambda one: one.excess)
        shown = _shown(sharpest, advantage)
        levels = thresholds(pilot)
        if shown is not advantage:
            levels["On the most telling line"] = shown.threshold
        result = self._result(levels, fresh)
        evidence = _evidence(shown, context, fresh)
        bare = self.models.without_noise()
        return conclude(
            evidence,
            lambda: (
                advantage.smallest_violation
                if bare is None
                else self._without_noise(bare, context, len(fresh.scores))
            ),
            detect=self._twice(advantage) if bare is None else math.inf,
            witness=self.models.parameters
            | {
                "guarantee": str(self.guarantee),
                "attack": self.attack.name,
                "view": str(self.view),
                "models": context.samples(self.n_models),
                "seed": context.seed,
            },
            note=self._note(result, advantage, fresh),
            figures=(replace(roc_figure(self.guarantee, result, None), description=_FIGURE),),
            estimates=(shown_loss(self.guarantee, pilot, fresh),),
        )

    def play(self, context: Context) -> tuple[AttackScores, AttackScores]:
        """Return the fitted attack's scores of pilots and of fresh models."""
        count = context.samples(self.n_models)
        cohort = _trained(self.models, count, context)
        cuts = [0, round(_SHADOWS * count), round(_PILOTS * count), count]
        shadows, pilot, fresh = (cohort.part(start, stop) for start, stop in pairwise(cuts))
        score = self.attack.fit(shadows, self.view)
        return _played(score, pilot), _played(score, fresh)

    def _twice(self, advantage: Held) -> float:
        """Return how much larger than allowed the advantage of twice the claimed loss is."""
        twice = float((power_of_twice(self.guarantee, _RATES) - _RATES).max())
        power = advantage.smallest_violation
        return power.quantity.times_worse(twice, power.claimed, power.bound)

    def _without_noise(self, bare: Models, context: Context, n_models: int) -> Power:
        """Return the advantage without noise, where it would have been refuted."""
        pilot, fresh = self._play_halves(bare, context)
        held = choices(self.guarantee, pilot)
        reached = float(fresh.gains(*held[0]).mean())
        share = context.significance / 2
        needed = min(draws_needed(one, pilot, fresh, significance=share) for one in held)
        shown = needed <= n_models
        passed = f"the same training without noise included ({reached:.4g})"
        return Power(
            quantity=Quantity.ADVANTAGE,
            smallest=reached if shown else math.inf,
            claimed=held[0].line.allowed,
            detail="of the same training without noise" if shown else passed,
        )

    def _play_halves(self, bare: Models, context: Context) -> tuple[AttackScores, AttackScores]:
        """Return scores of each half of a smaller cohort, by the attack fitted on the other."""
        count = max(_FEWEST_BARE, round(_BARE * context.samples(self.n_models)))
        cohort = _trained(bare, count, context)
        first, second = cohort.part(0, count // 2), cohort.part(count // 2, count)
        by_first, by_second = (self.attack.fit(half, self.view) for half in (first, second))
        return _played(by_second, first), _played(by_first, second)

    def _result(self, levels: dict[str, float], fresh: AttackScores) -> AttackResult:
        points: list[OperatingPoint] = []
        for purpose, threshold in levels.items():
            said = fresh.scores >= threshold
            tpr, fpr = (
                rate(said, world, significance=_DESCRIBED) for world in (fresh.coins, ~fresh.coins)
            )
            allowed = float(self.guarantee.power(fpr.upper))
            points.append(OperatingPoint(purpose=purpose, tpr=tpr, fpr=fpr, allowed=allowed))
        curve = candidates(fresh)
        return AttackResult(
            attack=self.attack.name,
            points=tuple(points),
            roc_fpr=shares_from(fresh.scores[~fresh.coins], curve),
            roc_tpr=shares_from(fresh.scores[fresh.coins], curve),
            games=int(min(fresh.coins.sum(), (~fresh.coins).sum())),
        )

    def _note(self, result: AttackResult, advantage: Held, fresh: AttackScores) -> str:
        models, targets = fresh.scores.shape
        reached = (
            f"Attack: {result.attack}, on {models} fresh models and {targets} targets of each. "
            f"Its advantage is {advantage.value:.4g}; the claim allows "
            f"{advantage.line.allowed:.4g}"
        )
        least = advantage.smallest_violation.smallest
        if least <= 1:
            reached += f", and of such gains {least:.4g} would be refuted"
        points = [
            f"{point.purpose}: TPR {point.tpr} at FPR {point.fpr}, where "
            f"{float(self.guarantee.power(min(1.0, point.fpr.value))):.4g} is allowed."
            for point in result.points[1:]
        ]
        return " ".join([f"{reached}.", *points, "Limits of rates, in brackets, hold at 95 %."])


def _relation(guarantee: PrivacyGuarantee) -> Relation | None:
    """Return the relation that a guarantee names, if it does."""
    part = guarantee.training if isinstance(guarantee, PrivatePipeline) else guarantee
    return part.relation if isinstance(part, SubsampledGaussian) else None


def _trained(models: Models, count: int, context: Context) -> Cohort:
    """Return a cohort, whose random stream is that of its models alone."""
    streams = replace(context, name=models.name, effort=1.0, significance=0.5)
    cohort = _cohort(models, count, streams)
    if cohort.relation is not models.relation:
        raise ValueError(
            f"models must give cohorts of their relation, {models.relation}, got {cohort.relation}"
        )
    return cohort


@lru_cache(maxsize=8)
def _cohort(models: Models, count: int, streams: Context) -> Cohort:
    """Train a cohort, or return the one that an earlier check of the same run has trained."""
    return models(count, rng=streams.rng())


def _played(score: Callable[[Cohort], FloatArray], part: Cohort) -> AttackScores:
    return AttackScores(part.compared(score(part)), part.coins)


def _shown(sharpest: Held, advantage: Held) -> Held:
    """Return the advantage, or the line that refutes where the advantage does not."""
    return sharpest if sharpest.excess > 0 >= advantage.excess else advantage


def _evidence(shown: Held, context: Context, fresh: AttackScores) -> Evidence:
    return Evidence(
        kind=EvidenceKind.CERTIFIED,
        quantity=shown.line.quantity,
        at=shown.line.at,
        detail=shown.line.detail,
        value=max(0.0, shown.value),
        lower=max(0.0, shown.lower),
        upper=max(0.0, shown.upper),
        claimed=shown.line.allowed,
        confidence=1 - context.significance,
        n_samples=len(fresh.scores),
    )
