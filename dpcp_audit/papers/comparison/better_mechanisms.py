"""Originals and their improvements at equal privacy: noise, coverage and set size.

Each improvement follows from an exact law: what a mechanism releases spends less than its theorem
says, or covers less. Thresholds are drawn and their coverage is F(q), exactly; LDP-CP-S's coverage
is that of its exact law.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dpcp_audit import _validate
from dpcp_audit.data.pools import Classifier, Dataset, classifier_pool
from dpcp_audit.mechanisms.ldpcp.editions import OnMiss
from dpcp_audit.mechanisms.ldpcp.label_calibration import LDPCPLabels, dkw_width
from dpcp_audit.mechanisms.ldpcp.noise_aware_labels import NoiseAwareLabels
from dpcp_audit.mechanisms.ldpcp.score_calibration import LDPCPScores, hoeffding_width
from dpcp_audit.mechanisms.ldpcp.window_law import threshold_law
from dpcp_audit.mechanisms.pcoqs.release import PCOQS
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse
from dpcp_audit.papers.comparison.budgets import (
    Budget,
    claimed_rho,
    full_budget_exponq,
    proven_rho,
    tuned_exponq,
)
from dpcp_audit.theorems.pcoqs_coverage import NoiseBound, noise_rank_error

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpcp_audit._types import FloatArray
    from dpcp_audit.data.pools import ProbabilityPool
    from dpcp_audit.data.populations import Population

_ALPHA, _FAILURE = 0.1, 0.01
_EPSILONS = (0.5, 1.0, 2.0)


class _Trials(Protocol):
    @property
    def threshold(self) -> FloatArray: ...


class _Mechanism(Protocol):
    def trials(
        self, population: Population, *, n: int, trials: int, rng: np.random.Generator
    ) -> _Trials: ...


class _Draw(Protocol):
    """Draws thresholds, shape (trials,), each on n fresh scores."""

    def __call__(
        self, population: Population, *, n: int, trials: int, rng: np.random.Generator
    ) -> FloatArray: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ImprovementCase:
    """A mechanism at a budget, and what it gives.

    Parameters
    ----------
    pair : str
        What is improved.
    name, setting, noise : str
        The mechanism, its case, and its noise in words.
    coverage, short, size : float
        Mean of F(q), the share of thresholds with F(q) < 1−α, and the mean set size.
    """

    pair: str
    name: str
    setting: str
    noise: str
    coverage: float
    short: float
    size: float


def scored(population: Population, sizes: FloatArray, q: FloatArray) -> tuple[float, float, float]:
    """Return mean coverage, share that is short and mean set size of thresholds.

    Parameters
    ----------
    sizes : ndarray, shape (m, k)
        Scores of every label, whose share at most q is the set's.
    """
    coverage = np.asarray(population.cdf(q))
    every = np.sort(sizes, axis=None)
    inside = np.searchsorted(every, q, side="right") / len(sizes)
    return float(coverage.mean()), float((coverage < 1 - _ALPHA).mean()), float(inside.mean())


def curator_pairs(
    *, n: int, trials: int, rng: np.random.Generator, epsilons: Iterable[float] = _EPSILONS
) -> list[ImprovementCase]:
    """Measure P-COQS and ExponQ, and what their exact losses allow, on digits-logistic."""
    _validate.integer(n=n, trials=trials, at_least=1)
    pool = classifier_pool(Dataset.DIGITS, Classifier.LOGISTIC)
    population, scores = pool.hps_population(), 1 - pool.probabilities
    found: list[ImprovementCase] = []
    for epsilon in epsilons:
        budget = Budget(epsilon)
        for pair, name, draw, noise in _curators(budget, n):
            drawn = draw(population, n=n, trials=trials, rng=rng)
            coverage, short, size = scored(population, scores, drawn)
            found.append(
                ImprovementCase(
                    pair=pair,
                    name=name,
                    setting=f"ε = {epsilon:g}",
                    noise=noise,
                    coverage=coverage,
                    short=short,
                    size=size,
                )
            )
    return found


def _curators(budget: Budget, n: int) -> Iterable[tuple[str, str, _Draw, str]]:
    rounds = PCOQS(alpha=_ALPHA, rho=1.0).rounds
    for name, rho in (
        ("P-COQS, ρ from its zCDP", claimed_rho(budget)),
        ("P-COQS, ρ from its exact δ(ε)", proven_rho(budget, rounds=rounds)),
    ):
        search = PCOQS(alpha=_ALPHA, rho=rho)
        starred = UnclampedCorollary(search=search, beta=_FAILURE)
        noise = f"σ = {search.noise_scale:.3g}"
        yield "pcoqs", name, _drawn(search), noise
        yield (
            "pcoqs",
            name.replace("P-COQS", "P-COQS*"),
            starred.thresholds,
            f"{noise}, α* = {max(0.0, starred.level(n)):.3g}",
        )
    for name, tuned in (
        ("ExponQ, nominal ε", tuned_exponq(budget.epsilon, n=n, alpha=_ALPHA)),
        ("ExponQ, tight normaliser", full_budget_exponq(budget, n=n, alpha=_ALPHA)),
    ):
        spent = tuned.log_ratio_bound(n)
        yield "exponq", name, _drawn(tuned), f"nominal ε = {tuned.epsilon:.3g}, spends {spent:.3g}"


def _drawn(mechanism: _Mechanism) -> _Draw:
    def draw(
        population: Population, *, n: int, trials: int, rng: np.random.Generator
    ) -> FloatArray:
        return mechanism.trials(population, n=n, trials=trials, rng=rng).threshold

    return draw


def search_pairs(cases: Iterable[tuple[str, Population]], *, n: int) -> list[ImprovementCase]:
    """Compute LDP-CP-S* with both rules on a miss, by its exact law, at ε = 4, T = 10."""
    found: list[ImprovementCase] = []
    for name, population in cases:
        for rule, words in (
            (OnMiss.LAST_MIDPOINT, "LDP-CP-S*, last midpoint"),
            (OnMiss.UPPER_END, "LDP-CP-S*, upper end"),
        ):
            settings: dict[str, Any] = {"epsilon": 4.0, "rounds": 10}
            width = hoeffding_width(n=n, delta=_FAILURE, **settings)
            mechanism = LDPCPScores(
                alpha=_ALPHA, window_width=width, starred=True, on_miss=rule, **settings
            )
            law = threshold_law(mechanism, population, n=n)
            coverage = np.asarray(population.cdf(law.threshold))
            found.append(
                ImprovementCase(
                    pair="ldpcp",
                    name=words,
                    setting=name,
                    noise=f"Δ = {width:.3g}",
                    coverage=float(law.mass @ coverage),
                    short=law.probability(coverage < 1 - _ALPHA),
                    size=float("nan"),
                )
            )
    return found


def label_pairs(
    pools: Iterable[ProbabilityPool], *, n: int, trials: int, rng: np.random.Generator
) -> list[ImprovementCase]:
    """Measure LDP-CP-L* with Algorithm 2's search and with NACP's own, at ε = 4."""
    _validate.integer(n=n, trials=trials, at_least=1)
    found: list[ImprovementCase] = []
    for pool in pools:
        scores = 1 - pool.probabilities
        k = int(scores.shape[1])
        width = dkw_width(n=n, beta=KaryRandomizedResponse(4.0, k).beta, delta=_FAILURE)
        setting: dict[str, Any] = {"alpha": _ALPHA, "epsilon": 4.0, "k": k, "rounds": 14}
        setting |= {"window_width": width, "starred": True}
        for name, mechanism in (
            ("LDP-CP-L*, Algorithm 2", LDPCPLabels(**setting)),
            ("LDP-CP-L*, NACP's own search", NoiseAwareLabels(**setting)),
            ("LDP-CP-L*, the same from 0", NoiseAwareLabels(**setting, lowest=0.0)),
        ):
            drawn = mechanism.trials(scores, pool.labels, n=n, trials=trials, rng=rng).threshold
            coverage, short, size = scored(pool.hps_population(), scores, drawn)
            found.append(
                ImprovementCase(
                    pair="labels",
                    name=name,
                    setting=pool.name,
                    noise=f"Δ = {width:.3g}",
                    coverage=coverage,
                    short=short,
                    size=size,
                )
            )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class UnclampedCorollary:
    """Corollary 1 without the clamp at α* = 0: where α < τ/(n+1) it returns b.

    **Privacy.** Whether it does depends on n, α, β, ρ and Δ alone, and b is public: ρ-zCDP.

    **Coverage.** Where α ≥ τ/(n+1) it is Corollary 1. Elsewhere b covers every score; the clamp
    instead asks for rank n+1 of n scores, above which noise alone decides.

    Parameters
    ----------
    search : PCOQS
        At the level α.
    beta : float
        β in (0, 1).
    """

    search: PCOQS
    beta: float

    def level(self, n: int) -> float:
        """Return α − (τ* + 1)/(n+1), with Remark 3's τ* and one score a Δ-interval."""
        error = noise_rank_error(self.search, beta=self.beta, bound=NoiseBound.GAUSSIAN) + 1
        return self.search.alpha - error / (n + 1)

    def thresholds(
        self, population: Population, *, n: int, trials: int, rng: np.random.Generator
    ) -> FloatArray:
        """Run it ``trials`` times on n i.i.d. scores, shape (trials,)."""
        level = self.level(n)
        if level <= 0:
            return np.full(trials, self.search.bounds[1])
        return self._at(level).trials(population, n=n, trials=trials, rng=rng).threshold

    def clamped(
        self, population: Population, *, n: int, trials: int, rng: np.random.Generator
    ) -> FloatArray:
        """Run the printed corollary, at α* = max(0, level)."""
        search = self._at(max(0.0, self.level(n)))
        return search.trials(population, n=n, trials=trials, rng=rng).threshold

    def _at(self, level: float) -> PCOQS:
        return PCOQS(
            alpha=level,
            rho=self.search.rho,
            bounds=self.search.bounds,
            resolution=self.search.resolution,
        )


def corollary_pairs(
    population: Population,
    sizes: FloatArray,
    cases: Iterable[tuple[int, float]],
    *,
    trials: int,
    rng: np.random.Generator,
) -> list[ImprovementCase]:
    """Measure Corollary 1 with and without its clamp, at pairs of n and ρ."""
    found: list[ImprovementCase] = []
    for n, rho in cases:
        ours = UnclampedCorollary(search=PCOQS(alpha=_ALPHA, rho=rho), beta=_FAILURE)
        level = ours.level(n)
        for name, run in (("Corollary 1, clamped", ours.clamped), ("unclamped", ours.thresholds)):
            drawn = run(population, n=n, trials=trials, rng=rng)
            coverage, short, size = scored(population, sizes, drawn)
            found.append(
                ImprovementCase(
                    pair="corollary",
                    name=name,
                    setting=f"n = {n}, ρ = {rho:g}",
                    noise=f"α − τ/(n+1) = {level:.3g}",
                    coverage=coverage,
                    short=short,
                    size=size,
                )
            )
    return found
