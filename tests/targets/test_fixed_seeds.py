"""Code that seeds itself is found, with the line that does it."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from support.made_targets import drawn, quantile, randomizer, refusal

from dpcp_audit.targets import (
    TargetUnusableError,
)

SEED = 42


def fixed(scores, *, rng) -> float:
    return np.random.default_rng(42).laplace()


def fixed_by_name(scores) -> float:
    np.random.seed(SEED)  # noqa: NPY002
    return np.random.random()  # noqa: NPY002


def fixed_in_a_helper(scores, *, rng) -> float:
    return fixed(scores, rng=rng) + 1


def fixed_by_keyword(scores, *, rng) -> float:
    return np.random.RandomState(seed=3).laplace()


@pytest.mark.parametrize(
    ("function", "call", "offset"),
    [
        (fixed, "np.random.default_rng(42)", 1),
        (fixed_by_name, "np.random.seed(SEED)", 1),
        (fixed_in_a_helper, "np.random.default_rng(42)", None),
        (fixed_by_keyword, "np.random.RandomState(seed=3)", 1),
        (functools.partial(fixed), "np.random.default_rng(42)", None),
    ],
)
def test_a_fixed_seed_is_shown(function, call, offset) -> None:
    line = (fixed if offset is None else function).__code__.co_firstlineno + 1
    message = refusal(quantile(function), size=20)
    assert "in all of 20 draws on one input, and seeds itself by" in message
    assert f"{call} in line {line}: draw from the rng or seed that it is handed" in message


def test_a_randomizer_with_a_fixed_seed_is_shown() -> None:
    def fixed_report(value, *, rng) -> int:
        return np.random.default_rng(0).integers(5)

    target = randomizer(fixed_report)
    assert "seeds itself by" in refusal(target, 3, size=20)
    with pytest.raises(TargetUnusableError, match="seeds itself by"):
        target.reports(np.array([1, 2] * 20), rng=np.random.default_rng(0))


def test_a_constant_without_a_fixed_seed_is_left_to_the_audit() -> None:
    assert len(drawn(quantile(np.max), size=100)) == 100
    assert len(drawn(quantile(lambda scores, *, rng: scores.max()), size=100)) == 100


def test_a_seed_that_is_handed_over_is_none_of_its_own() -> None:
    target = quantile(lambda scores, *, seed: 0 * np.random.default_rng(seed).random())
    assert drawn(target, size=20) == [0.0] * 20


class Attribute:
    seed = 3

    def __call__(self, scores) -> float:
        return scores.max() + np.random.default_rng(self.seed).laplace()


def by_a_default(scores, *, start=5) -> float:
    return scores.max() + np.random.RandomState(start).laplace()


def by_the_size(scores, *, rng) -> float:
    return scores.max() + np.random.default_rng(len(scores)).laplace()


@pytest.mark.parametrize("function", [Attribute(), by_a_default, by_the_size])
def test_a_seed_that_no_source_shows_is_seen_as_the_code_runs(function) -> None:
    message = refusal(quantile(function), size=20)
    assert "in all of 20 draws on one input, and seeds itself by np.random." in message
    assert "draw from the rng or seed that it is handed" in message


def test_a_seed_that_is_handed_over_is_no_fixed_one() -> None:
    def certain(scores, *, seed) -> float:
        np.random.default_rng(seed).laplace()
        return 1.0

    def plain(scores) -> float:
        return float(scores.max())

    assert drawn(quantile(certain), size=20) == [1.0] * 20
    assert len(set(drawn(quantile(plain), size=20))) == 1
    assert np.random.default_rng.__name__ == "default_rng"


def test_a_seed_that_the_data_make_is_a_leak_and_left_to_the_audit() -> None:
    def hashed(scores, *, rng) -> float:
        return np.random.default_rng(int(1e6 * np.sum(scores))).laplace()

    def refuses(scores, *, rng) -> float:
        if scores.max() < 0.4:
            raise ValueError("too small")
        return np.random.default_rng(7 + len(scores) * 0).laplace()

    assert len(set(drawn(quantile(hashed), size=20))) == 1
    assert "seeds itself by np.random.default_rng(7)" in refusal(quantile(refuses), size=20)
