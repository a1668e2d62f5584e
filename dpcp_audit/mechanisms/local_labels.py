"""LDP-CP-L: conformal calibration from randomised labels (LDP-CP, Algorithms 1 and 2); NACP.

LDP-CP-L takes Noise-Aware Conformal Prediction (Penso, Goldberger and Fetaya 2025) for the k-RR of
users' labels, and prints for it a search with a window (Algorithm 2). The public code of NACP
(``nacp_HPS.py``, ``nacp_APS.py``, ``nacp_RAPS.py`` of cobypenso/Noise-Aware-Conformal-Prediction on
GitHub) has none: it halves [1/2, 1] until the interval is no longer than 5·10⁻⁵, which takes 14
rounds, and returns, of the midpoints with F̂c above 1−α, the one with the least F̂c, or 1.

**Coverage.** What is returned has F̂c above 1−α, or is 1, which covers all. Theorem 1, which speaks
of any such q, then gives 1−α−Δ_L with probability 1−δ for every law of the scores, admissible or
not, and for every number of rounds. Where less than 1/2 would do, q̂ is larger than need be.

Trials of LDP-CP-L on a labelled pool, by counts over (kind of user, report) cells.

LDP-CP-L sees nothing of its data but how many scores of reported labels, and of all labels, lie at
or below a threshold. Where thresholds matter at some points only, scores between two of them are
alike, and so are users whose labels' scores lie alike: n users are one draw of counts over the
cells that are left, at most a pool's users times labels, whatever n is.

An estimate is a mean over n i.i.d. users, so that Bernstein's inequality tells how far it may be
from the true coverage. Where that leaves no doubt on which side of the window it lies, it need not
be drawn; what is left are the few points that the bisection may ask for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.laws.pools import true_label_scores
from dpcp_audit.laws.populations import Pool
from dpcp_audit.mechanisms.local_scores import LDPTrials, SearchResult, WindowSearch, asked_places
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse, debiased_cdf
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.guarantees import LocalDP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike

    from dpcp_audit.words.validate import BoolArray, FloatArray, IntArray


_CHUNK = 2**21


@dataclass(frozen=True, slots=True, kw_only=True)
class LDPCPLabels(WindowSearch):
    """Users send their features and a k-RR label; the aggregator searches noise-aware.

    Only the label is private. Scores lie in [0, 1].

    Parameters
    ----------
    alpha, rounds, window_width, window, on_miss, starred
        Settings of the search, as in ``WindowSearch``.
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
            One threshold a run; a single row of labels gives shape (1,).
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
        pool = _SearchedPool(self, self.response, values, true, n=n)
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
        Settings, as in ``LDPCPLabels``.
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


_CHUNK_CELLS = 100_000
"""Counts that are held at a time: they stay in the processor's cache."""


