"""Shuffled randomised response, binary and k-ary: the exact laws of what is released."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logsumexp

from dpcp_audit.extensions.claims import LocalDP
from dpcp_audit.extensions.laws import FiniteLaw, FinitePair
from dpcp_audit.extensions.mechanisms import (
    BinaryRandomizedResponse,
    KaryRandomizedResponse,
    hidden_laws,
)

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import FloatArray, IntArray
    from dpcp_audit.extensions.mechanisms import LDPCPScores


@dataclass(frozen=True, slots=True)
class ShuffledBinaryResponse:
    """n users randomise one bit each; a shuffler releases the reports in random order.

    All that the order does not hide is the number of ones, so the law of the count is the
    law of the mechanism.

    Parameters
    ----------
    epsilon : float
        Privacy parameter of each user's report, in (0, 300].
    """

    epsilon: float

    @property
    def local(self) -> BinaryRandomizedResponse:
        """The randomizer that each user runs."""
        return BinaryRandomizedResponse(self.epsilon)

    @property
    def guarantee(self) -> LocalDP:
        """ε-DP, and no better: an outcome of all ones reveals a bit at loss ε whatever n is."""
        return LocalDP(self.epsilon)

    def law(self, ones: int, n: int) -> FiniteLaw:
        """Return the exact law of the count, over 0, ..., n, where ``ones`` of n bits are 1.

        Binomial(ones, keep) + Binomial(n − ones, 1 − keep), to a relative accuracy of about
        1e-10 in every outcome however small.
        """
        return FiniteLaw(_log_count_mass(ones, n, self.epsilon), np.zeros(n + 1))

    def pair(self, n: int, ones_elsewhere: int) -> FinitePair:
        """Return the laws where one user's bit is 1 and where it is 0.

        Parameters
        ----------
        n : int
            Number of users.
        ones_elsewhere : int
            The number of the other n − 1 users who hold 1.
        """
        return FinitePair(self.law(ones_elsewhere + 1, n), self.law(ones_elsewhere, n))


def log_count_masses(n: int, epsilon: float) -> FloatArray:
    """Return log P(count = s), s = 0, ..., n, for every number of ones, shape (n + 1, n + 1)."""
    ones = np.arange(n + 1)
    turns = np.array([_turn(int(each), n, epsilon) for each in ones])
    last = int(max(turns.max(), (n - turns).max()))
    with np.errstate(invalid="ignore", divide="ignore"):  # beyond a row's own turn
        leading = _leading_masses(ones, n, math.exp(-epsilon), last).T
    return np.stack(
        [
            _joined(leading[k, :turn], leading[n - k, : n - turn + 1], k, n, epsilon)
            for k, turn in enumerate(turns.tolist())
        ]
    )


def _log_count_mass(ones: int, n: int, epsilon: float) -> FloatArray:
    """Return log P(count = s) for s = 0, ..., n, by a recurrence of positive terms.

    With r = e^(−ε), the masses are the coefficients of (r+z)^ones·(1+rz)^(n−ones), up to a
    constant. Its logarithmic derivative gives

        (s+1)·p[s+1] = ((ones−s)/r + (n−ones−s)·r)·p[s] + (n−s+1)·p[s−1].

    The bracket falls in s and is >= 0 up to some s*. From p[0] up to s* every term is
    positive, so no accuracy is lost; beyond s*, the same holds from p[n] downwards (the
    count of zeros, with ones and zeros exchanged).
    """
    r, turn = math.exp(-epsilon), _turn(ones, n, epsilon)
    upward = _leading_masses(ones, n, r, turn)[:turn]
    return _joined(upward, _leading_masses(n - ones, n, r, n - turn), ones, n, epsilon)


def _turn(ones: int, n: int, epsilon: float) -> int:
    """Return s*, up to which the bracket is >= 0."""
    r = math.exp(-epsilon)
    return math.ceil((ones + (n - ones) * r * r) / (1 + r * r))


def _joined(
    upward: FloatArray, downward: FloatArray, ones: int, n: int, epsilon: float
) -> FloatArray:
    """Return the logarithms below s*, and from n down to it, as one law."""
    ends = [upward - ones * epsilon, downward[::-1] - (n - ones) * epsilon]
    return np.concatenate(ends) - n * math.log1p(math.exp(-epsilon))


def _leading_masses(ones: int | IntArray, n: int, r: float, last: int) -> FloatArray:
    """Return log p[s]/p[0] for s = 0, ..., last, where the bracket is >= 0 below ``last``.

    Numbers are carried as a mantissa and a power of two, and never leave the floating range. Of
    several numbers of ones, shape (last + 1, ones).
    """
    numbers: Any = math if isinstance(ones, int) else np  # whose functions have one name
    zeros = n - ones
    logs = np.zeros((last + 1, *np.shape(ones)))
    before, current, power = 0.0, 1.0, 0
    for s in range(last):
        bracket = (ones - s) / r + (zeros - s) * r
        following = (bracket * current + (n - s + 1) * before) / (s + 1)
        mantissa, shift = numbers.frexp(following)
        before, current, power = numbers.ldexp(current, -shift), mantissa, power + shift
        logs[s + 1] = numbers.log(mantissa) + power * math.log(2)
    return logs


def decision_laws(mechanism: LDPCPScores, *, asked: int, n: int) -> FloatArray:
    """Return log P(Z below, in, above the window) for each number of ones in a block.

    Parameters
    ----------
    asked, n : int
        Users in the block, and in all.

    Returns
    -------
    ndarray, shape (asked + 1, 3)
        A row for each number of ones among the bits of the block.
    """
    log_mass = log_count_masses(asked, mechanism.epsilon)
    z = mechanism.debias(np.arange(asked + 1), asked=asked, n=n)
    bottom, top = mechanism.limits
    below, above = z < bottom, z > top
    parts = [_total(log_mass[:, part]) for part in (below, ~(below | above), above)]
    return np.minimum(0.0, np.stack(parts, axis=1))


def _total(log_mass: FloatArray) -> FloatArray:
    """Return the logarithm of the mass along the last axis; −∞ where there is none."""
    if not log_mass.shape[-1]:
        return np.full(log_mass.shape[:-1], -np.inf)
    with np.errstate(divide="ignore"):
        return np.asarray(logsumexp(log_mass, axis=-1))


class Others(StrEnum):
    """The label that all other users hold, where one user's label changes from a to b."""

    SAME = "same"
    """a: the n users agree, or one dissents. The loss depends on two counts."""
    THIRD = "third"
    """Neither a nor b (k >= 3): a and b hide among flipped reports only. Three counts; for
    two only, at k = 3."""


