"""Users drawn from a labelled pool and randomised, as counts over (user, reported label) cells.

LDP-CP-L sees nothing of its data but how many scores of reported labels, and of all labels,
lie at or below a threshold. n users of a pool of m are therefore one draw of counts over its
m·k cells, and a trial costs O(mk) whatever n is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit import _validate
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse, debiased_cdf

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray, IntArray

_CHUNK_CELLS = 4_000_000


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
    """

    def __init__(
        self, scores: FloatArray, labels: IntArray, response: KaryRandomizedResponse
    ) -> None:
        self._users, self._k = scores.shape
        self._labels, self._response = labels, response
        flat = scores.ravel()
        self._order = np.argsort(flat, kind="stable")
        ranked = flat[self._order]
        self._last = np.append(ranked[1:] != ranked[:-1], [True])
        self.points: FloatArray = ranked[self._last]
        """The distinct scores, increasing; every count is constant between two of them."""
        channel = np.exp(np.stack([law.log_mass for law in response.laws()]))
        chances = (channel[labels] / self._users).ravel()
        self._chances = chances / chances.sum()
        true = np.sort(scores[np.arange(self._users), labels])
        self.true_cdf: FloatArray = np.searchsorted(true, self.points, "right") / self._users
        """F^c at ``points``: the pool's coverage."""

    @property
    def chunk(self) -> int:
        """How many trials to hold side by side."""
        return max(1, _CHUNK_CELLS // int(self._chances.size))

    def estimates(self, n: int, trials: int, *, rng: np.random.Generator) -> FloatArray:
        """Return F̂c at ``points`` in ``trials`` trials of n users, shape (trials, points)."""
        _validate.integer(n=n, at_least=1)
        cells = self._draw(n, trials, rng)
        users = cells.reshape(trials, self._users, self._k).sum(axis=2)
        noisy = self._cumulate(cells) / n
        uniform = self._cumulate(np.repeat(users, self._k, axis=1)) / (n * self._k)
        return debiased_cdf(noisy, uniform, beta=self._response.beta)

    def expected_estimate(self) -> FloatArray:
        """Return E[F̂c] at ``points``, over users and randomised labels, shape (points,)."""
        noisy = self._cumulate(self._chances[None, :])[0]
        uniform = self._cumulate(np.full((1, self._chances.size), 1 / self._chances.size))[0]
        return debiased_cdf(noisy, uniform, beta=self._response.beta)

    def at(self, estimates: FloatArray, which: IntArray, q: FloatArray) -> FloatArray:
        """Return the estimates of the trials ``which`` at the thresholds ``q``, both (active,)."""
        place = np.searchsorted(self.points, q, side="right") - 1
        return np.where(place >= 0, estimates[which, np.maximum(place, 0)], 0.0)

    def _draw(self, n: int, trials: int, rng: np.random.Generator) -> IntArray:
        """Return the number of users in every cell, shape (trials, m·k)."""
        size = int(self._chances.size)
        if n >= size:
            return rng.multinomial(n, self._chances, size=trials)
        users = rng.integers(self._users, size=(trials, n))
        reported = self._response.sample(self._labels[users], rng=rng)
        cells = users * self._k + reported + size * np.arange(trials)[:, None]
        return np.bincount(cells.ravel(), minlength=trials * size).reshape(trials, size)

    def _cumulate(self, cells: IntArray | FloatArray) -> FloatArray:
        """Return the running sums in the order of the scores, at the last of equal scores."""
        return np.cumsum(cells[:, self._order], axis=1, dtype=np.float64)[:, self._last]
