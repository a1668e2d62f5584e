"""Results as text for a screen of 80 columns and 24 lines, and as data frames."""

from __future__ import annotations

import html
import importlib
import textwrap
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from dpcp_audit.reports.entry import OWN, STANDINGS
from dpcp_audit.reports.sentences import note_of, sentence, shown_estimate
from dpcp_audit.reports.severity import named, proof_text
from dpcp_audit.reports.summary import read
from dpcp_audit.reports.witness import one_line
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.formatting import (
    clipped,
    interval,
    number,
    printable,
    telling_digits,
    to_float,
)
from dpcp_audit.words.results import Standing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpcp_audit.words.results import PlainData, Table


COLUMNS = (
    *("claim", "verdict", "quantity", "value", "lower", "upper", "claimed", "confidence"),
    *("n_samples", "smallest_refuted", "seconds", "error", "id"),
)
"""The columns of the table that ``to_frame`` returns."""
NO_TRUTH = "a result has no truth value: 'not refuted' is not 'true'; compare its verdict"
_WIDTH = 80
_MOST_ROWS, _MOST_TOLD = 18, 3
_ASSUMED = "Assumptions, proof and witness"
_MOST_LINES = 3
"""The most lines of a fact about one claim."""
_SHOWN = (("verdict", 12), ("claim", 30), ("measured", 26), ("claimed", 9))
"""The columns on a screen, with the most characters that each has."""


def row(key: str, entry: Mapping[str, Any]) -> PlainData:
    """Return a claim's row of the table, numbers as floats; None is what a check does not have."""
    evidence: PlainData = shown_estimate(entry) if entry["evidence"] else {}
    power: PlainData = entry["power"] or {}
    numbers = {
        name: _number(evidence.get(name))
        for name in ("value", "lower", "upper", "claimed", "confidence")
    }
    return {
        "claim": key,
        "verdict": entry["verdict"],
        "quantity": named(evidence) if evidence else None,
        **numbers,
        "n_samples": evidence.get("n_samples"),
        "smallest_refuted": _number(power.get("smallest")),
        "seconds": entry["seconds"],
        "error": entry["error"],
        "id": entry["id"],
    }


