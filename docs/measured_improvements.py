"""Originals and their improvements at equal privacy: noise, coverage and set size.

Each improvement follows from an exact law: what a mechanism releases spends less than its theorem
says, or covers less. Thresholds are drawn and their coverage is F(q), exactly; LDP-CP-S's coverage
is that of its exact law.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dpcp_audit.extensions.claims import ZCDP, ApproxDP
from dpcp_audit.extensions.claims import validate as _validate
from dpcp_audit.extensions.laws import Classifier, Dataset, classifier_pool
from dpcp_audit.extensions.mechanisms import (
    PCOQS,
    KaryRandomizedResponse,
    LDPCPLabels,
    LDPCPScores,
    NoiseAwareLabels,
    OnMiss,
    calibrators,
    claimed_rho,
    dkw_width,
    hoeffding_width,
    proven_rho,
    threshold_law,
)
from dpcp_audit.extensions.theorems import NoiseBound, noise_rank_error
from dpcp_ledger.comparison.method import full_budget_exponq, tuned_exponq

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpcp_audit.extensions.claims import FloatArray
    from dpcp_audit.extensions.laws import Population, ProbabilityPool
    from dpcp_audit.extensions.mechanisms import ProvedCalibrator


_ALPHA, _FAILURE, _DELTA = 0.1, 0.01, 1e-6
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
    inside = set_sizes(sizes, q)
    return float(coverage.mean()), float((coverage < 1 - _ALPHA).mean()), float(inside.mean())


def set_sizes(sizes: FloatArray, q: FloatArray) -> FloatArray:
    """Return the mean number of labels whose score is at most each threshold, of q's shape."""
    every = np.sort(sizes, axis=None)
    return np.searchsorted(every, q, side="right") / len(sizes)


def curator_pairs(
    *, n: int, trials: int, rng: np.random.Generator, epsilons: Iterable[float] = _EPSILONS
) -> list[ImprovementCase]:
    """Measure P-COQS and ExponQ, and what their exact losses allow, on digits-logistic."""
    _validate.integer(n=n, trials=trials, at_least=1)
    pool = classifier_pool(Dataset.DIGITS, Classifier.LOGISTIC)
    population, scores = pool.hps_population(), 1 - pool.probabilities
    found: list[ImprovementCase] = []
    for epsilon in epsilons:
        budget = ApproxDP(epsilon, _DELTA)
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


def _curators(budget: ApproxDP, n: int) -> Iterable[tuple[str, str, _Draw, str]]:
    rounds = PCOQS(alpha=_ALPHA, rho=1.0).rounds
    for name, rho in (
        ("ρ from its zCDP", claimed_rho(budget)),
        ("ρ from its exact δ(ε)", proven_rho(budget, rounds=rounds)),
    ):
        search = PCOQS(alpha=_ALPHA, rho=rho)
        starred, level = at_corollary(search, n)
        noise = f"σ = {search.noise_scale:.3g}"
        yield "pcoqs", f"P-COQS, {name}", _drawn(search), noise
        yield "pcoqs", f"P-COQS*, {name}", _drawn(starred), f"{noise}, α* = {max(0.0, level):.3g}"
    asked: dict[str, Any] = {"n": n, "alpha": _ALPHA, "resolution": search.resolution}
    for each in calibrators(budget, **asked):
        if isinstance(each.mechanism, PCOQS):
            yield "pcoqs", each.name, _thresholds(each), f"{noise}, rank {_shown_rank(each)}"
    for name, tuned in (
        ("ExponQ, nominal ε", tuned_exponq(budget.epsilon, n=n, alpha=_ALPHA)),
        ("ExponQ, tight normaliser", full_budget_exponq(budget, n=n, alpha=_ALPHA)),
    ):
        spent = tuned.log_ratio_bound(n)
        yield "exponq", name, _drawn(tuned), f"nominal ε = {tuned.epsilon:.3g}, spends {spent:.3g}"


def at_corollary(search: PCOQS, n: int) -> tuple[PCOQS, float]:
    """Return the search at Corollary 1's α* = max(0, α − (τ* + 1)/(n+1)), and that difference.

    With Remark 3's τ* and one score a Δ-interval.
    """
    error = noise_rank_error(search, beta=_FAILURE, bound=NoiseBound.GAUSSIAN) + 1
    level = search.alpha - error / (n + 1)
    return replace(search, alpha=max(0.0, level)), level


def _shown_rank(calibrator: ProvedCalibrator) -> str:
    return f"> {calibrator.n}" if calibrator.every_label else f"{calibrator.rank:g}"


def _thresholds(calibrator: ProvedCalibrator) -> _Draw:
    def draw(
        population: Population, *, n: int, trials: int, rng: np.random.Generator
    ) -> FloatArray:
        _validate.integer(n=n, at_least=calibrator.n, at_most=calibrator.n)
        return calibrator.trials(population, trials=trials, rng=rng)

    return draw


def _drawn(mechanism: _Mechanism) -> _Draw:
    def draw(
        population: Population, *, n: int, trials: int, rng: np.random.Generator
    ) -> FloatArray:
        return mechanism.trials(population, n=n, trials=trials, rng=rng).threshold

    return draw


def search_pairs(
    cases: Iterable[tuple[str, Population, FloatArray | None]], *, n: int
) -> list[ImprovementCase]:
    """Compute LDP-CP-S* with both rules on a miss, by its exact law, at ε = 4, T = 10.

    A case is a name, a law of true labels' scores, and the scores of every label, shape (m, k),
    where there are labels.
    """
    found: list[ImprovementCase] = []
    for name, population, sizes in cases:
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
                    size=(
                        float("nan")
                        if sizes is None
                        else float(law.mass @ set_sizes(sizes, law.threshold))
                    ),
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


def corollary_pairs(
    population: Population,
    sizes: FloatArray,
    cases: Iterable[tuple[int, float]],
    *,
    trials: int,
    rng: np.random.Generator,
) -> list[ImprovementCase]:
    """Measure Corollary 1 as printed, and the upper end of the bracket, at pairs of n and ρ."""
    found: list[ImprovementCase] = []
    for n, rho in cases:
        search = PCOQS(alpha=_ALPHA, rho=rho)
        starred, level = at_corollary(search, n)
        asked: dict[str, Any] = {"n": n, "alpha": _ALPHA, "resolution": search.resolution}
        (ours,) = (
            each for each in calibrators(ZCDP(rho), **asked) if isinstance(each.mechanism, PCOQS)
        )
        for name, run, noise in (
            ("Corollary 1, as printed", _drawn(starred), f"α − τ/(n+1) = {level:.3g}"),
            (ours.name, _thresholds(ours), f"rank {_shown_rank(ours)}"),
        ):
            drawn = run(population, n=n, trials=trials, rng=rng)
            coverage, short, size = scored(population, sizes, drawn)
            found.append(
                ImprovementCase(
                    pair="corollary",
                    name=name,
                    setting=f"n = {n}, ρ = {rho:g}",
                    noise=noise,
                    coverage=coverage,
                    short=short,
                    size=size,
                )
            )
    return found
