"""NACP's own search: what it visits and returns, and that it covers where Algorithm 2 does not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcp_audit.laws.pools import Classifier, Dataset, classifier_pool, hps
from dpcp_audit.mechanisms.local_labels import LDPCPLabels, NoiseAwareLabels, dkw_width

SETTING = {"alpha": 0.1, "epsilon": 4.0, "k": 10, "window_width": 0.02}


def plain_search(mechanism: NoiseAwareLabels, scores: np.ndarray, noisy: np.ndarray) -> float:
    """Halve the interval user by user, and keep the midpoint with the least F̂c above 1−α."""
    n, k = scores.shape
    beta = k / (k - 1 + math.exp(mechanism.epsilon))
    low, high, best, least = mechanism.lowest, 1.0, 1.0, math.inf
    for _ in range(mechanism.rounds):
        q = (low + high) / 2
        noisy_share = sum(scores[i, noisy[i]] <= q for i in range(n)) / n
        uniform = (scores <= q).mean()
        estimate = (noisy_share - beta * uniform) / (1 - beta)
        if estimate > 1 - mechanism.alpha:
            high = q
            if estimate < least:
                least, best = estimate, q
        else:
            low = q
    return best


@pytest.mark.parametrize("lowest", [0.0, 0.5])
def test_it_returns_the_midpoint_with_the_least_estimate_above_the_target(lowest: float) -> None:
    rng = np.random.default_rng(0)
    mechanism = NoiseAwareLabels(**SETTING, lowest=lowest)
    for n in (7, 30, 100):
        scores = rng.random((n, 10))
        noisy = rng.integers(10, size=n)
        (found,) = mechanism.from_noisy(scores, noisy)
        assert found == pytest.approx(plain_search(mechanism, scores, noisy), abs=1e-15)


def test_fourteen_rounds_end_below_the_public_codes_tolerance() -> None:
    rounds = NoiseAwareLabels(**SETTING).rounds
    assert 0.5 / 2**rounds <= 5e-5 < 0.5 / 2 ** (rounds - 1)


def test_where_nothing_is_above_the_target_all_is_covered() -> None:
    scores = np.ones((50, 10))
    mechanism = NoiseAwareLabels(**SETTING)
    run = mechanism.trials(scores, np.zeros(50, dtype=np.int64), n=50, trials=5, rng=0)
    np.testing.assert_array_equal(run.threshold, 1.0)
    assert run.missed.all()


@pytest.mark.statistical(false_alarm=1e-8)
def test_over_confident_scores_are_covered_that_algorithm_2_leaves_out() -> None:
    """Theorem 1 speaks of any q with F̂c ≥ 1−α; 20 trials fail with δ = 10⁻¹⁰ each at most."""
    pool = classifier_pool(Dataset.DIGITS, Classifier.GAUSSIAN_NB)
    scores, n = hps(pool.probabilities), 50_000
    beta = LDPCPLabels(**SETTING, rounds=1).response.beta
    width = dkw_width(n=n, beta=beta, delta=1e-10)
    runs = {
        kind: kind(**SETTING, rounds=14).trials(scores, pool.labels, n=n, trials=20, rng=1).coverage
        for kind in (NoiseAwareLabels, LDPCPLabels)
    }
    assert (runs[NoiseAwareLabels] >= 0.9 - width).all()
    assert (runs[LDPCPLabels] < 0.9 - width).all()


@pytest.mark.parametrize("lowest", [-0.1, 1.0, math.nan])
def test_the_lower_end_is_checked(lowest: float) -> None:
    with pytest.raises(ValueError, match="lowest must"):
        NoiseAwareLabels(**SETTING, lowest=lowest)
