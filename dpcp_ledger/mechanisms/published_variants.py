"""The computations of P-COQS's published tables that differ from the algorithm as written.

Every departure stands here, apart from the reference mechanisms; ``pcoqs_choices.toml`` names them.
"The notebooks" are the authors' public code, SMAC-Group/pcoqs on GitHub,
``paper_codes/Simulated_experiment``; those of Tables 1, 2, 5 to 8, 12, 13, 15 and 16 are stored
incomplete there, and what is said of these tables was found by matching their numbers.

Between two neighbouring scores every edge has the same counts below and above it, so the m
edges fall into at most 2n+1 runs, and a release costs O(n) where the public code spends O(m)
on each of 100 releases, with m up to 10⁶. The law is the same; given the same uniform draw so
is the released edge, up to the rounding of a cumulative sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpcp_audit.extensions.claims import Relation
from dpcp_audit.extensions.mechanisms import PCOQS, ExponQ, Normaliser, conformal_rank
from dpcp_ledger.mechanisms.histlap import EmptyHistogram, HistLap

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import FloatArray, IntArray


SCORE_DECIMALS = 4
THRESHOLD_DECIMALS = 2
HISTOGRAM_BINS = 50
FIRST_SEED = 3
MODEL_SEED = 42


def rounded(scores: FloatArray) -> FloatArray:
    """Return calibration scores as the tables round them."""
    return np.round(scores, SCORE_DECIMALS)


def pcoqs_threshold(
    sorted_scores: FloatArray, *, alpha: float, rho: float, noise: FloatArray, lowest: float = 0.0
) -> float:
    """Return P-COQS's threshold, rounded to 2 decimals.

    Parameters
    ----------
    sorted_scores : ndarray, shape (n,)
        Rounded calibration scores.
    noise : ndarray, shape (N,)
        Standard normal draws, one a round.
    lowest : float
        Score at which the search and its counts begin; Table 14 varies it.
    """
    mechanism = PCOQS(alpha=alpha, rho=rho, bounds=(lowest, 1.0))
    counted = sorted_scores[np.searchsorted(sorted_scores, lowest, side="left") :]
    rank = mechanism.rank(sorted_scores.size)
    found = mechanism.search(counted, rank, noise[: mechanism.rounds, None])
    return float(np.round(float(found[0]), THRESHOLD_DECIMALS))


def histlap_threshold(
    scores: FloatArray, *, alpha: float, epsilon: float, rng: np.random.Generator
) -> float:
    """Return HistLap's threshold from rounded scores (n,), by its fallback without counts."""
    mechanism = HistLap(
        alpha=alpha,
        epsilon=epsilon,
        n_bins=HISTOGRAM_BINS,
        noise=Relation.ADD_REMOVE,
        empty=EmptyHistogram.MEDIAN,
    )
    return float(mechanism.sample(scores, 1, rng=rng)[0])


def exponq_search(*, alpha: float, epsilon: float) -> ExponQSearch:
    """Return the published search for (m, γ)."""
    return ExponQSearch(alpha=alpha, epsilon=epsilon, normaliser=Normaliser.PUBLISHED)


def standard_threshold(sorted_scores: FloatArray, *, alpha: float) -> float:
    """Return the interpolated quantile that the tables call Standard, of rounded scores (n,)."""
    n = sorted_scores.size
    place = (n - 1) * min(1.0, conformal_rank(n, alpha=alpha) / n)
    below = min(math.floor(place), n - 2)
    share = place - below
    low, high = sorted_scores[below : below + 2]
    return float(low + (high - low) * share)


_NEGLIGIBLE = 60.0
"""Edges below the best by this many nats hold less than 10⁶·e⁻⁶⁰ < 1e-19 of the mass."""
_CLIP = 1e-12


