"""Summaries of samples that merge exactly, and the test whether a number moved between two runs.

Every test here is valid at every sample size: no normal approximation, none of the levels is
asymptotic. ``Shift`` holds two one-sided p-values; under "the number did not rise" the first is
at most s with probability at most s, under "it did not fall" the second.

- Two rates: Fisher's exact test; where a number of trials was chosen in view of the hits, or is
  too large for that, the product of two mixture likelihood ratios (``RateSequence``), smallest at
  the pooled rate, is an e-value, and its inverse a p-value (Ville 1939; Turner, Ly and Grünwald
  2024).
- Two log-ratios, of an event or of its complement, whichever is larger: the least significance
  at which boxes of the four rates part them.
- Two means: Bernstein's inequality for the difference, whose variances are bounded from their
  estimates (Maurer and Pontil 2009, Theorem 10).

The cells of the histogram lie on the grid of multiples of a power of two, so that two histograms
merge without a remainder: cells of the finer grid fall into cells of the coarser one. What comes
out does not depend on how the trials were split.

Serial dependence: an exact test of whether outputs in a row are exchangeable.

A mark divides the outputs in two, by their values alone: those above the median, or those whose
value comes up more than once. Are the outputs exchangeable, as independent ones of one law are,
then given how many are marked every arrangement of the marks is equally likely. Read n outputs
around a circle in steps of k, n a prime: the marks that another one follows k later number m − R,
with m marks in R runs, and R is hypergeometric,

    P(R = r) = C(m−1, r−1)·C(n−m, r) / C(n−1, m),

whatever the lag k. No law of the outputs is assumed, ties among them included, and nothing is
estimated: the false-alarm probability is exact, but for Bonferroni's inequality over lags.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from dpcp_audit.stats.rates import RateSequence, average_ranks, clopper_pearson, hypergeometric_tail
from dpcp_audit.stats.roots import turn
from dpcp_audit.words.results import Measure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import ArrayLike

    from dpcp_audit.words.results import Count, PlainData, Sample
    from dpcp_audit.words.validate import BoolArray, FloatArray, IntArray


_BISECTIONS = 36
_MOST_TRIALS = 10**15
"""Numbers of trials beyond it are not believed."""
_MOST_EXACT = 10**6
"""Up to so many trials Fisher's test is computed; beyond, the e-value is, which is quick."""
_LARGEST_LOG = 200.0
"""p-values below e^−200 are not distinguished: the limits of rates fail at such significances."""


class Shift(NamedTuple):
    """p-values of "the new number is higher" and of "it is lower".

    :Null hypothesis: Two: the new number is not higher than the old one; and it is not lower.
    :Statistic: Two rates: Fisher's exact test, or an e-value where a number of trials was chosen in
        view of the hits. Two log-ratios: boxes of the four rates. Two means: their difference.
    :Level: At most the significance, at every sample size. ``dpcp-audit compare`` shares its
        false-alarm probability among all findings by Holm's method.
    :Power: Not stated, because both samples are given. The confidence intervals of the two numbers
        show which change could be seen.
    :Reference: Turner, Ly and Grünwald (2024) and Ville (1939), for e-values; Maurer and Pontil
        (2009), Theorem 10, for means.
    """

    higher: float
    lower: float

    @property
    def p_value(self) -> float:
        """The two-sided p-value of "it moved"."""
        return min(1.0, 2 * min(self.higher, self.lower))


def compare_rates(old: Count, new: Count) -> Shift:
    """Compare two rates; undecided trials count in whichever way speaks against a shift."""
    return Shift(
        higher=_rate_rises(old.hits + old.undecided, old, new.hits, new),
        lower=_rate_rises(new.hits + new.undecided, new, old.hits, old),
    )


def compare_log_ratios(old: Sample, new: Sample) -> Shift:
    """Compare log(p/p′) of the same event, or of its complement, on the same two inputs."""
    return Shift(higher=_ratio_rises(old, new), lower=_ratio_rises(new, old))


