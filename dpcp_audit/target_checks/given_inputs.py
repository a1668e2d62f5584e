"""Options that hold a target's inputs: rows, or a pair, which must be neighbours."""

from __future__ import annotations

import json
import operator
from collections import Counter
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard, cast

import numpy as np

from dpcp_audit.audits.search.pair_space import FixedPairs, input_as_data
from dpcp_audit.laws.pools import RowPool, made_classes, made_outcomes
from dpcp_audit.targets import Kind, Takes, TargetSpec
from dpcp_audit.words.errors import UsageError, shown
from dpcp_audit.words.guarantees import Neighbours, Relation
from dpcp_audit.words.validate import is_array, is_masked
from dpcp_audit.words.values import Value, is_file, is_list, is_record, is_sequence, is_tuple, wrong

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping

    from dpcp_audit.words.options import Spelling
    from dpcp_audit.words.validate import FloatArray


_MOST_ROWS = 2000
_SAVE = "save one by np.savez('rows.npz', features=X, labels=y)"
_WANTED = "a file .npz with 'features' and 'labels' (or 'X' and 'y'), or a pair (X, y)"


class RowsOf(Value):
    """Rows, as a saved file, a pair of arrays, or what results files hold."""

    def read(self, value: object, name: str) -> RowPool:
        """Return the rows."""
        if isinstance(value, RowPool):
            return value
        try:
            if isinstance(value, str | Path):
                return _of(name, *_saved(Path(value), name))
            if is_record(value):
                return RowPool.from_data(value)
            if isinstance(value, tuple) or is_sequence(value):
                features, labels = cast("tuple[Any, Any]", value)
                return _of(name, features, labels)
        except UsageError:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"{name}: {error}") from error
        raise wrong(name, _WANTED, value, hint=_SAVE)

    def as_data(self, value: RowPool) -> Mapping[str, Any]:
        """Return the rows as lists."""
        return value.as_data()


def rows_for(kind: Kind, given: RowPool | None) -> RowPool:
    """Return the rows to try a kind of target on: those given, or made ones."""
    if given is not None:
        return given
    return made_outcomes() if kind is Kind.REGRESSION else made_classes()


def _saved(path: Path, name: str) -> tuple[Any, Any]:
    if path.suffix != ".npz" or not is_file(path):
        raise wrong(name, _WANTED, str(path), hint=_SAVE)
    with np.load(path, allow_pickle=False) as stored:
        for pair in (("features", "labels"), ("X", "y")):
            if set(pair) <= set(stored.files):
                return stored[pair[0]], stored[pair[1]]
    raise wrong(name, _WANTED, f"{path.name} with {', '.join(stored.files)}", hint=_SAVE)


def _of(name: str, features: Any, labels: Any) -> RowPool:
    words = [each for each in np.asarray(labels).ravel()[:1].tolist() if isinstance(each, str)]
    if words:
        raise UsageError(
            f"{name}: labels must be numbers, and those of classes integers from 0, got {words}",
            hint="encode them, and fit the model to the codes",
        )
    pool = RowPool(np.asarray(features, dtype=np.float64), np.asarray(labels, dtype=np.float64))
    if len(pool.labels) > _MOST_ROWS:
        raise UsageError(
            f"{name} must have at most {_MOST_ROWS} rows, since every call predicts all of them, "
            f"got {len(pool.labels)}",
            hint="take a sample",
        )
    return pool


def with_classes(target: TargetSpec, data: RowPool | None) -> TargetSpec:
    """Return a predictor with the number of classes that the data have, if none is given."""
    try:
        classes = rows_for(target.kind, data).classes
    except ValueError as error:
        raise UsageError(str(error)) from error
    if target.domain is None:
        return replace(target, domain=classes)
    if target.domain < classes:
        raise UsageError(
            f"domain must be at least {classes}, as the data have, got {target.domain}",
            hint="leave domain out: the data have it",
        )
    return target


_ENDS = ("value", "neighbour")
_WANTED_DATA = "a tuple of two inputs, or a file .json or .npz with 'value' and 'neighbour'"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InputPair:
    """Two inputs, as a target takes them.

    Parameters
    ----------
    value, neighbour : object
        A number, an array, or a tuple of arrays.
    """

    value: Any
    neighbour: Any

    @property
    def ends(self) -> tuple[Any, Any]:
        """The two inputs."""
        return self.value, self.neighbour

    def taken(self, takes: Takes) -> InputPair:
        """Return the pair as targets take it: of clients, an array for each.

        What holds no numbers is left for the checks of the pair to refuse.
        """
        if takes is not Takes.CLIENTS or not all(map(_is_listed, self.ends)):
            return self
        try:
            first, second = (tuple(np.asarray(x, dtype=np.float64) for x in y) for y in self.ends)
        except (TypeError, ValueError):
            return self
        return InputPair(value=first, neighbour=second)

    def space(self, relation: Relation, bounds: tuple[float, float] | None) -> FixedPairs:
        """Return the pair as all that is tried."""
        pair = Neighbours(relation=relation, value=self.value, neighbour=self.neighbour)
        return FixedPairs((pair,), bounds=bounds)


