"""Score pairs on which a quantile is undecided, wherever its rank lies: found by a few outputs.

A private quantile aims at a rank that only its author knows: the conformal one, or one with a
margin for the noise. Scores on two positions show where it lies, by the split at which the
output turns from the lower to the upper one.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.audits.search.exact_pairs import ScorePair

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcp_audit.audits.search.pair_space import Draw

_OUTPUTS = 11
_ENDS = "split where the output turns"
CROWD = "a crowd in the middle that one score crosses"


def turning_pairs(
    draw: Draw, n: int, bounds: tuple[float, float]
) -> Iterator[tuple[str, ScorePair]]:
    """Yield pairs of n scores around the split at which the output turns, with their families.

    Scores at the two ends, and a crowd in the middle that one score crosses; and an even
    spread, in which the score that comes out moves half a step, or to an end. First one of
    each, then those beside them.
    """
    low, high = bounds
    middle, little = (low + high) / 2, (high - low) / 64
    families = [
        _split(draw, n, _ENDS, (low, high), (low, high), turn=middle),
        _released_score(draw, n, bounds),
        _split(draw, n, CROWD, (low, middle), (high, low), turn=middle - little),
        _split(draw, n, CROWD, (middle, high), (low, high), turn=middle + little),
    ]
    for found in zip_longest(*families):
        yield from (pair for pair in found if pair is not None)


def two(n: int, positions: tuple[float, float], k: int, move: tuple[float, float]) -> ScorePair:
    """Return k scores at the first position, n−1−k at the second, and one that moves."""
    return ScorePair(
        positions=np.array(positions),
        counts=np.array([k, n - 1 - k], dtype=np.int64),
        source=move[0],
        target=move[1],
    ).tidy()


def _split(
    draw: Draw,
    n: int,
    family: str,
    positions: tuple[float, float],
    move: tuple[float, float],
    *,
    turn: float,
) -> Iterator[tuple[str, ScorePair]]:
    """Yield splits of two positions around that with a low output; none where it is a vector.

    Where the median of a few outputs falls below ``turn`` is found by bisection.
    """
    low, high = positions
    first, last = 0, n
    while last - first > 1:
        k = (first + last) // 2
        outputs = draw(np.where(np.arange(n) < k, low, high), _OUTPUTS)
        if outputs.ndim != 1:
            return
        turned = float(np.median(outputs)) <= turn
        first, last = (first, k) if turned else (k, last)
    for k in (last - 1, last, last - 2):
        if 0 <= k <= n - 1:
            yield family, two(n, positions, k, move)


def _released_score(
    draw: Draw, n: int, bounds: tuple[float, float]
) -> Iterator[tuple[str, ScorePair]]:
    low, high = bounds
    step = (high - low) / n
    scores = low + step * (np.arange(n) + 0.5)
    outputs = draw(scores, _OUTPUTS)
    if n == 1 or outputs.ndim != 1:
        return
    released = float(np.median(outputs))
    at = int(np.argmin(np.abs(scores - released)))
    counts = np.ones(n - 1, dtype=np.int64)
    for target in (float(scores[at]) + step / 2, low):
        pair = ScorePair(
            positions=np.delete(scores, at).astype(np.float64),
            counts=counts,
            source=float(scores[at]),
            target=target,
        )
        yield "the score that comes out moves", pair.tidy()
