"""P-COQS's theorems on a finite population in random order: exchangeable, not independent.

The proofs use exchangeability alone, and here they are tightest: no sampling of the scores blurs
what a noisy comparison does, and the failure probability over the noise is computed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcp_audit import _validate
from dpcp_audit.computed import Computed
from dpcp_audit.mechanisms.pcoqs.rank_law import held_out_law
from dpcp_audit.theorems.pcoqs_coverage import CoverageReading, CoverageTheorem
from dpcp_audit.theorems.statement import Stated
from dpcp_audit.theorems.theorem import TheoremTrials, outside
from dpcp_audit.theorems.tightness import failure_evidence, with_tightness

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray
    from dpcp_audit.checks import Check
    from dpcp_audit.computed import Computation
    from dpcp_audit.mechanisms.pcoqs.release import PCOQS
    from dpcp_audit.results import PlainData
    from dpcp_audit.theorems.statement import Statement


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
