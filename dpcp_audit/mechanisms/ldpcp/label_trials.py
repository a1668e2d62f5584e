"""Trials of LDP-CP-L on a labelled pool, by counts over (kind of user, report) cells.

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
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse, debiased_cdf
from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    from dpcp_audit.mechanisms.ldpcp.window import SearchResult, WindowSearch
    from dpcp_audit.words.arrays import FloatArray, IntArray


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


class SearchedPool:
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
    """Return how far F̂c may be from F^c at either side, but for a probability of 1e-18 each.

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
