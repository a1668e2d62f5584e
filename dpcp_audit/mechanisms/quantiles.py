"""The conformal rank of a threshold, and ExponQ, with its exact law.

ExponQ is the quantile by the exponential mechanism (Angelopoulos, Bates, Zrnic and Jordan 2022): an
edge with many more scores above it than the best one is released with a negligible probability, and
so is every edge below it, so that the counts of their bins need not be drawn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import logsumexp

from dpcp_audit.laws.laws import FiniteLaw
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.guarantees import PureDP
from dpcp_audit.words.options import ALPHA, BOUNDS, EPSILON, parameter
from dpcp_audit.words.values import Choice, Probability, Whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from dpcp_audit.laws.populations import Population
    from dpcp_audit.words.validate import BoolArray, FloatArray, IntArray

    Logits = Callable[[IntArray, IntArray, BoolArray], FloatArray]


def conformal_rank(n: int, *, alpha: float) -> int:
    """Return r = ⌈(1−α)(n+1)⌉, the rank of the threshold among n calibration scores.

    ``alpha`` is read as the decimal it was written as, so that 0.7 with n = 9 gives 3 and
    not the 4 that binary rounding of 0.3·10 would give. It may be 0, where r = n + 1.

    Examples
    --------
    >>> conformal_rank(9, alpha=0.7), conformal_rank(2400, alpha=0.1)
    (3, 2161)
    """
    _validate.integer(n=n, at_least=1)
    _validate.half_open_unit(alpha=alpha)
    covered, whole = _covered(float(alpha))
    return -(-covered * (int(n) + 1) // whole)


@lru_cache(maxsize=256)
def _covered(alpha: float) -> tuple[int, int]:
    """Return 1 − α as a ratio of whole numbers."""
    return (1 - Fraction(repr(alpha))).as_integer_ratio()


class ThresholdTrials(NamedTuple):
    """Thresholds of independent runs, and their coverage on fresh scores; shape (trials,)."""

    threshold: FloatArray
    coverage: FloatArray


_NEGLIGIBLE = 60.0
"""Edges below the best by this many nats hold less than 10⁶·e⁻⁶⁰ < 1e-19 of the mass."""
_BLOCKS, _FEWEST = 20, 8
"""Edges are taken a twentieth at a time, and at least so many."""
_CELLS = 40_000
"""Counts that are drawn at a time: they stay in the processor's cache."""


