"""The page on calibrators at equal privacy: made from a results document."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace

import pytest
from support.comparisons import compare
from update_comparison import comparison_of, comparison_page

from dpcp_audit.engine.tasks import plain_data
from dpcp_ledger.claims.compared_calibrators import comparison_tables
from dpcp_ledger.comparison.calibrator_study import Comparison, Grid

POOL = "digits-logistic"
SMALL = Grid(
    methods=("split", "histlap", "ldpcp-l"),
    subjects=("uniform",),
    sizes=(100, 200),
    epsilons=(1.0, 4.0),
    alphas=(0.2,),
    trials=20,
    delta=1e-3,
    seed=3,
)
GRID = Grid(
    methods=("split", "exponq-full", "histlap"),
    subjects=("uniform", POOL, "digits-gaussian-nb", "digits-gaussian-nb:log"),
    sizes=(300, 1000),
    epsilons=(4.0, 8.0),
    alphas=(0.1,),
    trials=100,
    delta=1e-3,
)


def document(*grids: Grid) -> dict:
    found = [
        {"tables": [asdict(table) for table in comparison_tables(compare(each))]} for each in grids
    ]
    return json.loads(json.dumps(plain_data({"seed": 3, "findings": found})))


def test_a_comparison_comes_back_from_its_document() -> None:
    expected = compare(SMALL)
    assert expected.skipped
    assert comparison_of(document(SMALL)) == expected


def test_subjects_of_several_findings_are_put_together() -> None:
    labelled = replace(SMALL, subjects=("breast-cancer-gaussian-nb",))
    found = comparison_of(document(SMALL, labelled))
    assert found.names == ("uniform", "breast-cancer-gaussian-nb")
    assert found.rows == compare(SMALL).rows + compare(labelled).rows
    assert {row.labels for row in found.rows} == {None, 2}


def test_the_table_says_what_falls_short_and_what_is_left_out() -> None:
    rows, left_out = document(SMALL)["findings"][0]["tables"]
    columns = {column["name"]: column for column in rows["columns"]}
    assert set(columns["ε"]["texts"]) == {"1", "4", "∞"}
    assert math.isinf(float(columns["ε"]["values"][columns["ε"]["texts"].index("∞")]))
    covers = [row.covers for row in compare(SMALL).rows]
    assert ["✗" not in text for text in columns["mean coverage"]["texts"]] == covers
    assert columns["mean set size"]["texts"] == ["–"] * len(covers)
    assert left_out["columns"][0]["texts"] == ["ldpcp-l"]


def test_a_document_without_a_comparison_is_refused() -> None:
    with pytest.raises(ValueError, match="must hold the comparison of a subject, got none"):
        comparison_of({"seed": 0, "findings": [{"tables": []}, {}]})


@pytest.fixture(scope="module")
def measured() -> Comparison:
    return compare(GRID)


def test_the_pages_numbers_come_from_the_run(measured) -> None:
    page = comparison_page(measured)
    at = next(
        r
        for r in measured.rows
        if (r.method, r.subject, r.n, r.epsilon) == ("histlap", POOL, 1000, 4.0)
    )
    assert f"| HistLap | {at.coverage:.4f}" in page
    assert "useful sets come out in 0 of 4 cases; with" in page
    assert f"{len(measured.rows)} rows:\nn = 300, 1000; ε = 4, 8; α = 0.1; seed 0, 100 runs" in page
    assert "{" not in page
