"""Independent bits, and small binomial counts, for many chances side by side.

A uniform V is below p where its first byte is below that of p, or is the same and the rest is
below the rest. So a random byte decides a bit, but for one in 256, for which a uniform is drawn:
an eighth of the random numbers, and comparisons of bytes in place of doubles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpcp_audit._types import BoolArray, ByteArray, FloatArray, IntArray

_BYTES = 8
"""Of a random word."""
_SMALL = 64
"""Sizes up to which a binomial count is a sum of bits."""
_BLOCK = 16
"""Bits of a sum that are drawn at a time: they stay in the processor's cache."""


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
    """Draw Binomial(size, chance) numbers, elementwise; small sizes by bits."""
    counts = np.zeros(sizes.shape, dtype=np.int64)
    large = np.flatnonzero(sizes > _SMALL)
    counts[large] = rng.binomial(sizes[large], chances[large])
    left = np.minimum(sizes, _SMALL).astype(np.uint8)
    left[large] = 0
    which: IntArray | slice = slice(None)
    while left.any():
        counts[which] += _of_a_block(left, chances[which], rng)
        more = np.flatnonzero(left > _BLOCK)
        which = more if isinstance(which, slice) else which[more]
        left = left[more] - np.uint8(_BLOCK)
    return counts


def _of_a_block(sizes: ByteArray, chances: FloatArray, rng: np.random.Generator) -> ByteArray:
    """Return how many ones there are among the first bits of every size, a block at most."""
    rows = min(_BLOCK, int(sizes.max()))
    within = np.arange(rows, dtype=np.uint8)[:, None] < sizes
    within &= bernoulli_bits(rows, chances, rng=rng)
    counts: ByteArray = within.view(np.uint8).sum(axis=0, dtype=np.uint8)
    return counts
