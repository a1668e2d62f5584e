"""The list of statements: none twice, each with rows or a reason, and with one verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpcp_audit.words.results import Standing, Verdict
from dpcp_ledger.claims import papers_suite, tables_suite, training_suite
from dpcp_ledger.claims.papers_suite import (
    PAPERS,
    ListedStatement,
    Quantifier,
    StatementVerdict,
    counted,
    found_in,
    listed_statements,
    summary,
)

PRINTED = ListedStatement(paper="P", place="1", says="x", rows=("a", "b", "c"), repaired=("c",))


def test_no_statement_stands_twice() -> None:
    statements = listed_statements()
    assert len(statements) == len({(s.paper, s.place, s.says) for s in statements}) >= 122
    assert {s.paper for s in statements} == set(PAPERS)
    assert {s.quantifier for s in statements} == set(Quantifier)


def test_a_record_has_rows_or_a_reason_and_repairs_among_its_rows() -> None:
    with pytest.raises(ValueError, match="needs rows or a reason"):
        ListedStatement(paper="P", place="1", says="x")
    with pytest.raises(ValueError, match="has no rows"):
        ListedStatement(paper="P", place="1", says="x", rows=("a",), untested="no data")
    with pytest.raises(ValueError, match="d must be among the rows"):
        ListedStatement(paper="P", place="1", says="x", rows=("a",), repaired=("d",))


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        ({}, StatementVerdict.UNKNOWN),
        ({"a": (Standing.PAPER, Verdict.PROVED)}, StatementVerdict.PROVED),
        (
            {"a": (Standing.PAPER, Verdict.PROVED), "b": (Standing.PAPER, Verdict.CONSISTENT)},
            StatementVerdict.CONSISTENT,
        ),
        (
            {"a": (Standing.PAPER, Verdict.PROVED), "b": (Standing.PAPER, Verdict.REFUTED)},
            StatementVerdict.REFUTED,
        ),
        (
            {"a": (Standing.PAPER, Verdict.PROVED), "b": (Standing.READING, Verdict.REFUTED)},
            StatementVerdict.PROVED,
        ),
        (
            {"a": (Standing.PAPER, Verdict.PROVED), "c": (Standing.PAPER, Verdict.REFUTED)},
            StatementVerdict.PROVED,
        ),
        ({"a": (Standing.PAPER, Verdict.VACUOUS)}, StatementVerdict.VACUOUS),
        ({"a": (Standing.PAPER, Verdict.ERROR)}, StatementVerdict.UNDECIDED),
        ({"a": (Standing.ERRATUM, Verdict.REFUTED)}, StatementVerdict.ERRATUM),
        ({"a": (Standing.CONTROL, Verdict.REFUTED)}, StatementVerdict.APART),
        ({"c": (Standing.READING, Verdict.REFUTED)}, StatementVerdict.UNKNOWN),
    ],
)
def test_the_worst_claim_that_stands_as_printed_decides(found, verdict) -> None:
    assert PRINTED.verdict(found) is verdict


def test_what_has_no_row_says_why() -> None:
    for statement in listed_statements():
        alone = statement.verdict({}) in {StatementVerdict.UNTESTED, StatementVerdict.SEEN}
        assert alone == (statement.rows == ())
    given = {"paper": "P", "place": "1", "says": "x"}
    assert ListedStatement(**given, untested="y").verdict({}) is StatementVerdict.UNTESTED
    assert ListedStatement(**given, seen="y").verdict({}) is StatementVerdict.SEEN


def test_the_summary_counts_each_statement_once() -> None:
    rows = [*papers_suite.rows(), *training_suite.rows()]
    expected = {
        row.claim.id: (row.claim.standing, row.claim.expected)
        for row in rows
        if row.claim.expected is not None
    }
    counts = counted(expected)
    assert sum(counts.values()) == len(listed_statements())
    assert sum((counted(expected, paper) for paper in PAPERS), start=type(counts)()) == counts
    assert f"{counts[StatementVerdict.REFUTED]} refuted as printed" in summary(expected)
    assert "this run tests 0 as printed. Errata: 0." in summary({})
    document = {"findings": [{"id": "a", "standing": "paper", "verdict": "PROVED"}]}
    assert found_in(document) == {"a": (Standing.PAPER, Verdict.PROVED)}


def test_the_claims_of_a_statement_hold_it_as_printed() -> None:
    """Each claim whose source is the paper holds a statement that lists it; titles are known."""
    bibliography = (Path(__file__).parents[3] / "docs" / "bibliography.md").read_text("utf-8")
    for paper, title in PAPERS.items():
        assert f"*{title}.*" in bibliography, paper
    listed = {
        (each.paper, id_): each for each in reversed(listed_statements()) for id_ in each.rows
    }
    for row in [*papers_suite.rows(), *tables_suite.rows(), *training_suite.rows()]:
        statement = listed.get((row.claim.source.paper, row.claim.id))
        printed = row.claim.source.printed
        assert (statement is None) is (printed is None), row.claim.id
        if statement is None or printed is None:
            continue
        assert (printed.quote, printed.hypotheses) == (statement.quote, statement.hypotheses)
        assert (Path(__file__).parents[3] / "docs" / printed.page.rpartition("/")[2]).exists()


def test_a_corrected_form_is_never_a_papers_own_claim() -> None:
    """A form that repairs a statement is labelled so, unless another paper prints it."""
    claims = {row.claim.id: row.claim for row in papers_suite.rows()}
    repaired = {id_: each.paper for each in listed_statements() for id_ in each.repaired}
    corrected = {id_ for id_, each in claims.items() if each.standing is Standing.CORRECTED}
    assert corrected - set(repaired) == set()
    for id_ in repaired.keys() & claims.keys() - corrected:
        claim = claims[id_]
        outside = claim.standing is Standing.OUTSIDE_HYPOTHESIS
        assert outside or claim.source.paper != repaired[id_], id_


def test_whatever_stands_as_a_papers_own_claim_is_quoted() -> None:
    """Of statements that are numbers in a table or a figure there is no sentence."""
    own = {
        row.claim.id
        for row in [*papers_suite.rows(), *training_suite.rows()]
        if row.claim.standing is Standing.PAPER
    }
    silent = [
        each
        for each in listed_statements()
        if own & set(each.printed) and not each.quote and each.quantifier is not Quantifier.PRINTED
    ]
    assert silent == []