class PairOf(Value):
    """A pair, as a saved file, a tuple of two inputs, or what results files hold."""

    def read(self, value: object, name: str) -> InputPair:
        """Return the pair."""
        if isinstance(value, InputPair):
            return value
        if isinstance(value, str | Path):
            value = _saved_data(Path(value), name)
        ends: Any = value
        if _is_pair(value):
            ends = (value.value, value.neighbour)
        if is_record(value) and set(_ENDS) <= set(value):
            ends = tuple(value[end] for end in _ENDS)
        if not is_sequence(ends) or isinstance(ends, list) or len(ends) != 2:
            raise wrong(name, _WANTED_DATA, value, hint="such as ([0.1, 0.5], [0.1, 0.9])")
        try:
            first, second = map(_input, ends)
        except (RuntimeError, TypeError, ValueError) as error:
            raise UsageError(f"{name}: {error}") from error
        return InputPair(value=first, neighbour=second)

    def as_data(self, value: InputPair) -> dict[str, Any]:
        """Return the pair as plain data."""
        return {end: input_as_data(getattr(value, end)) for end in _ENDS}


def _is_pair(value: object) -> TypeGuard[Neighbours[Any]]:
    return isinstance(value, Neighbours)


def _input(value: Any) -> Any:
    """Return an input as targets are handed it: lists of numbers as arrays of floats."""
    if is_record(value):
        if set(value) != {"parts"}:
            raise ValueError(f"an input in parts must be {{'parts': [...]}}, got {sorted(value)}")
        value = tuple(value["parts"])
    _require_numbers(value)
    if not is_sequence(value):
        return value
    if is_list(value):
        return _array(value)
    return tuple(map(_part, value))


def _array(value: list[Any]) -> Any:
    """Return a list of numbers as an array; one of parts with several lengths as those parts."""
    try:
        return np.asarray(value, dtype=np.float64)
    except ValueError:
        parts = tuple(map(_part, value))
    if not all(part.ndim for part in parts):
        raise ValueError(f"an input must hold numbers, or arrays of them, got {shown(value, 40)}")
    return parts


def _part(value: Any) -> Any:
    try:
        return np.asarray(value)
    except ValueError:
        raise ValueError(
            f"a part of an input must have rows of one length, got {shown(value, 40)}"
        ) from None


def _require_numbers(value: Any) -> None:
    """Refuse NaN and masked numbers, in whatever part of an input."""
    if is_sequence(value):
        for each in value:
            _require_numbers(each)
    elif is_masked(value):
        raise ValueError("an input must not hold masked numbers: fill them, or leave them out")
    elif (array := np.asarray(value)).dtype.kind in "fO" and not _all_known(array):
        raise ValueError("an input must not hold NaN")


def _all_known(array: np.ndarray[Any, Any]) -> bool:
    """Return True if no number is NaN, which alone is unlike itself."""
    return bool(np.all(np.equal(array, array)))


def _is_listed(value: Any) -> bool:
    """Return True if an input is a tuple or an array, of which each item is a client's."""
    return is_tuple(value) or (is_array(value) and value.ndim > 0)


def _saved_data(path: Path, name: str) -> Any:
    if path.suffix not in {".json", ".npz"} or not is_file(path):
        raise wrong(name, _WANTED_DATA, str(path), hint="such as pair.json")
    try:
        if path.suffix == ".json":
            return json.loads(path.read_text(encoding="utf-8"))
        with np.load(path, allow_pickle=False) as stored:
            return {end: _whole(stored[end]) for end in _ENDS if end in stored.files}
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{name}: {path.name} cannot be read: {error}",
            hint='such as {"value": [0.1, 0.5], "neighbour": [0.1, 0.9]} in pair.json',
        ) from error


def _whole(array: Any) -> Any:
    """Return an array; the number that one without axes holds."""
    return array.item() if array.ndim == 0 else array


class Unit(StrEnum):
    """The unit in which neighbouring data of a federated target differ."""

    RECORD = "record"
    """One score of one client."""
    CLIENT = "client"
    """All scores of one client."""


COVERAGE_SIZE = 500
"""The number of scores at which coverage is checked, if none is given."""


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
        If the option is invalid; the message names it.
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
        If the arguments are invalid; the message names them.
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
    """Return True if two values are the same, part by part where they have parts."""
    if is_tuple(value) and is_tuple(neighbour):
        return len(value) == len(neighbour) and all(map(np.array_equal, value, neighbour))
    return np.array_equal(value, neighbour)


def _same_owner(gone: Counter[Any], come: Counter[Any]) -> bool:
    """Return True if a record keeps its features, or its client."""
    return {record[0] for record in gone} == {record[0] for record in come}


_PARTS = {Takes.RECORDS: 2, Takes.ROWS: 3}
_ROUNDING = 1e-6
"""The rounding error of probabilities, such as float32 ones, and of their sums."""


def require_parts(pair: InputPair, kind: Kind, name: str) -> None:
    """Refuse inputs that have not the parts that the target is called with.

    Raises
    ------
    UsageError
        If the option is invalid; the message names it.
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
        If the option is invalid; the message names it.
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
    """Return the rule that the pair breaks; "" where it breaks none."""
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
    """Return the rule that the records break; "" where they break none, or are none."""
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
