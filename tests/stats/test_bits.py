"""Bits and binomial counts by random bytes, against their laws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom
from support.levels import disagreeing_cells

from dpcp_audit.stats.bits import Selection, bernoulli_bits, binomials

DRAWS = 200_000


def test_sure_and_impossible_bits() -> None:
    rng = np.random.default_rng(0)
    bits = bernoulli_bits(200, np.array([0.0, 2.0**-80, 1.0]), rng=rng)
    assert bits.shape == (200, 3)
    assert not bits[:, :2].any()
    assert bits[:, 2].all()


def test_no_bits_and_no_chances() -> None:
    rng = np.random.default_rng(0)
    assert bernoulli_bits(0, np.array([0.5]), rng=rng).shape == (0, 1)
    assert bernoulli_bits(3, np.array([]), rng=rng).shape == (3, 0)
    assert binomials(np.array([], dtype=np.int64), np.array([]), rng=rng).size == 0


def test_counts_keep_to_their_sizes() -> None:
    rng = np.random.default_rng(1)
    sizes = np.array([0, 1, 16, 17, 64, 65, 1000, 2**52])
    for copies in (1, 100):
        many = np.tile(sizes, copies)
        assert (binomials(many, np.ones(many.size), rng=rng) == many).all()
        assert (binomials(many, np.zeros(many.size), rng=rng) == 0).all()


@pytest.mark.statistical(false_alarm=1e-8)
@pytest.mark.parametrize(
    ("size", "chance"),
    [
        (1, 0.3),
        (1, 1 / 512),
        (5, 0.75),
        (16, 0.4999),
        (17, 0.5),
        (64, 0.997),
        (64, 0.25),
        (90, 0.5),
        (105, 0.3),
        (128, 0.99),
        (3, 0.51),
        (3, 0.49),
        (129, 0.5),
    ],
)
def test_binomial_law(size: int, chance: float) -> None:
    """Every count is a cell; fails by chance with probability at most 1e-8 each."""
    rng = np.random.default_rng(2)
    counts = np.bincount(
        binomials(np.full(DRAWS, size), np.full(DRAWS, chance), rng=rng), minlength=size + 1
    )
    masses = binom.pmf(np.arange(size + 1), size, chance)
    assert disagreeing_cells(counts, masses, trials=DRAWS, level=1e-8).size == 0


@pytest.mark.statistical(false_alarm=2e-8)
def test_sizes_and_chances_side_by_side_and_independent() -> None:
    """Sums over four unequal draws; fails by chance with probability at most 2e-8."""
    rng = np.random.default_rng(3)
    sizes, chances = np.array([3, 0, 40, 70]), np.array([0.2, 0.9, 0.5, 0.1])
    drawn = binomials(np.tile(sizes, DRAWS), np.tile(chances, DRAWS), rng=rng).reshape(-1, 4)
    mass = np.array([1.0])
    for size, chance in zip(sizes, chances, strict=True):
        mass = np.convolve(mass, binom.pmf(np.arange(size + 1), size, chance))
    counts = np.bincount(drawn.sum(axis=1), minlength=mass.size)
    assert disagreeing_cells(counts, mass, trials=DRAWS, level=1e-8).size == 0
    bits = bernoulli_bits(2, np.full(DRAWS, 0.3), rng=rng)
    counts = np.bincount(bits[0] + 2 * bits[1], minlength=4)
    masses = np.array([0.49, 0.21, 0.21, 0.09])
    assert disagreeing_cells(counts, masses, trials=DRAWS, level=1e-8).size == 0


def test_every_number_is_chosen_bit_by_bit() -> None:
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1e308, -1.5])
    first, second = (column.ravel() for column in np.meshgrid(special, special))
    for condition in (first < second, first > second, np.isnan(first)):
        chosen = Selection(condition)(first, second)
        expected = np.where(condition, first, second)
        assert (chosen.view(np.int64) == expected.view(np.int64)).all()


def test_the_arrays_are_left_as_they_are() -> None:
    first, second = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    chosen = Selection(np.array([True, False]))(first, second)
    chosen[:] = 0
    assert (first == [1, 2]).all()
    assert (second == [3, 4]).all()


def test_views_with_strides() -> None:
    table = np.arange(12.0).reshape(3, 4)
    condition = np.array([True, False, True])
    assert (Selection(condition)(table[:, 0], table[:, 1]) == [0, 5, 8]).all()
