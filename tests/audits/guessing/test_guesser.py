"""The observer: which expert it follows, how much it plans to guess, and when it can."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from scipy.stats import binom

from dpcp_audit.audits.guesser import (
    Guesser,
    LogOdds,
    Plan,
    Tangent,
    _of,
    _prefixes,
    distinct_values,
    experts_for,
    half_lines,
    quantile_cells,
    settled,
    threshold,
)
from dpcp_audit.audits.guessing_game import Pools, play
from dpcp_audit.audits.search.event_search import LastBits, ScalarValue
from dpcp_audit.laws.laws import GaussianPair

CLAIM = Tangent(0.5, 0.0)


def shown(observer: Guesser, outputs: np.ndarray, coins: np.ndarray) -> Guesser:
    """Let an observer see rounds in batches of 500."""
    for part in np.array_split(np.arange(len(coins)), max(1, len(coins) // 500)):
        observer.see(outputs[part], coins[part])
    return observer


def test_it_follows_the_expert_that_has_been_right() -> None:
    """Of 3000 rounds where only the parity of a number is telling, and only its size."""
    rng = np.random.default_rng(0)
    coins = rng.random(3000) < 0.5
    parity = 2 * rng.integers(50, size=3000) + (coins ^ (rng.random(3000) < 0.2))
    observer = shown(Guesser(experts=experts_for(np.zeros(2))), parity.astype(float), coins)
    chosen = observer.experts[observer.choose([CLAIM]).expert]
    assert _of(chosen) is distinct_values
    sizes = coins + rng.laplace(size=3000)
    observer = shown(Guesser(experts=experts_for(np.zeros(2))), sizes, coins)
    observer.screen([CLAIM])
    assert len(observer.experts) == 4
    chosen = observer.experts[observer.choose([CLAIM]).expert]
    assert _of(chosen) in {half_lines, quantile_cells}


@pytest.mark.parametrize("epsilon", [50.0, 2000.0])
def test_an_epsilon_beyond_which_no_guess_may_be_wrong_is_a_number(epsilon) -> None:
    rng = np.random.default_rng(4)
    coins = rng.random(1500) < 0.5
    observer = Guesser(experts=experts_for(np.zeros(2)))
    shown(observer, coins + rng.normal(size=1500), coins)
    assert math.isfinite(observer.choose([Tangent(epsilon, 0.0)]).merit)


def test_values_that_it_has_only_just_seen_do_not_flatter_an_expert() -> None:
    """Blind outputs on 256 values: what ordered them by their own coins would look right."""
    rng = np.random.default_rng(1)
    merits: list[float] = []
    for _ in range(20):
        coins = rng.random(600) < 0.5
        observer = Guesser(experts=(partial(distinct_values, LastBits()),))
        shown(observer, rng.normal(size=600), coins)
        merits.append(observer.choose([Tangent(0.9, 0.0)]).merit * math.sqrt(500))
    assert np.mean(merits) < 1.0


def test_it_plans_as_many_guesses_as_outputs_that_tell() -> None:
    rng = np.random.default_rng(2)
    coins = rng.random(4000) < 0.5
    telling = rng.random(4000) < 0.3
    outputs = np.where(telling, coins ^ (rng.random(4000) < 0.1), 2.0 + rng.integers(3, size=4000))
    observer = shown(Guesser(experts=(partial(distinct_values, ScalarValue()),)), outputs, coins)
    assert observer.choose([CLAIM]).share == pytest.approx(0.3, abs=0.03)
    plan = Plan(tangent=CLAIM, share=0.3)
    assert observer.promise(plan) == pytest.approx(
        math.sqrt(0.3) * (0.9 - 0.6225) / math.sqrt(0.6225 * 0.3775), abs=0.05
    )


def test_it_says_that_it_has_seen_nothing() -> None:
    with pytest.raises(ValueError, match="seen"):
        Guesser(experts=experts_for(np.zeros(2)), rules=[]).choose([CLAIM])


def test_equal_outputs_are_guessed_or_left_together() -> None:
    sizes = np.array([2.0, 2.0, 1.0, 1.0, 1.0, 0.5, 0.0, 0.0, 0.0, 0.0])
    assert threshold(sizes, 0.3) == (2.0, 0.2)
    assert threshold(sizes, 0.45) == (1.0, 0.5)
    assert threshold(sizes, 1.0) == (0.5, 0.6)
    assert threshold(np.zeros(3), 0.5) == (math.inf, 0.0)


def test_a_plan_leaves_room_for_shown_coins_and_can_always_refute() -> None:
    assert Plan(tangent=CLAIM, share=0.25).test(1000, 0.05).guesses == 250
    roomy = Plan(tangent=Tangent(0.5, 0.1), share=0.25).test(1000, 0.05)
    assert roomy.guesses == 250 + round(math.sqrt(1000 * 0.25 * 0.75))
    rare = Plan(tangent=Tangent(4.0, 0.0), share=1e-3).test(1000, 0.05)
    assert rare.p_value(rare.guesses) <= 0.05 / 4


def test_where_delta_is_claimed_it_plans_guesses_beyond_epsilon_alone() -> None:
    """Of a Gaussian release at (1, δ(1)) log-ratios beyond ±1: a share of 0.375, not 0.56."""
    rng = np.random.default_rng(4)
    shares: list[float] = []
    for _ in range(5):
        coins = rng.random(4000) < 0.5
        observer = Guesser(experts=(partial(half_lines, ScalarValue()),))
        shown(observer, coins + rng.normal(size=4000), coins)
        tight = Tangent(1.0, GaussianPair(1.0).delta_at(1.0))
        shares.append(observer.choose([tight]).share)
    assert 0.3 < np.mean(shares) < 0.45


def test_epsilon_is_eased_less_the_more_was_seen() -> None:
    claim = Tangent(1.0, 1e-5)
    assert claim.eased(0) == claim.eased(500) == 0.5
    assert claim.eased(1000) == pytest.approx(1 - 12 / math.sqrt(1000))
    assert Tangent(1.0, 0.1).eased(0) == 1.0


def known(*steps: float) -> LogOdds:
    """Log-odds of the values 0, 1, …"""
    cuts = np.arange(len(steps) - 1, dtype=float)
    return LogOdds(feature=ScalarValue(), cuts=cuts, steps=np.array(steps))


def test_rounds_are_judged_by_the_log_odds_that_it_had_before() -> None:
    observer = Guesser(experts=(settled(known(-0.5, 0.0, 0.25)),))
    observer.see(np.zeros(2), np.array([True, False]))
    observer.see(np.array([0.0, 0.0, 1.0, 2.0, 2.0]), np.array([True, False, False, True, False]))
    assert observer.rounds == 7
    assert observer._sizes[0].tolist() == [0.5, 0.5, 0.0, 0.25, 0.25]
    assert observer._right[0].tolist() == [False, True, True, True, False]


def judged(sizes: list[float], right: list[bool]) -> Guesser:
    """An observer of one expert whose guesses were so sure, and so often right."""
    rule = known(0.0)
    return Guesser(
        experts=(settled(rule),),
        rules=[rule],
        _outputs=np.zeros(len(sizes)),
        _coins=np.ones(len(sizes), dtype=bool),
        _sizes=[np.array(sizes)],
        _right=[np.array(right)],
        _learned=len(sizes),
    )


@pytest.mark.parametrize("delta", [0.0, 0.01])
@pytest.mark.parametrize(("share", "made", "hits"), [(0.6, 3, 2), (0.75, 4, 3), (1.0, 4, 3)])
def test_the_promise_by_hand(delta, share, made, hits) -> None:
    """Of five rounds those of largest log-odds are guessed, but none without any."""
    observer = judged([0.5, 3.0, 2.0, 0.0, 1.0], [True, True, False, True, True])
    theta = 1 / (1 + math.exp(-0.5))
    shown = 5 * delta * (1 - theta)
    spread = (theta * made + shown) * (1 - theta)
    expected = (hits - theta * made - shown) / math.sqrt(5 * spread)
    plan = Plan(tangent=Tangent(0.5, delta), share=share)
    assert observer.promise(plan) == pytest.approx(expected)
    assert judged([0.0, 0.0], [True, True]).promise(plan) == -math.inf


def test_the_choice_of_an_observer_that_would_guess_nothing_today() -> None:
    choice = judged([0.5, 3.0], [True, True]).choose([CLAIM, Tangent(3.0, 0.0)])
    assert (choice.expert, choice.tangent, choice.share) == (0, CLAIM, 0.0)
    assert choice.merit > 0
    today = judged([0.5, 0.0, 3.0], [True, True, True])
    today.rules = [known(0.5)]
    assert today.choose([CLAIM]).share == pytest.approx(2 / 3)


def test_the_best_prefix_by_hand() -> None:
    """Ends lie where sizes change, and where there was a guess: after 1, 3, 4 of five rounds."""
    sizes, guessed = np.array([2.0, 3.0, 0.0, 2.0, 0.5]), np.array([1, 1, 1, 0, 1], dtype=bool)
    right = np.array([True, True, True, True, False])
    theta = 1 / (1 + math.exp(-Tangent(0.5, 0.0).eased(5)))
    merit, share = _prefixes(sizes, guessed, right, Tangent(0.5, 0.0))
    ends = [(1 - theta, 1), (2 * (1 - theta), 2), (2 - 3 * theta, 3)]
    z = [gain / math.sqrt(theta * (1 - theta) * (made + 30)) for gain, made in ends]
    assert merit == pytest.approx(max(z) / math.sqrt(5))
    assert share == pytest.approx(2 / 5)
    assert _prefixes(np.zeros(2), guessed[:2], right[:2], Tangent(0.5, 0.0)) == (-math.inf, 0.0)


def test_where_delta_is_claimed_all_of_the_best_guesses_are_planned() -> None:
    """Ten guesses that are right: 8.5 of them are planned without δ, and ten with it."""
    sizes = np.arange(10.0, 0.0, -1.0)
    sure = np.ones(10, dtype=bool)
    assert _prefixes(sizes, sure, sure, Tangent(0.5, 0.0))[1] == 0.8
    assert _prefixes(sizes, sure, sure, Tangent(0.5, 1e-3))[1] == 1.0
    merit, _ = _prefixes(np.ones(4), sure[:4], sure[:4], Tangent(0.5, 0.1))
    theta = 1 / (1 + math.exp(-0.5))
    shown = 4 * 0.1 * (1 - theta)
    spread = theta * (1 - theta) * 34 + shown * (1 - theta)
    assert merit == pytest.approx((4 * (1 - theta) - shown) / math.sqrt(spread * 4))


@pytest.mark.parametrize(("rounds", "left"), [(1499, 6), (1500, 4)])
def test_after_1500_rounds_the_four_best_experts_go_on(rounds, left) -> None:
    """Six experts that are sure of ever more wrong guesses; against the mildest of the claims."""
    coins = np.ones(rounds, dtype=bool)
    sides = [
        np.r_[np.full(wrong, -1.0), np.ones(rounds - wrong)] for wrong in (9, 1, 700, 3, 500, 5)
    ]
    cuts = np.arange(rounds - 1.0)
    rules = [LogOdds(feature=ScalarValue(), cuts=cuts, steps=each) for each in sides]
    experts = [settled(rule) for rule in rules]
    observer = Guesser(experts=experts)
    observer.see(np.zeros(0), np.zeros(0, dtype=bool))
    observer.rules = rules
    observer._outputs, observer._coins = np.arange(float(rounds)), coins
    observer._sizes = [np.ones(rounds) for _ in experts]
    observer._right = [each > 0 for each in sides]
    observer.screen([Tangent(1.0, 0.0), Tangent(3.0, 0.0)])
    assert len(observer.experts) == len(observer.rules) == len(observer._sizes) == left
    if left == 4:
        assert observer.experts == [experts[i] for i in (0, 1, 3, 5)]
        assert [int((~each).sum()) for each in observer._right] == [9, 1, 3, 5]


def test_an_expert_stays_that_is_best_against_one_of_the_claims() -> None:
    """1500 guesses, four of five right, against ε = 0.1; a hundred sure ones against ε = 3."""
    many, few = np.ones(1500), np.r_[np.ones(100), np.zeros(1400)]
    wrong = np.arange(1500) % 5 > 0
    rule = known(0.0)
    observer = judged([1.0] * 1500, [True] * 1500)
    observer.experts, observer.rules = [settled(rule)] * 5, [rule] * 5
    observer._sizes = [few, few, many, few, few]
    observer._right = [few > 0, few > 0, wrong, few > 0, few > 0]
    observer.screen([Tangent(0.1, 0.0), Tangent(3.0, 0.0)])
    assert len(observer.experts) == 4
    assert any(each is many for each in observer._sizes)


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
        assert played.coins.size == 300 - guesses
        assert played.counted == pytest.approx(guesses + 0.73 * (300 - guesses), abs=40)


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