def compare_means(old_mean: float, old: Sample, new_mean: float, new: Sample) -> Shift:
    """Compare two means of bounded variables."""
    gap = new_mean - old_mean
    return Shift(higher=_mean_rises(gap, old, new), lower=_mean_rises(-gap, old, new))


def comparable(old: Sample, new: Sample) -> bool:
    """Return True if two samples estimate the same thing, by name, from enough data."""
    if old.measure is not new.measure or [c.of for c in old.counts] != [c.of for c in new.counts]:
        return False
    if max(old.trials, new.trials, *(c.trials for c in (*old.counts, *new.counts))) > _MOST_TRIALS:
        return False
    if old.measure is Measure.MEAN:
        return min(old.trials, new.trials) >= 2
    size = 2 if old.measure is Measure.LOG_RATIO else len(old.counts)
    counts = [*old.counts, *new.counts]
    return 0 < size == len(old.counts) and all(
        0 <= c.hits <= c.hits + c.undecided <= c.trials and c.trials > 0 for c in counts
    )


def compare_samples(old_value: float, old: Sample, new_value: float, new: Sample) -> Shift:
    """Compare two samples of the same thing; of several rates, each has a share.

    Raises
    ------
    ValueError
        If the samples do not estimate the same thing.
    """
    if not comparable(old, new):
        raise ValueError(f"old and new must estimate the same, got {old!r} and {new!r}")
    if old.measure is Measure.MEAN:
        return compare_means(old_value, old, new_value, new)
    if old.measure is Measure.LOG_RATIO:
        return compare_log_ratios(old, new)
    shifts = [compare_rates(a, b) for a, b in zip(old.counts, new.counts, strict=True)]
    return Shift(
        higher=min(1.0, len(shifts) * min(shift.higher for shift in shifts)),
        lower=min(1.0, len(shifts) * min(shift.lower for shift in shifts)),
    )


def _rate_rises(low_hits: int, low: Count, high_hits: int, high: Count) -> float:
    """Return the p-value of "the rate behind ``high`` is not the larger one"."""
    if high_hits * low.trials <= low_hits * high.trials:
        return 1.0
    if low.any_time or high.any_time or max(low.trials, high.trials) > _MOST_EXACT:
        sequence = RateSequence(significance=0.5)  # the significance plays no part
        pooled = (low_hits + high_hits) / (low.trials + high.trials)
        log_evidence = sum(
            sequence.log_evidence(pooled, hits, count.trials)
            for hits, count in ((low_hits, low), (high_hits, high))
        )
        return math.exp(-min(max(log_evidence, 0.0), _LARGEST_LOG))
    everything = low.trials + high.trials
    return hypergeometric_tail(
        high_hits, marked=low_hits + high_hits, drawn=high.trials, total=everything
    )


def _ratio_rises(low: Sample, high: Sample) -> float:
    if not _limits_part(low, high, 1.0):
        return 1.0
    return _smallest(lambda log: _limits_part(low, high, math.exp(-log)))


def _limits_part(low: Sample, high: Sample, significance: float) -> bool:
    """Return True if boxes at the significance put one log-ratio above the other."""
    (_, p_high), (q_low, _) = (_rate_limits(count, significance) for count in low.counts)
    (p_low, _), (_, q_high) = (_rate_limits(count, significance) for count in high.counts)
    return _log_ratio(p_low, q_high) > _log_ratio(p_high, q_low)


def _log_ratio(p: float, p_prime: float) -> float:
    """Return log(p/p′) or, where it is larger, that of the complement on the other input."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.log([p, 1 - p_prime]) - np.log([p_prime, 1 - p])
    return float(np.nanmax([*ratios, -np.inf]))


def _rate_limits(count: Count, significance: float) -> tuple[float, float]:
    """Return limits of one of four rates, each side wrong with at most a quarter's probability."""
    if count.any_time:
        return RateSequence(significance=significance / 4).interval(count.hits, count.trials)
    significance = min(significance, 0.999)  # of the open interval that the function asks for
    return clopper_pearson(count.hits, count.trials, significance=significance / 2)


