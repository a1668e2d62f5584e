"""Rows of the training suite: canary audits."""

from __future__ import annotations

from dataclasses import replace

from dpcp_audit.extensions.audits import CanaryAudit
from dpcp_audit.extensions.claims import Row, Standing, Verdict, claims_of
from dpcp_audit.extensions.mechanisms import DPSGD, SGD, Adam, Flaw, Poisson, SubsampledGaussian
from dpcp_ledger.paper import Heading
from dpcp_ledger.training.canary_games import (
    BlackBoxGame,
    CanaryStatistic,
    OutsideCanaries,
    WhiteBoxGame,
)

_claim = claims_of("DP-SKIN", subject=Heading.PLANTED_BUGS)
_RATE, _LOT, _STEPS, _NOISE = 60 / 900, 60, 100, 1.083
"""Accounted at ε = 4.00, δ = 1e-5 under add/remove neighbours."""
_DATA = "on 900 digits, lots of 60, 100 steps"


def rows() -> list[Row]:
    """Return the rows: trainings as they should be, and with planted bugs."""
    return [*_trainings(), *_flaws()]


def training(optimiser: SGD | Adam | None = None) -> DPSGD:
    """Return a training that is accounted at ε = 4, δ = 1e-5."""
    return DPSGD(
        sampling=Poisson(_RATE),
        lot_size=_LOT,
        steps=_STEPS,
        noise_multiplier=_NOISE,
        learning_rate=0.01 if isinstance(optimiser, Adam) else 1.0,
        optimiser=optimiser or SGD(),
    )


def claimed(settings: DPSGD) -> SubsampledGaussian:
    """Return what a training under Poisson sampling promises."""
    return SubsampledGaussian(
        sampling_rate=settings.sampling.rate,
        steps=settings.steps,
        noise_multiplier=settings.noise_multiplier,
    )


def white_box(optimiser: SGD | Adam, *, runs: int) -> CanaryAudit:
    """Return the audit of many runs of logistic regression, watched at every step."""
    settings = training(optimiser)
    return CanaryAudit(
        game=WhiteBoxGame(settings=settings, canaries=280), claim=claimed(settings), runs=runs
    )


def one_run(optimiser: SGD | Adam, *, hidden: int = 1755) -> CanaryAudit:
    """Return the audit of a single run of a wide head, 28 canaries a unit."""
    settings = training(optimiser)
    return CanaryAudit(
        game=WhiteBoxGame(settings=settings, canaries=28 * hidden, hidden=hidden),
        claim=claimed(settings),
        claim_share=0.1,
        epsilon_share=0.02,
    )


def black_box(optimiser: SGD | Adam, inputs: OutsideCanaries, *, runs: int) -> CanaryAudit:
    """Return the audit by the final model's losses on inputs of the attacker's choice."""
    rate = 0.05 if isinstance(optimiser, Adam) else 4.0  # outgrows the initial weights
    harder = 4.0 if inputs is OutsideCanaries.MISLABELLED else 1.0
    settings = replace(training(optimiser), learning_rate=harder * rate)
    return CanaryAudit(
        game=BlackBoxGame(settings=settings, inputs=inputs, canaries=12, references=64),
        claim=claimed(settings),
        runs=runs,
        side_by_side=256,
        claim_share=0.25,
        epsilon_share=0.05,
    )


def flawed(flaw: Flaw, optimiser: SGD | Adam | None = None) -> CanaryAudit:
    """Return the audit of a small training with a planted bug, or without."""
    settings = replace(
        training(optimiser or (Adam() if flaw is Flaw.UNNOISED_MOMENTS else SGD())),
        sampling=Poisson(0.1),
        lot_size=20,
        steps=30,
        flaw=flaw,
    )
    game = WhiteBoxGame(
        settings=settings,
        canaries=120,
        examples=200,
        norm=10.0 if flaw in _UNCLIPPED else 1.0,
        attack=_ATTACKS.get(flaw, CanaryStatistic.LIKELIHOOD),
    )
    audit = CanaryAudit(game=game, claim=claimed(settings), runs=256)
    if flaw is not Flaw.DIVIDES_BY_SIZE:
        return audit
    alone = replace(game, canaries=1, examples=20)
    return replace(audit, game=alone, claim_share=0.4, runs=1000, side_by_side=100)


_UNCLIPPED = (Flaw.NO_CLIPPING, Flaw.CLIPPED_AFTER_AVERAGING)
_ATTACKS = {
    Flaw.FIXED_NOISE_SEED: CanaryStatistic.REPLAYED_NOISE,
    Flaw.UNNOISED_MOMENTS: CanaryStatistic.WEIGHT_SCALE,
    Flaw.DIVIDES_BY_SIZE: CanaryStatistic.UPDATE_SCALE,
}


def _trainings() -> list[Row]:
    return [
        _row(
            f"dpskin.{name}[{_variant(variant)}]",
            Verdict.CONSISTENT,
            f"{words} {_DATA} is as private as the subsampled Gaussian mechanism, composed; {how}.",
            check,
            variant,
            subject=f"{words}, audited by canaries",
        )
        for name, words, optimiser, runs in (
            ("dp-sgd", "DP-SGD", SGD(), 860),
            ("dp-adam", "DP-Adam", Adam(), 250),
        )
        for variant, how, check in (
            (
                {"audit": "white-box"},
                "audited by gradient canaries in many runs of logistic regression, every step seen",
                white_box(optimiser, runs=runs),
            ),
            (
                {"audit": "one-run"},
                "audited by many gradient canaries in a single run of a wide head",
                one_run(optimiser),
            ),
            *(
                (
                    {"audit": "black-box", "inputs": str(inputs)},
                    f"audited by {inputs} inputs and the final model's losses on them",
                    black_box(optimiser, inputs, runs=256),
                )
                for inputs in OutsideCanaries
            ),
        )
    ]


def _flaws() -> list[Row]:
    rows: list[Row] = []
    for flaw in Flaw:
        if flaw is Flaw.NONE:
            continue
        name = "dp-adam" if flaw is Flaw.UNNOISED_MOMENTS else "dp-sgd"
        variant = {"flaw": flaw.name.lower().replace("_", "-")}
        row = _row(
            f"dpskin.{name}[{_variant(variant)}]",
            Verdict.REFUTED,
            f"A training with a planted bug ({flaw}) is as private as a correct one.",
            flawed(flaw),
            variant,
            standing=Standing.CONTROL,
        )
        rows.append(row)
    return rows


def _variant(parameters: dict[str, str]) -> str:
    return ",".join(f"{name}={value}" for name, value in parameters.items())


def _row(
    id_: str,
    expected: Verdict,
    statement: str,
    check: CanaryAudit,
    variant: dict[str, str],
    *,
    subject: str = "",
    standing: Standing = Standing.PAPER,
) -> Row:
    described = replace(check, witness={"settings": str(check.game)})
    claim = _claim(
        id_,
        "Algorithms 1 and 2",
        expected,
        statement,
        str(check.claim),
        subject=subject,
        standing=standing,
        parameters=check.claim.parameters | {"relation": str(check.claim.relation)} | variant,
    )
    return Row(claim=claim, check=described)
