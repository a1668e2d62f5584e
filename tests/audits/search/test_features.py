"""How a number is written: last bits, trailing zeros, decimals."""

from __future__ import annotations

import numpy as np
import pytest

from dpcp_audit.audits.search.event_search import (
    DecimalPlaces,
    Feature,
    LastBits,
    TrailingZeros,
    feature_as_data,
    feature_from_data,
)

OUTPUTS = np.array([0.0, 1.0, -3.0, 0.5, 0.1, 12.34, 1e300, 5e-324, np.inf, -np.inf])


def test_last_bits_are_those_of_the_mantissa() -> None:
    base = np.array([1.0]).view(np.int64)[0]
    numbers = np.array([base + k for k in (0, 1, 37, 255, 256)]).view(np.float64)
    assert LastBits()(numbers).tolist() == [0.0, 1.0, 37.0, 255.0, 0.0]
    assert LastBits()(OUTPUTS)[-2:].tolist() == [-1.0, -1.0]


def test_trailing_zeros_are_the_binary_grid() -> None:
    assert TrailingZeros()(OUTPUTS[:4]).tolist() == [53.0, 52.0, 51.0, 52.0]
    assert TrailingZeros()(np.array([1 + 2.0**-52, 1 + 2.0**-10])).tolist() == [0.0, 42.0]


def test_decimals_are_those_that_a_number_needs() -> None:
    assert DecimalPlaces()(OUTPUTS[:6]).tolist() == [0.0, 0.0, 0.0, 1.0, 1.0, 2.0]
    assert DecimalPlaces()(np.array([np.pi / 10, 0.123 - 1e-10])).tolist() == [10.0, 3.0]


@pytest.mark.parametrize("feature", [LastBits(3), TrailingZeros(), DecimalPlaces()])
def test_they_come_back_from_data_and_bear_any_number(feature: Feature) -> None:
    again = feature_from_data(feature_as_data(feature))
    assert again(OUTPUTS).tolist() == feature(OUTPUTS).tolist()
    assert np.isfinite(feature(OUTPUTS)).all()
