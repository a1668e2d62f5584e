"""SARIF 2.1.0: refuted claims as results, for code scanning.

Code scanning shows whatever is a result, so that only what asks for attention is one: verdicts
that contradict their expectation (level ``error``) and refutations that were expected (level
``note``). Checks that could not be completed are notifications of the tool.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from dpcp_audit.reports.findings.expectations import findings_of
from dpcp_audit.reports.findings.plain_text import family, sentence
from dpcp_audit.reports.report_format import ReportFormat
from dpcp_audit.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpcp_audit.results import PlainData

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_ROOT = "%SRCROOT%"
_LISTED = ("estimates", "tables")
"""Lists of a finding, which are left out where they are empty."""


def render_sarif(document: Mapping[str, Any]) -> str:
    """Render a results document as a SARIF 2.1.0 log.

    One rule a family of claims. A finding with a ``location`` points at that line of its file,
    relative to the working directory where the file lies in it; others name their claim.

    Parameters
    ----------
    document : mapping
        The results document, as :func:`dpcp_audit.reports.document.load` returns it.
    """
    shown = [
        finding
        for finding in findings_of(document)
        if finding["verdict"] != Verdict.ERROR
        and (finding["contradicts"] or finding["verdict"] == Verdict.REFUTED)
    ]
    rules = _rules(shown)
    places = {rule["id"]: i for i, rule in enumerate(rules)}
    run = {
        "tool": {"driver": _driver(document["tool"], rules)},
        "invocations": [_invocation(document)],
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, places) for finding in shown],
        "properties": {
            **{key: document[key] for key in ("suite", "profile", "seed", "false_alarm")},
            "summary": document["summary"],
            **_lists_of_others(document, shown),
        },
    }
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _driver(tool: Mapping[str, Any], rules: Sequence[PlainData]) -> PlainData:
    return {"name": tool["name"], "version": tool["version"], "rules": list(rules)}


def _rules(findings: Sequence[Mapping[str, Any]]) -> list[PlainData]:
    rules: dict[str, PlainData] = {}
    for finding in findings:
        id_, source = family(finding["id"]), finding["source"]
        rules.setdefault(
            id_,
            {
                "id": id_,
                "shortDescription": {"text": f"{source['paper']}, {source['section']}"},
                "fullDescription": {"text": finding["statement"] or id_},
                "defaultConfiguration": {"level": "error"},
            },
        )
    return list(rules.values())


def _result(finding: Mapping[str, Any], places: Mapping[str, int]) -> PlainData:
    rule = family(finding["id"])
    digest = hashlib.sha256(finding["id"].encode()).hexdigest()
    return {
        "ruleId": rule,
        "ruleIndex": places[rule],
        "kind": "fail",
        "level": "error" if finding["contradicts"] else "note",
        "message": _message(f"{finding['statement']} {sentence(finding)}".strip()),
        "locations": [_location(finding)],
        "partialFingerprints": {"findingId/v1": digest},
        "properties": {
            key: finding[key]
            for key in ("id", "verdict", "expected", "evidence", "replay", *_LISTED)
            if key not in _LISTED or finding.get(key)
        },
    }


def _lists_of_others(document: Mapping[str, Any], shown: Sequence[Mapping[str, Any]]) -> PlainData:
    """Return estimates and tables of findings that are no result, by their ids.

    What brackets a loss, what reaches an output without noise, and what cannot be followed.
    """
    results = {finding["id"] for finding in shown}
    others = [each for each in findings_of(document) if each["id"] not in results]
    found = {key: {each["id"]: each[key] for each in others if each.get(key)} for key in _LISTED}
    return {key: listed for key, listed in found.items() if listed}


def _message(text: str) -> PlainData:
    """Return a message without placeholders or links (SARIF 2.1.0, 3.11.5 and 3.11.6)."""
    doubled = text.replace("{", "{{").replace("}", "}}")
    return {"text": doubled.replace("](", "] (")}


def _location(finding: Mapping[str, Any]) -> PlainData:
    logical = {"fullyQualifiedName": finding["id"]}
    location: PlainData = finding.get("location") or {}
    artifact = _artifact(str(location["file"])) if location else None
    if artifact is None:
        return {"logicalLocations": [logical]}
    physical: PlainData = {"artifactLocation": artifact}
    if location.get("line"):
        physical["region"] = {"startLine": location["line"]}
    return {"physicalLocation": physical, "logicalLocations": [logical]}


def _artifact(file: str) -> PlainData | None:
    """Return the file as a URI, relative to the working directory where it lies in it.

    None of a relative path that leads out of it: no source is there, and what a viewer would
    open is whatever a results file says.
    """
    path = Path(os.path.normpath(file))
    if path.is_absolute() and path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    if path.is_absolute():
        return {"uri": path.as_uri()}
    if ".." in path.parts:
        return None
    return {"uri": quote(path.as_posix()), "uriBaseId": _ROOT}


def _invocation(document: Mapping[str, Any]) -> PlainData:
    notes: list[PlainData] = [
        {
            "level": "error",
            "message": _message(f"{finding['id']}: {sentence(finding)}"),
        }
        for finding in findings_of(document)
        if finding["verdict"] == Verdict.ERROR
    ]
    if not document["complete"]:
        text = "The run was stopped before its end; other claims were not tried."
        notes.append({"level": "error", "message": _message(text)})
    return {
        "executionSuccessful": not notes,
        "toolExecutionNotifications": notes,
    }


FORMAT = ReportFormat(
    suffix=".sarif", help="refuted claims, for code scanning", render=render_sarif
)
