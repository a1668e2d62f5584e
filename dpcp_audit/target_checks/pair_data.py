"""A pair of neighbouring inputs to test alone, as an option's value."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit._plain_data import is_list, is_record, is_sequence, is_tuple, shown
from dpcp_audit._types import is_array, is_masked
from dpcp_audit._values import Value, is_file, wrong
from dpcp_audit.audits.search.pair_space import FixedPairs, input_as_data
from dpcp_audit.errors import UsageError
from dpcp_audit.neighbours import Neighbours
from dpcp_audit.targets import Takes

if TYPE_CHECKING:
    from dpcp_audit.neighbours import Relation

_ENDS = ("value", "neighbour")
_WANTED = "a tuple of two inputs, or a file .json or .npz with 'value' and 'neighbour'"


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
            value = _saved(Path(value), name)
        ends: Any = value
        if is_record(value) and set(_ENDS) <= set(value):
            ends = tuple(value[end] for end in _ENDS)
        if not is_sequence(ends) or isinstance(ends, list) or len(ends) != 2:
            raise wrong(name, _WANTED, value)
        try:
            first, second = map(_input, ends)
        except (RuntimeError, TypeError, ValueError) as error:
            raise UsageError(f"{name}: {error}") from error
        return InputPair(value=first, neighbour=second)

    def as_data(self, value: InputPair) -> dict[str, Any]:
        """Return the pair as plain data."""
        return {end: input_as_data(getattr(value, end)) for end in _ENDS}


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


def _saved(path: Path, name: str) -> Any:
    if path.suffix not in {".json", ".npz"} or not is_file(path):
        raise wrong(name, _WANTED, str(path))
    try:
        if path.suffix == ".json":
            return json.loads(path.read_text(encoding="utf-8"))
        with np.load(path, allow_pickle=False) as stored:
            return {end: _whole(stored[end]) for end in _ENDS if end in stored.files}
    except (OSError, ValueError) as error:
        raise UsageError(f"{name}: {path.name} cannot be read: {error}") from error


def _whole(array: Any) -> Any:
    """Return an array; the number that one without axes holds."""
    return array.item() if array.ndim == 0 else array
