"""Rows of the training suite: the thesis's networks, clipped layer by layer, on stand-ins."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from dpcp_audit.extensions.audits import CanaryAudit
from dpcp_audit.extensions.claims import Computed, Row, Standing, Verdict, claims_of
from dpcp_audit.extensions.mechanisms import DPSGD, Adam, Augmentation, Clipping, Poisson
from dpcp_ledger.claims import training_canaries
from dpcp_ledger.headings import Heading
from dpcp_ledger.training.network_steps import (
    StandIn,
    largest_contribution,
    removed_example,
)
from dpcp_ledger.training.canary_games import WhiteBoxGame

_claim = claims_of("DP-SKIN", subject=Heading.TRAINED_MODELS, standing=Standing.PRACTICE)
_STEP = DPSGD(
    sampling=Poisson(1.0),
    lot_size=1,
    steps=1,
    noise_multiplier=0.0,
    learning_rate=1.0,
    clipping=Clipping.PER_LAYER,
    augmentation=Augmentation.MIRRORED,
)
_NAMES = {StandIn.RESNET18: "ResNet-18", StandIn.RESNET50: "ResNet-50"}
_UNITS = 28


def rows() -> list[Row]:
    """Return the rows on both networks, and of the head under canaries."""
    return [
        *(_contribution(kind) for kind in StandIn),
        *(_left_out(batch_statistics=each) for each in (True, False)),
        _head(),
    ]


def _contribution(kind: StandIn) -> Row:
    return Row(
        claim=_claim(
            f"dpskin.clipping[per-layer,network={kind}]",
            "Chapter 3, Per-layer and time-dependent parameters",
            Verdict.CONSISTENT,
            f"Clipped to C/√K in each of K layers, an image that is mirrored at random adds C at "
            f"most to a step's sum of {_NAMES[kind]}, of a quarter of its widths, on small digits.",
            "‖(g₁, …, g_K)‖ ≤ C",
            parameters={
                "network": str(kind),
                "clipping": str(_STEP.clipping),
                "augmentation": str(_STEP.augmentation),
            },
        ),
        check=Computed(partial(largest_contribution, kind, _STEP)),
    )


def _left_out(*, batch_statistics: bool) -> Row:
    """Return the row of Table 2.1's normalisation, or of the one that Opacus puts in its place."""
    kind, place, expected = (
        ("batch", ", as in Table 2.1,", Verdict.REFUTED)
        if batch_statistics
        else ("group", " in its place", Verdict.CONSISTENT)
    )
    return Row(
        claim=_claim(
            f"dpskin.clipping[normalisation={kind}]",
            "Table 2.1 and Algorithm 1",
            expected,
            f"With {kind} normalisation{place} a step of Algorithm 1 has sensitivity C: "
            "leaving one image out of its batch moves the clipped sum by C at most, on a "
            "stand-in of ResNet-18.",
            "‖Σᵢ gᵢ − Σᵢ g′ᵢ‖ ≤ C",
            parameters={"images": 8, "normalisation": kind},
        ),
        check=Computed(
            partial(
                removed_example, images_in_batch=8, removed=1, batch_statistics=batch_statistics
            )
        ),
    )


def _head() -> Row:
    settings = replace(training_canaries.training(Adam()), clipping=Clipping.PER_LAYER)
    claim = training_canaries.claimed(settings)
    audit = CanaryAudit(
        game=WhiteBoxGame(settings=settings, canaries=12 * _UNITS, hidden=_UNITS),
        claim=claim,
        runs=400,
    )
    return Row(
        claim=_claim(
            "dpskin.dp-adam[audit=white-box,clipping=per-layer]",
            "Algorithm 2, with per-layer clipping",
            Verdict.CONSISTENT,
            f"DP-Adam of the thesis's head of {_UNITS} units on 900 digits, each of its two layers "
            "clipped to C/√2, is as private as the subsampled Gaussian mechanism, composed; "
            "audited by gradient canaries, every step seen.",
            str(claim),
            parameters=claim.parameters
            | {
                "relation": str(claim.relation),
                "audit": "white-box",
                "clipping": str(settings.clipping),
            },
        ),
        check=replace(audit, witness={"settings": str(audit.game)}),
    )
