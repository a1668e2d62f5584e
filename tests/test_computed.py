"""Computed numbers say which end of their interval they are."""

from __future__ import annotations

import math
from typing import Any

import pytest

from dpcp_audit.words.checks import Context
from dpcp_audit.words.evidence import Computation, Computed, Simulated
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import EvidenceKind, Verdict


def detail(**fields: Any) -> str:
    given = {"quantity": Quantity.EPSILON, "value": 2.0, "claimed": 3.0} | fields
    return Computation(**given).evidence.detail


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, ""),
        ({"detail": "of a step"}, "of a step"),
        ({"slack": 0.1}, "from below"),
        ({"slack": 0.1, "detail": "of a step"}, "of a step, from below"),
        ({"upper": math.inf}, "from below"),
        ({"lower": 0.0}, "from above"),
        ({"lower": 0.0, "upper": 2.5}, ""),
        ({"value": 0.0, "upper": 1e-13}, ""),
        ({"value": math.inf, "lower": 1.0, "upper": math.inf}, ""),
    ],
)
def test_an_end_of_a_wider_interval_is_named(fields: dict[str, Any], said: str) -> None:
    assert detail(**fields) == said


CONTEXT = Context(seed=0, name="x", significance=1e-3)


def over_runs(*, significance: float) -> Computation:
    return Computation(
        quantity=Quantity.VALUE,
        value=2.0,
        lower=1.5,
        upper=math.inf,
        claimed=1.0,
        samples=60,
        confidence=1 - significance,
    )


def test_a_number_over_simulated_runs_is_sampled_evidence() -> None:
    found = Simulated(over_runs)(CONTEXT)
    evidence = found.evidence
    assert (found.verdict, evidence.kind) == (Verdict.REFUTED, EvidenceKind.CERTIFIED)
    assert (evidence.n_samples, evidence.confidence, evidence.lower) == (60, 0.999, 1.5)
    assert evidence.detail == ""


def test_simulated_and_computed_numbers_do_not_take_each_others_place() -> None:
    with pytest.raises(ValueError, match=r"^samples must be None, got 60"):
        Computed(lambda: over_runs(significance=1e-3))(CONTEXT)
    exact = Computation(quantity=Quantity.VALUE, value=2.0, claimed=1.0)
    with pytest.raises(ValueError, match=r"^samples must be a number, got None"):
        Simulated(lambda *, significance: exact)(CONTEXT)
