"""The shape of a results document, read back as typed objects before anything is printed from it.

The dataclasses are the one description: pydantic checks a document against them, names the place
of an error, and writes the JSON Schema that ``dpcp-audit schema`` prints from the published file.
"""

# ruff: noqa: TC001  (pydantic resolves the annotations)
from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from dpcp_audit.engine.run_settings import Provenance
from dpcp_audit.words.checks import Overview, Skipped
from dpcp_audit.words.errors import shown
from dpcp_audit.words.results import (
    Estimate,
    Evidence,
    Extent,
    Figure,
    FigureKind,
    Number,
    PlainData,
    Power,
    Proof,
    Source,
    SourceLocation,
    Standing,
    Table,
    TracedLines,
    Unproved,
    Verdict,
    Whole,
)
from dpcp_audit.words.values import is_record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import TypeAdapter, ValidationError

SCHEMA_VERSION = "2.6"
SCHEMA_FILE = "results.schema.json"
_MAJOR = SCHEMA_VERSION.split(".", maxsplit=1)[0]
_SHOWN = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """The program that wrote a document."""

    name: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedFinding:
    """A finding as a results file holds it: the claim, and the outcome of its check."""

    id: str
    statement: str
    formula: str
    source: Source
    subject: str
    standing: Standing
    assumptions: str
    parameters: PlainData
    expected: Verdict | None
    verdict: Verdict
    contradicts: bool
    evidence: Evidence | None
    power: Power | None
    witness: PlainData
    note: str
    figures: tuple[Figure, ...]
    replay: str
    error: str
    seconds: Number
    proof: Proof | None = None
    location: SourceLocation | None = None
    estimates: tuple[Estimate, ...] = ()
    tables: tuple[Table, ...] = ()
    worse: str = ""
    unproved: Unproved | None = None
    traced: TracedLines | None = None
    hint: str = ""
    extent: Extent | None = None

    def __post_init__(self) -> None:
        _require_lengths(self.figures)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """The number of findings with each verdict, and of those that contradict their expectation."""

    REFUTED: Whole
    PROVED: Whole
    CONSISTENT: Whole
    INCONCLUSIVE: Whole
    ERROR: Whole
    contradictions: Whole
    VACUOUS: Whole = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """The results of a run of dpcp-audit, from which every other report is made.

    Numbers that JSON lacks are the strings "inf", "-inf" and "nan". Other keys are ignored: a later
    minor version may add some. Beside what the schema says, the ids of findings are unique, the
    numbers of an interval are in order, and the x and y of a figure's series have the same length,
    except that a histogram has one edge more than counts.
    """

    schema_version: str
    tool: Tool
    python: str
    libraries: PlainData
    suite: str
    pools: tuple[str, ...]
    seed: Whole
    profile: str
    false_alarm: Number
    strict: bool
    complete: bool
    wall_seconds: Number
    summary: Counts
    findings: tuple[RecordedFinding, ...]
    targets: tuple[PlainData, ...] = ()
    options: PlainData = field(default_factory=dict[str, Any])
    overview: Overview = field(default_factory=Overview)
    skipped: tuple[Skipped, ...] = ()
    provenance: Provenance | None = None

    def __post_init__(self) -> None:
        if self.schema_version.split(".", maxsplit=1)[0] != _MAJOR:
            raise ValueError(f"schema_version must be {_MAJOR}.x, got {self.schema_version!r}")
        seen: set[str] = set()
        for finding in self.findings:
            if finding.id in seen:
                raise ValueError(f"ids of findings must be unique, got {finding.id!r} again")
            seen.add(finding.id)
        _require_lengths(self.overview.figures)


def _require_lengths(figures: tuple[Figure, ...]) -> None:
    for i, figure in enumerate(figures):
        extra = figure.kind == FigureKind.HISTOGRAM
        for j, series in enumerate(figure.series):
            if len(series.x) != len(series.y) + extra:
                place = f"figures[{i}].series[{j}]"
                raise ValueError(f"{place}.x and .y must match in length")


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter  # noqa: PLC0415  (heavy, and not needed by --help)

    return TypeAdapter(kind)


def typed(kind: Any, data: object, place: str) -> Any:
    """Return plain data as the type, which must fit without any conversion."""
    from pydantic import ValidationError  # noqa: PLC0415

    try:
        return _adapter(kind).validate_json(json.dumps(data), strict=True)
    except ValidationError as error:
        raise ValueError(_told(error, place)) from error


def _told(error: ValidationError, place: str) -> str:
    """Return the first thing that is wrong, on one line."""
    first = error.errors(include_url=False)[0]
    for part in first["loc"]:
        place += f"[{part}]" if isinstance(part, int) else f"{'.' if place else ''}{part}"
    wrong = first["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
    if first["type"] == "missing":
        return f"{place} is missing"
    given = "" if "got" in wrong else f", got {shown(first['input'], _SHOWN)}"
    if not wrong.startswith("must"):  # a rule between several fields
        return f"{place}: {wrong}" if place else wrong
    return f"{place or 'the document'} {wrong}{given}"


def read_results(document: Mapping[str, Any]) -> Results:
    """Return a document as typed objects.

    Raises
    ------
    ValueError
        If a key that this tool reads is missing or of another kind; others are ignored.
    """
    results: Results = typed(Results, document, "")
    return results


def read_overview(overview: object) -> Overview:
    """Return the overview of a run as a typed object.

    Raises
    ------
    ValueError
        If the data is not one.
    """
    if not is_record(overview) or not {"figures", "tables"} <= overview.keys():
        raise ValueError("overview must hold figures and tables")
    found: Overview = typed(Overview, overview, "overview")
    try:
        _require_lengths(found.figures)
    except ValueError as error:
        raise ValueError(f"overview.{error}") from error
    return found


def json_schema() -> PlainData:
    """Return the shape of a results document as JSON Schema (draft 2020-12)."""
    schema = _adapter(Results).json_schema()
    power = schema["$defs"]["Power"]
    power["properties"]["factor"] = power["properties"]["smallest"] | {"title": "Factor"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:dpcp-audit:results:{_MAJOR}",
        **schema,
        "title": "dpcp-audit results",
    }


def schema_text() -> str:
    """Return ``json_schema()`` as the text that is published."""
    return json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n"


def published_schema() -> str:
    """Return the schema file that is shipped with the package."""
    return (resources.files("dpcp_audit.reports") / SCHEMA_FILE).read_text(encoding="utf-8")
