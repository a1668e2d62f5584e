"""Randomised response: k-ary and binary, debiased estimates, and reports among shuffled others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np
import scipy

from dpcp_audit.laws.laws import FiniteLaw
from dpcp_audit.stats.enclosures import ends, response_move
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.guarantees import LocalDP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from dpcp_audit.words.validate import BoolArray, FloatArray, IntArray


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


_MOST_OUTCOMES = 2**23


def hidden_laws(
    n: int, others: ArrayLike, users: Sequence[ArrayLike], *, tail: float = 1e-20
) -> tuple[FiniteLaw, ...]:
    """Return the exact laws of the n users' counts over bins, one for each law of one user.

    With M the multinomial law of n reports of law π, a user's report of law v among n−1
    reports of law π gives the counts h the probability

        M(h)·Σ_j (h_j/n)·(v_j/π_j),

    so that a pair of laws is enumerated in one pass and all its terms are positive.

    Parameters
    ----------
    n : int
        Number of users.
    others : array_like, shape (m,)
        π: the law of each other user's report over the bins.
    users : sequence of array_like, shape (m,)
        The laws v of the one user's report, for example on two labels. They may have mass
        only where π has.
    tail : float
        Each count of the others is followed where both its binomial tails exceed ``tail``;
        what lies beyond goes into one outcome and into the laws' slack.

    Returns
    -------
    tuple of FiniteLaw
        The two laws, on shared outcomes; log-probabilities carry an absolute rounding error of
        about 1e-15·n·log(n).

    Raises
    ------
    ValueError
        If more than 2^23 outcomes would have to be enumerated.
    """
    _validate.integer(n=n, at_least=1)
    _validate.closed_unit(tail=tail)
    pi = _law(others, "others")
    laws = [_law(user, f"users[{i}]") for i, user in enumerate(users)]
    for i, law in enumerate(laws):
        if law.shape != pi.shape or (law[pi == 0] > 0).any():
            raise ValueError(f"users[{i}] must have mass only where others has, got {law!r}")
    live = pi > 0
    counts, slack = _counts_kept(n, pi[live], tail)
    log_multinomial = scipy.special.gammaln(n + 1) + (
        scipy.special.xlogy(counts, pi[live]) - scipy.special.gammaln(counts + 1)
    ).sum(axis=1)
    lumped = math.log(slack) if slack else -math.inf
    return tuple(
        FiniteLaw(
            np.append(log_multinomial + _log_weight(counts, law[live] / pi[live]), lumped),
            np.zeros(len(counts) + 1),
            slack,
        )
        for law in laws
    )


def _log_weight(counts: IntArray, ratios: FloatArray) -> FloatArray:
    """Return log Σ_j (h_j/n)·(v_j/π_j), −∞ where the user cannot have been there."""
    with np.errstate(divide="ignore"):
        return np.log(counts @ ratios) - math.log(counts[0].sum())


def _law(value: ArrayLike, name: str) -> FloatArray:
    law = _validate.array(value, name=name, ndim=1)
    if (law < 0).any() or abs(law.sum() - 1) > 1e-9:
        raise ValueError(f"{name} must be >= 0 and sum to 1, got {value!r}")
    return law


def _counts_kept(n: int, pi: FloatArray, tail: float) -> tuple[IntArray, float]:
    """Return the counts of n users to enumerate, shape (outcomes, m), and the mass left out."""
    windows = [_window(n - 1, float(p), tail) for p in pi]
    widths = [high - low for low, high, _ in windows]
    free: list[int] = np.argsort(widths)[:-1].tolist()  # the widest follows
    ranges = [np.arange(windows[j][0], min(n, windows[j][1] + 1) + 1) for j in free]
    size = math.prod(axis.size for axis in ranges)
    if size > _MOST_OUTCOMES:
        raise ValueError(
            f"n must leave at most {_MOST_OUTCOMES} outcomes to enumerate, got n = {n} with {size}"
        )
    counts = np.zeros((size, pi.size), dtype=np.int64)
    for j, axis in zip(free, np.meshgrid(*ranges, indexing="ij"), strict=True):
        counts[:, j] = axis.ravel()
    last = int(np.setdiff1d(np.arange(pi.size), free)[0])
    counts[:, last] = n - counts.sum(axis=1)
    return counts[counts[:, last] >= 0], float(sum(windows[j][2] for j in free))


def _window(n: int, p: float, tail: float) -> tuple[int, int, float]:
    """Return the range outside which Binomial(n, p) has at most ``tail`` a side, and that mass."""
    k = np.arange(n + 1)
    special = scipy.special  # imported when it is first asked for
    log_choose = special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
    mass = np.exp(log_choose + special.xlogy(k, p) + special.xlog1py(n - k, -min(p, 1.0)))
    below, above = np.cumsum(mass), np.cumsum(mass[::-1])
    low, cut = (int(np.searchsorted(side, tail, side="right")) for side in (below, above))
    out = (below[low - 1] if low else 0.0) + (above[cut - 1] if cut else 0.0)
    return low, n - cut, float(out)
