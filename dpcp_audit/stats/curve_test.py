"""The test of p ≤ f(p′) for a concave power curve f, calibrated exactly.

The counts x of p and y of p′ are ordered by a box: by the least level s at which the one-sided
Clopper–Pearson limits refute, L_s(x) > g(U_s(y)), where g interpolates f. The p-value is not s but
the largest probability, over the null hypothesis, that the box refutes at the level s or less.
Five facts certify it.

- {L_s(x) > g(U_s(y))} is a set {x ≥ c(y)} with c increasing, and these sets grow with s. Whatever
  g is, its probability rises with p and falls with p′: over the null it is largest on the curve.
- c(y) is a quantile: the least x with P(Binomial(n, g(U_s(y))) ≥ x) < s.
- The nuisance p′ may be confined to its Clopper–Pearson interval if the error of that interval is
  added to the p-value (Berger and Boos 1994).
- Between two points a concave curve lies below the chords of its neighbours, extended: two lines
  that meet in a corner. On a line that is not negative at 0 and not below 1 at 1, logit p is convex
  in logit p′, so that the line lies below its chord in natural parameters, and the probability is
  at most the larger end's times e^g, with g the dip of the log-partition below that chord.
- Sums over y leave out at most 2·e^−36 of the mass (Bernstein's inequality), which is added.

To first order the calibrated box is the score test: near a point of slope R both reject where
x/n − R·y/n′ exceeds a constant, and the constants are calibrated to the same level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import bdtrc, betainccinv, betaincinv, expit, gammaln, logit, xlog1py, xlogy

from dpcp_audit.stats.rates import binomial_exceeded, clopper_pearson
from dpcp_audit.stats.roots import turn
from dpcp_audit.words import errors
from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.words.validate import FloatArray

    Measure = Callable[[FloatArray, FloatArray], FloatArray]
    """Probabilities at rates p and p′ of shape (m,)."""

_TAIL = 36.0
_SLACK = 2 * math.exp(-_TAIL)
_CLOSE = 8
"""Counts between critical ones, on the average, up to which masses are added up."""


class Region(NamedTuple):
    """A set {x ≥ critical(y)} over consecutive counts y; both arrays have shape (m,)."""

    counts: FloatArray
    critical: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoCounts:
    """Two independent binomial counts, x of ``n`` trials and y of ``n_prime``."""

    n: int
    n_prime: int

    def require(self, x: int, y: int) -> None:
        """Raise a ValueError unless x and y can come up."""
        _validate.integer(x=x, y=y, at_least=0)
        if x > self.n or y > self.n_prime:
            raise errors.value_error(
                f"x and y must be at most n and n_prime, got {x} of {self.n}, "
                f"{y} of {self.n_prime}",
                "x counts among n outputs, y among n_prime",
            )

    def between(self, low: float, high: float) -> FloatArray:
        """Return the consecutive y that matter at some rate in [low, high]."""
        first, last = self.window(np.array([low, high]))
        return np.arange(float(first.min()), float(last.max()) + 1)

    def window(self, rates: FloatArray) -> FloatArray:
        """Return the first and last y that matter at each rate (Bernstein's inequality)."""
        mean = self.n_prime * rates
        spread = _TAIL / 3 + np.sqrt(_TAIL**2 / 9 + 2 * mean * (1 - rates) * _TAIL)
        first = np.maximum(0.0, np.floor(mean - spread))
        return np.stack([first, np.minimum(float(self.n_prime), np.ceil(mean + spread))])

    def probability(self, region: Region, p: FloatArray, p_prime: FloatArray) -> FloatArray:
        """Return upper bounds, tight to 1e-15, of the region's probability at pairs of rates.

        Rounding of log n! adds a relative error of about 1e-16·n·log(n), on either side.
        """
        return self.measure(region)(p, p_prime)

    def measure(self, region: Region) -> Measure:
        """Return ``probability`` of one region, whose counts are looked at once."""
        law, tails = _CountMass.at(region.counts, self.n_prime), _tails(region.critical, self.n)

        def probability(p: FloatArray, p_prime: FloatArray) -> FloatArray:
            first, last = self.window(p_prime) - region.counts[0]
            total = np.empty(p.shape)
            for i, (rate, rate_prime) in enumerate(zip(p, p_prime, strict=True)):
                window = slice(max(0, int(first[i])), int(last[i]) + 1)
                total[i] = law.mass(window, float(rate_prime)) @ tails(window, float(rate))
            return total + _SLACK

        return probability

    def dip(self, p: FloatArray, p_prime: FloatArray) -> FloatArray:
        """Bound how far the joint log-partition dips below its chords between neighbours."""
        return self.n * _chord_dip(p) + self.n_prime * _chord_dip(p_prime)


def _chord_dip(rates: FloatArray) -> FloatArray:
    """Return the dips of A(η) = log(1 + e^η) below its chords between neighbouring rates.

    It is furthest below a chord where its derivative, the rate, is the chord's slope.
    """
    eta, partition = logit(rates), -np.log1p(-rates)
    rise = np.diff(eta)
    slope = np.divide(np.diff(partition), rise, out=rates[1:].copy(), where=rise > 1e-9)
    slope = np.clip(slope, rates[:-1], rates[1:])
    dip = partition[:-1] + slope * (logit(slope) - eta[:-1]) + np.log1p(-slope)
    return np.asarray(np.maximum(dip, 0.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class _CountMass:
    """The probabilities of some counts of ``trials``, at any rate.

    Parameters
    ----------
    counts, log_choices : ndarray, shape (m,)
        The counts, and the logarithms of the numbers of ways in which they come up.
    """

    trials: int
    counts: FloatArray
    log_choices: FloatArray

    @classmethod
    def at(cls, counts: FloatArray, trials: int) -> _CountMass:
        """Return the law at some counts in 0..trials."""
        ways = gammaln(trials + 1) - gammaln(counts + 1) - gammaln(trials - counts + 1)
        return cls(trials=trials, counts=counts, log_choices=ways)

    def mass(self, window: slice, rate: float) -> FloatArray:
        """Return the probabilities of the counts within a window."""
        counts = self.counts[window]
        powers = xlogy(counts, rate) + xlog1py(self.trials - counts, -rate)
        return np.asarray(np.exp(self.log_choices[window] + powers))


def _tails(critical: FloatArray, trials: int) -> Callable[[slice, float], FloatArray]:
    """Return a function of the tails P(Binomial >= critical) within a window of an order.

    Of critical counts that lie close together the masses between them are added up from above:
    the same to rounding, and many times as fast as as many incomplete beta functions.
    """
    least, most = float(critical.min()), float(critical.max())
    if most - least > _CLOSE * len(critical):
        return lambda window, rate: _upper_tail(critical[window], trials, rate)
    law = _CountMass.at(np.arange(least, min(most, trials) + 1), trials)
    places = (critical - least).astype(np.int64)

    def within(window: slice, rate: float) -> FloatArray:
        inside = places[window]
        first, last = int(inside.min()), int(inside.max())
        mass = law.mass(slice(first, last), rate)
        beyond = _upper_tail(np.array([least + last]), trials, rate)
        tails = np.cumsum(np.concatenate([beyond, mass[::-1]]))[::-1]
        return np.asarray(np.minimum(tails[inside - first], 1.0))

    return within


def _upper_tail(least: FloatArray, trials: int, rate: float) -> FloatArray:
    """Return P(Binomial(trials, rate) >= least), for least in 0..trials+1."""
    tail = np.zeros(least.shape)
    inside = least <= trials
    tail[inside] = bdtrc(least[inside] - 1, trials, rate)
    return tail


_STEP = 1.0
"""Between rates at first: in standard deviations of y, and in log-odds."""
_FEW = 12
_ZOOMS = 6
_REFINEMENTS = 8
_TOLERANCE = 0.005
_SLIVER = 1e-4
_LARGEST_LIFT = 500.0
_HALVINGS = 50
_WIDEST, _LEAST = 0.5, 1e-30
"""Levels of the box."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveTest:
    """The null hypothesis p ≤ f(p′) about two binomial counts.

    :Null hypothesis: p ≤ f(p′), for a concave power curve f and the probabilities behind two
        independent binomial counts.
    :Statistic: The least level at which the one-sided Clopper–Pearson limits of the two counts
        refute.
    :Level: At most the significance: the p-value is the largest probability, over the null
        hypothesis, that a box of this level or less refutes.
    :Power: To first order that of the score test at the tangent of f.
    :Reference: Clopper and Pearson (1934); Berger and Boos (1994).

    Parameters
    ----------
    n, n_prime : int
        Trials behind the count x of probability p, and behind y of probability p′.
    curve : callable
        f: rates of shape (m,) in [0, 1] to the same shape; concave, with f(q) ≥ q.

    Examples
    --------
    >>> from dpcp_audit.words.guarantees import GaussianDP
    >>> test = CurveTest(n=1000, n_prime=1000, curve=GaussianDP(1.0).power)
    >>> round(test.p_value(565, 160), 3)
    0.006
    """

    n: int
    n_prime: int
    curve: Callable[[FloatArray], FloatArray]

    def __post_init__(self) -> None:
        _validate.integer(n=self.n, n_prime=self.n_prime, at_least=1)

    def p_value(self, x: int, y: int, *, nuisance_error: float = 1e-6) -> float:
        """Return the p-value of the counts, valid whatever p′ is.

        Parameters
        ----------
        nuisance_error : float
            Probability with which the interval for p′ may miss it; part of the p-value.
        """
        self._counts.require(x, y)
        _validate.open_unit(nuisance_error=nuisance_error)
        low, high = clopper_pearson(y, self.n_prime, significance=nuisance_error)
        test = replace(self, curve=_Remembered(self.curve))
        level = test._level(x, y)  # noqa: SLF001  (of the same class)
        if level >= _WIDEST:
            return 1.0
        region = test._region(level, low, high)  # noqa: SLF001
        return min(1.0, test._supremum(region, low, high) + nuisance_error)  # noqa: SLF001

    def _region(self, level: float, low: float, high: float) -> Region:
        """Return the region in which a box of the level refutes, for all y that matter at p′."""
        counts = self._counts.between(low, high)
        upper = self._upper(counts, level)
        knots = self._knots(float(upper[0]), float(upper[-1]))
        least = 1.0 + binomial_exceeded(level, self.n, np.interp(upper, *knots)).astype(np.float64)
        return Region(counts, least)

    @property
    def _counts(self) -> TwoCounts:
        return TwoCounts(n=self.n, n_prime=self.n_prime)

    def _level(self, x: int, y: int) -> float:
        """Return a level, just above the least, at which the box refutes."""
        count = np.array([float(y)])
        narrow, wide = (float(self._upper(count, level)[0]) for level in (_WIDEST, _LEAST))
        knots = self._knots(narrow, wide)

        def refutes(log_level: float) -> bool:
            level = math.exp(log_level)
            low = float(betaincinv(x, self.n - x + 1, level)) if x else 0.0
            return low > float(np.interp(self._upper(count, level), *knots)[0])

        least, widest = math.log(_LEAST), math.log(_WIDEST)
        if not refutes(widest):
            return _WIDEST
        return math.exp(turn(refutes, least, widest, steps=_HALVINGS).holds + 1e-9)

    def _upper(self, y: FloatArray, level: float) -> FloatArray:
        """Return the upper limits of the counts y."""
        upper = betainccinv(y + 1, np.maximum(self.n_prime - y, 1e-9), level)
        return np.where(y < self.n_prime, upper, 1.0)

    def _knots(self, low: float, high: float) -> tuple[FloatArray, FloatArray]:
        """Return the points between which g interpolates: even in arcsines, a fixed grid."""
        step = _STEP / (2 * math.sqrt(self.n_prime))
        first, last = (math.asin(math.sqrt(rate)) / step for rate in (low, high))
        angles = step * np.arange(math.floor(first), math.ceil(last) + 1)
        rates = np.sin(np.minimum(angles, math.pi / 2)) ** 2
        return rates, np.maximum.accumulate(self.curve(rates))

    def _supremum(self, region: Region, low: float, high: float) -> float:
        """Bound the region's probability over the curve with p′ in [low, high]."""
        first, last = self._start(low), self._end(low, high)
        slivers = [(a, b) for a, b in ((low, first), (last, high)) if a < b]
        if not first < last:
            return self._corner(region, low, high)
        outside = max((self._corner(region, a, b) for a, b in slivers), default=0.0)
        rates, known = self._grid(first, last), dict[tuple[float, float], float]()
        inside = 1.0
        for _ in range(_REFINEMENTS):
            outline = _outlined(rates, self.curve(rates))
            values = self._probabilities(region, known, *outline)
            between = np.maximum(values[1:], values[:-1]) * self._lift(*outline)
            inside = float(between.max())
            wide = between.reshape(-1, 2).max(axis=1) > (1 + _TOLERANCE) * values.max()
            if not wide.any():
                break
            inner = rates[1:-1]
            middles = expit((logit(inner[1:]) + logit(inner[:-1]))[wide] / 2)
            rates = np.sort(np.concatenate([rates, middles]))
        return max(outside, inside)

    def _lift(self, p: FloatArray, p_prime: FloatArray) -> FloatArray:
        return np.asarray(np.exp(np.minimum(self._counts.dip(p, p_prime), _LARGEST_LIFT)))

    def _probabilities(
        self,
        region: Region,
        known: dict[tuple[float, float], float],
        p: FloatArray,
        p_prime: FloatArray,
    ) -> FloatArray:
        """Return the region's probabilities, and keep them in ``known``."""
        points = list(zip(p.tolist(), p_prime.tolist(), strict=True))
        new = np.array([point for point in points if point not in known]).reshape(-1, 2)
        found = self._counts.probability(region, new[:, 0], new[:, 1])
        known.update(zip(map(tuple, new.tolist()), found.tolist(), strict=True))
        return np.array([known[point] for point in points])

    def _corner(self, region: Region, low: float, high: float) -> float:
        """Bound the probability for p′ in [low, high] by the largest p with the least p′."""
        corner = self.curve(np.array([high])), np.array([low])
        return float(self._counts.probability(region, *corner)[0])

    def _start(self, low: float) -> float:
        """Return the rate, ``low`` or just above, up to which neither count's law moves."""
        tiny = np.append(np.geomspace(_SLIVER, 1e-18 * _SLIVER, 10) / self.n_prime, 0.0)
        if low >= tiny[0]:
            return low
        allowed = self.curve(tiny)
        still = self.n * (allowed - allowed[-1]) <= _SLIVER
        return max(low, float(tiny[:-1][still[:-1]].max(initial=tiny[-2])))

    def _end(self, low: float, high: float) -> float:
        """Return the rate, ``high`` or below, from which p is as good as 1."""
        most = 1 - _SLIVER / self.n
        if float(self.curve(np.array([high]))[0]) <= most:
            return high
        for _ in range(_ZOOMS):
            grid = np.linspace(low, high, _FEW)
            below = int((self.curve(grid) <= most).sum())
            if not below:
                return low
            low, high = float(grid[below - 1]), float(grid[below])
        return low

    def _grid(self, first: float, last: float) -> FloatArray:
        """Return rates from ``first`` to ``last``, and one beyond either end."""
        even, _ = self._knots(first, last)
        ends: list[float] = logit(np.array([first, last])).tolist()
        odds: FloatArray = expit(
            np.linspace(ends[0], ends[1], 2 + math.ceil((ends[1] - ends[0]) / _STEP))
        )
        inner = np.unique(np.concatenate([even, odds]).clip(first, last))
        return np.concatenate([[first / 2], inner, [(1 + last) / 2]])


class _Remembered:
    """A curve whose values are worked out once."""

    def __init__(self, curve: Callable[[FloatArray], FloatArray]) -> None:
        self._curve = curve
        self._values: dict[float, float] = {}

    def __call__(self, rates: FloatArray) -> FloatArray:
        """Return the curve at rates of shape (m,)."""
        asked = rates.tolist()
        new = sorted(set(asked) - self._values.keys())
        if new:
            self._values |= zip(new, self._curve(np.array(new)).tolist(), strict=True)
        return np.array([self._values[rate] for rate in asked])


def _outlined(rates: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the corners (p, p′) of a polygon above a concave curve, between its end points.

    Parameters
    ----------
    rates, values : ndarray, shape (m+2,)
        Points of the curve; the first and last only lend their chords.

    Returns
    -------
    p, p_prime : ndarray, shape (2m−1,)
        The points, and between two of them the corner of their neighbours' chords.
    """
    slopes = np.diff(values) / np.diff(rates)
    left, right = slopes[:-2], slopes[2:]
    a, b = rates[1:-2], rates[2:-1]
    p_a, p_b = values[1:-2], values[2:-1]
    bend = left - right
    meet = np.divide(p_b - p_a + left * a - right * b, bend, out=(a + b) / 2, where=bend > 0)
    corner = np.clip(meet, a, b)
    height = np.maximum(p_a + left * (corner - a), p_b - right * (b - corner))
    p, p_prime = values[1:-1].repeat(2)[:-1], rates[1:-1].repeat(2)[:-1]
    p[1::2], p_prime[1::2] = np.clip(height, p_a, p_b), corner
    return p, p_prime
