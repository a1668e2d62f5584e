"""P-COQS's theorems on a finite population in random order: exchangeable, not independent.

The proofs use exchangeability alone, and here they are tightest: no sampling of the scores blurs
what a noisy comparison does, and the failure probability over the noise is computed.

P-COQS's theorems on scores whose law is itself drawn once: exchangeable, not independent.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcp_audit.mechanisms.pcoqs.iid_coverage import coverage_given_noise
from dpcp_audit.mechanisms.pcoqs.rank_law import held_out_law
from dpcp_audit.theorems.pcoqs_coverage import CoverageReading, CoverageTheorem
from dpcp_audit.theorems.statement import Stated
from dpcp_audit.theorems.theorem import FailureRate, TheoremTrials, outside
from dpcp_audit.theorems.tightness import failure_evidence, with_tightness
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.computed import Computed

if TYPE_CHECKING:
    from dpcp_audit.laws.populations import Population
    from dpcp_audit.mechanisms.pcoqs.release import PCOQS
    from dpcp_audit.theorems.statement import Statement
    from dpcp_audit.words.arrays import FloatArray
    from dpcp_audit.words.checks import Check
    from dpcp_audit.words.computed import Computation
    from dpcp_audit.words.results import PlainData


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FiniteCoverage(Stated):
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

    about: ClassVar[Statement] = CoverageTheorem.about

    theorem: CoverageTheorem
    scores: FloatArray
    name: str = ""
    statistic: str = field(default="coverage", init=False)

    def __post_init__(self) -> None:
        if self.theorem.reading is not CoverageReading.MARGINAL:
            raise ValueError("theorem must be read marginally, over calibration and test data")
        values = _validate.scores(self.scores, within=self.theorem.mechanism.bounds)
        if values.size != self.theorem.n + 1:
            raise ValueError(f"scores must hold n + 1 = {self.theorem.n + 1}, got {values.size}")
        object.__setattr__(self, "scores", np.sort(values))

    @property
    def says(self) -> Statement:
        """What the theorem says."""
        return self.theorem.says

    @property
    def allowed_failure(self) -> float:
        """β."""
        return self.theorem.beta

    @property
    def correction_name(self) -> str:
        """τ*."""
        return self.theorem.correction_name

    @property
    def bounds(self) -> dict[str, float]:
        """The bounds on the coverage."""
        return self.theorem.bounds

    @property
    def calibrator(self) -> PCOQS:
        """The mechanism that runs."""
        return self.theorem.calibrator

    @property
    def parameters(self) -> PlainData:
        """The case, as plain data."""
        return self.theorem.parameters | {
            "population": self.name or "finite",
            "order": "random, without replacement",
            **({} if self.name else {"scores": self.scores.tolist()}),
        }

    def scaled(self, factor: float) -> FiniteCoverage:
        """Return the theorem with τ* multiplied."""
        return replace(self, theorem=self.theorem.scaled(factor))

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        """Draw the noise ``count`` times; the coverage given the noise has a known law."""
        law = held_out_law(self.calibrator, self.scores)
        chosen = rng.choice(law.rank.size, size=count, p=law.mass / law.mass.sum())
        coverage = law.rank[chosen] / (self.theorem.n + 1)
        return TheoremTrials(coverage, outside(coverage, self.bounds))

    def check(self, *, n_trials: int = 20_000) -> Check:  # noqa: ARG002  (nothing is sampled)
        """Return the check, which computes the failure probability and how tight the theorem is."""
        return Computed(partial(with_tightness, self))

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
