"""Noise made of uniform draws has the loss of the law that it follows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import log_softmax
from support.followed_paths import followed, trace_pair

from dpcp_audit.tracing.noise_laws import LAPLACE

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
