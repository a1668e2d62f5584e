"""What is quoted of the papers stands in their texts, where these are beside the checkout."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from dpcp_ledger.claims import papers_suite, training_suite
from dpcp_ledger.claims.papers_suite import listed_statements

ROOT = Path(__file__).parents[4]
FOLDERS = [parent / "shared" / "papers" for parent in ROOT.parents[:2]]
FOLDER = next((folder for folder in FOLDERS if folder.is_dir()), None)
TITLES = {
    "LDP-CP": "Privacy-Preserving Conformal Prediction Under Local Differential Privacy",
    "P-COQS": "Differentially Private Conformal Prediction via Quantile Binary Search",
    "DP-SKIN": "Differential Privacy Enabled Deep Skin Image Classification",
}
LEAST = 15
"""Letters of a fragment between two formulas that is looked up; shorter ones say nothing."""


def letters(text: str) -> str:
    return re.sub(r"[^a-z]", "", text.lower())


def fragments(quotation: str) -> list[str]:
    """Return the words between the formulas of a quotation, letters alone."""
    plain = re.compile(r"[(“]?[A-Za-z][A-Za-z'’\-]+[.,:;)”]*")
    words = (each if plain.fullmatch(each) else "|" for each in quotation.split())
    parts = map(letters, " ".join(words).split("|"))
    return [part for part in parts if len(part) >= LEAST]


@cache
def readings(paper: str) -> tuple[str, ...]:
    """Return each text of a paper, without formulas, letters alone; LDP-CP has three."""
    assert FOLDER is not None
    texts = [path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.txt"))]
    return tuple(
        letters(re.sub(r"\$[^$]*\$", " ", text))
        for text in texts
        if letters(TITLES[paper]) in letters(text[:2_000])
    )


def missing(paper: str, quotation: str) -> list[str]:
    """Return the fragments that stand in no reading of the paper."""
    return [each for each in fragments(quotation) if all(each not in t for t in readings(paper))]


def quotations() -> list[tuple[str, str]]:
    rows = [*papers_suite.rows(), *training_suite.rows()]
    in_claims = [
        (row.claim.source.paper, quotation)
        for row in rows
        if row.claim.source.paper in TITLES
        for quotation in re.findall("“([^”]*)”", row.claim.statement)
    ]
    return in_claims + [(each.paper, each.quote) for each in listed_statements() if each.quote]


def test_a_changed_word_is_seen() -> None:
    assert fragments("the coverage of 1−α is what we indeed obtain") == ["iswhatweindeedobtain"]


@pytest.mark.skipif(FOLDER is None, reason="the papers' texts are not beside the checkout")
def test_every_quotation_stands_in_the_source() -> None:
    assert {paper: len(readings(paper)) for paper in TITLES} == {
        "LDP-CP": 3,
        "P-COQS": 1,
        "DP-SKIN": 1,
    }
    quoted = quotations()
    assert len(quoted) > 140
    assert missing("P-COQS", "HISTLAP and ExponQ have the lowest errors") != []
    wrong = {f"{paper}: {text}": gone for paper, text in quoted if (gone := missing(paper, text))}
    assert wrong == {}


def within(text: str, place: str) -> list[str]:
    """Return what stands under a heading such as "5.1", its subsections too, letters alone."""
    number = re.compile(r"Abstract|References|(?:\d+|[A-E])(?=[.\s*])(?:\.\d+)*")
    lines = re.finditer(r"^#+ \**(.*)$", text, re.MULTILINE)
    heads = [(line.start(), found[0]) for line in lines if (found := number.match(line[1]))]
    ends = [*heads, (len(text), "")][1:]
    return [
        letters(re.sub(r"\$[^$]*\$", " ", text[start : after[0]]))
        for (start, name), after in zip(heads, ends, strict=True)
        if name == place or name.startswith(f"{place}.")
    ]


@pytest.mark.skipif(FOLDER is None, reason="the papers' texts are not beside the checkout")
def test_every_quotation_stands_in_the_section_that_is_named() -> None:
    assert FOLDER is not None
    texts = [path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.txt"))]
    place = re.compile(r"(?:Section |Appendix )?(Abstract|\d+(?:\.\d+)*|[A-E])(?![\w.]| of the)")
    placed, elsewhere = 0, []
    for each in listed_statements():
        named = place.match(each.place)
        own = [text for text in texts if letters(TITLES[each.paper]) in letters(text[:2_000])]
        parts = [part for text in own if named for part in within(text, named[1])]
        if not (each.quote and parts):
            continue
        placed += 1
        if any(all(quoted not in part for part in parts) for quoted in fragments(each.quote)):
            elsewhere.append(f"{each.place}: {each.quote}")
    assert placed > 25
    assert elsewhere == []
