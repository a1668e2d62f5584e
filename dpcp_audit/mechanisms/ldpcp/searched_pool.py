"""Trials of LDP-CP-L on a pool: estimates are drawn where the search's answer is open.

An estimate is a mean over n i.i.d. users, so that Bernstein's inequality tells how far it may be
from the true coverage. Where that leaves no doubt on which side of the window it lies, it need not
be drawn; what is left are the few points that the bisection may ask for.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.mechanisms.ldpcp.cell_counts import CellCounts

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray, IntArray
    from dpcp_audit.mechanisms.ldpcp.window_search import SearchResult, WindowSearch
    from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse

_LOG_CHANCE = 18 * math.log(10)
"""Of the probability, 1e-18, that an estimate is on the other side than is taken for sure."""


class SearchedPool:
    """A pool of scored users, and a search on the randomised labels of n of them.

    Parameters
    ----------
    search : WindowSearch
        The bisection.
    response : KaryRandomizedResponse
        What every user runs on its label.
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
        """How many trials to run side by side."""
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
