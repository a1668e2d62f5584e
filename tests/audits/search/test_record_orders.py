"""Where the record that moves stands."""

from __future__ import annotations

import numpy as np
import pytest

from dpcp_audit.audits.search.score_arrays import RecordOrder
from dpcp_audit.audits.search.undecided_pairs import two


@pytest.mark.parametrize("order", RecordOrder)
@pytest.mark.parametrize("n", [1, 2, 3, 18, 50])
def test_an_order_lists_every_record_once(order: RecordOrder, n: int) -> None:
    assert sorted(order.permutation(n).tolist()) == list(range(n))
    assert 0 <= order.place(n) < n


@pytest.mark.parametrize("order", RecordOrder)
def test_the_arrays_differ_at_the_place_of_the_record(order: RecordOrder) -> None:
    pair = two(30, (0.0, 1.0), 12, (0.25, 0.75))
    first, second = type(pair)(
        positions=pair.positions, counts=pair.counts, source=0.25, target=0.75, order=order
    ).scores
    assert np.flatnonzero(first != second).tolist() == [order.place(30)]


def test_the_places_are_those_that_code_treats_differently() -> None:
    places = {order: order.place(50) for order in RecordOrder}
    assert places[RecordOrder.FIRST] == places[RecordOrder.FALLING] == 0
    assert (places[RecordOrder.EARLY], places[RecordOrder.MIDDLE]) == (17, 25)
    assert places[RecordOrder.LAST] == 49
    assert 0 < places[RecordOrder.SHUFFLED] < 49
