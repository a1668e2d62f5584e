"""Split conformal prediction's coverage, exactly: the non-private reference of every calibrator.

The miscoverage and its bound are compared as rationals. α is the decimal that it was
written as, which the rank is computed from as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from flint import fmpq
from scipy.special import betainc

from dpcp_audit.laws.populations import Beta, Deferred, Pool, Uniform
from dpcp_audit.mechanisms.iid_coverage import mean_coverage
from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.mechanisms.quantiles import conformal_rank
from dpcp_audit.stats.enclosures import at_most, decimal, ends
from dpcp_audit.theorems.statement import Stated, Statement
from dpcp_audit.theorems.theorem import MeanBound, TheoremTrials
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.evidence import Computation, Computed
from dpcp_audit.words.options import ALPHA, N
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import (
    ROUNDING,
    Figure,
    FigureKind,
    ProofMethod,
    Series,
    Source,
)

if TYPE_CHECKING:
    from dpcp_audit.laws.populations import Population
    from dpcp_audit.words.checks import Check
    from dpcp_audit.words.results import PlainData
    from dpcp_audit.words.validate import FloatArray


_ARGUMENT = (
    "The rank of the next score among n+1 exchangeable ones is uniform, ties broken at random, so "
    "that it is beyond the r-th smallest of the n others with probability 1 − r/(n+1), or less "
    "with ties."
)
_MOST_COMPUTED = 500
"""Scores up to which the mean coverage of P-COQS is computed: it takes seconds at most."""


def split_miscoverage(population: Population, *, n: int, alpha: float) -> Computation:
    """Compute E[1 − F(q)] of the r-th smallest of n i.i.d. scores, against α.

    In terms of U = F(S), the r-th smallest is Beta(r, n+1−r), so that the miscoverage is
    1 − r/(n+1) without atoms, and the sum over the atoms' levels with them (Vovk 2012).
    """
    rank = conformal_rank(n, alpha=alpha)
    low, high = miscoverage_ends(population, n=n, rank=rank)
    found = Computation(
        quantity=Quantity.MISCOVERAGE,
        detail="mean",
        value=high,
        claimed=alpha,
        witness={"n": n, "alpha": alpha, "rank": rank, "population": population.name},
        note=(
            f"The rank is {rank}; without ties the miscoverage is at least α − 1/(n+1) = "
            f"{alpha - 1 / (n + 1):.4g}."
        ),
        figures=(_law_figure(rank, n, alpha),),
    )
    bounded = found.between(
        at_most("1 − r/(n+1) ≤ α", fmpq(n + 1 - rank, n + 1), decimal(alpha)),
        method=ProofMethod.CLOSED_FORM,
        argument=_ARGUMENT,
        parameters={"n": n, "alpha": alpha, "population": population.name},
    )
    return replace(bounded, lower=low, upper=min(high, bounded.evidence.upper))


def miscoverage_ends(population: Population, *, n: int, rank: int) -> tuple[float, float]:
    """Return ends of E[1 − F(q)], q the ``rank``-th smallest of n i.i.d. scores.

    Of a law without atoms they are rigorous, of a pool they allow for rounding; of a law that may
    have atoms, and is no pool, the lower one is 0.
    """
    bound = ends(fmpq(max(0, n + 1 - rank), n + 1))
    law = population.population if isinstance(population, Deferred) else population
    if rank > n or isinstance(law, Uniform | Beta):
        return bound
    if not isinstance(law, Pool):
        return 0.0, bound[1]
    counts = np.unique(law.scores, return_counts=True)[1]
    below = (np.cumsum(counts) - counts) / law.scores.size
    summed = float(np.sum(counts * betainc(rank, n + 1 - rank, below))) / law.scores.size
    return summed * (1 - ROUNDING), min(summed * (1 + ROUNDING), bound[1])


def split_overcoverage(*, n: int, alpha: float) -> Computation:
    """Compute E[F(q)] without ties, r/(n+1), against the upper bound 1−α+1/(n+1)."""
    rank = conformal_rank(n, alpha=alpha)
    compared = at_most(
        "r/(n+1) ≤ 1−α+1/(n+1)", fmpq(rank, n + 1), 1 - decimal(alpha) + fmpq(1, n + 1)
    )
    found = Computation(
        quantity=Quantity.COVERAGE,
        detail="mean",
        value=rank / (n + 1),
        claimed=1 - alpha + 1 / (n + 1),
        witness={"n": n, "alpha": alpha, "rank": rank},
        note="With ties the coverage can exceed this by the mass of the tied scores.",
        figures=(_law_figure(rank, n, alpha),),
    )
    return found.between(
        compared,
        method=ProofMethod.CLOSED_FORM,
        argument=_ARGUMENT,
        parameters={"n": n, "alpha": alpha},
    )


def _law_figure(rank: int, n: int, alpha: float) -> Figure:
    grid = np.linspace(max(0.0, 1 - 3 * alpha), 1.0, 201)
    below = betainc(rank, max(n + 1 - rank, 1e-9), grid)
    return Figure(
        kind=FigureKind.LINES,
        title=f"Law of the coverage of one calibrated set, n = {n}",
        x_label="coverage",
        y_label="P(coverage ≤ x)",
        series=[Series(name="Beta(r, n+1−r)", x=grid.tolist(), y=below.tolist())],
        marks={"1−α": 1 - alpha},
        description="The distribution function of the coverage over calibration sets, exact.",
    )


class _CalibratorTrials(Protocol):
    """Runs of a calibrator; ``coverage`` has shape (trials,)."""

    @property
    def coverage(self) -> FloatArray:
        """F(q) of each run's threshold q."""
        ...


