"""Proposition 1's rank error on given scores, where a coarse resolution breaks its bound."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcp_audit.extensions.claims import Computed, Quantity, Source
from dpcp_audit.extensions.claims import validate as _validate
from dpcp_audit.extensions.mechanisms import rank_law
from dpcp_audit.extensions.theorems import (
    NoiseBound,
    Stated,
    Statement,
    TheoremTrials,
    failure_evidence,
    noise_rank_error,
    planted,
    with_errors,
    with_tightness,
)
from dpcp_ledger.pcoqs.hostile_scores import too_few_below

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import Check, Computation, FloatArray, IntArray, PlainData
    from dpcp_audit.extensions.laws import Population
    from dpcp_audit.extensions.mechanisms import PCOQS


_CELLS = 2**21


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowCount:
    """Remark 2: E[M(Δ)] ≤ L·Δ·n for scores with a density bounded by L.

    M(Δ) is the largest number of scores in a half-open interval (t, t+Δ]. The statistic is
    min(M, cap), whose mean bounds E[M] from below.
    """

    population: Population
    density_bound: float
    n: int
    resolution: float
    cap: int = 20
    statistic: str = field(default="M(Δ), scores in the fullest window", init=False)
    allowed_failure: float = field(default=0.0, init=False)
    failure: Quantity = field(default=Quantity.FAILURE, init=False)

    @property
    def bounds(self) -> dict[str, float]:
        """L·Δ·n, in scores."""
        return {"L·Δ·n": self.density_bound * self.resolution * self.n}

    @property
    def parameters(self) -> PlainData:
        """The case, as plain data."""
        return {
            "n": self.n,
            "resolution": self.resolution,
            "density_bound": self.density_bound,
            "population": self.population.name,
        }

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        """Draw score sets and count their fullest windows."""
        windows = np.empty(count)
        rows = max(1, _CELLS // self.n)
        for start in range(0, count, rows):
            part = windows[start : start + rows]
            scores = np.sort(self.population.sample((part.size, self.n), rng=rng), axis=1)
            part[:] = np.minimum(largest_windows(scores, self.resolution), self.cap)
        return TheoremTrials(windows, np.zeros(count, dtype=bool))


def largest_windows(scores: FloatArray, resolution: float) -> IntArray:
    """Return the most scores in any (t, t+Δ], for each row of sorted scores, shape (rows,).

    A fullest window can be taken to end at a score, and holds the scores above that score
    less Δ.
    """
    rank = np.arange(1, int(scores.shape[1]) + 1)
    rows: list[FloatArray] = list(scores)
    below = [np.searchsorted(row, row - resolution, "right") for row in rows]
    return np.array([(rank - at).max() for at in below], dtype=np.int64)


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
    correction_name = "τ*"
    failure = Quantity.FAILURE

    mechanism: PCOQS
    scores: FloatArray
    beta: float
    windows: int = 1
    noise_bound: NoiseBound = NoiseBound.UNION
    correction: float = 1.0
    noise: float = 1.0
    rank_shift: int = 0
    name: str = ""
    statistic: str = field(default="rank error", init=False)

    def __post_init__(self) -> None:
        _validate.open_unit(beta=self.beta)
        _validate.integer(windows=self.windows, at_least=1)
        values = _validate.scores(self.scores, within=self.mechanism.bounds)
        object.__setattr__(self, "scores", np.sort(values))

    @property
    def says(self) -> Statement:
        """Proposition 1 as printed, or with so many windows."""
        source = "Proposition 1" if self.noise_bound is NoiseBound.UNION else "Remark 3"
        limit = "τ* + M(Δ)" if self.windows == 1 else f"τ* + {self.windows}·M(Δ)"
        return replace(
            self.about,
            words=f"With probability at least 1−β the rank error is at most {limit}.",
            formula=f"P(|#{{s ≤ q}} − r| ≤ {limit}) ≥ 1−β",
            source=Source(paper="P-COQS", section=source),
        )

    @property
    def window_count(self) -> int:
        """M(Δ) of the scores."""
        return int(largest_windows(self.scores[None, :], self.mechanism.resolution)[0])

    @property
    def allowed_failure(self) -> float:
        """β."""
        return self.beta

    @property
    def bounds(self) -> dict[str, float]:
        """The limit on the rank error."""
        noise = noise_rank_error(self.mechanism, beta=self.beta, bound=self.noise_bound)
        name = "τ* + M(Δ)" if self.windows == 1 else f"τ* + {self.windows}M(Δ)"
        return {name: self.correction * noise + self.windows * self.window_count}

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
            "scores": self.name or self.scores.tolist(),
            "noise_bound": str(self.noise_bound),
            **planted(correction=self.correction, noise=self.noise, rank_shift=self.rank_shift),
        }

    @property
    def run(self) -> PCOQS:
        """The mechanism that runs, with the planted errors."""
        n = self.scores.size
        return with_errors(self.mechanism, n=n, noise=self.noise, rank_shift=self.rank_shift)

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        """Release thresholds from the scores and compare their ranks with r."""
        thresholds = self.run.sample(self.scores, count, rng=rng)
        ranks = np.searchsorted(self.scores, thresholds, side="right")
        error = np.abs(ranks - self.mechanism.rank(self.scores.size)).astype(np.float64)
        (limit,) = self.bounds.values()
        return TheoremTrials(error, error > limit)

    def check(self, *, n_trials: int = 20_000) -> Check:  # noqa: ARG002  (nothing is sampled)
        """Return the check: the failure probability, and how tight the printed bound is."""
        return Computed(partial(with_tightness, self) if self.windows == 1 else self.exact)

    def failure_probability(self) -> float:
        """Compute the probability that the rank error exceeds its limit."""
        law = rank_law(self.run, self.scores)
        (limit,) = self.bounds.values()
        return law.probability(np.abs(law.rank - self.mechanism.rank(self.scores.size)) > limit)

    def exact(self) -> Computation:
        """Compute the failure probability, as evidence."""
        return failure_evidence(self, note="Computed over the noise.")


def on_too_few_below(theorem: FixedRankError) -> FixedRankError | None:
    """Return the bound on as many scores placed against it, or None where there are none."""
    found = too_few_below(theorem)
    return None if found is None else replace(theorem, scores=found[0], name=found[1])


def evenly_spaced(n: int) -> FloatArray:
    """Return the n scores (i + 1/2)/n for i = 0, …, n−1.

    With α just below 1/2 the r-th score lies just above the first midpoint 1/2, which is
    then answered "below"; left ← 1/2 + Δ jumps over it.
    """
    _validate.integer(n=n, at_least=1)
    return (np.arange(n) + 0.5) / n
