"""M(Δ) of P-COQS: the largest number of scores in an interval of length Δ, and its mean."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.extensions.claims import (
    Quantity,
)
from dpcp_audit.extensions.theorems import TheoremTrials

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import FloatArray, IntArray, PlainData
    from dpcp_audit.extensions.laws import Population


_CELLS = 2**21


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowCount:
    """Remark 2: E[M(Δ)] ≤ L·Δ·n for scores with a density bounded by L.

    M(Δ) is the largest number of scores in a half-open interval (t, t+Δ]. The statistic is
    min(M, cap), whose mean bounds E[M] from below.
    """

    population: Population
    density_bound: float
    n: int
    resolution: float
    cap: int = 20
    statistic: str = field(default="M(Δ), scores in the fullest window", init=False)
    allowed_failure: float = field(default=0.0, init=False)
    failure: Quantity = field(default=Quantity.FAILURE, init=False)

    @property
    def bounds(self) -> dict[str, float]:
        """L·Δ·n, in scores."""
        return {"L·Δ·n": self.density_bound * self.resolution * self.n}

    @property
    def parameters(self) -> PlainData:
        """The case, as plain data."""
        return {
            "n": self.n,
            "resolution": self.resolution,
            "density_bound": self.density_bound,
            "population": self.population.name,
        }

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        """Draw score sets and count their fullest windows."""
        windows = np.empty(count)
        rows = max(1, _CELLS // self.n)
        for start in range(0, count, rows):
            part = windows[start : start + rows]
            scores = np.sort(self.population.sample((part.size, self.n), rng=rng), axis=1)
            part[:] = np.minimum(largest_windows(scores, self.resolution), self.cap)
        return TheoremTrials(windows, np.zeros(count, dtype=bool))


def largest_windows(scores: FloatArray, resolution: float) -> IntArray:
    """Return the most scores in any (t, t+Δ], for each row of sorted scores, shape (rows,).

    A fullest window can be taken to end at a score, and holds the scores above that score
    less Δ.
    """
    rank = np.arange(1, int(scores.shape[1]) + 1)
    rows: list[FloatArray] = list(scores)
    below = [np.searchsorted(row, row - resolution, "right") for row in rows]
    return np.array([(rank - at).max() for at in below], dtype=np.int64)
