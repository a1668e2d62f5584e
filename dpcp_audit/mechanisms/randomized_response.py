"""Randomised response: k-ary and binary, their debiased estimates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.laws.laws import FiniteLaw
from dpcp_audit.stats.enclosures import ends, response_move
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.guarantees import LocalDP

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcp_audit.words.arrays import BoolArray, FloatArray, IntArray


@cache
def _move_probability(epsilon: float, k: int) -> float:
    """Return the smallest double that is certainly not below (k−1)/(k−1+e^ε)."""
    return ends(partial(response_move, epsilon, k))[1]


@dataclass(frozen=True, slots=True)
class KaryRandomizedResponse:
    """k-RR: the label with probability e^ε/(k−1+e^ε), else one of the others uniformly.

    LDP-CP paper, Section 2.3 (Warner 1965; Kairouz, Bonawitz and Ramage 2016). The same
    channel as Eq. (1): a uniform label with probability β, the label itself otherwise.

    Parameters
    ----------
    epsilon : float
        Privacy parameter ε > 0 of local DP.
    k : int
        Number of labels, at least 2.
    """

    epsilon: float
    k: int

    def __post_init__(self) -> None:
        _validate.positive(epsilon=self.epsilon)
        _validate.integer(k=self.k, at_least=2)

    @property
    def guarantee(self) -> LocalDP:
        """ε-LDP, with equality."""
        return LocalDP(self.epsilon)

    @property
    def move_probability(self) -> float:
        """P(report ≠ label) = (k−1)/(k−1+e^ε), rounded up: what is drawn with is ε-LDP."""
        return _move_probability(self.epsilon, self.k)

    @property
    def keep_probability(self) -> float:
        """P(report = label) = e^ε/(k−1+e^ε), the best guess's chance over a uniform prior."""
        return 1 - self.move_probability

    @property
    def beta(self) -> float:
        """β = k/(k−1+e^ε), the probability of a uniform label in Eq. (1)."""
        return self.k * self.move_probability / (self.k - 1)

    @property
    def h(self) -> float:
        """Theorem 1's h = (1−β)/(1+β), which is (e^ε−1)/(2k−1+e^ε)."""
        shrunk = math.exp(-self.epsilon)
        return -math.expm1(-self.epsilon) / (1 + (2 * self.k - 1) * shrunk)

    def laws(self) -> tuple[FiniteLaw, ...]:
        """Return the exact law of the report on each label 0, ..., k−1."""
        keep, other = math.log1p(-self.move_probability), self.move_probability / (self.k - 1)
        log_mass = np.where(np.eye(self.k, dtype=np.bool_), keep, math.log(other))
        return tuple(FiniteLaw(row, np.zeros(self.k)) for row in log_mass)

    def sample(
        self, labels: ArrayLike, *, rng: np.random.Generator | int | None = None
    ) -> IntArray:
        """Randomise labels in {0, ..., k−1} of any shape, each on its own."""
        true = _validate.labels(labels, n_classes=self.k)
        generator = _validate.generator(rng)
        kept = generator.random(true.shape) >= self.move_probability
        moved = (true + generator.integers(1, self.k, size=true.shape)) % self.k
        return np.where(kept, true, moved)


