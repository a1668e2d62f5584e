"""P-COQS's theorems on a finite population in random order: exchangeable, not independent.

The proofs use exchangeability alone, and here they are tightest: no sampling of the scores blurs
what a noisy comparison does, and the failure probability over the noise is computed.

P-COQS's theorems on scores whose law is itself drawn once: exchangeable, not independent.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from dpcp_audit.extensions.claims import validate as _validate
from dpcp_audit.extensions.mechanisms import coverage_given_noise, held_out_law
from dpcp_audit.extensions.theorems import (
    CoverageReading,
    CoverageTheorem,
    FailureRate,
    Stated,
    TheoremTrials,
    failure_evidence,
    outside,
)

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import Check, Computation, FloatArray, PlainData
    from dpcp_audit.extensions.laws import Population
    from dpcp_audit.extensions.mechanisms import PCOQS
    from dpcp_audit.extensions.theorems import Statement


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Exchangeable(Stated):
    """Theorem 1 or Corollary 1, read marginally, on scores that are exchangeable alone."""

    about: ClassVar[Statement] = CoverageTheorem.about
    correction_name = CoverageTheorem.correction_name

    theorem: CoverageTheorem
    statistic: str = field(default="coverage", init=False)

    def __post_init__(self) -> None:
        if self.theorem.reading is not CoverageReading.MARGINAL:
            raise ValueError("theorem must be read marginally, over calibration and test data")

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
    def calibrator(self) -> PCOQS:
        """The mechanism that runs."""
        return self.theorem.calibrator

    def scaled(self, factor: float) -> Self:
        """Return the theorem with τ* multiplied."""
        return replace(self, theorem=self.theorem.scaled(factor))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FiniteCoverage(_Exchangeable):
    """Theorem 1 or Corollary 1, marginally, where n + 1 scores come in random order.

    Parameters
    ----------
    theorem : CoverageTheorem
        The theorem, in its marginal reading; its population is not used.
    scores : ndarray, shape (n + 1,)
        The finite population: one is tested, the others calibrate.
    name : str
        The population's name, where that tells the scores: it stands in the witness for them.
    """

    scores: FloatArray
    name: str = ""

    def __post_init__(self) -> None:
        _Exchangeable.__post_init__(self)
        values = _validate.scores(self.scores, within=self.theorem.mechanism.bounds)
        if values.size != self.theorem.n + 1:
            raise ValueError(f"scores must hold n + 1 = {self.theorem.n + 1}, got {values.size}")
        object.__setattr__(self, "scores", np.sort(values))

    @property
    def parameters(self) -> PlainData:
        """The case, as plain data."""
        return self.theorem.parameters | {
            "population": self.name or "finite",
            "order": "random, without replacement",
            **({} if self.name else {"scores": self.scores.tolist()}),
        }

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        """Draw the noise ``count`` times; the coverage given the noise has a known law."""
        law = held_out_law(self.calibrator, self.scores)
        chosen = rng.choice(law.rank.size, size=count, p=law.mass / law.mass.sum())
        coverage = law.rank[chosen] / (self.theorem.n + 1)
        return TheoremTrials(coverage, outside(coverage, self.bounds))

    @property
    def computed(self) -> bool:
        """Yes, over the noise."""
        return True

    def failure_probability(self) -> float:
        """Compute the probability, over the noise, that the coverage leaves its bounds."""
        law = held_out_law(self.calibrator, self.scores)
        return law.probability(outside(law.rank / (self.theorem.n + 1), self.bounds))

    def exact(self) -> Computation:
        """Compute the failure probability, as evidence."""
        return failure_evidence(
            self,
            note=(
                "Computed over the noise; given the noise, the coverage is averaged over the order "
                "of the scores."
            ),
        )


_TRIALS = 400


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DrawnOnceCoverage(_Exchangeable):
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

    populations: tuple[Population, ...]

    def __post_init__(self) -> None:
        _Exchangeable.__post_init__(self)
        if not self.populations:
            raise ValueError("populations must not be empty, got ()")

    @property
    def parameters(self) -> PlainData:
        """The case, as plain data."""
        names = " or ".join(law.name for law in self.populations)
        return self.theorem.parameters | {"population": names, "law": "drawn once for all scores"}

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        """Draw the noise ``count`` times, and compute the coverage given it."""
        mechanism = self.calibrator
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
