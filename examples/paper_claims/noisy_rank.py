"""The mechanism of a paper of one's own: the largest of k noisy label counts, and a report."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def label_report(value: int, *, rng: np.random.Generator, epsilon: float, k: int) -> int:
    """Report a label by k-ary randomised response."""
    kept = (math.exp(epsilon) - 1) / (math.exp(epsilon) + k - 1)
    return value if rng.random() < kept else int(rng.integers(k))


def noisy_count(scores: np.ndarray, *, rng: np.random.Generator, epsilon: float) -> float:
    """Count the scores above a half, with Laplace noise."""
    return float((scores > 0.5).sum() + rng.laplace(scale=1 / epsilon))
