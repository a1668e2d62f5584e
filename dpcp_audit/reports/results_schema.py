"""The shape of a results document, checked before anything is read from one.

``dpcp-audit schema`` prints it as JSON Schema, from the file that is published with the package.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import TYPE_CHECKING, Any, cast

from dpcp_audit.assumptions import Assumption
from dpcp_audit.figures import FigureKind
from dpcp_audit.proofs import ProofMethod
from dpcp_audit.quantities import Bound, Quantity
from dpcp_audit.reports.shapes import (
    COUNT,
    FLAG,
    NUMBER,
    NUMBERS,
    OBJECT,
    POSITIVE,
    TEXT,
    Items,
    Leaf,
    Maybe,
    Record,
    SchemaError,
    one_of,
)
from dpcp_audit.results import EvidenceKind, Measure, PlainData, Standing, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA_VERSION = "2.2"
SCHEMA_FILE = "results.schema.json"
_MAJOR = SCHEMA_VERSION.split(".", maxsplit=1)[0]

_VERSION = Leaf(
    words=f"a version {_MAJOR}.x",
    json={"type": "string", "pattern": f"^{_MAJOR}(\\.|$)"},
    holds=lambda value: isinstance(value, str) and value.split(".", maxsplit=1)[0] == _MAJOR,
)
_SOURCE = Record(required={"paper": TEXT, "section": TEXT})
_LOCATION = Record(required={"file": TEXT}, optional={"line": Maybe(POSITIVE)})
_COUNTED = Record(
    required={"of": TEXT, "hits": COUNT, "trials": COUNT},
    optional={"undecided": COUNT, "any_time": FLAG},
)
_ENDS = Items(of=NUMBER, words="a list of two numbers", length=2)
_SAMPLE = Record(
    required={"measure": one_of(Measure)},
    optional={
        "counts": Items(of=_COUNTED),
        "trials": COUNT,
        "variance": NUMBER,
        "range": _ENDS,
    },
)
_NUMBERED = Record(rest=NUMBER, words="an object of numbers")
_POWER = Record(
    required={
        "quantity": one_of(Quantity),
        "at": _NUMBERED,
        "detail": TEXT,
        "bound": one_of(Bound),
        "smallest": NUMBER,
        "claimed": NUMBER,
        "detection": NUMBER,
        "factor": NUMBER,
    }
)
_EVIDENCE = Record(
    required={
        "kind": one_of(EvidenceKind),
        "quantity": one_of(Quantity),
        "at": _NUMBERED,
        "detail": TEXT,
        "bound": one_of(Bound),
        "value": NUMBER,
        "lower": NUMBER,
        "upper": NUMBER,
        "claimed": Maybe(NUMBER),
        "confidence": NUMBER,
        "n_samples": Maybe(COUNT),
    },
    optional={"sample": Maybe(_SAMPLE), "assumption": one_of(Assumption)},
)
_ESTIMATE = Record(
    required={
        "quantity": one_of(Quantity),
        "at": _NUMBERED,
        "detail": TEXT,
        "value": NUMBER,
        "lower": NUMBER,
        "upper": NUMBER,
        "confidence": NUMBER,
    }
)
_PREMISE = Record(required={"says": TEXT, "left": _ENDS, "right": _ENDS, "holds": FLAG})
_PROOF = Record(
    required={
        "method": one_of(ProofMethod),
        "argument": TEXT,
        "premises": Items(of=_PREMISE),
        "parameters": OBJECT,
    }
)
_SERIES = Record(
    required={"name": TEXT, "x": NUMBERS, "y": NUMBERS}, optional={"texts": Items(of=TEXT)}
)
_FIGURE = Record(
    required={
        "kind": one_of(FigureKind),
        "title": TEXT,
        "x_label": TEXT,
        "y_label": TEXT,
        "series": Items(of=_SERIES),
        "marks": _NUMBERED,
        "description": TEXT,
        "log_x": FLAG,
        "log_y": FLAG,
    },
    optional={"columns": Items(of=TEXT)},
)
_COLUMN = Record(
    required={
        "name": TEXT,
        "texts": Items(of=TEXT),
        "values": NUMBERS,
        "details": Record(rest=NUMBERS, words="an object of lists of numbers"),
        "marked": Items(of=COUNT),
    }
)
_TABLE = Record(
    required={"title": TEXT, "columns": Items(of=_COLUMN), "notes": Items(of=TEXT)},
)
_FINDING = Record(
    required={
        "id": TEXT,
        "statement": TEXT,
        "formula": TEXT,
        "source": _SOURCE,
        "subject": TEXT,
        "standing": one_of(Standing),
        "assumptions": TEXT,
        "parameters": OBJECT,
        "expected": Maybe(one_of(Verdict)),
        "verdict": one_of(Verdict),
        "contradicts": FLAG,
        "evidence": Maybe(_EVIDENCE),
        "power": Maybe(_POWER),
        "witness": OBJECT,
        "note": TEXT,
        "figures": Items(of=_FIGURE),
        "replay": TEXT,
        "error": TEXT,
        "seconds": NUMBER,
    },
    optional={
        "proof": Maybe(_PROOF),
        "location": Maybe(_LOCATION),
        "estimates": Items(of=_ESTIMATE),
        "tables": Items(of=_TABLE),
        "worse": TEXT,
    },
)
_OVERVIEW = Record(required={"figures": Items(of=_FIGURE), "tables": Items(of=_TABLE)})
_SKIPPED = Record(required={"name": TEXT, "reason": TEXT})
_DOCUMENT = Record(
    required={
        "schema_version": _VERSION,
        "tool": Record(required={"name": TEXT, "version": TEXT}),
        "python": TEXT,
        "libraries": OBJECT,
        "suite": TEXT,
        "pools": Items(of=TEXT),
        "seed": COUNT,
        "profile": TEXT,
        "false_alarm": NUMBER,
        "strict": FLAG,
        "complete": FLAG,
        "wall_seconds": NUMBER,
        "summary": Record(required=dict.fromkeys([*map(str, Verdict), "contradictions"], COUNT)),
        "findings": Items(of=_FINDING),
    },
    optional={
        "targets": Items(of=OBJECT),
        "options": OBJECT,
        "overview": _OVERVIEW,
        "skipped": Items(of=_SKIPPED),
    },
)
_DESCRIPTION = """\
The results of a run of dpcp-audit, from which every other report is made. Numbers that JSON \
lacks are the strings "inf", "-inf" and "nan". Keys that are not listed are let pass: a later \
minor version may add some. Beside what is said here, the ids of findings are unique, and the x \
and y of a figure's series have the same length, but that a histogram has one edge more than \
counts."""


