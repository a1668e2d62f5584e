"""Quantiles of scores: split conformal calibration, ExponQ and HistLap, with their exact laws.

Without privacy: the rank, the threshold, and the law of its coverage. ExponQ is the quantile by the
exponential mechanism (Angelopoulos, Bates, Zrnic and Jordan 2022): an edge with many more scores
above it than the best one is released with a negligible probability, and so is every edge below it,
so that the counts of their bins need not be drawn. HistLap is a quantile of a Laplace-noised
histogram (P-COQS paper, Section 5).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import gammainccinv, logsumexp

from dpcp_audit.laws.laws import FiniteLaw, LaplacePair
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.guarantees import PureDP, Relation
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitConformal:
    """Split conformal prediction (Vovk et al. 2005; Papadopoulos et al. 2002).

    The threshold is the r-th smallest calibration score, or +∞ where r = n + 1.
    """

    alpha: float

    def __post_init__(self) -> None:
        _validate.open_unit(alpha=self.alpha)

    def threshold(self, scores: ArrayLike) -> float:
        """Return the conformal threshold of the scores, shape (n,)."""
        values = _validate.scores(scores)
        rank = conformal_rank(values.size, alpha=self.alpha)
        return math.inf if rank > values.size else float(np.partition(values, rank - 1)[rank - 1])

    def trials(
        self,
        population: Population,
        *,
        n: int,
        trials: int,
        rng: np.random.Generator | int | None = None,
    ) -> ThresholdTrials:
        """Calibrate ``trials`` times on n fresh i.i.d. scores, drawing one number a trial.

        In terms of U = F(S) the r-th smallest score is Beta(r, n+1−r).
        """
        _validate.integer(trials=trials, at_least=1)
        generator = _validate.generator(rng)
        rank = conformal_rank(n, alpha=self.alpha)
        if rank > n:
            return ThresholdTrials(np.full(trials, np.inf), np.ones(trials))
        threshold = population.quantile(generator.beta(rank, n + 1 - rank, size=trials))
        return ThresholdTrials(threshold, population.cdf(threshold))


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
        Of edges, from the numbers of scores below and above them, shape (trials, edges), and
        whether each is the top edge. It does not rise with the number above, or with the number
        below.
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


_CHUNK_CELLS = 20_000
"""Counts that are held at a time: they stay in the processor's cache."""


_NEVER = 1e-17
"""A probability that makes no difference to any number of trials."""


class _Columns(NamedTuple):
    """The random draws for a histogram; arrays of shape (columns,).

    Attributes
    ----------
    mass : ndarray
        The mass of the bins of each column.
    bins : ndarray of int
        The number of bins of each column.
    shift : int
        The difference between the numbers of the bins about the threshold and of their columns.
    """

    mass: FloatArray
    bins: IntArray
    shift: int


