"""The theorem suite: every coverage bound over score laws, sizes n and privacy parameters.

A cell whose scores meet the theorem's assumptions is expected to hold; outside of them
nothing is expected, and the cell reports what happens.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpcp_audit.extensions.claims import Computed, Row, Source, Standing, Suite, Verdict
from dpcp_audit.extensions.laws import (
    Beta,
    Classifier,
    Dataset,
    Deferred,
    PiecewiseConstant,
    Population,
    Uniform,
    atoms,
    classifier_pool,
)
from dpcp_audit.extensions.mechanisms import PCOQS, ExponQ, OnMiss, optimal_gamma
from dpcp_audit.extensions.theorems import (
    Calibrator,
    CoverageReading,
    CoverageTheorem,
    FailureRate,
    LabelTheorem,
    MarginalCoverage,
    MeanBound,
    RankError,
    ScoreTheorem,
    UniformEvent,
    admissible_rounds,
    claim_of,
    standing_of,
    window_count_for,
)
from dpcp_ledger.claims.tightest_cases import tightest_rows
from dpcp_ledger.mechanisms.histlap import HistLap, SplitConformal
from dpcp_ledger.mechanisms.score_pools import digits, saved_pools
from dpcp_ledger.paper import Heading
from dpcp_ledger.pcoqs.marginal_grid import DrawnOnceCoverage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dpcp_audit.extensions.claims import Check, Context, Outcome
    from dpcp_audit.extensions.laws import ProbabilityPool


SIZES = (50, 2_400, 10**6, 10**9, 10**12)
_POOL_SIZES = (500, 10**6)
_DRAWS = 10_000
"""Draws of the noise at most, each with an averaged coverage; far fewer settle a row."""


def search_rows(
    continuous: Sequence[Population], tied: Sequence[Population], pools: Sequence[Population]
) -> Iterator[Row]:
    """Return the rows.

    Parameters
    ----------
    continuous, tied : sequence of Population
        Laws without and with atoms, of which Theorem 1 is read for one calibrated set as well.
    pools : sequence of Population
        Pools of a user: the search also tries ranks and coverage on them, with the M(Δ) that their
        ties ask for.
    """
    for population in continuous:
        for n in SIZES:
            for rho in (0.05, 0.5):
                yield _rank_row(population, n, rho)
    for population in pools:
        for n in _POOL_SIZES:
            yield _rank_row(population, n, 0.5)
    yield from _coverage_rows(continuous, tied, pools)


def _rank_row(population: Population, n: int, rho: float) -> Row:
    theorem = RankError(
        mechanism=PCOQS(alpha=0.1, rho=rho),
        n=n,
        beta=0.01,
        window_count=_window_count(population, n, beta=0.01),
        population=population,
    )
    return Row(
        claim=claim_of(
            theorem,
            f"grid.pcoqs.proposition-1.rank[scores={population.name},n={n},rho={rho:g}]",
            Verdict.CONSISTENT,
            subject=Heading.SEARCH_RANK,
            standing=standing_of(theorem),
        ),
        check=FailureRate(theorem=theorem, n_trials=64_000, stops_early=True),
    )


def _coverage_rows(
    continuous: Sequence[Population], tied: Sequence[Population], pools: Sequence[Population]
) -> Iterator[Row]:
    """Theorem 1 and Corollary 1, read for one calibrated set and for the average."""
    for population in (*continuous, tied[0]):
        for n in SIZES:
            for corrected in (False, True):
                yield _coverage_row(_conditional(population, n, corrected=corrected))
    for population, n, rho, corrected in _marginal_cases(tied):
        yield _coverage_row(_marginal(population, n, rho, corrected=corrected))
    for corrected in (False, True):
        yield _drawn_once_row(_marginal(Uniform(), 500, 0.5, corrected=corrected))
    for population in pools:
        for corrected in (False, True):
            yield _coverage_row(_marginal(population, _POOL_SIZES[0], 0.5, corrected=corrected))


def _drawn_once_row(theorem: CoverageTheorem) -> Row:
    """Return a row on scores that are exchangeable, not independent: their place is drawn once."""
    low = PiecewiseConstant(edges=(0.0, 0.25, 1.0), cells=(1.0, 0.0))
    high = PiecewiseConstant(edges=(0.0, 0.75, 1.0), cells=(0.0, 1.0))
    drawn = DrawnOnceCoverage(theorem=theorem, populations=(low, high))
    name = "corollary-1" if theorem.corrected else "theorem-1"
    return Row(
        claim=claim_of(
            drawn,
            f"grid.pcoqs.{name}[coverage=marginal,scores=drawn-once,n={theorem.n}]",
            Verdict.CONSISTENT,
            subject=Heading.SEARCH_COVERAGE,
            standing=Standing.PAPER,
        ),
        check=FailureRate(theorem=drawn, n_trials=_DRAWS, stops_early=True),
    )


def _conditional(population: Population, n: int, *, corrected: bool) -> CoverageTheorem:
    return CoverageTheorem(
        mechanism=PCOQS(alpha=0.1, rho=0.5),
        n=n,
        beta=0.01,
        reading=CoverageReading.CONDITIONAL,
        corrected=corrected,
        window_count=_window_count(population, n, beta=0.01, lost=1),
        population=population,
    )


def _marginal_cases(tied: Sequence[Population]) -> Iterator[tuple[Population, int, float, bool]]:
    """Laws with and without ties, n, ρ, and whether at α*."""
    for continuous in (Uniform(), Beta(2, 5)):
        for n in (50, 500):
            for rho in (0.05, 0.5):
                yield continuous, n, rho, False
    digits, votes = tied
    for population, n in ((digits, 500), (votes, 50), (votes, 500)):
        yield population, n, 0.5, False
    for n, rho in ((50, 0.5), (500, 0.5), (500, 0.05)):
        yield Uniform(), n, rho, True


def _marginal(population: Population, n: int, rho: float, *, corrected: bool) -> CoverageTheorem:
    return CoverageTheorem(
        mechanism=PCOQS(alpha=0.1, rho=rho),
        n=n,
        beta=0.1,
        reading=CoverageReading.MARGINAL,
        corrected=corrected,
        window_count=_window_count(population, n, beta=0.1, lost=1),
        population=population,
    )


def _window_count(population: Population, n: int, *, beta: float, lost: int = 0) -> int:
    """Return an M(Δ) that the scores exceed with a probability of at most β/4."""
    resolution = PCOQS(alpha=0.1, rho=0.5).resolution
    return window_count_for(population, n=n, resolution=resolution, beta=beta, lost=lost)


def _coverage_row(theorem: CoverageTheorem) -> Row:
    """Return a row; of the conditional reading, which the proof does not show, nothing is expected.

    Nor is it where α* is 0: as the papers' suite shows, Corollary 1 fails there at some n.
    """
    marginal = theorem.reading is CoverageReading.MARGINAL
    standing = standing_of(theorem)
    clamped = theorem.corrected and theorem.calibrator.alpha == 0
    name = "corollary-1" if theorem.corrected else "theorem-1"
    rho = "" if theorem.mechanism.rho == 0.5 else f",rho={theorem.mechanism.rho:g}"
    return Row(
        claim=claim_of(
            theorem,
            f"grid.pcoqs.{name}"
            f"[coverage={theorem.reading},scores={theorem.population.name},n={theorem.n}{rho}]",
            Verdict.CONSISTENT if standing is Standing.PAPER and not clamped else None,
            subject=Heading.SEARCH_COVERAGE,
            standing=standing,
        ),
        check=(
            theorem.check()
            if theorem.computed
            else FailureRate(
                theorem=theorem, n_trials=_DRAWS if marginal else 64_000, stops_early=True
            )
        ),
    )


class _Promise(NamedTuple):
    """Whose promise of 1−α on average a calibrator is held to, and what is expected of it."""

    name: str
    calibrator: Calibrator
    budget: dict[str, float]
    subject: Heading
    standing: Standing
    source: Source
    expected: Verdict | None


@dataclass(frozen=True, slots=True)
class WithoutFigures:
    """A claim decided by its ``check``, without figures: for suites of hundreds of rows."""

    check: Check

    @property
    def sampled(self) -> bool:
        """True if the check itself is sampled."""
        return self.check.sampled

    def __call__(self, context: Context) -> Outcome:
        """Run the check."""
        return replace(self.check(context), figures=())


def _promises(n: int) -> tuple[_Promise, ...]:
    """Return the calibrators; nothing is expected where no theorem promises 1−α."""
    search = Source(paper="P-COQS", section="Section 4, after Theorem 1")
    return (
        _Promise(
            "conformal.split",
            SplitConformal(alpha=0.1),
            {},
            Heading.SPLIT_COVERAGE,
            Standing.PAPER,
            Source(paper="Vovk et al. (2005)", section="Split conformal prediction"),
            Verdict.CONSISTENT,
        ),
        _Promise(
            "exponq.coverage",
            _exponq(n),
            {"epsilon": 1.0},
            Heading.EXPONQ_COVERAGE,
            Standing.PAPER,
            MarginalCoverage.about.source,
            Verdict.CONSISTENT,
        ),
        _Promise(
            "histlap.coverage",
            HistLap(alpha=0.1, epsilon=1.0),
            {"epsilon": 1.0},
            Heading.HISTLAP_COVERAGE,
            Standing.CONTROL,
            Source(paper="P-COQS", section="Section 5, HistLap"),
            None,
        ),
        _Promise(
            "pcoqs.coverage",
            PCOQS(alpha=0.1, rho=0.5),
            {"rho": 0.5},
            Heading.SEARCH_COVERAGE,
            Standing.READING,
            search,
            None,
        ),
    )


def mean_coverage_rows(laws: Sequence[Population]) -> Iterator[Row]:
    """Return the rows of the mean coverage of every calibrator."""
    for population in laws:
        for n in (500, 2_400, 10**6):
            for promise in _promises(n):
                theorem = MarginalCoverage(
                    calibrator=promise.calibrator, population=population, n=n
                )
                yield Row(
                    claim=claim_of(
                        theorem,
                        f"grid.{promise.name}[scores={population.name},n={n}]",
                        promise.expected,
                        subject=promise.subject,
                        standing=promise.standing,
                        source=promise.source,
                        parameters={"calibrator": type(promise.calibrator).__name__}
                        | promise.budget,
                    ),
                    check=_mean_check(theorem),
                )


def _mean_check(theorem: MarginalCoverage) -> Check:
    """Return the theorem's own check where it computes, else with as few trials as it takes."""
    check = theorem.check()
    return replace(check, stops_early=True) if isinstance(check, MeanBound) else check


