"""Sequential privacy audits: bets on guesses of the input, until the answer is clear."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.audits.bets import BetAccount, PairBets, bet_violation, rounds_needed
from dpcp_audit.audits.certificates import linear_claim
from dpcp_audit.audits.estimates.shown_losses import StoppedLoss
from dpcp_audit.audits.guessing.rounds import tangents_of
from dpcp_audit.audits.search.pair_race import Arm, Bank, PairRace
from dpcp_audit.audits.search.pair_space import FixedPairs, input_key
from dpcp_audit.audits.search.stages import SearchedPrivacy, halves
from dpcp_audit.laws.losses import log_ratio, loss_of
from dpcp_audit.stats.roots import fewest
from dpcp_audit.targets.degenerate import Randomness, require_independent, unprobed
from dpcp_audit.words.evidence import conclude, of_loss, refutes

if TYPE_CHECKING:
    from dpcp_audit.audits.search.pair_space import Candidate
    from dpcp_audit.words.arrays import BoolArray, FloatArray
    from dpcp_audit.words.checks import Context
    from dpcp_audit.words.results import Estimate, Evidence, Outcome, Power

_FIRST_STAGE = 1200
_MOST_STAGES = 8
_SEARCHED = 0.4
"""The share of a stage's outputs that search; the others are bet on."""
_MOST_SEARCHED = 200_000
_FIRST_BATCH, _LARGEST_BATCH = 64, 2**15
_GROWTH = 1.3
_SEARCH_STREAM = 10**6
_COIN_STREAM = 2 * 10**6
_PROBED_OUTPUTS, _KEPT_OUTPUTS = 2**13, 2**17
"""Of a stage, at most so many of an input are probed for serial dependence, and so many kept."""
_DETAIL = "of the release, from guesses of its input, valid at any time"


