"""A reproduction as Markdown, CSV and HTML, and the lines that these and the terminal share."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_SPECIAL = re.compile(r"([\\`*_\[\]~|<>$#])")
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")
HEAD = ("Row", "Quantity", "Published", "As published", "As written")
LEGEND = (
    "value ± standard deviation over runs (standard error); = the printed digits come out, "
    "≠ the published number differs, no mark: agrees within the errors or is not compared"
)


class Line(NamedTuple):
    """A cell as text; the flags say where the published number differs."""

    row: str
    column: str
    printed: str
    as_published: str
    as_written: str
    published_differs: bool
    written_differs: bool


def lines(experiment: Mapping[str, Any]) -> list[Line]:
    """Return an experiment's cells as text."""
    return [_line(cell) for cell in experiment["cells"]]


def summary(experiment: Mapping[str, Any]) -> str:
    """Return a sentence on how the printed numbers fared."""
    counts = experiment["summary"]
    if not counts["printed"]:
        return "The paper prints no numbers for this."
    parts = [f"{counts['reproduced']} of {counts['printed']} printed numbers reproduced"]
    if counts["reproduced"]:
        parts.append(f"{counts['differ_as_published']} differ")
    if counts["in_full"]:
        parts.append(
            f"{counts['to_the_digit']} of the {counts['in_full']} over all published runs come "
            "out to the printed digit"
        )
    if counts["compared_as_written"]:
        parts.append(
            f"{counts['differ_as_written']} of {counts['compared_as_written']} differ from the "
            "algorithm as written"
        )
    return ", ".join(parts) + "."


def remarks(experiment: Mapping[str, Any]) -> list[str]:
    """Return the notes of an experiment, and once each those of its cells."""
    of_cells = dict.fromkeys(cell["note"] for cell in experiment["cells"] if cell["note"])
    return [*experiment["notes"], *of_cells]


def render_markdown(document: Mapping[str, Any]) -> str:
    """Render a reproduction (see ``to_data``) as GitHub-flavoured Markdown."""
    return "\n".join(_markdown(document)) + "\n"


def render_csv(document: Mapping[str, Any]) -> str:
    """Render a reproduction as CSV: one line a cell, what is missing empty (RFC 4180)."""
    stream = io.StringIO()
    writer = csv.writer(stream)
    kinds = ("printed", "as_published", "as_written")
    fields = (("value", "spread"), *[("value", "spread", "standard_error", "trials")] * 2)
    numbers = [
        f"{kind}_{field}" for kind, names in zip(kinds, fields, strict=True) for field in names
    ]
    flags = ("matches", "published_differs", "written_differs")
    writer.writerow(["experiment", "row", "quantity", *numbers, *flags])
    for experiment in document["experiments"]:
        for cell in experiment["cells"]:
            values = [
                "" if cell[kind] is None or cell[kind][field] is None else cell[kind][field]
                for kind, names in zip(kinds, fields, strict=True)
                for field in names
            ]
            marks = ["" if cell[flag] is None else str(cell[flag]).lower() for flag in flags]
            texts = [_guarded(text) for text in (experiment["id"], cell["row"], cell["column"])]
            writer.writerow([*texts, *values, *marks])
    return stream.getvalue()


def render_html(document: Mapping[str, Any]) -> str:
    """Render a reproduction as one self-contained HTML page.

    Raises
    ------
    MissingExtraError
        If jinja2 is not installed.
    """
    from dpcp_audit.reports.formats.html import page_environment  # noqa: PLC0415  (needs the report extra)

    template = page_environment().get_template("reproduction.html.jinja")
    return template.render(
        document=document,
        head=HEAD,
        legend=LEGEND,
        lines=lines,
        summary=summary,
        remarks=remarks,
    )


def _markdown(document: Mapping[str, Any]) -> Iterator[str]:
    yield "# The papers' tables, reproduced"
    yield f"\nProfile {document['profile']}, seed {document['seed']}. {_text(LEGEND)}."
    yield f"\n{_text(document['rule'])}"
    for experiment in document["experiments"]:
        yield f"\n## {_text(experiment['source'])}: {_text(experiment['title'])}"
        yield f"\n`{experiment['id']}`: {_text(summary(experiment))}\n"
        yield from (f"- {_text(remark)}" for remark in remarks(experiment))
        yield "\n| " + " | ".join(HEAD) + " |"
        yield "|:--|:--|--:|--:|--:|"
        for line in lines(experiment):
            yield "| " + " | ".join(_text(text) for text in line[: len(HEAD)]) + " |"
    yield "\n## What as published means\n"
    yield "| Choice | As published | As written | Source |"
    yield "|:--|:--|:--|:--|"
    for choice in document["choices"]:
        texts = (choice[key] for key in ("name", "published", "written", "source"))
        yield "| " + " | ".join(map(_text, texts)) + " |"


def _line(cell: Mapping[str, Any]) -> Line:
    printed, published, written = cell["printed"], cell["as_published"], cell["as_written"]
    decimals = 4 if printed is None else printed["decimals"]
    differs = cell["published_differs"] is True
    mark = " =" if cell["matches"] else " ≠" if differs else ""
    off = cell["written_differs"] is True
    ours = 4 if not cell["comparable"] and printed is None else decimals
    return Line(
        row=cell["row"],
        column=cell["column"],
        printed="" if printed is None else _spread(printed, decimals),
        as_published=_estimate(published, decimals) + mark,
        as_written=_estimate(written, ours) + (" ≠" if off else ""),
        published_differs=differs,
        written_differs=off,
    )


def _spread(number: Mapping[str, Any], decimals: int) -> str:
    value = f"{number['value']:.{decimals}f}"
    if not isinstance(number["spread"], float) or (number["spread"] == 0 and "trials" in number):
        return value
    return f"{value} ± {number['spread']:.{decimals}f}"


def _estimate(number: Mapping[str, Any] | None, decimals: int) -> str:
    if number is None:
        return ""
    text = _spread(number, decimals)
    if number["trials"] is None or number["standard_error"] is None:
        return text
    return f"{text} ({number['standard_error']:.{decimals + 1}f})"


def _text(text: object) -> str:
    return _SPECIAL.sub(r"\\\1", " ".join(str(text).split()))


def _guarded(text: str) -> str:
    """Keep spreadsheets from taking a text for a formula."""
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
