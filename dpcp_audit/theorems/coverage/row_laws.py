"""Laws of rows of data: on which distribution over a pool's rows a predictor covers worst.

A law on [0, 1] is read as a distribution over the rows, the i-th of m of which has the mass of
[i/m, (i+1)/m). The predictor says a set or an interval for every row of the pool, so that its
coverage under the law is a sum, exactly: no test set is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcp_audit.laws.piecewise import PiecewiseConstant
from dpcp_audit.laws.pools import RowPool, within
from dpcp_audit.targets.degenerate import DegenerateTargetError
from dpcp_audit.targets.kinds import Kind
from dpcp_audit.theorems.search.law_space import LawSpace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.laws.populations import Population
    from dpcp_audit.theorems.coverage.calibration_sources import CalibrationSource
    from dpcp_audit.words.arrays import FloatArray, IntArray
    from dpcp_audit.words.results import PlainData

_SHARES = (0.5, 0.05, 0.95)
_FEW = 2
"""Percent of the rows that are one row."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LawOfRows:
    """Rows drawn from a pool by a law, with replacement.

    Parameters
    ----------
    pool : RowPool
    law : PiecewiseConstant
        On [0, 1]; the i-th of m rows has the mass of [i/m, (i+1)/m).
    of_class : int or None
        The class whose coverage is meant; None of all.
    whole : bool
        Whether labels are classes.
    sizes : int
        Of a claim on the size of sets, the number K of labels: a call is then worth 1 − its sets'
        mean size over K.
    """

    pool: RowPool
    law: PiecewiseConstant
    of_class: int | None = None
    whole: bool = True
    sizes: int = 0

    takes_arrays: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """In words."""
        if self.sizes:
            return "even rows of the data"
        place = "" if self.of_class is None else f", class {self.of_class}"
        return f"rows of the data by {self.law.name}{place}"

    def draw(self, n: int, count: int, *, rng: np.random.Generator) -> Sequence[Any]:
        """Draw ``count`` data sets of ``n`` rows, each with all of the pool as new rows."""
        chosen = self._rows(self.law.sample((count, n), rng=rng))
        labels = self.pool.labels.astype(np.int64) if self.whole else self.pool.labels
        return [(self.pool.features[rows], labels[rows], self.pool.features) for rows in chosen]

    def coverage(self, thresholds: FloatArray, *, strict: bool = False) -> FloatArray:
        """Return the probability, by the law, of a row whose set or interval holds its label.

        Parameters
        ----------
        thresholds : ndarray, shape (calls, m·K) or (calls, 2m)
            Sets as indicators, or intervals.
        """
        del strict
        if self.sizes:
            return self._unused(thresholds)
        weights = self.weights
        if weights.sum() <= 0:
            return np.ones(len(thresholds))
        inside = self._covered(thresholds)
        return np.asarray(np.minimum(1.0, inside @ weights / weights.sum()))

    @property
    def weights(self) -> FloatArray:
        """The mass of each row, of the class meant, shape (m,)."""
        m = len(self.pool.labels)
        below = self.law.cdf_left(np.arange(m) / m)
        mass = np.diff(np.append(below, 1.0))
        mass[0] += below[0]
        if self.of_class is not None:
            mass = np.where(self.pool.labels == self.of_class, mass, 0.0)
        return np.asarray(mass)

    @classmethod
    def from_data(cls, data: PlainData) -> LawOfRows:
        """Return the source of ``as_data``."""
        law = PiecewiseConstant(**data["law"])
        pool = RowPool.from_data(data)
        return cls(pool=pool, law=law, of_class=data["of_class"], whole=data["whole"])

    def as_data(self) -> PlainData:
        """Return the law and the rows as plain data."""
        data = {"family": "rows-by-law", "law": self.law.as_plain(), "of_class": self.of_class}
        sizes = {"labels": self.sizes} if self.sizes else {}
        return data | {"whole": self.whole} | self.pool.as_data() | sizes

    def _rows(self, points: FloatArray) -> IntArray:
        m = len(self.pool.labels)
        places = np.searchsorted(np.arange(1, m) / m, points, side="right")
        return np.asarray(places, dtype=np.int64)

    def _unused(self, sets: FloatArray) -> FloatArray:
        """Return 1 − (mean size)/K of each call."""
        m = len(self.pool.labels)
        if sets.ndim != 2 or sets.shape[1] != m * self.sizes:
            raise DegenerateTargetError(
                f"calibrate must return sets of shape ({m}, {self.sizes}) for {m} new rows, got "
                f"{sets[0].size} numbers"
            )
        return np.asarray(1 - sets.mean(axis=1))

    def _covered(self, said: FloatArray) -> FloatArray:
        m, labels = len(self.pool.labels), self.pool.labels
        each, rest = divmod(said.shape[1], m) if said.ndim == 2 else (0, 1)
        if self.whole:
            if rest or each < self.pool.classes:
                raise DegenerateTargetError(
                    f"calibrate must return sets of shape ({m}, {self.pool.classes}) for "
                    f"{m} new rows, got {said[0].size} numbers"
                )
            sets: FloatArray = said.reshape(-1, m, each)
            return np.asarray(sets[:, np.arange(m), labels.astype(np.int64)])
        if rest or each != 2:
            raise DegenerateTargetError(
                f"calibrate must return intervals of shape ({m}, 2) for {m} new rows, got "
                f"{said[0].size} numbers"
            )
        return within(said.reshape(-1, m, 2), labels).astype(np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowLaws:
    """The laws over a pool's rows that are tried first, and where the search goes on.

    Parameters
    ----------
    pool : RowPool
    per_class : bool
        Whether the coverage of each class is meant.
    space : LawSpace
    """

    pool: RowPool
    per_class: bool = False
    space: LawSpace = field(default_factory=LawSpace)

    def sources(self, kind: Kind, *, level: float, bounds: object) -> list[CalibrationSource]:
        """Return the sources to try: even rows, two groups of them, one row alone."""
        del bounds
        laws = [PiecewiseConstant(cells=(1,))]
        parts = (100 * level, 100 * (1 - level))
        laws += [PiecewiseConstant(edges=(0, share, 1), cells=parts) for share in _SHARES]
        laws += [PiecewiseConstant(atoms=((place, 1),)) for place in (0.5, 0.0, 1.0)]
        laws += [PiecewiseConstant(cells=(100 - _FEW,), atoms=((place, _FEW),)) for place in (0, 1)]
        classes = range(self.pool.classes) if self.per_class else (None,)
        return [self._of(kind, law, which) for law in laws for which in classes]

    def source(self, kind: Kind, law: Population, *, bounds: object) -> CalibrationSource:
        """Return the source of a law on [0, 1]; of its likeliest class, where one is meant."""
        del bounds
        assert isinstance(law, PiecewiseConstant)  # noqa: S101  (all that the search makes)
        found = self._of(kind, law, None)
        if not self.per_class:
            return found
        mass = [self._of(kind, law, k).weights.sum() for k in range(self.pool.classes)]
        return self._of(kind, law, int(np.argmax(mass)))

    def moving_space(self) -> LawSpace:
        """Return the space that the search moves in."""
        return self.space

    def _of(self, kind: Kind, law: PiecewiseConstant, of_class: int | None) -> LawOfRows:
        whole = kind is Kind.PREDICTOR
        return LawOfRows(pool=self.pool, law=law, of_class=of_class, whole=whole)
