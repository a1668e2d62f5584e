"""The score test of p ≤ e^ε·p′ + δ, calibrated exactly: it spends the whole error level.

The statistic is Farrington and Manning's (1990): with R = e^ε, and p̃ = R·p̃′ + δ the maximum
likelihood estimates under the null boundary,

    T = (x/n − R·y/n′ − δ)/s,   s² = p̃(1−p̃)/n + R²·p̃′(1−p̃′)/n′.

Its p-value is the largest probability of T ≥ t over the nuisance p′, which five facts certify.

- T² = u·(x/n − R·y/n′ − δ) with the multiplier u = n(x/n − p̃)/(p̃(1−p̃)). Both factors rise with
  x and fall with y, so {T ≥ t} is a set {x ≥ c(y)} with c increasing: its probability rises with
  p and falls with p′, and over the null it is largest on the boundary p = R·p′ + δ.
- c is explicit: T = t where x/n = p̃ + t·p̃(1−p̃)/(n·s) and y/n′ = p̃′ − t·R·p̃′(1−p̃′)/(n′·s).
- The nuisance may be confined to its Clopper–Pearson interval if the error of that interval is
  added to the p-value (Berger and Boos 1994).
- Between two points of a grid the probability is at most the larger end's times e^g. In natural
  parameters η the probability times e^A(η), A the log-partition, is log-convex; g is the largest
  gap of A below its chord. The boundary lies below the chord, since
  logit p is convex in logit p′ along it (R ≥ 1), and lower p means lower probability.
- Sums over y leave out at most 2·e^−36 of the mass (Bernstein's inequality), which is added.

Powers are exact sums over the counts at the normal critical value, which the calibrated test
comes close to (its p-values are at most a little larger).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logit, ndtri

from dpcp_audit.stats.curve_test import Region, TwoCounts
from dpcp_audit.stats.rates import clopper_pearson
from dpcp_audit.stats.roots import turn, turns
from dpcp_audit.words import errors
from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.stats.curve_test import Measure
    from dpcp_audit.words.validate import FloatArray, IntArray

_STEP = 1.0
_REFINEMENTS = 6
_TOLERANCE = 0.005
_BISECTIONS = 36
_SCREEN = 8
_LEAST = 1e-100
"""The smallest resolution and significance; below, the arithmetic gives out."""
_LARGEST_EPSILON = 50.0
_HALVINGS = 40
_DETECTION = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioTest:
    """The null hypothesis p ≤ e^ε·p′ + δ about two binomial counts.

    :Null hypothesis: p ≤ e^ε·p′ + δ, for the probabilities p and p′ behind two independent binomial
        counts.
    :Statistic: T, the excess x/n − e^ε·y/n′ − δ over its standard error at the maximum likelihood
        estimates under the boundary.
    :Level: At most the significance: the p-value is the largest probability of T ≥ t over p′ in its
        confidence interval, plus the error of that interval.
    :Power: ``rate_detected``: the p that is refuted with probability 0.95, at a given p′, by exact
        sums over the counts.
    :Reference: Farrington and Manning (1990); Berger and Boos (1994).

    Parameters
    ----------
    n, n_prime : int
        Trials behind the count x of probability p, and behind y of probability p′.
    epsilon, delta : float
        ε >= 0 and δ in [0, 1).
    """

    n: int
    n_prime: int
    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        _validate.integer(n=self.n, n_prime=self.n_prime, at_least=1)
        _validate.non_negative(epsilon=self.epsilon)
        if self.epsilon > _LARGEST_EPSILON:
            raise errors.value_error(
                f"epsilon must be at most {_LARGEST_EPSILON:g}, got {self.epsilon!r}",
                "no number of samples refutes a larger one",
            )
        _validate.closed_unit(delta=self.delta)
        if self.delta == 1:
            raise errors.value_error(
                f"delta must be below 1, got {self.delta!r}", "at 1 nothing is claimed"
            )

    @property
    def counts(self) -> TwoCounts:
        """The two counts."""
        return TwoCounts(n=self.n, n_prime=self.n_prime)

    @property
    def ratio(self) -> float:
        """R = e^ε."""
        return math.exp(self.epsilon)

    @property
    def largest_rate(self) -> float:
        """The largest p′ on the boundary, where p = 1."""
        return (1 - self.delta) / self.ratio

    def statistic(self, x: int, y: int) -> float:
        """Return T, negative where the counts agree with the null."""
        self.counts.require(x, y)
        excess = x / self.n - self.ratio * y / self.n_prime - self.delta
        scale = float(self._scale(np.array(self.restricted_rate(x, y))))
        return excess / scale if scale > 0 else math.copysign(math.inf, excess) if excess else 0.0

    def p_value(
        self, x: int, y: int, *, nuisance_error: float = 1e-6, enough: float = 1.0
    ) -> float:
        """Return the p-value of the counts, valid whatever p′ is.

        Parameters
        ----------
        nuisance_error : float
            Probability with which the interval for p′ may miss it; part of the p-value.
        enough : float
            If the p-value exceeds it, any number between the two may be returned, sooner.
        """
        self.counts.require(x, y)
        _validate.open_unit(nuisance_error=nuisance_error)
        t = self.statistic(x, y)
        low, high = clopper_pearson(y, self.n_prime, significance=nuisance_error)
        if t <= 0 or low >= self.largest_rate:
            return 1.0
        found = self._supremum(t, low, min(high, self.largest_rate), enough=enough)
        return min(1.0, found + nuisance_error)

    def critical_counts(self, t: float, y: FloatArray) -> FloatArray:
        """Return, for each y, the least x with T ≥ ``t`` > 0; n + 1 where there is none."""
        low, high = turns(
            lambda rate: self._contour(t, rate)[1] >= y,
            np.zeros(y.shape),
            np.full(y.shape, self.largest_rate),
            steps=_BISECTIONS,
        )
        x = self._contour(t, low)[0]  # at or before the contour: the set can only be too large
        least = np.ceil(x - 1e-9 * (1 + np.abs(x)))
        certain = high == self.largest_rate  # the contour ends, with p̃ = 1, before it comes to y
        if certain.any():
            least[certain] = np.where(y[certain] <= self._last_count(t), self.n, self.n + 1.0)
        return np.minimum(np.maximum(least, 0.0), self.n + 1.0)

    def region(self, t: float, low: float, high: float) -> Region:
        """Return the set T ≥ ``t`` > 0, where y matters at some rate p′ in [low, high]."""
        counts = self.counts.between(low, high)
        return Region(counts, self.critical_counts(t, counts))

    def boundary(self, p_prime: FloatArray) -> FloatArray:
        """Return p = R·p′ + δ."""
        return np.minimum(1.0, self.ratio * p_prime + self.delta)

    def _supremum(self, t: float, low: float, high: float, *, enough: float) -> float:
        """Bound P(T ≥ t) over the boundary with p′ in [low, high], by branch and bound.

        A probability on the boundary that exceeds ``enough`` is returned as it is found.
        """
        measure = self.counts.measure(self.region(t, low, high))
        first = max(low, 1e-4 / (self.n_prime + self.ratio * self.n))
        last = min(high, self.largest_rate * (1 - 1e-4 / (self.n + self.n_prime)))
        if not first < last:  # a sliver: its corner bounds it
            return self._corner(measure, low, high)
        rates = self._grid(first, last)
        values = np.zeros(rates.shape)
        for some in _screened(rates.size):
            values[some] = measure(self.boundary(rates[some]), rates[some])
            if values.max() > enough:
                return float(values.max())
        for _ in range(_REFINEMENTS):
            between = np.maximum(values[1:], values[:-1]) * self._lift(rates)
            wide = between > (1 + _TOLERANCE) * values.max()
            if not wide.any():
                break
            middles = expit((logit(rates[1:]) + logit(rates[:-1]))[wide] / 2)
            added = measure(self.boundary(middles), middles)
            order = np.argsort(np.concatenate([rates, middles]), kind="stable")
            rates = np.concatenate([rates, middles])[order]
            values = np.concatenate([values, added])[order]
        inside = float((np.maximum(values[1:], values[:-1]) * self._lift(rates)).max())
        slivers = [(a, b) for a, b in ((low, first), (last, high)) if a < b]
        return max([inside, *(self._corner(measure, a, b) for a, b in slivers)])

    def _corner(self, measure: Measure, low: float, high: float) -> float:
        """Bound the probability for p′ in [low, high] by the largest p with the least p′."""
        return float(measure(self.boundary(np.array([high])), np.array([low]))[0])

    def _grid(self, first: float, last: float) -> FloatArray:
        """Return rates from ``first`` to ``last`` at which neither count's law moves much."""
        parts = [np.array([first, last])]
        for scale, shift, trials in ((1.0, 0.0, self.n_prime), (self.ratio, self.delta, self.n)):
            a, b = (math.asin(math.sqrt(min(1.0, scale * q + shift))) for q in (first, last))
            steps = 2 + math.ceil((b - a) * 2 * math.sqrt(trials) / _STEP)
            parts.append((np.sin(np.linspace(a, b, steps)) ** 2 - shift) / scale)
        rates = np.unique(np.concatenate(parts))
        return rates[(rates >= first) & (rates <= last)]

    def _lift(self, rates: FloatArray) -> FloatArray:
        return np.asarray(np.exp(self.counts.dip(self.boundary(rates), rates)))

    def _last_count(self, t: float) -> int:
        """Return the largest y with T(n, y) >= t, or −1: T falls with y."""
        return (
            bisect_left(
                range(self.n_prime + 1),
                True,
                key=lambda y: self.statistic(self.n, y) < t - 1e-9 * (1 + t),
            )
            - 1
        )

    def _scale(self, rate: FloatArray) -> FloatArray:
        p = self.boundary(rate)
        variance = p * (1 - p) / self.n + self.ratio**2 * rate * (1 - rate) / self.n_prime
        return np.asarray(np.sqrt(variance))

    def _contour(self, t: float, rate: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the (real) counts x and y with T = t and the restricted estimate p̃′ = rate."""
        p, scale = self.boundary(rate), self._scale(rate)
        lift = np.divide(t, scale, out=np.zeros_like(scale), where=scale > 0)
        return (
            self.n * p + lift * p * (1 - p),
            self.n_prime * rate - lift * self.ratio * rate * (1 - rate),
        )

    def restricted_rate(self, x: float, y: float) -> float:
        """Return p̃′: where the log-likelihood on the boundary, concave in p′, has slope 0."""
        ratio, delta, n, n_prime = self.ratio, self.delta, self.n, self.n_prime

        def rises(rate: float) -> bool:
            p = ratio * rate + delta
            slope = ratio * (x - n * p) * rate * (1 - rate)
            return slope + (y - n_prime * rate) * p * (1 - p) > 0

        found = turn(rises, self.largest_rate, 0.0)
        return (found.fails + found.holds) / 2


def _screened(size: int) -> tuple[IntArray, IntArray]:
    """Return every eighth place, and then the others."""
    places: IntArray = np.arange(size)
    first = places % _SCREEN == 0
    return places[first], places[~first]


def epsilon_lower_bound(
    x: int,
    n: int,
    y: int,
    n_prime: int,
    *,
    delta: float = 0.0,
    significance: float,
    resolution: float = 1e-3,
) -> float:
    """Return a lower confidence bound of ε = log((p − δ)/p′), by inversion of the test.

    The largest multiple of ``resolution`` whose null is refuted, found by bisection; −∞ where
    not even ε = 0 is. At most ε = 50.
    """
    _validate.open_unit(significance=significance)
    _validate.positive(resolution=resolution)
    for name, value in (("significance", significance), ("resolution", resolution)):
        if value < _LEAST:
            raise errors.value_error(
                f"{name} must be at least {_LEAST:g}, got {value!r}", "such as 1e-3"
            )

    def refuted(steps: int) -> bool:
        test = RatioTest(n=n, n_prime=n_prime, epsilon=steps * resolution, delta=delta)
        p_value = test.p_value(x, y, nuisance_error=significance / 1000, enough=significance)
        return p_value <= significance

    if not refuted(0):
        return -math.inf
    largest = int(_LARGEST_EPSILON / resolution)
    guess = min(largest - 1, _guess(x, n, y, n_prime, delta, significance, resolution))
    low, high, stride = 0, largest, 2
    while guess > low and not refuted(guess):
        guess, high, stride = guess - stride, guess, 4 * stride
    low, stride = max(guess, 0), 2
    while low + stride < high and refuted(low + stride):
        low, stride = low + stride, 4 * stride
    high = min(high, low + stride)
    beyond = bisect_left(range(low + 1, high), True, key=lambda steps: not refuted(steps))
    return (low + beyond) * resolution


def _guess(  # noqa: PLR0917  (in the order of the public function)
    x: int, n: int, y: int, n_prime: int, delta: float, significance: float, resolution: float
) -> int:
    """Return the steps at which T is the normal quantile, from where the bound is looked for."""
    quantile = -float(ndtri(significance))

    def exceeds(epsilon: float) -> bool:
        test = RatioTest(n=n, n_prime=n_prime, epsilon=epsilon, delta=delta)
        return test.statistic(x, y) > quantile

    found = turn(exceeds, _LARGEST_EPSILON, 0.0, relative=resolution).holds
    return max(1, math.floor(found / resolution))


def power_along(
    test: RatioTest, p_prime: float, *, significance: float
) -> Callable[[float], float]:
    """Return the probability that the test refutes at p′, as a function of p."""
    region = test.region(-float(ndtri(significance)), p_prime, p_prime)
    chance, rate = test.counts.measure(region), np.array([p_prime])
    return lambda p: float(chance(np.array([p]), rate)[0])


def rate_detected(
    test: RatioTest,
    p_prime: float,
    *,
    significance: float,
    at_most: float = 1.0,
    steps: int = _HALVINGS,
) -> float:
    """Return the smallest p, up to ``at_most``, that is refuted with probability 0.95.

    Infinity where not even ``at_most`` is.
    """
    chance = power_along(test, p_prime, significance=significance)

    def detected(p: float) -> bool:
        return chance(p) >= _DETECTION

    allowed = min(1.0, test.ratio * p_prime + test.delta)
    if allowed >= at_most or not detected(at_most):
        return math.inf
    return turn(detected, allowed, at_most, steps=steps).holds
