"""The guessing game on a pair of inputs, taught by a pilot: a test for the black-box search."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.audits import event_power
from dpcp_audit.audits.guessing.experts import Settled
from dpcp_audit.audits.guessing.game_evidence import judge_game
from dpcp_audit.audits.guessing.guesser import Guesser, Plan, Tangent
from dpcp_audit.audits.guessing.log_odds import LogOdds
from dpcp_audit.audits.guessing.rounds import Pools, learn, play
from dpcp_audit.audits.guessing.smoothing import smoothed_experts
from dpcp_audit.audits.guessing.tangents import tangents_of

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray
    from dpcp_audit.audits.certificates import Judgement
    from dpcp_audit.guarantees import PrivacyGuarantee
    from dpcp_audit.results import PlainData, Power

_FEWEST = 30


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GameTest:
    """A guessing game whose observer has learned from a pilot, and goes on learning.

    Parameters
    ----------
    observer : Guesser
    plan : Plan
    seed : int
        Of the coins; independent of the outputs.
    promise : float
        Standard errors beyond the claim, per square root of a pair of outputs.
    """

    observer: Guesser
    plan: Plan
    seed: int
    promise: float

    def judge(
        self,
        guarantee: PrivacyGuarantee,
        outputs: FloatArray,
        neighbour_outputs: FloatArray,
        *,
        significance: float,
    ) -> Judgement:
        """Play a game of fresh outputs; its final rule is the witness."""
        rng = np.random.default_rng([self.seed, 1])
        played = play(
            Pools(outputs, neighbour_outputs, rng=rng),
            replace(self.observer),
            self.plan,
            rounds=Pools.rounds(len(outputs)),
            significance=significance,
            rng=rng,
        )
        judgement = judge_game(guarantee, played, significance=significance)
        return replace(judgement, held=self._described(played.rule))

    def smallest_violation(
        self, guarantee: PrivacyGuarantee, trials: int, *, significance: float
    ) -> Power:
        """Return the smallest loss that a well-chosen event refutes with probability 0.95."""
        return event_power.smallest_violation(guarantee, trials, significance=significance)

    def as_data(self) -> PlainData:
        """Return the rule that the pilot has taught, and the plan."""
        rule = self.observer.rule(self.plan.tangent)
        return self._described(rule.above(self.plan.tangent.eased(self.observer.rounds)))

    @classmethod
    def from_data(cls, data: dict[str, Any], *, seed: int) -> GameTest:
        """Build a test whose observer keeps to the rule that was written."""
        rule = LogOdds.from_data(data["rule"])
        return cls(
            observer=Guesser(experts=(Settled(rule),), rules=[rule]),
            plan=Plan(tangent=Tangent(data["epsilon"], data["delta"]), share=data["share"]),
            seed=seed,
            promise=np.nan,
        )

    def _described(self, rule: LogOdds) -> PlainData:
        epsilon, delta = self.plan.tangent
        game = {"rule": rule.as_data(), "share": self.plan.share}
        return {"game": game | {"epsilon": epsilon, "delta": delta}}


def choose_game(
    guarantee: PrivacyGuarantee,
    outputs: FloatArray,
    neighbour_outputs: FloatArray,
    *,
    bounds: tuple[float, float] | None,
    seed: int,
) -> GameTest | None:
    """Teach an observer on pilot outputs; None where it knows nothing to guess by."""
    tangents = tangents_of(guarantee)
    if not tangents or len(outputs) < _FEWEST:
        return None
    observer = Guesser(experts=smoothed_experts(outputs, bounds=bounds))
    pools = Pools(outputs, neighbour_outputs, rng=np.random.default_rng([seed, 0]))
    plan = learn(pools, observer, tangents, rounds=Pools.rounds(len(outputs)))
    promise = observer.promise(plan) * np.sqrt(2)
    if not plan.share > 0:
        return None
    return GameTest(observer=observer, plan=plan, seed=seed, promise=promise)