def released_edges(
    logits: Logits, mass: FloatArray, *, n: int, trials: int, rng: np.random.Generator
) -> IntArray:
    """Return the index of the edge that is released in each trial, shape (trials,).

    Parameters
    ----------
    logits : callable
        A function that returns the logits of edges. It takes the numbers of scores below and above
        them, shape (trials, edges), and True for each top edge. A logit must not rise with the
        number above, nor with the number below.
    mass : ndarray, shape (m − 1,)
        Probabilities of the bins that end at edges 1, …, m − 1.
    n : int
        Number of scores.
    """
    size = max(_FEWEST, mass.size // _BLOCKS)
    rows = max(1, _CELLS // size)
    parts = [
        _released(logits, mass, size, np.full(min(rows, trials - start), n), rng)
        for start in range(0, trials, rows)
    ]
    return np.concatenate(parts)


def _released(
    logits: Logits, mass: FloatArray, size: int, upto: IntArray, rng: np.random.Generator
) -> IntArray:
    """Return released edges of trials, of which ``upto`` scores are at or below the top edge."""
    within = np.append([0.0], np.cumsum(mass))
    n, top = int(upto[0]), mass.size
    best = np.full((upto.size, 1), -np.inf)
    found: list[FloatArray] = []
    for last in range(top, -1, -size):
        highest = logits(np.zeros_like(upto), n - upto, np.array(False))
        if (highest < best[:, 0] - _NEGLIGIBLE).all():
            break
        edges = np.arange(last, max(-1, last - size), -1)
        counts = rng.multinomial(upto, _shares(mass, within, edges))[:, :-1]
        below = upto[:, None] - np.cumsum(counts, axis=1)
        each = logits(below, n - (below + counts), edges == top)
        best = np.maximum(best, each.max(axis=1, keepdims=True))
        found.append(each)
        upto = below[:, -1]
    cumulative = np.exp(np.concatenate(found, axis=1) - best)
    np.cumsum(cumulative, axis=1, out=cumulative)
    draws = (1 - rng.random((best.size, 1))) * cumulative[:, -1:]
    place: IntArray = np.sum(cumulative < draws, axis=1)
    return top - place


def _shares(mass: FloatArray, within: FloatArray, edges: IntArray) -> FloatArray:
    """Return the probabilities of the bins that end at edges, of a score up to the first of them.

    The last one is that of all other bins; no bin ends at edge 0.
    """
    bins = np.where(edges > 0, mass[edges - 1], 0.0)
    total = within[edges[0]]
    shares = bins / total if total > 0 else np.zeros_like(bins)
    return np.append(shares / max(1.0, shares.sum()), 0.0)


_CLIP = 1 - 1e-12


class Normaliser(StrEnum):
    """The constant c that scales the utility to a sensitivity of 1."""

    CORRECTED = "corrected"
    """c = min(q̃, 1−q̃). Where q̃ >= 1 the top edge is released, whatever the scores are."""
    PUBLISHED = "published"
    """The authors' code: c = min(α, 1−α), q̃ clipped to 1−1e-12, and scores in the top bin
    counted as below the top edge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponQ:
    """A private quantile among m evenly spaced edges, by the exponential mechanism.

    Scores are rounded up to the next edge. Edge j has w_j = max(#below/q̃, #above/(1−q̃)),
    with the rounded scores strictly below and above it, and is released with a probability
    proportional to exp(−(ε/2)·c·w_j).

    Parameters
    ----------
    alpha : float
        Miscoverage level in (0, 1).
    epsilon : float
        Privacy parameter ε > 0, under substitution of one score.
    n_candidates : int
        m >= 2, the number of edges, both bounds among them.
    gamma : float
        Share γ of α, in (0, 1), that pays for the mechanism's error.
    bounds : tuple of float
        The public interval [a, b] that holds every score.
    normaliser : Normaliser
        The constant c.
    """

    alpha: float = field(metadata=ALPHA)
    epsilon: float = field(metadata=EPSILON)
    n_candidates: int = field(
        metadata=parameter(
            Whole(at_least=2, at_most=10**6), "m, the number of candidate thresholds", metavar="M"
        )
    )
    gamma: float = field(
        metadata=parameter(Probability(), "γ, the share of α that pays for the noise", metavar="G")
    )
    bounds: tuple[float, float] = field(default=(0.0, 1.0), metadata=BOUNDS)
    normaliser: Normaliser = field(
        default=Normaliser.CORRECTED,
        metadata=parameter(Choice(Normaliser), "the constant that scales the utility"),
    )

    def __post_init__(self) -> None:
        _validate.open_unit(alpha=self.alpha, gamma=self.gamma)
        _validate.positive(epsilon=self.epsilon)
        _validate.integer(n_candidates=self.n_candidates, at_least=2)
        _validate.bounds(self.bounds)
        _validate.choice(Normaliser, normaliser=self.normaliser)

    @property
    def guarantee(self) -> PureDP:
        """ε-DP under substitution, at every n; at one n ``log_ratio_bound`` is proved."""
        return PureDP(self.epsilon)

    @property
    def edges(self) -> FloatArray:
        """The candidates, shape (m,)."""
        return np.linspace(*self.bounds, self.n_candidates)

    def target(self, n: int) -> float:
        """Return q̃ = (n+1)(1−α)/(n(1−γα)) + (2/(εn))·log(m/(γα)), clipped where PUBLISHED."""
        _validate.integer(n=n, at_least=1)
        return float(self.targets(n, [self.n_candidates])[0])

    def targets(self, n: int, candidates: Sequence[int]) -> FloatArray:
        """Return q̃ of each of several values of m, shape (k,)."""
        share = self.gamma * self.alpha
        first = (n + 1) * (1 - self.alpha) / (n * (1 - share))
        logs = np.array([math.log(m / share) for m in candidates])
        levels = first + 2 / (self.epsilon * n) * logs
        return np.minimum(levels, _CLIP) if self.normaliser is Normaliser.PUBLISHED else levels

    def normalisation(self, n: int) -> float:
        """Return c; 0 where the release does not depend on the scores (q̃ >= 1)."""
        return float(self.normalisations(np.array([self.target(n)]))[0])

    def normalisations(self, targets: FloatArray) -> FloatArray:
        """Return c of each of several values of q̃, of their shape."""
        if self.normaliser is Normaliser.PUBLISHED:
            return np.full(targets.shape, min(self.alpha, 1 - self.alpha))
        return np.maximum(0.0, np.minimum(targets, 1 - targets))

    def log_ratio_bound(self, n: int) -> float:
        """Return (ε/2)·c/(q̃(1−q̃)), which no log-ratio of two neighbours on n scores exceeds.

        Move one score up (down is the same pair, reversed). At any edge the count below falls
        by one or stays, and the count above rises by one or stays, so w_j falls by at most
        1/q̃ and rises by at most 1/(1−q̃). The log-ratio of an edge is (ε/2)·c times the
        difference between its own change and an average of the changes of all edges, and
        both lie in [−1/q̃, 1/(1−q̃)], which has length 1/(q̃(1−q̃)). CORRECTED has
        ε/(2·max(q̃, 1−q̃)) <= ε, so it is ε-DP.
        """
        scale = self.normalisation(n)
        if scale == 0:
            return 0.0
        target = self.target(n)
        return self.epsilon / 2 * scale / (target * (1 - target))

    def log_weights(
        self, n: int, below: FloatArray | IntArray, above: FloatArray | IntArray, top: BoolArray
    ) -> FloatArray:
        """Return −(ε/2)·c·w of edges, from the counts strictly below and above them."""
        if self.normaliser is Normaliser.PUBLISHED:
            below = np.where(top, float(n), below)
        target = self.target(n)
        worse = np.maximum(below / target, above / (1 - target))
        return -(self.epsilon / 2) * self.normalisation(n) * worse

    def laws(self, *inputs: ArrayLike) -> tuple[FiniteLaw, ...]:
        """Return the exact law of the released edge on each input, over the m edges.

        Parameters
        ----------
        *inputs : array_like, shape (n,)
            Score arrays, for example two neighbours.
        """
        if not inputs:
            raise ValueError("inputs must hold at least one score array, got none")
        edges = self.edges
        zeros = np.zeros(self.n_candidates)
        return tuple(
            FiniteLaw(self._log_mass(self._bin_counts(scores, edges, f"inputs[{i}]")), zeros)
            for i, scores in enumerate(inputs)
        )

    def sample(
        self, scores: ArrayLike, size: int, *, rng: np.random.Generator | int | None = None
    ) -> FloatArray:
        """Release ``size`` independent thresholds from the same scores, shape (n,).

        Returns
        -------
        ndarray, shape (size,)
        """
        edges = self.edges
        counts = self._bin_counts(scores, edges, "scores")
        _validate.integer(size=size, at_least=1)
        generator = _validate.generator(rng)
        cumulative = np.cumsum(np.exp(self._log_mass(counts)))
        draws = (1 - generator.random(size)) * cumulative[-1]
        released: FloatArray = edges[np.searchsorted(cumulative, draws, side="left")]
        return released

    def trials(
        self,
        population: Population,
        *,
        n: int,
        trials: int,
        rng: np.random.Generator | int | None = None,
    ) -> ThresholdTrials:
        """Run the mechanism ``trials`` times, each on n fresh i.i.d. scores.

        Only counts of bins are drawn, so the cost of a trial does not grow with n.
        """
        generator = _validate.generator(rng)
        edges, mass = self.edges, drawn_mass(population, self.edges, n=n, trials=trials)
        if self.normalisation(n) == 0:
            threshold = np.full(trials, edges[-1])
            return ThresholdTrials(threshold, population.cdf(threshold))
        logits = partial(self.log_weights, n)
        threshold = edges[released_edges(logits, mass, n=n, trials=trials, rng=generator)]
        return ThresholdTrials(threshold, population.cdf(threshold))

    def _bin_counts(self, scores: ArrayLike, edges: FloatArray, name: str) -> IntArray:
        values = _validate.scores(scores, within=self.bounds, name=name)
        return np.bincount(bin_index(values, edges), minlength=edges.size - 1)

    def _log_mass(self, counts: IntArray) -> FloatArray:
        """Return the log-probability of every edge, shape (..., m), from counts (..., m−1)."""
        n = int(counts.reshape(-1, counts.shape[-1])[0].sum())
        shape = (*counts.shape[:-1], self.n_candidates)
        if self.normalisation(n) == 0:
            surely_top = np.full(shape, -np.inf)
            surely_top[..., -1] = 0.0
            return surely_top
        at_or_below = np.zeros(shape)
        np.cumsum(counts, axis=-1, out=at_or_below[..., 1:])
        below = np.zeros(shape)
        below[..., 1:] = at_or_below[..., :-1]
        top = np.arange(self.n_candidates) == self.n_candidates - 1
        logits = self.log_weights(n, below, n - at_or_below, top)
        log_mass: FloatArray = logits - logsumexp(logits, axis=-1, keepdims=True)
        return log_mass


def optimal_gamma(n: int, *, alpha: float, epsilon: float) -> float:
    """Return the γ that minimises q̃: the smaller root of α²γ² − (αε(n+1)(1−α)/2 + 2α)γ + 1.

    Where that root is not below 1, q̃ falls all the way and 1 − 1e-12 is returned, as the
    authors' code does.
    """
    _validate.integer(n=n, at_least=1)
    _validate.open_unit(alpha=alpha)
    _validate.positive(epsilon=epsilon)
    linear = alpha * epsilon * (n + 1) * (1 - alpha) / 2 + 2 * alpha
    root = 2 / (linear + math.sqrt(linear * linear - 4 * alpha**2))  # 0 where linear² overflows
    return min(root, _CLIP)


def bin_index(scores: FloatArray, edges: FloatArray) -> IntArray:
    """Return i for each score in [edge_i, edge_(i+1)); the last bin is closed."""
    return np.minimum(np.searchsorted(edges, scores, side="right") - 1, edges.size - 2)


def bin_probabilities(population: Population, edges: FloatArray) -> FloatArray:
    """Return the mass of a population in each bin of ``bin_index``, shape (len(edges) − 1,)."""
    outside = float(population.cdf_left(edges[:1])[0] + 1 - population.cdf(edges[-1:])[0])
    if outside > 1e-12:
        raise ValueError(
            f"population must lie in [{edges[0]:g}, {edges[-1]:g}], got {population.name} "
            f"with a mass of {outside:g} outside"
        )
    inner = population.cdf_left(edges[1:-1])
    return np.diff(inner, prepend=0.0, append=1.0)


def drawn_mass(population: Population, edges: FloatArray, *, n: int, trials: int) -> FloatArray:
    """Return ``bin_probabilities``, of which the counts of n scores are to be drawn."""
    _validate.integer(n=n, at_least=1)
    _validate.integer(trials=trials, at_least=1)
    if n > 2**53:
        raise ValueError(f"n must be at most 2^53, where counts are exact, got {n}")
    return bin_probabilities(population, edges)
