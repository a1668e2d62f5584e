"""Evidence of a game: it exceeds the claim where the test refutes, and finds the true loss."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit, ndtr

from dpcp_audit.audits.guessing.experts import LogOdds
from dpcp_audit.audits.guessing.game import Played, judge_game, least_loss, tangents_of
from dpcp_audit.audits.search.features import ScalarValue
from dpcp_audit.laws.losses import loss_of
from dpcp_audit.stats.guessing import GuessingTest
from dpcp_audit.words.evidence import refutes
from dpcp_audit.words.guarantees import (
    ZCDP,
    ApproxDP,
    GaussianDP,
    PrivacyGuarantee,
    PureDP,
    RenyiDP,
)

ROUNDS = 200_000
RULE = LogOdds(feature=ScalarValue(), cuts=np.zeros(0), steps=np.zeros(1))


def played(guarantee: PrivacyGuarantee, shift: float) -> Played:
    """Return the expected game on N(0, 1) and N(shift, 1), guessed from the tangent's ε on."""
    tangents = tangents_of(guarantee)
    epsilon, delta = tangents[len(tangents) // 2]
    right, wrong = (
        round(ROUNDS * float(ndtr(side * shift / 2 - epsilon / shift))) for side in (1, -1)
    )
    test = GuessingTest(rounds=ROUNDS, guesses=right + wrong, epsilon=epsilon, delta=delta)
    return Played(test=test, right=right, wrong=wrong, filled=0, rule=RULE)


@pytest.mark.parametrize(
    ("guarantee", "true"),
    [(GaussianDP(0.8), 1.0), (ZCDP(0.2), 0.5), (RenyiDP(2.0, 0.4), 1.0)],
)
def test_the_loss_of_a_gaussian_release_is_bounded_from_below(
    guarantee: PrivacyGuarantee, true: float
) -> None:
    evidence = judge_game(guarantee, played(guarantee, 1.0), significance=0.05).evidence
    assert refutes(evidence)
    assert evidence.claimed is not None
    assert evidence.claimed < evidence.lower <= evidence.value <= true + 0.01
    assert evidence.value > 0.6 * true


@pytest.mark.parametrize("mu", [0.03, 0.3, 1.0, 2.9, 7.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 2.3, 6.0])
def test_the_least_loss_on_a_tangent_is_that_of_the_curve_it_touches(mu, epsilon) -> None:
    """The line r = δ + e^ε·w touches the power curve of μ-GDP where δ is its δ(ε)."""
    delta = float(GaussianDP(mu).delta_at(epsilon))
    least = least_loss(loss_of(GaussianDP(1.0)), math.exp(epsilon), delta)
    assert least == (pytest.approx(mu, rel=1e-6) if delta > 1e-12 else 0.0)


@pytest.mark.parametrize("guarantee", [ZCDP(0.2), RenyiDP(3.0, 0.4), RenyiDP(1.5, 0.4)], ids=str)
@pytest.mark.parametrize(("ratio", "delta"), [(1.0, 0.2), (2.5, 0.03), (20.0, 1e-4), (10, 0.8)])
def test_no_point_of_the_line_has_a_smaller_loss(guarantee, ratio, delta) -> None:
    loss = loss_of(guarantee)
    wrongs = expit(np.linspace(-28.0, 28.0, 800)) * (1 - delta) / ratio
    losses = [loss.of_event(min(1.0, delta + ratio * wrong), wrong) for wrong in wrongs.tolist()]
    least = least_loss(loss, ratio, delta)
    assert 0.99 * min(losses) <= least <= min(losses) * (1 + 1e-9)


def test_no_loss_is_shown_by_a_line_through_the_origin() -> None:
    assert least_loss(loss_of(ZCDP(1.0)), 2.0, 0.0) == 0.0
    assert least_loss(loss_of(ZCDP(1.0)), 2.0, -math.inf) == 0.0


@pytest.mark.parametrize("guarantee", [GaussianDP(1.0), ZCDP(0.5), RenyiDP(2.0, 1.0)])
def test_a_release_that_meets_its_claim_is_not_refuted(guarantee: PrivacyGuarantee) -> None:
    evidence = judge_game(guarantee, played(guarantee, 1.0), significance=0.05).evidence
    assert not refutes(evidence)
    assert evidence.lower <= (evidence.claimed or 0.0)


@pytest.mark.parametrize(("claim", "delta"), [(PureDP(0.9), 0.0), (ApproxDP(0.9, 0.01), 0.01)])
def test_epsilon_is_the_log_ratio_of_right_and_wrong(claim: PureDP, delta: float) -> None:
    test = GuessingTest(rounds=40_000, guesses=20_000, epsilon=0.9, delta=delta)
    game = Played(test=test, right=15_000, wrong=5000, filled=0, rule=RULE)
    evidence = judge_game(claim, game, significance=0.05).evidence
    assert evidence.value == pytest.approx(math.log((0.375 - delta) / 0.125))
    assert 0.9 < evidence.lower < evidence.value
    assert evidence.at == ({"delta": delta} if delta else {})


def test_guesses_that_are_all_right_show_a_finite_loss() -> None:
    test = GuessingTest(rounds=1000, guesses=500, epsilon=1.0)
    game = Played(test=test, right=500, wrong=0, filled=0, rule=RULE)
    evidence = judge_game(PureDP(1.0), game, significance=0.05).evidence
    assert evidence.value == pytest.approx(math.log(1000))
    assert evidence.lower == pytest.approx(-math.log(math.expm1(-math.log(0.05) / 500)), rel=1e-4)
