"""Code that acts otherwise under a trace, or gives its seed away, is not judged by its trace."""

from __future__ import annotations

import random
import secrets
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.followed_paths import trace_pair

import dpcp_audit as dp

if TYPE_CHECKING:
    from numpy.random import Generator

pytestmark = pytest.mark.known_bad

PAIR = [0.0, 1.0], [0.0, 0.0]


def _traced(function: Any) -> Any:
    return trace_pair(function, *PAIR, draws=20, rng=0)


def asks_for_floats(x: list[float], *, rng: Generator) -> float:
    noise = rng.laplace()
    return sum(x) if isinstance(noise, float) else sum(x) + noise


def asks_for_the_class(x: list[float], *, rng: Generator) -> float:
    return sum(x) if type(rng) is np.random.Generator else sum(x) + rng.laplace()


def raises_without(x: list[float], *, rng: Generator) -> float:
    if type(rng) is np.random.Generator:
        raise ValueError("no")
    return sum(x) + rng.laplace()


def seeds_twice(x: list[float], *, rng: Generator) -> list[float]:
    seed = int(rng.integers(2**32))
    first, second = np.random.default_rng(seed), np.random.default_rng(seed)
    return [sum(x) + first.laplace(), 2 * sum(x) + second.laplace()]


def seeds_two_states(x: list[float], *, rng: Generator) -> list[float]:
    seed = int(rng.integers(2**32))
    first, second = np.random.RandomState(seed), np.random.RandomState(seed)
    return [sum(x) + first.laplace(), 2 * sum(x) + second.laplace()]


def sets_pythons_state(x: list[float]) -> list[float]:
    state = random.getstate()
    first = sum(x) + random.gauss(0, 1)
    random.setstate(state)
    return [first, 2 * sum(x) + random.gauss(0, 1)]


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (asks_for_floats, "without a trace the target returns"),
        (asks_for_the_class, "without a trace the target returns"),
        (raises_without, "without a trace: ValueError: no"),
        (seeds_twice, "two generators are made of one drawn seed"),
        (seeds_two_states, "two generators are made of one drawn seed"),
        (sets_pythons_state, "the state of a generator is set"),
    ],
)
def test_what_an_untraced_call_would_not_do_is_not_judged(broken: Any, says: str) -> None:
    found = _traced(broken)
    assert not found.followed
    assert says in found.unfollowed[0].says


def seeds_once(x: list[float], *, rng: Generator) -> float:
    return sum(x) + np.random.default_rng(int(rng.integers(2**32))).laplace()


def returns_its_seed(x: list[float], *, rng: Generator) -> list[float]:
    seed = int(rng.integers(2**32))
    return [seed, sum(x) + np.random.default_rng(seed).laplace()]


def returns_a_number(x: list[float], *, rng: Generator) -> list[float]:
    """The number seeds nothing, and gives nothing away."""
    return [int(rng.integers(2**32)), sum(x) + rng.laplace()]


@pytest.mark.parametrize("right", [seeds_once, returns_a_number])
def test_their_twins_are_followed_to_the_exact_loss(right: Any) -> None:
    found = _traced(right)
    assert found.followed
    assert found.forward.epsilon(0.0) == pytest.approx(1.0)


def returns_its_seed_as_a_float(x: list[float], *, rng: Generator) -> list[float]:
    seed = int(rng.integers(2**32))
    return [float(seed), sum(x) + np.random.default_rng(seed).laplace()]


def returns_its_seed_in_an_array(x: list[float], *, rng: Generator) -> Any:
    seed = rng.integers(2**32)
    return np.array([seed, sum(x) + np.random.default_rng(seed).laplace()])


@pytest.mark.parametrize(
    "leaking", [returns_its_seed, returns_its_seed_as_a_float, returns_its_seed_in_an_array]
)
def test_noise_whose_seed_is_returned_hides_nothing(leaking: Any) -> None:
    found = _traced(leaking)
    assert found.followed
    assert found.released
    assert np.isinf(found.forward.losses).all()
    assert found.leaks[0].location.line == leaking.__code__.co_firstlineno + 1


def seed_and_noise(scores: Any, *, rng: Generator, bound: int = 0, shown: bool = True) -> Any:
    seed = int(rng.integers(bound))
    noise = np.random.default_rng(seed).laplace(scale=1 / len(scores))
    return [float(np.mean(scores) + noise), float(seed) if shown else 0.0]


@pytest.mark.known_bad
@pytest.mark.parametrize("bound", [2**31 - 1, 2**32, 2**63])
def test_an_audit_refutes_a_returned_seed_and_not_its_twin(bound: int) -> None:
    def verdict(*, shown: bool) -> dp.Verdict:
        options = {"bound": bound, "shown": shown}
        target, claim = seed_and_noise, dp.PureDP(1.0)
        found = dp.audit(target, claim, kind="vector", n=8, draws=1000, options=options)
        return found[0].verdict

    assert verdict(shown=True) is dp.Verdict.REFUTED
    assert verdict(shown=False) is not dp.Verdict.REFUTED


def seeds_with_many_bits(x: list[float]) -> float:
    return sum(x) + np.random.default_rng(secrets.randbits(128)).laplace()


def returns_its_bits(x: list[float]) -> list[float]:
    seed = secrets.randbits(128)
    return [seed, sum(x) + np.random.default_rng(seed).laplace()]


def test_a_seed_of_128_bits_is_followed_and_may_not_be_returned() -> None:
    found = _traced(seeds_with_many_bits)
    assert found.followed
    assert found.forward.epsilon(0.0) == pytest.approx(1)
    assert _traced(returns_its_bits).leaks


def test_pythons_sample_with_counts_is_followed() -> None:
    def sampled(x: list[float]) -> float:
        return random.sample([0.0, 1.0], 1, counts=[3, 1])[0] if sum(x) else 0.0

    assert _traced(sampled).exact.max_divergence() == np.inf


def test_an_output_of_millions_of_entries_is_not_followed() -> None:
    def huge(x, *, rng) -> np.ndarray:
        return np.full(2 * 10**6, x + rng.laplace())

    found = trace_pair(huge, 0.0, 1.0, draws=2, rng=0)
    assert "the output has 2,000,000 entries" in found.unfollowed[0].says
