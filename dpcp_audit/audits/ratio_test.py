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
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import bdtrc, gammaln, logit, xlog1py, xlogy

from dpcp_audit import _validate
from dpcp_audit.audits.statistics import clopper_pearson

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray

_TAIL = 36.0
_SLACK = 2 * math.exp(-_TAIL)
_STEP = 0.25
_BISECTIONS = 55
_LARGEST_EPSILON = 50.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioTest:
    """The null hypothesis p ≤ e^ε·p′ + δ about two binomial counts.

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
            raise ValueError(f"epsilon must be at most {_LARGEST_EPSILON:g}, got {self.epsilon!r}")
        _validate.closed_unit(delta=self.delta)
        if self.delta == 1:
            raise ValueError(f"delta must be below 1, got {self.delta!r}")

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
        _check_counts(x, self.n, y, self.n_prime)
        excess = x / self.n - self.ratio * y / self.n_prime - self.delta
        scale = float(self._scale(np.array(self._restricted_rate(x, y))))
        return excess / scale if scale > 0 else math.copysign(math.inf, excess) if excess else 0.0

    def p_value(self, x: int, y: int, *, nuisance_error: float = 1e-6) -> float:
        """Return the p-value of the counts, valid whatever p′ is.

        Parameters
        ----------
        nuisance_error : float
            Probability with which the interval for p′ may miss it; part of the p-value.
        """
        _check_counts(x, self.n, y, self.n_prime)
        _validate.open_unit(nuisance_error=nuisance_error)
        t = self.statistic(x, y)
        low, high = clopper_pearson(y, self.n_prime, significance=nuisance_error)
        if t <= 0 or low >= self.largest_rate:
            return 1.0
        return min(1.0, self._supremum(t, low, min(high, self.largest_rate)) + nuisance_error)

    def critical_counts(self, t: float, y: FloatArray) -> FloatArray:
        """Return, for each y, the least x with T ≥ ``t`` > 0; n + 1 where there is none."""
        low, high = np.zeros(y.shape), np.full(y.shape, self.largest_rate)
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            beyond = self._contour(t, middle)[1] >= y
            low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
        x = self._contour(t, high)[0]
        least = np.ceil(x - 1e-9 * (1 + np.abs(x)))
        certain = high == self.largest_rate  # the contour ends, with p̃ = 1, before it comes to y
        least[certain] = np.where(y[certain] <= self._last_count(t), self.n, self.n + 1.0)
        return np.minimum(np.maximum(least, 0.0), self.n + 1.0)

    def rejection_probability(self, t: float, p: FloatArray, p_prime: FloatArray) -> FloatArray:
        """Return upper bounds, tight to 1e-15, of P(T ≥ ``t``) at pairs of rates."""
        mean = self.n_prime * p_prime
        spread = _TAIL / 3 + np.sqrt(_TAIL**2 / 9 + 2 * mean * (1 - p_prime) * _TAIL)
        first = np.maximum(0.0, np.floor(mean - spread))
        last = np.minimum(float(self.n_prime), np.ceil(mean + spread))
        counts = np.arange(first.min(), last.max() + 1)
        critical = self.critical_counts(t, counts)
        total = np.empty(p.shape)
        for i, (rate, rate_prime) in enumerate(zip(p, p_prime, strict=True)):
            window = slice(int(first[i] - first.min()), int(last[i] - first.min()) + 1)
            mass = _binomial_mass(counts[window], self.n_prime, float(rate_prime))
            total[i] = mass @ _upper_tail(critical[window], self.n, float(rate))
        return total + _SLACK

    def boundary(self, p_prime: FloatArray) -> FloatArray:
        """Return p = R·p′ + δ."""
        return np.minimum(1.0, self.ratio * p_prime + self.delta)

    def _supremum(self, t: float, low: float, high: float) -> float:
        """Bound P(T ≥ t) over the boundary with p′ in [low, high]."""
        rates, ends = self._grid(low, high)
        if rates.size == 0:  # a sliver: the corner bounds it
            return float(self.rejection_probability(t, self.boundary(ends[1:]), ends[:1])[0])
        p = self.boundary(rates)
        values = self.rejection_probability(
            t, np.append(p, self.boundary(ends[1::2])), np.append(rates, ends[::2])
        )
        inner = values[: rates.size]
        gaps = self._chord_gap(p, self.n) + self._chord_gap(rates, self.n_prime)
        between = np.maximum(inner[1:], inner[:-1]) * np.exp(gaps)
        return float(max(between.max(initial=0.0), values.max()))

    def _grid(self, low: float, high: float) -> tuple[FloatArray, FloatArray]:
        """Return rates inside (0, largest), and the slivers [a, b] left at the two ends."""
        first = max(low, 1e-4 / (self.n_prime + self.ratio * self.n))
        last = min(high, self.largest_rate * (1 - 1e-4 / (self.n + self.n_prime)))
        if not first < last:
            return np.empty(0), np.array([low, high])
        parts = []
        for scale, shift, trials in ((1.0, 0.0, self.n_prime), (self.ratio, self.delta, self.n)):
            a, b = (math.asin(math.sqrt(min(1.0, scale * q + shift))) for q in (first, last))
            steps = 2 + math.ceil((b - a) * 2 * math.sqrt(trials) / _STEP)
            parts.append((np.sin(np.linspace(a, b, steps)) ** 2 - shift) / scale)
        inner = np.concatenate(parts)
        inner = inner[(inner > first) & (inner < last)]
        return np.unique(np.concatenate([[first], inner, [last]])), np.array(
            [min(low, first), first, last, high]
        )

    @staticmethod
    def _chord_gap(rates: FloatArray, trials: int) -> FloatArray:
        """Return how far the log-partition dips below its chords between neighbouring rates.

        A(η) = trials·log(1 + e^η) is furthest below a chord where its derivative is the slope.
        """
        eta, partition = logit(rates), -np.log1p(-rates)
        rise = np.diff(eta)
        slope = np.divide(np.diff(partition), rise, out=rates[1:].copy(), where=rise > 1e-9)
        slope = np.clip(slope, rates[:-1], rates[1:])
        dip = partition[:-1] + slope * (logit(slope) - eta[:-1]) + np.log1p(-slope)
        return np.asarray(trials * np.maximum(dip, 0.0))

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

    def _restricted_rate(self, x: int, y: int) -> float:
        """Return p̃′: where the log-likelihood on the boundary, concave in p′, has slope 0."""
        low, high = 0.0, self.largest_rate
        for _ in range(200):
            rate = (low + high) / 2
            if rate in {low, high}:
                break
            p = self.ratio * rate + self.delta
            slope = self.ratio * (x - self.n * p) * rate * (1 - rate)
            slope += (y - self.n_prime * rate) * p * (1 - p)
            low, high = (rate, high) if slope > 0 else (low, rate)
        return (low + high) / 2


def ratio_p_value(
    x: int,
    n: int,
    y: int,
    n_prime: int,
    *,
    epsilon: float,
    delta: float = 0.0,
    nuisance_error: float = 1e-6,
) -> float:
    """Return the p-value of p ≤ e^ε·p′ + δ from x ~ Bin(n, p) and y ~ Bin(n′, p′)."""
    test = RatioTest(n=n, n_prime=n_prime, epsilon=epsilon, delta=delta)
    return test.p_value(x, y, nuisance_error=nuisance_error)


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

    def refuted(steps: int) -> bool:
        test = RatioTest(n=n, n_prime=n_prime, epsilon=steps * resolution, delta=delta)
        return test.p_value(x, y, nuisance_error=significance / 1000) <= significance

    if not refuted(0):
        return -math.inf
    low, high = 0, _guess(x, n, y, n_prime, delta=delta, resolution=resolution)
    largest = int(_LARGEST_EPSILON / resolution)
    while high < largest and refuted(high):
        low, high = high, min(largest, 2 * high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low * resolution


def _guess(x: int, n: int, y: int, n_prime: int, *, delta: float, resolution: float) -> int:
    """Return a number of steps near which the bound is looked for."""
    estimate = math.log(max(x / n - delta, 1 / n)) - math.log((y + 1) / n_prime)
    return max(1, math.ceil(min(estimate, _LARGEST_EPSILON) / resolution))


def _check_counts(x: int, n: int, y: int, n_prime: int) -> None:
    _validate.integer(x=x, y=y, at_least=0)
    if x > n or y > n_prime:
        raise ValueError(f"x and y must be at most n and n_prime, got {x} of {n}, {y} of {n_prime}")


def _binomial_mass(counts: FloatArray, trials: int, rate: float) -> FloatArray:
    log_choices = gammaln(trials + 1) - gammaln(counts + 1) - gammaln(trials - counts + 1)
    log_mass = log_choices + xlogy(counts, rate) + xlog1py(trials - counts, -rate)
    return np.asarray(np.exp(log_mass))


def _upper_tail(least: FloatArray, trials: int, rate: float) -> FloatArray:
    """Return P(Binomial(trials, rate) >= least), for least in 0..trials+1."""
    tail = np.zeros(least.shape)
    inside = least <= trials
    tail[inside] = bdtrc(least[inside] - 1, trials, rate)
    return tail
