"""In how many records the inputs of a given pair differ: a claim speaks of neighbours alone."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit._plain_data import is_tuple
from dpcp_audit.errors import UsageError
from dpcp_audit.neighbours import Relation
from dpcp_audit.target_checks.units import Unit
from dpcp_audit.targets import Takes

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from dpcp_audit.target_checks.pair_data import InputPair

_MAY = {
    Relation.SUBSTITUTION: "one {unit} is replaced by another",
    Relation.ADD_REMOVE: "one {unit} is added or taken away",
    Relation.ONE_LABEL: "one record changes its label",
}
_SAME = "the two are the same"


def require_neighbours(
    pair: InputPair, relation: Relation, takes: Takes, unit: Unit, name: str
) -> None:
    """Refuse a pair that differs in more than a claim allows, or not at all.

    Records are compared whatever their order. Any two values of one user are neighbours.

    Raises
    ------
    UsageError
        Naming the option.
    """
    if takes is Takes.VALUE:
        if _same(*pair.ends):
            raise UsageError(f"{name} must hold two values: {_SAME}")
        return
    try:
        first, second = (Counter(_records(each, takes, unit)) for each in pair.ends)
    except (TypeError, ValueError, LookupError):
        raise UsageError(f"{name} must hold two inputs of {takes}") from None
    gone, come = first - second, second - first
    counts = gone.total(), come.total()
    allowed = {(0, 1), (1, 0)} if relation is Relation.ADD_REMOVE else {(1, 1)}
    within = relation is Relation.ONE_LABEL or (takes is Takes.CLIENTS and unit is Unit.RECORD)
    if counts not in allowed or (within and all(counts) and not _same_owner(gone, come)):
        may = _MAY[relation].format(unit=unit)
        apart = (
            f"{counts[0]} of the first are not in the second, {counts[1]} of the second not in "
            "the first"
        )
        raise UsageError(
            f"{name} must hold neighbours (neighbours {relation}: {may}): "
            f"{apart if any(counts) else _SAME}"
        )


def _records(value: Any, takes: Takes, unit: Unit) -> Iterator[Hashable]:
    """Yield the records of an input: with their client, or all of a client's as one."""
    if takes is Takes.SCORES:
        yield from _rows(value)
    elif takes is Takes.CLIENTS:
        for client, scores in enumerate(value):
            if unit is Unit.CLIENT:
                yield tuple(sorted(_rows(scores)))
            else:
                yield from ((client, row) for row in _rows(scores))
    else:
        yield from zip(_rows(value[0]), _rows(value[1]), strict=True)


def _rows(value: Any) -> list[bytes]:
    """Return the rows of an array; −0 is 0."""
    array = np.asarray(value, dtype=np.float64) + 0.0
    if not array.ndim:
        raise ValueError("a number has no rows")
    return [row.tobytes() for row in array]


def _same(value: Any, neighbour: Any) -> bool:
    """Tell whether two values are the same, part by part where they have parts."""
    if is_tuple(value) and is_tuple(neighbour):
        return len(value) == len(neighbour) and all(map(np.array_equal, value, neighbour))
    return np.array_equal(value, neighbour)


def _same_owner(gone: Counter[Any], come: Counter[Any]) -> bool:
    """Tell whether a record keeps its features, or its client."""
    return {record[0] for record in gone} == {record[0] for record in come}
