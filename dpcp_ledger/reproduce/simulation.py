"""P-COQS's simulation study (Section 5.1): every method, as published and as written.

The data and the published draws of trial i follow ``as_published``; they do not depend on the
run's seed, which governs the fresh draws of the algorithms as written.
"""

from __future__ import annotations

import hashlib
import importlib
from collections import defaultdict
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from dpcp_audit.extensions.mechanisms import PCOQS, Normaliser, conformal_rank
from dpcp_ledger.mechanisms import published_variants
from dpcp_ledger.mechanisms.histlap import HistLap, SplitConformal
from dpcp_ledger.mechanisms.published_variants import ExponQSearch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dpcp_audit.extensions.claims import FloatArray, IntArray
    from dpcp_ledger.mechanisms.published_variants import Tuning


_FEATURES = 8
_MEANS, _VARIANCES = (0.8, -1.0), (7.0, 8.0)
_BOUNDS = (-20, 20)
_ROUNDS = 34


class ModelKind(StrEnum):
    """The classifiers of Section 5.1."""

    NAIVE_BAYES = "naive Bayes"
    FOREST = "random forest"
    PRIVATE_NAIVE_BAYES = "private naive Bayes"
    PRIVATE_FOREST = "private random forest"

    @property
    def private(self) -> bool:
        """True if the model is diffprivlib's."""
        return self in (ModelKind.PRIVATE_NAIVE_BAYES, ModelKind.PRIVATE_FOREST)

    @property
    def forest(self) -> bool:
        """True if a fit takes about a second."""
        return self in (ModelKind.FOREST, ModelKind.PRIVATE_FOREST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A classifier with its privacy budget ε_f, which plain ones do not use."""

    kind: ModelKind
    epsilon: float = 2.0

    @property
    def missing(self) -> str:
        """The reason why the model cannot be fitted here; empty where it can."""
        if not self.kind.private:
            return ""
        try:
            _diffprivlib("models")
        except ImportError as error:
            return f"needs diffprivlib, pip install 'dpcp-audit[targets]' ({error})"
        return ""

    def fit(self, features: FloatArray, labels: IntArray, *, random_state: int) -> Any:
        """Fit the classifier; ``random_state`` is a private model's noise and a forest's trees."""
        return self._unfitted(random_state).fit(features, labels)

    def _unfitted(self, random_state: int) -> Any:
        if self.kind is ModelKind.NAIVE_BAYES:
            from sklearn.naive_bayes import GaussianNB  # noqa: PLC0415  (slow to import)

            return GaussianNB()
        if self.kind is ModelKind.FOREST:
            from sklearn.ensemble import RandomForestClassifier  # noqa: PLC0415  (slow to import)

            return RandomForestClassifier(random_state=random_state)
        models = _diffprivlib("models")
        private = {
            "epsilon": self.epsilon,
            "bounds": _BOUNDS,
            "random_state": random_state,
            "accountant": _diffprivlib("accountant").BudgetAccountant(),
        }
        if self.kind is ModelKind.PRIVATE_NAIVE_BAYES:
            return models.GaussianNB(**private)
        return models.RandomForestClassifier(
            n_estimators=127, max_depth=7, classes=np.array([0, 1]), **private
        )


class HistogramSeed(IntEnum):
    """The seed of HistLap's noise in the published tables."""

    FRESH = 0
    """Nothing, or nothing known."""
    FIXED = 1
    """12, in every trial."""
    RUNNING = 2
    """12 + i(i+1)/2 in trial i."""

    def generator(self, trial: int, fresh: np.random.Generator) -> np.random.Generator:
        """Return the generator of a trial's noise."""
        if self is HistogramSeed.FRESH:
            return fresh
        run = trial * (trial + 1) // 2 if self is HistogramSeed.RUNNING else 0
        return np.random.default_rng(12 + run)


class _PublishedDraws(NamedTuple):
    """The draws of trial i from NumPy's legacy generator once its data is drawn."""

    uniform_scores: FloatArray
    choices: FloatArray
    release: float
    normals: FloatArray
    normals_without_exponq: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class _TrialSample:
    """One trial's data and draws."""

    fit: tuple[FloatArray, IntArray]
    calibrate: tuple[FloatArray, IntArray]
    test: tuple[FloatArray, IntArray]
    draws: _PublishedDraws


def sample(trial: int, n: int) -> _TrialSample:
    """Draw the data of a trial, n in all: 60 % to fit, 24 % to calibrate, 16 % to test."""
    from sklearn import model_selection  # noqa: PLC0415  (slow to import)

    seed = trial + published_variants.FIRST_SEED
    legacy = np.random.RandomState(seed)
    classes = [
        legacy.multivariate_normal(
            np.full(_FEATURES, mean), variance * np.eye(_FEATURES), size=n // 2
        )
        for mean, variance in zip(_MEANS, _VARIANCES, strict=True)
    ]
    order = legacy.permutation(n)
    features = np.round(np.vstack(classes)[order], published_variants.SCORE_DECIMALS)
    labels = np.repeat(np.arange(2), n // 2)[order]
    split = cast("Any", model_selection).train_test_split
    fit_x, rest_x, fit_y, rest_y = split(features, labels, test_size=0.4, random_state=seed)
    cal_x, test_x, cal_y, test_y = split(rest_x, rest_y, test_size=0.4, random_state=seed)
    return _TrialSample(
        fit=(fit_x, fit_y),
        calibrate=(cal_x, cal_y),
        test=(test_x, test_y),
        draws=_draws(legacy, len(cal_y)),
    )


def _draws(legacy: np.random.RandomState, n: int) -> _PublishedDraws:
    state = legacy.get_state()
    uniform_scores = legacy.random_sample(n)
    choices = legacy.random_sample(100)
    release = legacy.random_sample()
    normals = legacy.standard_normal(_ROUNDS)
    legacy.set_state(state)
    return _PublishedDraws(
        uniform_scores, choices, release, normals, legacy.standard_normal(_ROUNDS)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A fitted model's hinge scores on one trial's data, sorted where order does not matter.

    Parameters
    ----------
    calibration : ndarray, shape (n_cal,)
        Scores of the true labels, unrounded.
    true, lowest, second : ndarray, shape (n_test,)
        Scores for each test point: that of the true label, the smallest and the next; each sorted
        by itself.
    accuracy : float
    """

    calibration: FloatArray
    true: FloatArray
    lowest: FloatArray
    second: FloatArray
    accuracy: float

    @classmethod
    def of(cls, model: Any, data: _TrialSample) -> Scored:
        """Score a trial's calibration and test points."""
        cal_x, cal_y = data.calibrate
        test_x, test_y = data.test
        calibration = 1 - model.predict_proba(cal_x)[np.arange(cal_y.size), cal_y]
        probabilities = model.predict_proba(test_x)
        scores = 1 - probabilities
        ordered = np.sort(scores, axis=1)
        return cls(
            calibration=np.sort(calibration),
            true=np.sort(scores[np.arange(test_y.size), test_y]),
            lowest=np.sort(ordered[:, 0]),
            second=np.sort(ordered[:, 1]),
            accuracy=float((probabilities.argmax(axis=1) == test_y).mean()),
        )

    def measure(self, thresholds: FloatArray, *, empty_counts: bool) -> FloatArray:
        """Return coverage, mean size and share of singletons, each row a threshold's.

        Parameters
        ----------
        thresholds : ndarray, shape (k,)
        empty_counts : bool
            True if an empty set has size 1 and counts as a singleton, as published.

        Returns
        -------
        ndarray, shape (k, 3)
            NaN where the threshold is.
        """
        covered, some, both = (
            np.searchsorted(values, thresholds, side="right") / values.size
            for values in (self.true, self.lowest, self.second)
        )
        size = 1 + both if empty_counts else some + both
        single = 1 - both if empty_counts else some - both
        result = np.stack([covered, size, single], axis=1)
        result[np.isnan(thresholds)] = np.nan
        return result


def _diffprivlib(module: str) -> Any:
    return importlib.import_module(f"diffprivlib.{module}")


_CHUNK = 5


class SimulatedMethod(IntEnum):
    """The calibrators that the tables compare, as an index."""

    EXPONQ = 0
    HISTLAP = 1
    PCOQS = 2
    STANDARD = 3


class Metric(IntEnum):
    """A number that a trial measures, as an index."""

    COVERAGE = 0
    SIZE = 1
    SINGLE = 2
    GAP = 3
    """|q − q₀| in score units, with q₀ the standard quantile: the tables' "rank error"."""
    RANK_ERROR = 4
    """|#{s <= q} − r|, in ranks."""
    ACCURACY = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """The parameters of one row of a table.

    Parameters
    ----------
    rho : float or None
        P-COQS's budget as published, ε²/2 unless given; as written it is always ε²/2.
    histogram_seed : HistogramSeed
        Seed of the published HistLap noise.
    lowest : float
        Score at which the published search begins.
    resolution : float
        Δ of P-COQS as written.
    alone : bool
        Only P-COQS was run.
    """

    alpha: float = 0.1
    epsilon: float = 1.0
    rho: float | None = None
    histogram_seed: HistogramSeed = HistogramSeed.FRESH
    lowest: float = 0.0
    resolution: float = 1e-10
    alone: bool = False

    @property
    def published_rho(self) -> float:
        """The ρ that the published P-COQS spent."""
        return self.epsilon**2 / 2 if self.rho is None else self.rho


class Demand(NamedTuple):
    """A model and a sample size at one condition."""

    model: Model
    n: int
    condition: Condition


class Measured(NamedTuple):
    """Trials as published and as written, each of shape (trials, methods, metrics)."""

    published: FloatArray
    written: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """The number of the 1,000 published trials that are run.

    Parameters
    ----------
    main : int
        Number of trials for naive Bayes models at n = 10,000 and a model budget of 2.
    side : int
        Number of trials for naive Bayes models elsewhere.
    forest : int
        Number of trials for random forests.
    """

    main: int
    side: int
    forest: int

    def trials(self, demand: Demand) -> int:
        """Return the trials of a demand."""
        if demand.model.kind.forest:
            return self.forest
        return self.main if demand.n == 10_000 and demand.model.epsilon == 2 else self.side


class SimulationTask(NamedTuple):
    """A chunk of trials at one sample size; a model takes part in the trials below its number."""

    n: int
    start: int
    stop: int
    conditions: dict[Model, tuple[Condition, ...]]
    trials: dict[Model, int]
    seed: int


def tasks(demands: Iterable[Demand], effort: Effort, *, seed: int) -> list[SimulationTask]:
    """Return chunks of trials, the largest samples first.

    A demand's numbers depend on nothing but ``seed``. Demands whose model cannot be fitted here
    are left out.
    """
    chunks: list[SimulationTask] = []
    by_size: dict[int, list[Demand]] = defaultdict(list)
    for demand in dict.fromkeys(demands):
        if not demand.model.missing:
            by_size[demand.n].append(demand)
    for n in sorted(by_size, reverse=True):
        conditions: dict[Model, tuple[Condition, ...]] = defaultdict(tuple)
        trials: dict[Model, int] = {}
        for demand in by_size[n]:
            conditions[demand.model] += (demand.condition,)
            trials[demand.model] = effort.trials(demand)
        last = max(trials.values())
        for start in range(0, last, _CHUNK):
            stop = min(start + _CHUNK, last)
            chunks.append(SimulationTask(n, start, stop, dict(conditions), trials, seed))
    return chunks


def gathered(parts: Iterable[Mapping[Demand, Measured]]) -> dict[Demand, Measured]:
    """Join what the tasks measured, in their order."""
    chunks: dict[Demand, list[Measured]] = defaultdict(list)
    for part in parts:
        for demand, measured in part.items():
            chunks[demand].append(measured)
    return {
        demand: Measured(*(np.concatenate(column) for column in zip(*found, strict=True)))
        for demand, found in chunks.items()
    }


def perform(task: SimulationTask) -> dict[Demand, Measured]:
    """Run the trials of one task."""
    from threadpoolctl import threadpool_limits  # noqa: PLC0415

    parts: dict[Demand, list[Measured]] = defaultdict(list)
    with threadpool_limits(1):
        for trial in range(task.start, task.stop):
            for demand, measured in _trial(trial, task).items():
                parts[demand].append(measured)
    return {
        demand: Measured(*(np.stack(column) for column in zip(*trials, strict=True)))
        for demand, trials in parts.items()
    }


def _trial(trial: int, task: SimulationTask) -> dict[Demand, Measured]:
    """Return a trial's numbers; what an earlier table of this process has measured is not run."""
    known = _known(task.seed)
    demands = [
        Demand(model, task.n, condition)
        for model, conditions in task.conditions.items()
        for condition in conditions
        if trial < task.trials[model]
    ]
    if missing := [demand for demand in demands if (trial, demand) not in known]:
        known.update({(trial, demand): found for demand, found in _run(trial, missing, task.seed)})
    return {demand: known[trial, demand] for demand in demands}


@lru_cache(maxsize=1)
def _known(seed: int) -> dict[tuple[int, Demand], Measured]:  # noqa: ARG001  (that of the trials)
    """Return the known trials of a seed, a few hundred bytes each, to be added to."""
    return {}


def _run(trial: int, demands: Sequence[Demand], seed: int) -> Iterator[tuple[Demand, Measured]]:
    """Run a trial's data, all of one sample size, through models and methods."""
    n = demands[0].n
    data = sample(trial, n)
    tuning = _Tuning(data.draws, stream(seed, n, trial), data.calibrate[1].size)
    for model in dict.fromkeys(demand.model for demand in demands):
        noise = stream(seed, n, trial, model)
        published, written = _fitted(model, data, int(noise.integers(1 << 31)))
        for demand in demands:
            if demand.model != model:
                continue
            rng = stream(seed, n, trial, model, demand.condition)
            measured = Measured(
                _published(published, demand.condition, tuning, trial=trial, rng=rng),
                _written(written, demand.condition, tuning, rng),
            )
            yield demand, measured


def stream(seed: int, *key: object) -> np.random.Generator:
    """Return the random stream of a key, whatever else is run beside it."""
    digest = hashlib.sha256(repr(key).encode()).digest()
    return np.random.default_rng([seed, int.from_bytes(digest[:8], "big")])


def _fitted(model: Model, data: _TrialSample, fresh: int) -> tuple[Scored, Scored]:
    """Return the scores of the model as published, and of one with noise of its own."""
    published = Scored.of(model.fit(*data.fit, random_state=published_variants.MODEL_SEED), data)
    if not model.kind.private:
        return published, published
    return published, Scored.of(model.fit(*data.fit, random_state=fresh), data)


class _Tuning:
    """ExponQ's (m, γ) of one trial; the search looks at no data, so models share it."""

    def __init__(self, draws: _PublishedDraws, rng: np.random.Generator, n: int) -> None:
        self.draws = draws
        self._simulated = {
            Normaliser.PUBLISHED: (draws.uniform_scores, draws.choices),
            Normaliser.CORRECTED: (rng.random(n), rng.random(draws.choices.size)),
        }
        self._found: dict[ExponQSearch, Tuning] = {}

    def release(self, search: ExponQSearch, scores: FloatArray, draw: float) -> float:
        """Search, or recall what was found, and release one threshold."""
        if search not in self._found:
            self._found[search] = search.tune(*self._simulated[search.normaliser])
        return search.release(scores, self._found[search], draw)


def _published(
    model: Scored, condition: Condition, tuning: _Tuning, *, trial: int, rng: np.random.Generator
) -> FloatArray:
    """Return the metrics (methods, metrics) of one trial as the tables computed it."""
    alpha, epsilon, draws = condition.alpha, condition.epsilon, tuning.draws
    scores = published_variants.rounded(model.calibration)
    thresholds = np.full(len(SimulatedMethod), np.nan)
    standard = published_variants.standard_threshold(scores, alpha=alpha)
    thresholds[SimulatedMethod.PCOQS] = published_variants.pcoqs_threshold(
        scores,
        alpha=alpha,
        rho=condition.published_rho,
        noise=draws.normals_without_exponq if condition.alone else draws.normals,
        lowest=condition.lowest,
    )
    if not condition.alone:
        thresholds[SimulatedMethod.EXPONQ] = tuning.release(
            published_variants.exponq_search(alpha=alpha, epsilon=epsilon), scores, draws.release
        )
        thresholds[SimulatedMethod.HISTLAP] = published_variants.histlap_threshold(
            scores, alpha=alpha, epsilon=epsilon, rng=condition.histogram_seed.generator(trial, rng)
        )
        thresholds[SimulatedMethod.STANDARD] = standard
    return _metrics(model, thresholds, standard, alpha, empty_counts=True)


def _written(
    model: Scored, condition: Condition, tuning: _Tuning, rng: np.random.Generator
) -> FloatArray:
    """Return the metrics (methods, metrics) of one trial of the reference mechanisms."""
    alpha, epsilon = condition.alpha, condition.epsilon
    scores = model.calibration
    thresholds = np.full(len(SimulatedMethod), np.nan)
    standard = SplitConformal(alpha=alpha).threshold(scores)
    search = PCOQS(alpha=alpha, rho=epsilon**2 / 2, resolution=condition.resolution)
    thresholds[SimulatedMethod.PCOQS] = search.sample(scores, 1, rng=rng)[0]
    if not condition.alone:
        thresholds[SimulatedMethod.EXPONQ] = tuning.release(
            ExponQSearch(alpha=alpha, epsilon=epsilon), scores, rng.random()
        )
        histogram = HistLap(alpha=alpha, epsilon=epsilon, n_bins=published_variants.HISTOGRAM_BINS)
        thresholds[SimulatedMethod.HISTLAP] = histogram.sample(scores, 1, rng=rng)[0]
        thresholds[SimulatedMethod.STANDARD] = standard
    return _metrics(model, thresholds, standard, alpha, empty_counts=False)


def _metrics(
    model: Scored, thresholds: FloatArray, standard: float, alpha: float, *, empty_counts: bool
) -> FloatArray:
    n = model.calibration.size
    ranks = np.searchsorted(model.calibration, thresholds, side="right").astype(np.float64)
    errors = np.abs(ranks - conformal_rank(n, alpha=alpha))
    errors[np.isnan(thresholds)] = np.nan
    result = np.empty((len(SimulatedMethod), len(Metric)))
    result[:, : Metric.GAP] = model.measure(thresholds, empty_counts=empty_counts)
    result[:, Metric.GAP] = np.abs(thresholds - standard)
    result[:, Metric.RANK_ERROR] = errors
    result[:, Metric.ACCURACY] = model.accuracy
    return result
