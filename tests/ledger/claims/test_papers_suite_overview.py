"""The papers' run counts statements, in every report and on a terminal."""

from __future__ import annotations

import io
from typing import Any

import pytest

from dpcp_audit.engine.run_settings import RunSettings
from dpcp_audit.engine.runner import check
from dpcp_audit.reports.document import to_document
from dpcp_audit.reports.formats.html import render_html
from dpcp_audit.reports.formats.markdown import render_markdown
from dpcp_audit.reports.terminal import Display, print_summary
from dpcp_ledger.claims.papers_suite import PAPERS, found_in, listed_statements, summary

IDS = ("ldpcp.krr", "ldpcp.shuffle[n=2452]", "ldpcp.theorem-3[algorithm=constant]", "ldpcp.blocks")
SAID = (
    "each counted once, this run tests 3 as printed, each by one claim or more: 1 refuted as "
    "printed, 1 vacuous as printed, "
    "1 proved. Errata: 1. Tested apart, in another reading, as practice or as controls: 0."
)


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    settings = RunSettings()
    found = [check(id_, settings) for id_ in IDS]
    return to_document(settings, found, seconds=1.0, complete=True)


def test_the_run_counts_statements(document: dict[str, Any]) -> None:
    assert document["overview"]["summary"] == summary(found_in(document))
    assert SAID in document["overview"]["summary"]
    (table,) = document["overview"]["tables"]
    papers, *verdicts = table["columns"]
    assert papers["texts"] == [*PAPERS]
    assert sum(sum(column["values"]) for column in verdicts) == len(listed_statements())


def test_every_face_says_the_same(document: dict[str, Any]) -> None:
    pytest.importorskip("jinja2")
    stream = io.StringIO()
    print_summary(document, stream=stream, display=Display(quiet=True))
    for text in (stream.getvalue(), render_markdown(document), render_html(document)):
        assert SAID in " ".join(text.split())
