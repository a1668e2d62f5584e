"""P-COQS's theorems on scores whose law is itself drawn once: exchangeable, not independent."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcp_audit.mechanisms.pcoqs.iid_coverage import coverage_given_noise
from dpcp_audit.theorems.pcoqs_coverage import CoverageReading, CoverageTheorem
from dpcp_audit.theorems.statement import Stated
from dpcp_audit.theorems.theorem import FailureRate, TheoremTrials, outside

if TYPE_CHECKING:
    from dpcp_audit.checks import Check
    from dpcp_audit.data.populations import Population
    from dpcp_audit.results import PlainData
    from dpcp_audit.theorems.statement import Statement

_TRIALS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnOnceCoverage(Stated):
    """Theorem 1 or Corollary 1, marginally, where one of several laws is drawn for all scores.

    Such as a random location or scale: each law is as likely, and the n + 1 scores are i.i.d.
    given the law. Given the noise, the coverage is the mean over the laws.

    Parameters
    ----------
    theorem : CoverageTheorem
        The theorem, in its marginal reading; its population is not used.
    populations : tuple of Population
        The laws.
    """

    about: ClassVar[Statement] = CoverageTheorem.about

    theorem: CoverageTheorem
    populations: tuple[Population, ...]
    statistic: str = field(default="coverage", init=False)

    def __post_init__(self) -> None:
        if self.theorem.reading is not CoverageReading.MARGINAL:
            raise ValueError("theorem must be read marginally, over calibration and test data")
        if not self.populations:
            raise ValueError("populations must not be empty, got ()")

    @property
    def says(self) -> Statement:
        """What the theorem says."""
        return self.theorem.says

    @property
    def allowed_failure(self) -> float:
        """β."""
        return self.theorem.beta

    @property
    def bounds(self) -> dict[str, float]:
        """The bounds on the coverage."""
        return self.theorem.bounds

    @property
    def parameters(self) -> PlainData:
        """The case, as plain data."""
        names = " or ".join(law.name for law in self.populations)
        return self.theorem.parameters | {"population": names, "law": "drawn once for all scores"}

    def scaled(self, factor: float) -> DrawnOnceCoverage:
        """Return the theorem with τ* multiplied."""
        return replace(self, theorem=self.theorem.scaled(factor))

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        """Draw the noise ``count`` times, and compute the coverage given it."""
        mechanism = self.theorem.calibrator
        noise = rng.standard_normal((mechanism.rounds, count))
        parts = [
            coverage_given_noise(mechanism, law, n=self.theorem.n, noise=noise)
            for law in self.populations
        ]
        means = np.mean([part.coverage for part in parts], axis=0)
        error = max(part.error for part in parts)
        clearly = outside(means, self.bounds, margin=error)
        undecided = outside(means, self.bounds, margin=-error) & ~clearly
        return TheoremTrials(means, clearly, undecided)

    def check(self, *, n_trials: int = _TRIALS) -> Check:
        """Return the check of the failure probability, on so many draws of the noise."""
        return FailureRate(theorem=self, n_trials=min(n_trials, _TRIALS), chunk_trials=_TRIALS)
