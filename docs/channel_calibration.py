"""Noise-aware LDP-CP-L over any known channel: the paper's open problem (Section 6).

Users send their features and a report on their label. The score function is the aggregator's, so
that it knows which labels y′ of a user score at most q: the mean of ΣW(R, y′) over them is an
unbiased estimate F̂c(q) of the coverage, whatever the channel. The search is LDP-CP-L's.

**Privacy.** A report is a function of one label alone: the channel's ε.

**Coverage.** With probability 1−δ, |F̂c − F| ≤ Δ at each of the 2^T − 1 midpoints, for n i.i.d.
users. Given features and labels, a user's sum over m labels has the mean 1{s(y) ≤ q}, a variance
of at most v(m) and stays within r(m) of its mean. Bernstein's inequality at δ/2, over midpoints and
sides, bounds what the reports add, and Dvoretzky, Kiefer and Wolfowitz's (Massart 1990) at δ/2
what the users do. A threshold that the search returns is a midpoint with F̂c ≥ 1−α+Δ, or with the
upper end on a miss one whose F̂c was above the window, or 1: it covers at least 1−α, for every law
of the scores, admissible or not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dpcp_audit.extensions.claims import LocalDP, Table, TableColumn
from dpcp_audit.extensions.claims import validate as _validate
from dpcp_audit.extensions.laws import FiniteLaw, FinitePair
from dpcp_audit.extensions.mechanisms import (
    KaryRandomizedResponse,
    OnMiss,
    WindowSearch,
    label_users,
    score_table,
)
from dpcp_ledger.ldpcp.table_rows import crossing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from dpcp_audit.extensions.claims import FloatArray, IntArray


_ROUNDS, _DELTA, _USERS = 10, 0.1, 100_000
"""At which Δ is compared."""
_MOST_LABELS = 4096


def switch(epsilon: float) -> int | None:
    """Return the smallest k from which unary encoding has less noise over sets of every size.

    Examples
    --------
    >>> switch(1.0), switch(2.0)
    (41, 107)
    """

    def better(k: int) -> bool:
        of_bits = partial(unary_variance, *optimised(epsilon), k)
        sizes = range(k + 1)
        return max(map(of_bits, sizes)) < max(map(partial(kary_variance, epsilon, k), sizes))

    return first_labels(better)


def first_labels(better: Callable[[int], bool]) -> int | None:
    """Return the smallest k that is better, as all above it are; None beyond 4,096 labels."""
    low, high = 2, 4
    while not better(high):
        low, high = high, 2 * high
        if high > _MOST_LABELS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if better(middle) else (middle, high)
    return high


def kary_variance(epsilon: float, k: int, size: int) -> float:
    """Return the variance of 1{R in a set}/(1−β) under k-RR, the larger of y inside and outside."""
    beta = KaryRandomizedResponse(epsilon, k).beta
    spread = beta * size / k
    chances = ([1 - beta + spread] if size else []) + ([spread] if size < k else [])
    return max(chance * (1 - chance) for chance in chances) / (1 - beta) ** 2


def unary_variance(keep: float, flip: float, k: int, size: int) -> float:
    """Return the sum of independent bits' variances, the larger of y inside and outside a set."""
    other = flip * (1 - flip)
    inside = [keep * (1 - keep) + (size - 1) * other] if size else []
    outside = [size * other] if size < k else []
    return max(inside + outside) / (keep - flip) ** 2


def optimised(epsilon: float) -> tuple[float, float]:
    """Return optimised unary encoding's chances of a 1: of the true label, and of every other."""
    return 0.5, 1 / (math.exp(epsilon) + 1)


def rappor(epsilon: float) -> tuple[float, float]:
    """Return the chances of a 1 in RAPPOR's one-time response: of the true label, and others."""
    flip = 1 / (math.exp(epsilon / 2) + 1)
    return 1 - flip, flip


