"""Serial dependence: the law by enumeration, and what is seen of draws that are reused."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from level_limits import LevelTest
from scipy.stats import hypergeom

from dpcp_audit.stats import samples as module
from dpcp_audit.stats.samples import _SerialMark, serial_dependence


@pytest.mark.parametrize(("size", "ones"), [(7, 3), (7, 6), (11, 5)])
def test_the_law_of_marks_in_a_row_is_hypergeometric_at_every_lag(size, ones) -> None:
    """By enumeration of all arrangements around the circle."""
    arrangements = list(combinations(range(size), ones))
    for lag in range(1, (size - 1) // 2 + 1):
        counts: Counter[int] = Counter()
        for places in arrangements:
            marked = np.isin(np.arange(size), places)
            counts[int(module._followed(marked)[lag - 1])] += 1
        for observed, count in counts.items():
            expected = hypergeom(size - 1, size - ones, ones).pmf(ones - observed)
            assert count / len(arrangements) == pytest.approx(float(expected))


def test_the_tails_are_those_of_the_enumeration() -> None:
    size, ones = 11, 5
    followed = [
        int(module._followed(np.isin(np.arange(size), places))[0])
        for places in combinations(range(size), ones)
    ]
    for observed in range(ones):
        many, few = (
            np.mean(np.array(followed) >= observed),
            np.mean(np.array(followed) <= observed),
        )
        assert module._tail(observed, ones, size, many=True) == pytest.approx(float(many))
        assert module._tail(observed, ones, size, many=False) == pytest.approx(float(few))


def draws(size: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=size)


def now_and_then(size: int) -> np.ndarray:
    """One output in fifteen or so is the one before it."""
    fresh = draws(size)
    return np.where(np.random.default_rng(2).random(size) < 1 / 15, np.roll(fresh, 1), fresh)


@pytest.mark.parametrize(
    ("outputs", "lag", "mark"),
    [
        (np.repeat(draws(150), 2), 1, _SerialMark.LARGE),
        (np.repeat(draws(15), 20), 1, _SerialMark.LARGE),
        (np.repeat(draws(150)[:, None] * [1.0, 2.0], 2, axis=0), 1, _SerialMark.LARGE),
        (np.repeat(np.random.default_rng(1).integers(2, size=150), 2), 1, _SerialMark.LARGE),
        (np.resize(draws(40), 300), 40, _SerialMark.LARGE),
        (np.tile([0.0, 1.0], 150), None, _SerialMark.LARGE),
        (now_and_then(600), 1, _SerialMark.REPEATED),
    ],
    ids=["twice", "twenty", "vectors", "coins", "a short table", "alternating", "now and then"],
)  # fmt: skip
def test_reused_draws_are_seen_at_their_lag(outputs, lag, mark) -> None:
    found = serial_dependence(outputs)
    assert found is not None
    assert found.p_value < 1e-8
    assert found.mark is mark
    assert lag in {None, found.lag}
    assert str(found).startswith(f"at lag {found.lag}, {mark} follow each other {found.observed} ")


@pytest.mark.parametrize(
    "outputs", [np.ones(300), np.full(300, np.inf), np.zeros((300, 2)), np.arange(6.0)]
)
def test_outputs_that_are_all_alike_or_few_say_nothing(outputs) -> None:
    assert serial_dependence(outputs) is None


def test_what_is_not_a_batch_of_outputs_is_refused() -> None:
    for outputs in (np.zeros((2, 2, 2)), 1.0, [0.0, np.nan, 1.0]):
        with pytest.raises(ValueError, match="outputs must be numbers of shape"):
            serial_dependence(outputs)


LAWS = {
    "normal": lambda rng: rng.normal(size=200),
    "coin": lambda rng: rng.integers(2, size=200),
    "rare": lambda rng: rng.random(200) < 0.02,
    "many ties": lambda rng: np.round(rng.normal(size=200), 1),
    "two at infinity": lambda rng: rng.choice([0.5, np.inf, -np.inf], size=200),
    "vectors": lambda rng: rng.normal(size=(200, 3)),
}


@pytest.mark.statistical(false_alarm=1e-6)
@pytest.mark.parametrize("name", LAWS)
def test_independent_outputs_are_suspected_as_seldom_as_said(name) -> None:
    """False alarm at most 1e-6 a law: 500 batches, each suspected with probability <= 0.05.

    At three times that it passes with probability below 0.002.
    """
    test = LevelTest(level=0.05, repetitions=500, false_alarm=1e-6)
    assert test.passes(3 * test.level) < 2e-3
    rng = np.random.default_rng(0)
    found = (serial_dependence(LAWS[name](rng)) for _ in range(test.repetitions))
    assert sum(one is not None and one.p_value <= test.level for one in found) <= test.most


def test_the_significance_is_shared_by_the_lags_and_the_marks() -> None:
    """Half for the lag 1, the other half for all others, of two marks and two sides."""
    marked = np.arange(101) // 7 % 2 == 0
    first, _, other, _ = module._signs(_SerialMark.LARGE, marked)
    shares = [
        4 * module._tail(each.observed, int(marked.sum()), 101, many=True) / each.p_value
        for each in (first, other)
    ]
    assert max(first.p_value, other.p_value) < 1
    assert shares == pytest.approx([0.5, 0.5 / 49])


def test_the_largest_prime_up_to_a_number() -> None:
    assert [module._prime(most) for most in range(2, 13)] == [2, 3, 3, 5, 5, 7, 7, 7, 7, 11, 11]
    assert (module._prime(25), module._prime(4099), module._prime(4110)) == (23, 4099, 4099)
