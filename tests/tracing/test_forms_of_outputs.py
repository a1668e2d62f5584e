"""Outputs that leak by their form alone, beside noise: types, texts, and what holds the numbers."""

from __future__ import annotations

import random
from collections import OrderedDict, namedtuple
from dataclasses import make_dataclass
from itertools import count
from typing import Any

import numpy as np
import pytest

from dpcp_audit.audits.traced_privacy import TracedPrivacy
from dpcp_audit.tracing.target_calls import TracedTarget
from dpcp_audit.words.checks import Context
from dpcp_audit.words.evidence import Representation
from dpcp_audit.words.guarantees import Neighbours, PureDP, Relation
from dpcp_audit.words.results import Verdict

ZERO, ONE = [0, 1, 0], [1, 1, 0]
CLAIM = PureDP(1.0)
GIVEN = make_dataclass("Given", ["total", "count"])
TURNED = make_dataclass("Given", ["count", "total"])
NAMED = namedtuple("NAMED", ["total", "count"])  # noqa: PYI024  (its fields have no types)


class Tag(str):
    """A text of a type of its own."""

    __slots__ = ()


def fields(*names: str) -> Any:
    return [(name, float) for name in names]


FORMS: dict[str, Any] = {
    "True for 1": lambda v, s: [v, True if s else 1],
    "int32 for int": lambda v, s: [v, np.int32(1) if s else 1],
    "float32 for float": lambda v, s: [v, np.float32(1) if s else 1.0],
    "int for float": lambda v, s: [v, 1 if s else 1.0],
    "complex for float": lambda v, s: [v, 1 + 0j if s else 1.0],
    "a negative zero": lambda v, s: [v, -0.0 if s else 0.0],
    "deeply nested": lambda v, s: {"a": v, "b": [0, (1, [True if s else 1])]},
    "a tuple": lambda v, s: (v, 0) if s else [v, 0],
    "a tuple inside": lambda v, s: [v, (0,) if s else [0]],
    "a named tuple": lambda v, s: NAMED(v, 1) if s else (v, 1),
    "an ordered dictionary": lambda v, s: OrderedDict(a=v) if s else {"a": v},
    "the order of keys": lambda v, s: {"a": v, "b": 1} if s else {"b": 1, "a": v},
    "names of keys": lambda v, s: {"a": v} if s else {"b": v},
    "the type of a key": lambda v, s: {1: v} if s else {True: v},
    "fields of a dataclass": lambda v, s: GIVEN(v, 1) if s else TURNED(v, 1),
    "a type in a dataclass": lambda v, s: GIVEN(v, True if s else 1),
    "a text": lambda v, s: [v, "a" if s else "b"],
    "a text of another type": lambda v, s: [v, Tag("a") if s else "a"],
    "a set": lambda v, s: [v, {1} if s else frozenset({1})],
    "int32 for int64": lambda v, s: (v, np.array([1, 2], np.int32 if s else np.int64)),
    "float32 of the noise": lambda v, s: np.array([v]).astype(np.float32).astype([float, "f4"][s]),
    "a whole number's dtype": lambda v, s: np.rint([v]).astype(np.int32 if s else np.int64),
    "an array of objects": lambda v, s: np.array([v, True if s else 1], dtype=object),
    "one array more": lambda v, s: np.array([[v]]) if s else np.array([v]),
    "field names": lambda v, s: np.array([(v, 1.0)], fields("a", "b") if s else fields("b", "a")),
    "after a comparison": lambda v, s: [v > 1.5, v, True if s else 1],
}


def noisy(form, *, leaks: bool) -> Any:
    def target(x, *, rng) -> Any:
        v = float(sum(x)) + rng.laplace(scale=1.0)
        return form(v, leaks and x[0] > 0)

    return target


def outcome(target, guarantee=CLAIM, *, draws=20, **options: Any) -> Any:
    audit = TracedPrivacy(
        target=TracedTarget.of(target, {}),
        guarantee=guarantee,
        neighbours=Neighbours(relation=Relation.SUBSTITUTION, value=ZERO, neighbour=ONE),
        draws=draws,
        **options,
    )
    return audit(Context(seed=0, name="forms", significance=1e-6))


