"""Proposition 1's rank error on given scores, where a coarse resolution breaks its bound."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcp_audit import _validate
from dpcp_audit.papers.computations.pcoqs_remarks import largest_windows
from dpcp_audit.quantities import Quantity
from dpcp_audit.results import Source
from dpcp_audit.theorems.pcoqs_coverage import noise_rank_error
from dpcp_audit.theorems.statement import Stated, Statement
from dpcp_audit.theorems.theorem import TheoremTrials

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray
    from dpcp_audit.mechanisms.pcoqs.release import PCOQS
    from dpcp_audit.results import PlainData


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FixedRankError(Stated):
    """Proposition 1 on one score array: rank error ≤ τ* + windows·M(Δ) w.p. ≥ 1−β.

    The printed bound has ``windows`` = 1. The search sets left ← mid + Δ, which may jump over
    the r-th score, and then ends up to Δ/2 further on: between mid and the result lie up to
    1.5Δ, so that the argument of the proof gives τ* + 2·M(Δ).
    """

    about: ClassVar[Statement] = Statement(
        words="With probability at least 1−β the rank error is at most τ* + windows·M(Δ).",
        formula="P(|#{s ≤ q} − r| ≤ τ* + windows·M(Δ)) ≥ 1−β",
        source=Source(paper="P-COQS", section="Proposition 1"),
        assumptions="any scores in [a, b]; the printed bound has one window, two suffice",
        bound="τ* = √((N/ρ)·log(2N/β)) and M(Δ) = max_t #{t < s ≤ t+Δ}, in ranks",
    )

    mechanism: PCOQS
    scores: FloatArray
    beta: float
    windows: int = 1
    statistic: str = field(default="rank error", init=False)

    def __post_init__(self) -> None:
        _validate.open_unit(beta=self.beta)
        _validate.integer(windows=self.windows, at_least=1)
        values = _validate.scores(self.scores, within=self.mechanism.bounds)
        object.__setattr__(self, "scores", np.sort(values))

    @property
    def says(self) -> Statement:
        """Proposition 1 as printed, or with so many windows."""
        limit = "τ* + M(Δ)" if self.windows == 1 else f"τ* + {self.windows}·M(Δ)"
        return replace(
            self.about,
            words=f"With probability at least 1−β the rank error is at most {limit}.",
            formula=f"P(|#{{s ≤ q}} − r| ≤ {limit}) ≥ 1−β",
        )

    @property
    def window_count(self) -> int:
        """M(Δ) of the scores."""
        return int(largest_windows(self.scores[None, :], self.mechanism.resolution)[0])

    @property
    def failure(self) -> Quantity:
        """The failure probability is not one of a coverage."""
        return Quantity.FAILURE

    @property
    def allowed_failure(self) -> float:
        """β."""
        return self.beta

    @property
    def bounds(self) -> dict[str, float]:
        """The limit on the rank error."""
        noise = noise_rank_error(self.mechanism, beta=self.beta)
        name = "τ* + M(Δ)" if self.windows == 1 else f"τ* + {self.windows}M(Δ)"
        return {name: noise + self.windows * self.window_count}

    @property
    def parameters(self) -> PlainData:
        """The case, as plain data."""
        return {
            "n": self.scores.size,
            "alpha": self.mechanism.alpha,
            "rho": self.mechanism.rho,
            "resolution": self.mechanism.resolution,
            "beta": self.beta,
            "window_count": self.window_count,
            "scores": self.scores.tolist(),
        }

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        """Release thresholds from the scores and compare their ranks with r."""
        thresholds = self.mechanism.sample(self.scores, count, rng=rng)
        ranks = np.searchsorted(self.scores, thresholds, side="right")
        error = np.abs(ranks - self.mechanism.rank(self.scores.size)).astype(np.float64)
        (limit,) = self.bounds.values()
        return TheoremTrials(error, error > limit)


def evenly_spaced(n: int) -> FloatArray:
    """Return the n scores (i + 1/2)/n for i = 0, …, n−1.

    With α just below 1/2 the r-th score lies just above the first midpoint 1/2, which is
    then answered "below"; left ← 1/2 + Δ jumps over it.
    """
    _validate.integer(n=n, at_least=1)
    return (np.arange(n) + 0.5) / n
