from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from support.report_document import HOSTILE, PROFILE, document, evidence, finding

from dpcp_audit.reports.formats.html import render_html
from dpcp_audit.reports.summary import _SECURITY

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

VOID = {"meta", "br", "link", "img", "input"}


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
    assert not {"script", "iframe", "object", "link"} & set(page.tags)
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    assert text.count("&lt;script&gt;") >= 10


def test_nothing_is_asked_of_the_network(text: str, page: Page) -> None:
    assert all(link.startswith("#") for link in page.links)
    sources = [value for _, name, value in page.attributes if name in {"src", "srcset", "action"}]
    assert all(source.startswith("data:image/svg+xml,") for source in sources)
    assert "@import" not in text
    assert not re.findall(r"url\((?!#|%23)", text)
    own = ("http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink", "http://evil.example")
    own += (_SECURITY,)  # read by people: no link
    outside = text
    for name in own:
        outside = outside.replace(name, "")
    assert "://" not in outside


def test_browsers_are_told_to_run_and_load_nothing(text: str, page: Page) -> None:
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="(.*?)">', text)
    assert policy.split("; ")[0] == "default-src 'none'"
    assert not {"script-src", "connect-src"} & set(re.split(r"[ ;]+", policy))
    before = text.partition("Content-Security-Policy")[0]
    assert {"<style", "<svg", "<title"}.isdisjoint(re.findall(r"<\w+", before))


def test_ids_are_unique_and_every_reference_has_a_target(text: str, page: Page) -> None:
    assert len(set(page.ids)) == len(page.ids)
    wanted = {link.removeprefix("#") for link in page.links} | set(
        re.findall(r"url\(#(.*?)\)", text)
    )
    for _, name, value in page.attributes:
        if name == "aria-labelledby":
            wanted.update((value or "").split())
    assert wanted <= set(page.ids)


def test_every_claim_has_a_row_that_leads_to_its_evidence(text: str) -> None:
    claims = re.findall(
        r'<tbody [^>]*class="claim [^"]*" id="(.*?)">\s<tr[^>]*>.*?href="#(.*?)"', text
    )
    assert len(claims) == 6
    assert all(link == f"{claim}-evidence" for claim, link in claims)
    assert set(re.findall(r'<div class="evidence" id="(.*?)"', text)) == {c[1] for c in claims}


def test_contradictions_stand_first_and_what_holds_stands_last(text: str) -> None:
    names = re.findall(r'class="claim [^"]*" id="claim-([a-z]+)', text)
    assert names == ["a", "broken", "histlap", "krr", "theorem", "slow"]


def test_the_first_screen_names_each_broken_mechanism_with_its_worst_number(text: str) -> None:
    table = text[text.index('<table class="broken"') : text.index("</table>")]
    rows = re.findall(r'class="name" href="#claim-.*?"><bdi>(.*?)</bdi>', table)
    assert len(rows) == 2
    assert rows[1] == "histlap"
    assert "ε ≤ 1" in table
    assert "ε = ∞" in table
    assert "Leaks more than promised" in table


def test_every_table_has_a_caption_and_scopes(text: str) -> None:
    tables = re.findall(r"<table.*?</table>", text, flags=re.DOTALL)
    assert len(tables) == 7
    assert all("<caption" in table for table in tables)
    for cell in re.findall(r"<th\b.*?>", text):
        assert re.search(r'scope="(col|row|rowgroup)"', cell)


def test_landmarks_and_a_skip_link(page: Page) -> None:
    assert [page.tags.count(tag) for tag in ("header", "main", "footer")] == [1, 1, 1]
    assert page.links[0] == "#claims"


def test_the_head_is_as_lighthouse_asks(text: str) -> None:
    """Language, viewport, title and description; links and labels that a finger hits."""
    head, _, body = text.partition("<body>")
    assert head.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in head
    described = re.search(r'<meta name="description" content="([^"<]+)">', head)
    titled = re.search(r"<title>([^<]+)</title>", head)
    assert described is not None
    assert titled is not None
    assert 20 <= len(described[1]) <= 500
    assert "a, label, summary { min-block-size: 1.5rem; }" in head  # 24 pixels
    assert "<img" not in body.replace("<img alt=", "")
    assert "<script" not in text


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
    figures = re.findall(r"<img [^>]*>", text)
    assert len(figures) == 3
    assert all(re.match(r'<img alt="[^"]+" src="data:image/svg', each) for each in figures)


def test_evidence_is_folded_but_for_what_contradicts_or_failed(text: str) -> None:
    assert len(re.findall(r"<details>", text)) == 4
    assert len(re.findall(r"<details open>", text)) == 2
    assert "[0.5] * 100" in text


def test_a_short_report_is_unfolded() -> None:
    assert "<details>" not in render_html(document(finding("a", "REFUTED", "REFUTED")))


def test_an_error_is_shown_and_missing_evidence_is_a_dash(text: str) -> None:
    error = "ValueError: scores must not be empty, got []"
    assert f'<pre class="error"><bdi>{error}</bdi></pre>' in text
    banner = text[text.index("<header>") : text.index("</header>")]
    assert f"<bdi>{error}</bdi>" in banner
    row = text[text.index('id="claim-broken"') :]
    assert row[: row.index("</tr>")].count("–") == 3


