"""What is bet on one pair of inputs: its observer, and what was won by it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.audits.guessing.experts import Settled
from dpcp_audit.audits.guessing.game_test import GameTest
from dpcp_audit.audits.guessing.guesser import Guesser, Plan
from dpcp_audit.audits.guessing.rounds import Pools, learn
from dpcp_audit.audits.guessing.smoothing import smoothed_experts
from dpcp_audit.stats.betting import levels_of

if TYPE_CHECKING:
    from dpcp_audit._types import BoolArray, FloatArray
    from dpcp_audit.audits.bet_account import BetAccount
    from dpcp_audit.audits.guessing.guesser import Tangent
    from dpcp_audit.audits.search.pair_race import Bank
    from dpcp_audit.audits.search.pair_space import Candidate
    from dpcp_audit.results import PlainData

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
