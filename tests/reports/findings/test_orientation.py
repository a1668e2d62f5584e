"""Every finding on one scale: what keeps the promise lies left of it, what breaks it right."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcp_audit.engine.run_settings import RunSettings
from dpcp_audit.engine.runner import check
from dpcp_audit.reports.document import to_document
from dpcp_audit.reports.families import FARTHEST, lanes, position
from dpcp_audit.reports.summary import read
from dpcp_audit.words.results import Claim, Finding, Source, Verdict

if TYPE_CHECKING:
    from dpcp_audit.reports.families import Mark

IDS = ("ldpcp.krr", "ldpcp.shuffle[n=2452]", "histlap.privacy[scale=1/epsilon]")


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    unknown = Claim(id="x", statement="s", source=Source(paper="P", section="1"), expected=None)
    found = [check(id_, RunSettings()) for id_ in IDS]
    found.append(Finding(claim=unknown, outcome=None, error="ValueError: planted"))
    return to_document(RunSettings(), found, seconds=1.0, complete=True)


def marks(document: dict[str, Any]) -> dict[str, Mark]:
    found = lanes(read(document).families)
    return {mark.told.partition(":")[0]: mark for lane in found for mark in lane.marks}


def test_a_claim_that_is_attained_lies_at_its_promise(document: dict[str, Any]) -> None:
    assert marks(document)["ldpcp.krr"].place == 50.0


def test_twice_as_much_lies_where_two_is_on_the_scale(document: dict[str, Any]) -> None:
    mark = marks(document)["histlap.privacy[scale=1/epsilon]"]
    assert mark.verdict is Verdict.REFUTED
    assert mark.place == pytest.approx(50 + 50 * math.log(2) / math.log(FARTHEST), abs=0.02)
    assert mark.apart


def test_what_has_no_number_has_no_place(document: dict[str, Any]) -> None:
    assert set(marks(document)) == set(IDS)


@given(st.floats(min_value=0.0), st.floats(min_value=0.0))
def test_worse_is_never_farther_left(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert 0 <= position(low) <= position(high) <= 100


def test_only_claims_as_they_are_made_colour_the_bar(document: dict[str, Any]) -> None:
    reading = read(document)
    assert reading.counted_apart == (1, 1)
    assert sum(count for _, count in reading.tally) == len(document["findings"]) - 1


def test_controls_alone_have_a_headline_of_their_own(document: dict[str, Any]) -> None:
    controls = [
        finding | {"standing": "control"}
        for finding in document["findings"]
        if finding["verdict"] == "REFUTED"
    ]
    reading = read(document | {"findings": controls})
    assert reading.headline == "2 of 2 controls, known to be false, are caught"
    assert reading.caught == reading.counted_apart[0] == 2
