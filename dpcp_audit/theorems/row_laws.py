"""Laws that are tried before any search: of scores, and of rows of a pool.

A law on [0, 1] is read as a distribution over the rows, the i-th of m of which has the mass of
[i/m, (i+1)/m). The predictor says a set or an interval for every row of the pool, so that its
coverage under the law is a sum, exactly: no test set is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from dpcp_audit.laws.pools import (
    CLASSES,
    SHIPPED,
    ProbabilityPool,
    RowPool,
    classifier_pool,
    within,
)
from dpcp_audit.laws.populations import Beta, Deferred, PiecewiseConstant, Pool
from dpcp_audit.targets.answers import DegenerateTargetError
from dpcp_audit.targets.kinds import Kind, tried
from dpcp_audit.theorems.calibration_sources import LabelledSource, RowSource, ScoreSource
from dpcp_audit.theorems.law_space import LawSpace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dpcp_audit.laws.populations import Population
    from dpcp_audit.words.results import PlainData
    from dpcp_audit.words.validate import FloatArray, IntArray


_SHARES = (0.5, 0.05, 0.95)
_FEW = 2
"""Percent of the rows that are one row."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _LawOfRows:
    """Rows drawn from a pool by a law, with replacement.

    Parameters
    ----------
    pool : RowPool
    law : PiecewiseConstant
        A law on [0, 1]; the i-th of m rows has the mass of [i/m, (i+1)/m).
    of_class : int or None
        The class whose coverage is meant; None of all.
    whole : bool
        True if labels are classes.
    """

    pool: RowPool
    law: PiecewiseConstant
    of_class: int | None = None
    whole: bool = True

    takes_arrays: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """The law in words."""
        place = "" if self.of_class is None else f", class {self.of_class}"
        return f"rows of the data at places {self.law.words}{place}"

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
    def from_data(cls, data: PlainData) -> _LawOfRows:
        """Return the source of ``as_data``."""
        law = PiecewiseConstant(**data["law"])
        pool = RowPool.from_data(data)
        return cls(pool=pool, law=law, of_class=data["of_class"], whole=data["whole"])

    def as_data(self) -> PlainData:
        """Return the law and the rows as plain data."""
        data = {"family": "rows-by-law", "law": self.law.as_plain(), "of_class": self.of_class}
        return data | {"whole": self.whole} | self.pool.as_data()

    def _rows(self, points: FloatArray) -> IntArray:
        m = len(self.pool.labels)
        places = np.searchsorted(np.arange(1, m) / m, points, side="right")
        return np.asarray(places, dtype=np.int64)

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


CalibrationSource: TypeAlias = ScoreSource | LabelledSource | RowSource | _LawOfRows
"""Draws calibration sets, and knows the coverage of every threshold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowLaws:
    """The laws over a pool's rows that are tried first, and where the search goes on.

    Parameters
    ----------
    pool : RowPool
    per_class : bool
        True if the coverage of each class is meant.
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

    def _of(self, kind: Kind, law: PiecewiseConstant, of_class: int | None) -> _LawOfRows:
        whole = kind is Kind.PREDICTOR
        return _LawOfRows(pool=self.pool, law=law, of_class=of_class, whole=whole)


