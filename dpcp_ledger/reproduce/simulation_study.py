"""Trials of the simulation study: every method, as published and as written, side by side."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpcp_audit.extensions.mechanisms import (
    PCOQS,
    HistLap,
    Normaliser,
    SplitConformal,
    conformal_rank,
)
from dpcp_ledger.mechanisms import published_variants
from dpcp_ledger.mechanisms.published_variants import ExponQSearch
from dpcp_ledger.reproduce.simulation import HistogramSeed, Model, Scored, TrialSample, sample

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dpcp_audit.extensions.claims import FloatArray
    from dpcp_ledger.mechanisms.published_variants import Tuning
    from dpcp_ledger.reproduce.simulation import PublishedDraws


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
        What the published HistLap noise was seeded with.
    lowest : float
        Where the published search begins.
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
        Of naive Bayes models at n = 10,000 and a model budget of 2.
    side : int
        Of naive Bayes models elsewhere.
    forest : int
        Of random forests.
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
    return list(_tasks(demands, effort, seed))


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


def _tasks(demands: Iterable[Demand], effort: Effort, seed: int) -> Iterator[SimulationTask]:
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
            yield SimulationTask(
                n, start, min(start + _CHUNK, last), dict(conditions), trials, seed
            )


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
    """Return what is known of the trials of a seed, a few hundred bytes each, to be added to."""
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


def _fitted(model: Model, data: TrialSample, fresh: int) -> tuple[Scored, Scored]:
    """Return the scores of the model as published, and of one with noise of its own."""
    published = Scored.of(model.fit(*data.fit, random_state=published_variants.MODEL_SEED), data)
    if not model.kind.private:
        return published, published
    return published, Scored.of(model.fit(*data.fit, random_state=fresh), data)


class _Tuning:
    """ExponQ's (m, γ) of one trial; the search looks at no data, so models share it."""

    def __init__(self, draws: PublishedDraws, rng: np.random.Generator, n: int) -> None:
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
    model: Scored,
    condition: Condition,
    tuning: _Tuning,
    *,
    trial: int,
    rng: np.random.Generator,
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
            scores,
            alpha=alpha,
            epsilon=epsilon,
            rng=condition.histogram_seed.generator(trial, rng),
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
