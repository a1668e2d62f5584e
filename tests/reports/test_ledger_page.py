"""The ledger: claims of several runs on one page, sorted by paper, nothing printed unescaped."""

from __future__ import annotations

import re
from typing import Any

import pytest
from support.report_document import HOSTILE, document

from dpcp_audit.reports.ledger_page import ledger_of, render_markdown, render_page


def data(*runs: dict[str, Any]) -> dict[str, Any]:
    return {"runs": list(runs) or [document()], "missing": {"zoo": f"Bugs {HOSTILE}"}}


def of_paper(paper: str, suite: str) -> dict[str, Any]:
    made = document() | {"suite": suite, "provenance": {"finished": "2026-01-02T03:04:05Z"}}
    (first, *_) = made["findings"]
    return made | {"findings": [first | {"source": {"paper": paper, "section": "Theorem 1"}}]}


def test_papers_stand_in_alphabetical_order_whatever_run_they_are_of() -> None:
    runs = [of_paper("b", "one"), of_paper("A", "two"), of_paper("b", "three")]
    ledger = ledger_of(data(*runs))
    assert {paper: len(entries) for paper, entries in ledger.papers.items()} == {"A": 1, "b": 2}
    assert list(ledger.papers) == ["A", "b"]


def test_each_run_has_its_date_and_its_versions() -> None:
    head, row = ledger_of(data(of_paper("a", "one"))).runs
    told = dict(zip(head, row, strict=True))
    assert told["suite"] == "one"
    assert told["date"] == "2026-01-02"
    assert told["with"].startswith("dpcp-audit ")
    assert told["claims"] == "1"


def test_every_standing_is_counted_with_its_verdicts() -> None:
    head, *rows = ledger_of(data()).counted
    assert head[0] == "standing"
    assert sum(int(row[-1]) for row in rows) == len(document()["findings"])
    assert all(sum(map(int, row[1:-1])) == int(row[-1]) for row in rows)


def test_surprises_are_marked_and_texts_are_escaped() -> None:
    results = document()
    finding = results["findings"][0]
    finding |= {"contradicts": True, "statement": "a|b <script> *c*", "id": "x.y"}
    text = render_markdown(data(results))
    (row,) = (line for line in text.splitlines() if "x.y" in line)
    assert "**!**" in row
    assert r"a\|b &lt;script&gt; \*c\*" in row
    assert "<script>alert" not in re.sub(r"`[^`\n]*`", "", text)


def test_a_number_is_marked_exactly_where_it_was_not_computed() -> None:
    results = document()
    text = render_markdown(data(results))
    marks = {"exact": "", "certified": ", sampled", "indicative": ", an indication"}
    kinds = set()
    for finding in results["findings"]:
        if finding["evidence"] and finding["id"].isascii():
            name = finding["id"].replace("`", "'").replace("|", "\\|")
            (row,) = (line for line in text.splitlines() if f"`{name}`" in line)
            kinds.add(kind := finding["evidence"]["kind"])
            measured = row.split(" | ")[3]
            assert measured.endswith(marks[kind])
            assert kind != "exact" or not measured.endswith((", sampled", ", an indication"))
    assert {"exact", "certified"} <= kinds


def test_the_page_has_every_claim_and_no_script() -> None:
    pytest.importorskip("jinja2")
    page = render_page(data())
    assert "<script" not in page
    assert page.count('<span class="id">') == len(document()["findings"])


def test_what_is_installed_and_not_run_is_named() -> None:
    assert re.search(r"not in these runs:\n\n- `zoo`: Bugs ", render_markdown(data()))
