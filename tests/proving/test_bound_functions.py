"""Methods, objects that are called and partials are proved as the functions that they are."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import dpcp_audit as dp
from dpcp_audit.proving.prover import undetermined


class Counter:
    def __init__(self, scale: float) -> None:
        self.scale, self.calls, self.last = scale, 0, 0.0

    def release(self, scores, *, rng) -> Any:
        return np.sum(scores > 0.5) + rng.laplace(0, self.scale)

    def __call__(self, scores, *, rng) -> Any:
        return self.release(scores, rng=rng)

    def counts_calls(self, scores, *, rng) -> Any:
        self.calls = self.calls + 1
        return self.release(scores, rng=rng)

    def keeps_the_data(self, scores, *, rng) -> Any:
        self.last = scores.sum()
        return self.release(scores, rng=rng)

    def keeps_in_a_branch(self, scores, *, rng) -> Any:
        found = self.release(scores, rng=rng)
        if found > 3:
            self.calls = self.calls + 1
        return found

    def threshold(self, scores) -> Any:
        return np.sort(scores)[89]

    def report(self, x, *, rng) -> Any:
        return x if rng.random() < 0.5 else int(rng.integers(8))


class Hooked(Counter):
    def __getattribute__(self, name: str) -> Any:
        return 0.1 if name == "scale" else object.__getattribute__(self, name)


def release(scores, scale, *, rng) -> Any:
    return np.sum(scores > 0.5) + rng.laplace(0, scale)


def _forms(scale: float) -> list[Any]:
    counter = Counter(scale)
    partial = functools.partial(release, scale=scale)
    return [counter.release, counter, partial, functools.partial(counter.release)]


@pytest.mark.parametrize("form", range(4))
def test_a_bound_function_is_proved_and_its_twin_of_less_noise_is_not(form: int) -> None:
    assert dp.prove(_forms(1.0)[form], dp.PureDP(1.0)).proved
    assert dp.prove(_forms(0.9)[form], dp.PureDP(1.0)).total == pytest.approx(1 / 0.9)


@pytest.mark.parametrize("name", ["counts_calls", "keeps_the_data", "keeps_in_a_branch"])
def test_an_object_that_changes_in_a_call_proves_nothing(name: str) -> None:
    proof = dp.prove(getattr(Counter(1.0), name), dp.PureDP(1.0))
    assert proof.reason == "the target keeps a state between its calls"


def test_what_changes_how_attributes_are_found_proves_nothing() -> None:
    assert dp.prove(Hooked(1.0).release, dp.PureDP(1.0)).reason == (
        "the class Hooked is not followed"
    )
    assert not dp.prove(functools.partial(release, np.ones(3)), dp.PureDP(1.0)).proved


def test_methods_make_thresholds_and_reports() -> None:
    assert dp.prove(Counter(1.0).threshold, dp.Coverage(0.9), n=99).proved
    assert not dp.prove(Counter(1.0).threshold, dp.Coverage(0.9), n=100).proved
    assert dp.prove(Counter(1.0).report, dp.LocalDP(2.2), domain=8).proved
    assert not dp.prove(Counter(1.0).report, dp.LocalDP(2.1), domain=8).proved


class Leaking(functools.partial):  # type: ignore[type-arg]
    def __call__(self, *args: Any, **named: Any) -> Any:
        return args[0]


def test_a_partial_of_a_class_of_its_own_is_not_read_as_its_function() -> None:
    """Its call may be its own, so what it holds says nothing of it."""
    report = Counter(1.0).report
    refused = "the class Leaking is not followed"
    assert dp.prove(Leaking(release, scale=1.0), dp.PureDP(1.0)).reason == refused
    assert undetermined(functools.partial(report), [0], {}, ("rng",)) is None
    found = undetermined(Leaking(report), [0], {}, ("rng",))
    assert found is not None
    assert found.reason == refused
