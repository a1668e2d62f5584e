"""The comparison itself: every method on every case, measured over independent runs.

A package brings its own by an entry point of the group ``dpcp_audit.calibrators``, which names a
``dpcp_ledger.comparison.method.PrivateCalibrator``.
"""

from __future__ import annotations

import importlib.util
import math
import sys
from dataclasses import dataclass, field
from functools import lru_cache, partial
from importlib.metadata import entry_points
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.extensions.claims import ApproxDP, Context
from dpcp_audit.extensions.mechanisms import conformal_rank
from dpcp_ledger.comparison.method import (
    LAWS,
    LOG_SCORE,
    OWN,
    POOLS,
    Calibrated,
    Case,
    Method,
    PrivateCalibrator,
    SkippedMethod,
    subject,
)
from dpcp_ledger.libraries.adapters import diffprivlib_quantile, opendp_quantile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from importlib.metadata import EntryPoint

    from dpcp_audit.extensions.claims import FloatArray

    Release = Callable[[FloatArray, np.random.Generator], float]


_SCORES_A_CELL = 2_000_000
_MOST_TRIALS, _LEAST_TRIALS = 100, 20
_OPENDP_CANDIDATES = 2000


def _per_release(
    case: Case, package: str, prepare: Callable[[Case], tuple[Release, str]]
) -> Calibrated | SkippedMethod:
    """Build a calibrator of a package, where it is installed."""
    if importlib.util.find_spec(package) is None:
        return SkippedMethod(f"{package} is not installed; install it with: pip install {package}")
    return released_one_by_one(case, *prepare(case))


def released_one_by_one(case: Case, quantile: Release, parameter: str) -> Calibrated:
    """Return a calibrator of code that releases one threshold at a time, at a cost O(n)."""
    population, n = case.subject.population, case.n

    def draw(trials: int, rng: np.random.Generator) -> FloatArray:
        runs = (quantile(population.sample(n, rng=rng), rng) for _ in range(trials))
        return np.fromiter(runs, dtype=np.float64, count=trials)

    affordable = min(_MOST_TRIALS, max(_LEAST_TRIALS, _SCORES_A_CELL // n))
    return Calibrated(draw=draw, parameter=parameter, most_trials=affordable)


def _level(case: Case) -> float:
    """Return the conformal level ⌈(1−α)(n+1)⌉/n, at most 1."""
    return min(1.0, conformal_rank(case.n, alpha=case.alpha) / case.n)


def _diffprivlib(case: Case) -> tuple[Release, str]:
    level, epsilon = _level(case), case.budget.epsilon

    def quantile(scores: FloatArray, rng: np.random.Generator) -> float:
        return diffprivlib_quantile(scores, rng=rng, level=level, epsilon=epsilon)

    return quantile, f"ε = {epsilon:.4g}"


def _opendp(case: Case) -> tuple[Release, str]:
    level, epsilon = _level(case), case.budget.epsilon

    def quantile(scores: FloatArray, rng: np.random.Generator) -> float:  # noqa: ARG001
        return opendp_quantile(  # draws from the system's entropy
            scores,
            level=level,
            n_candidates=_OPENDP_CANDIDATES,
            epsilon=epsilon,
            size_is_public=True,
        )

    return quantile, f"ε = {epsilon:.4g}, m = {_OPENDP_CANDIDATES}"


THIRD_PARTY = (
    Method(
        key="diffprivlib",
        label="diffprivlib",
        privacy="proved on paper: pure ε (exponential mechanism over intervals)",
        build=partial(_per_release, package="diffprivlib", prepare=_diffprivlib),
    ),
    Method(
        key="opendp",
        label="OpenDP",
        privacy="proved by its authors: pure ε, also in floating point",
        build=partial(_per_release, package="opendp", prepare=_opendp),
    ),
)


GROUP = "dpcp_audit.calibrators"


def methods() -> tuple[Method, ...]:
    """Return all methods: the non-private reference first, those of other packages last."""
    return _methods(tuple(sys.path))


def method(key: str) -> Method:
    """Return a method by its key."""
    found = {candidate.key: candidate for candidate in methods()}
    if key not in found:
        raise ValueError(f"key must be one of {', '.join(found)}, got {key!r}")
    return found[key]


@lru_cache(maxsize=1)
def _methods(path: tuple[str, ...]) -> tuple[Method, ...]:  # noqa: ARG001  (where they lie)
    known = (*OWN, *THIRD_PARTY)
    taken = {each.key for each in known}
    others = sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value))
    return (*known, *(_registered(entry, taken) for entry in others))


