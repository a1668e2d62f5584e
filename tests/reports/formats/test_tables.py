"""Tables in the reports: Markdown, CSV, HTML and a terminal say the same cells, escaped."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict
from typing import Any

import pytest
from support.report_document import document, finding

from dpcp_audit.engine.tasks import plain_data
from dpcp_audit.reports.formats.data import render_cells
from dpcp_audit.reports.formats.html import render_html
from dpcp_audit.reports.formats.markdown import render_markdown, render_tables
from dpcp_audit.reports.terminal import print_tables
from dpcp_audit.words.results import Table, TableColumn

HOSTILE = "<script>|=1+1"
TABLE = Table(
    title=f"Title {HOSTILE}",
    columns=[
        TableColumn(name="row", texts=[HOSTILE, HOSTILE]),
        TableColumn(
            name="ours",
            texts=["0.95 ≠", ""],
            values=[0.9512345678, float("nan")],
            details={"standard error": [0.01, float("nan")]},
            marked=[0],
        ),
        TableColumn(name="n", values=[1000.0, 20000.0]),
    ],
    notes=[f"Note {HOSTILE}"],
)


def run(*tables: Table, overview: tuple[Table, ...] = ()) -> dict[str, Any]:
    claim = finding("a", "PROVED", "PROVED")
    claim["tables"] = plain_data([asdict(table) for table in tables])
    return document(claim) | {
        "overview": {"figures": [], "tables": plain_data([asdict(table) for table in overview])}
    }


def test_markdown_has_every_row_and_escapes() -> None:
    text = render_tables(run(TABLE))
    assert "| row | ours | n |\n|:--|--:|--:|" in text
    assert "&lt;script&gt;\\|=1+1 | 0.95 ≠ | 1000 |" in text
    assert "Claim `a`." in text
    assert "- Note &lt;script&gt;" in text
    assert "<script>" not in text
    assert render_tables(run()).startswith("This run has no tables.")


def test_csv_has_the_numbers_in_full_precision() -> None:
    first, second = csv.DictReader(io.StringIO(render_cells(run(TABLE))))
    assert (first["ours"], first["ours: standard error"], first["n"]) == (
        "0.9512345678",
        "0.01",
        "1000.0",
    )
    assert (second["ours"], second["ours: standard error"]) == ("", "")
    assert first["table"] == f"Title {HOSTILE}"
    formula = Table(title="t", columns=[TableColumn(name="=x", texts=["=1+1"])])
    (row,) = csv.reader(io.StringIO(render_cells(run(formula)).splitlines()[1]))
    assert row == ["a", "t", "'=1+1"]


def test_tables_of_other_columns_share_one_csv() -> None:
    other = Table(title="other", columns=[TableColumn(name="k", values=[2.0])])
    rows = list(csv.DictReader(io.StringIO(render_cells(run(TABLE, other)))))
    assert [row["k"] for row in rows] == ["", "", "2.0"]
    assert list(csv.reader(io.StringIO(render_cells(run())))) == [["finding", "table"]]


def test_a_table_that_findings_share_is_printed_once() -> None:
    assert render_tables(run(TABLE, TABLE, overview=(TABLE,))).count("## Title") == 1


def test_the_page_marks_escapes_and_shortens() -> None:
    pytest.importorskip("jinja2")
    page = render_html(run(TABLE, overview=(TABLE,)))
    assert '<td class="num marked">0.95 ≠</td>' in page
    assert "The run in one view" in page
    assert "<script>" not in page
    long = Table(title="long", columns=[TableColumn(name="i", values=list(range(1000)))])
    assert "600 more rows are in the results file" in render_html(run(long))


def test_the_summary_in_markdown_has_tables_as_long_as_they_fit() -> None:
    assert "| row | ours | n |" in render_markdown(run(TABLE))
    long = Table(
        title="long",
        columns=[TableColumn(name="i", texts=["x" * 100] * 1000)],
    )
    assert len(render_markdown(run(*[long] * 20))) <= 65_000


def test_a_terminal_prints_a_repeated_name_once() -> None:
    stream = io.StringIO()
    print_tables(run(TABLE), stream=stream)
    assert stream.getvalue().count("1000") == 1
    assert stream.getvalue().count(HOSTILE) == 3


@pytest.mark.parametrize("columns", [60, 80])
def test_a_wide_table_folds_its_heads_and_not_its_title(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    heads = ["line", "law", "draws a run", "noise scale", "realised sensitivity", "mean loss a run"]
    table = Table(
        title="Which line spends the privacy loss",
        columns=[TableColumn(name=head, texts=["mine.py:27"[: len(head)]]) for head in heads],
    )
    stream = io.StringIO()
    print_tables(run(table), stream=stream)
    title, *rest = stream.getvalue().splitlines()
    assert title == table.title
    assert max(map(len, rest)) <= columns
    for word in " ".join(heads).split():
        assert word in stream.getvalue()
    empty = Table(title="none", columns=[TableColumn(name=f"{head} {head}") for head in heads])
    print_tables(run(empty), stream=stream)
    assert "none" in stream.getvalue()


def test_cells_stand_on_one_line() -> None:
    lines = TableColumn(name="said", texts=["ValueError: first\n  second\tthird"])
    stream = io.StringIO()
    print_tables(run(Table(title="t", columns=[lines])), stream=stream)
    assert "ValueError: first second third" in stream.getvalue()