def _exponq(n: int) -> ExponQ:
    return ExponQ(
        alpha=0.1, epsilon=1.0, n_candidates=100, gamma=optimal_gamma(n, alpha=0.1, epsilon=1.0)
    )


def votes() -> Population:
    """Return the hinge scores of a forest of 127 trees: multiples of 1/127, mostly small."""
    grid = np.arange(128) / 127
    counts = np.round(10_000 * np.exp(-6 * grid) + 150 * (grid > 0.95)).astype(np.int64)
    return atoms(grid, counts, name="votes-127")


def mixture() -> Population:
    """Return a uniform law with an atom of 0.3 at 0.6."""
    return PiecewiseConstant(cells=(0.7,), atoms=((0.6, 0.3),))


def near_one() -> Population:
    """Return a law with a quarter of its mass within 10⁻⁴ of 1."""
    return PiecewiseConstant(edges=(0.0, 0.9999, 1.0), cells=(0.75, 0.25))


def _continuous() -> tuple[Population, ...]:
    return (Uniform(), Beta(2, 5), Beta(5, 0.2))


class _Pool(NamedTuple):
    """A pool of a classifier's probabilities, built when it is first used."""

    name: str
    load: Callable[[], ProbabilityPool]

    def population(self) -> Population:
        """Return the HPS scores of the true labels."""
        return self.load().hps_population()

    @property
    def k(self) -> int:
        """The number of classes."""
        return int(self.load().probabilities.shape[1])