class Tuning(NamedTuple):
    """The m and γ that a search settles on."""

    n_candidates: int
    gamma: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponQSearch:
    """Angelopoulos et al.'s choice of (m, γ): the pair with the smallest noisy threshold.

    For each m on a grid, and for both roots γ of q̃'s derivative, one private quantile is drawn
    from the same n simulated uniform scores; the smallest draw wins (the public code's
    ``core/private_conformal_utils.py``, ``get_optimal_gamma_m``). The data is not looked at.

    Parameters
    ----------
    alpha, epsilon
        Level and budget, as in ``ExponQ``.
    normaliser : Normaliser
        The constant c.
    grid : tuple of int
        The values of m that are tried; by default the public code's 50 from 10⁴ to 10⁶.
    """

    alpha: float
    epsilon: float
    normaliser: Normaliser = Normaliser.CORRECTED
    grid: tuple[int, ...] = tuple(np.logspace(4, 6, 50).astype(int).tolist())

    @property
    def n_draws(self) -> int:
        """The number of uniform draws that ``tune`` takes: two for each value of m."""
        return 2 * len(self.grid)

    def gammas(self, n: int) -> tuple[float, float]:
        """Return both roots of α²γ² − (αε(n+1)(1−α)/2 + 2α)γ + 1, the larger first, clipped."""
        linear = self.alpha * self.epsilon * (n + 1) * (1 - self.alpha) / 2 + 2 * self.alpha
        root = np.sqrt(linear**2 - 4 * self.alpha**2)
        ends = ((linear + root) / (2 * self.alpha**2), (linear - root) / (2 * self.alpha**2))
        larger, smaller = (float(np.clip(end, _CLIP, 1 - _CLIP)) for end in ends)
        return larger, smaller

    def tune(self, uniform_scores: FloatArray, draws: FloatArray) -> Tuning:
        """Search with simulated scores (n,) and draws in [0, 1), two a value of m in turn.

        Where no draw lies below 1, m = ⌊1/α⌋ and γ = 1 − 1e-12 are returned, as the public
        code does (its γ is 1).
        """
        gammas = self.gammas(uniform_scores.size)
        scores = np.sort(uniform_scores)
        released = np.stack(
            [
                self._release(scores, np.array(self.grid), gamma, draws[place::2])
                for place, gamma in enumerate(gammas)
            ],
            axis=1,
        )
        better = np.where(released[:, 0] < released[:, 1], 0, 1)
        lowest = released[np.arange(len(self.grid)), better]
        best = int(np.argmin(lowest))
        if lowest[best] >= 1:
            return Tuning(int(1 / self.alpha), 1 - _CLIP)
        return Tuning(self.grid[best], gammas[better[best]])

    def release(self, sorted_scores: FloatArray, tuning: Tuning, draw: float) -> float:
        """Release one threshold in [0, 1] from sorted scores (n,), given a draw in [0, 1)."""
        candidates = np.array([tuning.n_candidates])
        return float(self._release(sorted_scores, candidates, tuning.gamma, np.array([draw]))[0])

    def _release(
        self, scores: FloatArray, candidates: IntArray, gamma: float, draws: FloatArray
    ) -> FloatArray:
        """Release a threshold for each m of ``candidates`` (P,), with one draw each."""
        n = scores.size
        mechanism = ExponQ(
            alpha=self.alpha,
            epsilon=self.epsilon,
            n_candidates=int(candidates[0]),
            gamma=gamma,
            normaliser=self.normaliser,
        )
        target = mechanism.targets(n, candidates.tolist())
        scale = mechanism.normalisations(target)
        released = np.ones(candidates.size)  # where c = 0 the top edge is released
        live = scale > 0
        if live.any():
            weight = self.epsilon / 2 * scale[live, None]
            runs = _runs(scores, candidates[live], self._first(n, target[live], weight))
            below = runs.below
            if self.normaliser is Normaliser.PUBLISHED:
                below = np.where(runs.first + runs.width == candidates[live, None], n, below)
            worse = np.maximum(
                below / target[live, None], (n - runs.at_or_below) / (1 - target[live, None])
            )
            edge = _choose(runs, -weight * worse, draws[live])
            released[live] = edge / (candidates[live] - 1)
        return released

    def _first(self, n: int, target: FloatArray, weight: FloatArray) -> int:
        """Return a rank such that edges with fewer scores at or below them are negligible.

        With k scores at or below it, an edge left of the target loses (q̃n − k)/(1−q̃) to the
        one that straddles it, which itself loses at most n(1/q̃ − 1) where the published code
        counts scores in the top bin as below.
        """
        reach = _NEGLIGIBLE / weight[:, 0] + n * (1 / target - 1)
        return max(0, int(np.min(target * n - (1 - target) * reach)))