class CellCounts:
    """A pool of scored users whose labels go through k-RR.

    Parameters
    ----------
    scores : ndarray, shape (m, k)
        Scores of every label.
    labels : ndarray, shape (m,)
        True labels.
    response : KaryRandomizedResponse
        The channel that every user applies to its label.
    points : ndarray of float, optional
        Distinct scores, increasing: the thresholds that matter; all of them by default.
    """

    def __init__(
        self,
        scores: FloatArray,
        labels: IntArray,
        response: KaryRandomizedResponse,
        points: FloatArray | None = None,
    ) -> None:
        users, k = scores.shape
        self._labels, self._response = labels, response
        self.points: FloatArray = np.unique(scores) if points is None else points
        """The thresholds, increasing; every count is constant between two distinct scores."""
        places = np.searchsorted(self.points, scores)
        true = places[np.arange(users), labels]
        alike, kind, members = _alike(np.column_stack([np.sort(places, axis=1), true]))
        width = self.points.size + 1
        cells, self._cell, self._shared = np.unique(
            kind[:, None] * width + places, return_inverse=True, return_counts=True
        )
        self._kind, place = np.divmod(cells, width)
        self._shared = self._shared // members[self._kind]
        self._first = np.searchsorted(self._kind, np.arange(members.size))
        self._order = np.argsort(place, kind="stable")
        self._last = np.searchsorted(place[self._order], np.arange(width - 1), side="right") - 1
        keep, move = response.keep_probability, response.move_probability / (k - 1)
        chances = move * self._shared + (keep - move) * (place == true[alike][self._kind])
        chances *= members[self._kind]
        self._chances: FloatArray = chances / chances.sum()
        covered = np.searchsorted(np.sort(true), np.arange(width - 1), side="right")
        self.true_cdf: FloatArray = covered / users
        """F^c at ``points``: the pool's coverage."""

    @property
    def chunk(self) -> int:
        """The number of trials to hold in memory together."""
        return max(1, _CHUNK_CELLS // int(self._chances.size))

    def estimates(self, n: int, trials: int, *, rng: np.random.Generator) -> FloatArray:
        """Return F̂c at ``points`` in ``trials`` trials of n users, shape (trials, points)."""
        _validate.integer(n=n, at_least=1)
        if not self.points.size:
            return np.empty((trials, 0))
        return self._estimates(self._draw(n, trials, rng), n)

    def expected_estimate(self) -> FloatArray:
        """Return E[F̂c] at ``points``, over users and randomised labels, shape (points,)."""
        expected: FloatArray = self._estimates(self._chances[None, :], 1)[0]
        return expected

    def _estimates(self, counts: IntArray | FloatArray, n: int) -> FloatArray:
        """Return F̂c of the counts of n users in the cells."""
        users = np.add.reduceat(counts, self._first, axis=1)
        noisy = self._cumulate(counts)
        uniform = self._cumulate(users[:, self._kind] * self._shared)
        noisy /= n
        uniform /= n * self._response.k
        return debiased_cdf(noisy, uniform, beta=self._response.beta)

    def _draw(self, n: int, trials: int, rng: np.random.Generator) -> IntArray:
        """Return the number of users in every cell, shape (trials, cells)."""
        size = int(self._chances.size)
        if n >= size:
            return rng.multinomial(n, self._chances, size=trials)
        users = rng.integers(self._labels.size, size=(trials, n))
        reported = self._response.sample(self._labels[users], rng=rng)
        cells = self._cell[users, reported] + size * np.arange(trials)[:, None]
        return np.bincount(cells.ravel(), minlength=trials * size).reshape(trials, size)

    def _cumulate(self, cells: IntArray | FloatArray) -> FloatArray:
        """Return the running sums in the order of the scores, at the points."""
        return np.cumsum(cells[:, self._order], axis=1, dtype=np.float64)[:, self._last]


def _alike(rows: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return an index of each distinct row, which of them every row is, and how many rows are."""
    whole = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.itemsize * rows.shape[1])))
    _, first, kind, members = np.unique(
        whole.ravel(), return_index=True, return_inverse=True, return_counts=True
    )
    return first, kind, members


_LOG_CHANCE = 18 * math.log(10)
"""−log of 1e-18, the probability that an estimate is on the other side than is taken for sure."""


class _SearchedPool:
    """A pool of scored users, and a search on the randomised labels of n of them.

    Parameters
    ----------
    search : WindowSearch
        The bisection.
    response : KaryRandomizedResponse
        The channel that every user applies to its label.
    scores : ndarray, shape (m, k)
        Scores of every label.
    labels : ndarray, shape (m,)
        True labels.
    n : int
        Users of a trial.
    """

    def __init__(
        self,
        search: WindowSearch,
        response: KaryRandomizedResponse,
        scores: FloatArray,
        labels: IntArray,
        *,
        n: int,
    ) -> None:
        self._search, self._n = search, n
        everything = np.sort(scores, axis=None)
        self._points: FloatArray = np.unique(everything)
        true = np.sort(scores[np.arange(labels.size), labels])
        coverage = np.searchsorted(true, self._points, side="right") / true.size
        uniform = np.searchsorted(everything, self._points, side="right") / everything.size
        error = estimate_error(coverage, uniform, n=n, beta=response.beta)
        asked = search.open_places(self._points, coverage - error, coverage + error)
        self._cells = CellCounts(scores, labels, response, self._points[asked])
        # before the first score the estimate is 0; place 0 is that, place i + 1 is point i
        self._sure = np.append([0.0], coverage)
        self._column = np.append([-1], np.where(asked, np.cumsum(asked) - 1, -1))

    @property
    def chunk(self) -> int:
        """The number of trials to run together."""
        return self._cells.chunk

    def run(self, trials: int, *, rng: np.random.Generator) -> SearchResult:
        """Run the search on fresh users of each of so many trials."""
        drawn = self._cells.estimates(self._n, trials, rng=rng)

        def estimate(_: int, q: FloatArray, which: IntArray) -> FloatArray:
            place = np.searchsorted(self._points, q, side="right")
            value, column = self._sure[place], self._column[place]
            open_ = np.flatnonzero(column >= 0)
            value[open_] = drawn[which[open_], column[open_]]
            return value

        return self._search.search(estimate, runs=trials)


def estimate_error(coverage: FloatArray, uniform: FloatArray, *, n: int, beta: float) -> FloatArray:
    """Return the largest distance of F̂c from F^c on either side, but for probability 1e-18.

    Bernstein's inequality for a mean of Z = (X − βU)/(1−β), where X tells whether a report is at
    or below the threshold and U is the share of labels that are. Given the user, X has the mean
    βU + (1−β)V, V telling whether the true label is; so E(X − βU)² is at most
    E[βU(1−βU)] + (1−β)E[V], and as much for what lies above the threshold.

    Parameters
    ----------
    coverage, uniform : ndarray
        E[V] and E[U].
    """

    def spread(noise: FloatArray, share: FloatArray) -> FloatArray:
        return beta * noise * (1 - beta * noise) + (1 - beta) * share

    variance = np.minimum(spread(uniform, coverage), spread(1 - uniform, 1 - coverage))
    variance = variance / (1 - beta) ** 2
    furthest = (1 + beta) / (1 - beta)
    scale = _LOG_CHANCE / n
    return np.sqrt(2 * variance * scale) + 2 / 3 * furthest * scale