def table(document: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the results as a text: what a reader must know first, then the claims.

    Few claims have a sentence each, many a line of a table.
    """
    if 0 < len(rows) <= _MOST_TOLD:
        entries = {entry["id"]: entry for entry in document["findings"]}
        told = [line for each in rows for line in _told(each["claim"], entries[each["id"]])]
        more = f"{_ASSUMED}: print(result[{rows[0]['claim']!r}])"
        return "\n".join([*_heading(document), *told, more])
    cells = [tuple(name for name, _ in _SHOWN), *map(_cells, rows[:_MOST_ROWS])]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(each, widths, strict=True)).rstrip()
        for each in cells
    ]
    return "\n".join([*_heading(document), *lines, *_rest(rows)])


def _told(key: str, entry: Mapping[str, Any]) -> list[str]:
    """Return a claim's verdict, and its sentence below."""
    said = textwrap.wrap(printable(sentence(entry)), _WIDTH - 4, max_lines=6, placeholder=" …")
    head = f"{entry['verdict']} {clipped(printable(key), _WIDTH - 13)}"
    return [head, *(f"    {line}" for line in said)]


def html_table(document: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the results as an HTML table that holds no more than the text does."""
    head = "".join(f"<th>{name}</th>" for name, _ in _SHOWN)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in _cells(each)) + "</tr>"
        for each in rows[:_MOST_ROWS]
    )
    rest = "".join(f"<p>{line}</p>" for line in _rest(rows))
    headline, *more = map(html.escape, _heading(document))
    rest += "".join(f"<p>{line}</p>" for line in more)
    return f"<p><b>{headline}</b></p><table><tr>{head}</tr>{body}</table>{rest}"


def card(key: str, entry: Mapping[str, Any]) -> str:
    """Return one claim on a screen."""
    width = _WIDTH - 11
    facts = {"found": printable(sentence(entry)), "claim": printable(entry["statement"])}
    if (standing := Standing(entry["standing"])) not in OWN:
        facts["standing"] = STANDINGS[standing]
    facts["assumes"] = printable(entry["assumptions"])
    if entry["evidence"] and entry["evidence"]["n_samples"] is not None:
        facts["samples"] = number(entry["evidence"]["n_samples"])
    facts["proof"] = printable(proof_text(entry.get("proof")))
    facts["witness"] = printable(one_line(entry["witness"], limit=_MOST_LINES * width))
    facts["note"] = printable(note_of(entry))
    lines = [f"{entry['verdict']}: {clipped(printable(key), _WIDTH - 14)}"]
    for name, text in facts.items():
        lines_of = _MOST_LINES + (name in {"found", "claim"})
        wrapped = textwrap.wrap(text, width, max_lines=lines_of, placeholder=" …")
        lines += [f"{name if i == 0 else '':<10} {part}" for i, part in enumerate(wrapped)]
    return "\n".join(lines)


def aligned(table: Table) -> str:
    """Return a table as aligned text, numbers flush right, its notes below."""
    head, texts = texts_of(table)
    columns = zip(table.columns, zip(head, *texts, strict=True), strict=True)
    rows = zip(*(_column(cells, right=bool(each.values)) for each, cells in columns), strict=True)
    notes = [part for note in table.notes for part in textwrap.wrap(note, _WIDTH)]
    return "\n".join([table.title, *("  ".join(row).rstrip() for row in rows), *notes, ""])


def texts_of(table: Table) -> tuple[list[str], list[tuple[str, ...]]]:
    """Return the head and the cells of a table as texts."""
    columns = [each.texts or [number(value) for value in each.values] for each in table.columns]
    return [each.name for each in table.columns], list(zip(*columns, strict=True))


def _column(cells: Sequence[str], *, right: bool) -> list[str]:
    width = max(map(len, cells))
    return [cell.rjust(width) if right else cell.ljust(width) for cell in cells]


def preformatted(text: str) -> str:
    """Return a text as HTML that keeps its lines."""
    return f"<pre>{html.escape(text)}</pre>"


def _heading(document: Mapping[str, Any]) -> list[str]:
    """Return what a reader must know first; of many claims, how many have each verdict."""
    reading = read(document)
    if len(reading.entries) <= _MOST_ROWS:
        return [reading.headline]
    tally = ", ".join(f"{count} {verdict.lower()}" for verdict, count in reading.tally)
    return [reading.headline, f"all {len(reading.entries)}, controls and readings too: {tally}"]


def _cells(shown: Mapping[str, Any]) -> tuple[str, ...]:
    measured = shown["error"] if shown["value"] is None else _measured(shown)
    texts = {
        "verdict": shown["verdict"],
        "claim": shown["claim"],
        "measured": measured,
        "claimed": "" if shown["claimed"] is None else number(shown["claimed"]),
    }
    return tuple(clipped(printable(texts[name]), most) for name, most in _SHOWN)


def _measured(evidence: Mapping[str, Any]) -> str:
    ends = interval(evidence)
    if evidence["value"] == evidence["lower"] and ends.startswith("("):
        return ends.strip("()")  # nothing but a lower end is known
    return f"{number(evidence['value'], digits=telling_digits(evidence))} {ends}".rstrip()


def _rest(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    hidden = len(rows) - _MOST_ROWS
    return [f"... and {hidden} more: to_frame() holds all"] if hidden > 0 else []


def _number(value: object) -> float | None:
    return None if value is None else to_float(value)


class FrameLibrary(StrEnum):
    """Whose data frames a table becomes."""

    PANDAS = "pandas"
    POLARS = "polars"


def frame_of(columns: Mapping[str, Sequence[Any]], library: str) -> Any:
    """Return columns as a data frame.

    Parameters
    ----------
    columns : mapping
        The values of each column, None where there is none.
    library : str
        "pandas" or "polars".

    Raises
    ------
    ValueError
        If the library is another.
    ImportError
        If it is not installed.
    """
    wanted = FrameLibrary(library) if library in set(FrameLibrary) else library
    _validate.choice(FrameLibrary, library=wanted)
    try:
        frames = importlib.import_module(wanted)
    except ImportError as error:
        raise ImportError(f"to_frame needs {wanted}: pip install {wanted}") from error
    return frames.DataFrame({name: list(values) for name, values in columns.items()})


def columns_of(table: Table) -> dict[str, list[Any]]:
    """Return a table's columns: numbers in full precision, where a column has them."""
    return {each.name: list(each.values or each.texts) for each in table.columns}
