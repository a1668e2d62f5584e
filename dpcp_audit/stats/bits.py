"""Independent bits, small binomial counts and elementwise choices, for many chances side by side.

A uniform V is below p where its first byte is below that of p, or is the same and the rest is
below the rest. So a random byte decides a bit, but for one in 256, for which a uniform is drawn:
an eighth of the random numbers, and comparisons of bytes in place of doubles.

np.where takes a branch an element; where the condition is a coin flip, half of the branches are
mispredicted, and a choice by the bits of the numbers takes a sixth of the time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpcp_audit.words.validate import BoolArray, FloatArray, IntArray


_BYTES = 8
"""Bytes of a random word."""
_WORD = 64
"""Bits of a random word."""
_FIRST_BITS = np.array([2**bits - 1 for bits in range(_WORD + 1)], dtype=np.uint64)
_SMALL = 128
"""Sizes up to which a binomial number is made of fair bits."""
_MANY = 256
"""Binomial numbers from which on they are: fewer are not worth the calls."""
_ROWS = 16
"""Sizes up to which it is a sum of bits."""
_FEW = 1 / 16
"""Ones an element that are few."""


def bernoulli_bits(rows: int, chances: FloatArray, *, rng: np.random.Generator) -> BoolArray:
    """Draw ``rows`` independent bits of every chance, shape (rows, chances).

    Parameters
    ----------
    chances : ndarray, shape (chances,)
        Probabilities of a one.
    """
    scaled = chances * 2.0**_BYTES
    first = np.minimum(scaled, 2**_BYTES - 1).astype(np.uint8)
    words = rng.integers(0, 2**64, size=-(-rows * chances.size // _BYTES), dtype=np.uint64)
    drawn = words.view(np.uint8)[: rows * chances.size].reshape(rows, chances.size)
    ones: BoolArray = drawn < first
    row, column = np.divmod(np.flatnonzero(drawn == first), max(1, chances.size))
    rest = scaled[column] - first[column]
    ones[row, column] = rng.random(row.size) < rest
    return ones


def binomials(sizes: IntArray, chances: FloatArray, *, rng: np.random.Generator) -> IntArray:
    """Draw Binomial(size, chance) numbers, elementwise; small sizes by fair bits.

    Parameters
    ----------
    sizes : ndarray of int
        Numbers of trials, at least 0.
    chances : ndarray, of the same shape
        Probabilities.
    """
    if sizes.size < _MANY:
        return rng.binomial(sizes, chances)
    small = sizes <= _SMALL
    if small.all():
        return _by_digits(sizes, chances, rng)
    counts = np.empty(sizes.shape, dtype=np.int64)
    large, few = np.flatnonzero(~small), np.flatnonzero(small)
    counts[large] = rng.binomial(sizes[large], chances[large])
    counts[few] = _by_digits(sizes[few], chances[few], rng)
    return counts


def _by_digits(sizes: IntArray, chances: FloatArray, rng: np.random.Generator) -> IntArray:
    """Count uniforms below the chances, by their binary digits, until few are undecided.

    A digit is a fair bit. Where the chance p begins with a one, the uniforms with a zero are below
    it, and the others with the chance 2p - 1; where it begins with a zero, those with a zero are
    below it with the chance 2p.
    """
    counts = np.zeros(sizes.shape, dtype=np.int64)
    while True:
        zeros = _fair(sizes, rng)
        one = chances >= 1 / 2
        counts += zeros * one
        sizes = zeros + one * (sizes - 2 * zeros)
        chances = 2 * chances - one
        above = chances > 1 / 2
        rare = np.minimum(chances, 1 - chances)
        expected = float(sizes @ rare)
        if expected < _FEW * sizes.size:
            seldom = _seldom(sizes, rare, expected, rng)
            return counts + seldom + above * (sizes - 2 * seldom)
        if sizes.max(initial=0) <= _ROWS:
            return counts + _by_bits(sizes, chances, rng)


def _fair(sizes: IntArray, rng: np.random.Generator) -> IntArray:
    """Draw Binomial(size, 1/2) numbers: the ones among the first bits of random words."""
    counts: IntArray = np.zeros(sizes.shape, dtype=np.int64)
    for first in range(0, max(1, int(sizes.max(initial=0))), _WORD):
        words = rng.integers(0, 2**_WORD, size=sizes.size, dtype=np.uint64)
        words &= _FIRST_BITS.take(sizes - first, mode="clip")
        counts += np.bitwise_count(words)
    return counts


def _seldom(
    sizes: IntArray, chances: FloatArray, expected: float, rng: np.random.Generator
) -> IntArray:
    """Draw binomial numbers of chances up to 1/2, of which few are to be expected in all.

    A Poisson process of rate 2p hits a bit's unit of time with probability 1 - exp(-2p) > p, and
    a bit that is hit is one with the probability that makes it p.
    """
    hits = rng.poisson(2 * expected)
    if not hits:
        return np.zeros(sizes.shape, dtype=np.int64)
    ends: FloatArray = np.cumsum(sizes * chances)
    at = rng.random(hits) * float(ends[-1])
    held: IntArray = np.searchsorted(ends, at, side="right")
    held = np.minimum(held, sizes.size - 1)
    bit = np.floor((ends[held] - at) / chances[held])
    hit = np.unique(held * _SMALL + bit.astype(np.int64)) // _SMALL
    chance = chances[hit]
    ones = rng.random(hit.size) * -np.expm1(-2 * chance) < chance
    return np.bincount(hit[ones], minlength=sizes.size)


def _by_bits(sizes: IntArray, chances: FloatArray, rng: np.random.Generator) -> IntArray:
    """Draw binomial numbers as sums of bits."""
    rows = int(sizes.max(initial=0))
    within = np.arange(rows, dtype=np.uint8)[:, None] < sizes.astype(np.uint8)
    within &= bernoulli_bits(rows, chances, rng=rng)
    counts: IntArray = within.view(np.uint8).sum(axis=0, dtype=np.uint8).astype(np.int64)
    return counts


class Selection:
    """A condition that chooses between pairs of arrays.

    Parameters
    ----------
    condition : ndarray of bool, shape (size,)

    Examples
    --------
    >>> import numpy as np
    >>> below = Selection(np.array([True, False]))
    >>> below(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    array([1., 4.])
    """

    def __init__(self, condition: BoolArray) -> None:
        self._bits = condition.astype(np.int64)
        np.negative(self._bits, out=self._bits)

    def __call__(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return ``first`` where the condition holds and ``second`` elsewhere, in a new array."""
        other = second.view(np.int64)
        chosen = first.view(np.int64) ^ other
        chosen &= self._bits
        chosen ^= other
        return chosen.view(np.float64)
