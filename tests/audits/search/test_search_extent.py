"""What a search has covered is said in words that fit its number."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from dpcp_audit.audits.search.score_arrays import RecordOrder
from dpcp_audit.audits.search.stages import extent


def tried(size: int, family: str, order: RecordOrder = RecordOrder.LAST) -> Any:
    return SimpleNamespace(scores=SimpleNamespace(size=size, order=order), family=family)


def test_one_is_not_many() -> None:
    assert extent([tried(20, "crowd")]) == (
        "1 pair of neighbours tried, of 1 family, at n = 20; "
        "the record that changes stood last in the array"
    )
    assert extent([SimpleNamespace(scores=None)]) == "1 pair of neighbours tried"


def test_many_are_listed_as_people_list() -> None:
    many = [
        tried(3, "crowd", RecordOrder.SHUFFLED),
        tried(20, "crowd", RecordOrder.EARLY),
        tried(500, "near: split"),
    ]
    assert extent(many) == (
        "3 pairs of neighbours tried, of 2 families, at n = 3, 20 and 500; the record that changes "
        "stood last, at index 17 and among shuffled ones in the array"
    )
