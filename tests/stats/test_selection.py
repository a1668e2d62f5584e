"""Choices by bits, against np.where."""

from __future__ import annotations

import numpy as np

from dpcp_audit.stats.bits import Selection


def test_every_number_is_chosen_bit_by_bit() -> None:
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1e308, -1.5])
    first, second = (column.ravel() for column in np.meshgrid(special, special))
    for condition in (first < second, first > second, np.isnan(first)):
        chosen = Selection(condition)(first, second)
        expected = np.where(condition, first, second)
        assert (chosen.view(np.int64) == expected.view(np.int64)).all()


def test_the_arrays_are_left_as_they_are() -> None:
    first, second = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    chosen = Selection(np.array([True, False]))(first, second)
    chosen[:] = 0
    assert (first == [1, 2]).all()
    assert (second == [3, 4]).all()


def test_views_with_strides() -> None:
    table = np.arange(12.0).reshape(3, 4)
    condition = np.array([True, False, True])
    assert (Selection(condition)(table[:, 0], table[:, 1]) == [0, 5, 8]).all()
