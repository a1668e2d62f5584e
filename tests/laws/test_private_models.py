"""Private classifiers as pools; what needs diffprivlib runs where it is installed."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from dpcp_audit.laws.models import PrivateModel, private_pool
from dpcp_audit.laws.pools import Dataset

INSTALLED = importlib.util.find_spec("diffprivlib") is not None


@pytest.mark.skipif(INSTALLED, reason="diffprivlib is installed")
def test_without_diffprivlib_the_extra_is_named() -> None:
    with pytest.raises(RuntimeError, match=r"pip install 'dpcp-audit\[targets\]'"):
        private_pool(Dataset.BREAST_CANCER, PrivateModel.GAUSSIAN_NB, 1.0)


@pytest.mark.skipif(not INSTALLED, reason="needs diffprivlib")
@pytest.mark.parametrize("model", list(PrivateModel))
def test_more_budget_gives_a_better_classifier(model) -> None:
    accuracy = []
    for epsilon in (1e-3, 1e3):
        pool = private_pool(Dataset.DIGITS, model, epsilon)
        assert pool.probabilities.shape == (899, 10)
        np.testing.assert_allclose(pool.probabilities.sum(axis=1), 1.0)
        accuracy.append(np.mean(pool.probabilities.argmax(axis=1) == pool.labels))
    assert accuracy[0] < 0.4
    assert accuracy[1] > 0.55


@pytest.mark.skipif(not INSTALLED, reason="needs diffprivlib")
def test_the_seed_is_the_noise() -> None:
    pools = [
        private_pool(Dataset.BREAST_CANCER, PrivateModel.GAUSSIAN_NB, 1.0, seed=seed).probabilities
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(pools[0], pools[1])
    assert not np.array_equal(pools[0], pools[2])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("digits", PrivateModel.FOREST, 1.0), "dataset must be a Dataset"),
        ((Dataset.DIGITS, "forest", 1.0), "model must be a PrivateModel"),
        ((Dataset.DIGITS, PrivateModel.FOREST, 0.0), "epsilon must be finite and > 0"),
    ],
)
def test_bad_input_is_refused(arguments, message) -> None:
    with pytest.raises(ValueError, match=message):
        private_pool(*arguments)
