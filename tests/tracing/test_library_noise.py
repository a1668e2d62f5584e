"""diffprivlib's mechanisms are followed by their parameters, where the library is there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpcp_audit.tracing.pair_traces import trace_pair

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


def test_mechanisms_of_unknown_law_are_not_judged() -> None:
    found = trace_pair(
        lambda x: mechanisms.Staircase(epsilon=1, sensitivity=1).randomise(x.sum()), X, Y, draws=5
    )
    assert "is not known" in found.unfollowed[0].says
