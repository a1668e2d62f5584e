"""What a guessing game shows of a privacy loss, in the parameter of the guarantee claimed.

The guessing game on a pair of inputs, taught by a pilot: a test for the black-box search.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.audits import event_power
from dpcp_audit.audits.certificates import Judgement, linear_claim
from dpcp_audit.audits.guessing.experts import LogOdds, Settled, smoothed_experts
from dpcp_audit.audits.guessing.guesser import Guesser, Plan, Tangent
from dpcp_audit.audits.guessing.rounds import Pools, learn, play, tangents_of
from dpcp_audit.laws.losses import log_ratio, loss_of
from dpcp_audit.stats.guessing import delta_bound, epsilon_bound
from dpcp_audit.words import brent as _brent
from dpcp_audit.words.evidence import of_loss

if TYPE_CHECKING:
    from dpcp_audit.audits.guessing.rounds import Played
    from dpcp_audit.laws.losses import Loss
    from dpcp_audit.words.arrays import FloatArray
    from dpcp_audit.words.guarantees import PrivacyGuarantee
    from dpcp_audit.words.results import PlainData, Power


_DETAIL = "of the release, from guesses of its input"
_LEAST_LOG, _GRID, _STEP = -30.0, 60, 0.5


def judge_game(guarantee: PrivacyGuarantee, played: Played, *, significance: float) -> Judgement:
    """Judge a claim by a game that was played against one of its tangents.

    A true claim is refuted with probability at most ``significance``.
    """
    test, rounds = played.test, played.test.rounds
    right, wrong = played.right / rounds, max(played.wrong, 0.5) / rounds
    refuted = test.p_value(played.counted) <= significance
    linear, loss = linear_claim(guarantee), loss_of(guarantee)
    if linear is not None:
        value = log_ratio(right - linear.delta, wrong)
        lower = epsilon_bound(test, played.counted, significance=significance)
    else:
        value = loss.of_event(right, wrong) if right > wrong else 0.0
        bound = delta_bound(test, played.counted, significance=significance)
        lower = least_loss(loss, math.exp(test.epsilon), bound)
    return Judgement(
        evidence=of_loss(
            loss.quantity,
            value,
            lower,
            refuted=refuted,
            at=loss.at,
            detail=_DETAIL,
            claimed=loss.claimed_at(wrong),
            confidence=1 - significance,
            n_samples=rounds,
        ),
        note=(
            f"{played.right} of {played.right + played.wrong} guesses of the input were right, "
            f"in {rounds} rounds; the claim allows {test.critical(significance) - 1} of "
            f"{test.guesses} at this confidence."
        ),
    )


def least_loss(loss: Loss, ratio: float, delta: float) -> float:
    """Return the least loss of two rates with r − κ·w = δ, which those of the game exceed.

    Along the line a loss falls and then rises. It is 0 where that is not seen: where δ is so tiny
    that it still rises at the smallest w tried.
    """
    if not delta > 0:
        return 0.0

    def at(log: float) -> float:
        wrong = math.exp(log) * (1 - delta) / ratio
        return loss.of_event(min(1.0, delta + ratio * wrong), wrong)

    best = min((_LEAST_LOG + _STEP * place for place in range(_GRID)), key=at)
    return 0.0 if best == _LEAST_LOG else _brent.least(at, best - _STEP, best + _STEP)


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
