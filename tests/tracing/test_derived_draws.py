"""Sums whose values are read, and noise that is made of uniform draws."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.special import log_softmax
from support.followed_paths import followed, trace_pair

import dpcp_audit as dp
from dpcp_audit.tracing.draws import LAPLACE
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from numpy.random import Generator

    from dpcp_audit.words.validate import FloatArray


pytestmark = pytest.mark.known_bad

_X = [0.1, 0.1, 0.3, 0.6, 0.9]
_Y = [0.6, 0.1, 0.3, 0.6, 0.9]
"""One score moves from the first bin to the third: two counts change by 1."""


def _counts(x: list[float], rng: Generator, scale: float) -> Any:
    counts = np.histogram(x, bins=[0, 0.25, 0.5, 0.75, 1.0])[0]
    return counts + rng.laplace(scale=scale, size=4)


def total_first(x: list[float], *, rng: Generator, scale: float = 1.0) -> list[float]:
    noisy = _counts(x, rng, scale)
    return [float(noisy.sum()), *(float(each) for each in noisy)]


def shares(x: list[float], *, rng: Generator, scale: float = 1.0) -> list[float]:
    noisy = _counts(x, rng, scale)
    total = noisy.sum()
    return [float(each / total) for each in noisy]


def marginals_first(x: list[float], *, rng: Generator, scale: float = 1.0) -> list[float]:
    noisy = _counts(x, rng, scale).reshape(2, 2)
    rows, columns = noisy.sum(axis=0), noisy.sum(axis=1)
    return [float(each) for each in (*rows, *columns, *noisy.ravel())]


def twice_what_is_left(x: list[float], *, rng: Generator, scale: float = 1.0) -> list[float]:
    noisy = _counts(x, rng, scale)
    both, apart = noisy[0] + noisy[2], noisy[0] - noisy[2]
    return [float(both), float(apart), float(noisy[1]), float(noisy[0])]


@pytest.mark.parametrize("mechanism", [total_first, shares, marginals_first, twice_what_is_left])
@pytest.mark.parametrize("scope", ["release", "transcript"])
def test_a_sum_and_its_parts_cost_what_the_parts_cost(mechanism: Any, scope: str) -> None:
    found = dp.trace(mechanism, _X, _Y, dp.PureDP(2), draws=30, scope=scope)
    assert found.verdict is Verdict.CONSISTENT
    assert found.epsilon() == pytest.approx(2, rel=1e-9)
    assert not found.leaks


@pytest.mark.parametrize("mechanism", [total_first, marginals_first, twice_what_is_left])
def test_with_half_the_noise_they_are_refuted(mechanism: Any) -> None:
    found = dp.trace(mechanism, _X, _Y, dp.PureDP(2), draws=30, options={"scale": 0.5})
    assert found.verdict is Verdict.REFUTED
    assert found.epsilon() == pytest.approx(4, rel=1e-9)


def test_deviations_from_the_mean_lose_less_than_the_numbers() -> None:
    def centred(x: list[float], *, rng: Generator) -> list[float]:
        noisy = _counts(x, rng, 1.0)
        mean = noisy.mean()
        return [float(each - mean) for each in noisy]

    found = dp.trace(centred, _X, _Y, dp.PureDP(2), draws=30)
    assert found.verdict is Verdict.CONSISTENT
    assert 1 < found.epsilon() <= 2 + 1e-9
    assert found.pair.released


def test_the_density_of_a_sum_and_a_part_is_that_of_both_draws() -> None:
    def scaled(x: list[float], *, rng: Generator) -> list[float]:
        first, second = rng.laplace(scale=1 + x[0], size=2)
        return [float(x[0] + 2 * first + second), float(x[0] + second)]

    def parts(x: list[float], *, rng: Generator) -> list[float]:
        first, second = rng.laplace(scale=1 + x[0], size=2)
        return [float(2 * first), float(x[0] + second)]

    x, y = [0.0], [1.0]
    sums = trace_pair(scaled, x, y, draws=50, rng=0).forward.losses
    apart = trace_pair(parts, x, y, draws=50, rng=0).forward.losses
    assert sums == pytest.approx(apart, rel=1e-9)


def test_a_count_that_the_noise_does_not_cover_is_a_leak() -> None:
    def leaks(x: list[float], *, rng: Generator) -> list[float]:
        noisy = _counts(x, rng, 1.0)
        shown = [float(noisy.sum()), *(float(each) for each in noisy)]
        return [*shown, float(noisy[0] + noisy[1] + len([each for each in x if each < 0.25]))]

    found = dp.trace(leaks, _X, _Y, dp.PureDP(2), draws=30, scope="transcript")
    assert found.verdict is Verdict.REFUTED
    assert found.leaks


@pytest.mark.parametrize("scope", ["release", "transcript"])
def test_comparisons_after_a_sum_that_is_known_are_not_judged(scope: str) -> None:
    def heavy(x: list[float], *, rng: Generator) -> list[int]:
        noisy = _counts(x, rng, 1.0)
        total = float(noisy.sum())
        return [place for place in range(4) if noisy[place] / total > 0.25]

    found = dp.trace(heavy, _X, _Y, dp.PureDP(2), draws=30, scope=scope)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert not found.leaks


def test_sums_of_whole_numbers_are_solved_too() -> None:
    def once(x: FloatArray, *, rng: Generator) -> list[int]:
        noisy = np.array([sum(x), len(x)]) + rng.geometric(0.5, size=2)
        return [int(noisy[0] + noisy[1]), int(noisy[0])]

    found = dp.trace(once, [1.0, 0.0], [1.0, 0.0 + 0.0], draws=20)
    assert found.epsilon() == 0
    moved = dp.trace(once, [1.0, 1.0], [1.0, 0.0], draws=200)
    law = [each for each in moved.pair.samples if np.isfinite(each.losses).all()]
    assert law
    assert max(each.largest for each in law) == pytest.approx(np.log(2), rel=1e-8)


X, Y = np.zeros(3), np.array([0.0, 0.5, 1.0])


def laplace(x, *, rng, scale=2.0) -> Any:
    u = rng.random() - 0.5
    return x.sum() - scale * np.sign(u) * np.log(1 - 2 * np.abs(u))


def laplace_of_math(x, *, rng, scale=2.0) -> Any:
    u = rng.uniform(-0.5, 0.5)
    return x.sum() + math.copysign(scale, u) * math.log1p(-2 * abs(u))


def laplace_turned(x, *, rng, scale=2.0) -> Any:
    u = 0.5 - rng.random()
    size = abs(2 * u)
    return x.sum() + scale * (-np.log(1 - size)) * np.sign(-u)


@pytest.mark.parametrize("function", [laplace, laplace_of_math, laplace_turned])
def test_a_sign_and_a_logarithm_are_laplace_noise(function) -> None:
    (output,), _, loss = followed(function, X, Y)
    assert output == pytest.approx(function(X, rng=np.random.default_rng(0)), rel=1e-14)
    assert loss == pytest.approx((abs(output - 1.5) - abs(output)) / 2)
    found = trace_pair(function, X, Y, draws=30, rng=0)
    assert found.released
    assert found.composed[0].laplace == (0.75,)
    assert found.forward.largest == pytest.approx(0.75)


@pytest.mark.statistical(false_alarm=2e-8)
def test_such_noise_is_laplace_noise_for_the_trace_too() -> None:
    """The standard draws of 400 paths: a Kolmogorov distance above 0.15 has 2e-8."""
    from dpcp_audit.tracing.path_runs import SampledRun  # noqa: PLC0415
    from dpcp_audit.tracing.target_calls import TracedTarget  # noqa: PLC0415

    target, drawn = TracedTarget.of(laplace, {}), []
    for seed in range(400):
        path = SampledRun()
        target.outputs(X, path, np.random.default_rng(seed))
        drawn += [draw.standard for draw in path.draws if draw.law is LAPLACE]
    ordered = np.sort(drawn)
    below = np.exp(LAPLACE.log_interval(np.full(400, -np.inf), ordered))
    assert len(drawn) == 400
    assert np.abs(below - (np.arange(400) + 0.5) / 400).max() < 0.15


def test_a_gumbel_draw_by_inversion_is_the_exponential_mechanism() -> None:
    def choose(x, *, rng) -> Any:
        return int(np.argmax(x - np.log(-np.log(rng.random(3)))))

    found = trace_pair(choose, X, Y, draws=3, rng=0).exact
    assert found is not None
    assert found.max_divergence() == pytest.approx((log_softmax(X) - log_softmax(Y)).max())


def test_exponential_noise_is_one_sided() -> None:
    def shifted(x, *, rng) -> Any:
        return x.sum() - math.log(rng.random())

    found = trace_pair(shifted, X, Y, draws=30, rng=0)
    assert found.forward.largest == math.inf
    assert found.backward.largest == pytest.approx(1.5)


@pytest.mark.known_bad
def test_a_draw_that_noise_was_made_of_is_not_used_again_unseen() -> None:
    def again(x, *, rng) -> Any:
        u = rng.random()
        return x.sum() - math.log(u), x.sum() + u

    found = trace_pair(again, X, Y, draws=5, rng=0)
    assert not found.followed or found.leaks
