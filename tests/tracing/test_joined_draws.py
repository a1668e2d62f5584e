"""Probabilities of joined draws against closed forms."""

from __future__ import annotations

import math

import pytest

from dpcp_audit.tracing.draws import JoinedBit, NoiseDraw, Ordering
from dpcp_audit.tracing.noise_laws import EXPONENTIAL, UNIFORM
from dpcp_audit.tracing.path_likelihood import component_log_probability

NEAR = (0.0, 1e-13, 1e-9, 3.2e-6, 1e-5, 1e-4, 3e-4, 9e-4, 1e-3, 0.1, 1.0, 20.0)


@pytest.mark.known_bad
@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("value", NEAR)
def test_the_difference_of_exponential_draws_is_laplace(value, sign) -> None:
    """The density of one jumps where the other has that value, however near to its end."""
    found = log_density(EXPONENTIAL, sign * value, -1.0)
    assert found == pytest.approx(-value - math.log(2), abs=1e-9)


@pytest.mark.known_bad
@pytest.mark.parametrize("value", NEAR[1:-2])
def test_the_sum_of_uniform_draws_is_triangular(value) -> None:
    assert log_density(UNIFORM, value, 1.0) == pytest.approx(math.log(value), abs=1e-9)
    assert log_density(UNIFORM, 1 + value, 1.0) == pytest.approx(math.log1p(-value), abs=1e-9)


def log_density(law, value, coefficient) -> float:
    first, second = (
        NoiseDraw(index=index, law=law, name=law.name, line=("", index)) for index in (0, 1)
    )
    terms = ((first, 1.0), (second, coefficient))
    return component_log_probability([JoinedBit(offset=-value, terms=terms, how=Ordering.EQUAL)])[1]
