"""The account of bets: one wealth, closed once it refutes, and bounds that its counts give."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcp_audit.audits.bets import BetAccount
from dpcp_audit.audits.guessing.rounds import tangents_of
from dpcp_audit.stats.betting import levels_of
from dpcp_audit.words.guarantees import ZCDP, ApproxDP, GaussianDP, PrivacyGuarantee, PureDP

RNG = np.random.default_rng(0)
OUTPUTS = RNG.normal(size=6000)
COINS = RNG.random(6000) < 0.5
SCORES = 2 * (1 - 2 * (OUTPUTS + np.where(COINS, 0.0, 2.0)) / 2)
"""True log-odds of a Gaussian release of μ = 2."""


def played(guarantee: PrivacyGuarantee, *, significance: float = 0.05) -> BetAccount:
    account = BetAccount(tangents=tangents_of(guarantee), significance=significance)
    for start in range(0, 6000, 500):
        part = slice(start, start + 500)
        tangent = account.tangents[start % len(account.tangents)]
        account.bet(tangent, levels_of(SCORES[part]), (SCORES[part] > 0) == COINS[part])
        if account.refuted:
            break
    return account


@pytest.mark.parametrize(
    "guarantee", [PureDP(1.0), ApproxDP(1.0, 0.1), GaussianDP(1.0), ZCDP(0.5), ApproxDP(0.0, 0.3)]
)
def test_it_closes_at_the_round_that_refutes(guarantee: PrivacyGuarantee) -> None:
    account = played(guarantee, significance=1e-3)
    assert account.refuted
    assert account.wealth >= account.target == pytest.approx(1000)
    assert account.wealth < 1.5 * account.target  # not later
    assert account.rounds == account.counts.sum() < 3000
    assert account.loss_bound(guarantee) >= 0.9 * guarantee.parameters.get("epsilon", 0.5)


@pytest.mark.parametrize(("guarantee", "true"), [(GaussianDP(4.0), 2.0), (ZCDP(8.0), 2.0)])
def test_a_claim_that_is_not_refuted_has_a_bound_below_the_truth(
    guarantee: PrivacyGuarantee, true: float
) -> None:
    """Of one sample that is fixed: no chance is left."""
    account = played(guarantee)
    assert not account.refuted
    assert 0 <= account.loss_bound(guarantee) <= true


def test_nothing_bet_is_nothing_known() -> None:
    account = BetAccount(tangents=tangents_of(PureDP(1.0)), significance=0.05)
    assert (account.wealth, account.rounds, account.loss_bound(PureDP(1.0))) == (1.0, 0, 0.0)
    assert math.isclose(account.target, 20)
