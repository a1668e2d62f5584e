"""Every kind: what it returns, a correct and a broken twin, and wrong uses in one line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpcp_audit as dp
from dpcp_audit.targets import Kind, Target, TargetError
from dpcp_audit.words.results import Verdict

EPSILON = 1.0


def histogram(scores, *, rng, scale=2.0) -> np.ndarray:
    """Five counts: one replaced score changes two of them by one."""
    counts, _ = np.histogram(scores, bins=5, range=(0, 1))
    return counts + rng.laplace(scale=scale, size=5)


def bits(value, *, rng, keep=0.5) -> np.ndarray:
    """Optimised unary encoding over four values, its bits as they are."""
    chances = np.full(4, 1 / (np.exp(EPSILON) + 1))
    chances[value] = keep
    return rng.random(4) < chances


def noisy_value(value, *, rng, scale=1.0) -> float:
    return value + rng.laplace(scale=scale)


TWINS: list[tuple[Any, dict[str, Any], Any, dict[str, Any]]] = [
    (histogram, {"scale": 0.4}, dp.PureDP(EPSILON), {"kind": "vector", "n": 10}),
    (bits, {"keep": 0.8}, dp.LocalDP(EPSILON), {"kind": "local", "domain": 4}),
    (noisy_value, {"scale": 0.5}, dp.LocalDP(EPSILON), {"kind": "local"}),
]


def verdict(function, guarantee, **settings: Any) -> Verdict:
    result = dp.audit(function, guarantee, draws=3000, **settings)
    assert result[0].error == ""
    return result.verdict


@pytest.mark.known_bad
@pytest.mark.parametrize(("function", "broken", "guarantee", "settings"), TWINS)
def test_the_broken_twin_is_refuted_and_the_correct_one_not(
    function, broken, guarantee, settings
) -> None:
    assert verdict(function, guarantee, trace=False, **settings) is not Verdict.REFUTED
    for trace in (False, True):
        given = settings | {"options": broken, "trace": trace}
        assert verdict(function, guarantee, **given) is Verdict.REFUTED


def test_arrays_are_flattened_and_one_number_stays_one() -> None:
    rng = np.random.default_rng(0)
    square = Target.from_callable(lambda scores: np.eye(2), kind=Kind.VECTOR)
    assert square(np.zeros(3), 2, rng=rng).tolist() == [[1, 0, 0, 1]] * 2
    alone = Target.from_callable(lambda scores: [0.5], kind=Kind.VECTOR)
    assert alone(np.zeros(3), 2, rng=rng).tolist() == [0.5, 0.5]
    many = Target.from_callable(
        lambda scores, size: np.zeros((size, 2, 3)), kind=Kind.VECTOR, vectorised=True
    )
    assert many(np.zeros(3), 4, rng=rng).shape == (4, 6)


def test_a_vectorised_local_randomizer_takes_an_array_of_values() -> None:
    rng = np.random.default_rng(0)
    target = Target.from_callable(lambda values: 2 * values, kind=Kind.LOCAL, vectorised=True)
    assert target(0.25, 3, rng=rng).tolist() == [0.5] * 3


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ([[1.0, 2.0], [1.0]], "returned 1 numbers in one call and 2 in another"),
        ([[]], "returned a list of 0, not an array of numbers"),
        ([[0.0, np.nan]], "returned NaN"),
        ([None], "returned None, not a number: does it end in a return?"),
    ],
)
def test_what_is_no_array_of_one_length_is_refused(answers, words) -> None:
    rng = np.random.default_rng(0)
    given = iter(answers)
    target = Target.from_callable(lambda scores: next(given), kind=Kind.VECTOR)
    with pytest.raises(TargetError) as caught:
        target(np.zeros(3), len(answers), rng=rng)
    assert words in str(caught.value)


def test_wrong_uses_are_told_in_one_line() -> None:
    with pytest.raises(
        ValueError, match="Coverage applies to .*, not to a vector\nhint: return the one threshold"
    ):
        dp.audit(histogram, dp.Coverage(0.9), kind="vector")
    with pytest.raises(
        ValueError, match="LocalDP applies to a randomizer or local, not to a vector"
    ):
        dp.audit(histogram, dp.LocalDP(1.0), kind="vector")
    with pytest.raises(ValueError, match="domain applies to a randomizer or local"):
        dp.audit(histogram, dp.PureDP(1.0), kind="vector", domain=3)
