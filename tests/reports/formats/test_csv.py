"""CSV of the numbers."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from support.report_document import HOSTILE, document, evidence, finding

from dpcp_audit.reports.formats.data import COLUMNS, render_csv


def rows(results: dict[str, Any]) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(render_csv(results), newline=""), strict=True))


def test_every_finding_is_a_row_with_every_number() -> None:
    table = rows(document())
    assert len(table) == 6
    assert all(tuple(row) == COLUMNS for row in table)
    assert table[1] == {
        "id": "theorem[scores=beta(5,0.2)]",
        "verdict": "CONSISTENT",
        "expected": "CONSISTENT",
        "contradicts": "false",
        "standing": "paper",
        "quantity": "coverage-failure",
        "detail": "",
        "value": "0.01234567",
        "lower": "1.3e-05",
        "upper": "0.0345678",
        "claimed": "0.1",
        "confidence": "0.99995",
        "n_samples": "20000",
        "kind": "certified",
        "seed": "0",
        "seconds": "0.1",
        "worse": "",
    }
    assert table[3]["value"] == "inf"
    assert table[5]["detail"] == HOSTILE


def test_what_is_missing_is_empty() -> None:
    broken = rows(document())[4]
    assert {broken[name] for name in COLUMNS[5:14]} == {""}
    assert rows(document(finding("f", "PROVED", None)))[0]["expected"] == ""  # type: ignore[arg-type]


def test_lines_end_as_the_standard_says() -> None:
    text = render_csv(document(finding("f", "PROVED", "PROVED", evidence=evidence(detail="a\nb"))))
    assert text.count("\r\n") == 2
    assert text.endswith("\r\n")
    assert ",a b," in text


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t=", "\r+", "\n@", "＝", "＋", "－", "＠"])
def test_no_text_is_a_formula(start: str) -> None:
    text = f'{start}cmd|"/C calc"!A0,1'
    row = rows(document(finding(text, "PROVED", "PROVED", evidence=evidence(detail=text))))[0]
    assert row["id"] == row["detail"] == f"'{text.strip()}"


def test_no_text_moves_a_cursor() -> None:
    row = rows(document(finding("a\x1b[31mb\nc\0", "PROVED", "PROVED")))[0]
    assert row["id"] == "a\ufffd[31mb c\ufffd"


def test_negative_numbers_stay_numbers() -> None:
    row = rows(
        document(finding("f", "PROVED", "PROVED", evidence=evidence(value=-1.5, lower="-inf")))
    )
    assert (row[0]["value"], row[0]["lower"]) == ("-1.5", "-inf")
