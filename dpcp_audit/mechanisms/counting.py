"""Counting the scores at or below a moving point, many releases side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpcp_audit._types import BoolArray, FloatArray


class FixedScores:
    """The same scores in every release, as a mechanism's input."""

    def __init__(self, sorted_scores: FloatArray, rank: int) -> None:
        self._scores = sorted_scores
        self._rank = rank

    def below_rank(self, point: FloatArray, noise: FloatArray) -> BoolArray:
        """Tell whether the noisy count at each point is below the rank."""
        return np.searchsorted(self._scores, point, side="right") + noise < self._rank