_THIRD = 1 / 3
_WIDTHS = (1e-1, 1e-3, 1e-6, 1e-10)
_CLUSTERS = (0.0, _THIRD, 1.0)
_BETAS = ((5.0, 0.2), (0.2, 5.0), (0.5, 0.5), (20.0, 20.0))
_FEW_CLASSES = 2
_CLASS_SHARES, _UNLIKE = (0.5, 0.03), 2
"""The probabilities of a class that differs; of how many laws it does where all are meant."""
_ROUNDINGS = 1e5
"""Scores between the ends of the narrowest cluster: fewer, and ties would matter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LawCatalogue:
    """The laws that the records may have, and the order in which they are tried.

    Parameters
    ----------
    ties : bool
        True if the claim covers laws with atoms. Without, atoms, pools and their like are
        left out.
    classifiers : bool
        True if real scores are tried: two classifiers on each of two data sets that
        scikit-learn ships, fitted when they are first needed (about a second).
    own : tuple of Pool or ProbabilityPool
        The caller's: scores on the target's scale for a quantile, a classifier's rows for a
        calibrator.
    space : LawSpace
        Laws in which the search goes on from the catalogue. Piecewise laws that ``space.admits``
        refuses are left out of the catalogue, too.
    per_class : bool
        True if the coverage of each class is meant, of a calibrator.
    classes : int or None
        For a calibrator, the number of classes; None if it takes any number.
    clients : int
        The number of clients who have the scores, of a federated target.
    """

    ties: bool = True
    classifiers: bool = True
    own: tuple[Pool | ProbabilityPool, ...] = ()
    space: LawSpace = field(default_factory=LawSpace)
    per_class: bool = False
    classes: int | None = None
    clients: int = 0

    def sources(
        self, kind: Kind, *, level: float, bounds: tuple[float, float]
    ) -> list[CalibrationSource]:
        """Return the sources to try, the likeliest to break a claim at the front.

        Parameters
        ----------
        kind : Kind
            Quantile, federated or calibrator.
        level : float
            The coverage that is claimed; some laws have a gap, a jump or a cluster there.
        bounds : tuple of float
            The interval of a quantile's scores.
        """
        low, high = tried(bounds)
        finest = _ROUNDINGS * np.spacing(max(abs(low), abs(high))) / (high - low)
        laws = [law for law in self._laws(level, finest) if self._admits(law)]
        if kind is not Kind.CALIBRATOR:
            scores = [self.source(kind, law, bounds=bounds) for law in laws]
            return [*self._own_scores(), *scores, *self._classifier_scores(bounds)]
        if self.per_class:
            apart = [each for law in laws for each in self._apart(law, _CLASS_SHARES)]
            return [*self._own_rows(), *apart, *self._classifier_rows()]
        many = [self.source(kind, law, bounds=bounds) for law in laws]
        few = [self._labelled(law, classes=_FEW_CLASSES) for law in laws[:3] if not self.classes]
        apart = [each for law in laws[-_UNLIKE:] for each in self._apart(law, _CLASS_SHARES[:1])]
        return [*self._own_rows(), *many, *few, *apart, *self._classifier_rows()]

    def source(
        self, kind: Kind, law: Population, *, bounds: tuple[float, float]
    ) -> CalibrationSource:
        """Return the source of a law on [0, 1]; where each class is meant, of one of half."""
        if kind is not Kind.CALIBRATOR:
            return ScoreSource(law=law, bounds=bounds, clients=self.clients)
        if self.per_class:
            return self._labelled(law, apart=_CLASS_SHARES[0], of_class=0)
        return self._labelled(law)

    def _labelled(self, law: Population, **others: Any) -> LabelledSource:
        given = {"classes": self.classes} if self.classes else {}
        return LabelledSource(law=law, **given, **others)

    def _apart(self, law: Population, shares: tuple[float, ...]) -> Iterator[LabelledSource]:
        """Yield sources where class 0 differs from the others, of each class that is meant."""
        for share, label in product(shares, (0, 1) if self.per_class else (None,)):
            yield self._labelled(law, apart=share, of_class=label)

    def moving_space(self) -> LawSpace:
        """Return the space that the search moves in; without atoms where ties are excluded."""
        if self.ties:
            return self.space
        return LawSpace(most_cells=self.space.most_cells, most_atoms=0, admits=self.space.admits)

    def _laws(self, level: float, finest: float) -> Iterator[Population]:
        uniform = PiecewiseConstant(cells=(1,))
        tied, smooth = list(_tied_laws(level)), list(_smooth_laws(level, finest))
        if not self.ties:
            yield from (uniform, *smooth)
            return
        yield from (tied[0], uniform, *smooth[:2], *tied[1:], *smooth[2:])

    def _admits(self, law: Population) -> bool:
        return not isinstance(law, PiecewiseConstant) or self.space.admits(law)

    def _own_scores(self) -> Iterator[CalibrationSource]:
        for pool in self.own:
            if not isinstance(pool, Pool):
                raise ValueError(f"own must hold Pools for a quantile, got {pool!r}")  # noqa: TRY004
            yield ScoreSource(law=pool, clients=self.clients)

    def _own_rows(self) -> Iterator[CalibrationSource]:
        for pool in self.own:
            if not isinstance(pool, ProbabilityPool):
                raise ValueError(  # noqa: TRY004  (as every other bad input)
                    f"own must hold ProbabilityPools for a calibrator, got {pool!r}"
                )
            yield from self._rows(pool.name, partial(_itself, pool))

    def _classifier_scores(self, bounds: tuple[float, float]) -> Iterator[CalibrationSource]:
        for name in self._classifiers():
            yield ScoreSource(law=_fitted_scores(name), bounds=bounds, clients=self.clients)

    def _classifier_rows(self) -> Iterator[CalibrationSource]:
        for name in self._classifiers():
            if self.classes in {None, CLASSES[SHIPPED[name][0]]}:
                yield from self._rows(name, _fitted(name), stored=True)

    def _rows(self, label: str, build: Any, **others: Any) -> Iterator[CalibrationSource]:
        for meant in (0, 1) if self.per_class else (None,):
            yield RowSource(label=label, build=build, of_class=meant, **others)

    def _classifiers(self) -> Iterable[str]:
        return SHIPPED if self.ties and self.classifiers else ()


def _fitted_scores(name: str) -> Deferred:
    """Return the scores 1 − p_y of a classifier, as a law that is built when first needed."""
    build = _fitted(name)
    return Deferred(name, lambda: build().hps_population())


def _fitted(name: str) -> Callable[[], ProbabilityPool]:
    """Return the reader of a classifier's pool, by the name that a witness holds."""
    if name not in SHIPPED:
        raise ValueError(f"name must be that of a fitted classifier's pool, got {name!r}")
    return partial(classifier_pool, *SHIPPED[name])


