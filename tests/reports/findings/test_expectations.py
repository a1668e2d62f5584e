"""Of users' own claims no report speaks of expectations; of a baseline's worsenings all do."""

from __future__ import annotations

import io
from typing import Any

import pytest
from support.report_document import document, finding

from dpcp_audit.reports.formats.html import render_html
from dpcp_audit.reports.formats.junit import render_junit
from dpcp_audit.reports.formats.markdown import render_markdown
from dpcp_audit.reports.formats.sarif import render_sarif
from dpcp_audit.reports.summary import read
from dpcp_audit.reports.terminal import print_summary

USERS = ("targets", "traces", "estimates", "theorem-case")
PAGES = (render_html, render_markdown)


def refuted(**changes: Any) -> dict[str, Any]:
    return finding("mine[pure_dp]", "REFUTED", "CONSISTENT", contradicts=True) | changes


def terminal(run: dict[str, Any]) -> str:
    stream = io.StringIO()
    print_summary(run, stream=stream)
    return stream.getvalue()


@pytest.mark.parametrize("suite", USERS)
@pytest.mark.parametrize("render", [*PAGES, terminal, render_junit])
def test_nothing_is_expected_of_a_users_own_claim(render: Any, suite: str) -> None:
    pytest.importorskip("jinja2")
    _, _, body = render(document(refuted(), suite=suite)).rpartition("</style>")
    assert "expected" not in body.lower()
    assert "contradict" not in body.lower()
    assert "REFUTED" in body


@pytest.mark.parametrize("render", [*PAGES, terminal, render_junit, render_sarif])
def test_what_a_suite_has_recorded_is_said(render: Any) -> None:
    pytest.importorskip("jinja2")
    assert "expected" in render(document(refuted(), suite="papers")).rpartition("</style>")[2]


@pytest.mark.parametrize("render", PAGES)
def test_a_worsening_is_said_whatever_the_suite(render: Any) -> None:
    pytest.importorskip("jinja2")
    worse = refuted(worse="privacy loss ε: 0.5 -> 1.2 (p = 1e-9)")
    body = render(document(worse, suite="targets"))
    assert "1 claim got worse than in the baseline." in body
    assert "worse than in the baseline" in render_junit(document(worse, suite="targets"))


def test_a_refuted_claim_of_a_user_still_fails_its_test_case() -> None:
    assert 'failures="1"' in render_junit(document(refuted(), suite="targets"))


def test_users_refutations_are_ranked_by_severity_alone() -> None:
    run = document(refuted(), finding("other", "ERROR", "PROVED", evidence=None), suite="targets")
    reading = read(run)
    assert [entry.id for entry in reading.entries] == ["other", "mine[pure_dp]"]
    assert not reading.contradicting
