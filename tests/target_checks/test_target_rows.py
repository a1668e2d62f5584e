"""The claims of a target: stated of its code, under its name, with what was asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dpcp_audit.target_checks.check_spec import CheckSpec
from dpcp_audit.target_checks.target_rows import rows_of_targets
from dpcp_audit.words.results import Claim, Standing


def claims(**data: Any) -> list[Claim]:
    spec = CheckSpec.from_data({"target": "mine.py:f", "kind": "quantile", "name": "f"} | data)
    return [row.claim for row in rows_of_targets([spec])]


def test_a_claim_is_stated_of_the_target() -> None:
    for claim in claims(**{"zcdp": 0.5, "coverage-at-least": 0.9}):
        assert (claim.subject, claim.standing) == ("f", Standing.STATED)


@pytest.mark.parametrize(
    ("data", "parameters"),
    [
        ({"zcdp": 0.5}, {"neighbours": "substitution", "rho": 0.5}),
        (
            {"approx-dp": [1, 1e-6], "n": [50, 100], "neighbours": "add-remove"},
            {"neighbours": "add-remove", "epsilon": 1.0, "delta": 1e-6},
        ),
        (
            {"coverage-at-least": 0.9, "n": 50, "alpha": 0.1},
            {"n": 50, "alpha": 0.1, "at_least": 0.9, "at_most": 1.0, "confidence": 1.0},
        ),
    ],
)
def test_parameters_are_what_was_asked_for(
    data: dict[str, Any], parameters: dict[str, Any]
) -> None:
    (claim,) = claims(**data)
    assert claim.parameters == parameters
    assert json.loads(json.dumps(claim.parameters)) == parameters


def test_a_claim_of_coverage_names_the_size_that_it_is_tried_at() -> None:
    (claim,) = claims(**{"coverage-at-least": 0.9})
    assert isinstance(claim.parameters["n"], int)
