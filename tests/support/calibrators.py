"""Calibrators as a user would write them, right and wrong; ``(value, size, *, rng)`` each."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.mechanisms.quantiles import conformal_rank

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.theorems.worst_law import Calibrate

ALPHA = 0.1


def split(*, shift: int = 0, change: Callable[[float], float] = lambda q: q) -> Calibrate:
    """Return split conformal prediction with a rank and a threshold that can be wrong."""

    def calibrate(scores, size, /, *, rng) -> np.ndarray:
        rank = conformal_rank(scores.size, alpha=ALPHA) + shift
        if rank > scores.size:
            return np.full(size, np.inf)
        return np.full(size, change(float(np.sort(scores)[rank - 1])))

    return calibrate


def without_correction(scores, size, /, *, rng) -> np.ndarray:
    """Take the ⌈n(1−α)⌉-th smallest score."""
    rank = math.ceil(round(scores.size * (1 - ALPHA), 9))
    return np.full(size, np.sort(scores)[rank - 1])


def rounded_down(threshold: float) -> float:
    return math.floor(threshold * 100) / 100


def rounded_up(threshold: float) -> float:
    return math.ceil(threshold * 100) / 100


def largest_below(scores, size, /, *, rng) -> np.ndarray:
    """Take the largest score strictly below the right threshold, where there is one."""
    right = split()(scores, 1, rng=rng)[0]
    below = scores[scores < right]
    return np.full(size, below.max() if below.size else right)


def dropping(low: float, high: float) -> Calibrate:
    """Return a calibrator that loses the scores between two points before it starts."""

    def calibrate(scores, size, /, *, rng) -> np.ndarray:
        kept = scores[(scores < low) | (scores > high)]
        return split()(kept, size, rng=rng) if kept.size else np.full(size, np.inf)

    return calibrate


def randomised(scores, size, /, *, rng) -> np.ndarray:
    """Return the r-th or the (r+1)-th smallest score, at random: correct, and noisy."""
    rank = conformal_rank(scores.size, alpha=ALPHA) + rng.integers(2, size=size)
    return np.append(np.sort(scores), [np.inf, np.inf])[rank - 1]


def of_rows(score: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Calibrate:
    """Return a calibrator of probabilities and labels that calibrates on such scores."""

    def calibrate(rows, size, /, *, rng) -> np.ndarray:
        probabilities, labels = rows
        return split()(score(probabilities, labels), size, rng=rng)

    return calibrate


def true_score(probabilities, labels) -> np.ndarray:
    return 1 - probabilities[np.arange(labels.size), labels]


def top_score(probabilities, labels) -> np.ndarray:
    return 1 - probabilities.max(axis=1)


def shifted_label_score(probabilities, labels) -> np.ndarray:
    return true_score(probabilities, labels - 1)


def score_where_right(probabilities, labels) -> np.ndarray:
    """Drop the records that the classifier gets wrong."""
    kept = true_score(probabilities, labels)[probabilities.argmax(axis=1) == labels]
    return kept if kept.size else np.ones(1)
