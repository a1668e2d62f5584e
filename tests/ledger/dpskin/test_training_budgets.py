"""The thesis's table of ε, and its formula with epochs for steps, against accountants."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from dpcp_audit.laws.laws import GaussianPair
from dpcp_audit.words.results import Verdict
from dpcp_ledger.dpskin.training_budgets import (
    Sampling,
    Training,
    formula_budget,
    printed_formula,
    table_budget,
)

THESIS = Training(n=10_015, batch_size=20, epochs=9, noise_multiplier=8.1)
PRINTED = {8.1: 0.59812, 8.9: 0.54436}


def test_the_table_holds_with_room_under_poisson_sampling_and_fails_without_amplification() -> None:
    poisson, shuffled = (
        table_budget(THESIS, PRINTED, delta=1e-5, sampling=sampling) for sampling in Sampling
    )
    assert (poisson.verdict, shuffled.verdict) == (Verdict.PROVED, Verdict.REFUTED)
    exact = GaussianPair(3 / 8.1).epsilon_at(1e-5)
    assert (shuffled.value, shuffled.slack) == (pytest.approx(exact, abs=1e-9), 0.0)
    accounted = replace(THESIS, noise_multiplier=8.1).guarantee(sampling=Sampling.SHUFFLED)
    assert accounted.epsilon_below(1e-5) <= exact <= accounted.epsilon_at(1e-5)
    assert poisson.evidence.detail.endswith(", from below")
    assert poisson.value == pytest.approx(0.047, abs=0.001)
    assert poisson.value + poisson.slack == pytest.approx(0.0479, abs=1e-4)


@pytest.mark.known_bad
def test_a_table_of_accounted_epsilons_is_not_refuted() -> None:
    """Had the thesis printed the ε of its shuffled trainings, or taken enough noise."""
    honest = {
        sigma: 1.001
        * replace(THESIS, noise_multiplier=sigma)
        .guarantee(sampling=Sampling.SHUFFLED)
        .epsilon_at(1e-5)
        for sigma in PRINTED
    }
    for table in (honest, {25.0: 0.59812}):
        found = table_budget(THESIS, table, delta=1e-5, sampling=Sampling.SHUFFLED)
        assert found.verdict is Verdict.PROVED
    assert printed_formula(honest, delta=1e-5).verdict is Verdict.REFUTED


def test_the_formula_with_epochs_for_steps_is_too_small() -> None:
    result = formula_budget(THESIS, delta=1e-5)
    assert result.verdict is Verdict.REFUTED
    q, sigma, log = 20 / 10_015, 8.1, math.log(1e5)

    def formula(alpha: float) -> float:
        return 9 * q**2 * alpha / (2 * sigma**2) + log / (alpha - 1)

    best = result.witness["alpha"]
    assert result.claimed == pytest.approx(formula(best), rel=1e-9)
    assert result.claimed < min(formula(best * 1.01), formula(best * 0.99))
