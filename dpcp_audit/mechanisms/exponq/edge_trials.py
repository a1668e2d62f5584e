"""ExponQ on n i.i.d. scores, many trials side by side: edges from the top, until none matters.

An edge with many more scores above it than the best one is released with a negligible
probability, and so is every edge below it. The counts of their bins need not be drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit._types import BoolArray, FloatArray, IntArray

    Logits = Callable[[IntArray, IntArray, BoolArray], FloatArray]

_NEGLIGIBLE = 60.0
"""Edges below the best by this many nats hold less than 10⁶·e⁻⁶⁰ < 1e-19 of the mass."""
_BLOCKS, _FEWEST = 20, 8
"""Edges are taken a twentieth at a time, and at least so many."""
_CELLS = 40_000
"""Counts that are drawn at a time: they stay in the processor's cache."""


def released_edges(
    logits: Logits, mass: FloatArray, *, n: int, trials: int, rng: np.random.Generator
) -> IntArray:
    """Return the index of the edge that is released in each trial, shape (trials,).

    Parameters
    ----------
    logits : callable
        Of edges, from the numbers of scores below and above them, shape (trials, edges), and
        whether each is the top edge. It does not rise with the number above, or with the number
        below.
    mass : ndarray, shape (m − 1,)
        Probabilities of the bins that end at edges 1, …, m − 1.
    n : int
        Number of scores.
    """
    size = max(_FEWEST, mass.size // _BLOCKS)
    rows = max(1, _CELLS // size)
    parts = [
        _released(logits, mass, size, np.full(min(rows, trials - start), n), rng)
        for start in range(0, trials, rows)
    ]
    return np.concatenate(parts)


def _released(
    logits: Logits, mass: FloatArray, size: int, upto: IntArray, rng: np.random.Generator
) -> IntArray:
    """Return released edges of trials, of which ``upto`` scores are at or below the top edge."""
    within = np.append([0.0], np.cumsum(mass))
    n, top = int(upto[0]), mass.size
    best = np.full((upto.size, 1), -np.inf)
    found: list[FloatArray] = []
    for last in range(top, -1, -size):
        highest = logits(np.zeros_like(upto), n - upto, np.array(False))
        if (highest < best[:, 0] - _NEGLIGIBLE).all():
            break
        edges = np.arange(last, max(-1, last - size), -1)
        counts = rng.multinomial(upto, _shares(mass, within, edges))[:, :-1]
        below = upto[:, None] - np.cumsum(counts, axis=1)
        each = logits(below, n - (below + counts), edges == top)
        best = np.maximum(best, each.max(axis=1, keepdims=True))
        found.append(each)
        upto = below[:, -1]
    cumulative = np.exp(np.concatenate(found, axis=1) - best)
    np.cumsum(cumulative, axis=1, out=cumulative)
    draws = (1 - rng.random((best.size, 1))) * cumulative[:, -1:]
    place: IntArray = np.sum(cumulative < draws, axis=1)
    return top - place


def _shares(mass: FloatArray, within: FloatArray, edges: IntArray) -> FloatArray:
    """Return the probabilities of the bins that end at edges, of a score up to the first of them.

    The last one is that of all other bins; no bin ends at edge 0.
    """
    bins = np.where(edges > 0, mass[edges - 1], 0.0)
    total = within[edges[0]]
    shares = bins / total if total > 0 else np.zeros_like(bins)
    return np.append(shares / max(1.0, shares.sum()), 0.0)
