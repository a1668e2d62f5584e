"""The wealth of a bettor against a claim: one for all rounds, pairs of inputs and tangents."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.audits.certificates import linear_claim
from dpcp_audit.audits.guessing.game_evidence import least_loss
from dpcp_audit.audits.loss_bounds import event_loss
from dpcp_audit.stats.betting import LEVELS, MEMBERS, GuessBets, epsilon_bound, mixture_wealth
from dpcp_audit.stats.bisection import turn

if TYPE_CHECKING:
    from dpcp_audit._types import BoolArray, FloatArray, IntArray
    from dpcp_audit.audits.guessing.guesser import Tangent
    from dpcp_audit.guarantees import PrivacyGuarantee

_HALVINGS = 20
_MOST = 1 - 1e-9


@dataclass(slots=True, kw_only=True, eq=False)
class BetAccount:
    """Bets against the tangents of a claim, one after the other.

    Parameters
    ----------
    tangents : tuple of Tangent
        Of the claim; each round bets against one that was chosen before.
    significance : float
    rounds : int
        Played so far, those that only taught among them.
    """

    tangents: tuple[Tangent, ...]
    significance: float
    rounds: int = 0
    counts: IntArray = field(init=False)
    _wealth: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self.counts = np.zeros((len(self.tangents), LEVELS, 2), dtype=np.int64)
        self._wealth = np.zeros(MEMBERS)

    @property
    def log_wealth(self) -> float:
        """The log of the wealth; it starts at 0."""
        return float(mixture_wealth(self._wealth))

    @property
    def wealth(self) -> float:
        """The wealth, 1 before the first round."""
        return math.exp(self.log_wealth)

    @property
    def target(self) -> float:
        """The wealth that refutes."""
        return 1 / self.significance

    @property
    def refuted(self) -> bool:
        """Whether the wealth has reached 1/significance; then no more is bet."""
        return self.log_wealth >= -math.log(self.significance)

    def bet(self, tangent: Tangent, levels: IntArray, right: BoolArray) -> int:
        """Bet on rounds, up to the one that refutes; return how many that were."""
        index = self.tangents.index(tangent)
        bets = GuessBets(epsilon=tangent.epsilon, delta=tangent.delta)
        paths = self._wealth[:, None] + bets.log_paths(levels, right)
        reached = mixture_wealth(paths) >= -math.log(self.significance)
        taken = int(reached.argmax()) + 1 if reached.any() else levels.size
        self.rounds += taken
        if taken:
            self._wealth = paths[:, taken - 1]
            np.add.at(self.counts[index], (levels[:taken], right[:taken].astype(np.int64)), 1)
        return taken

    def loss_bound(self, guarantee: PrivacyGuarantee) -> float:
        """Return a lower bound of the loss, in the unit of ``event_loss``, valid at any time.

        Bets on the same guesses are settled again against smaller and larger claims. Where the
        guarantee has several tangents, all their δ are scaled alike; a loss that would keep within
        them is refuted. Not below 0.
        """
        if not self.counts.any():
            return 0.0
        linear = linear_claim(guarantee)
        if linear is not None:
            found = epsilon_bound(
                self.counts[0], delta=linear.delta, significance=self.significance
            )
            return max(0.0, found)
        share, loss = self._refuted_share(), event_loss(guarantee)
        return min(
            least_loss(loss, math.exp(epsilon), share * delta)
            for (epsilon, delta), counts in zip(self.tangents, self.counts, strict=True)
            if counts.any()
        )

    def _refuted_share(self) -> float:
        """Return the largest factor of every tangent's δ at which the same guesses refute."""
        if not self._refutes(0.0):
            return 0.0
        largest = _MOST / max(delta for _, delta in self.tangents)
        return turn(self._refutes, largest, 0.0, steps=_HALVINGS).holds

    def _refutes(self, share: float) -> bool:
        wealth = np.zeros(MEMBERS)
        for (epsilon, delta), counts in zip(self.tangents, self.counts, strict=True):
            if counts.any():
                wealth += GuessBets(epsilon=epsilon, delta=share * delta).log_wealth(counts)
        return bool(mixture_wealth(wealth) >= -math.log(self.significance))
