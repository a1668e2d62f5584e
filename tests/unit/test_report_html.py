from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from support.report_document import HOSTILE, document, finding

from dpcp_audit.reports.errors import MissingExtraError
from dpcp_audit.reports.html import render_html

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

VOID = {"meta", "br", "link", "img"}


class Page(HTMLParser):
    """The tags, ids, links and headings of a page; checks that every tag is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        self.ids += [value or "" for name, value in attrs if name == "id"]
        self.links += [value or "" for name, value in attrs if name == "href"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def text() -> str:
    return render_html(document())


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


def test_the_page_is_well_formed(page: Page) -> None:
    assert page.open == []


def test_hostile_texts_make_no_elements(text: str, page: Page) -> None:
    assert "<script" not in text.lower()
    assert not {"script", "iframe", "object", "link", "img"} & set(page.tags)
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    assert text.count("&lt;script&gt;") >= 10


def test_nothing_is_asked_of_the_network(text: str, page: Page) -> None:
    assert all(link.startswith("#") for link in page.links)
    assert not [value for _, name, value in page.attributes if name in {"src", "srcset", "action"}]
    assert "@import" not in text
    assert not re.findall(r"url\((?!#)", text)
    outside = text.replace("http://www.w3.org/2000/svg", "").replace("http://evil.example", "")
    assert "://" not in outside


def test_ids_are_unique_and_every_reference_has_a_target(text: str, page: Page) -> None:
    assert len(set(page.ids)) == len(page.ids)
    wanted = {link.removeprefix("#") for link in page.links} | set(
        re.findall(r"url\(#(.*?)\)", text)
    )
    for _, name, value in page.attributes:
        if name == "aria-labelledby":
            wanted.update((value or "").split())
    assert wanted <= set(page.ids)


def test_every_claim_is_linked_from_the_table_and_has_a_section(text: str, page: Page) -> None:
    table = text[text.index("<table") : text.index("</table>")]
    sections = re.findall(r'<section class="claim" id="(.*?)"', text)
    assert re.findall(r'href="#(.*?)"', table) == sections
    assert len(sections) == 6


def test_the_worst_claim_stands_first(text: str) -> None:
    table = text[text.index("<table") : text.index("</table>")]
    names = re.findall(r'<a class="id" href="#claim-([a-z]+)', table)
    assert names == ["a", "broken", "histlap", "slow", "theorem", "krr"]


def test_headings_come_in_order(page: Page) -> None:
    levels = [int(tag[1]) for tag in page.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_a_verdict_is_a_word_and_not_only_a_colour(text: str) -> None:
    for verdict in ("REFUTED", "PROVED", "CONSISTENT", "INCONCLUSIVE", "ERROR"):
        assert re.search(
            rf'<span class="badge [a-z]+"><span aria-hidden="true">. </span>{verdict}<', text
        )


def test_every_figure_has_a_text_alternative(text: str) -> None:
    figures = re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL)
    assert len(figures) == 3
    assert all('role="img"' in svg and "<title" in svg and "<desc" in svg for svg in figures)


def test_a_long_witness_is_folded(text: str) -> None:
    assert text.count("<details>") == 1
    assert "… 80 more" in text


def test_an_error_is_shown_and_missing_evidence_is_a_dash(text: str) -> None:
    assert '<pre class="error">ValueError: scores must not be empty, got []</pre>' in text
    row = text[text.index(">broken</a>") : text.index("</tr>", text.index(">broken</a>"))]
    assert row.count("–") == 3


def test_contradictions_are_named_in_the_banner(text: str) -> None:
    banner = text[text.index("<header>") : text.index("</header>")]
    assert 'class="alarm"' in banner
    assert "REFUTED, expected PROVED" in banner
    clean = render_html(document(finding("a", "PROVED", "PROVED")))
    assert "No verdict contradicts what was expected." in clean
    assert 'class="alarm"' not in clean


def test_a_run_that_was_stopped_says_so() -> None:
    assert "stopped before its end" in render_html(document(complete=False))


def test_the_same_document_gives_the_same_page(text: str) -> None:
    assert render_html(document()) == text


def test_an_empty_run_has_a_page() -> None:
    assert Page(render_html(document() | {"findings": []})).open == []


@pytest.mark.parametrize("package", ["jinja2", "matplotlib"])
def test_a_missing_extra_is_named(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        MissingExtraError, match=rf"{package} .* pip install 'dpcp-audit\[report\]'"
    ):
        render_html(document())


def test_the_hostile_text_is_hostile() -> None:
    assert "<script>" in HOSTILE
