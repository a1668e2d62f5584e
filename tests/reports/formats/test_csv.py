"""CSV of the numbers."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from support.report_document import document, evidence, finding

from dpcp_audit.reports.formats.data import COLUMNS, render_csv


def rows(results: dict[str, Any]) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(render_csv(results), newline=""), strict=True))


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
