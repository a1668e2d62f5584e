"""The calibrators of this package, each at the parameter that a privacy budget buys.

ExponQ and shuffled bits have the most favourable parameter at which the released threshold is
proved (ε, δ)-DP under substitution of one record, over all neighbours.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, Protocol

from dpcp_audit.extensions.claims import Relation
from dpcp_audit.extensions.claims import validate as _validate
from dpcp_audit.extensions.mechanisms import (
    PCOQS,
    ExponQ,
    HistLap,
    KaryRandomizedResponse,
    LDPCPLabels,
    LDPCPScores,
    OnMiss,
    SplitConformal,
    calibrators,
    claimed_rho,
    dkw_width,
    hoeffding_width,
    largest_fitting,
    optimal_gamma,
    proven_rho,
)
from dpcp_audit.extensions.theorems import NoiseBound, noise_rank_error
from dpcp_ledger.comparison.method import Calibrated, Method, SkippedMethod, Trust
from dpcp_ledger.mechanisms.shuffled_response import ShuffledKaryResponse

if TYPE_CHECKING:
    import numpy as np

    from dpcp_audit.extensions.claims import ApproxDP, FloatArray
    from dpcp_audit.extensions.laws import Population
    from dpcp_ledger.comparison.method import Case


_MOST_CANDIDATES = 2000
_LARGEST_LOCAL_EPSILON = 20.0


@lru_cache(maxsize=4096)
def full_budget_exponq(budget: ApproxDP, *, n: int, alpha: float) -> ExponQ:
    """Return ExponQ at the largest nominal ε whose log-ratios stay within the budget's ε.

    ``ExponQ.log_ratio_bound`` covers all neighbours; with the corrected normaliser a nominal
    ε spends about half of itself. Its own ``guarantee`` is that of every n; ``calibrators`` has
    objects that carry the budget's.
    """

    def fits(nominal: float) -> bool:
        mechanism = tuned_exponq(nominal, n=n, alpha=alpha)
        return mechanism.log_ratio_bound(n) <= budget.epsilon

    nominal = largest_fitting(fits, start=budget.epsilon, at_most=2 * budget.epsilon)
    return tuned_exponq(nominal, n=n, alpha=alpha)


def tuned_exponq(epsilon: float, *, n: int, alpha: float) -> ExponQ:
    """Return corrected ExponQ with m and γ chosen without a look at the data.

    γ minimises q̃ (``optimal_gamma``). m minimises (2/(εn))·log m + 1/m, what m adds to q̃ and
    what a bin holds of uniform scores, that is m = εn/2, kept within [10, 2000].
    """
    candidates = min(max(round(epsilon * n / 2), 10), _MOST_CANDIDATES)
    gamma = optimal_gamma(n, alpha=alpha, epsilon=epsilon)
    return ExponQ(alpha=alpha, epsilon=epsilon, n_candidates=candidates, gamma=gamma)


@lru_cache(maxsize=1024)
def shuffled_local_epsilon(budget: ApproxDP, *, users: int) -> float:
    """Return the largest local ε of a randomised bit that fits the budget once shuffled.

    Proved by the privacy blanket over all that the other users may hold
    (``ShuffledKaryResponse.blanket_pair``). At most 20, where one bit in 5·10⁸ is flipped.
    """
    _validate.integer(users=users, at_least=1)

    def fits(local: float) -> bool:
        if local <= budget.epsilon:
            return True
        pair = ShuffledKaryResponse(local, 2).blanket_pair(users, tail=budget.delta * 1e-9)
        spent = max(pair.delta_at(budget.epsilon), pair.reversed().delta_at(budget.epsilon))
        return spent + pair.slack <= budget.delta

    return largest_fitting(fits, start=budget.epsilon, at_most=_LARGEST_LOCAL_EPSILON)


_RESOLUTION = 1e-10
_SEARCH_ROUNDS = 10


class _Trials(Protocol):
    @property
    def threshold(self) -> FloatArray: ...


class _Mechanism(Protocol):
    """Runs on i.i.d. scores."""

    def trials(
        self, population: Population, *, n: int, trials: int, rng: np.random.Generator
    ) -> _Trials: ...


def _calibrated(mechanism: _Mechanism, case: Case, parameter: str) -> Calibrated:
    def draw(trials: int, rng: np.random.Generator) -> FloatArray:
        return mechanism.trials(case.subject.population, n=case.n, trials=trials, rng=rng).threshold

    return Calibrated(draw=draw, parameter=parameter)


def _split(case: Case) -> Calibrated:
    return _calibrated(SplitConformal(alpha=case.alpha), case, "no noise")


def _pcoqs(case: Case, rho: float, *, resolution: float = _RESOLUTION) -> Calibrated:
    mechanism = PCOQS(alpha=case.alpha, rho=rho, resolution=resolution)
    return _calibrated(mechanism, case, f"σ = {mechanism.noise_scale:.4g} counts")


def _pcoqs_starred(case: Case, rho: float) -> Calibrated | SkippedMethod:
    """Build P-COQS at Corollary 1's α* = α − (τ* + 1)/(n+1), with Remark 3's τ*."""
    mechanism = PCOQS(alpha=case.alpha, rho=rho, resolution=_RESOLUTION)
    error = noise_rank_error(mechanism, beta=case.failure, bound=NoiseBound.GAUSSIAN) + 1
    spared = case.alpha - error / (case.n + 1)
    if spared <= 0:
        return SkippedMethod("where α* = 0 Corollary 1 does not hold: too few scores for the noise")
    starred = PCOQS(alpha=spared, rho=rho, resolution=_RESOLUTION)
    return _calibrated(starred, case, f"σ = {mechanism.noise_scale:.4g}, α* = {spared:.3g}")


def _pcoqs_claimed(case: Case, *, starred: bool) -> Calibrated | SkippedMethod:
    rho = claimed_rho(case.budget)
    return _pcoqs_starred(case, rho) if starred else _pcoqs(case, rho)


def _pcoqs_proven(case: Case, *, starred: bool) -> Calibrated | SkippedMethod:
    rounds = PCOQS(alpha=case.alpha, rho=1.0, resolution=_RESOLUTION).rounds
    rho = proven_rho(case.budget, rounds=rounds)
    return _pcoqs_starred(case, rho) if starred else _pcoqs(case, rho)


def _pcoqs_coarse(case: Case) -> Calibrated:
    resolution = 1 / case.n
    rounds = PCOQS(alpha=case.alpha, rho=1.0, resolution=resolution).rounds
    rho = proven_rho(case.budget, rounds=rounds)
    return _pcoqs(case, rho, resolution=resolution)


def _exponq(case: Case) -> Calibrated:
    mechanism = tuned_exponq(case.budget.epsilon, n=case.n, alpha=case.alpha)
    return _calibrated(
        mechanism, case, f"ε = {mechanism.epsilon:.4g}, m = {mechanism.n_candidates}"
    )


def _exponq_full(case: Case) -> Calibrated:
    mechanism = full_budget_exponq(case.budget, n=case.n, alpha=case.alpha)
    return _calibrated(
        mechanism, case, f"nominal ε = {mechanism.epsilon:.4g}, m = {mechanism.n_candidates}"
    )


def _histlap(case: Case) -> Calibrated:
    mechanism = HistLap(alpha=case.alpha, epsilon=case.budget.epsilon)
    return _calibrated(mechanism, case, f"Laplace scale {mechanism.noise_scale:.4g}")


def _ldpcp_scores(case: Case, *, starred: bool, shuffled: bool) -> Calibrated:
    whole = case.n - case.n % _SEARCH_ROUNDS
    epsilon = case.budget.epsilon
    if shuffled:
        epsilon = shuffled_local_epsilon(case.budget, users=whole // _SEARCH_ROUNDS)
    mechanism = LDPCPScores(
        alpha=case.alpha,
        epsilon=epsilon,
        rounds=_SEARCH_ROUNDS,
        window_width=hoeffding_width(
            n=whole, epsilon=epsilon, rounds=_SEARCH_ROUNDS, delta=case.failure
        ),
        on_miss=OnMiss.UPPER_END if starred else OnMiss.LAST_MIDPOINT,
        starred=starred,
    )
    return _calibrated(mechanism, case, f"local ε = {epsilon:.4g}")


def _ldpcp_labels(case: Case, *, starred: bool) -> Calibrated | SkippedMethod:
    data = case.subject.labelled
    if data is None:
        return SkippedMethod("LDP-CP-L needs labelled data; a law of scores has no labels")
    k = data.scores.shape[1]
    beta = KaryRandomizedResponse(case.budget.epsilon, k).beta
    mechanism = LDPCPLabels(
        alpha=case.alpha,
        epsilon=case.budget.epsilon,
        k=k,
        rounds=_SEARCH_ROUNDS,
        window_width=dkw_width(n=case.n, beta=beta, delta=case.failure),
        on_miss=OnMiss.UPPER_END if starred else OnMiss.LAST_MIDPOINT,
        starred=starred,
    )

    def draw(trials: int, rng: np.random.Generator) -> FloatArray:
        run = mechanism.trials(data.scores, data.labels, n=case.n, trials=trials, rng=rng)
        return run.threshold

    return Calibrated(
        draw=draw,
        parameter=f"local ε = {case.budget.epsilon:.4g}",
        most_trials=max(50.0, 5e6 / data.scores.size),
    )


def _proved(case: Case, *, kind: type[PCOQS | ExponQ], starred: bool) -> Calibrated:
    """Build a calibrator of ``calibrators``, for the mean coverage or for that of most sets."""
    confidence = 1 - case.failure if starred else 1.0
    found = calibrators(case.budget, n=case.n, alpha=case.alpha, confidence=confidence)
    (chosen,) = (each for each in found if isinstance(each.mechanism, kind))

    def draw(trials: int, rng: np.random.Generator) -> FloatArray:
        return chosen.trials(case.subject.population, trials=trials, rng=rng)

    bought = "no rank up to n: every label" if chosen.every_label else f"rank {chosen.rank:g}"
    return Calibrated(draw=draw, parameter=bought)


MEAN_COVERAGE = "mean coverage ≥ 1−α"
"""The promise that holds for every law of the scores, on average over calibrations."""
_COROLLARY = "mean coverage ≥ 1−α given the noise, with probability 1−β (Corollary 1)"
_STARRED = "coverage ≥ 1−α with probability 1−δ, on admissible scores"
_MOST_SETS = "coverage ≥ 1−α with probability 1−β, on i.i.d. scores"
_GAME = "proved over all neighbours, from the bits it releases"

OWN = (
    Method(
        key="split",
        label="split conformal",
        family="split",
        trust=Trust.CURATOR,
        promise=MEAN_COVERAGE,
        privacy="none: the reference",
        build=_split,
        private=False,
    ),
    *(
        Method(
            key=f"pcoqs-{noise}{'*' * starred}",
            label=f"P-COQS{'*' * starred}, {noise} noise",
            family=f"pcoqs-{noise}",
            trust=Trust.CURATOR,
            promise=_COROLLARY if starred else "",
            privacy=privacy,
            build=partial(build, starred=starred),
        )
        for noise, privacy, build in (
            ("claimed", "proved, by the optimal conversion of its ρ-zCDP", _pcoqs_claimed),
            ("proven", _GAME, _pcoqs_proven),
        )
        for starred in (False, True)
    ),
    Method(
        key="pcoqs-coarse",
        label="P-COQS, proven noise, Δ = 1/n",
        family="pcoqs-coarse",
        trust=Trust.CURATOR,
        promise="",
        privacy=_GAME,
        build=_pcoqs_coarse,
    ),
    Method(
        key="exponq",
        label="ExponQ",
        family="exponq",
        trust=Trust.CURATOR,
        promise=MEAN_COVERAGE,
        privacy="proved: pure ε, of which it spends about half",
        build=_exponq,
    ),
    Method(
        key="exponq-full",
        label="ExponQ, full budget",
        family="exponq",
        trust=Trust.CURATOR,
        promise=MEAN_COVERAGE,
        privacy="proved: pure ε, by its bound on log-ratios",
        build=_exponq_full,
    ),
    *(
        Method(
            key=f"{name}-proved{'*' * starred}",
            label=f"{label}{'*' * starred}",
            family=f"{name}-proved",
            trust=Trust.CURATOR,
            promise=_MOST_SETS if starred else MEAN_COVERAGE,
            privacy=privacy,
            build=partial(_proved, kind=kind, starred=starred),
        )
        for name, label, kind, privacy in (
            ("pcoqs", "P-COQS, upper end", PCOQS, _GAME),
            ("exponq", "ExponQ, proved rank", ExponQ, "proved: pure ε, by its bound on log-ratios"),
        )
        for starred in (False, True)
    ),
    Method(
        key="histlap",
        label="HistLap",
        family="histlap",
        trust=Trust.CURATOR,
        promise="",
        privacy="proved: pure ε (Laplace noise of scale 2/ε)",
        build=_histlap,
    ),
    *(
        Method(
            key=f"ldpcp-s{'-shuffled' * shuffled}{'*' * starred}",
            label=f"LDP-CP-S{'*' * starred}{', shuffled' * shuffled}",
            family=f"ldpcp-s{'-shuffled' * shuffled}",
            trust=Trust.SHUFFLER if shuffled else Trust.NOBODY,
            promise=_STARRED if starred else "",
            privacy="proved: privacy blanket of a block" if shuffled else "exact: local ε",
            build=partial(_ldpcp_scores, starred=starred, shuffled=shuffled),
        )
        for shuffled in (False, True)
        for starred in (False, True)
    ),
    *(
        Method(
            key=f"ldpcp-l{'*' * starred}",
            label=f"LDP-CP-L{'*' * starred} (labels only)",
            family="ldpcp-l",
            trust=Trust.NOBODY,
            promise=_STARRED if starred else "",
            privacy="exact: local ε of the label; features are in the clear",
            build=partial(_ldpcp_labels, starred=starred),
            relation=Relation.ONE_LABEL,
        )
        for starred in (False, True)
    ),
)
"""The methods of this package, the non-private reference first.

LDP-CP-L stands here without shuffling alone: each report carries its sender's features in the
clear, so that a shuffler hides nobody whose features are distinct.
"""
