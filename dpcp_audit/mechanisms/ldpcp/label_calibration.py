"""LDP-CP-L: conformal calibration from randomised labels (LDP-CP, Algorithms 1 and 2); NACP.

LDP-CP-L takes Noise-Aware Conformal Prediction (Penso, Goldberger and Fetaya 2025) for the k-RR of
users' labels, and prints for it a search with a window (Algorithm 2). The public code of NACP
(``nacp_HPS.py``, ``nacp_APS.py``, ``nacp_RAPS.py`` of cobypenso/Noise-Aware-Conformal-Prediction on
GitHub) has none: it halves [1/2, 1] until the interval is no longer than 5·10⁻⁵, which takes 14
rounds, and returns, of the midpoints with F̂c above 1−α, the one with the least F̂c, or 1.

**Coverage.** What is returned has F̂c above 1−α, or is 1, which covers all. Theorem 1, which speaks
of any such q, then gives 1−α−Δ_L with probability 1−δ for every law of the scores, admissible or
not, and for every number of rounds. Where less than 1/2 would do, q̂ is larger than need be.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.laws.pools import true_label_scores
from dpcp_audit.laws.populations import Pool
from dpcp_audit.mechanisms.ldpcp.label_trials import SearchedPool
from dpcp_audit.mechanisms.ldpcp.window import LDPTrials, SearchResult, WindowSearch, asked_places
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse, debiased_cdf
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.guarantees import LocalDP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike

    from dpcp_audit.words.arrays import BoolArray, FloatArray, IntArray


_CHUNK = 2**21


@dataclass(frozen=True, slots=True, kw_only=True)
class LDPCPLabels(WindowSearch):
    """Users send their features and a k-RR label; the aggregator searches noise-aware.

    Only the label is private. Scores lie in [0, 1].

    Parameters
    ----------
    alpha, rounds, window_width, window, on_miss, starred
        As in ``WindowSearch``.
    epsilon : float
        Privacy parameter ε > 0 of each user's label.
    k : int
        Number of labels, at least 2.
    """

    epsilon: float
    k: int

    def __post_init__(self) -> None:
        WindowSearch.__post_init__(self)
        _validate.positive(epsilon=self.epsilon)
        _validate.integer(k=self.k, at_least=2)

    @property
    def guarantee(self) -> LocalDP:
        """ε-LDP of the label (Theorem 3)."""
        return LocalDP(self.epsilon)

    @property
    def response(self) -> KaryRandomizedResponse:
        """The randomizer that each user runs on its label (Algorithm 1)."""
        return KaryRandomizedResponse(self.epsilon, self.k)

    def sample(
        self,
        scores: ArrayLike,
        labels: ArrayLike,
        size: int,
        *,
        rng: np.random.Generator | int | None = None,
    ) -> FloatArray:
        """Randomise the labels of the same users and search, ``size`` times.

        Parameters
        ----------
        scores : array_like, shape (n, k)
            Scores of every label of the users, in [0, 1].
        labels : array_like, shape (n,)
            Their true labels in {0, ..., k−1}.
        size : int
            Number of releases.

        Returns
        -------
        ndarray, shape (size,)
            A threshold a release.
        """
        values, true = label_users(scores, labels, k=self.k)
        _validate.integer(size=size, at_least=1)
        generator = _validate.generator(rng)
        return np.concatenate(
            [
                self.from_noisy(
                    values,
                    self.response.sample(np.broadcast_to(true, (runs, true.size)), rng=generator),
                )
                for runs in _chunks(size, true.size)
            ]
        )

    def from_noisy(self, scores: ArrayLike, noisy_labels: ArrayLike) -> FloatArray:
        """Return the aggregator's threshold (Algorithm 2), which is all of it deterministic.

        Parameters
        ----------
        scores : array_like, shape (n, k)
            Scores of every label, in [0, 1].
        noisy_labels : array_like, shape (runs, n) or (n,)
            Reported labels, a row a run.

        Returns
        -------
        ndarray, shape (runs,)
            With one row of labels, shape (1,).
        """
        values = score_table(scores, k=self.k)
        noisy = np.atleast_2d(_validate.labels(noisy_labels, n_classes=self.k, name="noisy_labels"))
        if noisy.ndim != 2 or noisy.shape[1] != values.shape[0]:
            raise ValueError(
                f"noisy_labels must have {values.shape[0]} columns, got shape {noisy.shape}"
            )
        everything = np.sort(values, axis=None)

        def uniform(q: FloatArray, _: IntArray) -> FloatArray:
            return np.searchsorted(everything, q, side="right") / everything.size

        return self._aggregate(values[np.arange(values.shape[0]), noisy], uniform).threshold

    def trials(
        self,
        scores: ArrayLike,
        labels: ArrayLike,
        *,
        n: int,
        trials: int,
        rng: np.random.Generator | int | None = None,
    ) -> LDPTrials:
        """Run the algorithm ``trials`` times, each on n users drawn from a pool.

        Users are drawn with replacement: the pool is the population, and coverage is the
        fraction of its true-label scores at or below the threshold. A trial costs at most
        O(mk), whatever n is.

        Parameters
        ----------
        scores : array_like, shape (m, k)
            The pool's scores of every label, in [0, 1].
        labels : array_like, shape (m,)
            The pool's true labels.
        """
        values, true = label_users(scores, labels, k=self.k)
        _validate.integer(n=n, at_least=1)
        _validate.integer(trials=trials, at_least=1)
        generator = _validate.generator(rng)
        pool = SearchedPool(self, self.response, values, true, n=n)
        parts = [
            pool.run(min(pool.chunk, trials - start), rng=generator)
            for start in range(0, trials, pool.chunk)
        ]
        threshold, missed = (np.concatenate(column) for column in zip(*parts, strict=True))
        coverage = Pool(true_label_scores(values, true), "pool").cdf(threshold)
        return LDPTrials(threshold, coverage, missed)

    def _aggregate(
        self, noisy_scores: FloatArray, uniform: Callable[[FloatArray, IntArray], FloatArray]
    ) -> SearchResult:
        """Search with F̂c from the scores of the noisy labels, (runs, n), and F̂r(q)."""
        beta = self.response.beta

        def estimate(_: int, q: FloatArray, which: IntArray) -> FloatArray:
            noisy = (noisy_scores[which] <= q[:, None]).mean(axis=1)
            return debiased_cdf(noisy, uniform(q, which), beta=beta)

        return self.search(estimate, runs=noisy_scores.shape[0])


def score_table(scores: ArrayLike, *, k: int) -> FloatArray:
    """Return scores of every label in [0, 1], shape (n, k)."""
    values = _validate.array(scores, name="scores", ndim=2)
    if values.shape[1] != k:
        raise ValueError(f"scores must have k = {k} columns, got shape {values.shape}")
    _validate.scores(values.ravel(), within=(0.0, 1.0))
    return values


def label_users(scores: ArrayLike, labels: ArrayLike, *, k: int) -> tuple[FloatArray, IntArray]:
    """Return users whose features are open: scores of every label (n, k), true labels (n,)."""
    values = score_table(scores, k=k)
    return values, _validate.labels(labels, n_classes=k, shape=values.shape[:1])


def dkw_width(*, n: int, beta: float, delta: float) -> float:
    """Return Δ_L = sqrt(log(4/δ)/(2·n·h²)) with h = (1−β)/(1+β) (LDP-CP paper, Theorem 1)."""
    _validate.integer(n=n, at_least=1)
    _validate.open_unit(delta=delta)
    _validate.half_open_unit(beta=beta)
    h = (1 - beta) / (1 + beta)
    return math.sqrt(math.log(4 / delta) / (2 * n)) / h


def _chunks(runs: int, n: int) -> Iterator[int]:
    """Split ``runs`` so that runs × n stays at or below 2²¹ (a single run may exceed it)."""
    most = max(1, _CHUNK // n)
    for start in range(0, runs, most):
        yield min(most, runs - start)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseAwareLabels(LDPCPLabels):
    """LDP-CP-L with the search of NACP's public code in the place of Algorithm 2's.

    Parameters
    ----------
    alpha, epsilon, k
        As in ``LDPCPLabels``.
    window_width : float
        Δ, by which a starred calibration aims higher; nothing stops the search before its end.
    rounds : int
        The number of halvings, 14 in the public code.
    lowest : float
        The lower end of the interval, in [0, 1); 1/2 in the public code.
    """

    rounds: int = 14
    lowest: float = 0.5

    def __post_init__(self) -> None:
        LDPCPLabels.__post_init__(self)
        _validate.half_open_unit(lowest=self.lowest)

    def search(
        self, estimate: Callable[[int, FloatArray, IntArray], FloatArray], *, runs: int
    ) -> SearchResult:
        """Halve the interval in ``runs`` runs side by side; missed is where no F̂c was above."""
        target, _ = self.limits
        low, high = np.full(runs, self.lowest), np.ones(runs)
        point, least = np.ones(runs), np.full(runs, np.inf)
        everyone = np.arange(runs)
        for j in range(self.rounds):
            middle = (low + high) / 2
            z = estimate(j, middle, everyone)
            above = z > target
            nearer = above & (z < least)
            point[nearer], least[nearer] = middle[nearer], z[nearer]
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        return SearchResult(point, np.isinf(least))

    def open_places(self, points: FloatArray, lowest: FloatArray, highest: FloatArray) -> BoolArray:
        """Return at which points the search may ask for an estimate that may be above 1−α.

        These are compared with each other as well, so that their sides alone are not enough.
        """
        target, _ = self.limits
        above = highest > target
        return above & asked_places(
            points, lowest <= target, above, start=self.lowest, rounds=self.rounds
        )