class _Runs(NamedTuple):
    """Runs of edges of equal weight; arrays of shape (P, runs)."""

    first: FloatArray
    width: FloatArray
    below: FloatArray
    at_or_below: FloatArray


def _runs(scores: FloatArray, candidates: IntArray, skip: int) -> _Runs:
    """Return the runs of edges, from the first with more than ``skip`` scores at or below it.

    A score lies in the bin that ends at edge ``index``. That edge is a run of its own, and the
    edges from there to the next score's are another.
    """
    top = candidates[:, None] - 1
    widest: float = 2 / (min(map(int, candidates)) - 1)  # of a bin, and as much again for rounding
    start = int(np.searchsorted(scores, float(scores[skip]) - widest))
    index = _end_of_bin(scores[start:], top)
    place = np.arange(start, scores.size)
    new = np.concatenate(
        [np.ones((candidates.size, 1), dtype=bool), index[:, 1:] != index[:, :-1]], axis=1
    )
    from_skip = slice(skip - start, None)
    group = np.maximum.accumulate(np.where(new, place, 0), axis=1)[:, from_skip]
    following = np.concatenate([index[:, 1:], top + 1], axis=1)[:, from_skip]
    index, place = index[:, from_skip], place[from_skip]
    shape = (candidates.size, 2 * place.size)
    first, width, below, at_or_below = (np.empty(shape) for _ in range(4))
    last = following > index
    first[:, ::2], first[:, 1::2] = index, index + 1
    width[:, ::2], width[:, 1::2] = last, (following - index - 1) * last
    below[:, ::2], below[:, 1::2] = group, place + 1
    at_or_below[:, ::2] = at_or_below[:, 1::2] = place + 1
    if skip:
        return _Runs(first, width, below, at_or_below)
    lead = np.zeros((candidates.size, 1))
    return _Runs(
        np.hstack([lead, first]),
        np.hstack([_end_of_bin(scores[:1], top), width]),
        np.hstack([lead, below]),
        np.hstack([lead, at_or_below]),
    )


def _end_of_bin(scores: FloatArray, top: IntArray) -> FloatArray:
    """Return the index of the edge that ends each score's bin, as ``bin_index`` has it plus 1."""
    step = 1 / top
    start = np.floor(scores * top)
    start += (start + 1) * step <= scores  # rounding may move a score across an edge
    start -= start * step > scores
    end: FloatArray = np.minimum(start + 1, top)
    return end


def _choose(runs: _Runs, logits: FloatArray, draws: FloatArray) -> FloatArray:
    """Return the edge's index for each row, by inversion of the cumulative mass."""
    logits = np.where(runs.width > 0, logits, -np.inf)
    each = np.exp(logits - logits.max(axis=1, keepdims=True))
    cumulative = np.cumsum(each * runs.width, axis=1)
    goal = draws[:, None] * cumulative[:, -1:]
    at = np.sum(cumulative <= goal, axis=1, keepdims=True)
    before = np.where(at > 0, np.take_along_axis(cumulative, np.maximum(at - 1, 0), axis=1), 0)
    inside = np.floor((goal - before) / np.take_along_axis(each, at, axis=1))
    inside = np.minimum(inside, np.take_along_axis(runs.width, at, axis=1) - 1)
    chosen: FloatArray = (np.take_along_axis(runs.first, at, axis=1) + inside)[:, 0]
    return chosen
