"""The exact law of a noisy binary search, by enumeration over the gaps between scores.

The search releases nothing but its comparison bits, and every release stands for one
string of bits. While scores remain ahead, the tree of intervals is followed; once no
future midpoint can meet another score, the remaining bits are i.i.d. and are counted
binomially: C(m, k) releases with k ones among m bits, all equally likely.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln, log_ndtr

from dpcp_audit.laws.laws import FiniteLaw

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.words.arrays import BoolArray, FloatArray


_PRUNE = math.log(1e-19)


@dataclass(frozen=True, slots=True)
class _Nodes:
    """Intervals that the search may be in, with their log-probabilities (inputs, nodes)."""

    left: FloatArray
    right: FloatArray
    log_mass: FloatArray

    def take(self, keep: BoolArray) -> _Nodes:
        return _Nodes(self.left[keep], self.right[keep], self.log_mass[:, keep])


def search_laws(
    arrays: Sequence[FloatArray],
    *,
    ranks: Sequence[int],
    noise_scale: float,
    rounds: int,
    bounds: tuple[float, float],
    resolution: float,
) -> tuple[FiniteLaw, ...]:
    """Return the law of the search's bits on each sorted score array, on shared outcomes.

    Branches whose mass is below 1e-19 on every input are lumped into one outcome each; their
    total is the laws' slack.
    """
    union = arrays[0] if len(arrays) == 1 else np.sort(np.concatenate(arrays), kind="stable")
    low, high = bounds
    nodes = _Nodes(np.array([low]), np.array([high]), np.zeros((len(arrays), 1)))
    outcomes: list[tuple[FloatArray, FloatArray]] = []
    slack = np.zeros(len(arrays))
    bits = partial(_log_bits, arrays, ranks, noise_scale)
    for done in range(rounds):
        remaining = rounds - done
        tiny = nodes.log_mass.max(axis=0) < _PRUNE
        pruned = nodes.take(tiny)
        outcomes.append((pruned.log_mass, np.zeros(pruned.left.size)))
        slack += np.exp(pruned.log_mass).sum(axis=1)
        nodes = nodes.take(~tiny)
        settled = _no_score_ahead(nodes, union, remaining * resolution)
        leaf = nodes.take(settled)
        outcomes.append(_count_bits(leaf, *bits((leaf.left + leaf.right) / 2), remaining))
        nodes = nodes.take(~settled)
        mid = (nodes.left + nodes.right) / 2
        below, at_least = bits(mid)
        nodes = _Nodes(
            np.concatenate([mid + resolution, nodes.left]),
            np.concatenate([nodes.right, mid]),
            np.concatenate([nodes.log_mass + below, nodes.log_mass + at_least], axis=1),
        )
    outcomes.append((nodes.log_mass, np.zeros(nodes.left.size)))
    log_mass = np.concatenate([mass for mass, _ in outcomes], axis=1)
    log_multiplicity = np.concatenate([multiplicity for _, multiplicity in outcomes])
    return tuple(
        FiniteLaw(mass, log_multiplicity, float(lost))
        for mass, lost in zip(log_mass, slack, strict=True)
    )


def largest_bit_divergence(noise_scale: float, alpha: float) -> float:
    """Return the largest D_α of one comparison bit over all counts c against c+1.

    That of c+1 against c is the mirror image, as the noise is symmetric. The maximiser lies within
    about α counts of the rank (the tilted noise moves by α/σ standard deviations); all counts
    within 2α + 12σ + 2 are tried.
    """
    reach = math.ceil(2 * alpha + 12 * noise_scale + 2)
    z = np.arange(-reach, reach + 1)
    below, at_least = log_ndtr(z / noise_scale), log_ndtr(-z / noise_scale)
    moments = np.logaddexp(
        alpha * below[1:] + (1 - alpha) * below[:-1],
        alpha * at_least[1:] + (1 - alpha) * at_least[:-1],
    )
    return float(moments.max()) / (alpha - 1)


def _log_bits(
    arrays: Sequence[FloatArray], ranks: Sequence[int], noise_scale: float, point: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return log P(noisy count < rank) and log P(>= rank) at each point, (inputs, points)."""
    z = np.stack(
        [
            (rank - np.searchsorted(scores, point, side="right")) / noise_scale
            for scores, rank in zip(arrays, ranks, strict=True)
        ]
    )
    return log_ndtr(z), log_ndtr(-z)


def _no_score_ahead(nodes: _Nodes, union: FloatArray, drift: float) -> BoolArray:
    """Tell which nodes will see one and the same count at every midpoint to come.

    Midpoints never fall below min(left, right), nor rise above max(left, right) by more
    than one resolution a round.
    """
    low = np.minimum(nodes.left, nodes.right)
    high = np.maximum(nodes.left, nodes.right) + drift
    seen, to_come = (np.searchsorted(union, end, side="right") for end in (low, high))
    return np.equal(seen, to_come)


def _count_bits(
    leaf: _Nodes, below: FloatArray, at_least: FloatArray, remaining: int
) -> tuple[FloatArray, FloatArray]:
    """Return the outcomes of ``remaining`` i.i.d. bits, by the number of ones."""
    ones = np.arange(remaining + 1)
    log_choose = gammaln(remaining + 1) - gammaln(ones + 1) - gammaln(remaining - ones + 1)
    log_mass = (
        leaf.log_mass[..., None]
        + ones * below[..., None]
        + (remaining - ones) * at_least[..., None]
        + log_choose
    )
    shape = (log_mass.shape[0], -1)
    return log_mass.reshape(shape), np.tile(log_choose, leaf.left.size)
