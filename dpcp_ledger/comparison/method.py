"""The words of the comparison: a case, a calibrator at its budget, a method, a case left out.

The calibrators of this package, each at the parameter that a privacy budget buys.

ExponQ and shuffled bits have the most favourable parameter at which the released threshold is
proved (ε, δ)-DP under substitution of one record, over all neighbours.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dpcp_audit.extensions.claims import Relation, UsageError
from dpcp_audit.extensions.claims import validate as _validate
from dpcp_audit.extensions.laws import (
    SHIPPED,
    Beta,
    Pool,
    Uniform,
    classifier_pool,
    hps,
    load_pool,
    true_label_scores,
)
from dpcp_audit.extensions.mechanisms import (
    PCOQS,
    ExponQ,
    KaryRandomizedResponse,
    LDPCPLabels,
    LDPCPScores,
    OnMiss,
    calibrators,
    claimed_rho,
    dkw_width,
    hoeffding_width,
    largest_fitting,
    optimal_gamma,
    proven_rho,
)
from dpcp_audit.extensions.theorems import NoiseBound, noise_rank_error
from dpcp_ledger.mechanisms.histlap import HistLap, SplitConformal
from dpcp_ledger.mechanisms.shuffled_response import ShuffledKaryResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.extensions.claims import ApproxDP, FloatArray, IntArray
    from dpcp_audit.extensions.laws import Population, ProbabilityPool


class Trust(StrEnum):
    """Whom the people in the calibration data must trust."""

    CURATOR = "curator"
    """Whoever calibrates sees their data; the threshold alone is private."""
    SHUFFLER = "shuffler"
    """Someone who mixes their randomised reports, but need not be shown the data."""
    NOBODY = "nobody"
    """Nobody: what leaves a device is private already."""


class _CalibratorFunction(Protocol):
    """A private threshold of scores in [0, 1]."""

    def __call__(
        self,
        scores: FloatArray,
        *,
        alpha: float,
        epsilon: float,
        delta: float,
        rng: np.random.Generator,
    ) -> float:
        """Return a threshold that is (ε, δ)-DP under substitution of one score."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateCalibrator:
    """A private calibrator that another package brings to ``compare-calibrators``.

    Parameters
    ----------
    label : str
        Name for readers.
    calibrate : callable
        ``calibrate(scores, *, alpha, epsilon, delta, rng)`` returns a threshold, a float in [0, 1],
        of scores of shape (n,) in [0, 1]; (ε, δ)-DP under substitution of one score.
    privacy : str
        Source of its δ(ε), such as "proved: pure ε".
    promise : str
        Its theory's promise of coverage; empty where it promises nothing.
    trust : Trust
        Whom the people in the data must trust.

    Raises
    ------
    ValueError
        If a field is invalid; the message names it and its value.

    Examples
    --------
    >>> def everything(scores, *, alpha, epsilon, delta, rng):
    ...     return 1.0
    >>> PrivateCalibrator(label="all labels", calibrate=everything, privacy="a constant").trust
    <Trust.CURATOR: 'curator'>
    """

    label: str
    calibrate: _CalibratorFunction
    privacy: str
    promise: str = ""
    trust: Trust = Trust.CURATOR

    def __post_init__(self) -> None:
        _validate.instance(str, label=self.label, privacy=self.privacy, promise=self.promise)
        _validate.choice(Trust, trust=self.trust)
        if not self.label:
            raise ValueError("label must not be empty")
        if not callable(self.calibrate):
            raise UsageError(
                f"calibrate must be a function, got {self.calibrate!r}",
                hint="calibrate(scores, *, alpha, epsilon, delta, rng) returns a threshold",
            )


LAWS: dict[str, Population] = {law.name: law for law in (Uniform(), Beta(5.0, 0.2), Beta(0.5, 3.0))}
POOLS = {
    name: SHIPPED[name]
    for name in ("digits-gaussian-nb", "digits-logistic", "breast-cancer-gaussian-nb")
}
LOG_SCORE = ":log"
"""The end of a pool's name whose score is ``log_score`` in place of HPS."""
_LEAST_PROBABILITY = 1e-300


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _LabelledScores:
    """Scores of every label on a pool, with its true labels.

    Parameters
    ----------
    scores : ndarray, shape (m, k)
    labels : ndarray, shape (m,)
    """

    scores: FloatArray
    labels: IntArray
    _sorted: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_sorted", np.sort(self.scores, axis=None))

    def mean_set_size(self, threshold: FloatArray) -> FloatArray:
        """Return the mean number of labels with a score at or below each threshold, exactly."""
        covered = np.searchsorted(self._sorted, threshold, side="right")
        sizes: FloatArray = covered / self.labels.size
        return sizes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Subject:
    """A population of scores in [0, 1], and where it comes from a pool, the pool's labels."""

    name: str
    population: Population
    labelled: _LabelledScores | None = None


@functools.cache
def subject(name: str) -> _Subject:
    """Return a subject by its name.

    Parameters
    ----------
    name : str
        A key of ``LAWS`` or ``POOLS``, or the path of an ``.npz`` that ``load_pool`` reads; a
        pool's may end in ``:log``.
    """
    pool = name.removesuffix(LOG_SCORE)
    if name in LAWS:
        return _Subject(name=name, population=LAWS[name])
    if pool in POOLS:
        return _from_pool(classifier_pool(*POOLS[pool]), log=pool != name)
    if pool.endswith(".npz"):
        return _from_pool(load_pool(pool), log=pool != name)
    raise ValueError(
        f"name must be one of {', '.join([*LAWS, *POOLS])}, or end in .npz, got {name!r}"
    )


