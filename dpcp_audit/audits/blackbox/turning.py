"""Score pairs on which a quantile is undecided, wherever its rank lies: found by a few outputs.

A private quantile aims at a rank that only its author knows: the conformal one, or one with a
margin for the noise. Scores on two positions show where it lies, by the split at which the
output turns from the lower to the upper one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.audits.worst_case import ScorePair

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcp_audit.audits.blackbox.pairs import Draw

_OUTPUTS = 24


def turning_pairs(
    draw: Draw, n: int, bounds: tuple[float, float]
) -> Iterator[tuple[str, ScorePair]]:
    """Yield pairs of n scores around the split at which the output turns, with their families.

    Scores at the two ends, and a crowd in the middle that one score crosses; then an even
    spread, in which the score that comes out moves half a step, or to an end.
    """
    low, high = bounds
    middle = (low + high) / 2
    for family, positions, move in (
        ("split where the output turns", (low, high), (low, high)),
        ("a crowd in the middle that one score crosses", (low, middle), (high, low)),
        ("a crowd in the middle that one score crosses", (middle, high), (low, high)),
    ):
        turn = _turn(draw, n, positions)
        if turn is None:
            return
        for k in (turn - 1, turn, turn - 2):
            if 0 <= k <= n - 1:
                yield family, two(n, positions, k, move)
    if n > 1:
        yield from _released_score(draw, n, bounds)


def two(n: int, positions: tuple[float, float], k: int, move: tuple[float, float]) -> ScorePair:
    """Return k scores at the first position, n−1−k at the second, and one that moves."""
    return ScorePair(
        positions=np.array(positions),
        counts=np.array([k, n - 1 - k], dtype=np.int64),
        source=move[0],
        target=move[1],
    ).tidy()


def _turn(draw: Draw, n: int, positions: tuple[float, float]) -> int | None:
    """Return the fewest scores at the first position with a low output; None for vectors.

    Where the median of a few outputs crosses the middle of the positions is found by bisection.
    """
    low, high = positions
    first, last = 0, n
    while last - first > 1:
        k = (first + last) // 2
        outputs = draw(np.where(np.arange(n) < k, low, high), _OUTPUTS)
        if outputs.ndim != 1:
            return None
        turned = float(np.median(outputs)) <= (low + high) / 2
        first, last = (first, k) if turned else (k, last)
    return last


def _released_score(
    draw: Draw, n: int, bounds: tuple[float, float]
) -> Iterator[tuple[str, ScorePair]]:
    low, high = bounds
    step = (high - low) / n
    scores = low + step * (np.arange(n) + 0.5)
    released = float(np.median(draw(scores, _OUTPUTS)))
    at = int(np.argmin(np.abs(scores - released)))
    counts = np.ones(n - 1, dtype=np.int64)
    for target in (float(scores[at]) + step / 2, low):
        pair = ScorePair(
            positions=np.delete(scores, at),
            counts=counts,
            source=float(scores[at]),
            target=target,
        )
        yield "the score that comes out moves", pair.tidy()
