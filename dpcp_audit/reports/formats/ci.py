"""SARIF 2.1.0: refuted claims as results, for code scanning.

Code scanning shows whatever is a result, so that only what asks for attention is one: verdicts
that contradict their expectation (level ``error``) and refutations that were expected (level
``note``). Checks that could not be completed are notifications of the tool.

JUnit XML: findings as test cases, for the continuous-integration servers that read it.

A verdict that contradicts its expectation is a failure, a check that could not be completed an
error, an inconclusive one skipped; everything else passes, and ``system-out`` has its verdict and
sentence, or all that an expected refutation has to say. The properties are the facts of the run.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from xml.etree import ElementTree as ET

from dpcp_audit.reports.document import ReportFormat
from dpcp_audit.reports.entry import findings_of
from dpcp_audit.reports.severity import headline, paragraphs, source_of
from dpcp_audit.reports.summary import run_facts
from dpcp_audit.words.formatting import to_float
from dpcp_audit.words.quantities import Bound, Quantity
from dpcp_audit.words.results import Verdict, stem_of
from dpcp_audit.words.values import is_record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dpcp_audit.words.results import PlainData


_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_HOME = "https://github.com/dpcp-audit/dpcp-audit"
_CODES = f"{_HOME}/blob/main/docs/howto/ci.md#codes-of-failures"
_ROOT = "%SRCROOT%"
_NOWHERE = {"uri": "no-file-of-this-claim", "uriBaseId": _ROOT}
"""Stands in for a source file: GitHub takes no result without one (its rule GH1001)."""
RULES = {
    "DP101": (
        "Leaks more than promised",
        "Two neighbouring inputs can be told apart better than the privacy guarantee allows.",
    ),
    "DP102": (
        "Members are recognised too well",
        "An attack tells members of the data from others better than the guarantee allows.",
    ),
    "DP103": (
        "Attacks succeed more often than promised",
        "An attack on the output succeeds more often than the claimed bound.",
    ),
    "DP201": (
        "Covers less than promised",
        "Prediction sets hold the true label less often than claimed.",
    ),
    "DP202": (
        "Covers more than promised",
        "Prediction sets hold the true label more often than the claimed upper bound.",
    ),
    "DP203": (
        "Misses its coverage bound",
        "The coverage falls below its bound in more runs than claimed.",
    ),
    "DP204": ("Sets are larger than promised", "The mean size of the sets exceeds the claim."),
    "DP205": ("Sets are smaller than promised", "The mean size of the sets is below the claim."),
    "DP301": ("Not true as stated", "The evidence excludes the statement."),
    "DP302": ("Misses its bound", "A bound fails in more runs than claimed."),
    "DP303": (
        "Prints numbers that do not come out",
        "Recomputed numbers differ from the printed ones.",
    ),
    "DP901": (
        "Verdict is not the expected one",
        "The suite, or a baseline, records another verdict for this claim.",
    ),
}
"""Kinds of failure by their codes: what each is called, and what it means."""
_MESSAGE = (
    "The message has the evidence; the property 'replay' is the command that runs the case again."
)
_NEXT = {
    "DP1": "Add noise, correct the sensitivity, or weaken the claim",
    "DP2": "Correct the rank of the threshold, or change the claim",
    "DP3": "Correct the statement",
    "DP9": "Correct the code, or the verdict that is recorded",
}
"""What to do about a kind of failure, by the beginning of its code."""
_LISTED = ("estimates", "tables", "traced")
"""Parts of a finding, which are left out where they are empty."""


def render_sarif(document: Mapping[str, Any]) -> str:
    """Render a results document as a SARIF 2.1.0 log.

    One rule a kind of failure, with a stable code. A finding with a ``location`` points at that
    line of its file, in the message too; a file is named from the root of the git repository on, or
    without one from the working directory. Others name their claim, at a file that is not there.

    Parameters
    ----------
    document : mapping
        The results document, as :func:`dpcp_audit.reports.document.load` returns it.
    """
    document = _from_root(document, *_root_and_folder(document))
    shown = [
        finding
        for finding in findings_of(document)
        if finding["verdict"] != Verdict.ERROR
        and (finding["contradicts"] or finding["verdict"] == Verdict.REFUTED)
    ]
    rules = _rules(shown)
    places = {rule["id"]: i for i, rule in enumerate(rules)}
    results = [_result(finding, places) for finding in shown]
    run = {
        "tool": {"driver": _driver(document["tool"], rules)},
        "invocations": [_invocation(document) | _checkout(results)],
        **_version_control(document),
        "artifacts": list(_artifacts(document)),
        "columnKind": "unicodeCodePoints",
        "results": results,
        "properties": {
            **{key: document[key] for key in ("suite", "profile", "seed", "false_alarm")},
            "environment": _environment(document),
            "provenance": _commit(document),
            "summary": document["summary"],
            **_lists_of_others(document, shown),
        },
    }
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _driver(tool: Mapping[str, Any], rules: Sequence[PlainData]) -> PlainData:
    named = {key: tool[key] for key in ("name", "version")}
    return {**named, "informationUri": _HOME, "rules": list(rules)}


def _version_control(document: Mapping[str, Any]) -> PlainData:
    """Return the audited code's repository and commit, where both are known (SARIF 3.14.13)."""
    origin: PlainData = document.get("provenance") or {}
    if not origin.get("repository"):
        return {}
    details = {"repositoryUri": origin["repository"], "mappedTo": {"uriBaseId": _ROOT}}
    if not origin.get("uncommitted"):
        details["revisionId"] = origin["revision"]
    return {"versionControlProvenance": [details]}


