"""SARIF logs, against the required properties and enumerations of the 2.1.0 specification."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.report_document import document, finding

from dpcp_audit.reports.formats.ci import RULES, render_sarif

LEVELS = {"none", "note", "warning", "error"}
KINDS = {"notApplicable", "pass", "fail", "review", "open", "informational"}
URI = re.compile(r"^[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+$")
KNOWN = {
    "log": {"$schema", "version", "runs"},
    "run": {"tool", "invocations", "artifacts", "columnKind", "results", "properties"},
    "driver": {"name", "version", "informationUri", "rules"},
    "rule": {
        *("id", "name", "shortDescription", "fullDescription", "help", "helpUri"),
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


PASCAL = re.compile(r"([A-Z][a-z]+)+")
MOST = {"runs": 20, "results": 5_000, "rules": 25_000, "locations": 1_000, "tags": 20}
"""Entries that GitHub shows of an array (https://docs.github.com/code-security/code-scanning)."""


def refused_by_github(log: dict[str, Any]) -> list[str]:
    """Return which of GitHub's rules a log breaks, as the SARIF SDK's validator documents them.

    https://github.com/microsoft/sarif-sdk/blob/main/docs/ValidationRules.md: GH1001 to GH1007, and
    of the rules for every consumer those that are errors or warnings. GitHub shows a rule's help
    text (GH2012).
    """
    found = [f"GH1004 {key}" for key, most in MOST.items() if longest(log, key) > most]
    for run in log["runs"]:
        driver, invocation = run["tool"]["driver"], run["invocations"][0]
        if len(driver["name"].split()) > 3 or not driver["version"][0].isdigit():
            found.append("SARIF2005 name")
        if not driver.get("informationUri", "").startswith("https://"):
            found.append("SARIF2005 informationUri")
        for rule in driver["rules"]:
            found += ["GH2012 help"] * (not rule.get("help", {}).get("text"))
            found += ["SARIF2012 name"] * (not PASCAL.fullmatch(rule["name"]))
            found += ["SARIF1001"] * (rule["name"] == rule["id"])
            found += ["SARIF1005"] * (not rule.get("helpUri", "").startswith("https://"))
            found += ["SARIF2009"] * (not re.fullmatch(r"[A-Z]{2,4}[0-9]+", rule["id"]))
        for result in run["results"]:
            found += ["SARIF1009"] * (result["ruleIndex"] >= len(driver["rules"]))
            found += ["SARIF1010"] * (not result.get("ruleId"))
            found += ["SARIF2001"] * (not result["message"]["text"].endswith("."))
            found += ["GH1001"] * (not result.get("locations"))
            found += ["GH1002"] * ("codeFlows" in result)  # we have none
            found += ["GH1007"] * ("relatedLocations" in result)  # nor these
            for each in result.get("locations", []):
                found += misplaced(each.get("physicalLocation", {}), invocation)
    found += ["SARIF2008"] * (not re.search(r"sarif/v2\.1\.0/.*schema-2\.1\.0", log["$schema"]))
    return found


def misplaced(place: dict[str, Any], invocation: dict[str, Any]) -> list[str]:
    """Return which rules on a location are broken."""
    artifact = place.get("artifactLocation", {})
    uri = artifact.get("uri", "")
    scheme = uri.partition(":")[0] if ":" in uri else ""
    checkout = invocation.get("workingDirectory", {}).get("uri", "")
    broken = {
        "GH1001": not uri,
        "GH1003": place.get("region", {}).get("startLine", 0) < 1,
        "GH1005": scheme not in {"", "file"},
        "GH1006": bool(scheme) and not (checkout.startswith("file:") and checkout.endswith("/")),
        "SARIF1002": ".." in uri.split("/") or not URI.match(uri),
        "SARIF1004": "uriBaseId" in artifact and (bool(scheme) or uri.startswith("/")),
    }
    return [rule for rule, is_broken in broken.items() if is_broken]


def longest(value: Any, key: str) -> int:
    """Return the length of the longest array of that name, but for our own in property bags."""
    if isinstance(value, dict):
        inside = {k: v for k, v in value.items() if k != "properties" or key == "tags"}
        here = [len(value[key])] if isinstance(value.get(key), list) else []
        return max([0, *here, *(longest(each, key) for each in inside.values())])
    return max([0, *(longest(each, key) for each in value)]) if isinstance(value, list) else 0


def run_of(results: dict[str, Any]) -> dict[str, Any]:
    log = json.loads(render_sarif(results), parse_constant=pytest.fail)
    check_shape(log)
    assert refused_by_github(log) == []
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


def test_what_github_refuses_is_found() -> None:
    """Each rule is broken once, in a log that keeps them all."""
    breaks: dict[str, Any] = {
        "GH1001": lambda run: run["results"][0].pop("locations"),
        "GH1003": lambda run: place_of(run).pop("region"),
        "GH1004 tags": lambda run: rule_of(run)["properties"].update(tags=["a"] * 21),
        "GH1005": lambda run: place_of(run).update(artifactLocation={"uri": "https://a.b/c"}),
        "GH1006": lambda run: place_of(run).update(artifactLocation={"uri": "file:///a/b.py"}),
        "GH2012 help": lambda run: rule_of(run).pop("help"),
        "SARIF2001": lambda run: run["results"][0]["message"].update(text="No period"),
        "SARIF2012 name": lambda run: rule_of(run).update(name="not pascal"),
    }
    for rule, break_it in breaks.items():
        log = json.loads(render_sarif(document()))
        assert refused_by_github(log) == []
        break_it(log["runs"][0])
        assert rule in refused_by_github(log)


def place_of(run: dict[str, Any]) -> dict[str, Any]:
    place: dict[str, Any] = run["results"][0]["locations"][0]["physicalLocation"]
    return place


def rule_of(run: dict[str, Any]) -> dict[str, Any]:
    rule: dict[str, Any] = run["tool"]["driver"]["rules"][0]
    return rule


def test_the_docs_explain_every_code() -> None:
    page = (Path(__file__).parents[3] / "docs" / "howto" / "ci.md").read_text("utf-8")
    shown = re.findall(r"^\| `(DP\d+)` \| (.*?) \| (.*?) \|$", page, re.MULTILINE)
    assert shown == [(code, name, means) for code, (name, means) in RULES.items()]
    (run,) = json.loads(render_sarif(document()))["runs"]
    assert {rule["helpUri"].partition("#")[2] for rule in run["tool"]["driver"]["rules"]} == {
        "codes-of-failures"
    }
    assert "## Codes of failures" in page


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


def test_from_a_subfolder_locations_are_relative_to_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    for file, uri in ((tmp_path / "f.py", "f.py"), ("g.py", "sub/g.py"), ("../f.py", "f.py")):
        place = {"file": str(file), "line": 5}
        stopped = {"reason": "no noise is added", "location": place, "hint": "", "source": []}
        leaks = finding("f", "REFUTED", "PROVED", contradicts=True, location=place)
        results: Any = document(leaks | {"unproved": stopped})
        (result,) = run_of(results | {"provenance": {"folder": "sub"}})["results"]
        found = result["locations"][0]["physicalLocation"]
        assert found["artifactLocation"] == {"uri": uri, "uriBaseId": "%SRCROOT%"}
        assert f"At {uri}:5: no noise is added." in result["message"]["text"]


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