def _shipped_pools() -> tuple[_Pool, ...]:
    return tuple(
        _Pool(f"{dataset}-{classifier}", partial(classifier_pool, dataset, classifier))
        for dataset in Dataset
        for classifier in Classifier
    )


def _all_laws(pools: Sequence[_Pool]) -> tuple[Population, ...]:
    return (*_continuous(), near_one(), mixture(), votes(), *_laws_of(pools))


def _laws_of(pools: Sequence[_Pool]) -> tuple[Population, ...]:
    return tuple(Deferred(pool.name, pool.population) for pool in pools)


def rows(pools: Sequence[str] = (), figures: bool = False) -> list[Row]:  # noqa: FBT001, FBT002
    """Return the rows of the theorem suite.

    Parameters
    ----------
    pools : sequence of str
        Saved pools to test the theorems on as well (see ``load_pool``).
    figures : bool
        True if the findings keep their figures, which make a report several times as large.
    """
    saved = tuple(_Pool(pool().name, pool) for pool in saved_pools(pools))
    real = (*_shipped_pools(), *saved)
    laws = _all_laws(real)
    cells = (
        *_score_rows(laws),
        *_label_rows(real),
        *_uniform_rows(real),
        *search_rows(_continuous(), (digits(Classifier.LOGISTIC), votes()), _laws_of(saved)),
        *tightest_rows(),
        *mean_coverage_rows(laws),
    )
    if figures:
        return list(cells)
    return [replace(row, check=WithoutFigures(row.check)) for row in cells]


