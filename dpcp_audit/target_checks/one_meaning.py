"""A given pair must be neighbours: claims speak of no other inputs."""

from __future__ import annotations

import operator
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.target_checks.given_inputs import Unit
from dpcp_audit.targets import Kind, Takes
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.guarantees import Relation
from dpcp_audit.words.plain import is_tuple, shown

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from dpcp_audit.target_checks.given_inputs import InputPair
    from dpcp_audit.targets import TargetSpec
    from dpcp_audit.words.arrays import FloatArray
    from dpcp_audit.words.options import Spelling


_MAY = {
    Relation.SUBSTITUTION: "one {unit} is replaced by another",
    Relation.ADD_REMOVE: "one {unit} is added or taken away",
    Relation.ONE_LABEL: "one record changes its label",
    Relation.ZERO_OUT: "one {unit} is replaced by an empty one",
}
_SAME = "the two are the same"
_NEIGHBOURS = "change one record, or say by neighbours how the two may differ"


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
            raise UsageError(f"{name} must hold two values: {_SAME}", hint="such as (0, 1)")
        return
    try:
        first, second = (Counter(_records(each, takes, unit)) for each in pair.ends)
    except (TypeError, ValueError, LookupError):
        raise UsageError(
            f"{name} must hold two inputs of {takes}", hint="such as ([0.1, 0.5], [0.1, 0.9])"
        ) from None
    _require_one_apart(first, second, relation, takes, unit, name)


def require_inputs_one_apart(x: Any, neighbour: Any, relation: Relation) -> None:
    """Refuse inputs that differ in more than a claim allows, however they may be read.

    A sequence of numbers or of rows holds records; so do two of one length, as features and
    labels. Of other inputs it is not known what a record is: any two may be neighbours.

    Raises
    ------
    UsageError
        Naming the arguments.
    """
    refused: UsageError | None = None
    readings = [] if relation is Relation.ONE_LABEL else [Takes.SCORES]
    if is_tuple(x) and is_tuple(neighbour):
        readings.append(Takes.RECORDS)
    for takes in readings:
        try:
            first, second = (Counter(_records(each, takes, Unit.RECORD)) for each in (x, neighbour))
        except (TypeError, ValueError, LookupError, OverflowError):
            continue
        try:
            _require_one_apart(first, second, relation, takes, Unit.RECORD, "x and x_neighbour")
        except UsageError as error:
            refused = error
        else:
            return
    if refused is not None:
        raise refused


def _require_one_apart(  # noqa: PLR0917  (what a claim says of neighbours)
    first: Counter[Any],
    second: Counter[Any],
    relation: Relation,
    takes: Takes,
    unit: Unit,
    name: str,
) -> None:
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
            f"{apart if any(counts) else _SAME}",
            hint=_NEIGHBOURS,
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


_PARTS = {Takes.RECORDS: 2, Takes.ROWS: 3}
_ROUNDING = 1e-6
"""The rounding error of probabilities, such as float32 ones, and of their sums."""


def require_parts(pair: InputPair, kind: Kind, name: str) -> None:
    """Refuse inputs that have not the parts that the target is called with.

    Raises
    ------
    UsageError
        Naming the option.
    """
    parts = _PARTS.get(kind.takes)
    if parts is None:
        return
    for each in pair.ends:
        if not is_tuple(each) or len(each) != parts:
            said = ", ".join(kind.inputs)
            raise UsageError(
                f"{name} must hold two inputs of {kind.takes}, each ({said})",
                hint="such as ([0.1, 0.5], [0.1, 0.9])",
            )


def require_domain(pair: InputPair, target: TargetSpec, spell: Spelling) -> None:
    """Refuse a pair with an input outside what the target is said to be called with.

    Values lie in the domain or the bounds, scores in the bounds; probabilities sum to 1 and their
    labels are classes; the new rows, which are no one's data, are the same ones on both sides.

    Raises
    ------
    UsageError
        Naming the option.
    """
    try:
        said = _outside(pair, target, spell)
    except (TypeError, ValueError, LookupError):
        said = f"two inputs of {target.kind.takes}"
    if said:
        raise UsageError(
            f"{spell('pair')} must hold {said}",
            hint="change the pair, or leave it out: the search finds one",
        )


def _outside(pair: InputPair, target: TargetSpec, spell: Spelling) -> str:
    """Return what the pair must hold and does not; "" where it does."""
    if target.kind is Kind.RANDOMIZER:
        return _no_value(pair, target.domain or 0)
    if target.kind.takes is Takes.RECORDS:
        classes = target.domain or max(np.asarray(each[0]).shape[-1] for each in pair.ends)
        found = (_no_records(each[0], each[1], classes) for each in pair.ends)
        return next(filter(None, found), "")
    if target.kind.takes is Takes.ROWS:
        same = np.array_equal(pair.value[2], pair.neighbour[2])
        return "" if same else "the same new rows on both sides, which are no one's data"
    low, high = target.bounds
    numbers = np.concatenate([part.ravel() for end in pair.ends for part in _numbers(end)])
    beyond = numbers[~((low <= numbers) & (numbers <= high) & np.isfinite(numbers))]
    what = "values" if target.kind.takes is Takes.VALUE else "scores"
    said = f"{what} within the {spell('bounds')} [{low:g}, {high:g}]"
    return f"{said}, got {beyond[0]:g}" if beyond.size else ""


def _no_value(pair: InputPair, domain: int) -> str:
    for each in pair.ends:
        said = f"values of the domain, integers in 0 ... {domain - 1}, got {shown(each, 40)}"
        try:
            if not 0 <= operator.index(each) < domain:
                return said
        except TypeError:
            return said
    return ""


def _no_records(probabilities: Any, labels: Any, classes: int) -> str:
    """Return what records must be and are not; "" where they are, or are none."""
    table, chosen = (np.asarray(each, dtype=np.float64) for each in (probabilities, labels))
    if not table.size:
        return ""
    if table.ndim != 2 or table.shape[1] != classes:
        return f"probabilities of {classes} classes, got an array of shape {table.shape}"
    inside = (table >= -_ROUNDING) & (table <= 1 + _ROUNDING)
    bad = ~inside.all(axis=1) | ~(np.abs(table.sum(axis=1) - 1) <= _ROUNDING)
    if bad.any():
        return f"probabilities in [0, 1] with rows that sum to 1, got {table[bad][0].tolist()}"
    known = (chosen == np.floor(chosen)) & (chosen >= 0) & (chosen < classes)
    if not known.all():
        return f"labels that are integers in 0 ... {classes - 1}, got {chosen[~known][0]:g}"
    return ""


def _numbers(value: Any) -> Iterator[FloatArray]:
    """Yield the numbers of an input: of each of its parts."""
    for part in value if is_tuple(value) else (value,):
        yield np.asarray(part, dtype=np.float64)
