"""Theorems 1 and 3 where their laws are known, against trials and against the algorithm itself."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import factorial, gammaln
from support.samplers import context

from dpcp_audit.mechanisms.local_labels import LDPCPLabels
from dpcp_audit.words.results import Verdict
from dpcp_ledger.claims.tightest_cases import ConfidentLabels, NoiselessEvent

EVENT = NoiselessEvent(n=100, epsilon=50.0, delta=0.9)
CONFIDENT = ConfidentLabels(n=400, epsilon=2.0, delta=0.9, alpha=0.4, correction=0.4)


@pytest.mark.statistical(false_alarm=2e-9)
@pytest.mark.parametrize("two_sided", [False, True])
def test_the_event_happens_as_often_as_computed(*, two_sided: bool) -> None:
    """Six standard deviations of a binomial rate, twice: 4e-9."""
    event = replace(EVENT, two_sided=two_sided)
    chance = event.failure_probability()
    run = event.trials(20_000, rng=np.random.default_rng(0))
    assert 0.05 < chance < 0.5
    assert abs(run.failed.mean() - chance) < 6 * np.sqrt(chance * (1 - chance) / 20_000)


def test_changed_labels_widen_the_interval() -> None:
    certain, open_ = EVENT.exact().evidence, replace(EVENT, epsilon=5.0).exact().evidence
    assert certain.upper - certain.lower < 1e-9
    assert open_.upper == 1
    outcome = replace(EVENT, epsilon=5.0, delta=0.1).check()(context(0))
    assert outcome.verdict is Verdict.INCONCLUSIVE


@pytest.mark.statistical(false_alarm=2e-9)
@pytest.mark.parametrize("k", [2, 5])
def test_the_algorithm_itself_fails_as_often_as_computed(k: int) -> None:
    """LDP-CP-L on a pool as the docstring describes it; 6 standard deviations, twice: 4e-9.

    The search also jumps over its window, which comes on top: in 5 % of the runs with two classes.
    """
    users, theorem = 1000, replace(CONFIDENT, k=k)
    low = round(users * theorem.covered)
    near = np.linspace(0, 0.24, users)
    scores = np.tile(np.linspace(0.76, 1, users)[:, None], (1, k))
    scores[:, 0] = near
    labels = (np.arange(users) >= low).astype(np.int64)
    wide = theorem.scaled(1.0).width
    exact = replace(theorem, correction=(1 - 0.4 - low / users) / wide)
    search = LDPCPLabels(
        alpha=0.4, epsilon=2.0, k=k, rounds=theorem.rounds, window_width=exact.width
    )
    run = search.trials(scores, labels, n=400, trials=2000, rng=np.random.default_rng(1))
    rate = (run.coverage <= low / users + 1e-12).mean()
    chance = exact.failure_probability()
    assert 0.02 < chance < 0.98
    room = 6 * np.sqrt(chance * (1 - chance) / 2000)
    assert chance - room < rate < chance + room + 0.1


@pytest.mark.statistical(false_alarm=2e-9)
def test_trials_of_the_reports_fail_as_computed() -> None:
    """Six standard deviations of a binomial rate: 2e-9."""
    chance = CONFIDENT.failure_probability()
    run = CONFIDENT.trials(20_000, rng=np.random.default_rng(2))
    assert abs(run.failed.mean() - chance) < 6 * np.sqrt(chance * (1 - chance) / 20_000)


def test_there_are_at_least_two_classes() -> None:
    with pytest.raises(ValueError, match="k must be an integer >= 2, got 1"):
        replace(CONFIDENT, k=1)


def within(limit: float, n: int) -> float:
    """P(sup |F̂ − F| < limit) of n uniform scores, by Durbin's matrix (Marsaglia et al. 2003)."""
    k = math.ceil(n * limit)
    rest, size = k - n * limit, 2 * k - 1
    steps = np.subtract.outer(np.arange(size), np.arange(size)) + 1
    chances = np.where(steps < 0, 0.0, 1.0)
    powers = rest ** np.arange(1, size + 1)
    chances[:, 0] -= powers
    chances[-1, :] -= powers[::-1]
    chances[-1, 0] += max(0.0, 2 * rest - 1) ** size
    chances /= factorial(np.maximum(steps, 0))
    part = np.linalg.matrix_power(chances / math.e, n)[k - 1, k - 1]
    return float(part * np.exp(gammaln(n + 1) - n * math.log(n) + n))


@pytest.mark.parametrize(("n", "delta"), [(150, 0.03), (150, 0.3), (160, 0.01), (145, 0.9)])
def test_both_sides_together_lie_between_the_ends(n: int, delta: float) -> None:
    event = NoiselessEvent(n=n, epsilon=300.0, delta=delta, two_sided=True)
    exact, found = 1 - within(event.bounds["Δ"], n), event.exact().evidence
    assert found.lower < exact < found.upper
    assert found.lower <= found.value <= found.upper
