"""The search for the neighbours that an exponential-mechanism quantile distinguishes best."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import logsumexp

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.extensions.claims import BoolArray, FloatArray, IntArray
    from dpcp_audit.extensions.mechanisms import ExponQ

    Logits = Callable[[FloatArray, FloatArray, BoolArray], FloatArray]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WorstPair:
    """Two score arrays that differ in one score, and the release that distinguishes them.

    Parameters
    ----------
    log_ratio : float
        log(probability/neighbour_probability) of releasing ``released``.
    scores, neighbour_scores : ndarray, shape (n,)
        The neighbours.
    probability, neighbour_probability : float
        The release's probability on either input; the second may underflow to 0.
    """

    log_ratio: float
    scores: FloatArray
    neighbour_scores: FloatArray
    released: float
    probability: float
    neighbour_probability: float


class _Family(NamedTuple):
    """Candidates in groups of equal weight: a representative of each and its size."""

    position: IntArray
    group: IntArray
    log_size: FloatArray
    top: BoolArray


class _Case(NamedTuple):
    """The case at which the log-ratio is largest."""

    log_ratio: float
    log_probability: float
    bins: tuple[int, int]
    n_first: int
    moved: tuple[int, int]
    group: int


def worst_log_ratio(mechanism: ExponQ, n: int) -> WorstPair:
    """Return the neighbours on n scores with the largest log-ratio, over a rich family.

    Each array holds c scores in one bin, n−1−c in another, and one score that moves between
    any two of the first, second, middle, last but one and last bins; every c and every
    released edge is tried. Compare with ``ExponQ.log_ratio_bound``, which covers all neighbours.
    Among log-ratios within 0.1 % of the largest, the most probable release is taken.
    """
    if mechanism.n_candidates == 2:
        raise ValueError("n_candidates must be >= 3 for the release to depend on the scores, got 2")
    if mechanism.normalisation(n) == 0:
        raise ValueError(
            f"n must give a target below 1, where the release depends on the scores, got {n} "
            f"(target {mechanism.target(n):.6g})"
        )
    edges, logits = mechanism.edges, partial(mechanism.log_weights, n)
    family = _family(edges.size)
    cases = [
        case
        for bins in combinations(family.position, 2)
        for move in combinations(family.position, 2)
        for case in _cases(family, n, bins, move, logits)
    ]
    largest = max(case.log_ratio for case in cases)
    best = max(
        (case for case in cases if case.log_ratio >= 0.999 * largest),
        key=lambda case: case.log_probability,
    )
    middle = (edges[1:] + edges[:-1]) / 2
    first, second = (float(middle[i - 1]) for i in best.bins)
    others = np.where(np.arange(n - 1) < best.n_first, first, second)
    return WorstPair(
        log_ratio=best.log_ratio,
        scores=np.append(others, middle[best.moved[0] - 1]),
        neighbour_scores=np.append(others, middle[best.moved[1] - 1]),
        released=float(edges[best.group]),
        probability=float(np.exp(best.log_probability)),
        neighbour_probability=float(np.exp(best.log_probability - best.log_ratio)),
    )


def _family(m: int) -> _Family:
    """Return the edges that scores round up to, and the groups that they cut the edges into."""
    position = np.unique(np.clip([1, 2, m // 2, m - 2, m - 1], 1, m - 1))
    starts = np.unique(np.concatenate([[0], position, position + 1]))
    starts = starts[starts < m]
    size = np.diff(starts, append=m)
    return _Family(position, starts, np.log(size), starts == m - 1)


def _cases(
    family: _Family, n: int, bins: tuple[int, int], move: tuple[int, int], logits: Logits
) -> list[_Case]:
    """Return the worst case in either direction of one move, over all counts and releases."""
    count = np.arange(n)[:, None]
    low, high = (_sides(family.group, at) for at in bins)
    log_mass: list[FloatArray] = []
    for at in move:
        mover = _sides(family.group, at)
        below, above = (
            count * low[side] + (n - 1 - count) * high[side] + mover[side] for side in (0, 1)
        )
        weight = logits(below.astype(np.float64), above.astype(np.float64), family.top)
        log_mass.append(weight - logsumexp(weight + family.log_size, axis=1, keepdims=True))
    return [
        _worst_case(log_mass[i], log_mass[1 - i], family, bins, (move[i], move[1 - i]))
        for i in (0, 1)
    ]


def _sides(group: IntArray, at: int) -> tuple[IntArray, IntArray]:
    """Return 1 for each group that a score at edge ``at`` lies strictly below, and above."""
    return (at < group).astype(np.int64), (at > group).astype(np.int64)


def _worst_case(
    first: FloatArray,
    second: FloatArray,
    family: _Family,
    bins: tuple[int, int],
    moved: tuple[int, int],
) -> _Case:
    ratio = first - second
    near = ratio >= 0.999 * ratio.max()
    count, group = np.unravel_index(np.argmax(np.where(near, first, -np.inf)), ratio.shape)
    return _Case(
        float(ratio[count, group]),
        float(first[count, group]),
        (int(bins[0]), int(bins[1])),
        int(count),
        (int(moved[0]), int(moved[1])),
        int(family.group[group]),
    )
