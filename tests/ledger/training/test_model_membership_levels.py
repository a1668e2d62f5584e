"""Membership checks on models hold their level, also where guesses about one model cling."""

from __future__ import annotations

import numpy as np
import pytest
from support.cohorts import Gossip, Responses
from support.refusals import most_refusals, refusals

from dpcp_audit.words.guarantees import ApproxDP, PrivacyGuarantee, PureDP
from dpcp_ledger.training.model_attacks import LossThreshold, View
from dpcp_ledger.training.model_membership import ModelMembership, RateLine, rate

pytestmark = pytest.mark.statistical(false_alarm=1e-7)


def check(models, guarantee: PrivacyGuarantee, *, n_models: int = 200) -> ModelMembership:
    return ModelMembership(
        models=models,
        attack=LossThreshold(),
        view=View.PROBABILITIES,
        guarantee=guarantee,
        n_models=n_models,
    )


@pytest.mark.parametrize(
    ("models", "claim"),
    [(Responses(1.5), PureDP(1.0)), (Gossip(0.5), ApproxDP(0.0, 0.1))],
    ids=["independent", "clinging"],
)
def test_a_claim_that_is_too_small_is_refuted(models, claim) -> None:
    """Not vacuous; false alarm at most 1e-7 for each.

    The mean gain of 500 fresh models, 0.635 and 0.5, is refuted from 0.52 and 0.22 on, some
    nine standard errors (0.0128 and 0.03) below.
    """
    refuted = refusals(check(models, claim, n_models=1000), repetitions=5, significance=0.01)
    assert refuted == 5


def test_limits_of_the_gain_err_as_seldom_as_they_say() -> None:
    """False alarm: at most 1e-7, over 80 intervals at 20 % whose truth is known."""
    rng, wrong = np.random.default_rng(0), 0
    line = RateLine.of(ApproxDP(0.0, 0.2), 0.0, targets=10)
    for _ in range(80):
        coins = rng.random((60, 10)) < 0.5
        tells = rng.random((60, 1)) < 0.4
        gains = line.gains(coins & tells, coins)  # TPR 0.4 and FPR 0, together
        lower, upper = line.limits(gains, significance=0.2, pilot=gains[:5])
        wrong += not lower <= 0.4 <= upper
    assert wrong <= most_refusals(80, level=0.2, false_alarm=1e-7)


def test_limits_of_rates_err_as_seldom_as_they_say() -> None:
    """False alarm: at most 1e-7, over 80 intervals at 20 % whose truth is known."""
    rng, wrong = np.random.default_rng(0), 0
    for _ in range(80):
        coins = rng.random((60, 10)) < 0.5
        said = np.broadcast_to(rng.random((60, 1)) < 0.3, coins.shape)
        found = rate(said, coins, significance=0.2)
        wrong += not found.lower <= 0.3 <= found.upper
    assert wrong <= most_refusals(80, level=0.2, false_alarm=1e-7)
