from __future__ import annotations

import html
import json
import math
import re
from dataclasses import asdict, replace

import pytest
from markdown_it import MarkdownIt
from support.report_document import HOSTILE, document, evidence, finding

from dpcp_audit.reports.formats.ci import render_sarif
from dpcp_audit.reports.formats.html import render_html
from dpcp_audit.reports.formats.markdown import render_markdown
from dpcp_audit.words.results import AnnotatedLine


def rendered(text: str) -> str:
    return MarkdownIt("commonmark").enable("table").render(text)


@pytest.fixture(scope="module")
def text() -> str:
    return render_markdown(document())


def test_a_target_that_breaks_two_promises_has_a_row_for_each() -> None:
    covers = evidence(
        quantity="coverage", bound="at least", value=0.5, lower=0.5, upper=0.5, claimed=0.9
    )
    claims = {"x[puredp:epsilon=1]": evidence(), "x[zcdp:rho=1]": evidence(quantity="rho")}
    claims |= {"x[coverage>=0.9]": covers}
    found = [
        finding(id_, "REFUTED", "REFUTED", evidence=of, standing="stated")
        for id_, of in claims.items()
    ]
    text = render_markdown(document(*found))
    head = text[: text.index("<details>")]
    assert head.count("| Leaks more than promised: ") == 2
    assert head.count("| Covers less than promised: ") == 1
    table = re.search('<table class="broken".*?</table>', render_html(document(*found)), re.DOTALL)
    assert table is not None
    assert table[0].count("Leaks more than promised") == 2
    assert table[0].count("Covers less than promised") == 1


def test_the_source_that_a_proof_has_read_is_shown_line_by_line() -> None:
    plain = AnnotatedLine(file="a.py", line=3, text="    x = 1")
    noisy = replace(plain, line=4, noise=("noise of scale 1",), cost=math.inf, unit="ε", share=1.0)
    stopped = {
        "reason": "r",
        "location": None,
        "hint": "",
        "source": [asdict(plain), asdict(noisy)],
    }
    stopped["source"][1]["cost"] = "inf"
    read = document(finding("f", "REFUTED", "REFUTED", unproved=stopped))
    said = "noise of scale 1; costs ε inf (100%)"
    for page in (render_markdown(read), html.unescape(render_html(read))):
        assert "   3      x = 1\n   4      x = 1   " in page
        assert f"  # {said}" in page
    (result,) = json.loads(render_sarif(read))["runs"][0]["results"]
    (related,) = result["relatedLocations"]
    assert related["message"]["text"] == said
    assert related["physicalLocation"]["region"] == {
        "startLine": 4,
        "snippet": {"text": "    x = 1"},
    }


def test_hostile_texts_are_printed_as_they_are() -> None:
    claim = finding("x", "REFUTED", "REFUTED", statement=HOSTILE, evidence=evidence(detail=HOSTILE))
    page = rendered(render_markdown(document(claim)))
    cells = [html.unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", page)]
    assert f"privacy loss ε, {HOSTILE}" in cells
    assert f"Leaks more than promised: {HOSTILE}" in cells
    assert f"<p>{html.escape(HOSTILE, quote=False)}</p>" in page.replace("&quot;", '"')


def test_hostile_texts_make_no_elements(text: str) -> None:
    page = rendered(text)
    assert "<script" not in page
    assert "<a " not in page
    assert page.count("<details>") == page.count("</details>") == 11
    assert "<h1>" not in page


def test_many_refutations_that_were_expected_are_not_detailed() -> None:
    text = render_markdown(document(*(finding(f"x{i}", "REFUTED", "REFUTED") for i in range(11))))
    assert "<details><summary><code>" not in text
    assert "11 claims refuted as expected" in text


@pytest.mark.parametrize("count", [1, 40, 400])
@pytest.mark.parametrize("verdict", ["REFUTED", "ERROR", "PROVED"])
def test_a_comment_of_a_pull_request_can_hold_it(count: int, verdict: str) -> None:
    long = "x|`<" * 2500
    claims = [
        finding(
            f"n{i}.{long}",
            verdict,
            "PROVED",
            contradicts=verdict == "REFUTED",
            statement=long,
            error=long,
            note=long,
            witness={"a": long},
            replay=long,
        )
        for i in range(count)
    ]
    text = render_markdown(document(*claims))
    assert len(text) <= 65_000
    assert text.endswith("</sub>\n")
    assert text.count("<details>") == text.count("</details>")
    if count > 1:
        assert re.search(r"left out for its length|claims? more, in the HTML report", text)


def test_characters_that_cannot_be_printed_are_replaced() -> None:
    claim = finding("x", "REFUTED", "REFUTED", statement="a\u202eb\x00c\ud800d\x1b[31m")
    text = render_markdown(document(claim))
    assert text.encode("utf-8")
    assert "a\ufffdb\ufffdc\ufffdd\ufffd\\[31m" in text


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


def test_a_run_that_was_stopped_says_so() -> None:
    assert "stopped before its end" in render_markdown(document(complete=False))


def test_no_figures_library_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("jinja2", "matplotlib"):
        monkeypatch.setitem(__import__("sys").modules, package, None)
    assert render_markdown(document())


def test_the_run_and_what_proofs_rest_on_are_told() -> None:
    proof = {
        "method": "argument",
        "argument": "It is charged.",
        "premises": [],
        "parameters": {"n": [5], "rules": ["len: sizes"], "assumptions": ["n is public"]},
    }
    proved = finding("p", "PROVED", "PROVED", proof=proof, assumptions="n is public")
    origin = {"finished": "2026-01-02T03:04:05Z", "code": {"mine.py": "0123456789ab"}}
    text = render_markdown(document(proved) | {"provenance": origin})
    (line,) = (each for each in text.splitlines() if each.startswith("- <code>p</code>"))
    assert "Proved from the source for n = 5 alone" in line
    assert "Rules: len: sizes. Assumes: n is public." in line
    for said in ("2026-01-02T03:04:05Z", "SHA-256 of mine.py: 0123456789ab", "unknown: no git"):
        assert said in text
