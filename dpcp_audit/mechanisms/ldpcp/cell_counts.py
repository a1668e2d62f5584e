"""Users drawn from a labelled pool and randomised, as counts over (kind of user, report) cells.

LDP-CP-L sees nothing of its data but how many scores of reported labels, and of all labels, lie at
or below a threshold. Where thresholds matter at some points only, scores between two of them are
alike, and so are users whose labels' scores lie alike: n users are one draw of counts over the
cells that are left, at most a pool's users times labels, whatever n is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit import _validate
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse, debiased_cdf

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray, IntArray

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
        What every user runs on its label.
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
        """How many trials to hold side by side."""
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