@dataclass(frozen=True, slots=True)
class BinaryRandomizedResponse:
    """RR: the bit with probability e^ε/(1+e^ε), its complement otherwise (Warner 1965).

    Parameters
    ----------
    epsilon : float
        Privacy parameter ε > 0 of local DP.
    """

    epsilon: float

    def __post_init__(self) -> None:
        _validate.positive(epsilon=self.epsilon)

    @property
    def guarantee(self) -> LocalDP:
        """ε-LDP, with equality."""
        return LocalDP(self.epsilon)

    @property
    def keep_probability(self) -> float:
        """P(RR(b) = b) = e^ε/(1+e^ε)."""
        return 1 - self.flip_probability

    @property
    def flip_probability(self) -> float:
        """P(RR(b) ≠ b) = 1/(1+e^ε), rounded up: the double that is drawn with is ε-LDP."""
        return _move_probability(self.epsilon, 2)

    @property
    def gain(self) -> float:
        """(e^ε+1)/(e^ε−1), the factor by which debiasing stretches a mean and its error."""
        return 1 / math.tanh(self.epsilon / 2)

    def laws(self) -> tuple[FiniteLaw, FiniteLaw]:
        """Return the exact laws of RR(0) and RR(1) over the reports 0, 1."""
        flip = self.flip_probability
        zero = np.array([math.log1p(-flip), math.log(flip)])
        return FiniteLaw(zero, np.zeros(2)), FiniteLaw(zero[::-1], np.zeros(2))

    def sample(self, bits: ArrayLike, *, rng: np.random.Generator | int | None = None) -> BoolArray:
        """Randomise bits (booleans, or integers 0 and 1) of any shape, each on its own."""
        values = np.asarray(bits)
        if values.dtype != np.bool_:
            values = _validate.labels(values, n_classes=2, name="bits") == 1
        flipped = _validate.generator(rng).random(values.shape) < self.flip_probability
        return values ^ flipped

    def sample_counts(
        self, ones: ArrayLike, zeros: ArrayLike, *, rng: np.random.Generator | int | None = None
    ) -> IntArray:
        """Draw how many reports are 1 where ``ones`` users hold 1 and ``zeros`` hold 0.

        Parameters
        ----------
        ones, zeros : array_like of int
            Numbers of users, >= 0; broadcast together.
        """
        generator = _validate.generator(rng)
        ones, zeros = np.broadcast_arrays(_counts(ones, "ones"), _counts(zeros, "zeros"))
        kept = generator.binomial(ones, self.keep_probability)
        return kept + generator.binomial(zeros, self.flip_probability)

    def report_probability(self, p: ArrayLike) -> FloatArray:
        """Return P(RR(b) = 1) where P(b = 1) = p, elementwise."""
        values = _unit(p, "p")
        return values * self.keep_probability + (1 - values) * self.flip_probability

    def debias(self, mean: ArrayLike) -> FloatArray:
        """Return (e^ε+1)/(e^ε−1)·mean − 1/(e^ε−1) (LDP-CP paper, Algorithm 3, line 8).

        Over the reports of the users asked, ``mean`` makes it an unbiased estimate of the
        fraction of ones among their bits.
        """
        return self.gain * _numbers(mean, "mean") - (self.gain - 1) / 2


def debiased_cdf(noisy: ArrayLike, uniform: ArrayLike, *, beta: float) -> FloatArray:
    """Return F^c = (F^n − β·F^r)/(1−β), Eq. (2) of the LDP-CP paper solved for F^c.

    Parameters
    ----------
    noisy, uniform : array_like
        Coverage on noisy and on uniform labels; broadcast together.
    beta : float
        The probability of a uniform label, in [0, 1).
    """
    _validate.half_open_unit(beta=beta)
    return (_numbers(noisy, "noisy") - beta * _numbers(uniform, "uniform")) / (1 - beta)


def _counts(value: ArrayLike, name: str) -> IntArray:
    counts = np.asarray(value)
    if not np.issubdtype(counts.dtype, np.integer) or (counts < 0).any():
        raise ValueError(f"{name} must hold integers >= 0, got {value!r}")
    return counts


def _unit(value: ArrayLike, name: str) -> FloatArray:
    values = _numbers(value, name)
    if ((values < 0) | (values > 1)).any():
        raise ValueError(f"{name} must lie in [0, 1], got {value!r}")
    return values


def _numbers(value: ArrayLike, name: str) -> FloatArray:
    values = _validate.reals(value, name=name)
    return _validate.array(values, name=name, ndim=values.ndim)
