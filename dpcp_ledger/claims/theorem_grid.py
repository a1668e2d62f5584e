"""The theorem suite: every coverage bound over score laws, sizes n and privacy parameters.

A cell whose scores meet the theorem's assumptions is expected to hold; outside of them
nothing is expected, and the cell reports what happens.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpcp_audit.extensions.claims import (
    Computed,
    Row,
    Source,
    Standing,
    Suite,
    Verdict,
)
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
from dpcp_audit.extensions.mechanisms import (
    PCOQS,
    ExponQ,
    HistLap,
    OnMiss,
    SplitConformal,
    optimal_gamma,
)
from dpcp_audit.extensions.theorems import (
    Calibrator,
    FailureRate,
    LabelTheorem,
    MarginalCoverage,
    MeanBound,
    ScoreTheorem,
    UniformEvent,
    admissible_rounds,
    claim_of,
    exact_failure,
    standing_of,
)
from dpcp_ledger.claims.claim_pools import digits, saved_pools
from dpcp_ledger.claims.search_grid import SIZES, search_rows
from dpcp_ledger.claims.tightest_cases import tightest_rows
from dpcp_ledger.paper import Heading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dpcp_audit.extensions.claims import Check, Context, Outcome
    from dpcp_audit.extensions.laws import ProbabilityPool


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
    """A check whose outcome leaves its figures out, for suites of hundreds of rows."""

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
    return (
        *_continuous(),
        near_one(),
        mixture(),
        votes(),
        *_laws_of(pools),
    )


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
        check=Computed(partial(exact_failure, theorem)),
    )


def _holds(theorem: ScoreTheorem, standing: Standing) -> bool:
    """Return whether Theorem 4 is expected to hold: on its data, or where a miss is made up for."""
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
        pool_name=pool.name,
        pool=pool.load,
        k=pool.k,
        n=n,
        epsilon=4.0,
        delta=0.1,
        starred=starred,
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
