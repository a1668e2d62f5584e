"""One-run audits: both theorems against brute force, inversion, what is refused."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import expit
from scipy.stats import binom, combine_pvalues

from dpcp_audit.audits.training.canary_games import (
    Guesses,
    OneRunTheorem,
    binomial_p_value,
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


@pytest.mark.parametrize("delta", [0.0, 1e-4])
def test_the_binomial_theorem_against_its_formula(delta) -> None:
    guesses = Guesses(correct=41, guesses=50, canaries=300)
    q = float(expit(1.0))
    tail = [float(binom.sf(k - 1, 50, q)) for k in range(51)]
    alpha = max((tail[41 - i] - tail[41]) / i for i in range(1, 42))
    claim = ApproxDP(1.0, delta) if delta else PureDP(1.0)
    assert binomial_p_value(claim, guesses) == pytest.approx(tail[41] + 2 * 300 * delta * alpha)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("theorem", OneRunTheorem)
def test_randomised_response_is_refuted_at_most_at_the_level_and_not_much_less(
    epsilon, theorem
) -> None:
    """The level is computed: the number of right guesses is binomial."""
    made, significance = 150, 0.05

    def refuted(correct: int) -> bool:
        guesses = Guesses(correct=correct, guesses=made, canaries=made)
        if theorem is OneRunTheorem.BINOMIAL:
            return binomial_p_value(PureDP(epsilon), guesses) <= significance
        return refutes(PureDP(epsilon), guesses, significance=significance)

    critical = next(k for k in range(made + 1) if refuted(k))
    level = float(binom.sf(critical - 1, made, expit(epsilon)))
    assert level <= significance
    # the region's inequalities alone do not know that guesses are binomial
    assert level >= (significance / 3 if theorem is OneRunTheorem.BINOMIAL else significance / 200)


@pytest.mark.parametrize("test", [p_value, binomial_p_value])
def test_a_rare_event_that_gives_many_canaries_away_at_once_is_allowed(test) -> None:
    """With probability δm/c the coins of c canaries at random are shown: that is (0, δ)-DP."""
    delta, canaries, made = 1e-4, 1000, 20
    all_right = Guesses(correct=made, guesses=made, canaries=canaries)
    assert test(ApproxDP(1e-9, delta), all_right) >= delta * canaries / made


def test_a_gaussian_that_nobody_claimed_refutes_randomised_response() -> None:
    response = PureDP(1.0)
    typical = Guesses(correct=1462, guesses=2000, canaries=2000)  # 2000·e/(1 + e)
    assert not refutes(response, typical, significance=0.05)
    taken_for_gaussian = trade_off_bound(GAUSSIAN, typical, delta=1e-5, significance=0.05)
    assert taken_for_gaussian > 1.5 * response.epsilon
    assert epsilon_lower_bound(typical, delta=0.0, significance=0.05) <= response.epsilon


def test_lower_bounds_come_near_the_truth() -> None:
    typical = Guesses(correct=2924, guesses=4000, canaries=4000)
    for theorem in OneRunTheorem:
        bound = epsilon_lower_bound(typical, delta=0.0, significance=0.05, theorem=theorem)
        assert 0.8 <= bound <= 1.0


def test_the_claims_own_region_is_sharper_than_epsilon_and_delta() -> None:
    guesses = Guesses(correct=271, guesses=307, canaries=10_240)
    training = SubsampledGaussian(sampling_rate=1 / 15, steps=100, noise_multiplier=1.0827)
    inside = trade_off_bound(training, guesses, delta=1e-5, significance=0.05)
    anywhere = epsilon_lower_bound(guesses, delta=1e-5, significance=0.05)
    binomial = epsilon_lower_bound(
        guesses, delta=1e-5, significance=0.05, theorem=OneRunTheorem.BINOMIAL
    )
    assert binomial - 0.1 <= anywhere < inside <= training.epsilon_at(1e-5)
    assert binomial > 1


def test_the_region_does_not_mind_many_canaries_as_the_binomial_theorem_does() -> None:
    guesses = Guesses(correct=1706, guesses=1800, canaries=600_000)
    region = epsilon_lower_bound(guesses, delta=1e-5, significance=0.05)
    binomial = epsilon_lower_bound(
        guesses, delta=1e-5, significance=0.05, theorem=OneRunTheorem.BINOMIAL
    )
    assert region > 1.4 * binomial


def test_nothing_is_refuted_by_wrong_guesses() -> None:
    none = Guesses(correct=0, guesses=100, canaries=100)
    assert p_value(PureDP(0.1), none) == binomial_p_value(PureDP(0.1), none) == 1
    assert epsilon_lower_bound(none, delta=0.0, significance=0.05) == 0
    assert trade_off_bound(GAUSSIAN, none, delta=1e-5, significance=0.05) == 0


def test_certain_guesses_have_tiny_p_values() -> None:
    certain = Guesses(correct=500, guesses=500, canaries=500)
    assert p_value(PureDP(0.1), certain) <= 1.1e-12
    assert binomial_p_value(PureDP(0.1), certain) < 1e-100


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


def test_the_binomial_formula_is_not_believed_where_it_is_no_bound() -> None:
    """A law of two guesses that depends on how many of them are right, by brute force."""
    delta, growth = 0.05, math.e
    none = (1 - delta * (2 + growth)) / (1 + growth) ** 2
    one = growth * none + delta
    laws = [growth * one, one, none]  # by the number of wrong guesses
    coins = list(itertools.product([0, 1], repeat=2))

    def law(truth: tuple[int, ...]) -> np.ndarray:
        return np.array([laws[sum(a != b for a, b in zip(truth, y, strict=True))] for y in coins])

    assert law((0, 0)).sum() == pytest.approx(1)
    for here, there in [((0, 0), (0, 1)), ((0, 0), (1, 0)), ((1, 1), (0, 1)), ((1, 1), (1, 0))]:
        for p, q in [(law(here), law(there)), (law(there), law(here))]:
            assert np.maximum(p - growth * q, 0).sum() <= delta + 1e-12
    guesses = Guesses(correct=1, guesses=2, canaries=2)
    assert 1 - none == pytest.approx(0.94473, abs=1e-5)
    assert binomial_p_value(ApproxDP(1.0, delta), guesses) >= 1 - none


def test_guesses_must_fit_together() -> None:
    with pytest.raises(ValueError, match="correct must not exceed guesses"):
        Guesses(correct=3, guesses=2, canaries=5)
    with pytest.raises(ValueError, match="nor guesses canaries"):
        Guesses(correct=1, guesses=6, canaries=5)
