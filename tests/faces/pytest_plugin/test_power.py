"""The column of powers is written from the findings' fields."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import pytest

from dpcp_audit.engine.encoding import plain_data
from dpcp_audit.faces.pytest_plugin.failure import power_of
from dpcp_audit.words.quantities import Bound, Quantity
from dpcp_audit.words.results import Power

EPSILON = Power(quantity=Quantity.EPSILON, smallest=2.186, claimed=1.0, detail="at the best event")
COVERAGE = Power(
    quantity=Quantity.COVERAGE, smallest=0.85, claimed=0.9, bound=Bound.AT_LEAST, detail="here"
)
BLIND = Power(quantity=Quantity.EPSILON, smallest=math.inf, claimed=1.0)
NOTHING = Power(quantity=Quantity.EPSILON, smallest=0.08, claimed=0.0)


def finding(power: Power | None, *, verdict: str = "CONSISTENT", note: str = "") -> dict[str, Any]:
    told = None if power is None else asdict(power) | {"factor": power.factor}
    return {"verdict": verdict, "power": plain_data(told), "note": note}


@pytest.mark.parametrize(
    ("power", "words"),
    [
        (EPSILON, "ε ≥ 2.186 (2.19 × the claim)"),
        (COVERAGE, "coverage ≤ 85 % (1.5 × the miscoverage allowed)"),
        (BLIND, "nothing"),
        (NOTHING, "ε ≥ 0.08"),
        (None, "nothing"),
    ],
)
def test_a_power_in_a_few_words(power: Power | None, words: str) -> None:
    assert power_of(finding(power)) == words


def test_what_is_refuted_needs_no_power() -> None:
    assert power_of(finding(None, verdict="REFUTED")) == "refuted"


@pytest.mark.parametrize("note", ["A true ε of 9.9 (9 times the claim) at this event", "?", ""])
def test_no_word_of_a_note_changes_it(note: str) -> None:
    assert power_of(finding(EPSILON, note=note)) == power_of(finding(EPSILON))
