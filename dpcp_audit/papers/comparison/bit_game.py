"""The privacy of a noisy binary search over *all* neighbours, from above.

A search of N rounds releases N comparison bits. Move one score up, and the count at every
midpoint stays or falls by one; nothing else of the input matters. Grant an adversary the choice
of every count, in the light of the bits so far: the hockey-stick divergence that it can reach,
as a function of γ = e^ε, obeys

    H_0(γ) = max(0, 1−γ),   H_k(γ) = sup_c Σ_b P_c(b)·H_{k−1}(γ·Q_c(b)/P_c(b)),

with P_c, Q_c the laws of the bit at the counts c and c−1. Real inputs allow fewer choices (a
count cannot fall as the search moves up), so H_N bounds δ(ε) of the released threshold for
every pair of neighbours; ``PCOQS.worst_pair`` bounds the worst from below.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import log_ndtr, ndtr

from dpcp_audit import _validate
from dpcp_audit.mechanisms.laws import FiniteLaw, FinitePair

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray

_REACH = 8.0
_SPACING = 0.1


@lru_cache(maxsize=1024)
def game_delta(*, noise_scale: float, rounds: int, epsilon: float) -> float:
    """Return a δ(ε) that no pair of neighbours exceeds.

    H_k is convex in γ and is interpolated along chords, which lie above it by about 2 %. Counts
    within 8σ of the rank are tried, at most σ/10 apart; those between could add about 0.3 %.
    Further off the rarer bit has a probability below Φ(−8), and 3·N·Φ(−8) is added for it.

    Parameters
    ----------
    noise_scale : float
        σ > 0, the standard deviation of the count noise.
    rounds : int
        N, the number of comparisons.
    epsilon : float
        ε >= 0.
    """
    _validate.positive(noise_scale=noise_scale)
    _validate.integer(rounds=rounds, at_least=1)
    _validate.non_negative(epsilon=epsilon)
    z = _rank_distances(noise_scale)
    below, at_least = log_ndtr(z), log_ndtr(-z)
    moved_below, moved_at_least = log_ndtr(z + 1 / noise_scale), log_ndtr(-z - 1 / noise_scale)
    laws, moved = (below, at_least), (moved_below, moved_at_least)
    beyond = 3 * rounds * float(ndtr(-_REACH))
    return beyond + max(
        _game(laws, moved, noise_scale, rounds, epsilon),
        _game(moved, laws, noise_scale, rounds, epsilon),
    )


def worst_known_pair(*, noise_scale: float, rounds: int) -> FinitePair:
    """Return the laws of ``PCOQS.worst_pair``'s bits: N fair coins against Φ(1/σ).

    Outcome k stands for the C(N, k) releases with k ones. This is what ``PCOQS.laws`` returns
    on that pair, for every n at which the pair exists.
    """
    ones = np.arange(rounds + 1)
    log_choose = np.concatenate([[0.0], np.cumsum(np.log((rounds + 1 - ones[1:]) / ones[1:]))])
    moved = ones * log_ndtr(1 / noise_scale) + (rounds - ones) * log_ndtr(-1 / noise_scale)
    return FinitePair(
        FiniteLaw(log_choose - rounds * math.log(2), log_choose),
        FiniteLaw(log_choose + moved, log_choose),
    )


def _rank_distances(noise_scale: float) -> FloatArray:
    """Return (r − c)/σ for the counts c tried."""
    reach = math.ceil(_REACH * noise_scale) + 1
    step = max(1, math.floor(_SPACING * noise_scale))
    counts = np.union1d(np.arange(-reach, reach + 1, step), [-1, 0])
    return counts / noise_scale


def _game(
    value: tuple[FloatArray, FloatArray],
    neighbour: tuple[FloatArray, FloatArray],
    noise_scale: float,
    rounds: int,
    epsilon: float,
) -> float:
    """Return H_N(e^ε) on a grid of log γ; losses become shifts along it."""
    width = epsilon + 1 + 8 * math.sqrt(rounds) / noise_scale
    cells = math.ceil(max(400.0, width * noise_scale * 12))
    step = width / cells
    grid = step * np.arange(-cells, cells + 1)
    hockey_stick = np.maximum(0.0, -np.expm1(grid))
    moves = [
        [_shift(float(p[c] - q[c]), step, cells) for p, q in zip(value, neighbour, strict=True)]
        for c in range(value[0].size)
    ]
    chances = np.exp(np.stack(value, axis=1))
    for _ in range(rounds):
        padded = _padded(hockey_stick, step, cells)
        best = hockey_stick
        for chance, shifts in zip(chances, moves, strict=True):
            best = np.maximum(
                best, sum(p * _at(padded, *shift) for p, shift in zip(chance, shifts, strict=True))
            )
        hockey_stick = best
    return float(np.interp(math.exp(epsilon), np.exp(grid), hockey_stick))


def _shift(loss: float, step: float, cells: int) -> tuple[int, float, int]:
    """Return where γ·e^(−loss) falls: a whole shift, the chord's weight of its upper end, size."""
    place = -loss / step
    whole = math.floor(place)
    weight = math.expm1((place - whole) * step) / math.expm1(step)
    return max(-cells, min(cells, whole)), weight, 2 * cells + 1


def _padded(values: FloatArray, step: float, cells: int) -> FloatArray:
    """Extend H from above: by its chord to H(0) = 1 on the left, as a constant on the right."""
    left = np.exp(step * np.arange(-cells, 0))  # γ in units of the smallest on the grid
    below = 1 - (1 - values[0]) * left
    return np.concatenate([below, values, np.full(cells + 1, values[-1])])


def _at(padded: FloatArray, whole: int, weight: float, size: int) -> FloatArray:
    start = (size - 1) // 2 + whole
    low, high = padded[start : start + size], padded[start + 1 : start + 1 + size]
    return (1 - weight) * low + weight * high
