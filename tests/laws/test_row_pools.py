"""Intervals hold the labels that their ends are made of, and no others."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcp_audit.laws.pools import within

NUMBERS = st.floats(-1e9, 1e9).filter(lambda x: x == 0 or abs(x) > 1e-9)


@given(NUMBERS, NUMBERS)
def test_the_record_that_sets_an_end_is_held(prediction: float, label: float) -> None:
    residual = abs(label - prediction)
    ends = np.array([[prediction - residual, prediction + residual]])
    assert within(ends, np.array([label])).all()


@pytest.mark.parametrize(
    ("low", "high", "label", "held"),
    [
        (0.0, 1.0, 1.0 + 1e-12, False),
        (0.0, 1.0, -1e-12, False),
        (-1e-12, 1.0, 0.0, True),
        (1.0, 0.0, 0.5, False),
        (-math.inf, math.inf, 5.0, True),
        (math.inf, math.inf, 5.0, False),
        (2.0, math.inf, 1.0, False),
    ],
)
def test_what_is_outside_is_not_held(low: float, high: float, label: float, held: bool) -> None:
    assert within(np.array([[low, high]]), np.array([label])).tolist() == [held]
