"""The exact law of the rank at which P-COQS's search ends, on given scores.

Also for scores in random order of which one is held out for testing: the noise being the same
whichever it is, all of them walk together until a noisy count lies between the two counts that
they see, one with and one without the score that is held out. Then the scores up to the midpoint
are covered and the others are not. Intervals without scores are followed no further, so that the
tree has at most about as many leaves as there are scores, and only those are pruned that are
reached with probability 0 in floating point.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtr

from dpcp_audit.extensions.claims import validate as _validate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcp_audit.extensions.claims import BoolArray, FloatArray
    from dpcp_audit.extensions.mechanisms import PCOQS


class RankLaw(NamedTuple):
    """A law of ranks.

    Attributes
    ----------
    rank, mass : ndarray, shape (m,)
        Numbers of scores at or below the threshold, and their probabilities; ranks may repeat.
    """

    rank: FloatArray
    mass: FloatArray

    def probability(self, event: BoolArray) -> float:
        """Return the mass of the ranks in ``event``, shape (m,)."""
        return min(1.0, float(self.mass[event].sum()))


class _Nodes(NamedTuple):
    left: FloatArray
    right: FloatArray
    mass: FloatArray

    def where(self, keep: BoolArray) -> _Nodes:
        return _Nodes(*(part[keep] for part in self))


def rank_law(mechanism: PCOQS, scores: ArrayLike) -> RankLaw:
    """Return the law of #{s ≤ q} for the threshold q calibrated on ``scores``, shape (n,)."""
    values = np.sort(_validate.scores(scores, within=mechanism.bounds))
    return _follow(mechanism, values, mechanism.rank(values.size), held_out=False)


def held_out_law(mechanism: PCOQS, scores: ArrayLike) -> RankLaw:
    """Return the law, over the noise, of how many of n + 1 scores are covered when held out.

    Given the noise, the coverage of scores in random order is that number over n + 1.

    Parameters
    ----------
    scores : array_like, shape (n + 1,)
        A finite population: in each order, the last is tested and the others calibrate.
    """
    values = np.sort(_validate.scores(scores, within=mechanism.bounds))
    _validate.integer(population_size=values.size, at_least=2)
    return _follow(mechanism, values, mechanism.rank(values.size - 1), held_out=True)


def _follow(mechanism: PCOQS, values: FloatArray, rank: int, *, held_out: bool) -> RankLaw:
    low, high = mechanism.bounds
    nodes = _Nodes(np.array([low]), np.array([high]), np.ones(1))
    ends: list[tuple[FloatArray, FloatArray]] = []
    for done in range(mechanism.rounds):
        drift = (mechanism.rounds - done) * mechanism.resolution
        first, last = np.minimum(nodes.left, nodes.right), np.maximum(nodes.left, nodes.right)
        seen = _counts(values, first)
        settled = seen == _counts(values, last + drift)
        ends.append((seen[settled], nodes.mass[settled]))
        nodes = nodes.where(~settled & (nodes.mass > 0))
        middle = (nodes.left + nodes.right) / 2
        count = _counts(values, middle)
        below, apart, least = _answers(
            (rank - count) / mechanism.noise_scale, mechanism, held_out=held_out
        )
        ends.append((count, nodes.mass * apart))
        nodes = _Nodes(
            np.concatenate([middle + mechanism.resolution, nodes.left]),
            np.concatenate([nodes.right, middle]),
            np.concatenate([nodes.mass * below, nodes.mass * least]),
        )
    ends.append((_counts(values, (nodes.left + nodes.right) / 2), nodes.mass))
    ranks, masses = (np.concatenate(part) for part in zip(*ends, strict=True))
    return RankLaw(ranks, masses)


def _counts(values: FloatArray, points: FloatArray) -> FloatArray:
    return np.searchsorted(values, points, side="right").astype(np.float64)


def _answers(
    ahead: FloatArray, mechanism: PCOQS, *, held_out: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the probabilities of "below" for all, of a split, and of "at least" for all.

    ``ahead`` is how far the count with every score is short of the rank, in noise scales.
    """
    below = ndtr(ahead)
    if not held_out:
        return below, np.zeros_like(below), ndtr(-ahead)
    without = ahead + 1 / mechanism.noise_scale
    upper = without > 0
    apart = np.where(upper, ndtr(-ahead) - ndtr(-without), ndtr(without) - below)
    return below, np.maximum(apart, 0.0), ndtr(-without)
