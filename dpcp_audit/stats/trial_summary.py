"""How a statistic is spread over trials: a summary of bounded size that merges exactly.

The cells of the histogram lie on the grid of multiples of a power of two, so that two histograms
merge without a remainder: cells of the finer grid fall into cells of the coarser one. What comes
out does not depend on how the trials were split.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpcp_audit._types import FloatArray
    from dpcp_audit.results import PlainData

_CELLS = 64
_FINEST = 2.0**-40
"""The least width of a cell, in units of the largest value."""
_NARROW = 1 / 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Mean, variance, range and histogram of a statistic.

    Parameters
    ----------
    count : int
        Number of trials, at least 1.
    mean, squares : float
        The mean, and the sum of squared deviations from it.
    low, high : float
        The range.
    level, first : int
        The cells are [k·2^level, (k+1)·2^level) for k = first, first + 1, …
    cells : list of int
        Trials in each cell: at most 64, neither the first nor the last one empty.
    """

    count: int
    mean: float
    squares: float
    low: float
    high: float
    level: int
    first: int
    cells: list[int]

    @classmethod
    def of(cls, values: FloatArray) -> Self:
        """Summarise values, shape (trials,).

        Raises
        ------
        ValueError
            If there are none, or if some are not finite.
        """
        if not values.size or not np.isfinite(values).all():
            wrong = values[~np.isfinite(values)][:3]
            raise ValueError(f"statistic must be finite, got {wrong if values.size else 'nothing'}")
        mean, low, high = (float(end) for end in (values.mean(), values.min(), values.max()))
        level = _least_level(low, high)
        places = np.floor(np.ldexp(values, -level)).astype(np.int64)
        first = int(places.min())
        return cls(
            count=values.size,
            mean=mean,
            squares=float(np.square(values - mean).sum()),
            low=low,
            high=high,
            level=level,
            first=first,
            cells=np.bincount(places - first).tolist(),
        )

    @classmethod
    def merged(cls, parts: Iterable[Self]) -> Self:
        """Return the summary of all the trials behind several summaries, at least one."""
        whole, *others = parts
        for part in others:
            whole = whole.merge(part)
        return whole

    @classmethod
    def from_data(cls, data: PlainData) -> Self:
        """Return the summary that ``as_data`` described."""
        return cls(**data)

    def as_data(self) -> dict[str, Any]:
        """Return the summary as plain data."""
        return asdict(self)

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        return math.sqrt(self.squares / self.count)

    @property
    def variance(self) -> float:
        """The variance, with the divisor ``count`` − 1; NaN for a single trial."""
        return self.squares / (self.count - 1) if self.count > 1 else math.nan

    @property
    def edges(self) -> list[float]:
        """The cells' edges; a narrow cell around a statistic that never varies."""
        if self.low == self.high:
            reach = _NARROW * (abs(self.low) or 1.0)
            return [self.low - reach, self.high + reach]
        return [
            math.ldexp(place, self.level)
            for place in range(self.first, self.first + len(self.cells) + 1)
        ]

    def merge(self, other: Self) -> Self:
        """Return the summary of the trials behind both."""
        count = self.count + other.count
        step = other.mean - self.mean
        low, high = min(self.low, other.low), max(self.high, other.high)
        level = _least_level(low, high)
        ends = [part.first + len(part.cells) for part in (self, other)]
        first = min(_shifted(part.first, part.level, level) for part in (self, other))
        last = max(
            _shifted(end - 1, part.level, level)
            for end, part in zip(ends, (self, other), strict=True)
        )
        cells = [0] * (last - first + 1)
        for part in (self, other):
            for place, trials in enumerate(part.cells, start=part.first):
                cells[_shifted(place, part.level, level) - first] += trials
        return type(self)(
            count=count,
            mean=self.mean + step * other.count / count,
            squares=self.squares + other.squares + step**2 * self.count * other.count / count,
            low=low,
            high=high,
            level=level,
            first=first,
            cells=cells,
        )


def _least_level(low: float, high: float) -> int:
    """Return the least level at which the range falls into 64 cells, and cells are no finer.

    It can only grow as the range does, so that parts are never coarser than the whole.
    """
    finest = max(abs(low), abs(high), math.ldexp(1.0, -900)) * _FINEST
    level = math.frexp(finest)[1]
    while math.floor(math.ldexp(high, -level)) - math.floor(math.ldexp(low, -level)) >= _CELLS:
        level += 1
    return level


def _shifted(place: int, level: int, to: int) -> int:
    """Return the cell of a coarser level that holds a cell."""
    return place >> (to - level)
