"""Rows of the training suite: canary audits, and an example's part in a step, clipped by layer.

The steps are of Algorithms 1 and 2 on the thesis's ResNet-18 of a quarter of its widths,
normalised by groups, with freshly drawn weights; the images are scikit-learn's
digits, 8 × 8: stand-ins, named as such. What a step promises rests on clipping alone, not on the
network, its weights or the images.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.extensions.audits import CanaryAudit
from dpcp_audit.extensions.claims import Computation, Quantity, Row, Standing, Verdict, claims_of
from dpcp_audit.extensions.mechanisms import SubsampledGaussian
from dpcp_ledger.dpskin.proof_steps import clipped_mean_budget
from dpcp_ledger.paper import Heading, Paper
from dpcp_ledger.training.canary_games import (
    BlackBoxGame,
    CanaryStatistic,
    OutsideCanaries,
    WhiteBoxGame,
)
from dpcp_ledger.training.examples import DPSGD, SGD, Adam, Augmentation, Clipping, Flaw, Poisson

if TYPE_CHECKING:
    from torch import nn

    from dpcp_ledger.training.examples import Examples


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
    """Return the guarantee of a training under Poisson sampling."""
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
        game=BlackBoxGame(settings=settings, inputs=inputs),
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


paper = Paper(title="DP-SKIN", subject=Heading.TRAINED_MODELS, standing=Standing.PRACTICE)
paper.claim(
    "dpskin.as-published[budget]",
    "Chapter 4, by a public training script",
    Verdict.REFUTED,
    "The public script's training, with fresh noise, has the ε that Chapter 4 prints for σ = 8.1, "
    "by composition over tensors and steps.",
    "ε = √(2·log(1.25/δ))/σ",
    parameters={
        "batch_size": 20,
        "epochs": 40,
        "noise_multiplier": 8.1,
        "tensors": 66,
        "delta": 1e-5,
    },
    epochs=(40,),
    noise=8.1,
    tensors=66,
    delta=1e-5,
    claimed=0.59812,
)(clipped_mean_budget)
STEP = DPSGD(
    sampling=Poisson(1.0),
    lot_size=1,
    steps=1,
    noise_multiplier=0.0,
    learning_rate=1.0,
    clipping=Clipping.PER_LAYER,
    augmentation=Augmentation.MIRRORED,
)
_UNITS = 28
_WIDTH, _IMAGES = 16, 4
_SINGLE = 1e-5
"""Relative error of norms of a million single-precision numbers."""


def images(count: int) -> Examples:
    """Return the first digits as images, inputs of shape (count, 1, 8, 8)."""
    from dpcp_ledger.training.examples import (  # noqa: PLC0415
        Examples,
        digits,
    )

    found = digits()
    return Examples(
        inputs=found.inputs[:count].reshape(count, 1, 8, 8),
        labels=found.labels[:count],
        n_classes=found.n_classes,
    )


def network() -> nn.Module:
    """Return the stand-in of ResNet-18, of a quarter of its widths, with fresh weights."""
    from dpcp_ledger.training.networks import resnet18  # noqa: PLC0415  (needs torch)

    return resnet18(1, 10, width=_WIDTH)


@paper.claim(
    "dpskin.clipping[per-layer,network=resnet18]",
    "Chapter 3, Per-layer and time-dependent parameters",
    Verdict.CONSISTENT,
    "Clipped to C/√K in each of K layers, an image that is mirrored at random adds C at most to "
    "a step's sum of ResNet-18, of a quarter of its widths, on small digits.",
    "‖(g₁, …, g_K)‖ ≤ C",
    parameters={
        "network": "resnet18",
        "clipping": str(STEP.clipping),
        "augmentation": str(STEP.augmentation),
    },
    settings=STEP,
)
def largest_contribution(settings: DPSGD) -> Computation:
    """Compute the largest norm that one example's share of a step's sum has, in units of C.

    A training of one step without noise on each example by itself: lot size and learning rate are
    taken out of the step.
    """
    from dpcp_ledger.training.dpsgd import train  # noqa: PLC0415  (an extra)

    module, data = network(), images(_IMAGES)
    lengths: list[float] = []
    scale = settings.learning_rate / settings.lot_size

    def measure(step: Any) -> None:
        lengths.append(float((step.after - step.before).norm()) / scale)

    for place in range(_IMAGES):
        alone = data.take(np.array([place]))
        train(module, alone, settings, rng=place, observer=measure)
    parameters = sum(p.numel() for p in module.parameters())
    return Computation(
        quantity=Quantity.RATIO,
        detail="largest norm of an example's share of the sum over C",
        value=max(lengths) / settings.clip_norm,
        claimed=1.0,
        error=_SINGLE,
        witness={"network": "resnet18", "parameters": parameters, "norms": lengths},
        note=(
            f"A stand-in of {parameters:,} parameters, with random weights, on {_IMAGES} digits of "
            "8 × 8 pixels: no pretrained weights and no skin images are at hand. Unclipped, the "
            "gradients are longer; each layer is clipped to C/√K."
        ),
    )


def removed_example(*, images_in_batch: int, removed: int, batch_statistics: bool) -> Computation:
    """Compute how far the clipped sum moves when one image leaves its batch, in units of C.

    Each image's gradient is clipped to C = 1. With batch statistics, it depends on the others.

    Parameters
    ----------
    removed : int
        Images that are left out, one at a time: the first ones.
    """
    import torch  # noqa: PLC0415  (an extra)

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        module = network()
        if batch_statistics:
            _normalise_by_batches(module)
        data = images(images_in_batch)
        whole = _clipped_sum(module, data)
        moved = [
            float((whole - _clipped_sum(module, data.take(_all_but(images_in_batch, each)))).norm())
            for each in range(removed)
        ]
    return Computation(
        quantity=Quantity.RATIO,
        detail="largest change of the clipped sum over C",
        value=max(moved),
        claimed=1.0,
        error=_SINGLE,
        witness={"images": images_in_batch, "batch_statistics": batch_statistics, "moved": moved},
        note=(
            "Batch normalisation computes each image's gradient from all images of the batch: "
            "whoever leaves it changes every clipped gradient."
            if batch_statistics
            else "Normalised by groups, the other images' gradients do not change."
        ),
    )


for _normalised, _place, _batches, _expected in (
    ("batch", ", as in Table 2.1,", True, Verdict.REFUTED),
    ("group", " in its place", False, Verdict.CONSISTENT),
):
    paper.claim(
        f"dpskin.clipping[normalisation={_normalised}]",
        "Table 2.1 and Algorithm 1",
        _expected,
        f"With {_normalised} normalisation{_place} a step of Algorithm 1 has sensitivity C: "
        "leaving one image out of its batch moves the clipped sum by C at most, on a "
        "stand-in of ResNet-18.",
        "‖Σᵢ gᵢ − Σᵢ g′ᵢ‖ ≤ C",
        parameters={"images": 8, "normalisation": _normalised},
        images_in_batch=8,
        removed=1,
        batch_statistics=_batches,
    )(removed_example)


def _all_but(count: int, place: int) -> Any:
    return np.delete(np.arange(count), place)


def _normalise_by_batches(module: nn.Module) -> None:
    """Replace every group normalisation by batch normalisation."""
    from torch import nn  # noqa: PLC0415  (an extra)

    for name, child in module.named_children():
        if isinstance(child, nn.GroupNorm):
            setattr(module, name, nn.BatchNorm2d(child.num_channels, track_running_stats=False))
        else:
            _normalise_by_batches(child)


def _clipped_sum(module: nn.Module, data: Examples) -> Any:
    """Return the sum over the batch of each image's gradient, clipped to norm 1."""
    import torch  # noqa: PLC0415  (an extra)

    inputs = torch.as_tensor(np.asarray(data.inputs), dtype=torch.float32)
    labels = torch.as_tensor(np.asarray(data.labels), dtype=torch.long)
    losses = torch.nn.functional.cross_entropy(module(inputs), labels, reduction="none")
    parameters = list(module.parameters())
    total: Any = 0
    for loss in losses:
        parts = torch.autograd.grad(loss, parameters, retain_graph=True)
        gradient = torch.cat([part.flatten() for part in parts])
        total = total + gradient / max(1.0, float(gradient.norm()))
    return total


_HEAD = replace(training(Adam()), clipping=Clipping.PER_LAYER)
_ACCOUNTED = claimed(_HEAD)
_GAME = WhiteBoxGame(settings=_HEAD, canaries=12 * _UNITS, hidden=_UNITS)
paper.tested(
    "dpskin.dp-adam[audit=white-box,clipping=per-layer]",
    "Algorithm 2, with per-layer clipping",
    Verdict.CONSISTENT,
    f"DP-Adam of the thesis's head of {_UNITS} units on 900 digits, each of its two layers "
    "clipped to C/√2, is as private as the subsampled Gaussian mechanism, composed; "
    "audited by gradient canaries, every step seen.",
    str(_ACCOUNTED),
    parameters=_ACCOUNTED.parameters
    | {"relation": str(_ACCOUNTED.relation), "audit": "white-box", "clipping": str(_HEAD.clipping)},
    check=CanaryAudit(game=_GAME, claim=_ACCOUNTED, runs=400, witness={"settings": str(_GAME)}),
)