def _build(calibrator: PrivateCalibrator, case: Case) -> Calibrated:
    budget = case.budget

    def quantile(scores: FloatArray, rng: np.random.Generator) -> float:
        found = calibrator.calibrate(
            scores, alpha=case.alpha, epsilon=budget.epsilon, delta=budget.delta, rng=rng
        )
        if not np.isfinite(found):
            raise ValueError(f"{calibrator.label} must return a finite threshold, got {found!r}")
        return float(found)

    return released_one_by_one(case, quantile, f"ε = {budget.epsilon:.4g}")


def _registered(entry: EntryPoint, taken: set[str]) -> Method:
    """Return the method of an entry point; where its name is taken it is that of its object."""
    key = entry.name if entry.name not in taken else entry.value
    taken.add(key)
    made = partial(Method, key=key)
    try:
        found: object = entry.load()
    except Exception as error:  # noqa: BLE001  (a package may raise anything)
        return _unusable(made, entry, f"cannot be loaded: {type(error).__name__}: {error}")
    if not isinstance(found, PrivateCalibrator):
        return _unusable(made, entry, f"is no PrivateCalibrator but a {type(found).__name__}")
    return made(
        label=found.label,
        trust=found.trust,
        promise=found.promise,
        privacy=found.privacy,
        build=partial(_build, found),
    )


def _unusable(made: partial[Method], entry: EntryPoint, why: str) -> Method:
    def skipped(case: Case) -> SkippedMethod:  # noqa: ARG001  (of every case)
        return SkippedMethod(f"{entry.value} {why}")

    return made(label=entry.name, privacy="not known", build=skipped)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The settings of the comparison.

    Parameters
    ----------
    methods : sequence of str
        Keys of ``methods()``.
    subjects : sequence of str
        Names that ``subjects.subject`` knows, and paths of users' pools.
    sizes, epsilons, alphas : sequence of numbers
        n, ε and α, all combinations.
    delta : float
        δ of every budget.
    trials : int
        Runs of each method on each case; fewer where a run costs O(n).
    seed : int
        Keys every random stream, together with the case.
    """

    methods: Sequence[str] = field(default_factory=lambda: tuple(m.key for m in methods()))
    subjects: Sequence[str] = (*LAWS, *POOLS, f"{next(iter(POOLS))}{LOG_SCORE}")
    sizes: Sequence[int] = (100, 300, 1000, 3000, 10_000, 100_000)
    epsilons: Sequence[float] = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)
    alphas: Sequence[float] = (0.05, 0.1, 0.2)
    delta: float = 1e-6
    trials: int = 1000
    seed: int = 0


QUICK = Grid(sizes=(300, 1000, 10_000), epsilons=(0.5, 1.0, 4.0), alphas=(0.1,), trials=400)
"""Under a minute on two cores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRow:
    """One method on one case. The non-private reference has ε = ∞ and δ = 1.

    Parameters
    ----------
    coverage, coverage_error : float
        Mean of F(q̂) over the runs, and its standard error.
    failure_rate : float
        Share of runs whose one set covers less than 1−α: P(F(q̂) < 1−α).
    distance : float
        Mean of |F(q̂) − (1−α)|.
    set_size : float or None
        Mean number of labels in a set, where the subject has labels.
    labels : int or None
        Number of labels of the subject.
    parameter : str
        The mechanism's own privacy parameter, at this budget.
    """

    method: str
    subject: str
    n: int
    alpha: float
    epsilon: float
    delta: float
    trials: int
    coverage: float
    coverage_error: float
    failure_rate: float
    distance: float
    set_size: float | None
    labels: int | None
    parameter: str

    @property
    def covers(self) -> bool:
        """True if the mean coverage reaches 1−α, within three standard errors."""
        return self.coverage >= 1 - self.alpha - 3 * self.coverage_error


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All rows, by subject, α, n, ε and method, and what was left out, by method and reason."""

    grid: Grid
    rows: tuple[ComparisonRow, ...]
    skipped: tuple[tuple[str, str], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the subjects, in the order of the rows."""
        return tuple(dict.fromkeys(row.subject for row in self.rows))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Runs:
    """Independent runs of one method on one case, before they are summed up.

    Parameters
    ----------
    thresholds : ndarray, shape (trials,)
        The thresholds that the runs released.
    parameter : str
        The mechanism's own privacy parameter, at this budget.
    """

    method: Method
    case: Case
    thresholds: FloatArray
    parameter: str

    @property
    def coverages(self) -> FloatArray:
        """F(q̂) of every run, shape (trials,)."""
        return self.case.subject.population.cdf(self.thresholds)

    def row(self) -> ComparisonRow:
        """Sum them up."""
        case, private, data = self.case, self.method.private, self.case.subject.labelled
        coverage = self.coverages
        return ComparisonRow(
            method=self.method.key,
            subject=case.subject.name,
            n=case.n,
            alpha=case.alpha,
            epsilon=case.budget.epsilon if private else math.inf,
            delta=case.budget.delta if private else 1.0,
            trials=coverage.size,
            coverage=float(coverage.mean()),
            coverage_error=float(coverage.std(ddof=1) / math.sqrt(coverage.size)),
            failure_rate=float(np.mean(coverage < 1 - case.alpha)),
            distance=float(np.abs(coverage - (1 - case.alpha)).mean()),
            set_size=None if data is None else float(data.mean_set_size(self.thresholds).mean()),
            labels=None if data is None else data.scores.shape[1],
            parameter=self.parameter,
        )


