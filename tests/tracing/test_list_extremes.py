"""Noisy maxima as they are written in plain Python: their whole law, and their twin's."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.followed_paths import enumerated

if TYPE_CHECKING:
    from collections.abc import Callable

SCORES, NEIGHBOUR = [0.0, 8.0, 8.0, 8.0], [1.0, 7.0, 7.0, 7.0]
"""Scores of sensitivity 1, moved as far as they may be."""


def by_key(noisy) -> int:
    return max(range(len(noisy)), key=lambda i: noisy[i])


def by_index(noisy) -> int:
    return noisy.index(max(noisy))


def by_pairs(noisy) -> int:
    return max((value, i) for i, value in enumerate(noisy))[1]


def by_items(noisy) -> int:
    return max(dict(enumerate(noisy)).items(), key=lambda pair: pair[1])[0]


def by_numpy(noisy) -> int:
    return int(np.argmax(noisy))


def by_array(noisy) -> int:
    return int(np.array(noisy, dtype=float).argmax())


WAYS = (
    by_key,
    by_index,
    by_pairs,
    by_items,
    by_numpy,
    by_array,
)
NOISE = ("laplace", "gumbel", "exponential")


def noisy_maximum(choose: Callable[[list[Any]], int], noise: str, scale: float) -> Any:
    def select(scores, *, rng) -> int:
        return choose([score + getattr(rng, noise)(scale=scale) for score in scores])

    return select


def loss_of(choose, noise, scale) -> float:
    found = enumerated(noisy_maximum(choose, noise, scale), SCORES, NEIGHBOUR, most=200)
    assert math.exp(np.logaddexp.reduce(found.law.log_mass)) == pytest.approx(1, abs=1e-8)
    return max(found.max_divergence(), found.reversed().max_divergence())


@pytest.mark.known_bad
@pytest.mark.parametrize(("choose", "noise"), list(product(WAYS, NOISE)))
def test_a_noisy_maximum_keeps_its_promise_and_half_of_its_noise_does_not(choose, noise) -> None:
    """ε = 0.6 for scale 2/ε; with half of the noise it is more than that."""
    assert loss_of(choose, noise, 2 / 0.6) <= 0.6 + 1e-9
    assert loss_of(choose, noise, 1 / 0.6) > 0.6
    expected = loss_of(by_numpy, noise, 2 / 0.6)
    assert loss_of(choose, noise, 2 / 0.6) == pytest.approx(expected, abs=1e-7)


def test_a_softmax_by_gumbel_noise_is_exact() -> None:
    weights, others = (np.exp(np.array(each) / 2) for each in (SCORES, NEIGHBOUR))
    expected = np.abs(np.log(weights / weights.sum()) - np.log(others / others.sum())).max()
    assert loss_of(by_key, "gumbel", 2.0) == pytest.approx(expected, abs=1e-9)


@pytest.mark.known_bad
def test_equal_discrete_numbers_give_the_first() -> None:
    def most(counts, *, rng) -> int:
        noisy = [count + rng.binomial(2, 0.5) for count in counts]
        return noisy.index(max(noisy))

    found = enumerated(most, [0, 0, 0], [1, 0, 0])
    sizes = np.array([0.25, 0.5, 0.25])
    below = np.array([0.0, 0.25, 0.75])
    expected = (sizes * (below + sizes) ** 2, sizes * below * (below + sizes), sizes * below**2)
    masses = np.sort(np.exp(found.law.log_mass))
    assert masses == pytest.approx(np.sort(np.sum(expected, axis=1)), abs=1e-12)


@pytest.mark.known_bad
def test_a_number_that_another_one_always_beats_is_never_the_largest() -> None:
    def never(x, *, rng) -> int:
        noise = rng.laplace()
        numbers = [noise, noise + x, rng.laplace(), -math.inf]
        return numbers.index(max(numbers))

    found = enumerated(never, 1.0, -1.0)
    assert found.max_divergence() == math.inf
    assert np.exp(found.law.log_mass).min() == 0.0


def test_plain_numbers_are_what_they_were() -> None:
    def plain(x, *, rng) -> tuple[Any, ...]:
        del rng
        order = sorted(x, reverse=True)
        largest, least = max(x), min(x, key=abs)
        return largest, least, max([], default=7), tuple(order), max(3, 2), np.array(x).sum()

    found = enumerated(plain, [1, -2, 3], [1, -2, 3])
    assert found.law.log_mass.tolist() == [0.0]