def _commit(document: Mapping[str, Any]) -> PlainData:
    """Return the commit and what differs from it, also where SARIF's own fields may not say it."""
    origin: PlainData = document.get("provenance") or {}
    return {key: origin[key] for key in ("revision", "changed", "uncommitted") if key in origin}


def _artifacts(document: Mapping[str, Any]) -> Iterator[PlainData]:
    """Yield the audited files, and the code of the tool, with their digests (SARIF 3.24)."""
    origin: PlainData = document.get("provenance") or {}
    root, here = _root_and_folder(document)
    for name, digest in {**origin.get("code", {}), **origin.get("imported", {})}.items():
        place = _artifact(_named_from(root, here, name)) if Path(name).suffix else None
        what = {"location": place} if place else {"description": {"text": f"The code of {name}."}}
        role = "analysisTarget" if place else "driver"
        yield {**what, "roles": [role], "hashes": {"sha-256": digest}}


def _environment(document: Mapping[str, Any]) -> PlainData:
    """Return the versions of what a run has used."""
    origin: PlainData = document.get("provenance") or {}
    found = {key: document.get(key) for key in ("python", "libraries")}
    return found | {"platform": origin.get("platform")}


def _rules(findings: Sequence[Mapping[str, Any]]) -> list[PlainData]:
    """Return a rule for each kind of failure that occurs, in the order of their codes."""
    return [
        {
            "id": code,
            "name": "".join(word.capitalize() for word in name.split()),
            "shortDescription": {"text": f"{name}."},
            "fullDescription": {"text": f"{name}. {means}"},
            "help": {"text": f"{name}. {means}\n\n{_MESSAGE} {_NEXT[code[:3]]}."},
            "helpUri": _CODES,
            "defaultConfiguration": {"level": "error"},
            "properties": {"tags": ["privacy" if code < "DP2" else "statistics"]},
        }
        for code, (name, means) in RULES.items()
        if code in set(map(rule_of, findings))
    ]


def rule_of(finding: Mapping[str, Any]) -> str:
    """Return the code of a finding's kind of failure, which is never renumbered or reused."""
    evidence: PlainData = finding.get("evidence") or {}
    if finding["verdict"] != Verdict.REFUTED or not evidence:
        return "DP901"
    bound = Bound(evidence.get("bound", Bound.AT_MOST))
    consequence = Quantity(evidence["quantity"]).consequence(bound)
    return next((code for code, (name, _) in RULES.items() if name == consequence), "DP301")


def _result(finding: Mapping[str, Any], places: Mapping[str, int]) -> PlainData:
    rule = rule_of(finding)
    digest = hashlib.sha256(finding["id"].encode()).hexdigest()
    return {
        "ruleId": rule,
        "ruleIndex": places[rule],
        "kind": "fail",
        "level": "error" if finding["contradicts"] else "note",
        "message": _message(f"{finding['statement']} {headline(finding)}".strip()),
        "locations": [_location(finding)],
        **_remarked(finding),
        "partialFingerprints": {"findingId/v1": digest},
        "properties": {
            key: finding[key]
            for key in ("id", "verdict", "expected", "evidence", "replay", *_LISTED)
            if key not in _LISTED or finding.get(key)
        },
    }


