"""A release that is kept for each input is not judged by repeated calls; what leaks still is."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dpcp_audit as dp
from dpcp_audit.targets.answers import KeptOutputError

if TYPE_CHECKING:
    from collections.abc import Callable

_SCORES = np.linspace(0, 1, 20)
_NEIGHBOUR = np.append(_SCORES[:-1], 0.0)


def _noisy_mean(scores: Any, rng: Any) -> float:
    return float(np.mean(scores) + rng.laplace(scale=1 / len(scores)))


def _by_dictionary() -> Callable[..., Any]:
    kept: dict[Any, Any] = {}

    def release(scores: Any, *, rng: Any) -> Any:
        if tuple(scores) not in kept:
            kept[tuple(scores)] = _noisy_mean(scores, rng)
        return kept[tuple(scores)]

    return release


def _by_dictionary_of_noise() -> Callable[..., Any]:
    kept: dict[Any, Any] = {}

    def release(scores: Any, *, rng: Any) -> Any:
        if tuple(scores) not in kept:
            kept[tuple(scores)] = np.mean(scores) + rng.laplace(scale=1 / len(scores))
        return kept[tuple(scores)]

    return release


def _by_cache() -> Callable[..., Any]:
    @functools.lru_cache(None)
    def drawn(scores: Any) -> float:
        return _noisy_mean(scores, np.random)

    def release(scores: Any) -> Any:
        return drawn(tuple(scores))

    return release


def _as_text() -> Callable[..., Any]:
    kept: dict[Any, str] = {}

    def release(scores: Any, *, rng: Any) -> str:
        key = np.asarray(scores).tobytes()
        if key not in kept:
            kept[key] = f"{_noisy_mean(scores, rng):.3f}"
        return kept[key]

    return release


KEPT = [_by_dictionary, _by_dictionary_of_noise, _by_cache, _as_text]


@pytest.mark.parametrize("make", KEPT)
@pytest.mark.parametrize("called_before", [False, True])
def test_a_trace_refuses_a_release_that_is_kept(
    make: Callable[[], Callable[..., Any]], called_before: bool
) -> None:
    release = make()
    rng = {} if make is _by_cache else {"rng": np.random.default_rng(0)}
    for each in (_SCORES, _NEIGHBOUR) if called_before else ():
        release(each, **rng)
    for _ in range(2):  # what the first trace drew is not kept for the second
        with pytest.raises(KeptOutputError, match="which says nothing about its privacy"):
            dp.trace(release, _SCORES, _NEIGHBOUR, dp.PureDP(1), draws=20)


def test_a_trace_refuses_reports_that_are_kept() -> None:
    kept: dict[int, int] = {}

    def report(value: int, *, rng: Any) -> int:
        if value not in kept:
            kept[value] = value if rng.random() < 0.7 else 1 - value
        return kept[value]

    with pytest.raises(KeptOutputError):
        dp.trace(report, 0, 1, dp.LocalDP(1), draws=20)
    result = dp.audit(report, dp.LocalDP(1), kind="randomizer", domain=2, draws=2000)
    assert result.verdict is dp.Verdict.ERROR


@pytest.mark.parametrize("trace", [False, True])
def test_an_audit_does_not_judge_a_release_that_is_kept(trace: bool) -> None:
    result = dp.audit(_by_dictionary(), dp.PureDP(1), n=20, trace=trace, draws=4096)
    assert result.verdict is dp.Verdict.ERROR
    assert "returns it again" in str(result)


def _once_for_all() -> Callable[..., Any]:
    noise: list[float] = []

    def release(scores: Any, *, rng: Any) -> float:
        if not noise:
            noise.append(float(rng.laplace(scale=1 / len(scores))))
        return float(np.mean(scores)) + noise[0]

    return release


def _once_for_each_size() -> Callable[..., Any]:
    noise: dict[int, float] = {}

    def release(scores: Any, *, rng: Any) -> float:
        if len(scores) not in noise:
            noise[len(scores)] = float(rng.laplace(scale=1 / len(scores)))
        return float(np.mean(scores)) + noise[len(scores)]

    return release


def _before_the_call() -> Callable[..., Any]:
    noise = float(np.random.default_rng(0).laplace(scale=0.05))
    return lambda scores: float(np.mean(scores)) + noise


def _kept_without_noise() -> Callable[..., Any]:
    @functools.lru_cache(None)
    def mean(scores: Any) -> float:
        return float(np.mean(scores))

    return lambda scores: mean(tuple(scores))


def _by_rounded_mean() -> Callable[..., Any]:
    kept: dict[float, float] = {}

    def release(scores: Any, *, rng: Any) -> float:
        key = round(float(np.mean(scores)), 2)
        if key not in kept:
            kept[key] = float(key + rng.laplace(scale=0.01))
        return kept[key]

    return release


LEAKING = [
    _once_for_all,
    _once_for_each_size,
    _before_the_call,
    _kept_without_noise,
    _by_rounded_mean,
]


@pytest.mark.parametrize("make", LEAKING)
def test_what_repeated_calls_show_of_the_data_is_refuted(
    make: Callable[[], Callable[..., Any]],
) -> None:
    found = dp.trace(make(), _SCORES, _NEIGHBOUR, dp.PureDP(1), draws=20)
    assert found.verdict is dp.Verdict.REFUTED


def test_noise_of_a_size_is_refuted_where_records_are_added() -> None:
    release = _once_for_each_size()
    found = dp.trace(
        release, _SCORES, _SCORES[:-1], dp.PureDP(1), draws=20, neighbours="add-remove"
    )
    assert found.verdict is dp.Verdict.REFUTED


def test_data_returned_from_the_second_call_on_is_refuted() -> None:
    seen: set[Any] = set()

    def release(scores: Any, *, rng: Any) -> float:
        known = tuple(scores) in seen
        seen.add(tuple(scores))
        return float(np.mean(scores)) if known else _noisy_mean(scores, rng)

    found = dp.trace(release, _SCORES, _NEIGHBOUR, dp.PureDP(1), draws=20)
    assert found.verdict is dp.Verdict.REFUTED