def _mean_rises(gap: float, old: Sample, new: Sample) -> float:
    if gap <= 0:
        return 1.0
    log = -math.log(_smallest(lambda log: gap > _radius(log, old, new)))
    return min(1.0, 3 * math.exp(-log))


def _radius(log: float, old: Sample, new: Sample) -> float:
    """Return the excess over its mean that the difference has with probability ≤ 3·e^−log."""
    variance, step = 0.0, 0.0
    for sample in (old, new):
        width = sample.range[1] - sample.range[0]
        spread = math.sqrt(sample.variance) + width * math.sqrt(2 * log / (sample.trials - 1))
        variance += min(spread, width / 2) ** 2 / sample.trials
        step = max(step, width / sample.trials)
    return math.sqrt(2 * variance * log) + step * log / 3


def _smallest(holds: Callable[[float], bool]) -> float:
    """Return e^−x for the largest x up to which a condition holds; 1 where it never does."""
    if holds(_LARGEST_LOG):
        return math.exp(-_LARGEST_LOG)
    return math.exp(-turn(holds, _LARGEST_LOG, 0.0, steps=_BISECTIONS).holds)


_CELLS = 64
_FINEST = 2.0**-40
"""The least width of a cell, in units of the largest value."""
_NARROW = 1 / 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Mean, variance, range and histogram of a statistic.

    Parameters
    ----------
    count : int
        Number of trials, at least 1.
    mean, squares : float
        The mean, and the sum of squared deviations from it.
    low, high : float
        The range.
    level, first : int
        The cells are [k·2^level, (k+1)·2^level) for k = first, first + 1, …
    cells : list of int
        Trials in each cell: at most 64, neither the first nor the last one empty.
    """

    count: int
    mean: float
    squares: float
    low: float
    high: float
    level: int
    first: int
    cells: list[int]

    @classmethod
    def of(cls, values: FloatArray) -> Self:
        """Summarise values, shape (trials,).

        Raises
        ------
        ValueError
            If there are none, or if some are not finite.
        """
        if not values.size or not np.isfinite(values).all():
            wrong = values[~np.isfinite(values)][:3]
            raise ValueError(f"statistic must be finite, got {wrong if values.size else 'nothing'}")
        mean, low, high = (float(end) for end in (values.mean(), values.min(), values.max()))
        level = _least_level(low, high)
        places = np.floor(np.ldexp(values, -level)).astype(np.int64)
        first = int(places.min())
        return cls(
            count=values.size,
            mean=mean,
            squares=float(np.square(values - mean).sum()),
            low=low,
            high=high,
            level=level,
            first=first,
            cells=np.bincount(places - first).tolist(),
        )

    @classmethod
    def merged(cls, parts: Iterable[Self]) -> Self:
        """Return the summary of all the trials behind several summaries, at least one."""
        whole, *others = parts
        for part in others:
            whole = whole.merge(part)
        return whole

    @classmethod
    def from_data(cls, data: PlainData) -> Self:
        """Return the summary that ``as_data`` described."""
        return cls(**data)

    def as_data(self) -> dict[str, Any]:
        """Return the summary as plain data."""
        return asdict(self)

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        return math.sqrt(self.squares / self.count)

    @property
    def variance(self) -> float:
        """The variance, with the divisor ``count`` − 1; NaN for a single trial."""
        return self.squares / (self.count - 1) if self.count > 1 else math.nan

    @property
    def edges(self) -> list[float]:
        """The cells' edges; a narrow cell around a statistic that never varies."""
        if self.low == self.high:
            reach = _NARROW * (abs(self.low) or 1.0)
            return [self.low - reach, self.high + reach]
        return [
            math.ldexp(place, self.level)
            for place in range(self.first, self.first + len(self.cells) + 1)
        ]

    def merge(self, other: Self) -> Self:
        """Return the summary of the trials behind both."""
        count = self.count + other.count
        step = other.mean - self.mean
        low, high = min(self.low, other.low), max(self.high, other.high)
        level = _least_level(low, high)
        ends = [part.first + len(part.cells) for part in (self, other)]
        first = min(_shifted(part.first, part.level, level) for part in (self, other))
        last = max(
            _shifted(end - 1, part.level, level)
            for end, part in zip(ends, (self, other), strict=True)
        )
        cells = [0] * (last - first + 1)
        for part in (self, other):
            for place, trials in enumerate(part.cells, start=part.first):
                cells[_shifted(place, part.level, level) - first] += trials
        return type(self)(
            count=count,
            mean=self.mean + step * other.count / count,
            squares=self.squares + other.squares + step**2 * self.count * other.count / count,
            low=low,
            high=high,
            level=level,
            first=first,
            cells=cells,
        )


