"""The two-sided loss of a randomiser from counts: it covers, and is not vacuous."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from dpcp_audit.audits import local_guesses as channel_losses
from dpcp_audit.audits.local_guesses import channel_loss

_SIGNIFICANCE, _REPETITIONS = 0.3, 300


def _response(epsilon: float, k: int) -> np.ndarray:
    own = math.exp(epsilon) / (math.exp(epsilon) + k - 1)
    return np.full((k, k), (1 - own) / (k - 1)) + np.eye(k) * (own - (1 - own) / (k - 1))


def _halves(channel: np.ndarray, size: int, rng: np.random.Generator) -> tuple:
    return tuple(np.stack([rng.multinomial(size, row) for row in channel]) for _ in range(2))


def _misses(epsilon: float, k: int, size: int) -> int:
    rng, missed = np.random.default_rng(k), 0
    for _ in range(_REPETITIONS):
        found = channel_loss(_halves(_response(epsilon, k), size, rng), significance=_SIGNIFICANCE)
        missed += not found.lower <= epsilon <= found.upper
    return missed


@pytest.mark.statistical(false_alarm=1e-7)
@pytest.mark.parametrize(("epsilon", "k"), [(1.0, 2), (2.0, 10)])
def test_the_loss_lies_within_the_interval(epsilon: float, k: int) -> None:
    """An interval that errs as often as allowed fails here with probability below 1e-7."""
    assert _misses(epsilon, k, 300) <= binom.isf(1e-7, _REPETITIONS, _SIGNIFICANCE)


@pytest.mark.known_bad
def test_limits_that_forget_how_many_there_are_would_be_seen(monkeypatch) -> None:
    """The largest ratio of a hundred: it passes with probability below 1e-7 if it always errs."""
    limits = channel_losses.clopper_pearson

    def forgetful(counts: Any, trials: int, *, significance: float) -> Any:
        return limits(counts, trials, significance=min(0.9, significance * counts.size))

    monkeypatch.setattr(channel_losses, "clopper_pearson", forgetful)
    assert _misses(2.0, 10, 300) > binom.isf(1e-7, _REPETITIONS, _SIGNIFICANCE)


def test_the_interval_is_narrow_and_the_estimate_near_on_counts_as_they_are_expected() -> None:
    counts = np.rint(20_000 * _response(1.0, 4)).astype(np.int64)
    found = channel_loss((counts, counts), significance=0.05)
    assert found.value == pytest.approx(1.0, abs=0.01)
    assert 0.9 < found.lower < 1.0 < found.upper < 1.1
    assert found.confidence == 0.95


@pytest.mark.statistical(false_alarm=1.1e-6)
def test_the_estimate_is_not_the_largest_of_many_ratios() -> None:
    """Of 40 outputs without loss. False alarm: 1e-6 of the mean (100 of sd below 0.3), 1e-7."""
    rng, same = np.random.default_rng(3), np.full((8, 40), 1 / 40)
    found = [channel_loss(_halves(same, 800, rng), significance=0.05) for _ in range(100)]
    assert np.mean([each.value for each in found]) < 0.3
    assert sum(each.lower > 0 for each in found) <= binom.isf(1e-7, 100, 0.05)


def test_an_output_that_was_never_seen_on_an_input_leaves_the_upper_end_open() -> None:
    counts = np.array([[300, 0], [250, 50]])
    found = channel_loss((counts, counts), significance=0.05)
    assert math.isinf(found.upper)
    assert math.isfinite(found.value)
    assert found.lower > 1.0
