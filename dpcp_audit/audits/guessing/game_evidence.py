"""What a guessing game shows of a privacy loss, in the parameter of the guarantee claimed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpcp_audit import _brent
from dpcp_audit.audits.certificates import Judgement, linear_claim
from dpcp_audit.audits.loss_bounds import event_loss, log_ratio
from dpcp_audit.evidence import of_loss
from dpcp_audit.quantities import Quantity
from dpcp_audit.stats.guessing_test import delta_bound, epsilon_bound

if TYPE_CHECKING:
    from dpcp_audit.audits.guessing.rounds import Played
    from dpcp_audit.audits.loss_bounds import EventLoss
    from dpcp_audit.guarantees import PrivacyGuarantee

_DETAIL = "of the release, from guesses of its input"
_LEAST_LOG, _GRID, _STEP = -30.0, 60, 0.5


def judge_game(guarantee: PrivacyGuarantee, played: Played, *, significance: float) -> Judgement:
    """Judge a claim by a game that was played against one of its tangents.

    A true claim is refuted with probability at most ``significance``.
    """
    test, rounds = played.test, played.test.rounds
    right, wrong = played.right / rounds, max(played.wrong, 0.5) / rounds
    refuted = test.p_value(played.counted) <= significance
    linear = linear_claim(guarantee)
    if linear is not None:
        quantity, claimed = Quantity.EPSILON, linear.epsilon
        at = {"delta": linear.delta} if linear.delta else {}
        value = log_ratio(right - linear.delta, wrong)
        lower = epsilon_bound(test, played.counted, significance=significance)
    else:
        loss = event_loss(guarantee)
        quantity, at, claimed = loss.quantity, loss.at, loss.claimed_at(wrong)
        value = loss.of(right, wrong) if right > wrong else 0.0
        bound = delta_bound(test, played.counted, significance=significance)
        lower = least_loss(loss, math.exp(test.epsilon), bound)
    return Judgement(
        evidence=of_loss(
            quantity,
            value,
            lower,
            refuted=refuted,
            at=at,
            detail=_DETAIL,
            claimed=claimed,
            confidence=1 - significance,
            n_samples=rounds,
        ),
        note=(
            f"{played.right} of {played.right + played.wrong} guesses of the input were right, "
            f"in {rounds} rounds; the claim allows {test.critical(significance) - 1} of "
            f"{test.guesses} at this confidence."
        ),
    )


def least_loss(loss: EventLoss, ratio: float, delta: float) -> float:
    """Return the least loss of two rates with r − κ·w = δ, which those of the game exceed.

    Along the line a loss falls and then rises. It is 0 where that is not seen: where δ is so tiny
    that it still rises at the smallest w tried.
    """
    if not delta > 0:
        return 0.0

    def at(log: float) -> float:
        wrong = math.exp(log) * (1 - delta) / ratio
        return loss.of(min(1.0, delta + ratio * wrong), wrong)

    best = min((_LEAST_LOG + _STEP * place for place in range(_GRID)), key=at)
    return 0.0 if best == _LEAST_LOG else _brent.least(at, best - _STEP, best + _STEP)
