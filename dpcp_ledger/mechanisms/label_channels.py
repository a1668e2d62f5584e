"""Channels for a label, and what is known of the label from a report on it.

A report R on label y has a known law P(R | y). A table of weights W(R, y′) with
E[W(R, y′) | y] = 1{y′ = y} turns it into an unbiased estimate of the label's indicator: of k-RR
W is the inverse of its matrix, of a report of k bits (b₁, …, b_k) it is (b_y′ − q)/(p − q).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dpcp_audit.extensions.claims import LocalDP
from dpcp_audit.extensions.claims import validate as _validate
from dpcp_audit.extensions.laws import FiniteLaw, FinitePair

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import FloatArray, IntArray
    from dpcp_audit.extensions.mechanisms import KaryRandomizedResponse


class LabelChannel(Protocol):
    """What every user runs on its label in {0, ..., k−1}, with its debiasing weights."""

    @property
    def k(self) -> int:
        """The number of labels."""
        ...

    @property
    def guarantee(self) -> LocalDP:
        """The local privacy of a report."""
        ...

    def pair(self) -> FinitePair:
        """Return the exact laws of what two labels' reports differ in."""
        ...

    def weights(self, labels: IntArray, *, rng: np.random.Generator) -> FloatArray:
        """Draw reports on labels (n,) and return their weights W(R, y′), shape (n, k)."""
        ...

    def variance(self, size: int) -> float:
        """Return the largest variance of ΣW(R, y′) over y′ in a set of so many labels, over y."""
        ...

    def reach(self, size: int) -> float:
        """Return how far ΣW(R, y′) over a set of so many labels is from its mean at most."""
        ...


@dataclass(frozen=True, slots=True)
class KaryChannel:
    """k-RR: LDP-CP-L's own channel (LDP-CP paper, Eq. (2))."""

    response: KaryRandomizedResponse

    @property
    def k(self) -> int:
        """The number of labels."""
        return self.response.k

    @property
    def guarantee(self) -> LocalDP:
        """ε-LDP."""
        return self.response.guarantee

    def pair(self) -> FinitePair:
        """Return the exact laws of the reports on two labels."""
        first, second, *_ = self.response.laws()
        return FinitePair(first, second)

    def weights(self, labels: IntArray, *, rng: np.random.Generator) -> FloatArray:
        """Draw reports and return (1{R = y′} − β/k)/(1−β), shape (n, k)."""
        reported = self.response.sample(labels, rng=rng)
        beta = self.response.beta
        return (np.eye(self.k)[reported] - beta / self.k) / (1 - beta)

    def variance(self, size: int) -> float:
        """Return the variance of 1{R in the set}/(1−β), the larger of y inside and outside."""
        return max(chance * (1 - chance) for chance in self._chances(size)) / self._kept**2

    def reach(self, size: int) -> float:
        """Return the largest distance of 1{R in the set}/(1−β) from its mean."""
        return max(max(chance, 1 - chance) for chance in self._chances(size)) / self._kept

    @property
    def _kept(self) -> float:
        return 1 - self.response.beta

    def _chances(self, size: int) -> list[float]:
        """Return P(R in the set), for y in the set and for y outside of it, where there are any."""
        spread = self.response.beta * size / self.k
        inside = [self._kept + spread] if size else []
        return inside + ([spread] if size < self.k else [])


@dataclass(frozen=True, slots=True)
class UnaryChannel:
    """A bit for every label, each randomised: RAPPOR's one-time response, optimised encoding.

    Wang, Blocki, Li and Jha 2017. The true label's bit is 1 with probability ``keep``, every
    other one with probability ``flip``.

    Parameters
    ----------
    k : int
        Number of labels, at least 2.
    keep, flip : float
        In (0, 1), flip < keep.
    """

    k: int
    keep: float
    flip: float

    def __post_init__(self) -> None:
        _validate.integer(k=self.k, at_least=2)
        _validate.open_unit(keep=self.keep, flip=self.flip)
        if self.flip >= self.keep:
            raise ValueError(f"flip must be below keep = {self.keep}, got {self.flip}")

    @classmethod
    def optimised(cls, epsilon: float, k: int) -> UnaryChannel:
        """Return optimised unary encoding: keep = 1/2, flip = 1/(e^ε+1).

        Examples
        --------
        >>> round(UnaryChannel.optimised(2.0, 100).guarantee.epsilon, 12)
        2.0
        """
        _validate.positive(epsilon=epsilon)
        return cls(k, 0.5, 1 / (math.exp(epsilon) + 1))

    @classmethod
    def rappor(cls, epsilon: float, k: int) -> UnaryChannel:
        """Return RAPPOR's one-time response: keep = 1 − flip = e^(ε/2)/(e^(ε/2)+1)."""
        _validate.positive(epsilon=epsilon)
        flip = 1 / (math.exp(epsilon / 2) + 1)
        return cls(k, 1 - flip, flip)

    @property
    def guarantee(self) -> LocalDP:
        """The largest log-ratio: log(keep·(1−flip)/(flip·(1−keep)))."""
        return LocalDP(
            math.log(self.keep)
            - math.log(self.flip)
            + math.log1p(-self.flip)
            - math.log1p(-self.keep)
        )

    def pair(self) -> FinitePair:
        """Return the exact laws of the two bits in which reports on two labels differ."""
        true, other = (np.array([1 - chance, chance]) for chance in (self.keep, self.flip))
        laws = (np.outer(true, other).ravel(), np.outer(other, true).ravel())
        return FinitePair(*(FiniteLaw.from_mass(mass) for mass in laws))

    def weights(self, labels: IntArray, *, rng: np.random.Generator) -> FloatArray:
        """Draw reports and return (b_y′ − flip)/(keep − flip), shape (n, k)."""
        chances = np.where(np.eye(self.k, dtype=np.bool_)[labels], self.keep, self.flip)
        bits = rng.random(chances.shape) < chances
        return np.asarray((bits - self.flip) / (self.keep - self.flip), dtype=np.float64)

    def variance(self, size: int) -> float:
        """Return the sum of independent bits' variances, the larger of y inside and outside."""
        other = self.flip * (1 - self.flip)
        inside = [self.keep * (1 - self.keep) + (size - 1) * other] if size else []
        outside = [size * other] if size < self.k else []
        return max(inside + outside) / (self.keep - self.flip) ** 2

    def reach(self, size: int) -> float:
        """Return a bound on the distance of the bits' weights from their mean."""
        return size * max(self.keep, 1 - self.flip) / (self.keep - self.flip)


def bernstein_width(variance: float, reach: float, *, n: int, log_term: float) -> float:
    """Return t with exp(−nt²/(2(v + rt/3))) = exp(−``log_term``), Bernstein's bound of a mean.

    Parameters
    ----------
    variance, reach : float
        v and r: of a summand, and how far it is from its mean at most.
    log_term : float
        The logarithm of 1/p, for a failure with probability p on each side.

    Examples
    --------
    >>> round(bernstein_width(0.25, 1.0, n=1000, log_term=5.0), 4)
    0.0517
    """
    third = reach * log_term / (3 * n)
    return third + math.sqrt(third**2 + 2 * variance * log_term / n)
