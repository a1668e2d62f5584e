"""The loss that an attack shows, by hand, and one that is known from below alone."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri

from dpcp_audit.audits.loss_bracket import (
    Rate,
    attack_loss,
    exact_law,
    from_below,
    loss_along_outputs,
    transcript_curve,
)
from dpcp_audit.laws.laws import FiniteLaw, FinitePair, LaplacePair
from dpcp_audit.mechanisms.subsampled_gaussian import SubsampledGaussian
from dpcp_audit.tracing.pair_traces import PairTrace, trace_target
from dpcp_audit.tracing.target_calls import TracedTarget
from dpcp_audit.words.guarantees import ApproxDP, GaussianDP, PureDP
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import Estimate, FigureKind, Remark, SourceLocation

HITS, ALARMS = Rate(0.6, 0.5, 0.7), Rate(0.2, 0.1, 0.3)
LOG = math.log


@pytest.mark.parametrize(
    ("claim", "quantity", "ends"),
    [
        (PureDP(1.0), Quantity.EPSILON, (LOG(5 / 3), LOG(3.0), LOG(7.0))),
        (ApproxDP(1.0, 0.05), Quantity.EPSILON, (LOG(0.45 / 0.3), LOG(0.55 / 0.2), LOG(6.5))),
        (GaussianDP(1.0), Quantity.MU, tuple(ndtri((0.5, 0.6, 0.7)) - ndtri((0.3, 0.2, 0.1)))),
    ],
)
def test_the_ends_are_those_of_the_rates(claim, quantity, ends) -> None:
    found = attack_loss(claim, HITS, ALARMS, confidence=0.95, detail="of it")
    assert found.quantity is quantity
    assert (found.lower, found.value, found.partition_upper) == pytest.approx(ends)
    assert found.upper == math.inf
    assert (found.confidence, found.detail) == (0.95, "of it (the whole loss may be larger)")


def test_a_training_is_measured_by_its_gaussian_loss() -> None:
    claim = SubsampledGaussian(sampling_rate=0.5, steps=2, noise_multiplier=2.0)
    found = attack_loss(claim, HITS, ALARMS, confidence=0.95, detail="of it")
    assert found.quantity is Quantity.MU


def test_an_attack_that_may_be_worse_than_a_guess_shows_nothing_but_has_an_upper_end() -> None:
    found = attack_loss(PureDP(1.0), ALARMS, HITS, confidence=0.95, detail="")
    assert (found.lower, found.value) == (0.0, 0.0)
    assert found.partition_upper == pytest.approx(LOG(7.0))


def test_no_alarm_leaves_the_upper_end_open() -> None:
    found = attack_loss(PureDP(1.0), HITS, Rate(0.0, 0.0, 0.1), confidence=0.95, detail="")
    assert found.value == found.lower == pytest.approx(LOG(5.0))
    assert found.partition_upper == found.upper == math.inf


def test_a_lower_end_alone_says_why() -> None:
    known = Estimate(
        quantity=Quantity.RHO, value=2.0, lower=1.0, upper=3.0, confidence=0.9, at={}, detail="x"
    )
    found = from_below(known, why="too few")
    assert (found.value, found.lower, found.upper) == (2.0, 1.0, math.inf)
    assert (found.detail, found.confidence) == ("from below alone: too few", 0.9)


def test_the_law_of_randomised_response_has_two_losses() -> None:
    figure = exact_law(
        FinitePair(FiniteLaw.from_mass([0.75, 0.25]), FiniteLaw.from_mass([0.25, 0.75]))
    )
    first, second = (np.array(series.y) for series in figure.series)
    assert figure.kind is FigureKind.HISTOGRAM
    assert first.sum() == second.sum() == pytest.approx(1)
    assert (first[0], first[-1]) == (0.25, 0.75)
    assert (second[0], second[-1]) == (0.75, 0.25)
    assert "mean is 0.5493 under P" in figure.description


def test_an_infinite_loss_is_left_out_of_the_drawing_and_said() -> None:
    figure = exact_law(FinitePair(FiniteLaw.from_mass([0.5, 0.5]), FiniteLaw.from_mass([1.0, 0.0])))
    assert sum(figure.series[0].y) == 0.5
    assert "inf" in figure.description


def test_the_loss_along_outputs_follows_the_densities() -> None:
    rng = np.random.default_rng(0)

    def outputs(size: int) -> list[np.ndarray]:
        return [rng.laplace(size=size) + shift for shift in (0, 1)]

    figure = loss_along_outputs(outputs(5000), outputs(50_000), significance=0.05)
    assert figure is not None
    value, lower, upper = (np.array(series.y) for series in figure.series)
    assert value[0] == pytest.approx(1, abs=0.1)
    assert value[-1] == pytest.approx(-1, abs=0.1)
    assert (lower < value).all()
    assert (value < upper).all()
    assert lower[0] < 1 < upper[0]
    assert (np.diff(figure.series[0].x) >= 0).all()


def test_vectors_and_constants_have_no_threshold() -> None:
    same = [np.ones(50)] * 2
    assert loss_along_outputs(same, same, significance=0.1) is None
    vectors = [np.zeros((50, 2))] * 2
    assert loss_along_outputs(vectors, vectors, significance=0.1) is None


def _noisy(x: Any, *, rng: Any) -> Any:
    return sum(x) + rng.laplace(scale=1.0)


@pytest.fixture(scope="module")
def traced() -> PairTrace:
    return trace_target(TracedTarget.of(_noisy, {}), [0, 1], [0, 0], draws=1000, rng=3)


@pytest.mark.statistical(false_alarm=1e-6)
def test_the_curve_lies_above_the_laplace_mechanisms_and_close(traced) -> None:
    """Each curve errs with probability at most 1e-6."""
    curve = transcript_curve(traced, significance=1e-6)
    assert curve is not None
    truth = LaplacePair((1.0,))
    for epsilon in (0.0, 0.3, 0.7):
        grid = np.linspace(0, 1, 2001)
        reached = float((curve.at(grid) - np.exp(epsilon) * grid).max())
        assert truth.delta_at(epsilon) <= reached + 1e-6 < truth.delta_at(epsilon) + 0.2
    wide = transcript_curve(traced, significance=0.05)
    assert wide is not None
    assert (wide.at(grid) <= curve.at(grid) + 1e-9).all()


def test_what_is_not_followed_or_leaks_has_no_upper_end(traced) -> None:
    remark = Remark(says="data", location=SourceLocation.of("mine.py", 1))
    assert transcript_curve(replace(traced, leaks=(remark,)), significance=0.1) is None
    assert transcript_curve(replace(traced, unfollowed=(remark,)), significance=0.1) is None
    few = traced.forward.part(slice(0, 20))
    assert transcript_curve(replace(traced, forward=few), significance=0.1) is None
