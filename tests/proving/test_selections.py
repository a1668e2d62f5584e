"""Loops that select, against exact laws of two neighbours: never more loss than is proved."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import laplace

import dpcp_audit as dp
from dpcp_audit.proving.interpreter import Reader

LEVELS = (0.2, 0.5, 0.8)


def counts(scores) -> list[int]:
    return [np.count_nonzero(scores <= level) for level in LEVELS]


def in_a_loop(scores, *, rng) -> int:
    best, where = -math.inf, 0
    for i, answer in enumerate(counts(scores)):
        noisy = answer + rng.laplace(scale=2.0)
        if noisy > best:
            best, where = noisy, i
    return where


def from_nothing(scores, *, rng) -> object:
    best = where = None
    for level in LEVELS:
        noisy = np.count_nonzero(scores <= level) + rng.laplace(scale=2.0)
        if best is None or best < noisy:
            where = level
            best = noisy
    return where


def by_gumbel_noise(scores, *, rng) -> int:
    best, where = 0.0, 0
    for i, answer in enumerate(counts(scores)):
        noisy = -abs(answer - 10) + rng.gumbel(scale=2.0)
        if i == 0 or noisy >= best:
            best = noisy
            where = i
    return where


def at_once(scores, *, rng) -> int:
    return int(np.argmax(np.array(counts(scores)) + rng.laplace(scale=2.0, size=3)))


def of_mckenna(scores, *, rng, epsilon=1.0) -> int | None:
    q = -np.abs(np.array(counts(scores)) - 10)
    q = q - q.max()
    p = np.exp(0.5 * epsilon * q)
    for i in rng.permutation(p.size):
        if rng.random() <= p[i]:
            return i
    return None


def with_break(scores, *, rng) -> object:
    u = -np.abs(np.array(counts(scores)) - 10)
    top, chosen = u.max(), None
    for i in rng.permutation(len(u)):
        bias = math.exp((u[i] - top) / 2)
        if rng.uniform() < bias:
            chosen = LEVELS[i]
            break
    return chosen


def plain_maximum(scores, *, rng) -> object:
    best, where = -math.inf, 0
    for i, weight in enumerate((1, 3, 2)):
        if weight > best:
            best, where = weight, i
    return where, np.count_nonzero(scores > 0.5) + rng.laplace(scale=1.0)


@pytest.mark.parametrize(
    "function",
    [in_a_loop, from_nothing, by_gumbel_noise, at_once, of_mckenna, with_break, plain_maximum],
)
def test_a_selection_is_proved_at_its_price(function) -> None:
    assert dp.prove(function, dp.PureDP(1.0), n=20).total == pytest.approx(1.0)
    assert not dp.prove(function, dp.PureDP(0.99), n=20).proved


def flipped(q, factor) -> list[float]:
    """Return the exact law of permute-and-flip."""
    p = np.exp(factor * (np.array(q) - max(q)))
    law = [0.0] * len(q)
    orders = list(itertools.permutations(range(len(q))))
    for order in orders:
        left = 1 / len(orders)
        for i in order:
            law[i] += left * p[i]
            left *= 1 - p[i]
    return law


MOVES = st.lists(st.sampled_from([-1, 0, 1]), min_size=3, max_size=3)
UTILITIES = st.lists(st.integers(-20, 0), min_size=3, max_size=3)


@settings(max_examples=60, deadline=None)
@given(UTILITIES, MOVES)
def test_permute_and_flip_loses_at_most_what_is_proved(q, moves) -> None:
    proved = dp.prove(of_mckenna, dp.PureDP(1.0), n=20).total
    a, b = flipped(q, 0.5), flipped([x + d for x, d in zip(q, moves, strict=True)], 0.5)
    assert max(abs(math.log(x / y)) for x, y in zip(a, b, strict=True)) <= proved + 1e-9


def largest_loss(charge) -> float:
    """Return the largest exact loss of two candidates far apart, with noise for this charge."""
    if charge == "permute-and-flip: McKenna and Sheldon 2020, Theorem 1":
        a, b = flipped([0, -10], 0.5), flipped([1, -11], 0.5)
        return abs(math.log(a[1] / b[1]))

    def lower_wins(d, scale=2.0) -> float:
        return math.exp(-d / scale) * (1 + d / (2 * scale)) / 2

    return abs(math.log(lower_wins(100) / lower_wins(102)))


@pytest.mark.parametrize(
    ("function", "rule"),
    [
        (of_mckenna, "permute-and-flip: McKenna and Sheldon 2020, Theorem 1"),
        (in_a_loop, "noisy maximum: Dwork and Roth 2014, Claim 3.9"),
    ],
)
def test_a_charge_that_is_a_tenth_too_small_is_noticed(function, rule, monkeypatch) -> None:
    charged = Reader.charge

    def charge(self, one) -> None:
        charged(self, replace(one, size=one.size * Fraction(9, 10)) if one.rule == rule else one)

    assert largest_loss(rule) <= dp.prove(function, dp.PureDP(1.0), n=20).total + 1e-9
    monkeypatch.setattr(Reader, "charge", charge)
    assert largest_loss(rule) > dp.prove(function, dp.PureDP(1.0), n=20).total


def or_none(scores, *, rng, start=0.0, scale=2.0) -> int | None:
    best, where = start, None
    for i in range(3):
        noisy = np.count_nonzero(scores <= LEVELS[i]) + rng.laplace(0.0, scale)
        if noisy > best:
            best, where = noisy, i
    return where


def or_none_of_bins(scores, *, rng, start=0.0, scale=2.0) -> int | None:
    best, where = start, None
    for i, count in enumerate(np.histogram(scores, bins=3, range=(0.0, 1.0))[0]):
        noisy = count + rng.laplace(0.0, scale)
        if noisy > best:
            best, where = noisy, i
    return where


def chances_above(answers, start, scale) -> np.ndarray:
    """Return the chances of each place and of none, by a midpoint sum over 200,000 cells."""
    law = laplace(scale=scale)
    places, width = np.linspace(0, 60 * scale + max(answers) - start, 200_001, retstep=True)
    places = start + places[:-1] + width / 2
    below = [law.cdf(places - each) for each in answers]
    found = [
        np.sum(law.pdf(places - each) * np.prod(below[:i] + below[i + 1 :], axis=0)) * width
        for i, each in enumerate(answers)
    ]
    return np.array([*found, np.prod(law.cdf(start - np.array(answers)))])


@settings(max_examples=25, deadline=None)
@given(
    moved=st.sampled_from(
        [(or_none, each) for each in itertools.product((0, 1), repeat=3)]
        + [(or_none_of_bins, each) for each in ((0, 0, 0), (1, -1, 0), (0, 1, -1), (-1, 0, 1))]
    ),
    answers=st.tuples(*[st.integers(1, 8)] * 3),
    start=st.floats(-10, 14),
    scale=st.floats(0.7, 6),
)
def test_a_maximum_from_a_number_shows_no_more_than_is_proved(moved, answers, start, scale) -> None:
    function, change = moved
    options = {"start": start, "scale": scale}
    proof = dp.prove(function, dp.PureDP(99.0), n=20, options=options)
    assert proof.proved
    laws = [
        chances_above(each, start, scale)
        for each in (answers, [a + c for a, c in zip(answers, change, strict=True)])
    ]
    kept = (laws[0] > 1e-9) & (laws[1] > 1e-9)
    loss = np.max(np.abs(np.log(laws[0][kept] / laws[1][kept])))
    assert loss <= proof.total + 1e-5


def test_a_number_below_all_counts_shows_as_much_as_is_proved() -> None:
    """It is kept where all three noisy counts are below it: each count makes that less likely."""
    proof = dp.prove(or_none, dp.PureDP(99.0), n=20, options={"start": -30.0, "scale": 2.0})
    laws = [chances_above(each, -30.0, 2.0) for each in ([1, 1, 1], [2, 2, 2])]
    assert abs(math.log(laws[0][3] / laws[1][3])) == pytest.approx(proof.total)


def how_many(scores, *, rng) -> tuple[int, list[float]]:
    found = []
    for level in LEVELS:
        if np.count_nonzero(scores <= level) + rng.laplace(scale=3.0) > 5:
            found.append(level)  # noqa: PERF401  (a list that branches fill)
    return len(found), found


def how_many_of_the_data(scores, *, rng) -> tuple[int, list[float]]:
    found = []
    for level in LEVELS:
        found.append(level)
        if np.count_nonzero(scores <= level) > 5:
            found.append(level)
    return len(found), [rng.laplace()]


def test_the_length_of_a_list_that_public_branches_fill_is_public() -> None:
    assert dp.prove(how_many, dp.PureDP(1.0), n=20).proved
    assert not dp.prove(how_many_of_the_data, dp.PureDP(1.0), n=20).proved


STARTS = [
    "-10**400", "np.array([0.0, 1.0])", "np.zeros(2)", "np.bool_(True)", "[0]", "(0, 1)", "'a'",
    "1j", "np.nan", "np.inf", "scores[0]", "scores.max()", "scores", "rng.laplace(0.0, 2.0)",
    "rng.uniform()", "np.sum(scores) + rng.laplace()", "{}", "range(3)", "np.float32(0)", "rng",
]  # fmt: skip
MAXIMUM = """
import numpy as np


def largest(scores, *, rng):
    best, where = {start}, 0.0
    for t in (0.1, 0.2, 0.3):
        noisy = np.count_nonzero(scores <= t) + rng.laplace(0.0, 2.0)
        if {first}noisy > best:
            best, where = noisy, t
    return where
"""


@pytest.mark.parametrize("first", ["", "best is None or ", "where is None or "])
@pytest.mark.parametrize("start", STARTS)
def test_an_odd_start_of_a_running_maximum_is_refused_with_its_line(start, first, tmp_path) -> None:
    file = tmp_path / "odd.py"
    file.write_text(MAXIMUM.format(start=start, first=first))
    found = dp.prove(f"{file}:largest", dp.PureDP(1.0), n=20)
    assert not found.proved
    if found.stop is not None:
        assert found.line in range(6, 11)
        assert "the reading fails" not in found.reason
