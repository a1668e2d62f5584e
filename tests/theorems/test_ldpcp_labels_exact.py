"""Theorems 1 and 3 where their laws are known, against trials and against the algorithm itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.samplers import context

from dpcp_audit.mechanisms.ldpcp.label_calibration import LDPCPLabels
from dpcp_audit.results import Verdict
from dpcp_audit.theorems.ldpcp_labels_exact import BinaryLabels, NoiselessEvent

EVENT = NoiselessEvent(n=100, epsilon=50.0, delta=0.9)
BINARY = BinaryLabels(n=400, epsilon=2.0, delta=0.9, alpha=0.4, correction=0.4)


@pytest.mark.statistical
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


@pytest.mark.statistical
def test_the_algorithm_itself_fails_as_often_as_computed() -> None:
    """LDP-CP-L on the two-class pool that the docstring describes; 6 standard deviations: 2e-9."""
    users = 1000
    low = round(users * BINARY.covered)
    place = np.concatenate([np.linspace(0, 0.24, low), np.linspace(0.76, 1, users - low)])
    scores = np.stack([place, 1 - place], axis=1)
    labels = np.zeros(users, dtype=np.int64)
    exact = replace(BINARY, correction=(1 - 0.4 - low / users) / BINARY.scaled(1.0).width)
    search = LDPCPLabels(
        alpha=0.4, epsilon=2.0, k=2, rounds=BINARY.rounds, window_width=exact.width
    )
    run = search.trials(scores, labels, n=400, trials=4000, rng=np.random.default_rng(1))
    rate = (run.coverage <= low / users + 1e-12).mean()
    chance = exact.failure_probability()
    assert 0.05 < chance < 0.95
    assert abs(rate - chance) < 6 * np.sqrt(chance * (1 - chance) / 4000)


@pytest.mark.statistical
def test_trials_of_the_reports_fail_as_computed() -> None:
    """Six standard deviations of a binomial rate: 2e-9."""
    chance = BINARY.failure_probability()
    run = BINARY.trials(20_000, rng=np.random.default_rng(2))
    assert abs(run.failed.mean() - chance) < 6 * np.sqrt(chance * (1 - chance) / 20_000)


def test_two_classes_only() -> None:
    with pytest.raises(ValueError, match="k must be 2, got 3"):
        replace(BINARY, k=3)
