"""Outcomes survive JSON bit for bit."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from dpcp_audit.engine.tasks import decode, encode, plain_data, to_json
from dpcp_audit.words.quantities import Bound, Quantity
from dpcp_audit.words.results import (
    Count,
    Evidence,
    EvidenceKind,
    Figure,
    FigureKind,
    Measure,
    Outcome,
    Premise,
    Proof,
    ProofMethod,
    Sample,
    Series,
    Verdict,
)

FULL = Outcome(
    verdict=Verdict.REFUTED,
    evidence=Evidence(
        kind=EvidenceKind.CERTIFIED,
        quantity=Quantity.EPSILON,
        value=0.1 + 0.2,
        lower=5e-324,
        upper=math.inf,
        claimed=1,
        confidence=1 - 1e-16,
        n_samples=10**12,
        bound=Bound.AT_LEAST,
        sample=Sample(
            measure=Measure.LOG_RATIO,
            counts=(
                Count(of="a", hits=1, trials=2),
                Count(of="b", hits=0, trials=2, any_time=True),
            ),
            range=(-math.inf, 1.0),
        ),
    ),
    proof=Proof(
        method=ProofMethod.CLOSED_FORM,
        argument="So it is.",
        premises=(
            Premise(says="a ≤ b", left=(-math.inf, 5e-324), right=(0.1, math.inf), holds=True),
        ),
        parameters={"n": 5, "rho": math.inf},
    ),
    witness={"n": 5, "deep": [{"x": [math.inf, -math.inf, 0.1]}], "none": None, "yes": True},
    note='a\nb \u2028 \U0001f600 \\ "',
    figures=(
        Figure(
            kind=FigureKind.HEATMAP,
            title="t",
            x_label="x",
            y_label="y",
            series=[Series(name="s", x=[1.0, 2.0], y=[0.5, -math.inf], texts=["a", "b"])],
            description="d",
            marks={"m": math.inf},
            log_x=True,
            columns=["c"],
        ),
    ),
)
LEAST = Outcome(verdict=Verdict.PROVED, evidence=Evidence.exact(Quantity.VALUE, 0.0))


def travelled(outcome: Outcome) -> Outcome:
    return decode(json.loads(to_json(encode(outcome))))


@pytest.mark.parametrize("outcome", [FULL, LEAST])
def test_outcomes_survive(outcome: Outcome) -> None:
    again = travelled(outcome)
    assert again == outcome
    assert repr(again) == repr(outcome)  # the types too: 1 is not 1.0


def test_nan_survives() -> None:
    series = [Series(name="s", x=[math.nan], y=[1.0])]
    figure = replace(FULL.figures[0], series=series)
    again = travelled(replace(FULL, figures=(figure,), witness={"x": math.nan}))
    assert math.isnan(again.figures[0].series[0].x[0])
    assert math.isnan(again.witness["x"])


def test_arrays_and_tuples_become_lists() -> None:
    data = {"a": np.arange(3), "b": (1, (2.5,)), "c": np.float64(0.1), "d": Verdict.PROVED}
    assert json.loads(to_json(encode(data))) == {
        "a": [0, 1, 2],
        "b": [1, [2.5]],
        "c": 0.1,
        "d": "PROVED",
    }


@pytest.mark.parametrize("bad", [object(), {1, 2}, [b"x"], {"a": 1j}])
def test_what_is_not_plain_is_refused(bad: object) -> None:
    with pytest.raises(TypeError, match="value must be plain data, got"):
        encode(bad)


def test_a_line_is_a_line() -> None:
    assert "\n" not in to_json(encode(FULL))
    assert to_json(encode(FULL)).isascii()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (math.nan, "nan"),
        (np.float64("nan"), "nan"),
        (np.bool_(True), True),
        (np.int64(3), 3),
        (np.array([[1.0, math.inf]]), [[1.0, "inf"]]),
        ((1, (2.5,)), [1, [2.5]]),
        ({1: np.float32(0.5)}, {"1": 0.5}),
        (Verdict.PROVED, "PROVED"),
        (None, None),
    ],
)
def test_plain_data(value: object, expected: object) -> None:
    assert plain_data(value) == expected
    json.dumps(plain_data(value), allow_nan=False)


@pytest.mark.parametrize("value", [LEAST, {1, 2}, b"x", 1j, object])
def test_what_is_not_plain_data_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="value must be plain data"):
        plain_data({"a": [value]})
