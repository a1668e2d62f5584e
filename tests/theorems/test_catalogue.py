"""The catalogue has every theorem object, and takes its parameters from the dataclasses."""

from __future__ import annotations

import dataclasses
import inspect
import pkgutil
from importlib import import_module
from typing import Any

import pytest

from dpcp_audit import theorems
from dpcp_audit.theorems.catalogue import (
    CATALOGUE,
    NamedTheorem,
    law_named,
    law_of_probabilities,
    named_theorem,
)
from dpcp_audit.theorems.statement import Statement
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.options import options_of

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
