"""Options that hold a target's inputs: rows, a pair of neighbours, whose data differ."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard, cast

import numpy as np

from dpcp_audit.audits.search.pair_space import FixedPairs, input_as_data
from dpcp_audit.laws.pools import RowPool, made_classes, made_outcomes
from dpcp_audit.targets import Kind, Takes, TargetSpec
from dpcp_audit.words import options
from dpcp_audit.words.arrays import is_array, is_masked
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.guarantees import Neighbours
from dpcp_audit.words.options import options_of
from dpcp_audit.words.plain import is_list, is_record, is_sequence, is_tuple, shown
from dpcp_audit.words.values import Value, is_file, wrong

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcp_audit.words.guarantees import Relation
    from dpcp_audit.words.options import Spelling


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


TARGET_OPTIONS = options_of(TargetSpec)


def target_of(
    given: Mapping[str, Any],
    kind: type[TargetSpec] = TargetSpec,
    *,
    spell: Spelling,
    **others: Any,
) -> TargetSpec:
    """Return the target that the given options describe.

    Parameters
    ----------
    kind : type
        Of target.
    **others
        Its fields that are no options.

    Raises
    ------
    UsageError
        Naming the option, with what it got.
    """
    values = options.read(TARGET_OPTIONS, given, spell) | others
    try:
        options.require_kind(TARGET_OPTIONS, given, values["kind"], spell)
        return kind(**values)
    except UsageError:
        raise
    except ValueError as error:
        raise UsageError(str(error)) from error


def with_classes(target: TargetSpec, data: RowPool | None) -> TargetSpec:
    """Return a predictor with the number of classes that the data have, if none is given."""
    if target.kind is not Kind.PREDICTOR:
        return target
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


def name_of(target: TargetSpec) -> str:
    """Return what the findings of a target are called, where no name is given."""
    name = target.target or " ".join(target.command)
    return "_".join(name.split()) or "target"


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
    """Tell whether no number is NaN, which alone is unlike itself."""
    return bool(np.all(np.equal(array, array)))


def _is_listed(value: Any) -> bool:
    """Tell whether an input is a tuple or an array, of which each item is a client's."""
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
