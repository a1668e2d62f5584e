"""LDP-CP-L with other channels than k-RR, and what a report tells of its label.

A report R on label y has a known law P(R | y). A table of weights W(R, y′) with
E[W(R, y′) | y] = 1{y′ = y} turns it into an unbiased estimate of the label's indicator: of k-RR
W is the inverse of its matrix, of a report of k bits (b₁, …, b_k) it is (b_y′ − q)/(p − q).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dpcp_audit.extensions.claims import (
    Computation,
    LocalDP,
    ProofMethod,
    Quantity,
    Standing,
    Table,
    TableColumn,
    Verdict,
)
from dpcp_audit.extensions.claims import validate as _validate
from dpcp_audit.extensions.laws import FiniteLaw, FinitePair
from dpcp_audit.extensions.mechanisms import KaryRandomizedResponse
from dpcp_audit.extensions.statistics import all_at_most, ball, ends, exact
from dpcp_ledger.paper import Paper

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flint import arb

    from dpcp_audit.extensions.claims import FloatArray, IntArray


paper = Paper(title="LDP-CP", subject="LDP-CP, other statements")
_SIZES = (1, 2, 5, 10)


_ROUNDS, _DELTA, _USERS, _MOST_LABELS = 10, 0.1, 100_000, 4096
"""At which Δ is compared."""


@paper.claim(
    "ldpcp.open-problem[channel=unary]",
    "Section 6, Conclusion and Open Problems",
    Verdict.PROVED,
    "“The integration of more advanced methods in Local Differential Privacy (LDP), such as "
    "RAPPOR”, into LDP-CP-L lowers the noise of one label where labels are many: by optimised "
    "unary encoding a report says with less noise than by k-RR whether the label is a given other.",
    "4e^ε/(e^ε−1)² ≤ (k−2+e^ε)/(e^ε−1)²",
    standing=Standing.PRACTICE,
    parameters={"k": [100, 1000], "epsilon": [1.0, 2.0, 3.0], "channel": "unary"},
    labels=(100, 1000),
    epsilons=(1.0, 2.0, 3.0),
)
def unary_noise(*, labels: Sequence[int], epsilons: Sequence[float]) -> Computation:
    """Compute the largest variance of a report's estimate over that of k-RR, for one label.

    The one label is another than the user's own, as almost every label is; reports come by
    optimised unary encoding.
    """
    shares = {(k, epsilon): partial(_share, k, epsilon) for k in labels for epsilon in epsilons}
    values = {case: ends(share)[1] for case, share in shares.items()}
    worst = max(values, key=lambda case: values[case])
    found = Computation(
        quantity=Quantity.RATIO,
        detail="largest variance of a report's estimate over that of k-RR",
        value=values[worst],
        claimed=1.0,
        witness={"k": worst[0], "epsilon": worst[1]},
        note=(
            "Of one label it is smaller from k of about 3e^ε + 2 on: "
            + ", ".join(f"k > {crossing(epsilon)} at ε = {epsilon:g}" for epsilon in epsilons)
            + ". The aggregator adds up the weights of all labels that score at most q, and sets "
            "of many labels take more noise: over sets of every size the largest variance is "
            "smaller from about 14e^ε + 2 on, "
            + ", ".join(f"k ≥ {switch(epsilon)} at ε = {epsilon:g}" for epsilon in epsilons)
            + "."
        ),
        tables=(_table(labels, epsilons),),
    )
    return found.between(
        all_at_most("variance over that of k-RR ≤ 1", list(shares.values()), 1),
        method=ProofMethod.ENUMERATION,
        argument=(
            "A bit that is 1 with probability q = 1/(e^ε+1) has the variance "
            "q(1−q)/(1/2−q)² = 4e^ε/(e^ε−1)², a report of k-RR c(1−c)/(1−β)² with "
            "c = 1/(k−1+e^ε) and 1−β = (e^ε−1)/(k−1+e^ε). Both are enclosed in every case."
        ),
        parameters={"k": list(labels), "epsilon": list(epsilons)},
    )


def crossing(epsilon: float) -> int:
    """Return the largest k at which k-RR has no more noise than optimised unary encoding.

    Examples
    --------
    >>> crossing(1.0), crossing(2.0)
    (10, 24)
    """
    k = 2
    while ends(partial(_share, k + 1, epsilon))[0] >= 1:
        k += 1
    return k


def switch(epsilon: float, n: int | None = None) -> int | None:
    """Return the smallest k from which unary encoding has less noise over sets of every size.

    None where that is beyond 4,096 labels: with few users Δ is as large as the range of a report.

    Parameters
    ----------
    n : int, optional
        Compare Δ of the mechanism on n users, at T = 10 and δ = 0.1; without, the largest
        variance of a report's estimate, which decides as n grows.

    Examples
    --------
    >>> switch(1.0), switch(2.0), switch(1.0, n=100_000)
    (41, 107, 43)
    """
    low, high = 2, 4
    while not _unary_is_better(high, epsilon, n):
        low, high = high, 2 * high
        if high > _MOST_LABELS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _unary_is_better(middle, epsilon, n) else (middle, high)
    return high


def switch_table(epsilons: Sequence[float] = (0.5, 1.0, 2.0, 3.0)) -> Table:
    """Return from how many labels on unary encoding has less noise, by what is compared."""
    return Table(
        title="Labels from which optimised unary encoding has less noise than k-RR",
        columns=[
            TableColumn(name="ε", texts=[f"{epsilon:g}" for epsilon in epsilons]),
            TableColumn(name="one label", texts=[str(crossing(e) + 1) for e in epsilons]),
            TableColumn(name="sets of every size", texts=[str(switch(e)) for e in epsilons]),
            TableColumn(
                name=f"Δ, n = {_USERS:,}", texts=[str(switch(e, _USERS)) for e in epsilons]
            ),
            TableColumn(name="16e^ε", texts=[f"{16 * math.exp(e):.0f}" for e in epsilons]),
        ],
    )


def _unary_is_better(k: int, epsilon: float, n: int | None) -> bool:
    kary, unary = (
        KaryChannel(KaryRandomizedResponse(epsilon, k)),
        UnaryChannel.optimised(epsilon, k),
    )
    return _largest(unary, n) < _largest(kary, n)


def _largest(channel: LabelChannel, n: int | None) -> float:
    """Return the largest variance, or what the reports add to Δ, over sets of every size."""
    sizes = range(channel.k + 1)
    if n is None:
        return max(map(channel.variance, sizes))
    log_term = math.log(4 * (2**_ROUNDS - 1) / _DELTA)
    return max(
        bernstein_width(channel.variance(size), channel.reach(size), n=n, log_term=log_term)
        for size in sizes
    )


def _share(k: int, epsilon: float) -> arb:
    grown = ball(exact(epsilon)).exp()
    kary = (k - 1 + grown) * (1 - 1 / (k - 1 + grown)) / (grown - 1) ** 2
    return 4 * grown / (grown - 1) ** 2 / kary


def _table(labels: Sequence[int], epsilons: Sequence[float]) -> Table:
    cases = [(k, epsilon, m) for k in labels for epsilon in epsilons for m in _SIZES]
    channels: dict[str, Callable[[int, float], LabelChannel]] = {
        "k-RR": lambda k, epsilon: KaryChannel(KaryRandomizedResponse(epsilon, k)),
        "optimised unary encoding": lambda k, epsilon: UnaryChannel.optimised(epsilon, k),
        "RAPPOR": lambda k, epsilon: UnaryChannel.rappor(epsilon, k),
    }
    return Table(
        title="Largest variance of one report's estimate of whether the label is in a set",
        columns=[
            TableColumn(name="k", texts=[str(k) for k, _, _ in cases]),
            TableColumn(name="ε", texts=[f"{epsilon:g}" for _, epsilon, _ in cases]),
            TableColumn(name="labels in the set", texts=[str(m) for _, _, m in cases]),
            *(
                TableColumn(
                    name=name,
                    texts=[f"{make(k, epsilon).variance(m):.3g}" for k, epsilon, m in cases],
                )
                for name, make in channels.items()
            ),
        ],
    )


class LabelChannel(Protocol):
    """Each user.s channel on its label in {0, ..., k−1}, with its debiasing weights."""

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
