"""Private calibrators that keep a guarantee and promise a coverage, at a number of scores.

Each aims at a rank above the conformal one, ⌈(1−α)(n+1)⌉, by what its noise may take away. The rank
follows from n, α, the guarantee and the resolution, which are public: to choose the lowest costs no
privacy.

**P-COQS, upper end**, min(b, q̂ + Δ), is post-processing. That end
is b, or a midpoint whose noisy count reached the rank r, so that at least r − M scores lie at or
below it, M the largest noise of the N rounds, which does not depend on the scores. With
j = ⌈r − M⌉ the end is at least the j-th smallest score, or b: a new exchangeable score is covered
with probability at least j/(n+1), whatever the ties and Δ are, and the mean of that over M, of law
P(M ≤ t) = Φ(t/σ)^N, is promised. Of i.i.d. scores of law F, F at the j-th smallest score is at
least a Beta(j, n+1−j) variable. Corollary 1 of P-COQS needs M(Δ), and more ranks.

**ExponQ, full budget.** With probability 1−s the released edge has at least n·q̃ − (2/ε)·log(m/s)
scores at or below it, by the utility of the exponential mechanism (McSherry and Talwar 2007) at
q̃ ≥ 1/2. Its log-ratios L against one neighbour lie in an interval of length B,
``ExponQ.log_ratio_bound``: it is B-DP, and B²/8-zCDP, because log E_Q[e^(tL)] is 0 at t = 0 and 1,
and its second derivative, a variance, is at most B²/4 (Cesar and Rogers 2021).

**LDP-CP-S, upper end.** Of i.i.d. scores, all T estimates err by at most Δ with probability 1−δ;
the upper end of the bracket is 1, or has an estimate of at least 1−α+Δ.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betainc, log_ndtr

from dpcp_audit.laws.losses import loss_of
from dpcp_audit.mechanisms.local_scores import LDPCPScores, OnMiss, hoeffding_width
from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.mechanisms.pcoqs_budget import claimed_rho, largest_fitting, proven_rho
from dpcp_audit.mechanisms.quantiles import ExponQ, conformal_rank, optimal_gamma
from dpcp_audit.words import errors
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.guarantees import Coverage, PrivacyGuarantee

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike

    from dpcp_audit.laws.losses import Loss
    from dpcp_audit.laws.populations import Population
    from dpcp_audit.words.validate import FloatArray, IntArray


_MOST_EDGES = 10**6
_MOST_ROUNDS = 20
_LEAST_DELTA, _LARGEST_DELTA = 1e-11, 0.5
"""Below, the game's allowance for far counts is not small: zCDP's own conversion is used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvedCalibrator:
    """A private threshold of n scores, with the guarantee and the coverage that are proved of it.

    Parameters
    ----------
    name : str
        Name for readers.
    n : int
        The number of scores, which is public.
    rank : float
        The rank that it aims at; above n it returns the upper bound, whatever the scores are.
    guarantee : PrivacyGuarantee
        The guarantee proved for the threshold, under substitution of one score.
    coverage : Coverage
        The coverage proved for scores within the bounds.
    mechanism : PCOQS, ExponQ or LDPCPScores
        The mechanism that is run.
    lift : float
        The number added to its threshold: Δ, for the upper end of P-COQS's bracket.
    """

    name: str
    n: int
    rank: float
    guarantee: PrivacyGuarantee
    coverage: Coverage
    mechanism: PCOQS | ExponQ | LDPCPScores
    lift: float = 0.0

    @property
    def bounds(self) -> tuple[float, float]:
        """The public interval [a, b] that holds every score."""
        return (0.0, 1.0) if isinstance(self.mechanism, LDPCPScores) else self.mechanism.bounds

    @property
    def every_label(self) -> bool:
        """True if it returns the upper bound, so that every set holds every label."""
        return self.rank > self.n

    def sample(
        self, scores: ArrayLike, size: int, *, rng: np.random.Generator | int | None = None
    ) -> FloatArray:
        """Release ``size`` independent thresholds from the same scores, shape (n,).

        Returns
        -------
        ndarray, shape (size,)

        Raises
        ------
        ValueError
            If there are not n scores within the bounds.
        """
        values = _validate.scores(scores, within=self.bounds)
        if values.size != self.n:
            raise ValueError(
                f"scores must be n = {self.n} numbers, got {values.size}; the noise is made for "
                "that many: ask for calibrators at your n"
            )
        _validate.integer(size=size, at_least=1)
        if self.every_label:
            return np.full(size, self.bounds[1])
        return self._lifted(self.mechanism.sample(values, size, rng=rng))

    def trials(
        self,
        population: Population,
        *,
        trials: int,
        rng: np.random.Generator | int | None = None,
    ) -> FloatArray:
        """Return thresholds of independent runs, each on n fresh i.i.d. scores, shape (trials,)."""
        _validate.integer(trials=trials, at_least=1)
        if self.every_label:
            return np.full(trials, self.bounds[1])
        found = self.mechanism.trials(population, n=self.n, trials=trials, rng=rng)
        return self._lifted(found.threshold)

    def _lifted(self, thresholds: FloatArray) -> FloatArray:
        return np.minimum(thresholds + self.lift, self.bounds[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """The public arguments of a request for a calibrator."""

    guarantee: PrivacyGuarantee
    n: int
    alpha: float
    confidence: float
    bounds: tuple[float, float]
    resolution: float

    @property
    def coverage(self) -> Coverage:
        level = float(1 - Fraction(repr(float(self.alpha))))
        return Coverage(level, confidence=self.confidence)

    @property
    def failure(self) -> float:
        return 1 - self.confidence

    def calibrator(
        self, name: str, rank: float, run: _Mechanism, lift: float = 0.0
    ) -> ProvedCalibrator:
        every = rank > self.n
        return ProvedCalibrator(
            name=name,
            n=self.n,
            rank=rank,
            guarantee=self.guarantee,
            coverage=Coverage(1.0) if every else self.coverage,
            mechanism=run,
            lift=lift,
        )


_Mechanism = PCOQS | ExponQ | LDPCPScores


def calibrators(
    guarantee: PrivacyGuarantee,
    *,
    n: int,
    alpha: float,
    confidence: float = 1.0,
    bounds: tuple[float, float] = (0.0, 1.0),
    resolution: float = 1e-4,
) -> tuple[ProvedCalibrator, ...]:
    """Return the calibrators that keep a guarantee and promise a coverage, lowest rank first.

    Parameters
    ----------
    guarantee : PrivacyGuarantee
        PureDP, ApproxDP, ZCDP, GaussianDP or RenyiDP of the threshold, under substitution of one
        score; or LocalDP of each score's report.
    n : int
        Number of calibration scores; public.
    alpha : float
        Miscoverage level in (0, 1).
    confidence : float
        1 for coverage on average over calibrations, of exchangeable scores; below 1 for coverage in
        this share of calibrations, on i.i.d. scores.
    bounds : tuple of float
        The public interval [a, b] that holds every score, test scores too.
    resolution : float
        Δ > 0, in units of scores: how finely the threshold is searched. It costs ranks, as log 1/Δ
        or its root.

    Raises
    ------
    ValueError
        If an argument is invalid, or if no mechanism keeps the guarantee.

    Examples
    --------
    >>> from dpcp_audit import ZCDP
    >>> best, other = calibrators(ZCDP(0.5), n=1000, alpha=0.1)
    >>> best.name, best.rank, best.guarantee
    ('P-COQS, upper end', 907, ZCDP(rho=0.5))
    >>> best.rank < other.rank
    True
    """
    _validate.integer(n=n, at_least=1, at_most=2**53)
    _validate.open_unit(alpha=alpha)
    _validate.closed_unit(confidence=confidence)
    if confidence == 0:
        raise errors.value_error(
            "confidence must lie in (0, 1], got 0", "leave it out for coverage on average"
        )
    low, high = _validate.bounds(bounds)
    _validate.positive(resolution=resolution)
    if not resolution < high - low:
        raise errors.value_error(
            f"resolution must be below b - a = {high - low:g}, got {resolution!r}",
            f"a thousandth of it is {(high - low) / 1000:g}",
        )
    finest = 8 * math.ulp(max(abs(low), abs(high)))
    if resolution < finest:
        raise errors.value_error(
            f"resolution must be >= {finest:g} at these bounds, got {resolution!r}",
            "doubles are no finer there",
        )
    asked = _Asked(
        guarantee=guarantee,
        n=n,
        alpha=alpha,
        confidence=confidence,
        bounds=(low, high),
        resolution=resolution,
    )
    return tuple(sorted(_offers(asked), key=lambda each: (each.rank, each.name)))


def _offers(asked: _Asked) -> Iterator[ProvedCalibrator]:
    if not isinstance(asked.guarantee, PrivacyGuarantee):
        raise _nothing_to_spend(asked)
    loss = loss_of(asked.guarantee)
    if asked.guarantee.of_one_report:
        yield _local_search(asked, loss.claimed)
        return
    rho, length = _rho(asked, loss), loss.log_ratios
    if rho is None and not length:
        raise _nothing_to_spend(asked)
    if rho is not None:
        yield _noisy_search(asked, rho)
    if length:
        yield _exponential(asked, length)


def _nothing_to_spend(asked: _Asked) -> Exception:
    return errors.value_error(
        "guarantee must be PureDP, ApproxDP, ZCDP, GaussianDP, RenyiDP or LocalDP with some "
        f"loss to spend, got {asked.guarantee!r}",
        "such as dp.ZCDP(0.5)",
    )


def _rounds(asked: _Asked) -> int:
    return PCOQS(alpha=0.5, rho=1.0, bounds=asked.bounds, resolution=asked.resolution).rounds


def _rho(asked: _Asked, loss: Loss) -> float | None:
    """Return the ρ of P-COQS's noise at which the guarantee is proved; None where none does."""
    order = loss.at.get("alpha", 1.0)
    if allowed := loss.divergence_allowed(order):  # that of N counts that move by 1/σ is ρ·α
        return allowed / order
    budget = loss.linear
    if budget is None or budget.epsilon == 0 or not 0 < budget.delta <= _LARGEST_DELTA:
        return None
    if budget.delta < _LEAST_DELTA:
        return claimed_rho(budget)
    return proven_rho(budget, rounds=_rounds(asked))


def _noisy_search(asked: _Asked, rho: float) -> ProvedCalibrator:
    """Return P-COQS's upper end at the lowest rank at which the coverage is proved."""
    search = PCOQS(alpha=0.5, rho=rho, bounds=asked.bounds, resolution=asked.resolution)
    end = _UpperEnd(search=search, n=asked.n, alpha=asked.alpha, confidence=asked.confidence)
    rank = end.least_rank
    run = replace(search, alpha=1 - (rank - 0.5) / (asked.n + 1))
    return asked.calibrator("P-COQS, upper end", rank, run, lift=asked.resolution)


_BELOW, _ABOVE = 10.0, 40.0
"""Between these, in noise scales, the largest noise lies but for 1e-20."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _UpperEnd:
    """The ranks that promise a coverage for the upper end of P-COQS's bracket.

    A search for rank r ends at the j-th smallest score or above it, j = ⌈r − M⌉, for the largest
    noise M of its N rounds.

    Parameters
    ----------
    search : PCOQS
        The search whose ρ, bounds and Δ are used; its α is not.
    n : int
        Number of scores.
    alpha : float
        The miscoverage that is asked for, in (0, 1).
    confidence : float
        1 for coverage on average over exchangeable scores, below 1 for coverage in this share of
        calibrations on i.i.d. scores.

    Notes
    -----
    P(j > r − i) = P(M < i) = Φ(i/σ)^N. Where σ is large, whole numbers i are taken ``step`` at a
    time, each for the least favourable of its step.
    """

    search: PCOQS
    n: int
    alpha: float
    confidence: float = 1.0

    @property
    def least_rank(self) -> int:
        """The lowest rank that promises the coverage; n + 1 where none up to n does."""
        return 1 + bisect_left(range(1, self.n + 1), True, key=self.keeps)

    @property
    def _step(self) -> int:
        return max(1, min(self.n, math.floor(self.search.noise_scale / 1000)))

    def keeps(self, rank: int) -> bool:
        """Return True if the coverage asked for is proved at a rank."""
        mean = self.confidence == 1
        return self._mean(rank) if mean else self._sure(rank)

    def _mean(self, rank: int) -> bool:
        """Σ_j P(j ≥ k), k = 1 … n+1, is to be at least (1−α)(n+1)."""
        n, start = self.n, rank - self.n
        first, last = self._reach(start, rank)
        lost = self._step * np.sum(
            -self._log_less(np.arange(first, last + 1, self._step), np.expm1)
        )
        return float(lost) + (first - start) <= self.alpha * (n + 1) * (1 - 1e-12)

    def _sure(self, rank: int) -> bool:
        """Σ_k P(j = k)·P(Beta(k, n+1−k) < 1−α) is to be at most the failure asked for."""
        n, start = self.n, rank - self.n + 1
        first, last = self._reach(start, rank)
        ends = np.append(np.arange(first, last + 1, self._step) - 1, last)
        less = self._log_less(ends, np.exp)
        places = np.clip(rank - ends[1:] + 1.0, 1, n)
        failing = np.sum(np.diff(less) * betainc(places, n + 1 - places, 1 - self.alpha))
        left_out = float(1 - less[-1]) + (float(less[0]) if first > start else 0.0)
        return float(failing) + left_out <= (1 - self.confidence) * (1 - 1e-12)

    def _reach(self, start: int, end: int) -> tuple[int, int]:
        """Return the numbers between which M may lie, but for 1e-20, within the two given."""
        return (
            max(start, -math.ceil(_BELOW * self.search.noise_scale)),
            min(end, math.ceil(_ABOVE * self.search.noise_scale)),
        )

    def _log_less(self, than: IntArray, of: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """Return a function of log P(M < i)."""
        return of(self.search.rounds * log_ndtr(than / self.search.noise_scale))


def _exponential(asked: _Asked, length: float) -> ProvedCalibrator:
    """Return ExponQ at the largest nominal ε whose log-ratios span at most ``length``."""

    def fits(nominal: float) -> bool:
        run = _tuned(asked, nominal)
        return run is None or run.log_ratio_bound(asked.n) <= length

    nominal = largest_fitting(fits, start=length, at_most=2 * length)
    run = _tuned(asked, nominal)
    if run is None:
        edges = {"n_candidates": 3, "gamma": 0.5, "bounds": asked.bounds}
        top = ExponQ(alpha=asked.alpha, epsilon=length, **edges)  # type: ignore[arg-type]
        return asked.calibrator("ExponQ, full budget", asked.n + 1, top)
    return asked.calibrator("ExponQ, full budget", asked.n * run.target(asked.n), run)


def _tuned(asked: _Asked, nominal: float) -> ExponQ | None:
    """Return ExponQ with the coverage asked for; None where no number of edges or ranks does.

    A share s of failure pays for the noise: k scores lie at or below the released edge with
    probability 1−s.
    """
    n, alpha = asked.n, min(asked.alpha, 0.5)  # the bound on the noise needs q̃ ≥ 1/2
    low, high = asked.bounds
    edges = math.ceil((high - low) / asked.resolution) + 1
    if edges > _MOST_EDGES:
        return None
    if asked.confidence == 1:
        share = alpha * optimal_gamma(n, alpha=alpha, epsilon=nominal)
        rank = math.ceil((1 - alpha) * (n + 1) / (1 - share))
    else:
        share = asked.failure / 2
        rank = _sure_rank(n, 1 - alpha, asked.failure - share)
    if rank > n:
        return None
    rest = 1 - rank * (1 - share) / (n + 1)
    run = ExponQ(
        alpha=rest, epsilon=nominal, n_candidates=edges, gamma=share / rest, bounds=asked.bounds
    )
    return run if 0.5 <= run.target(n) < 1 else None


def _sure_rank(n: int, level: float, failure: float) -> int:
    """Return the least k with P(Beta(k, n+1−k) < level) at most ``failure``; n + 1 where none."""

    def is_sure(rank: int) -> bool:
        return bool(betainc(rank, n + 1 - rank, level) <= failure)

    return 1 + bisect_left(range(1, n + 1), True, key=is_sure)


def _local_search(asked: _Asked, epsilon: float) -> ProvedCalibrator:
    """Return LDP-CP-S*, upper end, at the number of rounds that aims lowest."""
    if asked.bounds != (0.0, 1.0):
        raise ValueError(
            f"bounds must be (0, 1) for LocalDP, got {asked.bounds}; divide the scores by b - a"
        )
    if asked.confidence == 1:
        failure = asked.alpha / 10
        alpha = 1 - (1 - asked.alpha) / (1 - failure)
    else:
        failure, alpha = asked.failure, asked.alpha
    most = min(_MOST_ROUNDS, asked.n, math.ceil(-math.log2(asked.resolution)))

    def aimed(rounds: int) -> tuple[float, int, float]:
        users = asked.n - asked.n % rounds
        width = hoeffding_width(n=users, epsilon=epsilon, rounds=rounds, delta=failure)
        return 1 - alpha + width + 2.0**-rounds, rounds, width

    level, rounds, width = min(map(aimed, range(1, most + 1)))
    run = LDPCPScores(
        alpha=alpha,
        epsilon=epsilon,
        rounds=rounds,
        window_width=width,
        starred=True,
        on_miss=OnMiss.UPPER_END,
    )
    return asked.calibrator("LDP-CP-S, upper end", level * (asked.n + 1), run)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateThreshold:
    """A private threshold, and what is proved of it.

    Parameters
    ----------
    threshold : float
        A label belongs to the set where its score is at most this.
    guarantee : PrivacyGuarantee
        The guarantee proved for the threshold, under substitution of one score; ``LocalDP`` is the
        guarantee of each score's report.
    coverage : Coverage
        ``at_least`` is the coverage that is proved; with a ``confidence`` below 1 it holds for that
        share of calibrations on i.i.d. scores, else on average over calibrations.
    calibrator : ProvedCalibrator
        The mechanism that was chosen.
    every_label : bool
        True if the threshold is the upper bound whatever the scores are: every set holds every
        label, because n is too small for the noise.
    reason : str
        Why it was chosen, in a sentence.
    """

    threshold: float
    guarantee: PrivacyGuarantee
    coverage: Coverage
    calibrator: ProvedCalibrator
    every_label: bool
    reason: str


def calibrate(
    scores: ArrayLike,
    *,
    alpha: float,
    guarantee: PrivacyGuarantee,
    confidence: float = 1.0,
    bounds: tuple[float, float] = (0.0, 1.0),
    resolution: float = 1e-4,
    rng: np.random.Generator | int | None = None,
) -> PrivateThreshold:
    """Return a private conformal threshold by the mechanism that suits the guarantee and n best.

    The mechanism is chosen by n, alpha, guarantee, confidence, bounds and resolution alone, never
    by the scores: the choice costs no privacy.

    Parameters
    ----------
    scores : array_like, shape (n,)
        Nonconformity scores of the calibration data, within ``bounds``; a large score is a bad fit.
    alpha : float
        Miscoverage level in (0, 1).
    guarantee : PrivacyGuarantee
        The guarantee that the threshold must keep, under substitution of one score: ``dp.PureDP``,
        ``dp.ApproxDP``, ``dp.ZCDP``, ``dp.GaussianDP`` or ``dp.RenyiDP``; or ``dp.LocalDP``, kept
        by each score's report.
    confidence : float
        1 for a coverage of 1−α on average over calibrations, of exchangeable scores; below 1, such
        as 0.99, for that coverage in this share of calibrations, on i.i.d. scores.
    bounds : tuple of float
        The public interval [a, b] that holds every score, test scores too.
    resolution : float
        Precision Δ > 0 of the threshold, in units of scores.
    rng : Generator, int or None
        Source of the noise: a Generator, a seed or None. A threshold whose seed is
        known is not private.

    Returns
    -------
    PrivateThreshold
        Threshold, guarantee, coverage, and the reason for the choice.

    Raises
    ------
    ValueError
        If an argument is invalid, or if no mechanism keeps the guarantee.

    Notes
    -----
    The proofs are in ``dpcp_audit.mechanisms.calibrators``. They are of real numbers: noise in
    floating point is outside of them, as of every mechanism here.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcp_audit import ZCDP
    >>> scores = np.random.default_rng(0).random(1000)
    >>> found = calibrate(scores, alpha=0.1, guarantee=ZCDP(0.5), rng=1)
    >>> found.guarantee, found.coverage.at_least
    (ZCDP(rho=0.5), 0.9)
    >>> print(found.reason)
    P-COQS, upper end, was chosen: it aims at rank 907 of 1000 for a coverage of 0.9 under \
ZCDP(rho=0.5) (ExponQ, full budget: 911.1; without privacy: 901). The choice depends on public \
numbers alone.
    """
    _validate.bounds(bounds)
    values = _validate.scores(scores, within=bounds)
    draws = _validate.generator(rng)
    offers = calibrators(
        guarantee,
        n=values.size,
        alpha=alpha,
        confidence=confidence,
        bounds=bounds,
        resolution=resolution,
    )
    best = offers[0]
    return PrivateThreshold(
        threshold=float(best.sample(values, 1, rng=draws)[0]),
        guarantee=best.guarantee,
        coverage=best.coverage,
        calibrator=best,
        every_label=best.every_label,
        reason=_reason(offers, alpha),
    )


def _reason(offers: tuple[ProvedCalibrator, ...], alpha: float) -> str:
    best, *others = offers
    n, level = best.n, f"{float(1 - Fraction(repr(float(alpha)))):g}"
    rest = [f"{each.name}: {_rank(each)}" for each in others]
    compared = "; ".join([*rest, f"without privacy: {conformal_rank(n, alpha=alpha)}"])
    if best.every_label:
        return (
            f"The threshold is the upper bound, whose sets hold every label: under "
            f"{best.guarantee} no mechanism promises a coverage of {level} with {n} scores by less "
            f"(rank aimed at by {best.name}: {_rank(best)}; {compared})."
        )
    return (
        f"{best.name}, was chosen: it aims at rank {_rank(best)} of {n} for a coverage of {level} "
        f"under {best.guarantee} ({compared}). The choice depends on public numbers alone."
    )


def _rank(offer: ProvedCalibrator) -> str:
    return f"more than {offer.n}" if offer.every_label else f"{round(offer.rank, 1):g}"
