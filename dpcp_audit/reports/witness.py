"""What a finding shows: its witness, on a line or from what differs on, and the traced lines."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING, Any

from dpcp_audit.engine.tasks import plain_record
from dpcp_audit.words.formatting import clipped, counted, number, to_float
from dpcp_audit.words.results import (
    LineLoss,
    Remark,
    SourceLocation,
    Table,
    TableColumn,
    TracedLines,
)
from dpcp_audit.words.values import is_list, is_record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpcp_audit.words.results import PlainData


DIFFERENCE = "where they differ"
_PAIRS = (("value", "neighbour"), ("scores", "neighbour_scores"))
_FEW = 3
"""Records with which claims of more are tried as well: a sentence says that so few suffice."""
_MANY = 6
_SHOWN = 10
_LONGEST = 160
_NUMBERS = (*("draws", "moved", "scale", "sensitivity", "mean_loss", "largest_loss", "share"),)


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
    'Already with 2 scores, changing one from 1 to 0'
    >>> changed_records({"value": 2, "neighbour": 0}, to_neighbour=False)
    'Changing the value from 0 to 2'
    """
    for names in _PAIRS:
        if not all(name in witness for name in names):
            continue
        first, second = (witness[name] for name in (names if to_neighbour else names[::-1]))
        if isinstance(first, int | float | str) and isinstance(second, int | float | str):
            return f"Changing the value from {_shown(first)} to {_shown(second)}"
        if client := _changed_client(first, second):
            return client
        records = _records(first), _records(second)
        if all(records):
            return _change(*records, "score" if names[0] == "scores" else "record")
    return "The change of one record"


def _changed_client(first: Any, second: Any) -> str:
    """Return which client's records change, of data in parts of which one changes in many places.

    Examples
    --------
    >>> _changed_client({"parts": [[0.5], [0.0, 0.0]]}, {"parts": [[0.5], [1.0, 1.0]]})
    'With 2 clients, changing all records of the last from 0 to 1'
    >>> _changed_client({"parts": [[0.5], [0.1], [0, 0]]}, {"parts": [[0.5], [0.1], [0, 1]]})
    'With 3 clients, changing one record of the last from 0 to 1'
    """
    clients, others = _parts(first), _parts(second)
    flat = all(is_list(each) and not any(map(is_list, each)) for each in (*clients, *others))
    places = [i for i, (a, b) in enumerate(zip(clients, others, strict=False)) if a != b]
    if not flat or len(clients) != len(others) or len(places) != 1:
        return ""
    old, new = clients[places[0]], others[places[0]]
    which = "the last" if places[0] == len(clients) - 1 else f"client {places[0] + 1}"
    start = f"With {counted(len(clients), 'client')}, changing"
    moved = [(a, b) for a, b in zip(old, new, strict=False) if a != b]
    if len(old) == len(new) and len(moved) == 1 and len(clients) > 2:
        return f"{start} one record of {which} from {_shown(moved[0][0])} to {_shown(moved[0][1])}"
    if len(moved) < 2:
        return ""
    if len(set(old)) == len(set(new)) == 1:
        return f"{start} all records of {which} from {_shown(old[0])} to {_shown(new[0])}"
    return f"{start} the records of {which}"


def _change(first: list[Any], second: list[Any], noun: str) -> str:
    few = "Already with" if len(first) <= _FEW else "With"
    start = f"{few} {counted(len(first), noun)},"
    one = "it" if len(first) == 1 else "one"
    moved = [(a, b) for a, b in zip(first, second, strict=False) if a != b]
    if len(first) == len(second) and len(moved) == 1:
        return f"{start} changing {one} from {_shown(moved[0][0])} to {_shown(moved[0][1])}"
    old, new = (Counter(map(json.dumps, side)) for side in (first, second))
    gone, come = list((old - new).elements()), list((new - old).elements())
    if len(gone) == len(come) == 1:
        return f"{start} changing {one} from {_shown(_read(gone))} to {_shown(_read(come))}"
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
    parts = _parts(value)
    if parts and all(isinstance(part, list) for part in parts):
        return [list(row) for row in zip(*parts, strict=False)]
    return value if is_list(value) else []


def _parts(value: Any) -> list[Any]:
    """Return the parts of an input in parts, such as clients; none of any other."""
    parts = value.get("parts") if is_record(value) else None
    return parts if is_list(parts) else []


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


_JOINED_NOTE = (
    "Draws that are compared with each other count at the one that the others share; their scale "
    "and sensitivity are not shown."
)


def traced_tables(traced: TracedLines) -> tuple[Table, ...]:
    """Return the tables of the lines that a trace has seen, without those that are empty."""
    found = (
        lines_table(traced.draws),
        _remarks_table("Data without noise", traced.leaks),
        _remarks_table("What cannot be followed", traced.unfollowed),
    )
    return tuple(table for table in found if table.columns[0].texts)


def tables_of_finding(finding: Mapping[str, Any]) -> tuple[PlainData, ...]:
    """Return the tables of a finding, those of the traced lines first."""
    lines = lines_traced(finding)
    own = () if lines is None else traced_tables(lines)
    return (*(plain_record(asdict(table)) for table in own), *(finding.get("tables") or ()))


def lines_traced(finding: Mapping[str, Any]) -> TracedLines | None:
    """Return the traced lines of a finding as they were before they were written."""
    traced: PlainData | None = finding.get("traced")
    if not traced:
        return None
    return TracedLines(
        draws=tuple(map(_line_loss, traced["draws"])),
        leaks=tuple(map(_remark, traced["leaks"])),
        unfollowed=tuple(map(_remark, traced["unfollowed"])),
    )


def _line_loss(data: PlainData) -> LineLoss:
    numbers = {name: to_float(data[name]) for name in _NUMBERS}
    place = SourceLocation(**data["location"])
    return LineLoss(location=place, law=data["law"], joined=data["joined"], **numbers)


def _remark(data: PlainData) -> Remark:
    place = SourceLocation(**data["location"])
    return Remark(says=data["says"], location=place, paths=data["paths"], blames=data["blames"])


def lines_table(lines: Sequence[LineLoss]) -> Table:
    """Return the lines that draw, with what they spend."""
    return Table(
        title="Which line spends the privacy loss",
        columns=[
            TableColumn(name="line", texts=[f"{e.location.file}:{e.location.line}" for e in lines]),
            TableColumn(name="law", texts=[each.law for each in lines]),
            _numbers("draws a run", [each.draws for each in lines]),
            _numbers("noise scale", [each.scale for each in lines]),
            _numbers("realised sensitivity", [each.sensitivity for each in lines]),
            _numbers("largest loss of a draw", [each.largest_loss for each in lines]),
            _numbers("mean loss a run", [each.mean_loss for each in lines]),
            TableColumn(
                name="share",
                texts=[f"{each.share:.0%}" for each in lines],
                values=[each.share for each in lines],
            ),
        ],
        notes=[_JOINED_NOTE] if any(each.joined for each in lines) else [],
    )


def _remarks_table(title: str, remarks: Sequence[Remark]) -> Table:
    places = [f"{each.location.file}:{each.location.line}" for each in remarks]
    return Table(
        title=title,
        columns=[
            TableColumn(name="line", texts=places),
            TableColumn(name="what is seen", texts=[each.says for each in remarks]),
            _numbers("paths", [float(each.paths) for each in remarks]),
        ],
    )


def _numbers(name: str, values: Sequence[float]) -> TableColumn:
    texts = ["" if math.isnan(value) else f"{value:.4g}" for value in values]
    return TableColumn(name=name, texts=texts, values=list(values))
