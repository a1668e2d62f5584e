"""The catalogue has every theorem object, and takes its parameters from the dataclasses."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
import pkgutil
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.messages import require_line_and_hint

from dpcp_audit import theorems
from dpcp_audit.laws.pools import SHIPPED
from dpcp_audit.laws.populations import Beta, Uniform
from dpcp_audit.theorems.catalogue import (
    CATALOGUE,
    NamedTheorem,
    law_named,
    law_of_probabilities,
    law_of_scores,
    named_theorem,
)
from dpcp_audit.theorems.statement import Statement
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.options import options_of

if TYPE_CHECKING:
    from pathlib import Path


LAWS = {"population", "pool"}
"""The fields that hold a law; a worst case of a search, which has none of these, takes no law."""
LAW = law_of_probabilities([[0.75, 0.25], [0.5, 0.5]], [0, 1])


def theorem_objects() -> set[type]:
    """Return every dataclass of the package that states a theorem on a law of scores."""
    names = [f"{theorems.__name__}.{each.name}" for each in pkgutil.iter_modules(theorems.__path__)]
    members = [member for name in names for member in vars(import_module(name)).values()]
    stated = {
        member
        for member in members
        if inspect.isclass(member) and isinstance(getattr(member, "about", None), Statement)
    }
    return {each for each in stated if LAWS & {held.name for held in dataclasses.fields(each)}}


def test_every_theorem_object_has_a_name() -> None:
    assert {named.kind for named in CATALOGUE} == theorem_objects()
    assert len({named.name for named in CATALOGUE}) == len(CATALOGUE)


@pytest.mark.parametrize("named", CATALOGUE, ids=lambda named: named.name)
def test_parameters_and_defaults_are_those_of_the_dataclasses(named: NamedTheorem) -> None:
    kinds = [named.kind, *(named.part[1:])]
    fields = {each.name: each for kind in kinds for each in dataclasses.fields(kind)}
    assert named.parameters
    for each in named.parameters:
        default = fields[each.name].default
        assert each.required is (default is dataclasses.MISSING)
        assert each.required or each.default == default
        assert each.name not in named.fixed
    theorem: Any = named.on(LAW, named.example)
    assert all(getattr(theorem, name) == value for name, value in named.fixed.items())


@pytest.mark.parametrize("named", CATALOGUE, ids=lambda named: named.name)
def test_a_parameter_reaches_the_theorem(named: NamedTheorem) -> None:
    taken = {each.name for each in named.parameters}
    given = {"n": 777, "alpha": 0.25, "delta": 0.125, "resolution": 0.5}
    given = {name: value for name, value in given.items() if name in taken}
    theorem: Any = named.on(LAW, named.example | given)
    held = getattr(theorem, named.part[0]) if named.part else theorem
    for name, value in given.items():
        assert value in {getattr(theorem, name, None), getattr(held, name, None)}


def test_variants_of_one_theorem_say_different_things() -> None:
    says = {named.statement.words for named in CATALOGUE}
    assert len(says) == len(CATALOGUE)


def test_no_two_theorems_read_one_parameter_differently() -> None:
    read: dict[str, Any] = {}
    for named in CATALOGUE:
        for each in named.parameters:
            told = (each.value, each.help, each.metavar)
            assert read.setdefault(each.name, told) == told, each.name


def test_every_mechanism_states_its_parameters() -> None:
    for named in CATALOGUE:
        for kind in named.part[1:]:
            fields = {each.name for each in dataclasses.fields(kind)}
            assert fields == {each.name for each in options_of(kind)}


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"got 'ldpcp4'\nhint: did you mean 'ldpcp-4'\?"):
        named_theorem("ldpcp4")
    with pytest.raises(UsageError, match="theorem's name must be one of ldpcp-1, "):
        named_theorem(None)


def test_scores_without_labels_are_refused_where_labels_are_needed() -> None:
    uniform = law_named("uniform", name="scores")
    for name in ("ldpcp-1", "ldpcp-3"):
        named = named_theorem(name)
        with pytest.raises(UsageError, match="scores must come from a pool"):
            named.on(uniform, named.example)


PROBABILITIES = np.array([[0.75, 0.25], [0.5, 0.5], [0.125, 0.875]])
LABELS = np.array([0, 1, 0])
GRID = np.linspace(-0.5, 1.5, 41)


def test_laws_without_data_are_named_as_they_are_written() -> None:
    assert law_named("uniform", name="scores").population == Uniform()
    assert law_named("beta(5, 0.2)", name="scores").population == Beta(5, 0.2)
    assert law_named("beta(5,0.2)", name="scores").name == "beta(5,0.2)"


def test_a_shipped_pool_is_built_when_it_is_used() -> None:
    for name in SHIPPED:
        law = law_named(name, name="pool")
        assert law.name == law.population.name == name
        assert pickle.loads(pickle.dumps(law.population)).name == name  # noqa: S301


def test_a_file_and_its_arrays_are_one_law(tmp_path: Path) -> None:
    path = tmp_path / "my scores.npz"
    np.savez(path, probabilities=PROBABILITIES, labels=LABELS)
    saved = law_named(str(path), name="pool")
    arrays = law_of_probabilities(PROBABILITIES, LABELS)
    scores = law_of_scores([0.25, 0.5, 0.875])
    assert saved.name == "my_scores"
    assert saved.pool is not None
    for law in (saved, arrays, scores):
        assert law.population.cdf(GRID).tolist() == scores.population.cdf(GRID).tolist()
        assert not any(map(str.isspace, law.name))
    assert saved.pool().labels.tolist() == LABELS.tolist()
    assert scores.pool is None


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "unifrom", "beta", "beta(1)", "beta(1,2", "beta(0,1)", "beta(x,1)"),
        *("beta(nan,1)", "beta(1e308,1e308)", "no/such.npz", "a\0b", "x" * 5000, 3, None),
    ],
)
def test_what_is_no_law_is_refused_in_a_line_that_names_the_argument(text: object) -> None:
    with pytest.raises(UsageError, match=r"^scores\b") as refused:
        law_named(text, name="scores")
    require_line_and_hint(str(refused.value))
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize(
    ("probabilities", "labels", "named"),
    [
        ([[0.5, 0.6]], [0], "probabilities"),
        ([[0.5, 0.5]], [2], "labels"),
        ([[0.5, 0.5]], [0, 1], "labels"),
    ],
)
def test_arrays_that_are_no_pool_are_refused(probabilities, labels, named: str) -> None:
    with pytest.raises(ValueError, match=f"^{named} must"):
        law_of_probabilities(probabilities, labels)
    with pytest.raises(ValueError, match="^scores must"):
        law_of_scores([np.nan])
    with pytest.raises(ValueError, match="^scores must"):
        law_of_scores(np.array([True, False]))
