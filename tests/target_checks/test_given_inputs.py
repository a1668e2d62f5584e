"""A given pair: read from files as from tuples, kept in results, and tested alone."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dpcp_audit as dp
from dpcp_audit.faces.cli.main import main
from dpcp_audit.target_checks.check_spec import CheckSpec
from dpcp_audit.target_checks.given_inputs import InputPair, PairOf, Unit, require_neighbours
from dpcp_audit.targets import Takes
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.guarantees import Relation

if TYPE_CHECKING:
    from pathlib import Path


TARGET = {"target": "m:f", "kind": "quantile", "pure-dp": 1}
CODE = """
import numpy as np

def leaky(scores, size, *, rng):
    noise = 0.1 if scores[0] == 0.25 else 1.0
    return scores[0] + rng.laplace(scale=noise, size=size)
"""


def inputs(pair: InputPair) -> list[Any]:
    return [np.asarray(each).tolist() for each in (pair.value, pair.neighbour)]


def test_files_and_tuples_say_the_same(tmp_path: Path) -> None:
    record = {"value": [0, 1], "neighbour": [0, 0.5]}
    (tmp_path / "pair.json").write_text(json.dumps(record), encoding="utf-8")
    np.savez(tmp_path / "pair.npz", value=[0.0, 1.0], neighbour=[0.0, 0.5])
    for given in (([0, 1], [0, 0.5]), record, tmp_path / "pair.json", str(tmp_path / "pair.npz")):
        pair = PairOf().read(given, "pair")
        assert inputs(pair) == [[0.0, 1.0], [0.0, 0.5]]
        assert pair.value.dtype == np.float64


def test_inputs_in_parts_and_numbers(tmp_path: Path) -> None:
    parts = {"parts": [[[0.2, 0.8]], [1]]}
    pair = PairOf().read({"value": parts, "neighbour": {"parts": [[[0.2, 0.8]], [0]]}}, "pair")
    assert [each.tolist() for each in pair.value] == [[[0.2, 0.8]], [1]]
    assert PairOf().read(PairOf().as_data(pair), "pair").neighbour[1].tolist() == [0]
    np.savez(tmp_path / "pair.npz", value=3, neighbour=4)
    assert inputs(PairOf().read(tmp_path / "pair.npz", "pair")) == [3, 4]


def test_a_specification_keeps_its_pair() -> None:
    spec = CheckSpec.from_data(TARGET | {"pair": {"value": [0.1], "neighbour": [0.9]}})
    again = CheckSpec.from_data(json.loads(json.dumps(spec.as_data())))
    assert again.pair is not None
    assert inputs(again.pair) == [[0.1], [0.9]]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("none.json", "must be a tuple of two inputs, or a file"),
        ({"value": 1}, "must be a tuple of two inputs, or a file"),
        ((1, 2, 3), "must be a tuple of two inputs, or a file"),
        ({"value": {"a": 1}, "neighbour": 0}, "an input in parts must be"),
        ("broken.json", "broken.json cannot be read"),
        ("lonely.npz", "must be a tuple of two inputs, or a file"),
    ],
)
def test_what_is_no_pair_is_refused(given, says: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    np.savez(tmp_path / "lonely.npz", value=[0.0])
    with pytest.raises(UsageError, match=rf"^pair:? .*{says}"):
        PairOf().read(given, "pair")


@pytest.mark.known_bad
def test_a_leak_on_the_given_pair_alone_is_refuted(tmp_path: Path, monkeypatch, capsys) -> None:
    """From the command line; no pair that a search lists has 0.25 in front."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(CODE, encoding="utf-8")
    (tmp_path / "pair.json").write_text('{"value": [0.25], "neighbour": [0.75]}', encoding="utf-8")
    words = ["check", "mine.py:leaky", "--kind", "quantile", "--pure-dp", "1", "--vectorised"]
    given = [*words, "--no-trace", "--draws", "3000", "--pair"]
    assert main([*given, "pair.json"]) == 1
    assert "0.25" in capsys.readouterr().out
    (tmp_path / "pair.json").write_text('{"value": [0.75], "neighbour": [0.5]}', encoding="utf-8")
    assert main([*given, "pair.json"]) == 0


def test_python_takes_a_tuple_or_a_file_for_both(tmp_path: Path) -> None:
    def leaky(scores, size, *, rng) -> np.ndarray:
        return scores[0] + rng.laplace(scale=0.1 if scores[0] == 0.25 else 1.0, size=size)

    path = tmp_path / "pair.npz"
    np.savez(path, value=[0.25], neighbour=[0.75])
    found = dp.audit(
        leaky, dp.PureDP(1.0), pair=str(path), vectorised=True, trace=False, draws=3000
    )
    assert found.verdict is dp.Verdict.REFUTED
    loss = dp.estimate(leaky, pair=([0.25], [0.75]), vectorised=True, paths=0, draws=3000)
    assert loss.epsilon().lower > 1


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