class LabelChannel(Protocol):
    """Each user's channel on its label in {0, ..., k−1}, with its debiasing weights."""

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
        return kary_variance(self.response.epsilon, self.k, size)

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
        return cls(k, *optimised(epsilon))

    @classmethod
    def rappor(cls, epsilon: float, k: int) -> UnaryChannel:
        """Return RAPPOR's one-time response: keep = 1 − flip = e^(ε/2)/(e^(ε/2)+1)."""
        _validate.positive(epsilon=epsilon)
        return cls(k, *rappor(epsilon))

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
        return unary_variance(self.keep, self.flip, self.k, size)

    def reach(self, size: int) -> float:
        """Return a bound on the distance of the bits' weights from their mean."""
        return size * max(self.keep, 1 - self.flip) / (self.keep - self.flip)


@dataclass(frozen=True, slots=True, eq=False)
class MatrixChannel:
    """Any channel of finitely many reports whose matrix has a left inverse.

    Parameters
    ----------
    matrix : ndarray, shape (k, reports)
        P(R | y), a row a label, of full row rank.
    """

    matrix: FloatArray

    def __post_init__(self) -> None:
        values = _validate.array(self.matrix, name="matrix", ndim=2)
        for row in values:
            FiniteLaw.from_mass(row)
        if len(values) < 2 or np.linalg.matrix_rank(values) < len(values):
            raise ValueError("matrix must have at least 2 rows, which are linearly independent")

    @property
    def k(self) -> int:
        """The number of labels."""
        return len(self.matrix)

    @property
    def guarantee(self) -> LocalDP:
        """The largest log-ratio of two labels; infinite where a report rules a label out."""
        return LocalDP(self.pair().max_divergence())

    def pair(self) -> FinitePair:
        """Return the exact laws on the two labels whose reports differ most."""
        laws = [FiniteLaw.from_mass(row) for row in self.matrix]
        pairs = [FinitePair(p, q) for p in laws for q in laws if p is not q]
        return max(pairs, key=FinitePair.max_divergence)

    @property
    def _inverse(self) -> FloatArray:
        """W, shape (reports, k), with matrix @ W = 1."""
        return np.asarray(np.linalg.pinv(self.matrix), dtype=np.float64)

    def weights(self, labels: IntArray, *, rng: np.random.Generator) -> FloatArray:
        """Draw reports and return their rows of W, shape (n, k)."""
        edges = np.cumsum(self.matrix, axis=1)[labels]
        drawn = rng.random(len(labels))[:, None] * edges[:, -1:]
        return np.asarray(self._inverse[(drawn >= edges).sum(axis=1)])

    def variance(self, size: int) -> float:
        """Return a bound on the variance: the mean of the square of the largest such sum."""
        return float((self.matrix @ self._largest(size) ** 2).max())

    def reach(self, size: int) -> float:
        """Return a bound on the distance from the mean, which is 0 or 1."""
        return float(self._largest(size).max()) + 1

    def _largest(self, size: int) -> FloatArray:
        """Return the largest |ΣW(R, y′)| over sets of so many labels, shape (reports,)."""
        ordered = np.sort(self._inverse, axis=1)
        high, low = ordered[:, self.k - size :].sum(axis=1), ordered[:, :size].sum(axis=1)
        return np.asarray(np.maximum(np.abs(high), np.abs(low)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelCalibration(WindowSearch):
    """LDP-CP-L with another channel than k-RR; scores lie in [0, 1].

    Parameters
    ----------
    alpha, rounds, window_width, window, on_miss, starred
        As in ``WindowSearch``. Starred and with the upper end on a miss, unless said otherwise.
    channel : LabelChannel
        What every user runs on its label.
    """

    channel: LabelChannel
    on_miss: OnMiss = OnMiss.UPPER_END
    starred: bool = True

    @property
    def guarantee(self) -> LocalDP:
        """The channel's."""
        return self.channel.guarantee

    def sample(
        self,
        scores: ArrayLike,
        labels: ArrayLike,
        size: int,
        *,
        rng: np.random.Generator | int | None = None,
    ) -> FloatArray:
        """Draw the reports and search, ``size`` times; shape (size,).

        Parameters
        ----------
        scores : array_like, shape (n, k)
            Scores of every label of the users, in [0, 1].
        labels : array_like, shape (n,)
            Their true labels.
        size : int
            Number of releases.
        """
        values, true = label_users(scores, labels, k=self.channel.k)
        _validate.integer(size=size, at_least=1)
        generator = _validate.generator(rng)
        order = np.argsort(values, axis=None, kind="stable")
        ranked, sums = values.ravel()[order], np.zeros((size, values.size + 1))
        for run in range(size):  # a report of k weights a user: memory for one release at a time
            weights = self.channel.weights(true, rng=generator)
            sums[run, 1:] = np.cumsum(weights.ravel()[order]) / true.size

        def estimate(_: int, q: FloatArray, which: IntArray) -> FloatArray:
            return np.asarray(sums[which, np.searchsorted(ranked, q, side="right")])

        return self.search(estimate, runs=size).threshold


def channel_width(channel: LabelChannel, scores: ArrayLike, *, rounds: int, delta: float) -> float:
    """Return Δ of the coverage theorem above, from the features, which the reports show.

    Parameters
    ----------
    scores : array_like, shape (n, k)
        Scores of every label of the users, in [0, 1].
    rounds : int
        T, at most 20: the bound is over all 2^T − 1 midpoints.
    delta : float
        δ in (0, 1).
    """
    values = score_table(scores, k=channel.k)
    _validate.integer(rounds=rounds, at_least=1, at_most=20)
    _validate.open_unit(delta=delta)
    n, points = len(values), 2**rounds - 1
    midpoints: FloatArray = np.linspace(0.0, 1.0, points + 2)[1:-1]
    log_term = math.log(4 * points / delta)
    noise = max(
        _noise(channel, np.bincount((values <= q).sum(axis=1), minlength=1), log_term)
        for q in _distinct(values, midpoints)
    )
    return noise + math.sqrt(math.log(4 / delta) / (2 * n))


def _noise(channel: LabelChannel, users: IntArray, log_term: float) -> float:
    """Return what the reports add to Δ at one midpoint, users by set size."""
    n, sizes = int(users.sum()), np.flatnonzero(users)
    variance = sum(int(users[m]) * channel.variance(int(m)) for m in sizes) / n
    reach = max(channel.reach(int(m)) for m in sizes)
    return bernstein_width(variance, reach, n=n, log_term=log_term)


def _distinct(values: FloatArray, midpoints: FloatArray) -> FloatArray:
    """Return the midpoints that differ in which scores lie at or below them."""
    places = np.searchsorted(np.sort(values, axis=None), midpoints, side="right")
    return midpoints[np.unique(places, return_index=True)[1]]


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


def width_switch(epsilon: float, n: int) -> int | None:
    """Return the smallest k from which unary encoding adds less to Δ of n users than k-RR.

    At T = 10 and δ = 0.1, over sets of every size. None where that is beyond 4,096 labels: with few
    users Δ is as large as the range of a report.

    Examples
    --------
    >>> width_switch(1.0, n=100_000)
    43
    """
    log_term = math.log(4 * (2**_ROUNDS - 1) / _DELTA)

    def largest(channel: LabelChannel) -> float:
        return max(
            bernstein_width(channel.variance(size), channel.reach(size), n=n, log_term=log_term)
            for size in range(channel.k + 1)
        )

    def better(k: int) -> bool:
        kary = KaryChannel(KaryRandomizedResponse(epsilon, k))
        return largest(UnaryChannel.optimised(epsilon, k)) < largest(kary)

    return first_labels(better)


def switch_table(epsilons: Sequence[float] = (0.5, 1.0, 2.0, 3.0)) -> Table:
    """Return from how many labels on unary encoding has less noise, by what is compared."""
    return Table(
        title="Labels from which optimised unary encoding has less noise than k-RR",
        columns=[
            TableColumn(name="ε", texts=[f"{epsilon:g}" for epsilon in epsilons]),
            TableColumn(name="one label", texts=[str(crossing(e) + 1) for e in epsilons]),
            TableColumn(name="sets of every size", texts=[str(switch(e)) for e in epsilons]),
            TableColumn(
                name=f"Δ, n = {_USERS:,}", texts=[str(width_switch(e, _USERS)) for e in epsilons]
            ),
            TableColumn(name="16e^ε", texts=[f"{16 * math.exp(e):.0f}" for e in epsilons]),
        ],
    )