def _score_rows(laws: Sequence[Population]) -> Iterator[Row]:
    """Theorem 4, exactly, on every law: as printed, and with the upper end on a miss."""
    for population in laws:
        for n, epsilon in ((50, 4.0), (2_400, 4.0), (11_080, 1.0), (11_080, 4.0), (10**9, 4.0)):
            for on_miss in OnMiss:
                theorem = ScoreTheorem(
                    population=population,
                    n=n,
                    epsilon=epsilon,
                    delta=0.1,
                    rounds=10,
                    on_miss=on_miss,
                )
                yield _score_row(theorem)


def _score_row(theorem: ScoreTheorem) -> Row:
    standing = standing_of(theorem)
    return Row(
        claim=claim_of(
            theorem,
            f"grid.ldpcp.theorem-4[scores={theorem.population.name},n={theorem.n},"
            f"epsilon={theorem.epsilon:g},on-miss={theorem.on_miss}]",
            Verdict.PROVED if _holds(theorem, standing) else None,
            subject=Heading.SCORE_COVERAGE,
            standing=standing,
        ),
        check=Computed(theorem.exact),
    )


def _holds(theorem: ScoreTheorem, standing: Standing) -> bool:
    """Return True if Theorem 4 is expected to hold: on its data, or where a miss is made up for."""
    admitted = standing is not Standing.OUTSIDE_HYPOTHESIS
    return admitted or theorem.on_miss is OnMiss.UPPER_END


def _label_rows(pools: Sequence[_Pool]) -> Iterator[Row]:
    """Theorem 3 on real pools, L and L*."""
    for pool in pools:
        for n, starred in ((2_400, False), (2_400, True), (10**6, False)):
            theorem = _label_theorem(pool, n, starred=starred)
            standing = standing_of(theorem)
            yield Row(
                claim=claim_of(
                    theorem,
                    f"grid.ldpcp.theorem-3[scores={pool.name},n={n},T={theorem.rounds},"
                    f"starred={starred}]",
                    None if standing is Standing.OUTSIDE_HYPOTHESIS else Verdict.CONSISTENT,
                    subject=Heading.LABEL_COVERAGE,
                    standing=standing,
                ),
                check=FailureRate(theorem=theorem, n_trials=10_000, stops_early=True),
            )


def _label_theorem(pool: _Pool, n: int, *, starred: bool) -> LabelTheorem:
    """Return Theorem 3 with T = ⌈log2(1/τ)⌉ where some T is admissible, else with T = 10."""
    theorem = LabelTheorem(
        pool_name=pool.name, pool=pool.load, k=pool.k, n=n, epsilon=4.0, delta=0.1, starred=starred
    )
    rounds = admissible_rounds(pool.population(), width=theorem.mechanism.window_width)
    return theorem if rounds is None else replace(theorem, rounds=rounds)


def _uniform_rows(pools: Sequence[_Pool]) -> Iterator[Row]:
    for pool in pools:
        for n in SIZES:
            theorem = UniformEvent(
                pool_name=pool.name, pool=pool.load, k=pool.k, n=n, epsilon=2.0, delta=0.1
            )
            yield Row(
                claim=claim_of(
                    theorem,
                    f"grid.ldpcp.theorem-1[scores={pool.name},n={n}]",
                    Verdict.CONSISTENT,
                    subject=Heading.LABEL_COVERAGE,
                    standing=Standing.READING,
                ),
                check=FailureRate(theorem=theorem, n_trials=10_000, stops_early=True),
            )


SUITE = Suite(
    summary="Every coverage theorem over score laws, sizes and privacy parameters.",
    rows=rows,
    takes=frozenset({"pools", "figures"}),
)