def _remarked(finding: Mapping[str, Any]) -> PlainData:
    """Return the lines of the source of which a proof says something, as related locations."""
    related = [
        {
            "id": place,
            "message": _message(line.remarks),
            "physicalLocation": {
                "artifactLocation": _artifact(line.file) or _NOWHERE,
                "region": {"startLine": line.line, "snippet": {"text": line.text}},
            },
        }
        for place, line in enumerate((x for x in source_of(finding) if x.remarks), start=1)
    ]
    return {"relatedLocations": related} if related else {}


def _lists_of_others(document: Mapping[str, Any], shown: Sequence[Mapping[str, Any]]) -> PlainData:
    """Return estimates, tables and traced lines of findings that are no result, by their ids.

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


def _checkout(results: Sequence[Mapping[str, Any]]) -> PlainData:
    """Return the working directory where a result lies outside of it, as GitHub asks (GH1006)."""
    places = [result["locations"][0]["physicalLocation"]["artifactLocation"] for result in results]
    if all("uriBaseId" in place for place in places):
        return {}
    return {"workingDirectory": {"uri": f"{Path.cwd().as_uri()}/"}}


def _location(finding: Mapping[str, Any]) -> PlainData:
    logical = {"fullyQualifiedName": finding["id"]}
    location: PlainData = finding.get("location") or {}
    artifact = _artifact(str(location["file"])) if location else None
    region: PlainData = {"startLine": (location.get("line") if artifact else None) or 1}
    if artifact and location.get("text"):
        region["snippet"] = {"text": location["text"]}
    physical = {"artifactLocation": artifact or _NOWHERE, "region": region}
    return {"physicalLocation": physical, "logicalLocations": [logical]}


def _root_and_folder(document: Mapping[str, Any]) -> tuple[Path, Path]:
    """Return the root of the repository, and the folder in which the results were made.

    Of results that are rendered in another folder, the root is that folder.
    """
    origin: PlainData = document.get("provenance") or {}
    folder, here = Path(origin.get("folder") or ""), Path.cwd()
    inside = Path(*here.parts[len(here.parts) - len(folder.parts) :]) == folder
    root = Path(*here.parts[: len(here.parts) - len(folder.parts)]) if inside else here
    return root, root / folder


def _from_root(value: Any, root: Path, folder: Path) -> Any:
    """Return plain data in which each place in a file is named from the root on."""
    if isinstance(value, list):
        return [_from_root(each, root, folder) for each in value]  # pyright: ignore[reportUnknownVariableType]
    if not is_record(value):
        return value
    found = {key: _from_root(each, root, folder) for key, each in value.items()}
    if {"file", "line"} <= found.keys():
        found["file"] = _named_from(root, folder, str(found["file"]))
    return found


def _named_from(root: Path, folder: Path, file: str) -> str:
    """Return a file of that folder, relative to the root where it lies below it."""
    path = Path(os.path.normpath(folder / file))
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else file


def _artifact(file: str) -> PlainData | None:
    """Return a file that is named from the root on as a URI.

    None of a relative path that leads out of it: no source is there, and what a viewer would
    open is whatever a results file says.
    """
    if Path(file).is_absolute():
        return {"uri": Path(file).as_uri()}
    return None if ".." in Path(file).parts else {"uri": quote(file), "uriBaseId": _ROOT}


def _invocation(document: Mapping[str, Any]) -> PlainData:
    notes: list[PlainData] = [
        {
            "level": "error",
            "message": _message(f"{finding['id']}: {headline(finding)}"),
        }
        for finding in findings_of(document)
        if finding["verdict"] == Verdict.ERROR
    ]
    if not document["complete"]:
        text = "The run was stopped before its end; other claims were not tried."
        notes.append({"level": "error", "message": _message(text)})
    origin: PlainData = document.get("provenance") or {}
    known = {"commandLine": origin.get("command"), "endTimeUtc": origin.get("finished")}
    return {
        "executionSuccessful": not notes,
        "toolExecutionNotifications": notes,
        **{key: value for key, value in known.items() if value},
    }


_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_STATES = ("failures", "errors", "skipped")


def render_junit(document: Mapping[str, Any]) -> str:
    """Render a results document as JUnit XML.

    One ``testsuite`` a paper, one ``testcase`` a finding, and one that is skipped for what could
    not be run here, such as a recipe whose library is not installed. A run that was stopped before
    its end has one more test case, which is an error: claims that were not tried must not look
    passed.

    Parameters
    ----------
    document : mapping
        The results document, as :func:`dpcp_audit.reports.document.load` returns it.

    Returns
    -------
    str
        The XML; characters that XML 1.0 cannot hold become U+FFFD.
    """
    root = ET.Element("testsuites", name=_text(document["tool"]["name"]))
    by_paper: dict[str, list[Mapping[str, Any]]] = {}
    for finding in findings_of(document):
        by_paper.setdefault(finding["source"]["paper"], []).append(finding)
    for paper, findings in by_paper.items():
        _suite(root, paper).extend(map(_case, findings))
    if skipped := document.get("skipped"):
        suite = _suite(root, "not run here")
        for each in skipped:
            name = _text(each["name"])
            case = ET.SubElement(suite, "testcase", name=name, classname=name, time="0.000")
            _say(case, "skipped", each["reason"])
    if not document["complete"]:
        suite = _suite(root, "the run")
        case = ET.SubElement(suite, "testcase", name="complete", classname="run", time="0.000")
        _say(case, "error", "The run was stopped before its end; other claims were not tried.")
    for suite in root:
        _count(suite, suite)
    _count(root, root.iter("testsuite"))
    for suite in root:
        facts = ET.Element("properties")
        suite.insert(0, facts)
        for name, value in run_facts(document):
            ET.SubElement(facts, "property", name=_text(name), value=_text(value))
    ET.indent(root, " ")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _suite(root: ET.Element, name: str) -> ET.Element:
    return ET.SubElement(root, "testsuite", name=_text(name))


def _case(finding: Mapping[str, Any]) -> ET.Element:
    case = ET.Element(
        "testcase",
        name=_text(finding["id"]),
        classname=_text(stem_of(finding["id"])),
        time=f"{_seconds(finding['seconds']):.3f}",
    )
    verdict = finding["verdict"]
    if verdict == Verdict.ERROR:
        _say(case, "error", headline(finding), paragraphs(finding))
    elif finding["contradicts"]:
        _say(case, "failure", headline(finding), paragraphs(finding))
    elif verdict == Verdict.INCONCLUSIVE:
        _say(case, "skipped", headline(finding))
    else:
        said = paragraphs(finding) if verdict == Verdict.REFUTED else headline(finding)
        ET.SubElement(case, "system-out").text = _text(said)
    return case


def _say(case: ET.Element, tag: str, message: str, text: str = "") -> None:
    element = ET.SubElement(case, tag, message=_text(message))
    if tag != "skipped":
        element.set("type", "verdict" if tag == "failure" else "check")
    if text:
        element.text = _text(text)


def _count(element: ET.Element, counted: Iterable[ET.Element]) -> None:
    """Write the numbers of tests by their state, and the time, as attributes."""
    cases = [case for part in counted for case in ([part] if part.tag == "testcase" else part)]
    tags = [child.tag for case in cases for child in case]
    element.set("tests", str(len(cases)))
    for state, tag in zip(_STATES, ("failure", "error", "skipped"), strict=True):
        element.set(state, str(tags.count(tag)))
    element.set("time", f"{sum(float(case.get('time', 0)) for case in cases):.3f}")


def _seconds(value: object) -> float:
    seconds = to_float(value)
    return max(0.0, seconds) if math.isfinite(seconds) else 0.0


def _text(text: object) -> str:
    return _NOT_XML.sub("\ufffd", str(text))


FORMATS = {
    "sarif": ReportFormat(
        suffix=".sarif", help="refuted claims, for code scanning", render=render_sarif
    ),
    "junit": ReportFormat(
        suffix=".xml", help="test cases, for continuous-integration servers", render=render_junit
    ),
}