def _least_level(low: float, high: float) -> int:
    """Return the least level at which the range falls into 64 cells, and cells are no finer.

    It can only grow as the range does, so that parts are never coarser than the whole.
    """
    finest = max(abs(low), abs(high), math.ldexp(1.0, -900)) * _FINEST
    level = math.frexp(finest)[1]
    while math.floor(math.ldexp(high, -level)) - math.floor(math.ldexp(low, -level)) >= _CELLS:
        level += 1
    return level


def _shifted(place: int, level: int, to: int) -> int:
    """Return the cell of a coarser level that holds a cell."""
    return place >> (to - level)


_MOST = 4099
"""Outputs that are looked at, at most: more of them would take long and tell little."""
_FEWEST = 7
_TESTS = 2 * 2
"""Two marks, and too many or too few of them in a row."""
_FIRST_LAG = 0.5
"""The share of the significance that the lag 1 has, where a draw that is reused shows first."""


class _SerialMark(StrEnum):
    """The properties of an output that the test looks at."""

    LARGE = "large outputs"
    REPEATED = "values that come up more than once"


@dataclass(frozen=True, slots=True, kw_only=True)
class SerialDependence:
    """A dependence between successive outputs.

    :Null hypothesis: Successive outputs are exchangeable, as independent outputs of one law are.
    :Statistic: For each mark and each lag k, the number of marked outputs with another marked one k
        later, around a circle of outputs.
    :Level: At most the significance: the number has a known hypergeometric law, whatever the law of
        the outputs, and Bonferroni's inequality covers lags and marks.
    :Power: Not stated. A draw that is used for two outputs in a row has p-values far below a
        millionth.
    :Reference: The law of runs on a circle, derived in the module.

    Parameters
    ----------
    lag : int
        The distance of the outputs that depend on each other.
    mark : _SerialMark
        The mark that the two have in common too often, or too seldom.
    observed : int
        Marked outputs that another marked one follows at this distance, ...
    expected : float
        ... and how many there are on average among exchangeable outputs.
    outputs : int
        The number of outputs that were compared.
    p_value : float
        Adjusted for all lags and marks that were looked at.
    """

    lag: int
    mark: _SerialMark
    observed: int
    expected: float
    outputs: int
    p_value: float

    def __str__(self) -> str:
        return (
            f"at lag {self.lag}, {self.mark} follow each other {self.observed} times in "
            f"{self.outputs}, where independent outputs do {self.expected:.4g} times on average "
            f"(p = {self.p_value:.2g})"
        )


