"""Families of score pairs, from the pairs on which most bugs show to the rarer ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.audits.search.exact_pairs import ScorePair
from dpcp_audit.audits.search.undecided_pairs import CROWD, ISOLATED, two

if TYPE_CHECKING:
    from collections.abc import Iterator

_SHARES = (0.5, 0.9, 0.1, 0.75, 0.25, 0.95, 0.05, 0.99)
_ATOMS = np.array([1 / 8, 3 / 8, 5 / 8, 7 / 8])
_DYADIC = np.array([1 / 2, 1 / 4, 3 / 4, 1 / 8, 3 / 8, 5 / 8, 7 / 8])


def families(
    n: int, bounds: tuple[float, float], *, alpha: float | None
) -> Iterator[tuple[str, ScorePair]]:
    """Yield pairs of n scores, each with the words for its family.

    Parameters
    ----------
    bounds : tuple of float
        The interval of the scores.
    alpha : float or None
        The target's miscoverage level where it is known: its rank is ⌈(1−α)(n+1)⌉.
    """
    low, high = bounds
    middle, span = (low + high) / 2, high - low
    ranks = _ranks(n, alpha)
    yield "split at the rank, one score from end to end", two(n, bounds, ranks[0], bounds)
    yield "all at the lower bound but one", two(n, bounds, n - 1, bounds)
    yield ISOLATED, two(n, bounds, ranks[0], (middle, high))
    yield "even spread, one score from end to end", _even(n, low, high)
    yield "all at the upper bound but one", two(n, bounds, 0, bounds)
    yield "several atoms, one score from one to another", _several(n, low, high)
    for k in ranks[1:3]:
        yield "split near the rank, one score from end to end", two(n, bounds, k, bounds)
    yield ISOLATED, two(n, bounds, ranks[min(1, len(ranks) - 1)], (middle, low))
    inner = (low + span / 4, high - span / 4)
    yield "split at the rank, inside of the bounds", two(n, inner, ranks[0], inner)
    for k in ranks[:2]:
        yield CROWD, two(n, (low, middle), k, (high, low))
    yield "ties at the middle, one score to the end", two(n, (middle, high), n - 1, bounds)
    leaving = two(n, (middle, high), n - 1, (middle, high))
    yield "one score leaves the ties at the middle", leaving
    crowd = low + 0.4 * span
    yield "an outlier sets the range", two(n, (crowd, high), n - 1, (crowd, high))
    yield "an outlier sets the range", two(n, (crowd, high), n - 1, (crowd, low))
    close = (low + 0.121 * span, low + 0.124 * span)
    yield "scores that differ in the third decimal", two(n, close, ranks[0], close)
    for k in ranks[3:]:
        yield "split, one score from end to end", two(n, bounds, k, bounds)
    around = (middle - span / 64, middle + span / 64)
    yield "dyadic midpoints, one score crosses", two(n, around, ranks[0], around)
    yield "dyadic midpoints, one score crosses", _dyadic(n, low, high)
    tiny = (middle - 1e-6 * span, middle + 1e-6 * span)
    yield "scores a millionth apart", two(n, tiny, ranks[0], tiny)


def _ranks(n: int, alpha: float | None) -> list[int]:
    """Return how many of the n−1 common scores lie below, the likeliest splits first."""
    if alpha is not None:
        rank = math.ceil((1 - alpha) * (n + 1))
        wanted = [rank - 1, rank, rank - 2, *(math.floor(s * n) for s in _SHARES[:3])]
    else:
        wanted = [math.floor(share * n) for share in _SHARES]
    return list(dict.fromkeys(min(max(k, 0), n - 1) for k in wanted))


def _even(n: int, low: float, high: float) -> ScorePair:
    positions = np.linspace(low, high, n + 1)[1:-1]
    counts = np.ones(n - 1, dtype=np.int64)
    return ScorePair(positions=positions, counts=counts, source=low, target=high).tidy()


def _several(n: int, low: float, high: float) -> ScorePair:
    """Return scores on four atoms, as even as they can be; one moves between the inner two."""
    at = low + (high - low) * _ATOMS
    return _spread(n, at, source=float(at[1]), target=float(at[2]))


def _dyadic(n: int, low: float, high: float) -> ScorePair:
    """Return scores just beyond 1/2, 1/4, 3/4, … of the way, as even as they can be."""
    at = np.minimum(high, np.sort(low + (high - low) * _DYADIC) + 1e-9 * (high - low))
    return _spread(n, at, source=low, target=high)


def _spread(n: int, at: np.ndarray, *, source: float, target: float) -> ScorePair:
    counts = np.bincount(np.arange(n - 1) % at.size, minlength=at.size).astype(np.int64)
    return ScorePair(positions=at, counts=counts, source=source, target=target).tidy()