class Calibrator(Protocol):
    """Turns n i.i.d. scores into a threshold; P-COQS, ExponQ, HistLap and split conformal do."""

    @property
    def alpha(self) -> float:
        """The miscoverage level."""
        ...

    def trials(
        self,
        population: Population,
        *,
        n: int,
        trials: int,
        rng: np.random.Generator | int | None = None,
    ) -> _CalibratorTrials:
        """Run ``trials`` times on n fresh scores."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginalCoverage(Stated):
    """P(Y ∈ C(X)) over calibration data, noise and test point: the mean of F(q)."""

    about: ClassVar[Statement] = Statement(
        words="Sets cover at least 1−α, on average over calibration data, noise and test point.",
        formula="E[F(q̂)] ≥ 1−α",
        source=Source(paper="Angelopoulos et al. (2022)", section="Theorem 1"),
        assumptions="i.i.d. scores; proved for split conformal prediction and ExponQ alone",
        bound="1−α, in units of coverage",
    )

    calibrator: Calibrator
    population: Population
    n: int = field(metadata=N)
    details: PlainData = field(default_factory=dict[str, Any])
    statistic: str = field(default="coverage", init=False)
    allowed_failure: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        _validate.integer(n=self.n, at_least=1)

    @property
    def says(self) -> Statement:
        """The statement, of its calibrator."""
        calibrated = f"Sets calibrated by {type(self.calibrator).__name__} cover at least 1−α"
        words = f"{calibrated}, on average over calibration data, noise and test point."
        return replace(self.about, words=words)

    @property
    def bounds(self) -> dict[str, float]:
        """1−α."""
        return {"1−α": 1 - self.calibrator.alpha}

    @property
    def parameters(self) -> PlainData:
        """The case, as plain data."""
        case = {"n": self.n, "alpha": self.calibrator.alpha, "population": self.population.name}
        return case | self.details

    def check(self, *, n_trials: int = 30_000) -> Check:
        """Return the check of the mean coverage: computed where that is cheap, else sampled.

        It is cheap for P-COQS on at most 500 scores of a law with a monotone or smooth density.
        Sampled, it has ``n_trials`` trials at effort 1.
        """
        if self.computed:
            return Computed(self.exact)
        return MeanBound(theorem=self, at_least=1 - self.calibrator.alpha, n_trials=n_trials)

    @property
    def computed(self) -> bool:
        """True if ``check`` computes the mean."""
        smooth = isinstance(self.population, Uniform | Beta)
        return isinstance(self.calibrator, PCOQS) and smooth and self.n <= _MOST_COMPUTED

    def exact(self) -> Computation:
        """Compute the mean miscoverage of P-COQS.

        Raises
        ------
        ValueError
            If it is another calibrator, whose mean coverage is sampled.
        """
        if not isinstance(self.calibrator, PCOQS):
            raise ValueError(  # noqa: TRY004  (as every other bad input)
                f"calibrator must be a PCOQS, got {type(self.calibrator).__name__}"
            )
        found = mean_coverage(self.calibrator, self.population, n=self.n)
        miscoverage = 1 - float(found.coverage[0])
        return Computation(
            quantity=Quantity.MISCOVERAGE,
            detail="mean",
            value=miscoverage,
            claimed=self.calibrator.alpha,
            lower=max(0.0, miscoverage - found.error),
            upper=min(1.0, miscoverage + found.error),
            witness=self.parameters,
            note=(
                "Computed over i.i.d. scores and noise: the mean coverage is "
                f"{1 - miscoverage:.4f}, but for {found.error:.1g}."
            ),
        )

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        """Run the calibrator on fresh scores."""
        run = self.calibrator.trials(self.population, n=self.n, trials=count, rng=rng)
        return TheoremTrials(run.coverage, np.zeros(count, dtype=bool))


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitCoverage(Stated):
    """Split conformal prediction covers 1−α on average."""

    about: ClassVar[Statement] = Statement(
        words=(
            "Sets calibrated by split conformal prediction cover at least 1−α, on average over "
            "calibration data and test point."
        ),
        formula="E[F(q̂)] ≥ 1−α",
        source=Source(paper="Vovk et al. (2005)", section="Split conformal prediction"),
        assumptions="exchangeable scores",
        bound="1−α, in units of coverage",
    )

    population: Population
    n: int = field(metadata=N)
    alpha: float = field(default=0.1, metadata=ALPHA)

    def __post_init__(self) -> None:
        _validate.integer(n=self.n, at_least=1)
        _validate.open_unit(alpha=self.alpha)

    @property
    def parameters(self) -> PlainData:
        """The case, as plain data."""
        return {"n": self.n, "alpha": self.alpha, "population": self.population.name}

    def check(self, *, n_trials: int = 0) -> Check:  # noqa: ARG002  (nothing is sampled)
        """Return the check of the mean coverage, without sampling."""
        return Computed(partial(split_miscoverage, self.population, n=self.n, alpha=self.alpha))