def serial_dependence(outputs: ArrayLike) -> SerialDependence | None:
    """Return the strongest sign of serial dependence; None where the outputs are all alike.

    Outputs that are exchangeable have a ``p_value`` of at most s with probability at most s.

    Parameters
    ----------
    outputs : array_like, shape (size,) or (size, d)
        Outputs in the order in which they came; at most 4,099 of them are used.

    Examples
    --------
    >>> draws = np.random.default_rng(0).normal(size=200)
    >>> found = serial_dependence(np.repeat(draws, 2))
    >>> found.lag, found.p_value < 1e-6
    (1, True)
    >>> serial_dependence(np.ones(400)) is None
    True
    """
    given = np.asarray(outputs, dtype=np.float64)
    if given.ndim not in (1, 2) or np.isnan(given).any():
        raise ValueError(
            f"outputs must be numbers of shape (size,) or (size, d), got shape {given.shape}"
        )
    if len(given) < _FEWEST:
        return None
    shown = given[: _prime(min(len(given), _MOST))]
    found = [one for mark, marked in _marks(shown) for one in _signs(mark, marked)]
    return min(found, key=lambda one: one.p_value, default=None)


def _marks(outputs: FloatArray) -> Iterator[tuple[_SerialMark, BoolArray]]:
    """Yield the marks that some of the outputs have and some have not."""
    values, inverse, counts = np.unique(outputs, axis=0, return_inverse=True, return_counts=True)
    repeated = counts[inverse.reshape(-1)] > 1
    if len(values) > 1:
        for mark, marked in (
            (_SerialMark.LARGE, _large(outputs)),
            (_SerialMark.REPEATED, repeated),
        ):
            if marked.any() and not marked.all():
                yield mark, marked


def _large(outputs: FloatArray) -> BoolArray:
    """Mark the outputs above the value that divides them most evenly; of vectors, by rank sums."""
    ranks = average_ranks(outputs if outputs.ndim == 1 else average_ranks(outputs).sum(axis=1))
    levels = np.unique(ranks)
    above = ranks.size - np.searchsorted(np.sort(ranks), levels, side="right")
    return np.asarray(ranks > levels[np.argmin(np.abs(2 * above - ranks.size))])


def _signs(mark: _SerialMark, marked: BoolArray) -> Iterator[SerialDependence]:
    """Yield the extreme lags, too many and too few marks in a row, of the lag 1 and the others."""
    ones, followed = int(marked.sum()), _followed(marked)
    shares = {1: _FIRST_LAG, 2: (1 - _FIRST_LAG) / (followed.size - 1)}
    for first, lags in ((1, followed[:1]), (2, followed[1:])):
        for place, many in ((int(np.argmax(lags)), True), (int(np.argmin(lags)), False)):
            observed = int(lags[place])
            tail = _tail(observed, ones, marked.size, many=many)
            yield SerialDependence(
                lag=first + place,
                mark=mark,
                observed=observed,
                expected=ones * (ones - 1) / (marked.size - 1),
                outputs=marked.size,
                p_value=min(1.0, tail * _TESTS / shares[first]),
            )


def _tail(observed: int, ones: int, size: int, *, many: bool) -> float:
    """Return the probability of so many marks in a row or more; or of so few."""
    # of ones that are drawn among the size - 1 places after another, those that follow none
    runs, zeros = ones - observed, size - ones
    if many:  # few runs are many ones among the places that are no zero's
        return hypergeometric_tail(observed, marked=ones - 1, drawn=ones, total=size - 1)
    return hypergeometric_tail(runs, marked=zeros, drawn=ones, total=size - 1)


def _followed(marked: BoolArray) -> IntArray:
    """Return the number of marks with another one k later on the circle; k = 1, …, (n−1)/2."""
    spectrum = np.fft.rfft(marked.astype(np.float64))
    counts = np.fft.irfft(np.abs(spectrum) ** 2, n=marked.size)
    return np.rint(counts[1 : (marked.size - 1) // 2 + 1]).astype(np.int64)


@lru_cache(maxsize=64)
def _prime(most: int) -> int:
    """Return the largest prime up to ``most``."""
    return next(n for n in range(most, 1, -1) if all(n % k for k in range(2, math.isqrt(n) + 1)))
