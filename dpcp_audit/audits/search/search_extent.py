"""What a search has covered, in words: families of pairs, sizes and orders of the records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcp_audit._format import counted
from dpcp_audit.audits.search.record_orders import RecordOrder

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from dpcp_audit.audits.search.pair_space import Candidate

_MOST_SIZES = 12


def _of(families: Collection[str]) -> str:
    return "1 family" if len(families) == 1 else f"{len(families)} families"


def _joined(words: list[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


def extent(tried: Sequence[Candidate]) -> str:
    """Return how many pairs were tried and, of scores, of what families, sizes and orders."""
    pairs = f"{counted(len(tried), 'pair')} of neighbours tried"
    scores = [each.scores for each in tried if each.scores is not None]
    if not scores:
        return pairs
    families = {each.family.removeprefix("near: ").removeprefix("untied: ") for each in tried}
    sizes = sorted({pair.size for pair in scores})
    shown = _joined(list(map(str, sizes)))
    if len(sizes) > _MOST_SIZES:
        shown = f"{len(sizes)} sizes from {sizes[0]} to {sizes[-1]}"
    met = {pair.order for pair in scores}
    orders = _joined([str(order) for order in RecordOrder if order in met])
    return (
        f"{pairs}, of {_of(families)}, at n = {shown}; the record that changes stood {orders} "
        "in the array"
    )