def perform(chosen: Method, case: Case, *, trials: int, seed: int) -> Runs | SkippedMethod:
    """Run a method on a case.

    The random stream is keyed by the seed, the method and the case, not by what runs beside.
    """
    calibrated = chosen.build(case)
    if isinstance(calibrated, SkippedMethod):
        return calibrated
    name = f"{chosen.key}|{case.subject.name}|{case.n}|{case.alpha}|{case.budget.epsilon}"
    rng = Context(seed=seed, name=name, significance=0.5).rng()
    try:
        thresholds = calibrated.draw(int(min(trials, calibrated.most_trials)), rng)
    except RuntimeError as error:  # diffprivlib's, where many scores are tied
        if chosen not in THIRD_PARTY:
            raise
        reason = str(error).partition(".")[0]
        return SkippedMethod(f"{chosen.label} raises an error on these scores: {reason}")
    return Runs(method=chosen, case=case, thresholds=thresholds, parameter=calibrated.parameter)


def cases(grid: Grid, keys: Sequence[str], epsilon: float) -> Iterator[tuple[Method, Case]]:
    """Yield some methods on all of the grid's cases at one ε."""
    budget = ApproxDP(epsilon, grid.delta)
    for name, n, alpha, key in product(grid.subjects, grid.sizes, grid.alphas, keys):
        chosen = Case(subject=subject(name), n=n, alpha=alpha, budget=budget)
        yield method(key), chosen


def ordered(grid: Grid, rows: Iterable[ComparisonRow]) -> tuple[ComparisonRow, ...]:
    """Return the rows of one subject by α, n, ε and method."""
    place = {key: i for i, key in enumerate(grid.methods)}
    return tuple(sorted(rows, key=lambda row: (row.alpha, row.n, row.epsilon, place[row.method])))


def tasks(grid: Grid) -> Iterator[tuple[list[str], float]]:
    """Yield the methods of a family at one ε, which share what is costly."""
    families: dict[str, list[str]] = {}
    for key in grid.methods:
        families.setdefault(method(key).family, []).append(key)
    for keys in families.values():
        private = any(method(key).private for key in keys)
        for epsilon in grid.epsilons if private else grid.epsilons[:1]:
            yield keys, epsilon
