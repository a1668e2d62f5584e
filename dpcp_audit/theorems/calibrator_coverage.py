"""Marginal coverage of a calibrator: what split conformal prediction promises, private or not."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from dpcp_audit import _validate
from dpcp_audit.parameters import N
from dpcp_audit.results import Source
from dpcp_audit.theorems.mean_bound import MeanBound
from dpcp_audit.theorems.statement import Stated, Statement
from dpcp_audit.theorems.theorem import TheoremTrials

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray
    from dpcp_audit.data.populations import Population
    from dpcp_audit.results import PlainData


class CalibratorTrials(Protocol):
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
    ) -> CalibratorTrials:
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

    def check(self, *, n_trials: int = 30_000) -> MeanBound:
        """Return the check of the mean coverage on ``n_trials`` trials at effort 1."""
        return MeanBound(theorem=self, at_least=1 - self.calibrator.alpha, n_trials=n_trials)

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        """Run the calibrator on fresh scores."""
        run = self.calibrator.trials(self.population, n=self.n, trials=count, rng=rng)
        return TheoremTrials(run.coverage, np.zeros(count, dtype=bool))
