"""The reconstruction bound holds on DP-SGD, and is not idle: the worst prior reaches it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, norm

from dpcp_audit.mechanisms.subsampled_gaussian import SubsampledGaussian
from dpcp_audit.words.checks import Context
from dpcp_audit.words.results import Verdict
from dpcp_ledger.training.examples import DPSGD, Flaw, Poisson, digits
from dpcp_ledger.training.reconstruction import Reconstruction, TraceAttack, simplex_prior

TRAININGS, ALARM = 3000, 1e-8


def attack(guarantee: SubsampledGaussian, **changes: object) -> TraceAttack:
    fields = {
        "sampling": Poisson(guarantee.sampling_rate),
        "lot_size": 100,
        "steps": guarantee.steps,
        "noise_multiplier": guarantee.noise_multiplier,
        "learning_rate": 0.1,
    }
    return TraceAttack(
        training=DPSGD(**fields | changes),
        assumed_noise=guarantee.noise_multiplier,
        known=digits().take(np.arange(8)),
    )


@pytest.mark.statistical(false_alarm=1e-08)
def test_of_two_opposite_examples_the_bound_is_attained() -> None:
    """Φ(√T/σ), the trade-off of T Gaussian steps at κ = 1/2. False-alarm probability 1e-8."""
    guarantee = SubsampledGaussian(sampling_rate=1.0, steps=4, noise_multiplier=2.0)
    exact = float(norm.cdf(1.0))
    assert guarantee.power(0.5) == pytest.approx(exact, rel=1e-3)
    prior = simplex_prior(2, n_features=64)
    hits = attack(guarantee).hits(prior, trainings=TRAININGS, rng=np.random.default_rng(11)).sum()
    assert binom.ppf(ALARM / 2, TRAININGS, exact - 0.005) <= hits
    assert hits <= binom.isf(ALARM / 2, TRAININGS, exact)


GUARANTEE = SubsampledGaussian(sampling_rate=1.0, steps=6, noise_multiplier=2.5)


@pytest.mark.known_bad
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
    check = Reconstruction(
        attack=attack(GUARANTEE, noise_multiplier=noise, flaw=flaw),
        guarantee=GUARANTEE,
        priors=tuple(simplex_prior(k, n_features=64) for k in (2, 8)),
        trainings=300,
    )
    outcome = check(Context(seed=0, name=f"twin-{noise}-{flaw}", significance=1e-7))
    assert outcome.verdict is verdict
