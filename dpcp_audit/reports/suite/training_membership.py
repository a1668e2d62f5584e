"""Rows of the training suite: membership inference on trained models."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpcp_audit.audits.evidence import Verdict
from dpcp_audit.audits.model_membership.attacks import AttackClassifier, LiRA, LossThreshold
from dpcp_audit.audits.model_membership.check import ModelMembership
from dpcp_audit.audits.model_membership.models import DigitModels
from dpcp_audit.audits.model_membership.views import View
from dpcp_audit.mechanisms.conformal import SplitConformal
from dpcp_audit.mechanisms.dpsgd.settings import DPSGD, Adam, Poisson
from dpcp_audit.mechanisms.guarantees import PureDP
from dpcp_audit.mechanisms.subsampled_gaussian import SubsampledGaussian
from dpcp_audit.reports.suite.row import Row, claims_of

if TYPE_CHECKING:
    from dpcp_audit.audits.model_membership.attacks import ShadowAttack
    from dpcp_audit.mechanisms.guarantees import PrivacyGuarantee

_claim = claims_of("DP-SKIN")
_SECTION = "Future work (membership inference)"
_ATTACKS: dict[str, tuple[ShadowAttack, str]] = {
    "loss": (LossThreshold(), "the loss threshold"),
    "shadow": (AttackClassifier(), "an attack classifier fitted on shadow models"),
    "lira-online": (LiRA(), "LiRA, with the target in half of the shadow models"),
    "lira-offline": (LiRA(online=False), "LiRA, without the target in the shadow models"),
}
_SEEN = {
    View.PROBABILITIES: "class probabilities",
    View.SCORE: "the conformity score of the target's label",
    View.SETS: "prediction sets",
    View.SIZE: "the sizes of prediction sets",
}
_PRIVATE = SubsampledGaussian(sampling_rate=0.2, steps=60, noise_multiplier=2.0)
_SAMPLING = Poisson(_PRIVATE.sampling_rate)
_MODELS: dict[str, DigitModels] = {
    "non-private": DigitModels(
        name="non-private logistic regression",
        settings=DPSGD(
            sampling=Poisson(1.0),
            lot_size=50,
            steps=100,
            noise_multiplier=0.0,
            clip_norm=math.inf,
            learning_rate=2.0,
        ),
        calibrator=SplitConformal(alpha=0.1),
    ),
    "dp-sgd": DigitModels(
        name="DP-SGD logistic regression",
        settings=DPSGD(
            sampling=_SAMPLING,
            lot_size=10,
            steps=_PRIVATE.steps,
            noise_multiplier=_PRIVATE.noise_multiplier,
            learning_rate=0.5,
        ),
        calibrator=SplitConformal(alpha=0.1),
    ),
    "dp-adam": DigitModels(
        name="DP-Adam logistic regression",
        settings=DPSGD(
            sampling=_SAMPLING,
            lot_size=10,
            steps=_PRIVATE.steps,
            noise_multiplier=_PRIVATE.noise_multiplier,
            learning_rate=0.05,
            optimiser=Adam(),
        ),
        calibrator=SplitConformal(alpha=0.1),
    ),
}


def rows() -> list[Row]:
    """Return the rows."""
    return [
        _row(attack, model, view)
        for model in _MODELS
        for attack, view in (
            *((attack, View.PROBABILITIES) for attack in _ATTACKS),
            *(("lira-online", view) for view in View if view is not View.PROBABILITIES),
        )
    ]


def _row(attack: str, model: str, view: View) -> Row:
    fitted, words = _ATTACKS[attack]
    guarantee: PrivacyGuarantee = _PRIVATE if model != "non-private" else PureDP(1.0)
    return Row(
        claim=_claim(
            f"dpskin.attacks[attack={attack},model={model},sees={view}]",
            _SECTION,
            Verdict.CONSISTENT if model != "non-private" else Verdict.REFUTED,
            f"{words} on {_SEEN[view]}",
            "TPR − e^ε·FPR ≤ δ(ε)",
        ),
        check=ModelMembership(models=_MODELS[model], attack=fitted, view=view, guarantee=guarantee),
    )
