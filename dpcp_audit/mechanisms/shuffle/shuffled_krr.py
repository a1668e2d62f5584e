"""Shuffled k-ary randomised response: exact laws of the histogram of reports."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit import _validate
from dpcp_audit.guarantees import LocalDP
from dpcp_audit.mechanisms.laws import FinitePair
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse
from dpcp_audit.mechanisms.shuffle.blanket_counts import hidden_laws

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray


class Others(StrEnum):
    """Which one label all other users hold, where one user's label changes from a to b."""

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

    def __post_init__(self) -> None:
        _validate.positive(epsilon=self.epsilon)
        _validate.integer(k=self.k, at_least=2)

    @property
    def local(self) -> KaryRandomizedResponse:
        """What each user runs."""
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
            What the other n − 1 hold.
        tail : float
            As in ``hiding.hidden_laws``; 0 prunes nothing.
        """
        _validate.choice(Others, others=others)
        if others is Others.SAME:
            same, first, second = self._over(3, 0), self._over(3, 0), self._over(3, 1)
            return FinitePair(*hidden_laws(n, same, [first, second], tail=tail))
        if self.k < 3:
            raise ValueError(f"others must be same for k = 2, got {others!r}")
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
