"""Rows of the training suite: a public training script of the thesis's setting, as it is."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from dpcp_audit.extensions.claims import ApproxDP, Computed, Row, Standing, Verdict, claims_of
from dpcp_ledger.dpskin.proof_steps import clipped_mean_budget
from dpcp_ledger.mechanisms.published_settings import as_published
from dpcp_ledger.paper import Heading
from dpcp_ledger.training.published_canary import (
    HeadFeatures,
    PublishedCanary,
    PublishedView,
    published_canary,
)

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import PrivacyGuarantee
    from dpcp_ledger.mechanisms.published_settings import PublishedTraining


_claim = claims_of("DP-SKIN", subject=Heading.TRAINED_MODELS, standing=Standing.PRACTICE)
_SECTION = "Chapter 4, by a public training script"
_TENSORS = 66
"""The number of parameter tensors of ResNet-18 with its head."""
_DELTA = 1e-5
_PRINTED = ApproxDP(0.59812, _DELTA)
_FRESH = replace(as_published, noise_seed=None)
_RIGHT = replace(_FRESH, per_example=True)
_SAYS = "The public script's training, on stand-ins for the images' features,"


def rows() -> list[Row]:
    """Return the rows; those that train run with PyTorch."""
    printed = f"has the ε that Chapter 4 prints for σ = {as_published.noise_multiplier:g}"
    right = _RIGHT.guarantee(1)
    return [
        _budget(),
        _row(
            "seed=fixed,sees=steps",
            Verdict.REFUTED,
            f"{_SAYS} {printed}; its noise is seeded with 42 in every run, and the attacker "
            "replays it.",
            PublishedCanary(settings=as_published),
            _PRINTED,
            n_samples=400,
        ),
        _row(
            "seed=fixed,sees=loss",
            Verdict.REFUTED,
            f"{_SAYS} {printed}, by membership inference on the final model alone; its noise is "
            "seeded with 42 in every run.",
            PublishedCanary(settings=as_published, view=PublishedView.LOSS),
            _PRINTED,
            n_samples=400,
        ),
        _row(
            "seed=fresh,sees=steps",
            Verdict.REFUTED,
            f"{_SAYS} {printed}, also with fresh noise in every run.",
            PublishedCanary(settings=_FRESH),
            _PRINTED,
            n_samples=400,
        ),
        _row(
            "seed=fresh,clipping=examples,sees=steps",
            Verdict.CONSISTENT,
            "Algorithm 2's clipping and noise in the same batches, with Adam twice, on features "
            "learned from other images (a stand-in for a pretrained network), spends what its "
            f"composition says: ε = {right.epsilon_at(_DELTA):.3g} at δ = {_DELTA:g}.",
            PublishedCanary(settings=_RIGHT, features=HeadFeatures.LEARNED, reach=20.0),
            right,
            n_samples=500,
        ),
    ]


def _budget() -> Row:
    training = as_published
    return Row(
        claim=_claim(
            "dpskin.as-published[budget]",
            _SECTION,
            Verdict.REFUTED,
            "The public script's training, with fresh noise, has the ε that Chapter 4 prints for "
            f"σ = {training.noise_multiplier:g}, by composition over tensors and steps.",
            "ε = √(2·log(1.25/δ))/σ",
            parameters=_fixed(training) | {"tensors": _TENSORS, "delta": _DELTA},
        ),
        check=Computed(
            partial(
                clipped_mean_budget,
                (training.epochs,),
                noise=training.noise_multiplier,
                tensors=_TENSORS,
                delta=_DELTA,
                claimed=_PRINTED.epsilon,
            )
        ),
    )


def _row(
    variant: str,
    expected: Verdict,
    statement: str,
    game: PublishedCanary,
    guarantee: PrivacyGuarantee,
    *,
    n_samples: int,
) -> Row:
    named = dict(part.split("=") for part in variant.split(","))
    promised = guarantee.parameters if expected is Verdict.REFUTED else {"delta": _DELTA}
    return Row(
        claim=_claim(
            f"dpskin.as-published[{variant}]",
            _SECTION,
            expected,
            statement,
            "TPR − e^ε·FPR ≤ δ(ε) for every ε",
            standing=Standing.CONTROL if expected is Verdict.CONSISTENT else None,
            parameters=_fixed(game.settings) | promised | named,
        ),
        check=published_canary(game, guarantee, n_samples=n_samples),
    )


def _fixed(training: PublishedTraining) -> dict[str, float]:
    return {
        "batch_size": training.batch_size,
        "epochs": training.epochs,
        "noise_multiplier": training.noise_multiplier,
    }
