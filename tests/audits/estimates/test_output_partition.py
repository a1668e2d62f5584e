"""Partitions of outputs: what they find, how fine they are, and that they stay as they are."""

from __future__ import annotations

import numpy as np

from dpcp_audit.audits.estimates.loss_bracket import learn_partition
from dpcp_audit.audits.search.features import Ones


def _laplace(rng: np.random.Generator, size: int, shift: float) -> np.ndarray:
    return rng.laplace(size=size) + shift


def test_cells_are_ordered_by_the_likelihood_ratio() -> None:
    rng = np.random.default_rng(0)
    pilot = _laplace(rng, 4000, 0.0), _laplace(rng, 4000, 2.0)
    partition = learn_partition(*pilot, trials=4000)
    first, second = (partition.counts(_laplace(rng, 40_000, shift)) for shift in (0.0, 2.0))
    ratios = np.log(first + 0.5) - np.log(second + 0.5)
    assert first.sum() == second.sum() == 40_000
    assert 3 <= partition.size <= 12
    assert ratios[0] > 1.5
    assert ratios[-1] < -1.5
    assert (np.diff(ratios) < 0.3).all()


def test_more_outputs_part_the_ends_more_finely() -> None:
    rng = np.random.default_rng(1)
    pilot = rng.normal(size=20_000), rng.normal(size=20_000) + 1
    sizes = [learn_partition(*pilot, trials=n).size for n in (300, 3000, 300_000)]
    assert sizes[0] < sizes[1] <= sizes[2] <= 24


def test_scattered_values_and_given_features_are_found() -> None:
    rng = np.random.default_rng(2)
    even, odd = (2 * rng.integers(0, 100, 4000) + shift for shift in (0, 1))
    partition = learn_partition(even.astype(float), odd.astype(float), trials=4000)
    counts = [partition.counts(values.astype(float)) for values in (even, odd)]
    assert np.abs(counts[0] - counts[1]).sum() == 8000  # no cell holds values of both
    bits = Ones(bounds=(0.0, 1.0), rounds=12)
    few, many = (
        (rng.random((4000, 12)) < rate) @ 0.5 ** np.arange(1, 13) + 1e-6 for rate in (0.3, 0.7)
    )
    partition = learn_partition(few, many, trials=4000, feature=bits)
    assert partition.log_odds.feature == bits


def test_outputs_that_are_all_alike_are_one_cell() -> None:
    partition = learn_partition(np.ones(50), np.ones(50), trials=50)
    assert partition.size == 1
    assert partition.counts(np.array([1.0, 2.0])).tolist() == [2]


def test_vectors_are_parted_too() -> None:
    rng = np.random.default_rng(3)
    pilot = rng.normal(size=(2000, 3)), rng.normal(size=(2000, 3)) + 1
    partition = learn_partition(*pilot, trials=2000)
    first = partition.counts(rng.normal(size=(4000, 3)))
    second = partition.counts(rng.normal(size=(4000, 3)) + 1)
    assert np.abs(first - second).sum() / 8000 > 0.55  # the total variation is 0.613