@dataclass(frozen=True, slots=True, kw_only=True)
class SequentialPrivacy(SearchedPrivacy):
    """Test a guarantee by bets, and stop as soon as the answer is clear.

    In each round a fair coin picks one of two neighbours, the target releases one output, and an
    observer that has learned from all rounds before bets on which of the two it was. The wealth
    goes on from pair to pair; the claim is refuted once it reaches 1/significance. A true claim is
    refuted with probability at most the check's significance, wherever one stops: what is bet on,
    and how much, depends on earlier rounds only. A millionth of the significance probes outputs
    for serial dependence.

    One pair that is given is bet on from the first output. Where there are more, stages of
    doubling size each spend two fifths of their outputs on a race over pairs and bet on the winner.

    Beside the verdict stands the loss on the pair with the largest gain, with two sides at 95 %
    (``StoppedLoss``): after a refutation by further outputs, half as many as were drawn.
    """

    def __post_init__(self) -> None:
        SearchedPrivacy.__post_init__(self)
        if not tangents_of(self.guarantee):
            raise ValueError(f"guarantee must be one that outputs can refute, got {self.guarantee}")

    def __call__(self, context: Context) -> Outcome:
        """Search and bet, until the wealth or the draws say stop.

        Raises
        ------
        DegenerateTargetError
            If the target returns NaN or another shape, seeds itself, returns the same value on
            all inputs tried, or raises on all of them.
        """
        race = self._race(context)
        bank = race.bank
        account = BetAccount(
            tangents=tangents_of(self.guarantee), significance=unprobed(context.significance)
        )
        tables: dict[object, PairBets] = {}
        for number, budget in enumerate(self._budgets(context)):
            stop = bank.spent + budget
            candidate = self._candidate(race, number, budget)
            key = tuple(map(input_key, candidate.inputs))
            table = tables.setdefault(key, PairBets(candidate=candidate, bounds=self.pairs.bounds))
            self._bet(race, table, account, stop)
            if number == 0:
                bank.probed(race.random_input(Arm(candidate=candidate)), self.randomness)
            if account.refuted:
                break
        if not account.refuted:
            race.require_varied()
        best = max(tables.values(), key=lambda table: table.won)
        return self._outcome(best, account, race, context)

    def smallest_violation(self, context: Context) -> Power:
        """Return the smallest loss that is refuted with probability 0.95.

        Conservative: that of one look, after the rounds of the last stage, half of which only
        teach; of randomised response for (ε, δ)-DP, else if the release is Gaussian.
        """
        rounds = _counted(self._budgets(context), single=self._single is not None)
        significance = unprobed(context.significance)
        return bet_violation(self.guarantee, rounds, significance=significance)

    def draws_needed(self, violation: float, *, significance: float) -> int:
        """Return ``draws`` that refute a true loss of ``violation``; conservative too."""
        rounds = rounds_needed(self.guarantee, violation, significance=unprobed(significance))
        single = self._single is not None
        found = fewest(
            lambda draws: _counted(_budgets(draws, single=single), single=single) >= rounds,
            at_least=600,
            share=1000,
        )
        if found is None:
            raise ValueError(f"violation is too close to the claim, got {violation!r}")
        return found

    @property
    def _single(self) -> Candidate | None:
        """The only pair, where there is but one."""
        if isinstance(self.pairs, FixedPairs) and len(self.pairs.pairs) == 1:
            return self.pairs.candidates()[0]
        return None

    def _budgets(self, context: Context) -> list[int]:
        return _budgets(self._draws(context), single=self._single is not None)

    def _candidate(self, race: PairRace, number: int, budget: int) -> Candidate:
        """Return the pair to bet on; a search spends its share of the budget."""
        if (single := self._single) is not None:
            race.arms.append(Arm(candidate=single))
            return single
        rng = race.bank.context.rng(_SEARCH_STREAM + number)
        return race.round(min(_MOST_SEARCHED, round(_SEARCHED * budget)), rng).candidate

    def _bet(self, race: PairRace, table: PairBets, account: BetAccount, stop: int) -> None:
        """Bet on a pair in growing batches; probe the outputs before anything is concluded."""
        bank, context, size = race.bank, race.bank.context, _FIRST_BATCH
        table.teach(bank, account.tangents, context.rng(_COIN_STREAM + bank.spent))
        batches: list[tuple[BoolArray, FloatArray]] = []
        while bank.spent < stop and not account.refuted:
            rng = context.rng(_COIN_STREAM + bank.spent)
            coins = rng.random(min(size, stop - bank.spent)) < 1 / 2
            outputs = table.deal(bank, coins)
            for value, chosen in zip(table.candidate.inputs, (coins, ~coins), strict=True):
                bank.keep(value, outputs[chosen])
            table.play(account, outputs, coins)
            if sum(len(known) for known, _ in batches) < _KEPT_OUTPUTS:
                batches.append((coins, outputs))
            size = min(_LARGEST_BATCH, math.ceil(_GROWTH * size))
        if not batches:
            return
        known, drawn = (np.concatenate(parts) for parts in zip(*batches, strict=True))
        table.stage = drawn[known], drawn[~known]
        if self.randomness is not Randomness.NONE:
            significance = context.significance / _MOST_STAGES
            first, second = (each[:_PROBED_OUTPUTS] for each in table.stage)
            require_independent(first, second, significance=significance)

    def _outcome(
        self, best: PairBets, account: BetAccount, race: PairRace, context: Context
    ) -> Outcome:
        evidence = self._evidence(best, account, context)
        estimates = self._estimates(best, race.bank, evidence)
        return conclude(
            evidence,
            lambda: self.smallest_violation(context),
            detect=self.detect,
            witness=self._found(best.candidate, race, size=max(1, best.rounds // 2))
            | best.as_data(),
            note=_note(best, account, race.bank),
            estimates=estimates,
        )

    def _estimates(self, best: PairBets, bank: Bank, evidence: Evidence) -> tuple[Estimate, ...]:
        budgets = self._budgets(bank.context)
        loss = StoppedLoss(guarantee=self.guarantee, bounds=self.pairs.bounds, stages=len(budgets))
        if not refutes(evidence):
            return loss.of_stage(best.stage)
        return loss.of_refuted(bank, best.candidate, draws=sum(budgets), evidence=evidence)

    def _evidence(self, best: PairBets, account: BetAccount, context: Context) -> Evidence:
        right, wrong = best.right / max(1, best.rounds), max(best.wrong, 0.5) / max(1, best.rounds)
        linear, loss = linear_claim(self.guarantee), loss_of(self.guarantee)
        value = loss.of_event(right, wrong) if right > wrong else 0.0
        if linear is not None:
            value = log_ratio(right - linear.delta, wrong)
        return of_loss(
            loss.quantity,
            value,
            account.loss_bound(self.guarantee),
            refuted=account.refuted,
            at=loss.at,
            detail=_DETAIL,
            claimed=loss.claimed_at(wrong),
            confidence=1 - context.significance,
            n_samples=account.rounds,
        )


def _budgets(draws: int, *, single: bool) -> list[int]:
    """Return the outputs of each stage."""
    if single:
        return [draws]
    stages = min(_MOST_STAGES, max(1, int(math.log2(max(2.0, draws / _FIRST_STAGE + 1)))))
    return list(halves(draws, stages))


def _counted(budgets: list[int], *, single: bool) -> int:
    """Return the rounds of the last stage that its power is stated for: half of those bet on."""
    last = budgets[-1]
    return (last if single else last - min(_MOST_SEARCHED, round(_SEARCHED * last))) // 2


def _note(best: PairBets, account: BetAccount, bank: Bank) -> str:
    rounds, spent = account.rounds, bank.spent
    began = (
        f"Refuted after {rounds} rounds" if account.refuted else f"Not refuted by {rounds} rounds"
    )
    return (
        f"{began}, {spent} outputs drawn in all: the bettor's wealth is {account.wealth:.3g}, and "
        f"{account.target:.3g} refutes. On the pair with the largest gain "
        f"({best.candidate.family}), {best.right} of {best.right + best.wrong} bold guesses of the "
        "input were right."
    )
