"""Trainings with too little noise give their examples away; the correct twin does not."""

from __future__ import annotations

import numpy as np
import pytest

from dpcp_audit.mechanisms.dpsgd.examples import DPSGD, Flaw, Poisson, digits
from dpcp_audit.mechanisms.dpsgd.subsampled_gaussian import SubsampledGaussian
from dpcp_audit.words.checks import Context
from dpcp_audit.words.results import Verdict
from dpcp_ledger.training.reconstruction import Reconstruction, TraceAttack, simplex_prior

pytestmark = pytest.mark.known_bad
GUARANTEE = SubsampledGaussian(sampling_rate=1.0, steps=6, noise_multiplier=2.5)


@pytest.mark.parametrize(
    ("noise", "flaw", "verdict"),
    [
        (2.5, Flaw.NONE, Verdict.CONSISTENT),
        (2.5, Flaw.HALF_NOISE, Verdict.REFUTED),
        (2.5, Flaw.NOISE_DIVIDED_TWICE, Verdict.REFUTED),
        (0.0, Flaw.NONE, Verdict.REFUTED),
    ],
)
def test_twins(noise, flaw, verdict) -> None:
    """The correct twin is refuted with probability at most 1e-7; its success is the bound's."""
    training = DPSGD(
        sampling=Poisson(1.0),
        lot_size=100,
        steps=6,
        noise_multiplier=noise,
        learning_rate=0.1,
        flaw=flaw,
    )
    known = digits().take(np.arange(8))
    check = Reconstruction(
        attack=TraceAttack(training=training, assumed_noise=2.5, known=known),
        guarantee=GUARANTEE,
        priors=tuple(simplex_prior(k, n_features=64) for k in (2, 8)),
        trainings=300,
    )
    outcome = check(Context(seed=0, name=f"twin-{noise}-{flaw}", significance=1e-7))
    assert outcome.verdict is verdict
