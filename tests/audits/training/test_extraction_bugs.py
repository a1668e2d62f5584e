"""A victim that tells more is found to be the easier one, and only then."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from dpcp_audit.mechanisms.dpsgd.examples import DPSGD, Poisson, digits
from dpcp_audit.words.checks import Context
from dpcp_audit.words.results import Verdict
from dpcp_ledger.training.extraction import Answers, HarderToExtract, Splits, Victim

pytestmark = pytest.mark.known_bad
PLAIN = DPSGD(
    sampling=Poisson(0.2),
    lot_size=60,
    steps=20,
    noise_multiplier=0.0,
    clip_norm=math.inf,
    learning_rate=2.0,
)
NOISY = replace(PLAIN, clip_norm=1.0, noise_multiplier=8.0)
TOLD = Victim(name="told", training=PLAIN, answers=Answers.PROBABILITIES)
HIDDEN = Victim(name="hidden", training=PLAIN, answers=Answers.LABELS)
DROWNED = Victim(name="drowned", training=NOISY, answers=Answers.LABELS)
TWIN = replace(HIDDEN, name="twin", training=replace(PLAIN, learning_rate=1.999))
"""Another training in all but law."""


@pytest.mark.parametrize(
    ("harder", "easier", "verdict"),
    [
        (TOLD, HIDDEN, Verdict.REFUTED),
        (HIDDEN, TOLD, Verdict.CONSISTENT),
        (HIDDEN, DROWNED, Verdict.REFUTED),
        (DROWNED, HIDDEN, Verdict.CONSISTENT),
        (HIDDEN, TWIN, Verdict.CONSISTENT),
    ],
)
def test_claims_true_and_false(harder, easier, verdict) -> None:
    """Twins, which win half of the repetitions or fewer, are refuted with probability 5e-8."""
    check = HarderToExtract(
        data=digits(),
        harder=harder,
        easier=easier,
        splits=Splits(trained=300, calibration=10, queries=(60,)),
    )
    context = Context(seed=0, name=f"{harder.name}-{easier.name}", significance=1e-7)
    assert check(context).verdict is verdict
