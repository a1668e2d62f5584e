"""P-COQS for each class by itself: an extension, since Remark 6 excludes class-wise coverage.

**Privacy.** A round compares a noisy count with the rank r = ⌈(1−α)(n_y+1)⌉ of the class. Where a
score enters a class, the count grows by 0 or 1 and the rank by 0 or 1, as 1−α ≤ 1: their
difference, all that the round depends on, moves by at most 1. A class's search is therefore ρ-zCDP
under adding or removing one of its scores. Replacing a record takes a score from one class and
adds one to another, which are two such changes, or is a substitution within one class: the
thresholds of all classes together are 2ρ-zCDP, whatever their number.

**Coverage.** Given the labels, the scores of a class and that of a test case of the class are
exchangeable. Theorem 1 holds for them with n_y in the place of n: with probability at least 1−β
over the noise, P(Y ∈ C | Y = y, n_y) ≥ 1 − α − τ/(n_y+1) on average over the class's scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.extensions.claims import ZCDP
from dpcp_audit.extensions.claims import validate as _validate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcp_audit.extensions.claims import FloatArray
    from dpcp_audit.extensions.mechanisms import PCOQS


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassConditional:
    """A threshold for each class, by one search each.

    Parameters
    ----------
    search : PCOQS
        α, the ρ of one class, bounds and Δ.
    n_classes : int
        The number of classes, at least 2; it is public.
    """

    search: PCOQS
    n_classes: int

    def __post_init__(self) -> None:
        _validate.integer(n_classes=self.n_classes, at_least=2)

    @property
    def guarantee(self) -> ZCDP:
        """2ρ-zCDP of all thresholds together, under replacing one record."""
        return ZCDP(2 * self.search.rho)

    def sample(
        self,
        scores: ArrayLike,
        labels: ArrayLike,
        size: int,
        *,
        rng: np.random.Generator | int | None = None,
    ) -> FloatArray:
        """Search each class, ``size`` times; shape (size, n_classes).

        A class without scores is searched as well: that it has none is private.

        Parameters
        ----------
        scores, labels : array_like, shape (n,)
            Scores of the true labels, within the bounds, and the labels.
        size : int
            Number of releases.
        """
        values = _validate.scores(scores, within=self.search.bounds)
        true = _validate.labels(labels, n_classes=self.n_classes, shape=values.shape)
        _validate.integer(size=size, at_least=1)
        generator = _validate.generator(rng)
        found = [
            self._search(np.sort(values[true == label]), size, generator)
            for label in range(self.n_classes)
        ]
        return np.stack(found, axis=1)

    def _search(self, own: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
        noise = rng.standard_normal((self.search.rounds, size))
        return self.search.search(own, self.rank(own.size), noise)

    def rank(self, n: int) -> int:
        """Return ⌈(1−α)(n+1)⌉, which is 1 without scores."""
        return self.search.rank(n) if n else 1
