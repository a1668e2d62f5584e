"""The privacy of a noisy binary search over *all* neighbours, from above.

A search of N rounds releases N comparison bits. Move one score up, and the count at every
midpoint stays or falls by one; nothing else of the input matters. Grant an adversary the choice
of every count, in the light of the bits so far: the hockey-stick divergence that it can reach,
as a function of γ = e^ε, obeys

    H_0(γ) = max(0, 1−γ),   H_k(γ) = sup_c Σ_b P_c(b)·H_{k−1}(γ·Q_c(b)/P_c(b)),

with P_c, Q_c the laws of the bit at the counts c and c−1. Real inputs allow fewer choices (a
count cannot fall as the search moves up), so H_N bounds δ(ε) of the released threshold for
every pair of neighbours; ``PCOQS.worst_pair`` bounds the worst from below.

The sum under the supremum is a convex function of the point (P_c(1), Q_c(1)), since each of its
terms is the perspective of a convex function. Where counts are too many to try them all, the curve
of these points is therefore replaced by a polygon outside of it, the intersections of its tangents:
the largest value at the polygon's corners is at least that of every count.

The ρ that spends a privacy budget (ε, δ): the most favourable one at which the released threshold
is proved (ε, δ)-DP under substitution of one record, over all neighbours. Beside it stands the
noise of a single Gaussian release, classic or analytic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import log_ndtr, ndtr

from dpcp_audit.laws.laws import FiniteLaw, FinitePair, GaussianPair
from dpcp_audit.stats.roots import find_root, turn_by_factor
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.guarantees import ZCDP, ApproxDP

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from dpcp_audit.words.validate import BoolArray, FloatArray


_EXACT = 1e-12


class Calibration(StrEnum):
    """The calibration: how the noise's standard deviation follows from (ε, δ)."""

    CLASSIC = "classic"
    """σ = Δ₂·sqrt(2·log(1.25/δ))/ε (Dwork and Roth 2014, Theorem 3.22), proved for ε in (0, 1)."""
    ANALYTIC = "analytic"
    """The smallest σ that is (ε, δ)-DP (Balle and Wang 2018, Theorem 8)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianMechanism:
    """Adds N(0, σ²) to every coordinate of a statistic.

    Parameters
    ----------
    epsilon, delta : float
        The promise, ε > 0 and δ in (0, 1). The classic formula is computed for every ε,
        also where its theorem does not speak.
    sensitivity : float
        Δ₂, the largest L2 distance between the statistic on neighbours, in its own units.
    calibration : Calibration
        The theorem that gives σ.
    """

    epsilon: float
    delta: float
    sensitivity: float = 1.0
    calibration: Calibration = Calibration.ANALYTIC

    def __post_init__(self) -> None:
        _validate.positive(epsilon=self.epsilon, sensitivity=self.sensitivity)
        _validate.open_unit(delta=self.delta)
        _validate.choice(Calibration, calibration=self.calibration)

    @property
    def guarantee(self) -> ApproxDP:
        """(ε, δ)-DP, as the calibration promises."""
        return ApproxDP(self.epsilon, self.delta)

    @property
    def noise_scale(self) -> float:
        """σ, in the units of the statistic."""
        if self.calibration is Calibration.CLASSIC:
            multiplier = math.sqrt(2 * math.log(1.25 / self.delta)) / self.epsilon
        else:
            multiplier = _analytic_multiplier(self.epsilon, self.delta)
        return self.sensitivity * multiplier

    def pair(self) -> GaussianPair:
        """Return the laws on two neighbours at the full distance Δ₂, the worst case."""
        return GaussianPair(self.sensitivity / self.noise_scale)

    def sample(
        self, value: ArrayLike, size: int, *, rng: np.random.Generator | int | None = None
    ) -> FloatArray:
        """Release a statistic ``size`` times.

        Parameters
        ----------
        value : array_like
            The statistic, of any shape.
        size : int
            Number of independent releases.

        Returns
        -------
        ndarray, shape (size, *value.shape)
        """
        centre = np.asarray(value, dtype=np.float64)
        if centre.size == 0 or not np.isfinite(centre).all():
            raise ValueError(f"value must hold finite numbers, got {value!r}")
        _validate.integer(size=size, at_least=1)
        generator = _validate.generator(rng)
        return centre + self.noise_scale * generator.standard_normal((size, *centre.shape))


def _analytic_multiplier(epsilon: float, delta: float) -> float:
    """Return the smallest σ/Δ₂ whose exact δ(ε) is at most ``delta``, to 1e-12 relative."""

    def excess(log_multiplier: float) -> float:
        exact = GaussianPair(math.exp(-log_multiplier)).delta_at(epsilon)
        return math.log(max(exact, 5e-324)) - math.log(delta)

    low, high = -1.0, 1.0
    while excess(low) <= 0:
        low *= 2
    while excess(high) > 0:
        high *= 2
    root = find_root(excess, low, high, xtol=_EXACT)
    multiplier = math.exp(root)
    while GaussianPair(1 / multiplier).delta_at(epsilon) > delta:  # the root's safe side
        multiplier *= 1 + _EXACT
    return multiplier


_REACH = 8.0
_SPACING = 0.05
"""Distance of tangents, in noise scales: the polygon exceeds the curve by 0.03 %."""


@lru_cache(maxsize=1024)
def game_delta(*, noise_scale: float, rounds: int, epsilon: float) -> float:
    """Return a δ(ε) that no pair of neighbours exceeds.

    H_k is convex in γ and is interpolated along chords, which lie above it. Counts within 8σ of
    the rank are tried, every one of them where σ < 40, else by a polygon outside of their curve.
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
    laws, moved = _bits(noise_scale)
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


