"""Inputs of a pair that no claim speaks of: refused by name, where they would refute true ones."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from dpcp_audit.audits.search.pair_space import input_as_data
from dpcp_audit.faces.cli.main import main
from dpcp_audit.target_checks.check_spec import CheckSpec
from dpcp_audit.target_checks.tried_inputs import pair_space
from dpcp_audit.targets import Kind, Takes
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.guarantees import Relation

if TYPE_CHECKING:
    from pathlib import Path

X = np.arange(6.0).reshape(3, 2)
MOVED = X + np.array([[0.0, 0], [9, 0], [0, 0]])
Y = np.array([0, 1, 2])
NEW = np.zeros((1, 2))
ROWS = (X, Y, NEW), (MOVED, Y, NEW)
P = np.array([[0.2, 0.8], [0.5, 0.5]])
NAN = float("nan")
FOUR = {"kind": "randomizer", "domain": 4}
RANDOMISED = """
import numpy as np

def response(value, *, rng):
    return value if rng.random() < 0.5 else int(rng.integers(4))
"""


def spec_of(pair: Any, **settings: Any) -> CheckSpec:
    """Return the check of a claim on a pair."""
    settings = {key.replace("_", "-"): value for key, value in settings.items()}
    claim = "local-dp" if settings["kind"] in {"randomizer", "local"} else "pure-dp"
    return CheckSpec.from_data({"target": "m:f", claim: 1, "pair": pair} | settings)


def masked(values: Any) -> Any:
    """Return an array of which the last number is masked."""
    array: Any = np.ma
    return array.masked_equal(np.asarray(values, dtype=float), values[-1])


@pytest.mark.parametrize(
    ("pair", "settings", "says"),
    [
        ((0, 4), FOUR, "must hold values of the domain, integers in 0 ... 3, got 4"),
        ((-1, 0), FOUR, "integers in 0 ... 3, got -1"),
        ((0, 1000), FOUR, "integers in 0 ... 3, got 1000"),
        ((0, 1.5), FOUR, "integers in 0 ... 3, got 1.5"),
        ((2, 2), FOUR, "the two are the same"),
        ((0.0, 3.0), {"kind": "local"}, "must hold values within the bounds [0, 1], got 3"),
        ((0.0, -0.0), {"kind": "local"}, "the two are the same"),
        ((0.0, NAN), {"kind": "local"}, "must not hold NaN"),
        ((0.0, "a"), {"kind": "local"}, "must hold two inputs of value"),
        (([0, 1], [0, 9]), {"kind": "quantile"}, "scores within the bounds [0, 1], got 9"),
        (([0, -5], [0, 1]), {"kind": "vector", "bounds": [-1, 1]}, "bounds [-1, 1], got -5"),
        (([0, -5], [0, 1]), {"kind": "vector", "bounds": [0, "none"]}, "bounds [0, inf], got -5"),
        (([0, np.inf], [0, 1]), {"kind": "quantile", "bounds": [0, "none"]}, "inf], got inf"),
        (([0, NAN], [0, 1]), {"kind": "quantile"}, "must not hold NaN"),
        ((masked([0, 1]), [0, 0.5]), {"kind": "quantile"}, "must not hold masked numbers"),
        (([0, 1], [0, 1]), {"kind": "quantile"}, "the two are the same"),
        (([0, [1]], [0, 1]), {"kind": "quantile"}, "must hold numbers, or arrays of them"),
        (([[0], [0, 9]], [[0], [0, 1]]), {"kind": "federated"}, "bounds [0, 1], got 9"),
        (([[0], masked([0, 1])], [[0], [0]]), {"kind": "federated"}, "masked numbers"),
        (([[0], ["a", "b"]], [[0], [0]]), {"kind": "federated"}, "two inputs of clients"),
        (((P, [0, 1]), (P * 9, [0, 1])), {"kind": "calibrator"}, "rows that sum to 1, got [1.8"),
        (((P, [0, 1]), (P - [-1, 1], [0, 1])), {"kind": "calibrator"}, "in [0, 1] with rows"),
        (((P, [0, 1]), (P, [0, 2])), {"kind": "calibrator"}, "integers in 0 ... 1, got 2"),
        (((P, [0, 1]), (P, [0, -1])), {"kind": "calibrator"}, "integers in 0 ... 1, got -1"),
        (
            ((P, [0, 1]), (P, [0, 0])),
            {"kind": "calibrator", "domain": 3},
            "probabilities of 3 classes, got an array of shape (2, 2)",
        ),
        ((P, P), {"kind": "calibrator"}, "inputs of records, each (probabilities, labels)"),
        (
            ((X, Y, NEW), (X, Y, NEW + 1)),
            {"kind": "predictor"},
            "the same new rows on both sides",
        ),
        (
            ((X, Y, NEW), (MOVED, Y, NEW[:0])),
            {"kind": "regression"},
            "the same new rows on both sides",
        ),
        (((X, Y), (MOVED, Y)), {"kind": "model"}, "inputs of rows, each (features, labels, new)"),
        (((X, Y, NEW), (X * NAN, Y, NEW)), {"kind": "model"}, "must not hold NaN"),
        (((X, Y, NEW), (X, masked(Y), NEW)), {"kind": "model"}, "must not hold masked numbers"),
    ],
)
def test_what_no_claim_speaks_of_is_refused(pair: Any, settings: Any, says: str) -> None:
    for each in (pair, pair[::-1]):
        with pytest.raises(UsageError) as caught:
            spec_of(each, **settings)
        assert str(caught.value).startswith("pair")
        assert says in str(caught.value)


def true_neighbours() -> list[tuple[Any, dict[str, Any]]]:
    """Return pairs of every kind, and how they are said to be neighbours."""
    pandas, torch = pytest.importorskip("pandas"), pytest.importorskip("torch")
    one, more = {"neighbours": "one-label"}, {"neighbours": "add-remove"}
    single = torch.softmax(torch.tensor([[0.3, 2.1], [7.7, 0.1]]), dim=1)
    frames = [pandas.DataFrame(each) for each in (X, MOVED, NEW)]
    return [
        ((0, 3), FOUR),
        ((np.int64(1), np.array(2)), FOUR),
        ((0.0, 1), {"kind": "local"}),
        (([0.2, 0.1], [0.9, 0.3]), {"kind": "local"}),
        (([1.0, 0.0, 0.5], [-0.0, 0.5, 0.2]), {"kind": "quantile"}),
        (([-1e9, 0], [1e9, 0]), {"kind": "quantile", "bounds": ["none", "none"]}),
        ((pandas.Series([0.1, 0.2]), pandas.Series([0.1, 0.3])), {"kind": "vector"}),
        ((torch.tensor([0.1, 0.2]), torch.tensor([0.1, 0.3])), {"kind": "vector"}),
        ((np.ma.array([0.1, 0.2]), [0.1, 0.3]), {"kind": "quantile"}),  # nothing is masked
        (([0.5], []), {"kind": "quantile", **more}),
        (([[0.1, 0.2], [0.3]], [[0.1, 0.2], [0.4]]), {"kind": "federated"}),
        (([[0.1, 0.2], [0.3]], [[0.1], [0.3]]), {"kind": "federated", **more}),
        (([[0.1, 0.2], [0.3]], [[0.1, 0.2]]), {"kind": "federated", "unit": "client", **more}),
        (((P, [0, 1]), (P, [0, 0])), {"kind": "calibrator", **one}),
        (((P, [0, 1]), (P[:1], [0])), {"kind": "calibrator", "domain": 2, **more}),
        (((single, [0, 1]), (single, [1, 1])), {"kind": "calibrator"}),
        ((([], []), (P[:1], [0])), {"kind": "calibrator", **more}),
        (ROWS, {"kind": "predictor"}),
        (((X, Y, NEW), (X, [0, 1, 1], NEW)), {"kind": "predictor", **one}),
        (((X, Y, NEW), (X[:2], Y[:2], NEW)), {"kind": "model", **more}),
        (((X, Y, NEW), (X[::-1], [2, 1, 5.5], NEW)), {"kind": "regression"}),
        (((frames[0], Y, frames[2]), (frames[1], Y, frames[2])), {"kind": "regression"}),
    ]


def test_true_neighbours_of_every_kind_are_tried() -> None:
    for pair, settings in true_neighbours():
        for each in (pair, pair[::-1]):
            assert spec_of(each, **settings).pair is not None, (pair, settings)


@pytest.mark.parametrize(
    ("kind", "relation"),
    [
        *((kind, Relation.SUBSTITUTION) for kind in Kind),
        *((kind, Relation.ADD_REMOVE) for kind in Kind if kind.takes is not Takes.VALUE),
        *((kind, Relation.ONE_LABEL) for kind in (Kind.CALIBRATOR, Kind.PREDICTOR)),
    ],
)
def test_what_a_search_tries_may_be_given(kind: Kind, relation: Relation) -> None:
    """The witness of a finding is a pair to give."""
    settings: dict[str, Any] = {"kind": str(kind), "neighbours": str(relation)}
    settings |= FOUR if kind is Kind.RANDOMIZER else {}
    for each in pair_space(spec_of(None, **settings)).candidates():
        value, neighbour = map(input_as_data, each.inputs)
        found = spec_of({"value": value, "neighbour": neighbour}, **settings).pair
        assert found is not None
        assert input_as_data(found.value) == value


def test_clients_are_given_each_as_an_array() -> None:
    """Of several sizes and of one, from tuples and from what results files hold."""
    for last in ([0.3], [0.3, 0.4]):
        spec = spec_of(([[0, 1], last], [[0, 0], last]), kind="federated")
        again = CheckSpec.from_data(json.loads(json.dumps(spec.as_data())))
        for each in (spec, again):
            value, neighbour = pair_space(each).candidates()[0].inputs
            assert [part.tolist() for part in value] == [[0, 1], last]
            assert [part.dtype for part in neighbour] == [np.float64] * 2
            assert isinstance(value, tuple)


def test_a_pair_without_a_claim_is_of_neighbours_too() -> None:
    data = {"target": "m:f", "kind": "quantile", "pair": ([0.25], [1])}
    spec = CheckSpec.from_data(data, claimed=False)
    assert spec.pair is not None


def test_a_value_outside_the_domain_is_an_error_of_usage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the command line: exit code 2; within the domain the claim stands."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(RANDOMISED, encoding="utf-8")
    words = ["check", "mine.py:response", "--kind", "randomizer", "--domain", "4"]
    words += ["--local-dp", "2", "--draws", "3000", "--pair", "pair.json"]
    for neighbour, code in ((4, 2), (NAN, 2), (3, 0)):
        record = {"value": 0, "neighbour": neighbour}
        (tmp_path / "pair.json").write_text(json.dumps(record), encoding="utf-8")
        assert main(words) == code
        assert code == 0 or "error: pair" in capsys.readouterr().err
