"""Results as Python users see them: findings, their texts, tables and data frames."""

from __future__ import annotations

import difflib
import html
import importlib
import math
import textwrap
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from dpcp_audit.reports.document import agree, format_for, require_writable
from dpcp_audit.reports.entry import OWN, STANDINGS, WORST_FIRST
from dpcp_audit.reports.sentences import note_of, sentence, shown_estimate
from dpcp_audit.reports.severity import headline, named, proof_text, source_of
from dpcp_audit.reports.summary import read
from dpcp_audit.reports.witness import one_line
from dpcp_audit.words import errors
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.errors import write_whole
from dpcp_audit.words.formatting import (
    clipped,
    interval,
    number,
    printable,
    telling_digits,
    to_float,
    wrapped,
)
from dpcp_audit.words.quantities import Bound, Quantity
from dpcp_audit.words.results import Figure, FigureKind, Series, Standing, Verdict, source_listing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from matplotlib.axes import Axes

    from dpcp_audit.words.results import Evidence, Finding, PlainData, Power, Proof, Table


_SAME = ("verdict", "evidence", "witness")
"""The fields that a replay must reproduce, up to the rounding of other machines."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class ClaimResult:
    """The result for one claim: verdict, evidence, power, witness and proof.

    Parameters
    ----------
    key : str
        The claim's name in a ``Result``: "zcdp", "coverage", or "zcdp(0.5)" if there are several
        of one kind; in a run, its id.
    finding : Finding
        The claim with the outcome of its check.
    entry : dict
        The finding in the results document.
    again : callable
        Tests the claim once more and returns the finding's new entry.
    """

    key: str
    finding: Finding
    entry: PlainData
    again: Callable[[], PlainData]

    @property
    def id(self) -> str:
        """The claim's id in reports."""
        return self.finding.claim.id

    @property
    def claim(self) -> str:
        """The claim, in words."""
        return self.finding.statement

    @property
    def verdict(self) -> Verdict:
        """The verdict on the claim."""
        return self.finding.verdict

    @property
    def estimate(self) -> Evidence | None:
        """The measured number with its interval; None for a failed check."""
        outcome = self.finding.outcome
        return None if outcome is None else outcome.evidence

    @property
    def power(self) -> Power | None:
        """The smallest violation that would have been refuted; None where that is unknown."""
        outcome = self.finding.outcome
        return None if outcome is None else outcome.power

    @property
    def proof(self) -> Proof | None:
        """The proof that the claim holds in every case; None if it is not proved."""
        outcome = self.finding.outcome
        return None if outcome is None else outcome.proof

    @property
    def witness(self) -> PlainData:
        """Plain data to run the same case again; empty for a failed check."""
        outcome = self.finding.outcome
        return {} if outcome is None else outcome.witness

    @property
    def error(self) -> str:
        """The error of a failed check, with advice on a second line; empty if it did not fail."""
        return self.finding.failure

    @property
    def figures(self) -> list[PlainData]:
        """The figures, as plain data; ``plot`` draws them."""
        figures: list[PlainData] = self.entry["figures"]
        return figures

    def plot(self, ax: Axes | None = None, *, figure: int = 0) -> Axes:
        """Draw a figure of this claim; without one, its interval beside the promise.

        Parameters
        ----------
        ax : Axes, optional
            The axes to draw on; by default those of a new figure of pyplot.
        figure : int
            The index in ``figures``.

        Raises
        ------
        ValueError
            If there is no such figure.
        MissingExtraError
            If matplotlib is not installed.
        """
        from dpcp_audit.reports.charts import plot_figure  # noqa: PLC0415

        _validate.integer(figure=figure, at_least=0)
        figures = self.figures or _interval(self.entry)
        if figure >= len(figures):
            raise errors.value_error(
                f"figure must be below {len(figures)}, the number of figures of {self.key!r}, "
                f"got {figure!r}",
                "0 is the first",
            )
        axes: Axes = plot_figure(figures[figure], ax)
        if not self.figures:
            axes.yaxis.set_visible(False)
        return axes

    def replay(self) -> bool:
        """Test the claim again with its seed; True if verdict, evidence and witness are the same.

        A function that draws from the system's entropy does not repeat.
        """
        again = self.again()
        return all(agree(self.entry[key], again[key]) for key in _SAME)

    def __bool__(self) -> NoReturn:
        raise TypeError(NO_TRUTH)

    def __repr__(self) -> str:
        return card(self.key, self.entry)

    def _repr_html_(self) -> str:
        source = "\n".join(source_listing(source_of(self.entry)))
        told = (
            f"<details><summary>The source, line by line</summary>{preformatted(source)}</details>"
        )
        return preformatted(repr(self)) + (told if source else "")


