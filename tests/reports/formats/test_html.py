from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from support.report_document import PROFILE, document, evidence, finding

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


def test_a_short_report_is_unfolded() -> None:
    assert "<details>" not in render_html(document(finding("a", "REFUTED", "REFUTED")))


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


def test_a_run_that_was_stopped_says_so() -> None:
    assert "stopped before its end" in render_html(document(complete=False))


def test_an_empty_run_has_a_page() -> None:
    assert Page(render_html(document() | {"findings": []})).open == []


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


def test_a_short_report_is_printed_whole() -> None:
    short = render_html(document(finding("a", "REFUTED", "REFUTED")))
    assert 'id="print-summary"' not in short


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
