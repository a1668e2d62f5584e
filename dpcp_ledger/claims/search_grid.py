"""P-COQS's theorems over score laws, pools, sizes n and ρ: ranks, Theorem 1, Corollary 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcp_audit.extensions.claims import Row, Standing, Verdict
from dpcp_audit.extensions.laws import Beta, PiecewiseConstant, Population, Uniform
from dpcp_audit.extensions.mechanisms import PCOQS
from dpcp_audit.extensions.theorems import (
    CoverageReading,
    CoverageTheorem,
    FailureRate,
    RankError,
    claim_of,
    standing_of,
    window_count_for,
)
from dpcp_ledger.paper import Heading
from dpcp_ledger.pcoqs.marginal_grid import DrawnOnceCoverage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


SIZES = (50, 2_400, 10**6, 10**9, 10**12)
_POOL_SIZES = (500, 10**6)
_DRAWS = 10_000
"""Draws of the noise at most, each with an averaged coverage; far fewer settle a row."""
_CROWDED = "on scores closer than Δ, so that M(Δ) is more"


def search_rows(
    continuous: Sequence[Population], tied: Sequence[Population], pools: Sequence[Population]
) -> Iterator[Row]:
    """Return the rows.

    Parameters
    ----------
    continuous, tied : sequence of Population
        Laws without and with atoms, of which Theorem 1 is read for one calibrated set as well.
    pools : sequence of Population
        Of a user: ranks and coverage, with the M(Δ) that their ties ask for.
    """
    for population in continuous:
        for n in SIZES:
            for rho in (0.05, 0.5):
                yield _rank_row(population, n, rho)
    for population in pools:
        for n in _POOL_SIZES:
            yield _rank_row(population, n, 0.5, count=_window_count(population, n, beta=0.01))
    yield from _coverage_rows(continuous, tied, pools)


def _rank_row(population: Population, n: int, rho: float, *, count: int = 1) -> Row:
    theorem = RankError(
        mechanism=PCOQS(alpha=0.1, rho=rho),
        n=n,
        beta=0.01,
        window_count=count,
        population=population,
    )
    standing = standing_of(theorem)
    admitted = standing is Standing.PAPER
    return Row(
        claim=claim_of(
            theorem,
            f"grid.pcoqs.proposition-1.rank[scores={population.name},n={n},rho={rho:g}]",
            Verdict.CONSISTENT if admitted else None,
            subject=Heading.SEARCH_RANK,
            standing=standing,
            note="" if admitted else _CROWDED,
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
            note=_CROWDED if standing is Standing.OUTSIDE_HYPOTHESIS else "",
        ),
        check=(
            theorem.check()
            if theorem.computed
            else FailureRate(
                theorem=theorem, n_trials=_DRAWS if marginal else 64_000, stops_early=True
            )
        ),
    )