_Bits = tuple["FloatArray", "FloatArray"]


def _bits(noise_scale: float) -> tuple[_Bits, _Bits]:
    """Return log-probabilities of both bits at the counts tried, and at those one lower."""
    z = _rank_distances(noise_scale)
    shift = 1 / noise_scale
    if z[1] - z[0] <= shift * 1.5:  # every count
        return (log_ndtr(z), log_ndtr(-z)), (log_ndtr(z + shift), log_ndtr(-z - shift))
    return _corners(z[:-1], z[1:], shift)


def _corners(first: FloatArray, last: FloatArray, shift: float) -> tuple[_Bits, _Bits]:
    """Return log (p, 1−p) and log (q, 1−q) where the tangents at two points of the curve meet.

    The curve is (Φ(z), Φ(z+μ)), and (Φ(−z−μ), Φ(−z)) are its complements in the other order: of
    the two descriptions the one in the lower tail keeps its digits.
    """
    lower = first + last + shift < 0
    points = _meeting(first, last, shift)
    others = _meeting(-last - shift, -first - shift, shift)[::-1]
    p, q = (_both_logs(x, y, lower) for x, y in zip(points, others, strict=True))
    return p, q


def _both_logs(chance: FloatArray, rest: FloatArray, lower: BoolArray) -> _Bits:
    """Return log p and log (1−p) from p where it is in the lower tail, elsewhere from 1−p."""
    tail = np.where(lower, chance, rest)
    small, large = np.log(tail), np.log1p(-tail)
    return np.where(lower, small, large), np.where(lower, large, small)


def _meeting(first: FloatArray, last: FloatArray, shift: float) -> _Bits:
    """Return the points (p, q) at which the tangents at ``first`` and ``last`` meet."""
    p, q = ndtr(first), ndtr(first + shift)
    width, height = ndtr(last) - p, ndtr(last + shift) - q
    steep, flat = (np.exp(-shift * (z + shift / 2)) for z in (first, last))
    step = (height - flat * width) / (steep - flat)
    return p + step, q + steep * step


def _rank_distances(noise_scale: float) -> FloatArray:
    """Return (r − c)/σ for the counts c tried."""
    reach = math.ceil(_REACH * noise_scale) + 1
    step = max(1, math.floor(_SPACING * noise_scale))
    return np.arange(-reach, reach + step, step) / noise_scale


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
    """Return the place of γ·e^(−loss): a whole shift, the chord's weight of its upper end, size."""
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


_TOLERANCE = 5e-3


@lru_cache(maxsize=256)
def claimed_rho(budget: ApproxDP) -> float:
    """Return the largest ρ whose zCDP alone implies the budget, by the optimal conversion.

    The search starts at the standard one, ρ + 2·sqrt(ρ·log(1/δ)) = ε (Bun and Steinke 2016,
    Proposition 1.3).
    """
    _spendable(budget)

    def fits(rho: float) -> bool:
        return ZCDP(rho).delta_at(budget.epsilon) <= budget.delta

    bits = math.log(1 / budget.delta)
    standard = (math.sqrt(bits + budget.epsilon) - math.sqrt(bits)) ** 2
    return largest_fitting(fits, start=standard)


@lru_cache(maxsize=1024)
def proven_rho(budget: ApproxDP, *, rounds: int) -> float:
    """Return P-COQS's ρ = N/(2σ²) at the smallest σ whose δ(ε) over all neighbours fits.

    ``game_delta`` bounds δ(ε) over all neighbours.
    """
    _validate.integer(rounds=rounds, at_least=1)
    _spendable(budget)

    def excess(log_rho: float) -> float:
        scale = math.sqrt(rounds / (2 * math.exp(log_rho)))
        spent = game_delta(noise_scale=scale, rounds=rounds, epsilon=budget.epsilon)
        return math.log(spent / budget.delta)

    noisy_counts = GaussianMechanism(epsilon=budget.epsilon, delta=budget.delta)
    low = -math.log(2 * noisy_counts.noise_scale**2)
    high = low + 0.5
    while excess(high) <= 0:
        low, high = high, high + 0.5
    root = find_root(excess, low, high, xtol=_TOLERANCE / 2)
    while excess(root) > 0:  # the root's safe side
        root -= _TOLERANCE / 2
    return math.exp(root)


def _spendable(budget: ApproxDP) -> None:
    """Refuse a budget that Gaussian noise cannot keep."""
    _validate.positive(epsilon=budget.epsilon)
    _validate.open_unit(delta=budget.delta)


def largest_fitting(
    fits: Callable[[float], bool], *, start: float, at_most: float = math.inf
) -> float:
    """Return the largest value that fits, to a relative 0.5 % below; ``start`` must fit."""
    if not fits(start):
        raise ValueError(f"start must fit the budget, got {start!r}")
    low, high = start, min(2 * start, at_most)
    while fits(high):
        if high == at_most:
            return high
        low, high = high, min(2 * high, at_most)
    return turn_by_factor(fits, high, low, ratio=1 + _TOLERANCE).holds
