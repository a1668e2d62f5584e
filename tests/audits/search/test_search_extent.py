"""What a search has covered is said in words that fit its number."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from dpcp_audit.audits.search.search_extent import extent


def tried(size: int, family: str) -> Any:
    return SimpleNamespace(scores=SimpleNamespace(size=size, order="last"), family=family)


def test_one_is_not_many() -> None:
    one = [tried(20, "crowd")]
    assert extent(one) == (
        "1 pair of neighbours tried with the changed record last, of 1 family at n = 20"
    )
    many = [tried(20, "crowd"), tried(500, "near: split")]
    assert extent(many) == (
        "2 pairs of neighbours tried with the changed record last, of 2 families at n = 20, 500"
    )
    assert extent([SimpleNamespace(scores=None)]) == "1 pair of neighbours tried"
