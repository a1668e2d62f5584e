"""The comparison itself: every method on every case, measured over independent runs."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.extensions.claims import ApproxDP, Context
from dpcp_audit.extensions.claims import validate as _validate
from dpcp_ledger.comparison.known_methods import method, methods
from dpcp_ledger.comparison.method import LAWS, LOG_SCORE, POOLS, Case, SkippedMethod, subject

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dpcp_audit.extensions.claims import FloatArray
    from dpcp_ledger.comparison.method import Method


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """What is compared.

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
    failure : float
        As in ``Case``.
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
    failure: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        _validate.integer(trials=self.trials, at_least=2)
        _validate.integer(seed=self.seed, at_least=0, at_most=None)
        for name in ("methods", "subjects", "sizes", "epsilons", "alphas"):
            if not getattr(self, name):
                raise ValueError(f"{name} must not be empty")
        for key in self.methods:
            method(key)
        for n in self.sizes:
            _validate.integer(sizes=n, at_least=100)
        for epsilon in self.epsilons:
            _validate.positive(epsilons=epsilon)
        for alpha in self.alphas:
            _validate.open_unit(alphas=alpha)
        _validate.open_unit(delta=self.delta)


QUICK = Grid(
    sizes=(300, 1000, 10_000),
    epsilons=(0.5, 1.0, 4.0),
    alphas=(0.1,),
    trials=400,
)
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
        What the budget bought: the mechanism's own privacy parameter.
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

    def as_plain(self) -> dict[str, Any]:
        """Return the row as plain data."""
        return asdict(self)


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
        What the runs released.
    parameter : str
        As in ``ComparisonRow``.
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
    _validate.integer(trials=trials, at_least=2)
    calibrated = chosen.build(case)
    if isinstance(calibrated, SkippedMethod):
        return calibrated
    name = f"{chosen.key}|{case.subject.name}|{case.n}|{case.alpha}|{case.budget.epsilon}"
    rng = Context(seed=seed, name=name, significance=0.5).rng()
    return Runs(
        method=chosen,
        case=case,
        thresholds=calibrated.draw(int(min(trials, calibrated.most_trials)), rng),
        parameter=calibrated.parameter,
    )


def measure(chosen: Method, case: Case, *, trials: int, seed: int) -> ComparisonRow | SkippedMethod:
    """Run a method on a case and sum up (see ``perform``)."""
    runs = perform(chosen, case, trials=trials, seed=seed)
    return runs if isinstance(runs, SkippedMethod) else runs.row()


def cases(grid: Grid, keys: Sequence[str], epsilon: float) -> Iterator[tuple[Method, Case]]:
    """Yield some methods on all of the grid's cases at one ε."""
    budget = ApproxDP(epsilon, grid.delta)
    for name, n, alpha, key in product(grid.subjects, grid.sizes, grid.alphas, keys):
        chosen = Case(subject=subject(name), n=n, alpha=alpha, budget=budget, failure=grid.failure)
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
