"""Mean coverage of every calibrator over score laws and sizes n."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dpcp_audit.mechanisms.conformal import SplitConformal
from dpcp_audit.mechanisms.exponq.exponential_quantile import ExponQ, optimal_gamma
from dpcp_audit.mechanisms.histlap import HistLap
from dpcp_audit.mechanisms.pcoqs.release import PCOQS
from dpcp_audit.papers.claims.headings import Heading
from dpcp_audit.results import Source, Standing, Verdict
from dpcp_audit.rows import Row
from dpcp_audit.theorems.calibrator_coverage import Calibrator, MarginalCoverage
from dpcp_audit.theorems.mean_bound import MeanBound
from dpcp_audit.theorems.sequential_mean import SequentialMean
from dpcp_audit.theorems.statement import claim_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpcp_audit.data.populations import Population


class _Promise(NamedTuple):
    """Whose promise of 1−α on average a calibrator is held to, and what is expected of it."""

    name: str
    calibrator: Calibrator
    budget: dict[str, float]
    subject: Heading
    standing: Standing
    source: Source
    expected: Verdict | None


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
                    check=SequentialMean(
                        bound=MeanBound(theorem=theorem, at_least=0.9, n_trials=30_000)
                    ),
                )


def _exponq(n: int) -> ExponQ:
    return ExponQ(
        alpha=0.1, epsilon=1.0, n_candidates=100, gamma=optimal_gamma(n, alpha=0.1, epsilon=1.0)
    )