def _interval(entry: PlainData) -> list[PlainData]:
    """Return a figure of a claim's interval and promise as plain data; none of a failed check."""
    if entry["evidence"] is None:
        return []
    shown = shown_estimate(entry)
    name = Quantity(shown["quantity"]).label
    ends = [to_float(shown[end]) for end in ("lower", "value", "upper")]
    line = Series(name=f"found: {entry['verdict']}", x=ends, y=[0.0] * len(ends))
    figure = Figure(
        kind=FigureKind.LINES,
        title=str(entry["statement"]),
        x_label=name,
        y_label="",
        series=[line],
        description=headline(entry),
        marks={f"promised {Bound(shown['bound']).sign}": to_float(shown["claimed"])},
    )
    return [asdict(figure)]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Result:
    """The results of an audit or a run, one ``ClaimResult`` for each claim.

    Iterate over it, or index it: ``result["zcdp"]`` is the result of one claim, by its kind or its
    id, and ``result[0]`` that of the first. A result has no truth value, because a claim that is
    not refuted need not be true: test its verdict.

    Parameters
    ----------
    document : dict
        The results document: all that reports are made of, as plain data.

    Examples
    --------
    >>> import dpcp_audit as dp
    >>> def flip(values, *, rng):
    ...     return values ^ (rng.random(values.shape) < 0.1)
    >>> result = dp.audit(flip, dp.LocalDP(1.0), domain=2, vectorised=True)
    >>> result.verdict
    <Verdict.REFUTED: 'REFUTED'>
    >>> result["local_dp"].estimate.lower > 1.0
    True
    >>> result.replay()
    True
    """

    claims: tuple[ClaimResult, ...]
    document: PlainData

    @property
    def verdict(self) -> Verdict:
        """The worst verdict: REFUTED before ERROR, INCONCLUSIVE, CONSISTENT and PROVED.

        ERROR where nothing was checked.
        """
        found = [each.verdict for each in self.claims]
        return min(found, key=WORST_FIRST.index, default=Verdict.ERROR)

    def to_frame(self, library: str = "pandas") -> Any:
        """Return a table with a row for each claim, as a data frame.

        Parameters
        ----------
        library : str
            "pandas" or "polars".

        Raises
        ------
        ImportError
            If it is not installed.
        """
        rows = [row_of(each.key, each.entry) for each in self.claims]
        return frame_of({name: [row[name] for row in rows] for name in COLUMNS}, library)

    def plot(self, ax: Axes | None = None, *, figure: int = 0) -> Axes:
        """Draw a figure of the worst claim that has one; ``result[...].plot`` draws another's.

        The parameters are those of ``ClaimResult.plot``.
        """
        drawn = [each for each in self.claims if each.figures]
        drawn = drawn or [each for each in self.claims if each.entry["evidence"] is not None]
        if not drawn:
            raise ValueError("result has no figures: its checks failed")
        worst = min(drawn, key=lambda each: WORST_FIRST.index(each.verdict))
        return worst.plot(ax, figure=figure)

    def report(self, path: str | Path) -> Path:
        """Write a report, in the format of the path's suffix, and return the path.

        Parameters
        ----------
        path : str or Path
            Ends in .html, .json, .md, .csv, .sarif or .xml (JUnit), for example.

        Raises
        ------
        ValueError
            If it is no path, no format has the suffix, or it cannot be written to.
        MissingExtraError
            If a package that the format needs is not installed.
        """
        _validate.instance(str, Path, path=path)
        wanted = Path(path)
        found = format_for(wanted)
        found.require()
        require_writable(wanted, option="path")
        write_whole(wanted, found.render(self.document))
        return wanted

    def replay(self) -> bool:
        """Test every claim again; True if all come out the same (see ``ClaimResult.replay``)."""
        return all(each.replay() for each in self.claims)

    def __iter__(self) -> Iterator[ClaimResult]:
        return iter(self.claims)

    def __len__(self) -> int:
        return len(self.claims)

    def __getitem__(self, key: str | int) -> ClaimResult:
        if isinstance(key, int):
            return self.claims[key]
        names = {key, str(key).replace("-", "_")}
        for each in self.claims:
            if {each.key, each.id} & names:
                return each
        known = [each.key for each in self.claims]
        near = difflib.get_close_matches(str(key), known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"use {', '.join(known[:8])}"
        raise KeyError(f"no claim is called {key!r}: {hint}")

    def __bool__(self) -> NoReturn:
        raise TypeError(NO_TRUTH)

    def __repr__(self) -> str:
        return _results_text(self.document, self._rows)

    def _repr_html_(self) -> str:
        return html_table(self.document, self._rows)

    @property
    def _rows(self) -> list[PlainData]:
        worst = sorted(self.claims, key=lambda each: WORST_FIRST.index(each.verdict))
        return [row_of(each.key, each.entry) for each in worst]


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
"""The most lines of a fact about one claim; of its sentence, which ends with the hint, all."""
_SHOWN = (("verdict", 12), ("claim", 30), ("measured", 26), ("claimed", 9))
"""The columns on a screen, with the most characters that each has."""


def row_of(key: str, entry: Mapping[str, Any]) -> PlainData:
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


def _results_text(document: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
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
    said = wrapped(printable(sentence(entry)), _WIDTH - 4)
    head = f"{entry['verdict']} {clipped(printable(key), _WIDTH - 13)}"
    return [head, *(f"    {line}" for line in said)]


def html_table(document: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the results as an HTML table: verdict, claim and sentence of each."""
    entries = {entry["id"]: entry for entry in document["findings"]}
    head = "".join(f"<th>{name}</th>" for name in ("verdict", "claim", "found"))
    body = ""
    for each in rows[:_MOST_ROWS]:
        said = printable(sentence(entries[each["id"]]))
        cells = map(html.escape, (*_cells(each)[:2], said))
        left = "".join(f'<td style="text-align: left">{cell}</td>' for cell in cells)
        body += f"<tr>{left}</tr>"
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
        most = None if name == "found" else _MOST_LINES + (name == "claim")
        shown = wrapped(text, width, max_lines=most, placeholder=" …")
        lines += [f"{name if i == 0 else '':<10} {part}" for i, part in enumerate(shown)]
    return "\n".join(lines)


def aligned(table: Table) -> str:
    """Return a table as aligned text, numbers flush right, its notes below."""
    head, texts = _texts_of(table)
    columns = zip(table.columns, zip(head, *texts, strict=True), strict=True)
    rows = zip(*(_column(cells, right=bool(each.values)) for each, cells in columns), strict=True)
    notes = [part for note in table.notes for part in textwrap.wrap(note, _WIDTH)]
    return "\n".join([table.title, *("  ".join(row).rstrip() for row in rows), *notes, ""])


def _texts_of(table: Table) -> tuple[list[str], list[tuple[str, ...]]]:
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
    """Return the first line for a reader; for many claims, the number with each verdict."""
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
    if evidence["value"] == evidence["lower"] and math.isinf(evidence["upper"]):
        return ends.strip("()")  # nothing but a lower end is known
    return f"{number(evidence['value'], digits=telling_digits(evidence))} {ends}".rstrip()


def _rest(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    hidden = len(rows) - _MOST_ROWS
    return [f"... and {hidden} more: to_frame() holds all"] if hidden > 0 else []


def _number(value: object) -> float | None:
    return None if value is None else to_float(value)


class _FrameLibrary(StrEnum):
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
    wanted = _FrameLibrary(library) if library in set(_FrameLibrary) else library
    _validate.choice(_FrameLibrary, library=wanted)
    try:
        frames = importlib.import_module(wanted)
    except ImportError as error:
        raise ImportError(f"to_frame needs {wanted}: pip install {wanted}") from error
    return frames.DataFrame({name: list(values) for name, values in columns.items()})


def columns_of(table: Table) -> dict[str, list[Any]]:
    """Return a table's columns: numbers in full precision, where a column has them."""
    return {each.name: list(each.values or each.texts) for each in table.columns}
