"""A given pair must be of neighbours: a claim says nothing of others, and would seem broken."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from dpcp_audit.target_checks.given_inputs import InputPair, Unit, require_neighbours
from dpcp_audit.targets import Takes
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.guarantees import Relation

SUBSTITUTION, ADD_REMOVE, ONE_LABEL = (
    Relation.SUBSTITUTION,
    Relation.ADD_REMOVE,
    Relation.ONE_LABEL,
)
ROWS = np.arange(6.0).reshape(3, 2)
MOVED = np.array([[0.0, 1], [9, 3], [4, 5]])


def refusal(
    value: Any, neighbour: Any, relation: Relation, takes: Takes, unit: Unit = Unit.RECORD
) -> str:
    """Return the error of a pair; "" where there is none."""
    pair = InputPair(value=value, neighbour=neighbour)
    try:
        require_neighbours(pair, relation, takes, unit, "--pair")
    except UsageError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("pair", "relation", "takes"),
    [
        (([0, 1, 1], [0, 1, 0.5]), SUBSTITUTION, Takes.SCORES),
        (([0, 1, 1], [0.5, 0, 1]), SUBSTITUTION, Takes.SCORES),  # in another order
        (([0, 1], [0, 1, 1]), ADD_REMOVE, Takes.SCORES),
        (([0, 1], [0]), ADD_REMOVE, Takes.SCORES),
        (((ROWS, [0, 1, 2]), (MOVED, [0, 1, 2])), SUBSTITUTION, Takes.RECORDS),
        (((ROWS, [0, 1, 2]), (MOVED, [0, 2, 2])), SUBSTITUTION, Takes.RECORDS),
        (((ROWS, [0, 1, 2]), (ROWS, [0, 1, 1])), ONE_LABEL, Takes.RECORDS),
        (((ROWS, [0, 1, 2], ROWS), (ROWS[:2], [0, 1], ROWS)), ADD_REMOVE, Takes.ROWS),
        ((([0, 1], [2]), ([0, 3], [2])), SUBSTITUTION, Takes.CLIENTS),
        ((0, 7), SUBSTITUTION, Takes.VALUE),
    ],
)
def test_neighbours_are_neighbours_either_way(pair, relation, takes) -> None:
    assert [refusal(*each, relation, takes) for each in (pair, pair[::-1])] == ["", ""]


@pytest.mark.parametrize(
    ("pair", "relation", "takes", "counts"),
    [
        (([0] * 9, [1] * 9), SUBSTITUTION, Takes.SCORES, (9, 9)),
        (([0, 1], [0, 1]), SUBSTITUTION, Takes.SCORES, (0, 0)),
        (([0.0], [-0.0]), SUBSTITUTION, Takes.SCORES, (0, 0)),
        (([0, 1], [0, 1, 1]), SUBSTITUTION, Takes.SCORES, (0, 1)),
        (([0, 1, 1], [0, 1, 0.5]), ADD_REMOVE, Takes.SCORES, (1, 1)),
        (([0, 1], [0, 1, 1, 1]), ADD_REMOVE, Takes.SCORES, (0, 2)),
        (((ROWS, [0, 1, 2]), (MOVED, [1, 1, 2])), SUBSTITUTION, Takes.RECORDS, (2, 2)),
        (((ROWS, [0, 1, 2]), (MOVED, [0, 1, 2])), ONE_LABEL, Takes.RECORDS, (1, 1)),
        ((([0, 1], [2]), ([0], [2, 1])), SUBSTITUTION, Takes.CLIENTS, (1, 1)),
    ],
)
def test_others_are_refused_with_how_far_apart_they_are(pair, relation, takes, counts) -> None:
    for each, (gone, come) in ((pair, counts), (pair[::-1], counts[::-1])):
        said = refusal(*each, relation, takes)
        assert said.startswith(f"--pair must hold neighbours (neighbours {relation}: ")
        apart = f"{gone} of the first are not in the second, {come} of the second not in the first"
        line, _, hint = said.partition("\nhint: ")
        assert line.endswith(f": {apart if gone or come else 'the two are the same'}")
        assert hint


def test_of_a_client_all_scores_may_differ() -> None:
    clients = ([0.0, 1], [2.0, 3]), ([0.0, 1], [4.0, 5, 6])
    assert refusal(*clients, SUBSTITUTION, Takes.CLIENTS, Unit.CLIENT) == ""
    assert "one client is replaced" in refusal(
        clients[0], ([7.0], [8.0]), SUBSTITUTION, Takes.CLIENTS, Unit.CLIENT
    )
    assert "one record is replaced" in refusal(*clients, SUBSTITUTION, Takes.CLIENTS)


@pytest.mark.parametrize("value", [3, "abc", None, {"a": 1}])
def test_what_is_no_input_is_named(value) -> None:
    for takes, one in itertools.product((Takes.SCORES, Takes.RECORDS), (value, [0.0])):
        if one is value or takes is Takes.RECORDS:
            assert refusal(one, value, SUBSTITUTION, takes).startswith(
                f"--pair must hold two inputs of {takes}\nhint: such as "
            )
