"""Hadamard responses: the parity of the bits that a public number and the value share."""

from __future__ import annotations

import math
from typing import Any

import pytest

import dpcp_audit as dp


def by_text(x, *, rng, epsilon=1.0) -> Any:
    j = int(rng.integers(8))
    bit = bin(j & x).count("1") % 2  # noqa: FURB161  (as people write it)
    return j, bit if rng.random() < math.exp(epsilon) / (math.exp(epsilon) + 1) else 1 - bit


def by_method(x, *, rng, epsilon=1.0) -> Any:
    j = int(rng.integers(8))
    bit = (j & x).bit_count() % 2
    return j, bit if rng.random() < math.exp(epsilon) / (math.exp(epsilon) + 1) else 1 - bit


def number_of_bits(x, *, rng, epsilon=1.0) -> Any:
    j = int(rng.integers(8))
    bit = (j & x).bit_count()
    return j, bit if rng.random() < math.exp(epsilon) / (math.exp(epsilon) + 1) else 1 - bit


@pytest.mark.parametrize("function", [by_text, by_method])
def test_a_hadamard_response_is_proved_at_its_loss(function) -> None:
    proof = dp.prove(function, dp.LocalDP(1.0), domain=8)
    assert proof.proved, proof.reason
    more = dp.prove(function, dp.LocalDP(1.0), domain=8, options={"epsilon": 1.05})
    assert not more.proved
    assert more.total == pytest.approx(1.05)


def test_a_response_that_is_no_parity_is_not_proved() -> None:
    assert not dp.prove(number_of_bits, dp.LocalDP(1.0), domain=8).proved
