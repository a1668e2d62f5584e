"""JUnit XML, against the shape that continuous-integration servers read."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

import pytest
from support.report_document import document, evidence, finding

from dpcp_audit.reports.formats.ci import render_junit

COUNTS = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def parsed(results: dict[str, Any]) -> ET.Element:
    return ET.fromstring(render_junit(results))  # noqa: S314  (our own text)


def case(results: dict[str, Any], name: str) -> ET.Element:
    return next(c for c in parsed(results).iter("testcase") if c.get("name") == name)


def check_shape(root: ET.Element) -> None:
    """The elements, attributes and counts of the common JUnit schema."""
    assert root.tag == "testsuites"
    for suite in root:
        assert suite.tag == "testsuite"
        assert {"name", "tests", "time", *COUNTS} == set(suite.keys())
        facts, *cases = suite
        assert [facts.tag, *{fact.tag for fact in facts}] == ["properties", "property"]
        for test in cases:
            assert test.tag == "testcase"
            assert {"name", "classname", "time"} == set(test.keys())
            assert float(test.attrib["time"]) >= 0
            states = [child.tag for child in test if child.tag in COUNTS.values()]
            assert len(states) <= 1
            assert [child.tag for child in test] in (states, [*states, "system-out"])
            assert all("message" in child.attrib for child in test if child.tag in states)
    for element in (root, *root):
        cases = list(element.iter("testcase"))
        assert element.get("tests") == str(len(cases))
        for attribute, tag in COUNTS.items():
            assert element.get(attribute) == str(len(list(element.iter(tag))))


@pytest.mark.parametrize("complete", [True, False])
def test_the_shape_is_the_common_one(complete: bool) -> None:
    check_shape(parsed(document(complete=complete)))
    check_shape(parsed(document(finding("a", "PROVED", "PROVED"), complete=complete)))


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [("REFUTED", "CONSISTENT"), ("PROVED", "REFUTED"), ("INCONCLUSIVE", "PROVED")],
)
def test_contradictions_fail_an_inconclusive_one_too(verdict: str, expected: str) -> None:
    """A strict run marks an inconclusive verdict as a contradiction."""
    results = document(finding("f", verdict, expected, contradicts=True))
    (failure,) = case(results, "f")
    assert failure.tag == "failure"
    assert failure.attrib["message"].startswith(f"{verdict} (expected {expected}): ")


def test_a_stopped_run_is_not_green() -> None:
    root = parsed(document(finding("f", "PROVED", "PROVED"), complete=False))
    assert root.get("errors") == "1"
    assert root.get("failures") == "0"


def test_what_xml_cannot_hold_is_replaced() -> None:
    odd = "a\0b\x1b[31m\x85\ufffe\U0001f600 ]]> \t"
    results = document(
        finding(odd, "REFUTED", "PROVED", contradicts=True, statement=odd, error=odd, note=odd)
    )
    (test,) = parsed(results).iter("testcase")
    assert test.attrib["name"] == "a\ufffdb\ufffd[31m\x85\ufffd\U0001f600 ]]> \t"
    assert "\x85\ufffd\U0001f600 ]]>" in (test[0].text or "")


@pytest.mark.parametrize("seconds", ["inf", "nan", -1.0])
def test_times_are_numbers(seconds: Any) -> None:
    root = parsed(document(finding("f", "PROVED", "PROVED", seconds=seconds)))
    assert root.get("time") == "0.000"


def test_findings_stand_under_their_paper() -> None:
    one = finding("a[x]", "PROVED", "PROVED", source={"paper": "P", "section": "1"})
    two = finding(
        "b", "PROVED", "PROVED", source={"paper": "Q", "section": "1"}, evidence=evidence()
    )
    root = parsed(document(one, two))
    assert [suite.get("name") for suite in root] == ["P", "Q"]
    assert root[0][1].get("classname") == "a"


def test_long_witnesses_are_cut_off() -> None:
    results = document(finding("f", "REFUTED", "REFUTED", witness={"value": [0.5] * 10_000}))
    assert len(render_junit(results)) < 7_000
    assert "the results file holds all of it" in render_junit(results)