def test_the_numbers_behind_the_evidence_are_shown() -> None:
    counted = evidence(
        kind="certified",
        n_samples=4000,
        bound="at most",
        sample={"counts": [{"of": "failures", "hits": 17, "trials": 4000}]},
    )
    text = render_html(
        document(
            finding(
                "a",
                "REFUTED",
                "REFUTED",
                evidence=counted,
                location={"file": "src/<q>.py", "line": 12},
            ),
            seed=77,
        )
    )
    for fact in ("failures: 17 of 4000", "77", "src/&lt;q&gt;.py:12", "4000"):
        assert f"<bdi>{fact}</bdi></dd>" in text


@pytest.mark.parametrize(
    "name",
    ["a\x00\x1b[31mb", "a\u202eb\u2066c", "a\ud800b", "]]>\"'&<b>", "x" * 10_000, "a\nb\r\u2028c"],
)
def test_any_text_can_be_printed(name: str) -> None:
    figure = PROFILE | {"title": name, "x_label": name, "description": name, "marks": {name: 1.0}}
    claim = finding(
        f"id{name}",
        "ERROR",
        "PROVED",
        statement=name,
        formula=name,
        note=name,
        error=name,
        replay=name,
        witness={name: name},
        evidence=evidence(detail=name),
        source={"paper": name, "section": name},
        figures=[figure],
    )
    text = render_html(document(claim, suite=name, profile=name))
    assert Page(text).open == []
    assert text.encode("utf-8")
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069]", text)
    assert len(text) < 400_000


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


def test_the_hostile_text_is_hostile() -> None:
    assert "<script>" in HOSTILE


def test_every_filter_has_a_rule_and_every_claim_the_classes_that_it_asks_for(
    text: str, page: Page
) -> None:
    filters = [each for each in page.ids if each.startswith(("show-", "of-"))]
    assert {"show-all", "show-refuted", "show-open", "show-standing"} <= set(filters)
    unfiltered = {"show-all", "of-0"}
    assert all(f":has(#{each}:checked)" in text for each in filters if each not in unfiltered)
    rows = re.findall(r'class="claim ([^"]*)"', text)
    assert len(rows) == len(document()["findings"])
    assert all(re.match(r"v-[a-z]+ of-[1-9]", row) for row in rows)


def test_a_filter_leaves_no_empty_table_and_shows_its_count(text: str) -> None:
    """A family without a claim of the selection is hidden; where none is left, the page says so."""
    for classes in re.findall(r"tbody\.claim:not\((:is\([^)]*\)[.\w-]*)\)", text):
        assert f"section.family:not(:has(tbody.claim{classes})))" in text
    verdicts = [each["verdict"] for each in document()["findings"]]
    assert f'id="show-refuted"> refuted ({verdicts.count("REFUTED")})' in text
    assert f'id="show-all" checked> all claims ({len(verdicts)})' in text
    refuted = [each for each in document()["findings"] if each["verdict"] == "REFUTED"]
    alone = render_html(document(*refuted[:1] * 5))
    assert "#show-standing:checked) p.none { display: block; }" in alone
    assert "#show-refuted:checked) p.none" not in alone


def test_what_is_printed_first_is_the_summary(text: str) -> None:
    assert re.search(r'id="print-summary" checked', text)
    hidden = ".every, #claims, .view details, .view:not(:has(figure))"
    assert f":has(#print-summary) :is({hidden}) {{ display: none; }}" in text


def test_a_short_report_is_printed_whole() -> None:
    short = render_html(document(finding("a", "REFUTED", "REFUTED")))
    assert 'id="print-summary"' not in short


def test_the_first_screen_says_what_a_clean_result_does_not_mean(text: str) -> None:
    header = text[text.index("<header>") : text.index("</header>")]
    assert "What it does not mean" in header
    assert 'href="#limits"' in header


def test_statements_of_human_size_are_not_cut() -> None:
    long = "The coverage is at least 1−α with probability at least 1−δ, " * 5
    entry = finding("a", "REFUTED", "REFUTED") | {"statement": long.strip()}
    page = render_html(document(entry, finding("b", "PROVED", "PROVED")))
    assert long.strip() in page[page.index('id="broken"') : page.index('id="claims"')]


def _colours(text: str, start: str) -> dict[str, str]:
    """Return the page's colours by their names, of the first rule after a text."""
    rule = text[text.index(start) :]
    return dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", rule[: rule.index("}")]))


def _contrast(first: str, second: str) -> float:
    """Return the contrast of two colours as WCAG 2 defines it."""
    lights: list[float] = []
    for colour in (first, second):
        shares = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [s / 12.92 if s <= 0.03928 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
        lights.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])
    return (max(lights) + 0.05) / (min(lights) + 0.05)


@pytest.mark.parametrize("start", [":root {", "(prefers-color-scheme: dark)"])
def test_texts_and_marks_stand_out_by_day_and_by_night(text: str, start: str) -> None:
    colours = _colours(text, start)
    for name in ("ink", "soft", "link", "bad", "good", "doubt", "fault"):
        assert _contrast(colours[name], colours["page"]) >= 4.5, name
    for name in ("bad", "fault"):
        assert _contrast(colours["on-fill"], colours[name]) >= 4.5, name
        assert _contrast(colours["ink"], colours[f"{name}-soft"]) >= 4.5, name
    for name in ("good-fill", "proved-fill", "doubt-fill", "bad"):  # of the marks in a figure
        assert _contrast(colours[name], colours["page"]) >= 3, name


def test_every_choice_has_a_label_and_every_group_a_legend(text: str) -> None:
    filters = text[text.index('<div class="filters">') : text.index('<div class="every">')]
    assert filters.count("<input") == filters.count("<label>") > 4
    assert filters.count("<fieldset>") == filters.count("<legend>") >= 2
    assert filters.count(" checked>") == filters.count("<fieldset>")
