"""Split conformal calibration: the rank, the threshold, and the exact law of its coverage."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcp_audit.laws.populations import Population
    from dpcp_audit.words.arrays import FloatArray


def conformal_rank(n: int, *, alpha: float) -> int:
    """Return r = ⌈(1−α)(n+1)⌉, the rank of the threshold among n calibration scores.

    ``alpha`` is read as the decimal it was written as, so that 0.7 with n = 9 gives 3 and
    not the 4 that binary rounding of 0.3·10 would give. It may be 0, where r = n + 1.

    Examples
    --------
    >>> conformal_rank(9, alpha=0.7), conformal_rank(2400, alpha=0.1)
    (3, 2161)
    """
    _validate.integer(n=n, at_least=1)
    _validate.half_open_unit(alpha=alpha)
    covered, whole = _covered(float(alpha))
    return -(-covered * (int(n) + 1) // whole)


@lru_cache(maxsize=256)
def _covered(alpha: float) -> tuple[int, int]:
    """Return 1 − α as a ratio of whole numbers."""
    return (1 - Fraction(repr(alpha))).as_integer_ratio()


class ThresholdTrials(NamedTuple):
    """Thresholds of independent runs, and their coverage on fresh scores; shape (trials,)."""

    threshold: FloatArray
    coverage: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitConformal:
    """Split conformal prediction (Vovk et al. 2005; Papadopoulos et al. 2002).

    The threshold is the r-th smallest calibration score, or +∞ where r = n + 1.
    """

    alpha: float

    def __post_init__(self) -> None:
        _validate.open_unit(alpha=self.alpha)

    def threshold(self, scores: ArrayLike) -> float:
        """Return the conformal threshold of the scores, shape (n,)."""
        values = _validate.scores(scores)
        rank = conformal_rank(values.size, alpha=self.alpha)
        return math.inf if rank > values.size else float(np.partition(values, rank - 1)[rank - 1])

    def trials(
        self,
        population: Population,
        *,
        n: int,
        trials: int,
        rng: np.random.Generator | int | None = None,
    ) -> ThresholdTrials:
        """Calibrate ``trials`` times on n fresh i.i.d. scores, drawing one number a trial.

        In terms of U = F(S) the r-th smallest score is Beta(r, n+1−r).
        """
        _validate.integer(trials=trials, at_least=1)
        generator = _validate.generator(rng)
        rank = conformal_rank(n, alpha=self.alpha)
        if rank > n:
            return ThresholdTrials(np.full(trials, np.inf), np.ones(trials))
        threshold = population.quantile(generator.beta(rank, n + 1 - rank, size=trials))
        return ThresholdTrials(threshold, population.cdf(threshold))
