"""Computed numbers say which end of their interval they are."""

from __future__ import annotations

import math
from typing import Any

import pytest

from dpcp_audit.words.evidence import Computation
from dpcp_audit.words.quantities import Quantity


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
