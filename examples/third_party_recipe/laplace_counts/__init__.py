"""A private histogram: it knows nothing of dpcp-audit, the recipe beside it says what it claims."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def histogram(
    scores: ArrayLike, *, rng: np.random.Generator, epsilon: float = 1.0
) -> NDArray[np.float64]:
    """Return noisy counts of scores on [0, 1] in five bins; replacing one moves two by one."""
    counts, _ = np.histogram(scores, bins=5, range=(0, 1))
    return np.asarray(counts + rng.laplace(scale=2 / epsilon, size=5))
