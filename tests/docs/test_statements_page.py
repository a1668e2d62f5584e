"""The page on statements is what its script writes, and the rows that it names are there."""

from __future__ import annotations

import pytest
import update_statements

from dpcp_audit.papers.claims import papers_suite, tables_suite, training_suite
from dpcp_audit.papers.claims.statement_list import (
    ListedStatement,
    StatementFate,
    listed_statements,
)


def test_the_page_is_what_the_script_writes() -> None:
    """``python docs/update_statements.py`` renews it."""
    assert update_statements.PAGE.read_text(encoding="utf-8") == update_statements.page()


def test_every_row_that_is_named_is_there() -> None:
    suites = (papers_suite, tables_suite, training_suite)
    known = {row.claim.id for suite in suites for row in suite.rows()}
    named = {row for statement in listed_statements() for row in statement.rows}
    assert named - known == set()


def test_no_statement_stands_twice_and_each_has_a_fate() -> None:
    statements = listed_statements()
    assert len(statements) == 54
    assert len({(s.paper, s.place, s.says) for s in statements}) == 54
    assert {s.fate for s in statements} == set(StatementFate)


def test_a_statement_without_rows_needs_a_reason() -> None:
    with pytest.raises(ValueError, match="needs rows or a reason"):
        ListedStatement(paper="P", place="1", says="x")
    with pytest.raises(ValueError, match="has no rows"):
        ListedStatement(paper="P", place="1", says="x", rows=("a",), untested="no data")
