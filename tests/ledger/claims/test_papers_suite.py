"""The papers' run counts statements, in every report and on a terminal."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
from support.samplers import context

from dpcp_audit.engine.run_settings import RunSettings
from dpcp_audit.engine.runner import check
from dpcp_audit.reports.document import to_document
from dpcp_audit.reports.formats.html import render_html
from dpcp_audit.reports.formats.markdown import render_markdown
from dpcp_audit.reports.terminal import Display, print_summary
from dpcp_audit.words.checks import Context
from dpcp_audit.words.evidence import Computed
from dpcp_audit.words.formatting import setting
from dpcp_audit.words.results import EvidenceKind, Outcome, Verdict
from dpcp_ledger.claims import papers_suite
from dpcp_ledger.claims.papers_suite import PAPERS, found_in, listed_statements, summary
from dpcp_ledger.pcoqs import published_tables

if TYPE_CHECKING:
    from dpcp_audit.words.checks import Row


IDS = ("ldpcp.krr", "ldpcp.shuffle[n=2452]", "ldpcp.theorem-3[algorithm=constant]", "ldpcp.blocks")
SAID = (
    "this run tests 3 as printed, each by one claim or more: 1 refuted as printed, 1 vacuous as "
    "printed, 1 proved. Errata: 1. Tested in another form, such as another reading of the "
    "sentence: 0."
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


ROWS = [row for row in papers_suite.rows() if isinstance(row.check, Computed)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.claim.id)
def test_a_computed_row_comes_out_as_expected(row: Row) -> None:
    asked = mock.Mock(side_effect=AssertionError)
    with (
        mock.patch.object(Context, "rng", asked),
        mock.patch.object(published_tables, "sample", asked),  # of the papers' simulations
    ):
        published_tables.trials_of.cache_clear()
        outcome: Outcome = row.check(context(0))
    expected = Verdict.PROVED if row.claim.vacuous else row.claim.expected  # the run: VACUOUS
    assert outcome.verdict is expected
    assert outcome.evidence.kind is not EvidenceKind.CERTIFIED
    assert outcome.evidence.n_samples is None
    assert outcome.evidence.confidence == 1
    assert not row.check.sampled
    if expected is Verdict.PROVED:
        assert outcome.proof is not None
        for premise in outcome.proof.premises:
            assert premise.holds
            assert premise.left[1] <= premise.right[0]
        assert outcome.evidence.claimed is not None
        assert outcome.evidence.upper <= outcome.evidence.claimed
        assert outcome.proof.parameters.items() <= row.claim.parameters.items()
        assert setting(row.claim.parameters) in row.claim.statement


def test_all_rows_that_are_expected_to_be_proved_are_computed() -> None:
    expected = {r.claim.id for r in papers_suite.rows() if r.claim.expected is Verdict.PROVED}
    computed = {row.claim.id for row in ROWS}
    assert expected <= computed
    assert len(expected) >= 28
