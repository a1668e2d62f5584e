"""Outputs that hold noisy values far from the data: an exact loss, or none that is not certain."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from support.followed_paths import trace_pair

import dpcp_audit as dp
from dpcp_audit.tracing.target_calls import TracedTarget
from dpcp_audit.tracing.value_losses import point_laws
from dpcp_audit.words.results import Verdict

QUESTIONS = 8
COUNTS = np.zeros(QUESTIONS), np.ones(QUESTIONS)
"""Every count may have one record more."""
SCORES = np.ones(6), np.append(np.ones(5), 0.0)
"""Scores with these counts below 0.1 to 0.8."""


def first_above(scores, *, rng, fresh=False, pad=False) -> list[float]:
    """Return the place of the first noisy count above a noisy threshold, and a noisy count.

    With fresh noise it is 1-DP. The count that crossed tells where the threshold was not: with it
    the loss is 1/4 for each question, the last one by the answer.
    """
    counts = [np.count_nonzero(scores < edge / 10) for edge in range(1, QUESTIONS + 1)]
    threshold = 4 + rng.laplace(scale=4.0 if fresh else 2.0)
    for place, count in enumerate(counts):
        answer = count + rng.laplace(scale=8.0 if fresh else 4.0)
        if answer >= threshold:
            shown = float(count + rng.laplace(scale=2.0) if fresh else answer)
            rest = [-2.0] * (len(counts) - place - 1)
            return [*[-1.0] * place, shown, *rest] if pad else [place, shown]
    return [-1.0] * len(counts) if pad else [-1, 0.0]


@pytest.mark.known_bad
@pytest.mark.parametrize("pad", [False, True])
def test_an_answer_that_crossed_and_is_returned_is_refuted_exactly(pad: bool) -> None:
    found = dp.trace(first_above, *SCORES, dp.PureDP(1.0), draws=20, options={"pad": pad})
    assert found.verdict is Verdict.REFUTED
    assert found.epsilon() == pytest.approx(QUESTIONS / 4, abs=1e-6)
    right = {"fresh": True, "pad": pad}
    twin = dp.trace(first_above, *SCORES, dp.PureDP(1.0), draws=20, options=right)
    assert twin.verdict is not Verdict.REFUTED


def test_the_loss_of_fresh_noise_is_within_the_claim_and_near_it() -> None:
    """The answer alone loses 1/2."""
    far = trace_pair(first_above, *SCORES, draws=20, options={"fresh": True}).far
    assert far is not None
    assert 0.6 < far.loss <= 1 + 1e-6


def sampled_rows(values, *, rng) -> Any:
    """Half of the values, summed: by sampling the loss is log(1 + (e − 1)/2), at any far value."""
    kept = [value for value in values if rng.random() < 0.5]
    return sum(kept) + rng.laplace(scale=1.0)


def test_coins_that_are_not_returned_are_summed_over() -> None:
    far = trace_pair(sampled_rows, [0.0], [1.0], draws=20).far
    assert far is not None
    assert far.loss == pytest.approx(np.log1p((np.e - 1) / 2), abs=1e-9)


def in_order(counts, *, rng) -> Any:
    """Which value is whose is not returned."""
    flipped = rng.random() < 0.5
    return [*sorted(float(each + rng.laplace()) for each in counts[:3]), flipped]


def folded(counts, *, rng) -> Any:
    """Two values give one output."""
    coin = rng.random() < 0.5
    return abs(float(counts[0] + rng.laplace())), coin


def raised_far_away(counts, *, rng) -> Any:
    coin, answer = rng.random() < 0.5, float(counts[0] + rng.laplace())
    if abs(answer) > 25:
        raise ValueError("far away")
    return answer, coin


def whole(counts, *, rng) -> Any:
    """Any whole number stands in the output."""
    noisy = counts[0] + rng.geometric(0.5) - rng.geometric(0.5)
    return [rng.random() < 0.5, int(noisy) > 1, *range(-60, 61)]


@pytest.mark.parametrize("function", [in_order, folded, raised_far_away, whole])
def test_nothing_is_said_unless_every_value_is_returned_as_it_is(function) -> None:
    found = trace_pair(function, *COUNTS, draws=20)
    assert found.followed
    assert found.far is None


def two_answers(counts, *, rng) -> Any:
    """Equal answers, which have probability 0, would give the counts away."""
    coin = rng.random() < 0.5
    first, second = (float(each + rng.laplace()) for each in counts[:2])
    return [first, second, coin, float(counts[0]) if first == second else 0.0]


def test_values_that_are_given_differ() -> None:
    far = trace_pair(two_answers, *COUNTS, draws=20).far
    assert far is not None
    assert far.loss == pytest.approx(2.0)


def almost_always_noisy(scores, *, rng) -> Any:
    """A constant instead, with a probability that is the rounding of one next to it."""
    count = np.count_nonzero(scores < 0.5)
    chance = 1 / (1 + math.exp(-25 - 0.5 * count))
    return float(count + rng.laplace(scale=4.0)) if rng.random() < chance else -7


@pytest.mark.known_bad
def test_the_rounding_of_a_probability_next_to_one_is_no_loss() -> None:
    assert trace_pair(almost_always_noisy, *SCORES, draws=20).far is None
    right = dp.trace(almost_always_noisy, *SCORES, dp.PureDP(0.5 + 1e-9), draws=20)
    assert right.verdict is not Verdict.REFUTED


def noisy_count(scores, *, rng, law="normal", scale=5.0, share=0.0, inside=False) -> Any:
    """Return a count with noise; its scale may depend on n."""
    noise = getattr(rng, law)(0, scale + share / len(scores))
    count = np.count_nonzero(scores < 0.5)
    return float(count + noise) if inside else count + noise


def histogram(scores, *, rng, law="normal", scale=5.0) -> Any:
    """The counts of a record's old bin and of its new one move in opposite directions."""
    counts = np.histogram(scores, bins=4, range=(-0.5, 1.5))[0]
    return counts + getattr(rng, law)(0, scale, size=4)


