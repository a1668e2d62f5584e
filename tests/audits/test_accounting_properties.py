"""What holds for every DP-SGD training: order of bounds, monotonicity, domination."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcp_audit.mechanisms.subsampled_gaussian import RELATIONS, SubsampledGaussian
from dpcp_audit.words.guarantees import Relation

trainings = st.builds(
    SubsampledGaussian,
    sampling_rate=st.floats(0.01, 1.0),
    steps=st.integers(1, 20),
    noise_multiplier=st.floats(0.6, 8.0),
    relation=st.sampled_from(RELATIONS),
)


@settings(max_examples=8, deadline=None)
@given(training=trainings, epsilon=st.floats(0.0, 5.0), fpr=st.floats(0.0, 1.0))
def test_bounds_are_ordered_and_the_region_holds_its_lines(
    training: SubsampledGaussian, epsilon: float, fpr: float
) -> None:
    above = training.delta_at(epsilon)
    assert training.delta_below(epsilon) <= above <= 1
    power = float(training.power(fpr))
    assert fpr <= power + 1e-9
    assert power <= math.exp(epsilon) * fpr + above + 1e-4 * max(fpr, above) + 1e-12
    assert training.allows(fpr, fpr)


@settings(max_examples=6, deadline=None)
@given(training=trainings)
def test_more_noise_fewer_steps_and_smaller_lots_cost_less(training: SubsampledGaussian) -> None:
    spent = training.epsilon_at(1e-5) * (1 + 1e-4)
    quieter = (
        replace(training, noise_multiplier=training.noise_multiplier * 1.5),
        replace(training, steps=max(1, training.steps // 2)),
        replace(training, sampling_rate=training.sampling_rate / 2),
    )
    for other in quieter:
        assert other.epsilon_at(1e-5) <= spent


@settings(max_examples=25, deadline=None)
@given(
    lengths=st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)),
    angle=st.floats(0.0, math.pi),
    q=st.sampled_from([0.1, 0.5]),
    epsilon=st.floats(0.0, 2.0),
)
def test_opposite_unit_vectors_dominate_every_substitution(
    lengths: tuple[float, float], angle: float, q: float, epsilon: float
) -> None:
    """δ(ε) of two clipped gradients in the plane, on a grid, below that of the dominating pair."""
    sigma = 1.0
    line = np.linspace(-8, 8, 401)
    x, y = np.meshgrid(line, line)

    def density(centre_x: float, centre_y: float) -> np.ndarray:
        square = (x - centre_x) ** 2 + (y - centre_y) ** 2
        return np.exp(-square / (2 * sigma**2)) / (2 * math.pi * sigma**2)

    rest = (1 - q) * density(0.0, 0.0)
    law = rest + q * density(lengths[0], 0.0)
    other = rest + q * density(lengths[1] * math.cos(angle), lengths[1] * math.sin(angle))
    cell = (line[1] - line[0]) ** 2
    delta = float(np.maximum(0.0, law - math.exp(epsilon) * other).sum() * cell)
    step = SubsampledGaussian(
        sampling_rate=q, steps=1, noise_multiplier=sigma, relation=Relation.SUBSTITUTION
    )
    assert delta <= step.delta_at(epsilon) + 1e-4
