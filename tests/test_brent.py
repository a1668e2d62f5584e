"""Roots and minima are scipy's, to the last bit and the last question."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar

from dpcp_audit import _brent

if TYPE_CHECKING:
    from collections.abc import Callable


class Asked:
    """A function that keeps what it was asked."""

    def __init__(self, f: Callable[[float], float]) -> None:
        self.f = f
        self.points: list[float] = []

    def __call__(self, x: float) -> float:
        self.points.append(float(x))
        return self.f(float(x))


def shapes(rng: np.random.Generator) -> list[Callable[[float], float]]:
    """Return rising functions that are 0 in (−3, 3), and are flat, steep or kinked there."""
    at, steep = rng.uniform(-2.9, 2.9), rng.lognormal(sigma=3)
    return [
        lambda x: math.tanh(steep * (x - at)),
        lambda x: (x - at) ** 3,
        lambda x: math.exp(min(700.0, steep * x)) - math.exp(min(700.0, steep * at)),
        lambda x: x - at if x < at else steep * (x - at),
        lambda x: -1.0 if x < at else 1.0,
        lambda x: round(x - at, 2),
    ]


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("xtol", [2e-12, 1e-6])
def test_the_root_is_scipys(seed, xtol) -> None:
    for f in shapes(np.random.default_rng(seed)):
        for sign in (1, -1):
            ours, theirs = (Asked(lambda x, f=f, s=sign: s * f(x)) for _ in range(2))
            found = _brent.root(ours, -3.0, 3.0, xtol=xtol)
            assert found == brentq(theirs, -3.0, 3.0, xtol=xtol, maxiter=500)
            assert ours.points == theirs.points


@pytest.mark.parametrize("seed", range(30))
def test_the_least_value_is_scipys(seed) -> None:
    for f in shapes(np.random.default_rng(seed)):
        for bend in (lambda y: y * y, math.cos, abs, lambda y: -y):
            ours, theirs = (Asked(lambda x, f=f, bend=bend: bend(f(x))) for _ in range(2))
            found = _brent.least(ours, -3.0, 3.0)
            assert found == minimize_scalar(theirs, bounds=(-3.0, 3.0), method="bounded").fun
            assert ours.points == theirs.points


@pytest.mark.parametrize(("low", "high", "there"), [(0.0, 1.0, 0.0), (-1.0, 0.0, 0.0)])
def test_an_end_may_be_the_root(low, high, there) -> None:
    assert _brent.root(lambda x: x, low, high) == there


def test_a_function_of_one_sign_has_no_root() -> None:
    with pytest.raises(ValueError, match=r"change its sign, got 1\.0 and 4\.0"):
        _brent.root(lambda x: x * x, 1.0, 2.0)
