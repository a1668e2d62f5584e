"""The comparison in a results document: what goes in comes out."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace

import pytest
from support.comparisons import compare

from dpcp_audit.engine.encoding import plain_data
from dpcp_ledger.comparison.calibrator_study import Grid
from dpcp_ledger.comparison.study_document import comparison_of, comparison_tables
from dpcp_ledger.comparison.study_page import comparison_page

GRID = Grid(
    methods=("split", "histlap", "ldpcp-l"),
    subjects=("uniform",),
    sizes=(100, 200),
    epsilons=(1.0, 4.0),
    alphas=(0.2,),
    trials=20,
    delta=1e-3,
    seed=3,
)


def document(*grids: Grid) -> dict:
    comparisons = [replace(compare(grid), timings=()) for grid in grids]
    found = [
        {"tables": [asdict(table) for table in comparison_tables(each)]} for each in comparisons
    ]
    return json.loads(json.dumps(plain_data({"seed": 3, "findings": found})))


def test_a_comparison_comes_back_from_its_document() -> None:
    expected = replace(compare(GRID), timings=())
    assert expected.skipped
    assert comparison_of(document(GRID)) == expected


def test_subjects_of_several_findings_are_put_together() -> None:
    labelled = replace(GRID, subjects=("breast-cancer-gaussian-nb",))
    found = comparison_of(document(GRID, labelled))
    assert found.names == ("uniform", "breast-cancer-gaussian-nb")
    assert found.rows == compare(GRID).rows + compare(labelled).rows
    assert {row.labels for row in found.rows} == {None, 2}


def test_the_page_is_made_from_the_document() -> None:
    labelled = replace(GRID, subjects=("breast-cancer-gaussian-nb",))
    found = comparison_of(document(labelled))
    page = comparison_page(found, image="i.svg")
    assert page == comparison_page(replace(compare(labelled), timings=()), image="i.svg")


def test_the_table_of_a_case_has_no_reference_of_a_finite_budget() -> None:
    rows, left_out = document(GRID)["findings"][0]["tables"]
    epsilon = next(column for column in rows["columns"] if column["name"] == "epsilon")
    assert float(epsilon["values"][0]) in {1.0, 4.0, math.inf}
    assert left_out["columns"][0]["texts"] == ["ldpcp-l"]


def test_a_document_without_a_comparison_is_refused() -> None:
    with pytest.raises(ValueError, match="must hold the comparison of a subject, got none"):
        comparison_of({"seed": 0, "findings": [{"tables": []}, {}]})
