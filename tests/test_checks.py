from __future__ import annotations

import dataclasses
import hashlib

import numpy as np
import pytest

from dpcp_audit.words.checks import Check, Context
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import Evidence, Outcome, Verdict

CONTEXT = Context(seed=5, name="a.b", significance=1e-3)


class Trivial:
    sampled = False

    def __call__(self, context: Context) -> Outcome:
        return Outcome(verdict=Verdict.PROVED, evidence=Evidence.exact(Quantity.VALUE, 0.0))


def test_a_check_is_anything_of_that_shape() -> None:
    assert isinstance(Trivial(), Check)
    assert not isinstance(object(), Check)


def test_streams_are_keyed_by_seed_name_and_chunk() -> None:
    again = dataclasses.replace(CONTEXT, significance=0.1, effort=3.0)
    others = [
        CONTEXT.rng(1),
        dataclasses.replace(CONTEXT, seed=6).rng(),
        dataclasses.replace(CONTEXT, name="a.c").rng(),
    ]
    first = CONTEXT.rng().integers(2**60)
    assert first == again.rng().integers(2**60)
    assert first not in [rng.integers(2**60) for rng in others]


def test_streams_are_the_same_in_every_process() -> None:
    """The built-in ``hash`` of a string would differ between processes."""
    key = int(hashlib.sha256(b"a.b").hexdigest()[:16], 16)
    sequence = np.random.SeedSequence(5, spawn_key=(key, 2))
    assert CONTEXT.rng(2).random() == np.random.default_rng(sequence).random()


def test_samples_scale_with_effort() -> None:
    assert CONTEXT.samples(1000) == 1000
    assert dataclasses.replace(CONTEXT, effort=2.5).samples(1000) == 2500
    assert dataclasses.replace(CONTEXT, effort=0.001).samples(1000) == 100


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"seed": -1}, "seed"),
        ({"seed": 1.5}, "seed"),
        ({"significance": 0.0}, "significance"),
        ({"significance": 1.0}, "significance"),
        ({"effort": 0.0}, "effort"),
    ],
)
def test_bad_input_names_the_argument(change, name) -> None:
    with pytest.raises(ValueError, match=f"^{name} must "):
        dataclasses.replace(CONTEXT, **change)
