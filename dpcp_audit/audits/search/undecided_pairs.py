"""Score pairs on which a quantile is undecided, wherever its rank lies: found by a few outputs.

A private quantile aims at a rank that only its author knows: the conformal one, or one with a
margin for the noise. Scores on two positions show where it lies, by the split at which the
output turns from the lower to the upper one.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.audits.search.pair_space import ScorePair
from dpcp_audit.targets.answers import DegenerateTargetError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcp_audit.audits.search.pair_space import Draw
    from dpcp_audit.words.validate import FloatArray

_ENDS = "split where the output turns"
CROWD = "a crowd in the middle that one score crosses"
ISOLATED = "a single score inside moves to an end"
_OFFSETS = (-1, 0, -2, 1, -3, 3, -5)
"""The number of common scores that lie below, relative to the split at which the output is low."""


def two(n: int, positions: tuple[float, float], k: int, move: tuple[float, float]) -> ScorePair:
    """Return k scores at the first position, n−1−k at the second, and one that moves."""
    return ScorePair(
        positions=np.array(positions),
        counts=np.array([k, n - 1 - k], dtype=np.int64),
        source=move[0],
        target=move[1],
    ).tidy()


@dataclass(slots=True, kw_only=True)
class TurningPairs:
    """Pairs of n scores around the split at which the output turns.

    Parameters
    ----------
    draw : Draw
    n : int
    bounds : tuple of float
        The interval of the scores.
    outputs : int
        Outputs drawn at a split, whose median says on which side it lies.
    near : int or None
        About where it turns, if that is known.
    ends : int or None
        The split at which it turns with scores at the two ends, once that is found.
    """

    draw: Draw
    n: int
    bounds: tuple[float, float]
    outputs: int
    near: int | None = None
    ends: int | None = None

    def pairs(self) -> Iterator[tuple[str, ScorePair]]:
        """Yield the pairs with their families: first one of each, then those beside them.

        Scores at the two ends; a single score inside between them; a crowd in the middle that
        one score crosses; and an even spread, in which the score that comes out moves half a
        step, or to an end. None where the output is a vector.
        """
        low, high = self.bounds
        middle, little = (low + high) / 2, (high - low) / 64
        self.ends = ends = self._turn((low, high), middle, near=self.near)
        if ends is None:
            return
        below = self._turn((low, middle), middle - little, near=ends)
        above = self._turn((middle, high), middle + little, near=ends)
        found = [
            self._around(ends, _ENDS, (low, high), (low, high)),
            self._around(ends, ISOLATED, (low, high), (middle, high)),
            self._released_score(),
            self._around(below, CROWD, (low, middle), (high, low)),
            self._around(above, CROWD, (middle, high), (low, high)),
            self._around(ends, ISOLATED, (low, high), (middle, low)),
        ]
        for each in zip_longest(*found):
            yield from (pair for pair in each if pair is not None)

    def _around(
        self,
        turn: int | None,
        family: str,
        positions: tuple[float, float],
        move: tuple[float, float],
    ) -> Iterator[tuple[str, ScorePair]]:
        """Yield splits of two positions around that with a low output."""
        if turn is None:
            return
        for k in (turn + offset for offset in _OFFSETS):
            if 0 <= k <= self.n - 1:
                yield family, two(self.n, positions, k, move)

    def _turn(self, positions: tuple[float, float], turn: float, *, near: int | None) -> int | None:
        """Return the fewest scores at the first position with which the output is low.

        That is where the median of a few outputs falls below ``turn``; found by bisection, at
        first around ``near``. None where outputs are vectors.
        """
        first, last, step = 0, self.n, 2
        while last - first > 1:
            k = (first + last) // 2
            if near is not None and (first == 0 or last == self.n):
                k = min(last - 1, max(first + 1, near - step if last < self.n else near + step))
                step *= 4
            scores = np.full(self.n, positions[1], dtype=np.float64)
            scores[:k] = positions[0]
            outputs = self._outputs(scores)
            if outputs.ndim != 1:
                return None
            turned = float(np.median(outputs)) <= turn
            first, last = (first, k) if turned else (k, last)
        return last

    def _released_score(self) -> Iterator[tuple[str, ScorePair]]:
        low, high = self.bounds
        step = (high - low) / self.n
        scores = np.asarray(low + step * (np.arange(self.n) + 0.5), dtype=np.float64)
        if self.n == 1:
            return
        released = float(np.median(self._outputs(scores)))
        at = int(np.argmin(np.abs(scores - released)))
        counts = np.ones(self.n - 1, dtype=np.int64)
        for target in (float(scores[at]) + step / 2, low):
            pair = ScorePair(
                positions=np.delete(scores, at),
                counts=counts,
                source=float(scores[at]),
                target=target,
            )
            yield "the score that comes out moves", pair.tidy()

    def _outputs(self, scores: FloatArray) -> FloatArray:
        """Return outputs on scores; where the target refuses them, on scores without ties."""
        try:
            return self.draw(scores, self.outputs)
        except DegenerateTargetError:
            raise
        except Exception:  # noqa: BLE001  (a target may raise anything)
            return self.draw(self._untied(scores), self.outputs)

    def _untied(self, scores: FloatArray) -> FloatArray:
        positions, counts = np.unique(scores[:-1], return_counts=True)
        last = float(scores[-1])
        pair = ScorePair(positions=positions, counts=counts, source=last, target=last)
        return pair.untied(*self.bounds).scores[0]
