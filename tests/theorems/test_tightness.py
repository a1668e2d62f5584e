"""How tight a theorem is, against closed forms."""

from __future__ import annotations

import math

import pytest
from scipy.special import ndtri

from dpcp_audit.theorems.statement import (
    Tightness,
    least_multiple,
    tightness_of,
    tightness_table,
    with_tightness,
)
from dpcp_ledger.claims.tightest_cases import NoiselessEvent


def test_the_least_multiple_is_that_of_the_quantile() -> None:
    """erfc(c·x) = δ at c = quantile/x."""
    found = least_multiple(lambda c: math.erfc(c * 3), 0.05)
    exact = -ndtri(0.025) / math.sqrt(2) / 3
    assert exact <= found <= exact + 2 / 512


def test_no_correction_or_none_that_is_enough() -> None:
    assert least_multiple(lambda _: 0.05, 0.05) == 0
    assert least_multiple(lambda _: 0.06, 0.05) == math.inf
    with pytest.raises(ValueError, match="allowed must lie in"):
        least_multiple(lambda _: 0.0, 1.5)


def test_massarts_constant() -> None:
    """One-sided, log(1/δ) would do for log(4/δ); two-sided, log(2/δ) (Massart 1990)."""
    delta = 1e-12
    for two_sided, constant in ((False, 1), (True, 2)):
        event = NoiselessEvent(n=10_000, epsilon=80.0, delta=delta, two_sided=two_sided)
        found = tightness_of(event)
        would_do = math.sqrt(math.log(constant / delta) / math.log(4 / delta))
        assert would_do - 0.01 < found.multiple < would_do + 1 / 256
        assert 0.5 * constant / 4 < found.ratio < constant / 4


def test_it_stands_in_the_note_and_in_a_table() -> None:
    event = NoiselessEvent(n=1000, epsilon=40.0, delta=0.1)
    computed = with_tightness(event)
    (table,) = computed.tables
    assert "Δ_L × 0.79 would do." in computed.note
    assert table.columns[1].values == [computed.value]
    assert table.columns[4].values[0] == pytest.approx(0.79, abs=0.005)


def test_a_table_of_cases() -> None:
    tight = Tightness(correction="τ*", failure=0.002, allowed=0.01, multiple=0.7)
    table = tightness_table({"a": tight, "b": tight})
    assert table.columns[0].texts == ["a", "b"]
    assert table.columns[3].values == [0.2, 0.2]
    assert tight.words == "τ* × 0.70 would do."


def test_a_failure_probability_that_rises_at_first() -> None:
    """Without a correction it is allowed, and again from 0.6 on."""
    found = least_multiple(lambda c: 0.04 if c == 0 else 0.1 * (c < 0.6), 0.05)
    assert 0.6 <= found <= 0.6 + 2 / 512


def test_none_that_was_tried_would_do() -> None:
    tight = Tightness(correction="τ*", failure=0.2, allowed=0.1, multiple=math.inf)
    assert tight.words == "No multiple of τ* up to 2 would do."
    assert tight.shown == "none up to 2"
