"""Witnesses for readers: where two long inputs differ."""

from __future__ import annotations

from typing import Any

import pytest

from dpcp_audit.reports.witness import differences, one_line, short, telling

LONG = [i / 100 for i in range(100)]


def of(value: Any, neighbour: Any, **more: Any) -> dict[str, Any]:
    return {"value": value, "neighbour": neighbour, **more}


@pytest.mark.parametrize(
    ("witness", "expected"),
    [
        (of(LONG, [*LONG[:60], 7.0, *LONG[61:]]), {"value[60]": 0.6, "neighbour[60]": 7.0}),
        (of(LONG, LONG[:-1]), {"value[99]": 0.99}),
        (of(LONG[1:], LONG), {"neighbour[0]": 0.0}),
        (of(LONG, [7.0, *LONG[:-1]]), {"value[99]": 0.99, "neighbour[0]": 7.0}),
        (of([0.5] * 50, [0.5] * 51), {"neighbour[0]": 0.5}),
        (of(LONG[:6], LONG[1:7]), {}),
        (of(3, 4), {}),
        (of(LONG, LONG), {}),
        ({"epsilon": 1.0}, {}),
        (
            {"scores": LONG, "neighbour_scores": [*LONG[:-1], 1.0]},
            {"scores[99]": 0.99, "neighbour_scores[99]": 1.0},
        ),
        (
            of(
                {"parts": [[[0.1, 0.9]] * 9, [1] * 9]},
                {"parts": [[[0.1, 0.9]] * 9, [1] * 8 + [0]]},
            ),
            {"value[8]": [[0.1, 0.9], 1], "neighbour[8]": [[0.1, 0.9], 0]},
        ),
    ],
)
def test_what_one_input_alone_holds_is_found(witness: dict[str, Any], expected: object) -> None:
    assert differences(witness) == expected


def test_another_order_is_told_by_place() -> None:
    swapped = [LONG[1], LONG[0], *LONG[2:]]
    assert differences(of(LONG, swapped)) == {
        "value[0]": 0.0,
        "neighbour[0]": 0.01,
        "value[1]": 0.01,
        "neighbour[1]": 0.0,
    }


def test_many_differences_are_few_lines() -> None:
    assert len(differences(of(LONG, [x + 5 for x in LONG]))) == 20


def test_a_witness_begins_with_them() -> None:
    witness = of(LONG, LONG[:-1], seed=3)
    assert list(telling(witness)) == ["where they differ", "value", "neighbour", "seed"]
    assert telling({"seed": 3}) == {"seed": 3}
    assert telling({"scores": LONG}) == {"scores": LONG}, "one input differs from nothing"
    assert one_line(witness, limit=400).startswith("value[99] = 0.99; value: 100 numbers: 0, 0.01")
    assert one_line(witness, limit=400).endswith("; seed: 3")
    assert len(one_line(witness, limit=40)) <= 40
    assert one_line(witness, limit=40).endswith("…")


def test_short_values_are_whole() -> None:
    assert short([1.0, 2.0]) == "[1.0, 2.0]"
    assert short(["59.83"] * 20).startswith('["59.83", "59.83"')
    assert short({"a": 1}) == '{"a": 1}'