def known_name(name: str) -> str:
    """Return the name that a subject's findings have; nothing is fitted for it.

    Raises
    ------
    ValueError
        If there is no such subject, or a file holds no pool.
    """
    pool = name.removesuffix(LOG_SCORE)
    if name in LAWS or pool in POOLS:
        return name
    return subject(name).name


def log_score(probabilities: FloatArray) -> FloatArray:
    """Return log(1−log p)/log(1−log 1e-300) of every label, with p at least 1e-300.

    It falls in p as 1−p does, so that it orders labels alike and gives the same sets where no
    privacy is asked for, but for p < 1e-16, where 1−p is rounded to 1. It spreads what an
    over-confident classifier heaps up at p = 0, which a private search over [0, 1] of finite
    resolution cannot tell apart.

    Parameters
    ----------
    probabilities : ndarray, shape (m, k)

    Returns
    -------
    ndarray, shape (m, k)
        In [0, 1].
    """
    depth = np.log1p(-np.log(np.clip(probabilities, _LEAST_PROBABILITY, 1.0)))
    scores: FloatArray = depth / np.log1p(-np.log(_LEAST_PROBABILITY))
    return np.minimum(scores, 1.0)


def _from_pool(pool: ProbabilityPool, *, log: bool) -> _Subject:
    score = log_score if log else hps
    labelled = _LabelledScores(scores=score(pool.probabilities), labels=pool.labels)
    name = pool.name + LOG_SCORE * log
    true = true_label_scores(labelled.scores, labelled.labels)
    return _Subject(name=name, population=Pool(true, name), labelled=labelled)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One setting in which calibrators are compared.

    Parameters
    ----------
    subject : _Subject
        The data to calibrate on.
    n : int
        Calibration scores, drawn i.i.d.
    alpha : float
        Miscoverage level in (0, 1).
    budget : ApproxDP
        The privacy of the released threshold.
    """

    subject: _Subject
    n: int
    alpha: float
    budget: ApproxDP


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """A mechanism at the parameter that the budget buys.

    Parameters
    ----------
    draw : callable
        ``draw(trials, rng)`` returns the thresholds of independent runs on fresh scores.
    parameter : str
        The mechanism's own privacy parameter.
    most_trials : float
        Largest affordable number of runs; infinity where the cost of a run does not depend on n.
    """

    draw: Callable[[int, np.random.Generator], FloatArray]
    parameter: str
    most_trials: float = field(default=math.inf)


@dataclass(frozen=True, slots=True)
class SkippedMethod:
    """A method that was left out of a case, and why."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A way to calibrate at a given privacy budget.

    Parameters
    ----------
    key, label : str
        Short name, and name for readers.
    trust : Trust
        Whom the people in the data must trust.
    promise : str
        Its theory's promise of coverage; empty where it promises nothing.
    privacy : str
        Source of its δ(ε).
    build : callable
        A function from a case to the calibrator at that budget, or to the reason why there is none.
    relation : Relation
        The unit that the budget protects: a whole record, or its label alone.
    private : bool
        False for the non-private reference.
    """

    key: str
    label: str
    privacy: str
    build: Callable[[Case], Calibrated | SkippedMethod]
    trust: Trust = Trust.CURATOR
    promise: str = ""
    relation: Relation = Relation.SUBSTITUTION
    private: bool = True

    @property
    def family(self) -> str:
        """Its name without a star: both share what is costly to compute of a budget."""
        return self.key.removesuffix("*")


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

    def fits(local: float) -> bool:
        if local <= budget.epsilon:
            return True
        pair = ShuffledKaryResponse(local, 2).blanket_pair(users, tail=budget.delta * 1e-9)
        spent = max(pair.delta_at(budget.epsilon), pair.reversed().delta_at(budget.epsilon))
        return spent + pair.slack <= budget.delta

    return largest_fitting(fits, start=budget.epsilon, at_most=_LARGEST_LOCAL_EPSILON)


_RESOLUTION = 1e-10
_SEARCH_ROUNDS = 10
FAILURE = 0.1
"""The probability with which a promise "with high probability" may fail: β, and δ of LDP-CP."""


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
    error = noise_rank_error(mechanism, beta=FAILURE, bound=NoiseBound.GAUSSIAN) + 1
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
            n=whole, epsilon=epsilon, rounds=_SEARCH_ROUNDS, delta=FAILURE
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
        window_width=dkw_width(n=case.n, beta=beta, delta=FAILURE),
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
    confidence = 1 - FAILURE if starred else 1.0
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
        promise=MEAN_COVERAGE,
        privacy="none: the reference",
        build=_split,
        private=False,
    ),
    *(
        Method(
            key=f"pcoqs-{noise}{'*' * starred}",
            label=f"P-COQS{'*' * starred}, {noise} noise",
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
        privacy=_GAME,
        build=_pcoqs_coarse,
    ),
    Method(
        key="exponq",
        label="ExponQ",
        promise=MEAN_COVERAGE,
        privacy="proved: pure ε, of which it spends about half",
        build=_exponq,
    ),
    Method(
        key="exponq-full",
        label="ExponQ, full budget",
        promise=MEAN_COVERAGE,
        privacy="proved: pure ε, by its bound on log-ratios",
        build=_exponq_full,
    ),
    *(
        Method(
            key=f"{name}-proved{'*' * starred}",
            label=f"{label}{'*' * starred}",
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
        privacy="proved: pure ε (Laplace noise of scale 2/ε)",
        build=_histlap,
    ),
    *(
        Method(
            key=f"ldpcp-s{'-shuffled' * shuffled}{'*' * starred}",
            label=f"LDP-CP-S{'*' * starred}{', shuffled' * shuffled}",
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