@pytest.mark.known_bad
@pytest.mark.parametrize(
    ("function", "options"),
    [
        (noisy_count, {}),
        (noisy_count, {"inside": True}),
        (noisy_count, {"scale": 1e4}),
        (histogram, {}),
    ],
)
def test_gaussian_noise_sold_as_pure_is_refuted_by_what_lies_far_away(function, options) -> None:
    found = dp.trace(function, *SCORES, dp.PureDP(1.0), draws=20, options=options)
    assert found.verdict is Verdict.REFUTED
    right = dp.ZCDP(2 * (1 / 5) ** 2)
    assert dp.trace(function, *SCORES, right, draws=20, options=options).verdict is not (
        Verdict.REFUTED
    )
    laplace = options | {"law": "laplace"}
    twin = dp.trace(function, *SCORES, dp.PureDP(1.0), draws=20, options=laplace)
    assert twin.verdict is not Verdict.REFUTED


@pytest.mark.known_bad
def test_a_scale_that_depends_on_a_private_size_is_refuted_by_what_lies_far_away() -> None:
    inputs = SCORES[0], SCORES[0][:-1]
    for share, refuted in ((1.0, True), (0.0, False)):
        options = {"law": "laplace", "scale": 1.0, "share": share}
        trace = dp.trace(
            noisy_count,
            *inputs,
            dp.PureDP(1.0),
            draws=20,
            options=options,
            neighbours="add-remove",
        )
        assert (trace.verdict is Verdict.REFUTED) is refuted


def clamped(scores, *, rng) -> float:
    """Code that never returns a value far away."""
    return min(max(float(np.count_nonzero(scores < 0.5) + rng.normal(0, 5.0)), 0.0), 6.0)


def test_a_loss_is_that_of_an_output_which_holds_the_value_as_it_is() -> None:
    count = trace_pair(noisy_count, *SCORES, draws=20, options={"scale": 5.0})
    eight = next(each for each in count.tails if each.away == 8.0)
    assert eight.loss == pytest.approx(8 / 5 + 0.5 / 25, abs=1e-3)
    assert not trace_pair(clamped, *SCORES, draws=20).tails


def rarely_bare(scores, *, rng, chance=1e-3, bare=True) -> Any:
    """Return the count itself, or a constant, once in many calls."""
    count = float(np.count_nonzero(scores < 0.5))
    if rng.random() < chance:
        return count if bare else -1.0
    return float(count + rng.laplace())


@pytest.mark.known_bad
@pytest.mark.parametrize(
    ("claim", "options", "refuted"),
    [
        (dp.PureDP(1.0), {}, True),
        (dp.ApproxDP(1.0, 1e-4), {}, True),
        (dp.ApproxDP(1.0, 2e-3), {}, False),
        (dp.PureDP(1.0), {"bare": False}, False),
        (dp.PureDP(1.0), {"chance": 1e-14}, False),
    ],
)
def test_a_rare_output_without_noise_is_refuted_by_its_probability(claim, options, refuted) -> None:
    found = dp.trace(rarely_bare, *SCORES, claim, draws=20, options=options)
    assert (found.verdict is Verdict.REFUTED) is refuted


def rarely_unlike(scores, *, rng) -> Any:
    """What is read before it is returned may be changed to the same output."""
    noisy = round(float(np.count_nonzero(scores < 0.5) + rng.laplace()))
    return 0.0 if rng.random() < 1e-3 else float(noisy)


@pytest.mark.parametrize("function", [rarely_unlike, noisy_count])
def test_nothing_is_said_of_outputs_unless_noise_is_read_as_it_is_returned(function) -> None:
    assert trace_pair(function, *SCORES, draws=20).points is None


def alarm(amounts, *, rng, scale=1.0) -> float:
    """Return 0 where a noisy sum is below a limit: e^ε times as likely on the neighbour."""
    total = float(np.cumsum(amounts)[-1])
    low = total + rng.laplace(scale=scale) < AMOUNTS - 1
    return 0.0 if low else rng.laplace()


AMOUNTS = 300.0


@pytest.mark.known_bad
@pytest.mark.parametrize(("scale", "refuted"), [(1.0, False), (1.0 - 1e-6, True)])
def test_the_rounding_of_a_sum_is_no_loss_of_an_output_without_noise(scale, refuted) -> None:
    """The sums differ by 1 and 2·10⁻¹³."""
    tenths = np.full(3000, 0.1)
    inputs = np.append(1.0, tenths), np.append(0.0, tenths)
    found = dp.trace(alarm, *inputs, dp.PureDP(1.0), draws=20, options={"scale": scale})
    assert (found.verdict is Verdict.REFUTED) is refuted


@pytest.mark.known_bad
@pytest.mark.parametrize("turn", range(33, 36))
def test_an_output_of_one_call_alone_is_no_loss_of_either_input(turn) -> None:
    """The last call on the neighbour may be that one; two calls on the input agree."""
    calls = itertools.count()

    def once(scores, *, rng) -> Any:
        found = rarely_bare(scores, rng=rng, bare=False)
        return -2.0 if next(calls) == turn else found

    assert _is_the_same(point_laws(TracedTarget.of(once, {}), *SCORES))
    assert not _is_the_same(point_laws(TracedTarget.of(rarely_bare, {}), *SCORES))


def _is_the_same(laws: Any) -> bool:
    """Return True if no law is known, or both are alike."""
    return laws is None or laws.max_divergence() == laws.reversed().max_divergence() == 0.0
