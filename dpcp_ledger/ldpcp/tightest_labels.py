"""Theorems 1 and 3 of LDP-CP where the law of what they bound is known, and they are tightest."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.special import smirnov
from scipy.stats import binom, kstwo

from dpcp_audit.extensions.claims import Quantity
from dpcp_audit.extensions.claims import validate as _validate
from dpcp_audit.extensions.mechanisms import KaryRandomizedResponse, dkw_width
from dpcp_audit.extensions.theorems import (
    LabelTheorem,
    Stated,
    Statement,
    TheoremTrials,
    UniformEvent,
    failure_evidence,
)

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import Computation, PlainData


_EDGE = 1e-9
"""The distance of a coverage past its bound: enough to count, too little to matter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _LabelCase(Stated):
    """n users with labels through k-RR, and Δ_L times a planted ``correction``."""

    correction_name = "Δ_L"

    n: int
    epsilon: float
    delta: float
    k: int
    correction: float = 1.0

    def __post_init__(self) -> None:
        _validate.integer(n=self.n, at_least=1)
        _validate.integer(k=self.k, at_least=2)
        _validate.open_unit(delta=self.delta)
        _validate.non_negative(correction=self.correction)

    @property
    def allowed_failure(self) -> float:
        """δ."""
        return self.delta

    @property
    def response(self) -> KaryRandomizedResponse:
        """The k-RR of the labels."""
        return KaryRandomizedResponse(self.epsilon, self.k)

    @property
    def width(self) -> float:
        """Δ_L, multiplied by the correction."""
        return self.correction * dkw_width(n=self.n, beta=self.response.beta, delta=self.delta)

    def _case(self) -> PlainData:
        """Return what all cases have, as plain data."""
        case = {"n": self.n, "epsilon": self.epsilon, "delta": self.delta, "k": self.k}
        return case | ({"correction": self.correction} if self.correction != 1 else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiselessEvent(_LabelCase):
    """Theorem 1's event on continuous scores, where ε is so large that hardly a label changes.

    F̂c is then the empirical distribution function of n scores, except with a probability of
    nβ, and its largest excess has Smirnov's law (Birnbaum and Tingey 1951), or Kolmogorov's
    for both sides. The theorem is as tight there as it gets: its constant is Massart's for δ/4.
    """

    about: ClassVar[Statement] = UniformEvent.about
    failure = Quantity.FAILURE

    k: int = 2
    two_sided: bool = False
    statistic: str = field(default="uniform error of F̂c", init=False)

    @property
    def computed(self) -> bool:
        """Yes: Smirnov's law, or Kolmogorov's."""
        return True

    @property
    def bounds(self) -> dict[str, float]:
        """Δ_L."""
        return {"Δ": self.width}

    @property
    def parameters(self) -> PlainData:
        """The case, as plain data."""
        return self._case() | {"two_sided": self.two_sided, "population": "any continuous law"}

    @property
    def changed(self) -> float:
        """A bound on the probability that some label changes, nβ."""
        return min(1.0, self.n * self.response.beta)

    @property
    def _limit(self) -> float:
        """Δ_L in terms of the scores' own distribution function, at most 1."""
        return min(1.0, (1 - self.response.beta) * self.width)

    def failure_probability(self) -> float:
        """Compute P(sup F̂ − F > Δ_L) of n uniform scores, ``changed`` aside."""
        if self.two_sided:
            return float(kstwo.sf(self._limit, self.n))
        return float(smirnov(self.n, self._limit))

    @property
    def _ends(self) -> tuple[float, float]:
        """Bounds on the failure probability, ``changed`` aside.

        An excess above F is a decreasing event of the ordered scores and one below an increasing
        event, and these are associated (Karlin and Rinott 1980): both happen with a probability
        of at most p² where each has p, and one or the other with 2p − p² to 2p.
        """
        each = float(smirnov(self.n, self._limit))
        return (2 * each - each**2, 2 * each) if self.two_sided else (each, each)

    def exact(self) -> Computation:
        """Compute the failure probability, as evidence; two-sided, between bounds on it."""
        return failure_evidence(
            self,
            ends=self._ends,
            slack=self.changed,
            note=f"No label changes, except with a probability of at most {self.changed:.2g}.",
        )

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        """Draw n uniform scores ``count`` times."""
        scores = np.sort(rng.random((count, self.n)), axis=1)
        upto = np.arange(1, self.n + 1) / self.n
        error = (upto - scores).max(axis=1)
        if self.two_sided:
            error = np.maximum(error, (scores - upto + 1 / self.n).max(axis=1))
        return TheoremTrials(error, error > (1 - self.response.beta) * self.width)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidentLabels(_LabelCase):
    """Theorem 3 for confident predictions, where F̂c is a binomial variable.

    One label of each user has an HPS score near 0 and the others have scores near 1; it is the
    true one with probability f, just less than 1−α−Δ_L. At any midpoint between, F̂r = 1/k, every
    early midpoint sees the same F̂c, and the bound fails if that reaches 1−α. (It also fails where
    a later midpoint jumps over the window back to these; that comes on top.)
    The scores near 0 and 1 are spread widely enough to be admissible, for T of that size.
    """

    about: ClassVar[Statement] = LabelTheorem.about

    k: int = 2
    alpha: float = 0.1
    statistic: str = field(default="F̂c at the first midpoint", init=False)

    def __post_init__(self) -> None:
        _LabelCase.__post_init__(self)
        _validate.open_unit(alpha=self.alpha)

    @property
    def computed(self) -> bool:
        """Yes: a binomial tail."""
        return True

    @property
    def bounds(self) -> dict[str, float]:
        """The bound 1−α: F̂c of a threshold that covers too little has to stay below it."""
        return {"1−α": 1 - self.alpha}

    @property
    def parameters(self) -> PlainData:
        """The case, as plain data."""
        return self._case() | {
            "rounds": self.rounds,
            "alpha": self.alpha,
            "population": f"near 0 with {self.covered:.6g}",
        }

    @property
    def covered(self) -> float:
        """f, the coverage of every early midpoint."""
        return max(0.0, 1 - self.alpha - self.width - _EDGE)

    @property
    def rounds(self) -> int:
        """T, enough for 2^(−T) to hold at most Δ_L of the mass spread over quarters of [0, 1]."""
        return max(2, math.ceil(math.log2(8 / min(1.0, max(self.width, 1e-12)))))

    @property
    def _reports(self) -> tuple[int, float]:
        """The fewest reports of a label near 0 that fail, and the probability of one."""
        beta = self.response.beta
        level = (1 - beta) * (1 - self.alpha) + beta / self.k
        return math.ceil(self.n * level - _EDGE), (1 - beta) * self.covered + beta / self.k

    def failure_probability(self) -> float:
        """Compute the probability that F̂c of an early midpoint reaches 1−α.

        It is 0 where the bound is vacuous.
        """
        if self.covered == 0:
            return 0.0
        least, chance = self._reports
        return float(binom.sf(least - 1, self.n, chance))

    def exact(self) -> Computation:
        """Compute the failure probability, as evidence."""
        return failure_evidence(
            self,
            detail="at an early midpoint",
            note="Every early midpoint sees one binomial number of reports.",
        )

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        """Draw the reports ``count`` times."""
        least, chance = self._reports
        reports = rng.binomial(self.n, chance, size=count)
        beta = self.response.beta
        return TheoremTrials((reports / self.n - beta / self.k) / (1 - beta), reports >= least)
