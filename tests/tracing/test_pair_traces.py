"""Traces of pairs: lines, leaks, what cannot be followed; planted bugs and their correct twins."""

from __future__ import annotations

import inspect
import math
import random
from typing import Any

import numpy as np
import pytest
from support import user_mechanisms as mine
from support.followed_paths import trace_pair

SCORES = np.linspace(0.02, 0.98, 25)
NEIGHBOUR = np.concatenate([SCORES[1:], [0.99]])
OUTER = np.random.default_rng(7)


def line_of(function, text) -> Any:
    """Return the number of the line of a function that holds a text."""
    lines, first = inspect.getsourcelines(function)
    return first + next(index for index, line in enumerate(lines) if text in line)


def traced(function, draws=60, **options: Any) -> Any:
    return trace_pair(function, SCORES, NEIGHBOUR, draws=draws, rng=0, options=options)


def test_the_line_that_spends_is_named() -> None:
    found = traced(mine.noisy_mean)
    (line,) = found.lines
    assert line.location.file.endswith("user_mechanisms.py")
    assert line.location.line == line_of(mine.noisy_mean, "rng.laplace")
    assert (line.law, line.draws, line.share) == ("laplace", 1.0, 1.0)
    assert line.scale == pytest.approx(1 / 25)
    moved = abs(SCORES.mean() - NEIGHBOUR.mean())
    assert line.sensitivity == pytest.approx(moved)
    assert line.largest_loss == pytest.approx(25 * moved)
    assert found.released


def test_two_lines_share_the_loss() -> None:
    def two(scores, *, rng) -> Any:
        first = scores.sum() + rng.laplace(scale=2.0)
        second = scores.sum() + rng.laplace(scale=1.0)
        return first, second

    found = traced(two, draws=200)
    assert [line.scale for line in found.lines] == [1.0, 2.0]
    assert sum(line.share for line in found.lines) == pytest.approx(1.0)
    assert found.lines[0].share > 0.6


def test_the_same_seed_gives_the_same_trace() -> None:
    first, second = (traced(mine.noisy_search, draws=3) for _ in range(2))
    assert first.forward.losses.tolist() == second.forward.losses.tolist()


def zero_noise(scores, *, rng) -> Any:
    return scores.mean() + rng.normal(scale=0.0)


def seeded(scores, *, rng) -> Any:
    return scores.mean() + np.random.default_rng(7).normal()


def no_noise(scores, *, rng) -> Any:
    return float(scores.mean())


def fallback(scores, *, rng) -> Any:
    if scores.max() > 0.985:
        return float(scores.max())
    return scores.mean() + rng.laplace(scale=1 / 25)


def reused(scores, *, rng) -> Any:
    noise = rng.laplace(scale=1.0)
    return scores.sum() + noise, (scores > 0.5).sum() + noise


def released_rank(scores, *, rng) -> Any:
    noisy = (scores > 0.5).sum() + rng.laplace()
    return noisy, len(scores[scores > 0.3])


@pytest.mark.known_bad
@pytest.mark.parametrize(
    "function", [zero_noise, seeded, no_noise, fallback, reused, released_rank]
)
def test_data_without_noise_is_seen(function) -> None:
    found = traced(function, draws=10)
    assert found.followed
    assert "without noise" in str(found.leaks[0])
    assert found.leaks[0].location.file.endswith("test_pair_traces.py")
    if function is released_rank:
        assert found.leaks[0].location.line == function.__code__.co_firstlineno + 2
    if function in {zero_noise, seeded, no_noise}:
        assert found.exact is not None
        assert found.exact.max_divergence() == math.inf
    else:
        assert found.forward.departed.any() or found.backward.departed.any()
        assert found.forward.delta(1.0, significance=0.1).lower == 0.0


@pytest.mark.known_bad
@pytest.mark.parametrize(
    "function",
    [
        mine.noisy_search,
        mine.noisy_histogram,
        mine.exponential_mechanism,
        mine.exponential_choice,
        mine.report_noisy_max,
        mine.sparse_vector,
        mine.noisy_mean,
    ],
)
def test_a_correct_mechanism_does_not_leak(function) -> None:
    found = traced(function, draws=30)
    assert found.followed
    assert found.leaks == ()
    assert not found.values
    assert np.isfinite(found.forward.losses).all()


def outer(scores, *, rng) -> Any:
    return scores.mean() + OUTER.normal()


def inverted(scores, *, rng) -> Any:
    return scores.mean() + math.tan(rng.random())


def seldom(scores, *, rng) -> Any:
    return float(OUTER.random() < 0.05) + scores.max()


def half_followed(scores, *, rng) -> Any:
    return int(rng.random() < 0.5) if OUTER.random() < 0.5 else 2


def opaque(scores, *, rng) -> Any:
    return object()


def unhappy(scores, *, rng) -> Any:
    return [1, 2][rng.normal()]


def counter(scores, *, rng, calls=iter(range(10**6))) -> Any:  # noqa: B008
    return next(calls)


def by_failures(scores, *, rng) -> Any:
    noise = int(rng.geometric(0.4) - 1)
    return int((scores <= 0.02).sum()) + noise


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (outer, "randomness that is not followed"),
        (half_followed, "randomness that is not followed"),
        (inverted, "noise is revealed here before data is added"),
        (by_failures, "noise is revealed here before data is added"),
        (opaque, "whose content is not known"),
        (unhappy, "TypeError"),
        (counter, "keeps a state between its calls"),
    ],
)
def test_what_cannot_be_followed_is_said(function, says) -> None:
    found = traced(function, draws=5)
    assert not found.followed
    assert says in found.unfollowed[0].says
    assert found.unfollowed[0].location.file.endswith("test_pair_traces.py")


@pytest.mark.statistical(false_alarm=1.3e-9)
def test_an_outcome_that_the_draws_do_not_give_is_seen() -> None:
    """False alarms: 400 paths all miss an event of probability 0.05 with 1.3e-9."""
    found = traced(seldom, draws=200)
    assert not found.followed
    assert "randomness that is not followed" in found.unfollowed[0].says


def test_a_bootstrap_is_an_upper_bound_and_is_followed() -> None:
    def bootstrap(scores, *, rng) -> Any:
        picked = scores[rng.integers(0, len(scores), size=5)]
        return picked.mean() + rng.laplace(scale=0.2)

    found = traced(bootstrap)
    assert found.followed
    assert found.leaks == ()
    assert not found.released


def test_global_generators_are_followed() -> None:
    def legacy(scores) -> Any:
        return scores.mean() + np.random.laplace(scale=1 / 25) + random.gauss(0, 0.001)  # noqa: NPY002

    found = traced(legacy)
    assert found.followed
    assert {line.law for line in found.lines} <= {"laplace", "normal"}


def table_and_alarm(scores, *, rng) -> Any:
    """(0, 10⁻¹⁰)-DP: the alarm is next to never on, and the table is the same for all scores."""
    noisy = (
        int(np.sum(np.asarray(scores) > 0.5)) + int(rng.geometric(0.6)) - int(rng.geometric(0.6))
    )
    return [float(noisy > 45), *map(float, range(-60, 61))]


@pytest.mark.known_bad
def test_a_number_that_stands_in_the_output_anyway_is_not_released() -> None:
    """The noisy count equals one of the table's numbers, which do not change with it."""
    found = trace_pair(table_and_alarm, [0.0] * 20, [0.0] * 19 + [1.0], draws=100, rng=0)
    assert not found.released
