"""Noise with a declared law is followed, and the law is what counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats
from support.followed_paths import followed, trace_pair

import dpcp_audit as dp

X, Y = np.zeros(3), np.array([0.0, 0.0, 1.0])


@dp.primitive(law=stats.laplace)
def secure_laplace(value, scale) -> Any:
    return value + scale * 0.25


@dp.primitive(law=lambda value: {value: 0.75, 1 - value: 0.25})
def answered(value) -> Any:
    return value


@dp.primitive(law=lambda value, df: stats.t(df, loc=value, scale=2.0))
def heavy(value, df) -> Any:
    return value + df


@dp.primitive(law=lambda value: {value: 0.75})
def unsound(value) -> Any:
    return value


def test_without_a_trace_the_function_is_what_it_was() -> None:
    assert secure_laplace(1.0, 2.0) == 1.5
    assert answered(1) == 1


def test_additive_noise_is_followed_to_its_line() -> None:
    found = trace_pair(lambda x: secure_laplace(x.sum(), 2.0) / 4, X, Y, draws=30, rng=0)
    (line,) = found.lines
    assert (line.law, line.scale, line.sensitivity) == ("secure_laplace", 0.5, 0.25)
    assert line.location.file.endswith("test_primitives.py")
    assert found.forward.largest == pytest.approx(0.5)
    assert found.released


def test_a_law_of_scipy_has_its_density() -> None:
    output, _, loss = followed(lambda x, *, rng: heavy(x.sum(), 3), X, Y)
    law = stats.t(3, scale=2.0)
    assert loss == pytest.approx(law.logpdf(output[0]) - law.logpdf(output[0] - 1))


def test_a_mapping_has_its_whole_law() -> None:
    found = trace_pair(lambda x: [answered(int(each)) for each in x], X, Y, draws=5, rng=0)
    assert found.exact is not None
    assert found.exact.max_divergence() == pytest.approx(np.log(3))


def test_a_law_that_is_none_is_said() -> None:
    found = trace_pair(lambda x: unsound(int(x.sum())), X, Y, draws=5, rng=0)
    assert "law must be probabilities that sum to 1" in found.unfollowed[0].says
