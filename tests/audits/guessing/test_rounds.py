"""Rounds: every output is dealt once, by fair coins, however the pools stand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from dpcp_audit.audits.guessing.experts import LogOdds, settled
from dpcp_audit.audits.guessing.game import Pools, play
from dpcp_audit.audits.guessing.guesser import Guesser, Plan, Tangent
from dpcp_audit.audits.search.features import ScalarValue


def test_each_output_is_dealt_once_to_its_own_coin() -> None:
    first, second = np.arange(300.0), -1.0 - np.arange(300.0)
    pools = Pools(first, second, rng=np.random.default_rng(0))
    coins, outputs = (np.concatenate(x) for x in zip(*(pools(50) for _ in range(30)), strict=True))
    assert (coins == (outputs >= 0)).all()
    assert outputs[coins].tolist() == first[: coins.sum()].tolist()
    assert outputs[~coins].tolist() == second[: (~coins).sum()].tolist()
    assert 500 < coins.size < 600
    assert not pools(50)[0].size


@pytest.mark.statistical(false_alarm=1e-6)
def test_counting_cards_does_not_help() -> None:
    """False alarm at most 1e-6: whoever bets on the fuller pool is right half of the time."""
    right = total = 0
    rng = np.random.default_rng(1)
    for _ in range(400):
        pools, lead = Pools(np.zeros(40), np.zeros(40), rng=rng), 0
        while (coins := pools(1)[0]).size:
            right += bool(coins[0]) == (lead <= 0)
            total += 1
            lead += 1 if coins[0] else -1
    assert binom.ppf(5e-7, total, 0.5) <= right <= binom.isf(5e-7, total, 0.5)


def test_the_first_guesses_count_and_missing_ones_are_filled() -> None:
    always = LogOdds(feature=ScalarValue(), cuts=np.array([0.5]), steps=np.array([-9.0, 9.0]))
    never = LogOdds(feature=ScalarValue(), cuts=np.zeros(0), steps=np.zeros(1))
    for rule, guesses in ((always, 300), (never, 0)):
        rng = np.random.default_rng(2)
        played = play(
            Pools(np.ones(400), np.zeros(400), rng=rng),
            Guesser(experts=(settled(rule),), rules=[rule]),
            Plan(tangent=Tangent(1.0, 0.0), share=300 / 700),
            rounds=700,
            significance=0.05,
            rng=rng,
        )
        assert played.test.guesses == 300
        assert (played.right, played.wrong) == (guesses, 0)
        assert played.filled == pytest.approx(0.73 * (300 - guesses), abs=40)


def test_guesses_are_kept_for_the_outputs_that_tell_most() -> None:
    """Half of the outputs tell their input, the others nothing: 3 of 7 rounds are guessed."""
    rng = np.random.default_rng(3)
    first, second = (rng.permutation(np.repeat([told, 1.0], 250)) for told in (2.0, 0.0))
    rule = LogOdds(
        feature=ScalarValue(), cuts=np.array([0.5, 1.5]), steps=np.array([-9.0, 2.0, 9.0])
    )
    played = play(
        Pools(first, second, rng=rng),
        Guesser(experts=(settled(rule),), rules=[rule]),
        Plan(tangent=Tangent(1.0, 0.0), share=300 / 700),
        rounds=700,
        significance=0.05,
        rng=rng,
    )
    assert played.right + played.wrong > 250
    assert played.wrong <= 15
