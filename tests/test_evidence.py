"""Evidence of rates, means and losses, each by one constructor."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from dpcp_audit.engine import tasks as encoding
from dpcp_audit.words.checks import Context
from dpcp_audit.words.evidence import (
    Computation,
    Computed,
    Simulated,
    of_loss,
    of_mean,
    of_rate,
    refutes,
)
from dpcp_audit.words.quantities import Bound, Quantity
from dpcp_audit.words.results import (
    Count,
    Evidence,
    EvidenceKind,
    Measure,
    Outcome,
    Table,
    TableColumn,
    Verdict,
)


def test_a_rate_is_that_of_the_count_that_is_shown() -> None:
    counts = Count(of="a", hits=3, trials=10), Count(of="b", hits=5, trials=20)
    evidence = of_rate(
        Quantity.FAILURE, (0.1, 0.6), *counts, claimed=0.2, confidence=0.9, worst=1, detail="of b"
    )
    assert (evidence.value, evidence.lower, evidence.upper) == (0.25, 0.1, 0.6)
    assert evidence.n_samples == 30
    assert evidence.sample is not None
    assert evidence.sample.counts == counts
    assert evidence.sample.measure is Measure.RATES


def test_a_mean_keeps_what_a_comparison_needs() -> None:
    evidence = of_mean(
        Quantity.COVERAGE,
        0.91,
        (0.9, 0.92),
        claimed=0.9,
        confidence=0.99,
        trials=100,
        variance=0.01,
        bound=Bound.AT_LEAST,
        limits=(0.0, 2.0),
    )
    assert evidence.bound is Bound.AT_LEAST
    assert evidence.sample is not None
    assert (evidence.sample.trials, evidence.sample.variance) == (100, 0.01)
    assert evidence.sample.range == (0.0, 2.0)


@pytest.mark.parametrize("lower", [-math.inf, 0.3, 0.9999, 1.0, 1.0001, 2.0])
@pytest.mark.parametrize("refuted", [True, False])
def test_the_bound_of_a_loss_lies_on_the_verdicts_side(lower: float, refuted: bool) -> None:
    evidence = of_loss(
        Quantity.EPSILON,
        -0.5,
        lower,
        refuted=refuted,
        claimed=1.0,
        confidence=0.99,
        n_samples=10,
    )
    assert refutes(evidence) == refuted
    assert evidence.value == evidence.lower
    assert 0.0 <= evidence.lower <= max(2.0, lower)
    assert evidence.upper == math.inf


def test_columns_must_have_the_same_length() -> None:
    one, two = TableColumn(name="a", texts=["x"]), TableColumn(name="b", values=[1.0, 2.0])
    with pytest.raises(ValueError, match=r"columns must have the same length, got \[1, 2\] in 't'"):
        Table(title="t", columns=[one, two])


@pytest.mark.parametrize(
    "parts",
    [
        {"texts": ["x"], "values": [1.0, 2.0]},
        {"values": [1.0], "details": {"error": [0.1, 0.2]}},
    ],
)
def test_the_parts_of_a_column_must_have_the_same_length(parts) -> None:
    with pytest.raises(ValueError, match=r"same length, got \[1, 2\] in column 'a'"):
        TableColumn(name="a", **parts)


def test_a_table_comes_back_from_another_process() -> None:
    column = TableColumn(
        name="a", texts=["∞"], values=[math.inf], details={"error": [0.1]}, marked=[0]
    )
    table = Table(title="t", columns=[column], notes=["n"])
    evidence = Evidence.exact(Quantity.VALUE, 0.0)
    outcome = Outcome(verdict=Verdict.CONSISTENT, evidence=evidence, tables=(table,))
    sent = json.loads(encoding.to_json(encoding.encode(outcome)))
    assert encoding.decode(sent) == outcome


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
