"""Noise on a user's value: the value is a number that moves by at most K - 1."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dpcp_audit as dp


def laplace(x, *, rng) -> Any:
    return x + rng.laplace(0, 7)


def of_a_share(x, *, rng) -> Any:
    return x / 7 + rng.laplace(0, 1)


def rounded(x, *, rng) -> Any:
    return round(x + rng.laplace(0, 7))


def twice(x, *, rng) -> Any:
    return x + rng.laplace(0, 14), 2 * x + rng.laplace(0, 28)


@pytest.mark.parametrize("function", [laplace, of_a_share, rounded, twice])
def test_noise_on_a_value_is_proved_at_its_loss(function) -> None:
    proof = dp.prove(function, dp.LocalDP(1.0), domain=8)
    assert proof.proved
    assert proof.total == 1
    short = dp.prove(function, dp.LocalDP(0.99), domain=8)
    assert not short.proved
    assert not dp.prove(function, dp.LocalDP(1.0), domain=9).proved


def gaussian(x, *, rng) -> Any:
    return x + rng.normal(0, 100)


def beside_the_value(x, *, rng) -> Any:
    return x + rng.laplace(0, 7), x


def scale_by_the_value(x, *, rng) -> Any:
    return x + rng.laplace(0, 7 + x)


def branch_on_the_value(x, *, rng) -> Any:
    return x + rng.laplace(0, 7) if x > 3 else rng.laplace(0, 7)


def square(x, *, rng) -> Any:
    return x * x + rng.laplace(0, 7)


def power(x, *, rng) -> Any:
    return 2**x + rng.laplace(0, 7)


def remainder(x, *, rng) -> Any:
    return 9 * x % 64 + rng.laplace(0, 7)


def as_an_index(x, *, rng) -> Any:
    return np.arange(0, 80, 10)[x] + rng.laplace(0, 7)


def shown(x, *, rng) -> Any:
    print(x)  # noqa: T201  (it is what leaks)
    return x + rng.laplace(0, 7)


def length_by_the_value(x, *, rng) -> Any:
    return [x + rng.laplace(0, 7)] * x


def size_by_the_value(x, *, rng) -> Any:
    return rng.laplace(0, 7, size=x)


def logarithm(x, *, rng) -> Any:
    return math.exp(x) + rng.laplace(0, 7)


def one_draw_twice(x, *, rng) -> Any:
    noise = rng.laplace(0, 14)
    return x + noise, 2 * x + noise


@pytest.mark.known_bad
@pytest.mark.parametrize(
    "function",
    [gaussian, beside_the_value, scale_by_the_value, branch_on_the_value, square, power, remainder,
     as_an_index, shown, length_by_the_value, size_by_the_value, logarithm, one_draw_twice],
)  # fmt: skip
def test_what_shows_more_of_a_value_is_not_proved(function) -> None:
    assert not dp.prove(function, dp.LocalDP(1.0), domain=8).proved


@pytest.mark.parametrize("most", [3, 8, 300])
def test_the_density_of_reports_is_bounded_as_is_proved(most) -> None:
    """The ratio of densities of x + noise is largest for 0 and K - 1, far out."""
    loss = dp.prove(laplace, dp.LocalDP(100.0), domain=most).total
    far = most + 1.0
    assert loss is not None
    assert (abs(far) - abs(far - (most - 1))) / 7 == pytest.approx(loss)
