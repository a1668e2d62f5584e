"""The training suite: DP-SGD and DP-Adam under attack, and its rows of membership inference.

Its rows run with the extra ``dpsgd``.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from dpcp_audit.extensions.claims import PureDP, Relation, Row, Standing, Suite, Verdict, claims_of
from dpcp_audit.extensions.mechanisms import PCOQS, SubsampledGaussian
from dpcp_ledger.claims import training_canaries, training_extraction
from dpcp_ledger.claims.papers_suite import with_statements
from dpcp_ledger.mechanisms.histlap import SplitConformal
from dpcp_ledger.paper import Heading
from dpcp_ledger.training import require_torch, training_pipeline
from dpcp_ledger.training.examples import DPSGD, Adam, Flaw, Poisson
from dpcp_ledger.training.model_attacks import LiRA, LossThreshold, View
from dpcp_ledger.training.model_membership import ModelMembership
from dpcp_ledger.training.pipeline_canary import PipelineCanary, pipeline_canary
from dpcp_ledger.training.training_pipeline import DELTA, PIPELINE, DigitModels, PrivatePipeline

if TYPE_CHECKING:
    from dpcp_ledger.training.model_attacks import ShadowAttack


_claim = claims_of("DP-SKIN", subject=Heading.TRAINING_PIPELINE, standing=Standing.PRACTICE)
_SECTION = "Future work (membership inference)"
_ATTACKS: dict[str, tuple[ShadowAttack, str]] = {
    "loss": (LossThreshold(), "the loss threshold"),
    "lira-online": (LiRA(), "online LiRA, with the target in half of the shadow models"),
    "lira-offline": (LiRA(online=False), "offline LiRA, without the target in the shadow models"),
}
_SEEN = {
    View.PROBABILITIES: "class probabilities",
    View.SETS: "prediction sets",
}
_CONTROL_EPSILON = {View.PROBABILITIES: 1.0, View.SETS: 0.5}
_PRIVATE = SubsampledGaussian(sampling_rate=0.2, steps=60, noise_multiplier=2.0)
_TRAINING = DPSGD(
    sampling=Poisson(_PRIVATE.sampling_rate),
    lot_size=6,
    steps=_PRIVATE.steps,
    noise_multiplier=_PRIVATE.noise_multiplier,
    learning_rate=0.2,
)
_BARE = DPSGD(
    sampling=Poisson(1.0),
    lot_size=30,
    steps=50,
    noise_multiplier=0.0,
    clip_norm=math.inf,
    learning_rate=4.0,
)
_SPLIT = SplitConformal(alpha=0.1)
_MODELS = {
    model: DigitModels(
        name=f"{words} logistic regression", settings=settings, calibrator=_SPLIT, records=60
    )
    for model, words, settings in (
        ("non-private", "non-private", _BARE),
        ("dp-sgd", "DP-SGD", _TRAINING),
        ("dp-adam", "DP-Adam", replace(_TRAINING, learning_rate=0.02, optimiser=Adam())),
    )
}
_MANY, _MOST = 1600, 2800
"""Models of a private training, and of a private pipeline: what they show is little."""
_WEAK = (
    ("loss", "dp-sgd", View.PROBABILITIES),
    ("lira-online", "dp-sgd", View.SETS),
)
_LITTLE = "; a weak attack, which even without noise may show no more than is allowed"
_TITLES = {"dp-sgd": "DP-SGD", "dp-adam": "DP-Adam"}
_CANARY_CLAIM = PrivatePipeline(
    training=SubsampledGaussian(
        sampling_rate=0.5, steps=20, noise_multiplier=4.0, relation=Relation.ZERO_OUT
    ),
    calibration=PCOQS(alpha=0.1, rho=0.125, resolution=1e-6),
)
_PIPELINES = {
    model: DigitModels(
        name=f"{words} logistic regression under {calibration}",
        settings=settings,
        calibrator=calibrator,
        records=120,
        relation=Relation.SUBSTITUTION,
    )
    for model, words, calibration, settings, calibrator in (
        (
            "dp-sgd",
            "DP-SGD",
            "P-COQS",
            DPSGD(
                sampling=Poisson(PIPELINE.training.sampling_rate),
                lot_size=12,
                steps=PIPELINE.training.steps,
                noise_multiplier=PIPELINE.training.noise_multiplier,
                learning_rate=0.2,
            ),
            PIPELINE.calibration,
        ),
        ("non-private", "non-private", "split conformal", replace(_BARE, lot_size=60), _SPLIT),
    )
}


def membership_rows() -> list[Row]:
    """Return the rows of membership inference on trained models."""
    return [*_attack_rows(), *_pipeline_rows(), *_canary_rows()]


def _attack_rows() -> list[Row]:
    return [
        _row(attack, model, view)
        for model in _MODELS
        for attack, view in (
            *((attack, View.PROBABILITIES) for attack in _ATTACKS),
            ("lira-online", View.SETS),
        )
    ]


def _row(attack: str, model: str, view: View) -> Row:
    fitted, words = _ATTACKS[attack]
    private = model != "non-private"
    claimed = _CONTROL_EPSILON[view]
    weak = (attack, model, view) in _WEAK
    holds = None if weak else Verdict.CONSISTENT
    statement = (
        f"{_TITLES[model]} (ε = {_PRIVATE.epsilon_at(DELTA):.3g} at δ = {DELTA:g}): its models' "
        f"members are inferred no better than the guarantee allows, from {_SEEN[view]} by {words}"
        f"{_LITTLE if weak else ''}."
        if private
        else f"Training without noise is ε-DP, as seen through {_SEEN[view]} by {words}."
    )
    return Row(
        claim=_claim(
            f"dpskin.attacks[attack={attack},model={model},sees={view}]",
            _SECTION,
            holds if private else Verdict.REFUTED,
            statement,
            "TPR − e^ε·FPR ≤ δ(ε) for every ε",
            subject=Heading.TRAINED_MODELS if private else Heading.WITHOUT_NOISE,
            standing=Standing.PRACTICE if private else Standing.CONTROL,
            parameters={"attack": attack, "model": model, "sees": str(view)}
            | (_PRIVATE.parameters if private else {"epsilon": claimed}),
        ),
        check=ModelMembership(
            models=_MODELS[model],
            attack=fitted,
            view=view,
            guarantee=_PRIVATE if private else PureDP(claimed),
            n_models=_MANY if private else 1000,
        ),
    )


def _pipeline_rows() -> list[Row]:
    private = "A DP-SGD classifier under P-COQS"
    bare = "A classifier and its threshold without noise"
    return [
        *training_pipeline.paper.rows,
        *(
            Row(
                claim=_claim(
                    f"dpskin.pipeline[model={model},attack=lira-online,sees={view}]",
                    "Future work, with P-COQS, Proposition 1",
                    expected,
                    f"{words}: from {_SEEN[view]} LiRA infers which of two people was in, in the "
                    "training and in the calibration, no better than the composed guarantee "
                    f"allows (ε = {PIPELINE.epsilon_at(DELTA):.3g} at δ = {DELTA:g})"
                    f"{_LITTLE if expected is None else ''}.",
                    "TPR − e^ε·FPR ≤ δ(ε) for every ε",
                    subject=Heading.WITHOUT_NOISE if model == "non-private" else "",
                    standing=Standing.CONTROL if model == "non-private" else None,
                    parameters=PIPELINE.parameters
                    | {"model": model, "attack": "lira-online", "sees": str(view)},
                ),
                check=ModelMembership(
                    models=_PIPELINES[model],
                    attack=LiRA(),
                    view=view,
                    guarantee=PIPELINE,
                    n_models=n_models,
                ),
            )
            for model, words, n_models, view, expected in (
                ("dp-sgd", private, _MOST, View.PROBABILITIES, Verdict.CONSISTENT),
                ("dp-sgd", private, _MOST, View.SETS, None),
                ("non-private", bare, 1000, View.PROBABILITIES, Verdict.REFUTED),
                ("non-private", bare, 1000, View.SETS, Verdict.REFUTED),
            )
        ),
    ]


def _canary_rows() -> list[Row]:
    right = PipelineCanary(
        settings=DPSGD(
            sampling=Poisson(_CANARY_CLAIM.training.sampling_rate),
            lot_size=30,
            steps=_CANARY_CLAIM.training.steps,
            noise_multiplier=_CANARY_CLAIM.training.noise_multiplier,
        ),
        calibrator=_CANARY_CLAIM.calibration,
    )
    wrong = replace(
        right,
        settings=replace(right.settings, flaw=Flaw.HALF_NOISE),
        calibrator=replace(right.calibrator, rho=4 * right.calibrator.rho),
    )
    epsilon = _CANARY_CLAIM.epsilon_at(DELTA)
    return [
        Row(
            claim=_claim(
                f"dpskin.pipeline[audit=canary{variant}]",
                "Future work, with P-COQS, Proposition 1",
                expected,
                f"A DP-SGD classifier under P-COQS{words} keeps its composed guarantee "
                f"(ε = {epsilon:.3g} at δ = {DELTA:g}), for a person who is a canary in the "
                "training and the worst case of the calibration.",
                "TPR ≤ the largest that the composed guarantee allows at each FPR",
                subject=Heading.PLANTED_BUGS if game is wrong else "",
                standing=Standing.CONTROL if game is wrong else None,
                parameters=_CANARY_CLAIM.parameters
                | {"audit": "canary"}
                | ({"noise": "half"} if game is wrong else {}),
            ),
            check=pipeline_canary(game, _CANARY_CLAIM),
        )
        for variant, words, game, expected in (
            ("", "", right, Verdict.CONSISTENT),
            (",noise=half", " with half the noise in both", wrong, Verdict.REFUTED),
        )
    ]


def rows() -> list[Row]:
    """Return the rows of the training suite; PyTorch is asked for where they run."""
    return with_statements(
        [
            *training_canaries.rows(),
            *membership_rows(),
            *training_extraction.rows(),
            *training_canaries.paper.rows,
        ]
    )


SUITE = Suite(
    summary="DP-SGD and DP-Adam under attack; with the extra 'dpsgd'.",
    rows=rows,
    require=require_torch,
    longest=(
        "dpskin.dp-adam[audit=white-box,clipping=per-layer]",
        "dpskin.dp-sgd[audit=white-box]",
        "dpskin.pipeline[model=dp-sgd,attack=lira-online,sees=probabilities]",
        "dpskin.dp-adam[audit=white-box]",
        "dpskin.dp-sgd[audit=one-run]",
        "dpskin.dp-adam[audit=one-run]",
        "dpskin.dp-sgd[audit=black-box,inputs=out-of-distribution]",
        "dpskin.dp-adam[audit=black-box,inputs=mislabelled]",
        "dpskin.dp-sgd[audit=black-box,inputs=mislabelled]",
        "dpskin.dp-adam[audit=black-box,inputs=out-of-distribution]",
        "dpskin.attacks[attack=loss,model=dp-adam,sees=probabilities]",
        "dpskin.attacks[attack=loss,model=dp-sgd,sees=probabilities]",
    ),
)
