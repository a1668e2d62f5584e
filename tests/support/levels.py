"""Exact tests of counts in cells, each with a total false-alarm probability."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import binom, hypergeom

from dpcp_audit.stats.rates import mean_limits

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def mean_interval(
    values: np.ndarray, *, bounds: tuple[float, float], significance: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return empirical-Bernstein intervals of the means of samples, along the last axis."""
    return mean_limits(
        values.mean(axis=-1),
        values.var(axis=-1, ddof=1),
        values.shape[-1],
        bounds=bounds,
        significance=significance,
    )


def disagreeing_cells(
    counts: ArrayLike, probabilities: ArrayLike, *, trials: int, level: float
) -> np.ndarray:
    """Return the cells whose count is too far from Binomial(trials, probability).

    Each of the K cells is tested on two sides at ``level``/K, so that on a correct sampler any
    cell is returned with probability at most ``level``.
    """
    counts, probabilities = np.asarray(counts), np.asarray(probabilities)
    side = level / counts.size / 2
    p = np.clip(probabilities, 0.0, 1.0)
    too_many = binom.sf(counts - 1, trials, p) < side
    too_few = binom.cdf(counts, trials, p) < side
    return np.flatnonzero(too_many | too_few)


def differing_cells(first: ArrayLike, second: ArrayLike, *, cells: int, level: float) -> np.ndarray:
    """Return the cells in which two samples of one law differ too much.

    The cells are cut at quantiles of the pooled sample; given that, the first sample's count in
    a cell is hypergeometric. Each cell is tested on two sides at ``level``/K, so that on two
    samples of one law any cell is returned with probability at most ``level``.
    """
    first, second = np.asarray(first), np.asarray(second)
    pooled = np.concatenate([first, second])
    edges = np.unique(np.quantile(pooled, np.linspace(0, 1, cells + 1), method="inverted_cdf"))
    left, both = (
        np.bincount(np.searchsorted(edges, x), minlength=edges.size) for x in (first, pooled)
    )
    side = level / edges.size / 2
    law = hypergeom(pooled.size, both, first.size)
    return np.flatnonzero((law.sf(left - 1) < side) | (law.cdf(left) < side))
