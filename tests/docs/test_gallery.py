"""The gallery's figures are those of claims that a run tests, with a text for each."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import update_gallery

from dpcp_audit.engine.run_settings import RunSettings
from dpcp_audit.engine.runner import check
from dpcp_audit.engine.suites import suite
from dpcp_audit.reports.document import to_document
from dpcp_audit.reports.entry import entries_of

DOCS = Path(update_gallery.__file__).parent
PAGE = (DOCS / "gallery.md").read_text(encoding="utf-8")
NAMES = [f"gallery_{picture.name}.svg" for picture in update_gallery.PICTURES]


def test_every_picture_is_of_a_claim_that_a_run_tests() -> None:
    ids = {row.claim.id for row in suite("papers")}
    for picture in update_gallery.PICTURES:
        assert picture.claim in ids
        assert f"`dpcp-audit run --only '{picture.claim}'" in PAGE


@pytest.mark.parametrize("name", ["gallery_zoo.svg", *NAMES])
def test_every_picture_is_there_and_its_title_is_its_alternative_text(name: str) -> None:
    root = ET.fromstring((DOCS / name).read_text(encoding="utf-8"))  # noqa: S314  (our own)
    title = next(child.text for child in root if child.tag.endswith("title"))
    assert f"![{title}]({name})" in PAGE


def test_every_image_of_the_page_has_a_text_and_a_file() -> None:
    for text, name in re.findall(r"!\[(.*?)\]\(([^)]+)\)", PAGE):
        assert text
        assert (DOCS / name).exists()


def test_a_picture_and_its_numbers_come_out_again() -> None:
    picture = update_gallery.PICTURES[0]
    settings = RunSettings()
    run = to_document(settings, [check(picture.claim, settings)], seconds=1.0, complete=True)
    (entry,) = entries_of(run)
    assert f"{entry.verdict}: {entry.breach.found}, promised {entry.breach.promised}." in PAGE
    assert f"![{entry.figures[picture.place]['title']}](gallery_{picture.name}.svg)" in PAGE
