"""Where the record that moves stands."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpcp_audit.audits.search.pair_space import RecordOrder
from dpcp_audit.audits.search.score_pairs import two
from dpcp_audit.audits.search.stages import extent


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


def tried(size: int, family: str, order: RecordOrder = RecordOrder.LAST) -> Any:
    return SimpleNamespace(scores=SimpleNamespace(size=size, order=order), family=family)


def test_one_is_not_many() -> None:
    assert extent([tried(20, "crowd")]) == (
        "1 pair of neighbours tried, of 1 family, at n = 20; "
        "the changed record was last in the array"
    )
    assert extent([SimpleNamespace(scores=None)]) == "1 pair of neighbours tried"


def test_many_are_listed_as_people_list() -> None:
    many = [
        tried(3, "crowd", RecordOrder.SHUFFLED),
        tried(20, "crowd", RecordOrder.EARLY),
        tried(500, "untied: split"),
    ]
    assert extent(many) == (
        "3 pairs of neighbours tried, of 2 families, at n = 3, 20 and 500; the changed record "
        "was last, at index 17 and among shuffled ones in the array"
    )
