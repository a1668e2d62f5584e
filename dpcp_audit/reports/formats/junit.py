"""JUnit XML: findings as test cases, for the continuous-integration servers that read it.

A verdict that contradicts its expectation is a failure, a check that could not be completed an
error, an inconclusive one skipped; everything else passes. Whatever an expected refutation has
to say stands in its ``system-out``.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from dpcp_audit.reports.document import ReportFormat
from dpcp_audit.reports.entry import findings_of
from dpcp_audit.reports.severity import family, headline, paragraphs
from dpcp_audit.words.formatting import to_float
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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
    ET.indent(root, " ")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _suite(root: ET.Element, name: str) -> ET.Element:
    return ET.SubElement(root, "testsuite", name=_text(name))


def _case(finding: Mapping[str, Any]) -> ET.Element:
    case = ET.Element(
        "testcase",
        name=_text(finding["id"]),
        classname=_text(family(finding["id"])),
        time=f"{_seconds(finding['seconds']):.3f}",
    )
    verdict = finding["verdict"]
    if verdict == Verdict.ERROR:
        _say(case, "error", headline(finding), paragraphs(finding))
    elif finding["contradicts"]:
        _say(case, "failure", headline(finding), paragraphs(finding))
    elif verdict == Verdict.INCONCLUSIVE:
        _say(case, "skipped", headline(finding))
    elif verdict == Verdict.REFUTED:
        ET.SubElement(case, "system-out").text = _text(paragraphs(finding))
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


FORMAT = ReportFormat(
    suffix=".xml", help="test cases, for continuous-integration servers", render=render_junit
)
