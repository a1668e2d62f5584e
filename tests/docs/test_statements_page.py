"""The page on statements is what its script writes, and the rows that it names are there."""

from __future__ import annotations

import update_statements

from dpcp_audit.papers.claims import papers_suite, tables_suite, training_suite
from dpcp_audit.papers.claims.statement_list import listed_statements


def test_the_page_is_what_the_script_writes() -> None:
    """``python docs/update_statements.py`` renews it."""
    assert update_statements.PAGE.read_text(encoding="utf-8") == update_statements.page()


def test_every_row_that_is_named_is_there() -> None:
    suites = (papers_suite, tables_suite, training_suite)
    known = {row.claim.id for suite in suites for row in suite.rows()}
    named = {row for statement in listed_statements() for row in statement.rows}
    assert named - known == set()
