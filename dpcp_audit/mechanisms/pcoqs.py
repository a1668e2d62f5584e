"""P-COQS (P-COQS paper, Algorithms 1 and 2), and the exact law of the threshold it releases.

The search releases nothing but its comparison bits, and every release stands for one
string of bits. While scores remain ahead, the tree of intervals is followed; once no
future midpoint can meet another score, the remaining bits are i.i.d. and are counted
binomially: C(m, k) releases with k ones among m bits, all equally likely.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import gammaln, log_ndtr

from dpcp_audit.laws.laws import FiniteLaw
from dpcp_audit.mechanisms.iid_search import iid_trials
from dpcp_audit.mechanisms.quantiles import conformal_rank
from dpcp_audit.words import errors
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.guarantees import ZCDP
from dpcp_audit.words.options import ALPHA, BOUNDS, RESOLUTION, RHO

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from dpcp_audit.laws.populations import Population
    from dpcp_audit.words.validate import BoolArray, FloatArray


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
    """Return True for each node that will see the same count at every midpoint to come.

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


class _SearchTrials(NamedTuple):
    """Independent runs on fresh i.i.d. scores; each array has shape (trials,)."""

    threshold: FloatArray
    coverage: FloatArray
    rank_error: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class PCOQS:
    """Private conformal calibration by noisy binary search.

    Each of N = ⌈log2((b−a)/Δ)⌉ rounds compares a Gaussian-noised count of the scores at or
    below the midpoint with the rank r = ⌈(1−α)(n+1)⌉.

    Parameters
    ----------
    alpha : float
        Miscoverage level in [0, 1); Corollary 1 runs the algorithm at 0 when its correction
        exceeds α.
    rho : float
        Privacy parameter ρ > 0 of zCDP, under substitution of one score.
    bounds : tuple of float
        The public interval [a, b] that holds every score.
    resolution : float
        Δ > 0, in score units.
    """

    alpha: float = field(metadata=ALPHA)
    rho: float = field(metadata=RHO)
    bounds: tuple[float, float] = field(default=(0.0, 1.0), metadata=BOUNDS)
    resolution: float = field(default=1e-10, metadata=RESOLUTION)

    def __post_init__(self) -> None:
        _validate.half_open_unit(alpha=self.alpha)
        _validate.positive(rho=self.rho, resolution=self.resolution)
        low, high = _validate.bounds(self.bounds)
        if not self.resolution < high - low:
            raise errors.value_error(
                f"resolution must be below b - a = {high - low:g}, got {self.resolution!r}",
                f"a thousandth of it is {(high - low) / 1000:g}",
            )

    @property
    def guarantee(self) -> ZCDP:
        """ρ-zCDP (Proposition 1)."""
        return ZCDP(self.rho)

    @property
    def rounds(self) -> int:
        """N = ⌈log2((b−a)/Δ)⌉, the number of noisy comparisons."""
        low, high = self.bounds
        return math.ceil(math.log2((high - low) / self.resolution))

    @property
    def noise_scale(self) -> float:
        """The standard deviation sqrt(N/(2ρ)) of the count noise, in counts (Equation 2).

        It is a double with N/(2σ²) ≤ ρ, one above the nearest where that falls short of the root.
        """
        return _noise_scale(self.rounds, self.rho)

    def rank(self, n: int) -> int:
        """Return r = ⌈(1−α)(n+1)⌉."""
        return conformal_rank(n, alpha=self.alpha)

    def sample(
        self, scores: ArrayLike, size: int, *, rng: np.random.Generator | int | None = None
    ) -> FloatArray:
        """Release ``size`` independent thresholds from the same scores.

        Parameters
        ----------
        scores : array_like, shape (n,)
            Calibration scores within ``bounds``.
        size : int
            Number of releases.

        Returns
        -------
        ndarray, shape (size,)
        """
        values = np.sort(_validate.scores(scores, within=self.bounds))
        _validate.integer(size=size, at_least=1)
        generator = _validate.generator(rng)
        noise = generator.standard_normal((self.rounds, size))
        return self.search(values, self.rank(values.size), noise)

    def laws(self, *inputs: ArrayLike) -> tuple[FiniteLaw, ...]:
        """Return the exact laws of the released threshold on each input, on shared outcomes.

        Parameters
        ----------
        *inputs : array_like, shape (n,)
            Score arrays, for example two neighbours.
        """
        arrays = [
            np.sort(_validate.scores(scores, within=self.bounds, name=f"inputs[{i}]"))
            for i, scores in enumerate(inputs)
        ]
        if not arrays:
            raise ValueError("inputs must hold at least one score array, got none")
        return search_laws(
            arrays,
            ranks=[self.rank(values.size) for values in arrays],
            noise_scale=self.noise_scale,
            rounds=self.rounds,
            bounds=self.bounds,
            resolution=self.resolution,
        )

    def worst_pair(self, n: int) -> tuple[FloatArray, FloatArray]:
        """Return the neighbours that the released threshold distinguishes best at small ε.

        r scores at a and the rest at b, against the same with one score moved from a to b:
        every round then compares the same two counts, and the release is N i.i.d. bits of
        probability 1/2 against Φ(1/σ). At high Rényi orders other pairs lose more, see
        ``renyi_supremum``.
        """
        rank, (low, high) = self.rank(n), self.bounds
        if rank > n:
            raise ValueError(f"n must be at least 1/alpha - 1 at alpha = {self.alpha!r}, got {n}")
        scores = np.where(np.arange(n) < rank, low, high)
        return scores, np.where(np.arange(n) < rank - 1, low, high)

    def renyi_supremum(self, alpha: float) -> float:
        """Return sup D_α over all pairs of inputs that differ in one score, at order ``alpha``.

        Given the bits so far, the next is a Bernoulli whose two probabilities are those of
        counts that differ by at most one, so D_α is at most N times its largest value over
        the counts. An input with c scores at a and the rest at b attains that at every
        round. (The last round's midpoint may fall past b on one path of 2^N; it then
        reveals less.)
        """
        _validate.finite(alpha=alpha)
        if not alpha > 1:
            raise ValueError(f"alpha must be > 1, got {alpha!r}")
        return self.rounds * largest_bit_divergence(self.noise_scale, alpha)

    def trials(
        self,
        population: Population,
        *,
        n: int,
        trials: int,
        rng: np.random.Generator | int | None = None,
    ) -> _SearchTrials:
        """Run the algorithm ``trials`` times, each on n fresh i.i.d. scores.

        The cost of a trial does not grow with n, which may be up to 2^53.
        """
        _validate.integer(n=n, at_least=1)
        _validate.integer(trials=trials, at_least=1)
        if n > 2**53:
            raise ValueError(f"n must be at most 2^53, where counts are exact, got {n}")
        self._hold(population)
        generator, rank = _validate.generator(rng), self.rank(n)
        threshold, count = iid_trials(
            population,
            n=n,
            rank=rank,
            noise_scale=self.noise_scale,
            bounds=self.bounds,
            resolution=self.resolution,
            rounds=self.rounds,
            trials=trials,
            rng=generator,
        )
        return _SearchTrials(threshold, population.cdf(threshold), np.abs(count - rank))

    def _hold(self, population: Population) -> None:
        """Refuse a population with more than 1e-12 of its mass outside the bounds."""
        low, high = np.array(self.bounds)
        outside = float(population.cdf_left(low) + 1 - population.cdf(high))
        if outside > 1e-12:
            raise ValueError(
                f"population must lie in [{low:g}, {high:g}], got {population.name} "
                f"with a mass of {outside:g} outside"
            )

    def search(self, sorted_scores: FloatArray, rank: int, noise: FloatArray) -> FloatArray:
        """Return the thresholds, one a column of ``noise``: Algorithm 1, lines 2 to 13.

        Parameters
        ----------
        sorted_scores : ndarray, shape (n,)
            The scores of all releases.
        rank : int
            r, below which a noisy count has to stay for the search to go right.
        noise : ndarray, shape (N, size)
            Standard normal draws, a row a round.
        """
        left = np.full(noise.shape[1], self.bounds[0])
        right = np.full(noise.shape[1], self.bounds[1])
        scale = self.noise_scale
        for draw in noise:
            mid = (left + right) / 2
            count = np.searchsorted(sorted_scores, mid, side="right")
            below = count + scale * draw < rank
            left = np.where(below, mid + self.resolution, left)
            right = np.where(below, right, mid)
        threshold: FloatArray = (left + right) / 2
        return threshold


@functools.lru_cache
def _noise_scale(rounds: int, rho: float) -> float:
    scale = math.sqrt(rounds / (2 * rho))
    short = 2 * Fraction(rho) * Fraction(scale) ** 2 < rounds
    return math.nextafter(scale, math.inf) if short else scale