def _itself(pool: ProbabilityPool) -> ProbabilityPool:
    return pool


def source_from_data(
    data: dict[str, Any], *, kind: Kind, bounds: tuple[float, float]
) -> CalibrationSource:
    """Return the source that a witness holds as plain data."""
    family = data.get("family")
    if family == "rows-by-law":
        return _LawOfRows.from_data(data)
    if family == "classifier-rows":
        name = data["name"]
        meant = data.get("of_class")
        return RowSource(label=name, build=_fitted(name), stored=True, of_class=meant)
    if family == "rows":
        probabilities, labels = np.asarray(data["probabilities"]), np.asarray(data["labels"])
        pool = ProbabilityPool(data["name"], probabilities, labels)
        return RowSource(
            label=pool.name, build=partial(_itself, pool), of_class=data.get("of_class")
        )
    if family == "scores":
        pooled = Pool(np.asarray(data["values"]), data["name"])
        return ScoreSource(law=pooled, clients=data.get("clients", 0))
    law: Population
    if family == "piecewise":
        law = PiecewiseConstant(edges=data["edges"], cells=data["cells"], atoms=data["atoms"])
    elif family == "beta":
        law = Beta(data["a"], data["b"])
    elif family == "classifier":
        law = _fitted_scores(data["name"])
    else:
        raise ValueError(f"law must name a known family, got {family!r}")
    if kind is Kind.CALIBRATOR:
        given = {name: data[name] for name in ("classes", "apart", "of_class") if name in data}
        return LabelledSource(law=law, **given)
    return ScoreSource(law=law, bounds=bounds, clients=data.get("clients", 0))


def _tied_laws(level: float) -> Iterator[Population]:
    """Yield laws with atoms: all equal, two values, rounded scores, mass at the bounds."""
    yield _points({_THIRD: 1})  # not a number of few decimals, nor dyadic
    yield from (_points({place: 1}) for place in (0.0, 1.0, 0.5))
    yield _points({0.0: _percent(level), 1.0: _percent(1 - level)})
    yield _points({0.25: 1, 0.75: 1})
    yield PiecewiseConstant(cells=(1,), atoms=((0.0, 1),))
    yield PiecewiseConstant(cells=(1,), atoms=((1.0, 1),))
    rest = _percent((1 - level) / 2)
    yield PiecewiseConstant(
        edges=(0, level, 1), cells=(_percent(level), rest), atoms=((level, rest),)
    )
    for parts in (10, 100):  # rounded to one and to two decimals
        yield _points({place / parts: 1 for place in range(parts + 1)})


def _smooth_laws(level: float, finest: float) -> Iterator[Population]:
    """Yield laws without atoms: over-confident, gaps at the level, clusters of many widths.

    None is narrower than ``finest``, below which rounding would tie the scores.
    """
    yield from (Beta(*shape) for shape in _BETAS)
    for share in (level, (1 + level) / 2):
        yield PiecewiseConstant(
            edges=(0, 0.001, 0.999, 1), cells=(_percent(share), 0, _percent(1 - share))
        )
    for place, width in product(_CLUSTERS, filter(lambda width: width >= finest, _WIDTHS)):
        low = place * (1 - width)
        edges = sorted({0.0, low, low + width, 1.0})
        yield PiecewiseConstant(
            edges=edges, cells=[float(end - start < 2 * width) for start, end in pairwise(edges)]
        )


def _percent(share: float) -> float:
    return round(100 * share, 6)


def _points(weights: dict[float, float]) -> PiecewiseConstant:
    return PiecewiseConstant(atoms=tuple(sorted(weights.items())))
