"""The recording generator draws what NumPy's does, of the same stream."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from dpcp_audit.tracing.draws import PathDivergedError, UnfollowableError
from dpcp_audit.tracing.generators import RecordingGenerator
from dpcp_audit.tracing.patches import recorded_globals
from dpcp_audit.tracing.path_runs import SampledRun
from dpcp_audit.tracing.path_tree import ForcedRun
from dpcp_audit.tracing.traced_numbers import values_of


def shuffled(rng) -> Any:
    values = np.arange(7)
    rng.shuffle(values)
    return values


DRAWS = [
    lambda rng: rng.normal(2.0, 3.0),
    lambda rng: rng.normal([1.0, 2.0], [[1.0], [2.0]]),
    lambda rng: rng.normal(size=(2, 3)),
    lambda rng: rng.laplace(1, 2, 4),
    lambda rng: rng.gumbel(size=3),
    lambda rng: rng.exponential(2.0, (2,)),
    lambda rng: rng.uniform(-1, 4, 3),
    lambda rng: rng.uniform(low=[0.0, 1.0], high=2.0),
    lambda rng: rng.standard_normal(3),
    lambda rng: rng.standard_normal((2, 2)),
    lambda rng: rng.standard_exponential(),
    lambda rng: rng.random(3),
    lambda rng: rng.random(),
    lambda rng: rng.geometric(0.3),
    lambda rng: rng.geometric([0.3, 0.5]),
    lambda rng: rng.poisson(4.0, 3),
    lambda rng: rng.binomial(10, 0.3, 2),
    lambda rng: rng.integers(10),
    lambda rng: rng.integers(1, 6, size=4, endpoint=True),
    lambda rng: rng.choice(5),
    lambda rng: rng.choice([1.5, 2.5, 3.5], size=4, p=[0.2, 0.3, 0.5]),
    lambda rng: rng.choice(8, size=3, replace=False),
    lambda rng: rng.choice(8, size=2, replace=False, p=np.arange(8) / 28),
    lambda rng: rng.permutation(5),
    lambda rng: rng.permutation(np.arange(6.0)),
    shuffled,
    lambda rng: rng.gamma(2.0, size=2),
    lambda rng: rng.multivariate_normal([0.0, 1.0], np.eye(2)),
    lambda rng: rng.dirichlet([1.0, 2.0]),
    lambda rng: np.random.default_rng(rng).normal(),
]


@pytest.mark.parametrize("draw", DRAWS)
def test_draws_are_those_of_an_untraced_run(draw) -> None:
    plain_rng = np.random.default_rng(5)
    plain, then = draw(plain_rng), plain_rng.random()
    path = SampledRun()
    rng = RecordingGenerator(path, np.random.default_rng(5))
    traced = values_of(draw(rng))
    assert np.asarray(traced).tolist() == np.asarray(plain).tolist()
    assert np.shape(traced) == np.shape(plain)
    assert values_of(rng.random()) == then
    again = ForcedRun(path.seen)
    assert np.asarray(values_of(draw(RecordingGenerator(again, np.random.default_rng(6))))) == (
        pytest.approx(np.asarray(plain), rel=1e-12)
    )


@pytest.mark.parametrize(
    "draw",
    [
        lambda: np.random.normal(1, 2),  # noqa: NPY002
        lambda: np.random.laplace(size=2),  # noqa: NPY002
        lambda: np.random.rand(2, 2),  # noqa: NPY002
        lambda: np.random.randn(2),  # noqa: NPY002
        lambda: np.random.randint(5),  # noqa: NPY002
        lambda: np.random.random_sample(3),  # noqa: NPY002
        lambda: np.random.choice(4),  # noqa: NPY002
        lambda: np.random.gamma(1.0),  # noqa: NPY002
        lambda: np.random.RandomState().normal(),
        lambda: np.random.default_rng().laplace(),
        lambda: [random.random()],  # noqa: S311
        lambda: random.gauss(0, 1),
        lambda: random.gauss(mu=1.0, sigma=2.0),
        lambda: random.expovariate(2.0),
        lambda: random.uniform(1, 2),  # noqa: S311
        lambda: random.randint(1, 6),  # noqa: S311
        lambda: random.randrange(10),  # noqa: S311
        lambda: random.randrange(2, 10, 3),  # noqa: S311
        lambda: random.choice("abc"),  # noqa: S311
        lambda: random.choices([1, 2], weights=[1, 3], k=4),  # noqa: S311
        lambda: random.sample(range(5), 2),
    ],
)
def test_global_generators_are_recorded_and_put_back(draw) -> None:
    before = (np.random.normal, np.random.default_rng, np.random.RandomState, random.random)
    path = SampledRun()
    rng = RecordingGenerator(path, np.random.default_rng(5))
    with recorded_globals(rng):
        values_of(draw())
    assert len(path.draws) >= 1
    after = (np.random.normal, np.random.default_rng, np.random.RandomState, random.random)
    assert before == after


@pytest.mark.parametrize(
    "draw",
    [
        lambda: np.random.default_rng(1).normal(),
        lambda: np.random.RandomState(1).normal(),
        lambda: (np.random.seed(1), np.random.normal())[1],  # noqa: NPY002
        lambda: (random.seed(1), random.random())[1],  # noqa: S311
    ],
)
def test_what_a_constant_seeds_is_no_noise(draw) -> None:
    path = SampledRun()
    with recorded_globals(RecordingGenerator(path, np.random.default_rng(5))):
        first = draw()
    assert isinstance(first, float)
    assert path.draws == []


def test_a_draw_that_is_not_followed_needs_the_same_parameters() -> None:
    path = SampledRun()
    RecordingGenerator(path, np.random.default_rng(5)).vonmises(0.0, 2.0)
    other = RecordingGenerator(ForcedRun(path.seen), np.random.default_rng(6))
    with pytest.raises(UnfollowableError, match="parameters of vonmises depend on the data"):
        other.vonmises(0.0, 3.0)


def test_another_kind_of_draw_departs() -> None:
    path = SampledRun()
    RecordingGenerator(path, np.random.default_rng(5)).integers(5)
    other = RecordingGenerator(ForcedRun(path.seen), np.random.default_rng(6))
    with pytest.raises(PathDivergedError, match="permutation is drawn in place of integers"):
        other.permutation(5)


def test_noise_of_scale_0_is_no_draw() -> None:
    path = SampledRun()
    rng = RecordingGenerator(path, np.random.default_rng(5))
    assert rng.normal(3.0, 0.0) == 3.0
    assert path.draws == []
    assert len(path.silent) == 1
