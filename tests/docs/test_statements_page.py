"""The pages on statements are what their script writes, and the rows that they name are there."""

from __future__ import annotations

import re

import update_statements

from dpcp_ledger.claims import papers_suite, tables_suite, training_suite
from dpcp_ledger.claims.papers_suite import PAPERS, listed_statements, summary


def test_the_pages_are_what_the_script_writes() -> None:
    """``python docs/update_statements.py`` renews them."""
    for path, text in update_statements.pages().items():
        assert path.read_text(encoding="utf-8") == text


def test_every_statement_stands_on_its_papers_page() -> None:
    for paper in PAPERS:
        text = update_statements.PAGES[paper].read_text(encoding="utf-8")
        statements = [each for each in listed_statements() if each.paper == paper]
        assert len(re.findall(r"^\| ", text, re.MULTILINE)) == len(statements) + 1
        assert text.startswith(f"# {paper}, statement by statement\n\n{len(statements)} statements")


def test_every_row_that_is_named_is_there_and_every_row_of_a_paper_is_named() -> None:
    claims = [
        row.claim for suite in (papers_suite, tables_suite, training_suite) for row in suite.rows()
    ]
    named = {row for statement in listed_statements() for row in statement.rows}
    assert named - {claim.id for claim in claims} == set()
    assert {claim.id for claim in claims if claim.source.paper in PAPERS} - named == set()


def test_the_ledgers_verdicts_are_read() -> None:
    """All but the few claims that came since the ledger was written from results."""
    found = update_statements.found_in_ledger()
    every = [*papers_suite.rows(), *training_suite.rows()]
    rows = [row for row in every if row.claim.id in found]
    assert len(every) - len(rows) <= len(every) // 50
    assert {row.claim.id: row.claim.standing for row in rows} == {
        row.claim.id: found[row.claim.id][0] for row in rows
    }
    assert summary(
        found, runs="the runs of the ledger test"
    ) in update_statements.OVERVIEW.read_text(encoding="utf-8")