@dataclass(frozen=True, slots=True)
class ShuffledKaryResponse:
    """n users randomise one label each; a shuffler releases the reports in random order.

    All that the order does not hide is the histogram of the reports.

    Parameters
    ----------
    epsilon : float
        Privacy parameter ε > 0 of each user's report.
    k : int
        Number of labels, at least 2.
    """

    epsilon: float
    k: int

    @property
    def local(self) -> KaryRandomizedResponse:
        """The randomizer that each user runs."""
        return KaryRandomizedResponse(self.epsilon, self.k)

    @property
    def guarantee(self) -> LocalDP:
        """ε-DP, and no better: n equal reports tell a label at loss ε whatever n is."""
        return LocalDP(self.epsilon)

    def pair(self, n: int, others: Others = Others.THIRD, *, tail: float = 1e-20) -> FinitePair:
        """Return the laws of the histogram where one user holds a and where it holds b.

        The others hold one and the same label, so that labels besides it, a and b are
        exchangeable and their counts enter as a sum: the pair is exact for these inputs, and
        a lower bound on the loss over all inputs.

        Parameters
        ----------
        n : int
            Number of users.
        others : Others
            The values that the other n − 1 users hold.
        tail : float
            Probability to prune, as in ``hidden_laws``; 0 prunes nothing.
        """
        if others is Others.SAME:
            same, first, second = self._over(3, 0), self._over(3, 0), self._over(3, 1)
            return FinitePair(*hidden_laws(n, same, [first, second], tail=tail))
        users = [self._over(4, 1), self._over(4, 2)]
        return FinitePair(*hidden_laws(n, self._over(4, 0), users, tail=tail))

    def blanket_pair(self, n: int, *, tail: float = 1e-20) -> FinitePair:
        """Return a pair that dominates the histogram's laws whatever the others hold.

        A report of k-RR is uniform with probability β and true otherwise (LDP-CP paper,
        Eq. (1)). An adversary who is told which of the others' reports are true can strike
        them out, and sees the one user's report among the uniform ones: the privacy blanket
        (Balle, Bell, Gascón and Nissim 2019, Section 5). Nothing else is bounded: the law of
        the counts (a, b, other uniform reports, true ones) is exact.
        """
        response = self.local
        flip = response.beta / self.k
        blanket = np.array([flip, flip, (self.k - 2) * flip, 1 - response.beta])
        keep = response.keep_probability
        user = np.array([keep, flip, (self.k - 2) * flip, 0.0])
        return FinitePair(*hidden_laws(n, blanket, [user, user[[1, 0, 2, 3]]], tail=tail))

    def _over(self, bins: int, label: int) -> FloatArray:
        """Return a report's law over ``bins``−1 labels and all others, for a label among them."""
        keep, flip = self.local.keep_probability, self.local.beta / self.k
        law = np.full(bins, flip)
        law[label], law[-1] = keep, (self.k - bins + 1) * flip
        return law