@pytest.mark.known_bad
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_form_that_tells_the_inputs_apart_beside_noise_is_refuted(form) -> None:
    assert outcome(noisy(form, leaks=True)).verdict is Verdict.REFUTED


@pytest.mark.known_bad
def test_all_these_forms_at_once_are_not_refuted_where_they_are_the_same_on_both_inputs() -> None:
    def each(v, s) -> Any:
        return [form(v, s) for form in FORMS.values()]

    assert outcome(noisy(each, leaks=False)).verdict is not Verdict.REFUTED


@pytest.mark.known_bad
@pytest.mark.parametrize("kind", [np.int64, np.float64, np.bool_, np.str_])
def test_numpys_own_types_tell_inputs_apart_where_the_way_of_writing_counts(kind) -> None:
    plain = kind(1).item()
    target = noisy(lambda v, s: [v, kind(plain) if s else plain], leaks=True)
    assert outcome(target).verdict is not Verdict.REFUTED
    strict = outcome(target, representation=Representation.STRICT)
    assert strict.verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("True for 1", "holds True of type bool in place of 1 of type int"),
        ("int32 for int", "holds 1 of type numpy.int32 in place of 1 of type int"),
        ("a negative zero", "holds -0 with a minus sign in place of 0 with a plus sign"),
        ("a tuple", "holds a tuple in place of a list"),
        ("fields of a dataclass", "with fields total, count in place of a Given, with fields c"),
        ("a text of another type", "test_forms_of_outputs.Tag in place of 'a'"),
        ("int32 for int64", "holds 1 of dtype int32 in place of 1 of dtype int64"),
    ],
)
def test_the_witness_names_the_type(form, said) -> None:
    found = outcome(noisy(FORMS[form], leaks=True))
    assert said in found.note
    odds = found.evidence.odds
    assert (max(odds.value, odds.neighbour), min(odds.value, odds.neighbour)) == (1.0, 0.0)
    assert odds.output["form"]


@pytest.mark.known_bad
def test_a_form_is_judged_where_the_noise_cannot_be_followed() -> None:
    def target(x, *, rng) -> Any:
        return [float(sum(x)) + rng.bit_generator.random_raw() / 2.0**63, True if x[0] else 1]

    found = outcome(target)
    assert found.traced.unfollowed
    assert found.verdict is Verdict.REFUTED


@pytest.mark.known_bad
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_texts_that_keep_a_claim_with_equality_are_not_refuted(epsilon) -> None:
    """Of a law that is not known, so that calls alone judge it."""

    def target(x, *, rng) -> Any:
        rng.bit_generator.random_raw()
        says_so = rng.random() < 1 / (1 + np.exp(-epsilon))
        return "yes" if says_so == bool(x[0]) else "no"

    found = outcome(target, PureDP(epsilon), draws=200)
    assert found.traced.unfollowed
    assert found.verdict is not Verdict.REFUTED


@pytest.mark.known_bad
def test_a_form_that_changes_from_call_to_call_alone_is_not_refuted() -> None:
    calls = count()

    def target(x, *, rng) -> Any:
        noisy = float(sum(x)) + rng.laplace(scale=1.0)
        return [noisy, "odd" if next(calls) % 2 else "even"]

    assert outcome(target).verdict is not Verdict.REFUTED


def test_untraced_calls_with_other_seeds_are_independent_whatever_they_draw_from() -> None:
    def target(x) -> Any:
        return np.random.random() + random.random() + x[0]  # noqa: NPY002, S311

    opened = TracedTarget.of(target, {})
    state = random.getstate()
    drawn = [opened.plainly(ZERO, seed) for seed in (1, 2, 3, 1)]
    assert len(set(drawn)) == 3
    assert drawn[0] == drawn[3]
    assert random.getstate() == state
