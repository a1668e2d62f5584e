"""Theorem 1 of LDP-CP: the noise-aware estimate F̂c is uniformly close to F^c."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcp_audit.laws.scores import hps
from dpcp_audit.mechanisms.ldpcp.label_calibration import dkw_width
from dpcp_audit.mechanisms.ldpcp.label_trials import CellCounts
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse
from dpcp_audit.theorems.statement import Stated, Statement
from dpcp_audit.theorems.theorem import TheoremTrials
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.options import DELTA, EPSILON, N
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import Source

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.laws.pools import ProbabilityPool
    from dpcp_audit.words.arrays import FloatArray
    from dpcp_audit.words.results import PlainData


@dataclass(frozen=True, kw_only=True)
class UniformEvent(Stated):
    """Theorem 1's event: sup_q F̂c(q) − F^c(q) ≤ Δ with probability ≥ 1−δ.

    That is what "any q with F̂c(q) ≥ 1−α" needs; the preprint's form is two-sided,
    sup_q |F̂c − F^c|.

    The proof treats F̂r, an average of |C_q|/k, as if it were an ECDF. It is the conditional
    mean of one (of the scores of uniform labels, given the features), so by Jensen's
    inequality its error is smaller for every convex loss; Massart's constant for tail
    probabilities does not follow from that alone. The trials show how much room there is.
    """

    about: ClassVar[Statement] = Statement(
        words=(
            "With probability at least 1−δ the noise-aware estimate exceeds the true coverage by "
            "at most Δ_L at every threshold."
        ),
        formula="P(sup_q F̂c(q) − F^c(q) ≤ Δ_L) ≥ 1−δ",
        source=Source(paper="LDP-CP", section="Theorem 1"),
        assumptions="i.i.d. users whose labels pass through k-RR with a known β",
        bound="Δ_L = √(log(4/δ)/(2nh²)) with h = (1−β)/(1+β), in units of coverage",
    )

    failure = Quantity.FAILURE
    correction_name = "Δ_L"

    n: int = field(metadata=N)
    epsilon: float = field(metadata=EPSILON)
    delta: float = field(metadata=DELTA)
    k: int
    correction: float = 1.0
    pool_name: str
    pool: Callable[[], ProbabilityPool]
    two_sided: bool = False
    statistic: str = field(default="uniform error of F̂c", init=False)

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
    def says(self) -> Statement:
        """Theorem 1, or the preprint's two-sided form."""
        if not self.two_sided:
            return self.about
        return replace(
            self.about,
            words=(
                "With probability at least 1−δ the noise-aware estimate is within Δ_L of the true "
                "coverage at every threshold."
            ),
            formula="P(sup_q |F̂c(q) − F^c(q)| ≤ Δ_L) ≥ 1−δ",
            source=Source(paper="LDP-CP", section="Theorem 2.1 of the preprint"),
        )

    @property
    def bounds(self) -> dict[str, float]:
        """Δ = sqrt(log(4/δ)/(2nh²)), multiplied by the correction."""
        width = dkw_width(n=self.n, beta=self.response.beta, delta=self.delta)
        return {"Δ": self.correction * width}

    @property
    def parameters(self) -> PlainData:
        """The case, as plain data."""
        case = {"n": self.n, "epsilon": self.epsilon, "delta": self.delta, "k": self.k}
        planted = {"correction": self.correction} if self.correction != 1 else {}
        return case | planted | {"two_sided": self.two_sided, "population": self.pool_name}

    @cached_property
    def _cells(self) -> CellCounts:
        pool = self.pool()
        return CellCounts(hps(pool.probabilities), pool.labels, self.response)

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        """Draw n users ``count`` times and take the supremum over all scores."""
        (limit,) = self.bounds.values()
        parts: list[FloatArray] = []
        for start in range(0, count, self._cells.chunk):
            size = min(self._cells.chunk, count - start)
            error = self._cells.estimates(self.n, size, rng=rng) - self._cells.true_cdf
            parts.append((np.abs(error) if self.two_sided else error).max(axis=1))
        supremum = np.concatenate(parts)
        return TheoremTrials(supremum, supremum > limit, uncorrected=supremum > 0)
