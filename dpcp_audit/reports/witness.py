"""Witnesses for readers: what differs between two long inputs first, and all of it on a line."""

from __future__ import annotations

import json
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Any

from dpcp_audit.words.formatting import clipped, counted, number
from dpcp_audit.words.values import is_list, is_record

if TYPE_CHECKING:
    from collections.abc import Mapping


DIFFERENCE = "where they differ"
_PAIRS = (("value", "neighbour"), ("scores", "neighbour_scores"))
_MANY = 6
_SHOWN = 10
_LONGEST = 160


def telling(witness: Mapping[str, Any]) -> dict[str, Any]:
    """Return a witness that begins with where its two inputs differ, if they are long.

    Examples
    --------
    >>> telling({"value": [0.5] * 9, "neighbour": [0.5] * 8 + [1.0]})[DIFFERENCE]
    {'value[8]': 0.5, 'neighbour[8]': 1.0}
    """
    found = differences(witness)
    return {DIFFERENCE: found, **witness} if found else dict(witness)


def differences(witness: Mapping[str, Any]) -> dict[str, Any]:
    """Return the records of two neighbours that the other does not have, by name and place.

    Empty where there is no neighbour, and where the inputs are short enough to be seen at a
    glance, or are no lists. Of lists
    that hold the same in another order, and of those of one length that differ in a few places,
    the places count; else what they hold.
    """
    for names in _PAIRS:
        if not all(name in witness for name in names):
            continue
        first, second = (_records(witness[name]) for name in names)
        if max(len(first), len(second)) > _MANY:
            return _apart(names, first, second)
    return {}


def changed_records(witness: Mapping[str, Any], *, to_neighbour: bool) -> str:
    """Return how one input becomes the other: "With 20 scores, changing one from 1 to 0".

    Examples
    --------
    >>> changed_records({"scores": [0.0, 1.0], "neighbour_scores": [0.0, 0.0]}, to_neighbour=True)
    'With 2 scores, changing one from 1 to 0'
    """
    for names in _PAIRS:
        first, second = (_records(witness.get(name)) for name in names)
        if not to_neighbour:
            first, second = second, first
        if first and second:
            return _change(first, second, "score" if names[0] == "scores" else "record")
    return "The change of one record"


def _change(first: list[Any], second: list[Any], noun: str) -> str:
    start = f"With {counted(len(first), noun)},"
    moved = [(a, b) for a, b in zip(first, second, strict=False) if a != b]
    if len(first) == len(second) and len(moved) == 1:
        return f"{start} changing one from {_shown(moved[0][0])} to {_shown(moved[0][1])}"
    old, new = (Counter(map(json.dumps, side)) for side in (first, second))
    gone, come = list((old - new).elements()), list((new - old).elements())
    if len(gone) == len(come) == 1:
        return f"{start} changing one from {_shown(_read(gone))} to {_shown(_read(come))}"
    if not gone and len(come) == 1:
        return f"{start} adding one of {_shown(_read(come))}"
    if not come and len(gone) == 1:
        return f"{start} removing one of {_shown(_read(gone))}"
    return f"{start} the change to its neighbour"


def _read(texts: list[str]) -> Any:
    return json.loads(texts[0])


def _shown(value: Any) -> str:
    return number(value) if isinstance(value, int | float) else short(value)


def one_line(witness: Mapping[str, Any], *, limit: int) -> str:
    """Return what differs and then the rest of a witness, in at most so many characters.

    The neighbour is left out where it is told, and the guarantee, which the claim names.
    """
    apart = differences(witness)
    left_out = {"guarantee", *(neighbour for _, neighbour in _PAIRS if apart)}
    parts = [f"{name} = {short(value)}" for name, value in apart.items()]
    parts += [f"{key}: {short(v)}" for key, v in witness.items() if key not in left_out]
    return clipped("; ".join(parts), limit)


def short(value: Any) -> str:
    """Return a value on one line; runs of one number are counted.

    Examples
    --------
    >>> short([0.0] * 9 + [1.0])
    '10 numbers: 0 (x9), 1'
    """
    if is_list(value) and len(value) > _MANY and not isinstance(value[0], list | dict | str):
        runs = [(item, len(list(group))) for item, group in groupby(value)]
        parts = [f"{item:.6g}" + (f" (x{count})" if count > 1 else "") for item, count in runs]
        return clipped(f"{len(value)} numbers: {', '.join(parts)}", _LONGEST)
    return clipped(json.dumps(value, ensure_ascii=False), _LONGEST)


def _records(value: Any) -> list[Any]:
    """Return an input's records; of one in parts, such as probabilities and labels, rows of all."""
    parts = value.get("parts") if is_record(value) else None
    if is_list(parts) and all(isinstance(part, list) for part in parts):
        return [list(row) for row in zip(*parts, strict=False)]
    return value if is_list(value) else []


def _apart(names: tuple[str, str], first: list[Any], second: list[Any]) -> dict[str, Any]:
    places = [i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b]
    moved = Counter(map(json.dumps, first)), Counter(map(json.dumps, second))
    same_place = len(first) == len(second) and len(places) <= _SHOWN
    if same_place or moved[0] == moved[1]:
        return {
            f"{name}[{i}]": side[i]
            for i in places[:_SHOWN]
            for name, side in zip(names, (first, second), strict=True)
        }
    return _own(names[0], first, moved[0] - moved[1]) | _own(names[1], second, moved[1] - moved[0])


def _own(name: str, records: list[Any], surplus: Counter[str]) -> dict[str, Any]:
    """Return the first records that one side alone has, by their places."""
    left = surplus.copy()
    found: dict[str, Any] = {}
    for place, record in enumerate(records):
        key = json.dumps(record)
        if left[key] > 0 and len(found) < _SHOWN:
            left[key] -= 1
            found[f"{name}[{place}]"] = record
    return found
