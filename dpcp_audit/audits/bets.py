"""What is bet on one pair of inputs: its observer, and what was won by it.

The wealth of a bettor against a claim: one for all rounds, pairs of inputs and tangents.

The power of bets on guesses: the smallest loss that so many rounds refute, and its inverse.

Of randomised response for (ε, δ)-DP, the law at which no guess is wasted; of a Gaussian release, of
which guesses show a part only, for every other guarantee. The observer's rule is taken as known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, ndtr

from dpcp_audit.audits.certificates import linear_claim
from dpcp_audit.audits.guessing.experts import Settled, smoothed_experts
from dpcp_audit.audits.guessing.game_test import GameTest, least_loss
from dpcp_audit.audits.guessing.guesser import Guesser, Plan
from dpcp_audit.audits.guessing.rounds import Pools, learn, tangents_of
from dpcp_audit.laws.losses import loss_of
from dpcp_audit.stats.betting import (
    LEVELS,
    MEMBERS,
    GuessBets,
    epsilon_bound,
    levels_of,
    mixture_wealth,
)
from dpcp_audit.stats.roots import turn
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.results import Power

if TYPE_CHECKING:
    from dpcp_audit.audits.guessing.guesser import Tangent
    from dpcp_audit.audits.search.pair_race import Bank
    from dpcp_audit.audits.search.pair_space import Candidate
    from dpcp_audit.words.arrays import BoolArray, FloatArray, IntArray
    from dpcp_audit.words.guarantees import PrivacyGuarantee
    from dpcp_audit.words.results import PlainData


_HOPEFUL = 1.2
"""By how much learned log-odds are raised before they are bet: where they have their largest value
on many outputs, a guess too few costs more than one too many."""
_CHARGED = 0.01
"""A δ from which they are not: each round is charged for the largest stake then, and pays only by
outputs well beyond the claim."""
_FEWEST_TAUGHT = 30
_NOTHING = np.zeros(0)


@dataclass(slots=True, kw_only=True, eq=False)
class PairBets:
    """The rounds of one pair.

    Parameters
    ----------
    candidate : Candidate
    bounds : tuple of float or None
        The interval of a bisection, for the observer's experts.
    rounds, right, wrong : int
        Those that were bet on, and the guesses among them that exceeded the claim.
    won : float
        By how much they have raised the log of the wealth.
    stage : tuple of ndarray
        Outputs of either input in the last stage that bet on the pair.
    """

    candidate: Candidate
    bounds: tuple[float, float] | None
    rounds: int = 0
    right: int = 0
    wrong: int = 0
    won: float = 0.0
    stage: tuple[FloatArray, FloatArray] = (_NOTHING, _NOTHING)
    tangent: Tangent | None = None
    _observer: Guesser | None = None

    def teach(self, bank: Bank, tangents: tuple[Tangent, ...], rng: np.random.Generator) -> None:
        """Let a new observer learn from the outputs that the search has kept."""
        known = bank.pilot(self.candidate)
        if self._observer is not None or len(known[0]) < _FEWEST_TAUGHT:
            return
        self._observer = Guesser(experts=smoothed_experts(known[0], bounds=self.bounds))
        rounds = Pools.rounds(len(known[0]))
        learn(Pools(*known, rng=rng), self._observer, tangents, rounds=rounds)

    def deal(self, bank: Bank, coins: BoolArray) -> FloatArray:
        """Draw a fresh output for each coin, of the first input where it is true."""
        sides = [
            (chosen, bank.fresh(value, int(chosen.sum())))
            for value, chosen in zip(self.candidate.inputs, (coins, ~coins), strict=True)
            if chosen.any()
        ]
        outputs = np.empty((coins.size, *sides[0][1].shape[1:]))
        for chosen, drawn in sides:
            outputs[chosen] = drawn
        return outputs

    def play(self, account: BetAccount, outputs: FloatArray, coins: BoolArray) -> None:
        """Bet on a batch, by what was learned before it, and learn from it."""
        if self._observer is None:
            self._observer = Guesser(experts=smoothed_experts(outputs, bounds=self.bounds))
            account.rounds += coins.size
        else:
            self._bet(self._observer, account, outputs, coins)
        self._observer.see(outputs, coins)
        self._observer.screen(account.tangents)

    def _bet(
        self, observer: Guesser, account: BetAccount, outputs: FloatArray, coins: BoolArray
    ) -> None:
        before = account.log_wealth
        choice = observer.choose(account.tangents)
        self.tangent, scores = choice.tangent, observer.rules[choice.expert](outputs)
        scores = (_HOPEFUL if self.tangent.delta < _CHARGED else 1.0) * scores
        levels, right = levels_of(scores), (scores > 0) == coins
        taken = account.bet(self.tangent, levels, right)
        bold = np.abs(scores[:taken]) > self.tangent.epsilon
        self.won += account.log_wealth - before
        self.rounds += taken
        self.right += int((bold & right[:taken]).sum())
        self.wrong += int((bold & ~right[:taken]).sum())

    def as_data(self) -> PlainData:
        """Return the pair's last rule as a game that can be played again."""
        if self._observer is None or self.tangent is None:
            return {}
        rule = self._observer.rule(self.tangent).above(self.tangent.eased(self.rounds))
        share = (self.right + self.wrong) / max(1, self.rounds)
        return GameTest(
            observer=Guesser(experts=(Settled(rule),), rules=[rule]),
            plan=Plan(tangent=self.tangent, share=share),
            seed=0,
            promise=math.nan,
        ).as_data()


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
        """True if the wealth has reached 1/significance; then no more is bet."""
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
        """Return a lower bound of the loss, in the unit of ``loss_of``, valid at any time.

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
        share, loss = self._refuted_share(), loss_of(guarantee)
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


_LARGEST_EXCESS = 40.0
_RELATIVE = 1e-6


@lru_cache(maxsize=256)
def bet_violation(guarantee: PrivacyGuarantee, rounds: int, *, significance: float) -> Power:
    """Return the smallest loss that is refuted with probability 0.95 at one look in the end.

    Conservative: earlier looks only add. Infinity where no loss suffices.
    """
    linear, loss = linear_claim(guarantee), loss_of(guarantee)
    claimed = loss.claimed

    def refuted(violation: float) -> bool:
        return rounds_needed(guarantee, violation, significance=significance) <= rounds

    largest = claimed + _LARGEST_EXCESS
    able = refuted(largest)
    return Power(
        quantity=loss.quantity,
        smallest=turn(refuted, claimed, largest, relative=_RELATIVE).holds if able else math.inf,
        claimed=claimed,
        at=loss.at,
        detail="of randomised response" if linear else "if the release is Gaussian",
    )


def rounds_needed(guarantee: PrivacyGuarantee, violation: float, *, significance: float) -> float:
    """Return how many rounds refute a true loss, with probability at least 0.95; maybe infinity.

    Raises
    ------
    ValueError
        If the claim allows the loss.
    """
    _validate.finite(violation=violation)
    loss = loss_of(guarantee)
    claimed = loss.claimed
    if not violation > claimed:
        raise ValueError(f"violation must exceed {claimed!r}, got {violation!r}")
    linear = linear_claim(guarantee)
    if linear is not None:
        right = linear.delta + (1 - linear.delta) * float(expit(violation))
        bets = GuessBets(epsilon=linear.epsilon, delta=linear.delta)
        return bets.rounds_needed(right, 1 - right, significance=significance)
    shift = loss.to_shift(violation)
    return min(
        GuessBets(epsilon=epsilon, delta=delta).rounds_needed(
            float(ndtr(shift / 2 - epsilon / shift)),
            float(ndtr(-shift / 2 - epsilon / shift)),
            significance=significance,
        )
        for epsilon, delta in tangents_of(guarantee)
    )
