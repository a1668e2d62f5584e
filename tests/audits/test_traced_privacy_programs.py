"""Correct and broken mechanisms as users write them: each is judged rightly, or left open.

Of a correct one no pair is refuted; of a broken one the loss is that of a closed form.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dpcp_audit as dp
from dpcp_audit.words.results import Verdict

QUERIES, MOVED = [0, 1, 0], [1, 0, 1]


def sparse_vector(queries, *, rng) -> int:
    threshold = rng.laplace(scale=2.0)
    for place, query in enumerate(queries):
        if query + rng.laplace(scale=4.0) >= threshold:
            return place
    return -1


def answers_to_all(query, *, rng) -> list[bool]:
    """Spend ε on each of four answers, and claim ε for all."""
    return [bool(query + rng.laplace() > 0) for _ in range(4)]


def only_a_noisy_threshold(queries, *, rng) -> list[bool]:
    threshold = rng.laplace()
    return [bool(query > threshold) for query in queries]


def exponential_mechanism(scores, *, rng) -> int:
    weights = np.exp(np.array(scores) / 2)
    return int(rng.choice(len(scores), p=weights / weights.sum()))


def permute_and_flip(scores, *, rng) -> int:
    best = max(scores)
    for place in rng.permutation(len(scores)):
        if rng.random() < math.exp((scores[place] - best) / 2):
            return int(place)
    raise AssertionError


def clamped(values, *, rng) -> float:
    noisy = sum(min(max(value, 0), 1) for value in values) + rng.laplace()
    return min(max(noisy, 0), len(values))


def clamped_too_late(values, *, rng) -> float:
    return min(max(sum(values) + rng.laplace(), 0), len(values))


def truncated_by_rejection(values, *, rng) -> float:
    while True:
        noisy = sum(values) + rng.laplace()
        if 0 <= noisy <= len(values):
            return noisy


def hysteresis(values, *, rng) -> list[bool]:
    """Switch on above 1 and off below 0, with new noise for each value."""
    on, states = False, list[bool]()
    for value in values:
        noisy = value + rng.laplace()
        on = bool(noisy > (0 if on else 1))
        states.append(on)
    return states


def hysteresis_with_one_noise(values, *, rng) -> list[bool]:
    on, states, noise = False, list[bool](), rng.laplace()
    for value in values:
        on = bool(value + noise > (0 if on else 1))
        states.append(on)
    return states


def rounded_at_random(values, *, rng) -> int:
    total = sum(values)
    return math.floor(total) + int(rng.random() < total - math.floor(total))


def sampled(values, *, rng) -> float:
    return sum(value for value in values if rng.random() < 0.5) + rng.laplace()


SCORES = np.linspace(0.01, 0.99, 50)


def bin_weights(scores, normaliser: float, level: float) -> Any:
    """Return the weights of 100 bins by how far each is from the quantile of a level."""
    below = np.searchsorted(np.sort(scores), np.linspace(0, 1, 101)[1:])
    far = np.maximum(below / level, (len(scores) - below) / (1 - level))
    weights = np.exp(-normaliser * (far - far.min()) / 2)
    return weights / weights.sum()


def private_quantile(scores, *, normaliser=0.1, level=0.98) -> float:
    """Draw a bin by NumPy's global generator; the public code has 0.1 in place of 1 − level."""
    edges = np.linspace(0, 1, 101)[1:]
    return np.random.choice(edges, p=bin_weights(scores, normaliser, level))  # noqa: NPY002


@pytest.mark.known_bad
def test_a_quantile_by_the_exponential_mechanism_has_its_whole_law() -> None:
    """The normaliser of the claimed level, in place of the raised one, multiplies the loss."""
    moved = np.where(np.arange(50) == 38, 0.0, SCORES)
    found = dp.trace(private_quantile, SCORES, moved, dp.PureDP(1.0), draws=2)
    laws = [bin_weights(each, 0.1, 0.98) for each in (SCORES, moved)]
    assert found.verdict is Verdict.REFUTED
    assert found.epsilon() == pytest.approx(np.abs(np.log(laws[0] / laws[1])).max(), abs=1e-9)
    twin = dp.trace(
        private_quantile, SCORES, moved, dp.PureDP(1.0), draws=2, options={"normaliser": 0.02}
    )
    assert twin.verdict is Verdict.CONSISTENT


def verdict_of(function, pair, epsilon=1.0) -> Any:
    return dp.trace(function, *pair, dp.PureDP(epsilon), draws=10)


@pytest.mark.parametrize(
    ("function", "pair"),
    [
        (sparse_vector, (QUERIES, MOVED)),
        (exponential_mechanism, (QUERIES, MOVED)),
        (permute_and_flip, (QUERIES, MOVED)),
        (clamped, ([0, 0, 0.5], [0, 0, 9])),
        (truncated_by_rejection, ([0, 1, 0], [0, 1, 1])),
        (sampled, ([0, 0], [0, 1])),
    ],
)
def test_a_correct_mechanism_is_not_refuted(function, pair) -> None:
    assert verdict_of(function, pair).verdict is not Verdict.REFUTED


@pytest.mark.known_bad
@pytest.mark.parametrize(
    ("function", "pair", "loss"),
    [
        (answers_to_all, (0, 1), 4.0),
        (only_a_noisy_threshold, (QUERIES, MOVED), math.inf),
        (hysteresis, (QUERIES, MOVED), 3.0),
        (hysteresis_with_one_noise, (QUERIES, MOVED), math.inf),
        (rounded_at_random, ([0.0], [0.9]), math.inf),
    ],
)
def test_a_broken_one_is_refuted_by_its_whole_law(function, pair, loss) -> None:
    found = verdict_of(function, pair)
    assert found.verdict is Verdict.REFUTED
    assert found.epsilon() == pytest.approx(loss, abs=1e-6)


@pytest.mark.known_bad
def test_what_clamping_leaves_of_an_unbounded_sum_is_refuted_by_an_end() -> None:
    """The output 0 is e^8.5 times as likely on one input: noise of scale 1 around 0.5, and 9."""
    found = verdict_of(clamped_too_late, ([0, 0, 0.5], [0, 0, 9]))
    assert found.verdict is Verdict.REFUTED
    assert found.epsilon() == pytest.approx(8.5)