def check_document(document: Mapping[str, Any]) -> None:
    """Raise ``SchemaError`` where a key that this tool reads is missing or of another kind.

    Keys that it does not know are let pass: a later minor version may add some.
    """
    _DOCUMENT.check(document, "")
    seen: set[str] = set()
    for i, finding in enumerate(document["findings"]):
        where = f"findings[{i}]"
        if finding["id"] in seen:
            raise SchemaError(f"{where}.id must be unique, got {finding['id']!r} again")
        seen.add(finding["id"])
        _check_lengths(finding["figures"], where)
    if "overview" in document:
        check_overview(document["overview"])


def check_overview(overview: object) -> None:
    """Raise ``SchemaError`` where the data is no overview of a run."""
    _OVERVIEW.check(overview, "overview")
    _check_lengths(cast("Any", overview)["figures"], "overview")


def _check_lengths(figures: list[dict[str, Any]], where: str) -> None:
    for i, figure in enumerate(figures):
        extra = figure["kind"] == FigureKind.HISTOGRAM
        for j, series in enumerate(figure["series"]):
            if len(series["x"]) != len(series["y"]) + extra:
                place = f"{where}.figures[{i}].series[{j}]"
                raise SchemaError(f"{place}.x and .y must match in length")


def json_schema() -> PlainData:
    """Return the shape of a results document as JSON Schema (draft 2020-12)."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:dpcp-audit:results:{_MAJOR}",
        "title": "dpcp-audit results",
        "description": _DESCRIPTION,
        **_DOCUMENT.schema(),
    }


def schema_text() -> str:
    """Return ``json_schema()`` as the text that is published."""
    return json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n"


def published_schema() -> str:
    """Return the schema file that is shipped with the package."""
    return (resources.files("dpcp_audit.reports") / SCHEMA_FILE).read_text(encoding="utf-8")
