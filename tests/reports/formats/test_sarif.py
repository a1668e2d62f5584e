"""SARIF logs, against the required properties and enumerations of the 2.1.0 specification."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from support.report_document import document, finding

from dpcp_audit.reports.formats.sarif import render_sarif

if TYPE_CHECKING:
    from pathlib import Path

LEVELS = {"none", "note", "warning", "error"}
KINDS = {"notApplicable", "pass", "fail", "review", "open", "informational"}
URI = re.compile(r"^[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+$")
KNOWN = {
    "log": {"$schema", "version", "runs"},
    "run": {"tool", "invocations", "columnKind", "results", "properties"},
    "driver": {"name", "version", "rules"},
    "rule": {
        *("id", "name", "shortDescription", "fullDescription", "help"),
        *("defaultConfiguration", "properties"),
    },
    "result": {
        "ruleId",
        "ruleIndex",
        "kind",
        "level",
        "message",
        "locations",
        "partialFingerprints",
        "properties",
    },
}


def run_of(results: dict[str, Any]) -> dict[str, Any]:
    log = json.loads(render_sarif(results), parse_constant=pytest.fail)
    check_shape(log)
    run: dict[str, Any] = log["runs"][0]
    return run


def check_message(message: dict[str, Any]) -> None:
    """3.11: text, without placeholders and links, in which braces are doubled."""
    assert set(message) == {"text"}
    text = message["text"].replace("{{", "").replace("}}", "")
    assert not set(text) & set("{}")
    assert "](" not in text


def check_location(location: dict[str, Any]) -> None:
    """3.28: a physical location has an artifact; lines count from 1."""
    assert location
    assert set(location) <= {"physicalLocation", "logicalLocations"}
    for logical in location.get("logicalLocations", []):
        assert isinstance(logical["fullyQualifiedName"], str)
    if physical := location.get("physicalLocation"):
        assert set(physical) <= {"artifactLocation", "region"}
        assert URI.match(physical["artifactLocation"]["uri"])
        assert physical.get("region", {"startLine": 1})["startLine"] >= 1


def check_shape(log: dict[str, Any]) -> None:
    assert set(log) == KNOWN["log"]
    assert log["version"] == "2.1.0"
    for run in log["runs"]:
        assert set(run) == KNOWN["run"]
        assert run["columnKind"] in {"utf16CodeUnits", "unicodeCodePoints"}
        driver = run["tool"]["driver"]
        assert set(driver) == KNOWN["driver"]
        ids = [rule["id"] for rule in driver["rules"]]
        assert len(set(ids)) == len(ids)
        for rule in driver["rules"]:
            assert set(rule) == KNOWN["rule"]
            assert rule["defaultConfiguration"]["level"] in LEVELS
            assert rule["shortDescription"]["text"]
            assert rule["fullDescription"]["text"]
            assert rule["help"]["text"]  # GitHub asks for it
        for result in run["results"]:
            assert set(result) == KNOWN["result"]
            assert ids[result["ruleIndex"]] == result["ruleId"]
            assert result["kind"] in KINDS
            assert result["level"] in LEVELS
            assert (result["kind"] == "fail") == (result["level"] != "none")  # 3.27.9, 3.27.10
            check_message(result["message"])
            for location in result["locations"]:
                check_location(location)
            assert all(isinstance(v, str) for v in result["partialFingerprints"].values())
        for invocation in run["invocations"]:
            assert isinstance(invocation["executionSuccessful"], bool)
            for notice in invocation["toolExecutionNotifications"]:
                assert notice["level"] in LEVELS
                check_message(notice["message"])


def test_what_asks_for_attention_is_a_result() -> None:
    run = run_of(document())
    found = {result["properties"]["id"][:7]: result["level"] for result in run["results"]}
    assert found == {"a-hosti": "error", "histlap": "note"}
    (notice,) = run["invocations"][0]["toolExecutionNotifications"]
    assert notice["message"]["text"].startswith("broken: ERROR")
    assert run["invocations"][0]["executionSuccessful"] is False


def test_a_run_in_which_all_holds_is_empty() -> None:
    run = run_of(document(finding("f", "PROVED", "PROVED"), finding("g", "INCONCLUSIVE", "PROVED")))
    assert run["results"] == run["tool"]["driver"]["rules"] == []
    assert run["invocations"][0] == {"executionSuccessful": True, "toolExecutionNotifications": []}


def test_a_stopped_run_says_so() -> None:
    run = run_of(document(finding("f", "PROVED", "PROVED"), complete=False))
    assert run["invocations"][0]["executionSuccessful"] is False


def test_variants_share_a_rule() -> None:
    names = ("a.b[x=1]", "a.b[x=2]", "c")
    run = run_of(document(*(finding(n, "REFUTED", "PROVED", contradicts=True) for n in names)))
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["DP101"]
    prints = {result["partialFingerprints"]["findingId/v1"] for result in run["results"]}
    assert len(prints) == 3


def physical(location: dict[str, Any] | None) -> dict[str, Any]:
    results = document(finding("f", "REFUTED", "PROVED", contradicts=True, location=location))
    found: dict[str, Any] = run_of(results)["results"][0]["locations"][0]
    return found


def test_locations_inside_the_working_directory_are_relative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    here = {"file": str(tmp_path / "a b" / "ü#.py"), "line": 7}
    assert physical(here)["physicalLocation"] == {
        "artifactLocation": {"uri": "a%20b/%C3%BC%23.py", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 7},
    }
    relative = physical({"file": "sub/f.py", "line": None})["physicalLocation"]
    assert relative == {
        "artifactLocation": {"uri": "sub/f.py", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 1},
    }


def test_other_locations_are_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    found = physical({"file": str(tmp_path / "f.py"), "line": 1})["physicalLocation"]
    assert found["artifactLocation"] == {"uri": (tmp_path / "f.py").as_uri()}


@pytest.mark.parametrize("file", ["../../../etc/passwd", "a/../../b.py", ".."])
def test_paths_that_lead_out_of_the_working_directory_are_left_out(file: str) -> None:
    assert physical({"file": file, "line": 1}) == physical(None)
    inside = physical({"file": "sub/../f.py", "line": 1})["physicalLocation"]
    assert inside["artifactLocation"]["uri"] == "f.py"


def test_without_a_location_the_claim_is_named() -> None:
    """GitHub takes no result without a file and a line (GH1001)."""
    found = physical(None)
    assert found["logicalLocations"] == [{"fullyQualifiedName": "f"}]
    assert found["physicalLocation"]["artifactLocation"]["uri"] == "no-file-of-this-claim"
    assert found["physicalLocation"]["region"] == {"startLine": 1}


def test_braces_and_links_are_text() -> None:
    text = "{0} {y : s} [a](http://evil.example)"
    results = document(finding("f", "REFUTED", "PROVED", contradicts=True, statement=text))
    message = run_of(results)["results"][0]["message"]["text"]
    assert message.startswith("{{0}} {{y : s}} [a] (http://evil.example)")
