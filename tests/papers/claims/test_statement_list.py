"""The list of statements: none twice, and each with rows or a reason."""

from __future__ import annotations

import pytest

from dpcp_audit.papers.claims import papers_suite, training_suite
from dpcp_audit.papers.claims.statement_list import (
    ListedStatement,
    StatementFate,
    listed_statements,
    printed_sentences,
)
from dpcp_audit.results import Standing


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


def test_whatever_stands_as_a_papers_own_claim_is_quoted() -> None:
    printed = {(each.paper, section) for each in printed_sentences() for section in each.sections}
    papers = {paper for paper, _ in printed}
    rows = [*papers_suite.rows(), *training_suite.rows()]
    paraphrased = {
        (claim.source.paper, claim.source.section)
        for claim in (row.claim for row in rows)
        if claim.standing is Standing.PAPER
        and claim.source.paper in papers
        and "“" not in claim.statement
    }
    assert papers == {"LDP-CP", "P-COQS", "DP-SKIN"}
    assert paraphrased == printed
