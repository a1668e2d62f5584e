from __future__ import annotations

import html
import re

import pytest
from markdown_it import MarkdownIt
from support.report_document import HOSTILE, document, evidence, finding

from dpcp_audit.reports.markdown import render_markdown


def rendered(text: str) -> str:
    return MarkdownIt("commonmark").enable("table").render(text)


@pytest.fixture(scope="module")
def text() -> str:
    return render_markdown(document())


def test_the_table_is_worst_first(text: str) -> None:
    names = re.findall(r"^\| <code>([a-z]+)", text, flags=re.MULTILINE)
    assert names == ["a", "broken", "histlap", "slow", "theorem", "krr"]


def test_hostile_texts_are_printed_as_they_are() -> None:
    claim = finding(
        "x", "REFUTED", "REFUTED", statement=HOSTILE, evidence=evidence(quantity=HOSTILE)
    )
    page = rendered(render_markdown(document(claim)))
    cells = re.findall(r"<td[^>]*>(.*?)</td>", page)
    assert html.unescape(cells[3]) == HOSTILE
    assert f"<p>{html.escape(HOSTILE, quote=False)}</p>" in page.replace("&quot;", '"')


def test_hostile_texts_make_no_elements(text: str) -> None:
    page = rendered(text)
    assert "<script" not in page
    assert "<a " not in page
    assert page.count("<details>") == page.count("</details>") == 3
    assert "<h1>" not in page


def test_every_row_has_every_cell(text: str) -> None:
    rows = re.findall(r"<tr>(.*?)</tr>", rendered(text), flags=re.DOTALL)
    assert [row.count("<t") for row in rows] == [7] * 7


def test_only_what_needs_attention_is_detailed(text: str) -> None:
    details = re.findall(r"<details><summary><code>([a-z]+)", text)
    assert details == ["a", "broken", "histlap"]


def test_a_contradiction_is_detailed_whatever_the_verdict() -> None:
    text = render_markdown(document(finding("x", "PROVED", "REFUTED", contradicts=True)))
    assert "<details>" in text
    assert "**1 verdict contradicts what was expected.**" in text
    assert "(contradicts)" in text


@pytest.mark.parametrize(
    "statement", ["- item", "1. item", "+ item", "=== x", "# x", "> x", "    x"]
)
def test_a_statement_is_a_paragraph(statement: str) -> None:
    text = render_markdown(document(finding("x", "REFUTED", "REFUTED", statement=statement)))
    assert f"<p>{html.escape(statement.strip())}</p>" in rendered(text)


def test_backticks_do_not_end_a_block() -> None:
    error = "```\n# x\n````\n<b>"
    text = render_markdown(document(finding("x", "ERROR", "PROVED", evidence=None, error=error)))
    assert f"<pre><code>{html.escape(error)}\n</code></pre>" in rendered(text)


def test_infinities_and_missing_numbers_are_shown(text: str) -> None:
    assert "∞ \\[1.5, ∞\\]" in text
    assert "| – | – | – |" in text


def test_a_run_that_was_stopped_says_so() -> None:
    assert "stopped before its end" in render_markdown(document(complete=False))


def test_no_figures_library_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("jinja2", "matplotlib"):
        monkeypatch.setitem(__import__("sys").modules, package, None)
    assert render_markdown(document())
