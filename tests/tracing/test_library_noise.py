"""diffprivlib's mechanisms are followed by their parameters, where the library is there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.followed_paths import trace_pair

mechanisms = pytest.importorskip("diffprivlib.mechanisms")
X, Y = np.zeros(3), np.array([0.0, 0.0, 1.0])


@pytest.mark.known_bad
@pytest.mark.parametrize(
    ("make", "law"),
    [
        (lambda s: mechanisms.Laplace(epsilon=1, sensitivity=s), "Laplace"),
        (
            lambda s: mechanisms.LaplaceTruncated(epsilon=1, sensitivity=s, lower=0, upper=9),
            "Laplace",
        ),
        (lambda s: mechanisms.Geometric(epsilon=1, sensitivity=int(4 * s)), "Geometric"),
        (
            lambda s: mechanisms.GaussianDiscrete(epsilon=1, delta=0.1, sensitivity=int(4 * s)),
            "GaussianDiscrete",
        ),
    ],
    ids=["laplace", "truncated", "geometric", "discrete gaussian"],
)
def test_a_sensitivity_that_is_believed_is_measured(make, law) -> None:
    def mean(x, *, sensitivity) -> Any:
        return make(sensitivity).randomise(int(4 * x.sum()))

    right, wrong = (
        trace_pair(mean, X, Y, draws=60, rng=0, options={"sensitivity": each}) for each in (4, 1)
    )
    for found in (right, wrong):
        assert found.followed
        assert {line.law for line in found.lines} == {law}
    assert right.lines[0].sensitivity == 4.0
    if law == "Laplace":
        assert right.forward.largest <= 1 + 1e-9
        assert wrong.forward.largest == pytest.approx(4.0)


def test_tools_and_global_states_are_followed() -> None:
    tools = pytest.importorskip("diffprivlib.tools")
    found = trace_pair(lambda x: tools.mean(x, epsilon=1, bounds=(0, 1)), X, Y, draws=30, rng=0)
    assert found.forward.largest == pytest.approx(1.0)


MOVED = {"epsilon": 1, "sensitivity": 1}


@pytest.mark.parametrize(
    ("make", "x", "loss"),
    [
        (lambda: mechanisms.LaplaceFolded(**MOVED, lower=0, upper=3), 1.0, 1.0),
        (lambda: mechanisms.GaussianAnalytic(**MOVED, delta=0.1), 1.0, None),
        (lambda: mechanisms.GeometricTruncated(**MOVED, lower=0, upper=3), 1, 1.0),
        (lambda: mechanisms.GeometricFolded(**MOVED, lower=0, upper=3), 1, 1.0),
        (lambda: mechanisms.Uniform(delta=0.1, sensitivity=1), 1.0, np.inf),
    ],
    ids=[
        *("folded", "analytic", "geometric truncated", "geometric folded", "uniform"),
    ],
)
def test_mechanisms_are_followed(make, x, loss) -> None:
    """That any of 2 × 300 paths shows the whole loss fails with less than 1e-9."""
    found = trace_pair(lambda value: make().randomise(value), x, type(x)(0), draws=300, rng=0)
    assert found.followed
    if loss is not None:
        assert max(each.epsilon(0.0) for each in found.samples) == pytest.approx(loss)


def test_choices_have_their_whole_law_or_an_upper_bound() -> None:
    def chosen(utility) -> Any:
        return mechanisms.Exponential(**MOVED, utility=list(utility)).randomise()

    def flipped(utility) -> Any:
        return mechanisms.PermuteAndFlip(**MOVED, utility=list(utility)).randomise()

    def binary(value) -> Any:
        return mechanisms.Binary(epsilon=1, value0="a", value1="b").randomise(value)

    pair = [0.0, 1.0, 2.0], [1.0, 0.0, 2.0]
    for function, inputs, epsilon in ((chosen, pair, 0.5), (binary, ("a", "b"), 1.0)):
        exact = trace_pair(function, *inputs, draws=30, rng=0).exact
        assert exact is not None
        assert exact.epsilon_at(0.0) == pytest.approx(epsilon)
    above = trace_pair(flipped, *pair, draws=30, rng=0)
    assert above.followed
    assert not above.released


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("Snapping", {"lower": 0, "upper": 3}),
        ("Staircase", {}),
        ("LaplaceBoundedDomain", {"lower": 0, "upper": 3}),
    ],
)
def test_mechanisms_of_unknown_law_are_not_judged(name, settings) -> None:
    def noisy(x) -> Any:
        return getattr(mechanisms, name)(**MOVED, **settings).randomise(x.sum())

    found = trace_pair(noisy, X, Y, draws=5)
    assert found.unfollowed[0].says == f"the law of diffprivlib's {name} is not known"


def test_random_functions_and_matrices_are_not_judged() -> None:
    def vector(x) -> Any:
        made = mechanisms.Vector(epsilon=1, function_sensitivity=1, dimension=3)
        return made.randomise(lambda point: float(np.dot(point, x)))(np.ones(3))

    def bingham(x) -> Any:
        return mechanisms.Bingham(**MOVED).randomise(np.diag(x + 1))

    for function, name in ((vector, "Vector"), (bingham, "Bingham")):
        found = trace_pair(function, X, Y, draws=5)
        assert found.unfollowed[0].says == f"the law of diffprivlib's {name} is not known"
