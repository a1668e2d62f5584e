"""One-run audits: the region against brute force, inversion, what is refused."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import expit
from scipy.stats import binom, combine_pvalues

from dpcp_audit.audits.training.canary_games import (
    Guesses,
    epsilon_lower_bound,
    p_value,
    refutes,
    top_guesses,
    trade_off_bound,
)
from dpcp_audit.mechanisms.subsampled_gaussian import SubsampledGaussian
from dpcp_audit.words.guarantees import ApproxDP, PureDP

GAUSSIAN = SubsampledGaussian(sampling_rate=1.0, steps=1, noise_multiplier=1.0)


def largest_tail(epsilon: float, delta: float, guesses: Guesses) -> float:
    """The largest P(at least v right) in keeping with every inequality, as a linear programme."""
    v, c, m = guesses.correct, guesses.guesses, guesses.canaries
    i = np.arange(c + 1)
    rows, limits = [], []
    for j in range(1, c + 1):
        right = np.where(i >= j, i / m, 0.0)
        wrong = np.where(i >= j - 1, (c - i) / m, 0.0)
        rows += [right - math.exp(epsilon) * wrong, right - math.exp(-epsilon) * wrong]
        limits += [delta, 1 - math.exp(-epsilon) * (1 - delta)]
    found = linprog(
        -(i >= v).astype(float),
        A_ub=np.array(rows),
        b_ub=np.array(limits),
        A_eq=np.ones((1, c + 1)),
        b_eq=[1.0],
    )
    assert found.success
    return -float(found.fun)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.5])
@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.05])
@pytest.mark.parametrize("counts", [(8, 10, 10), (10, 10, 30), (12, 20, 200), (5, 9, 9)])
def test_the_recursion_is_the_linear_programme(epsilon, delta, counts) -> None:
    correct, made, canaries = counts
    guesses = Guesses(correct=correct, guesses=made, canaries=canaries)
    exact = largest_tail(epsilon, delta, guesses)
    found = p_value(ApproxDP(epsilon, delta), guesses)
    assert exact * (1 - 1e-6) <= found <= exact * 1.03


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_randomised_response_is_refuted_at_most_at_the_level_and_not_much_less(epsilon) -> None:
    """The level is computed: the number of right guesses is binomial."""
    made, significance = 150, 0.05

    def refuted(correct: int) -> bool:
        guesses = Guesses(correct=correct, guesses=made, canaries=made)
        return refutes(PureDP(epsilon), guesses, significance=significance)

    critical = next(k for k in range(made + 1) if refuted(k))
    level = float(binom.sf(critical - 1, made, expit(epsilon)))
    assert level <= significance
    # the region's inequalities alone do not know that guesses are binomial
    assert level >= significance / 200


def test_a_rare_event_that_gives_many_canaries_away_at_once_is_allowed() -> None:
    """With probability δm/c the coins of c canaries at random are shown: that is (0, δ)-DP."""
    delta, canaries, made = 1e-4, 1000, 20
    all_right = Guesses(correct=made, guesses=made, canaries=canaries)
    assert p_value(ApproxDP(1e-9, delta), all_right) >= delta * canaries / made


def test_a_gaussian_that_nobody_claimed_refutes_randomised_response() -> None:
    response = PureDP(1.0)
    typical = Guesses(correct=1462, guesses=2000, canaries=2000)  # 2000·e/(1 + e)
    assert not refutes(response, typical, significance=0.05)
    taken_for_gaussian = trade_off_bound(GAUSSIAN, typical, delta=1e-5, significance=0.05)
    assert taken_for_gaussian > 1.5 * response.epsilon
    assert epsilon_lower_bound(typical, delta=0.0, significance=0.05) <= response.epsilon


def test_a_lower_bound_comes_near_the_truth() -> None:
    typical = Guesses(correct=2924, guesses=4000, canaries=4000)
    assert 0.8 <= epsilon_lower_bound(typical, delta=0.0, significance=0.05) <= 1.0


def test_the_claims_own_region_is_sharper_than_epsilon_and_delta() -> None:
    guesses = Guesses(correct=271, guesses=307, canaries=10_240)
    training = SubsampledGaussian(sampling_rate=1 / 15, steps=100, noise_multiplier=1.0827)
    inside = trade_off_bound(training, guesses, delta=1e-5, significance=0.05)
    anywhere = epsilon_lower_bound(guesses, delta=1e-5, significance=0.05)
    assert 1 < anywhere < inside <= training.epsilon_at(1e-5)


def test_nothing_is_refuted_by_wrong_guesses() -> None:
    none = Guesses(correct=0, guesses=100, canaries=100)
    assert p_value(PureDP(0.1), none) == 1
    assert epsilon_lower_bound(none, delta=0.0, significance=0.05) == 0
    assert trade_off_bound(GAUSSIAN, none, delta=1e-5, significance=0.05) == 0


def test_certain_guesses_have_tiny_p_values() -> None:
    certain = Guesses(correct=500, guesses=500, canaries=500)
    assert p_value(PureDP(0.1), certain) <= 1.1e-12


def test_groups_of_runs_are_combined_by_fishers_method() -> None:
    """Ten groups of p-value about 0.07 together refute what none refutes alone."""
    groups = [Guesses(correct=c, guesses=40, canaries=60) for c in (35, 34, 36, 35, 33)] * 2
    claim = ApproxDP(1.0, 1e-6)
    each = [p_value(claim, group) for group in groups]
    assert min(each) > 1e-3
    assert p_value(claim, *groups) == pytest.approx(float(combine_pvalues(each).pvalue), rel=1e-6)
    assert refutes(claim, *groups, significance=1e-6)
    bound = epsilon_lower_bound(*groups, delta=1e-6, significance=1e-6)
    assert 1.0 < bound < math.log(35 / 5)


def test_top_guesses_counts_the_members_of_the_largest_scores() -> None:
    scores = np.array([[3.0, 1.0], [2.0, 0.0]])
    members = np.array([[True, True], [False, True]])
    assert top_guesses(scores, members, guesses=2) == Guesses(correct=1, guesses=2, canaries=4)
    both = top_guesses(scores, members, guesses=1) + top_guesses(scores, members, guesses=2)
    assert both == Guesses(correct=2, guesses=3, canaries=8)
    with pytest.raises(ValueError, match="at least 5 canaries"):
        top_guesses(scores, members, guesses=5)


def test_the_last_digits_of_scores_do_not_choose_the_guesses() -> None:
    scores = np.array([0.5, 0.5, 0.25, 0.5]) + 1e-9 * np.array([0, 1, 2, 3])
    members = np.array([True, False, True, True])
    assert top_guesses(scores, members, guesses=2) == Guesses(correct=1, guesses=2, canaries=4)
    assert top_guesses(scores, members, guesses=3) == Guesses(correct=2, guesses=3, canaries=4)


def test_guesses_must_fit_together() -> None:
    with pytest.raises(ValueError, match="correct must not exceed guesses"):
        Guesses(correct=3, guesses=2, canaries=5)
    with pytest.raises(ValueError, match="nor guesses canaries"):
        Guesses(correct=1, guesses=6, canaries=5)