class EmptyHistogram(StrEnum):
    """The output of HistLap where no noisy count is positive."""

    UPPER_BOUND = "upper-bound"
    """b, which covers all."""
    MEDIAN = "median"
    """The median of the scores, without noise: the published code, and not private."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistLap:
    """A private threshold from a noisy histogram of the scores.

    Laplace noise is added to every bin count and negative counts are set to 0; the threshold
    is where their cumulated share, linear inside a bin, reaches 1−α. The paper gives no algorithm;
    this is what reproduces its tables.

    Parameters
    ----------
    alpha : float
        Miscoverage level in (0, 1); the target level is 1−α, without a "+1".
    epsilon : float
        Privacy parameter ε > 0.
    n_bins : int
        Number of equal bins.
    bounds : tuple of float
        The public interval [a, b] that holds every score.
    noise : Relation
        The neighbours that the noise is made for: one score's substitution moves two counts
        (scale 2/ε), adding or removing it moves one (scale 1/ε).
    empty : EmptyHistogram
        The value to return where no noisy count is positive.
    """

    alpha: float
    epsilon: float
    n_bins: int = 50
    bounds: tuple[float, float] = (0.0, 1.0)
    noise: Relation = Relation.SUBSTITUTION
    empty: EmptyHistogram = EmptyHistogram.UPPER_BOUND

    def __post_init__(self) -> None:
        _validate.open_unit(alpha=self.alpha)
        _validate.positive(epsilon=self.epsilon)
        _validate.integer(n_bins=self.n_bins, at_least=1)
        _validate.bounds(self.bounds)
        _validate.choice(Relation, noise=self.noise)
        if self.noise not in {Relation.SUBSTITUTION, Relation.ADD_REMOVE}:
            raise ValueError(f"noise must be substitution or add-remove, got {self.noise!r}")
        _validate.choice(EmptyHistogram, empty=self.empty)

    @property
    def guarantee(self) -> PureDP:
        """ε-DP, under the relation that ``noise`` names; not kept where ``empty`` is the median."""
        return PureDP(self.epsilon)

    @property
    def noise_scale(self) -> float:
        """The scale of the Laplace noise, in counts."""
        return (2.0 if self.noise is Relation.SUBSTITUTION else 1.0) / self.epsilon

    @property
    def edges(self) -> FloatArray:
        """The edges of the bins, shape (n_bins + 1,)."""
        return np.linspace(*self.bounds, self.n_bins + 1)

    def histogram_pair(self, relation: Relation) -> LaplacePair:
        """Return the exact laws of the noisy histogram on the worst neighbours of a relation.

        Adding, removing or zeroing out a score moves one count. Substitution, or another label
        (which gives its record another score), moves one count down and another up; with a
        single bin it moves none, and is refused.
        """
        _validate.choice(Relation, relation=relation)
        shift = 1 / self.noise_scale
        if relation in {Relation.ADD_REMOVE, Relation.ZERO_OUT}:
            return LaplacePair((shift,))
        if self.n_bins == 1:
            raise ValueError(
                f"relation must be add-remove for a single bin, whose count nothing else moves, "
                f"got {relation!r}"
            )
        return LaplacePair((shift, shift))

    def sample_histogram(
        self, scores: ArrayLike, size: int, *, rng: np.random.Generator | int | None = None
    ) -> FloatArray:
        """Release ``size`` noisy histograms of the same scores, before negatives are set to 0.

        Returns
        -------
        ndarray, shape (size, n_bins)
        """
        values = _validate.scores(scores, within=self.bounds)
        _validate.integer(size=size, at_least=1)
        counts = np.bincount(bin_index(values, self.edges), minlength=self.n_bins)
        return self._noisy(np.broadcast_to(counts, (size, self.n_bins)), _validate.generator(rng))

    def sample(
        self, scores: ArrayLike, size: int, *, rng: np.random.Generator | int | None = None
    ) -> FloatArray:
        """Release ``size`` independent thresholds from the same scores, shape (n,).

        Returns
        -------
        ndarray, shape (size,)
        """
        histograms = self.sample_histogram(scores, size, rng=rng)
        found = self.threshold(histograms)
        if self.empty is EmptyHistogram.MEDIAN:
            found = np.where((histograms <= 0).all(axis=1), np.median(np.asarray(scores)), found)
        return found

    def threshold(self, histograms: FloatArray) -> FloatArray:
        """Return the thresholds of noisy histograms, shape (size, n_bins) to (size,).

        It is b where no count is positive.
        """
        values = _validate.array(histograms, name="histograms", ndim=2)
        if values.shape[1] != self.n_bins:
            raise ValueError(
                f"histograms must have {self.n_bins} columns, got shape {values.shape}"
            )
        return self._thresholds(values, shift=0)

    def trials(
        self,
        population: Population,
        *,
        n: int,
        trials: int,
        rng: np.random.Generator | int | None = None,
    ) -> ThresholdTrials:
        """Run the mechanism ``trials`` times, each on n fresh i.i.d. scores.

        Only the bin counts are drawn, and of bins that are full and far from the threshold only
        their sums, so the cost of a trial does not grow with n; they do not tell the scores'
        median.
        """
        if self.empty is EmptyHistogram.MEDIAN:
            raise ValueError("empty must be upper-bound for trials, which draw bin counts alone")
        generator = _validate.generator(rng)
        columns = self._columns(drawn_mass(population, self.edges, n=n, trials=trials), n)
        rows = max(1, _CHUNK_CELLS // columns.mass.size)
        parts: list[FloatArray] = []
        for start in range(0, trials, rows):
            counts = generator.multinomial(n, columns.mass, size=min(rows, trials - start))
            noise = self.noise_scale * _laplace_sums(columns.bins, len(counts), generator)
            parts.append(self._thresholds(counts + noise, shift=columns.shift))
        threshold = np.concatenate(parts)
        return ThresholdTrials(threshold, population.cdf(threshold))

    def _thresholds(self, values: FloatArray, *, shift: int) -> FloatArray:
        """Return the thresholds of noisy counts, of which column i is bin i + ``shift`` if within.

        Before and after lie columns of counts that the threshold depends on through their sums.
        """
        cumulative = np.cumsum(np.maximum(values, 0.0), axis=1)
        total = cumulative[:, -1:]
        level = (1 - self.alpha) * total
        at = np.minimum(np.sum(cumulative < level, axis=1, keepdims=True), values.shape[1] - 1)
        upper = np.take_along_axis(cumulative, at, axis=1)
        lower = np.where(at > 0, np.take_along_axis(cumulative, np.maximum(at - 1, 0), axis=1), 0)
        empty = total == 0
        inside = (level - lower) / np.where(empty, 1.0, upper - lower)
        low, high = self.bounds
        result = low + (high - low) * (at + shift + inside) / self.n_bins
        return np.where(empty, high, np.minimum(result, high))[:, 0]

    def _columns(self, mass: FloatArray, n: int) -> _Columns:
        """Return what is drawn: bins whose counts, but for 1e-17, stay positive share a column.

        If they surely lie on one side of the threshold. By Hoeffding's bound a cumulated count is
        within n·√(log(2/p)/(2n)) of its mean but for p, and the noise, set to 0 or not, adds at
        most the sum of its absolute values, a gamma variable.
        """
        noise = self.noise_scale * float(gammainccinv(self.n_bins, _NEVER))
        reach = math.sqrt(math.log(2 / _NEVER) / (2 * n)) + noise / n
        first, last = np.searchsorted(np.cumsum(mass), 1 - self.alpha + np.array([-reach, reach]))
        with np.errstate(divide="ignore"):  # of a bin that holds all, where no noise is left
            zero = n * np.log1p(mass * math.expm1(-1 / self.noise_scale))
        sure = zero < math.log(_NEVER)
        place = np.arange(self.n_bins)
        below, above = sure & (place < first), sure & (place > last)
        kept = np.flatnonzero(~below & ~above)
        bins = np.concatenate([[below.sum()], np.ones(kept.size), [above.sum()]]).astype(np.int64)
        merged = np.concatenate([[mass[below].sum()], mass[kept], [mass[above].sum()]])
        shift = int(below.sum()) - 1
        return _Columns(merged, bins, shift)

    def _noisy(self, counts: IntArray, rng: np.random.Generator) -> FloatArray:
        return counts + rng.laplace(scale=self.noise_scale, size=counts.shape)


def _laplace_sums(numbers: IntArray, size: int, rng: np.random.Generator) -> FloatArray:
    """Draw sums of so many Laplace variables of scale 1, shape (size, columns).

    As differences of gamma variables, which for one is two exponential variables.
    """
    shape = (size, numbers.size)
    noise = rng.standard_exponential(shape)
    noise -= rng.standard_exponential(shape)
    for column in np.flatnonzero(numbers != 1):
        gamma = rng.standard_gamma(numbers[column], size=(2, size))
        noise[:, column] = gamma[0] - gamma[1]
    return noise
