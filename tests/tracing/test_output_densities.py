"""The loss of a release that several paths return: the sum over them, against closed forms."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.followed_paths import trace_pair

import dpcp_audit as dp
from dpcp_audit.tracing.draws import NotFiniteError
from dpcp_audit.tracing.path_tree import output_log_density
from dpcp_audit.tracing.target_calls import TracedTarget
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from numpy.random import Generator

    from dpcp_audit.words.validate import FloatArray

X, Y = np.zeros(4), np.array([0.0, 0.0, 0.0, 1.0])


def sampled(x: FloatArray, *, rng: Generator) -> float:
    rows = x if rng.random() < 0.7 else x[:-1]
    return float(np.sum(rows) + rng.laplace())


def test_a_row_that_is_drawn_amplifies() -> None:
    found = trace_pair(sampled, X, Y, draws=40, rng=0)
    assert found.released
    assert found.forward.largest == pytest.approx(-math.log1p(0.7 * math.expm1(-1)))
    assert found.backward.largest == pytest.approx(math.log1p(0.7 * math.expm1(1)))


def test_the_density_is_that_of_the_mixture() -> None:
    target = TracedTarget.of(sampled, {})
    for output in (-2.0, 0.3, 4.0):
        here = 0.7 * math.exp(-abs(output - 1)) / 2 + 0.3 * math.exp(-abs(output)) / 2
        log_density, error = output_log_density(target, Y, (output,), (output,))
        assert log_density == pytest.approx(math.log(here), rel=1e-12)
        assert error < 1e-9


def test_a_second_draw_is_returned_where_a_first_one_is_large() -> None:
    def above(x: FloatArray, *, rng: Generator) -> float:
        if np.sum(x) + rng.laplace(scale=2) < 0.5:
            return -1.0
        return float(np.sum(x) + rng.laplace(scale=2))

    found = trace_pair(above, X, Y, draws=60, rng=0)
    passes = math.log(0.5 * math.exp(-0.25)), math.log(1 - 0.5 * math.exp(-0.25))
    assert found.released
    assert found.backward.largest == pytest.approx(passes[1] - passes[0] + 0.5)


def test_the_sign_of_a_number_is_not_returned() -> None:
    def size(x: FloatArray, *, rng: Generator) -> float:
        return abs(np.sum(x) + rng.laplace())

    found = trace_pair(size, X, Y, draws=60, rng=0)
    assert found.released
    assert found.backward.largest == pytest.approx(math.log(math.cosh(1)))
    assert 0.8 < found.forward.largest < 1


@pytest.mark.known_bad
def test_a_row_that_is_drawn_too_often_is_refuted() -> None:
    claimed = math.log1p(0.5 * math.expm1(1))
    assert dp.trace(sampled, X, Y, dp.PureDP(claimed), draws=40).verdict is Verdict.REFUTED
    assert dp.trace(sampled, X, Y, dp.PureDP(0.79), draws=40).verdict is Verdict.CONSISTENT


def test_what_the_noise_reveals_is_more_in_the_scope_of_the_transcript() -> None:
    found = dp.trace(sampled, X, Y, dp.PureDP(0.79), draws=40, scope="transcript")
    assert found.verdict is not Verdict.CONSISTENT
    assert found.epsilon() == pytest.approx(1)


def doubled(x: FloatArray, *, rng: Generator) -> float:
    times = 1 if rng.random() < 0.5 else 2
    return times * float(np.sum(x) + rng.laplace())


def folded(x: FloatArray, *, rng: Generator) -> float:
    sign = 1 if rng.random() < 0.5 else -1
    noisy = int(1000 * float(np.sum(x) + sign * rng.exponential()))
    return noisy / 1000


def many(x: FloatArray, *, rng: Generator) -> float:
    rows = x[rng.random(x.size) < 0.5] if x.size > 9 else x
    return float(np.sum(rows) + rng.laplace())


@pytest.mark.parametrize("function", [doubled, folded])
def test_a_number_that_is_changed_before_it_is_returned_has_no_known_density(function: Any) -> None:
    with pytest.raises(NotFiniteError, match="changed before it is returned"):
        output_log_density(TracedTarget.of(function, {}), X, (0.2507,), (0.2507,))


def test_too_many_paths_are_not_summed() -> None:
    with pytest.raises(NotFiniteError, match="too many paths"):
        output_log_density(TracedTarget.of(many, {}), np.zeros(12), (0.25,), (0.25,))


@pytest.mark.known_bad
@pytest.mark.parametrize("read", [False, True])
def test_an_output_that_the_neighbour_never_returns_refutes_where_its_probability_is_known(
    read: bool,
) -> None:
    """It is where continuous noise is returned as it is, and not where it is read before."""

    def either(x: FloatArray, *, rng: Generator) -> float:
        noise = rng.exponential() if rng.random() < 0.5 else 0.0
        return float(np.sum(x) + (np.rint(noise) if read else noise))

    found = dp.trace(either, X, Y, dp.PureDP(1), draws=40)
    assert found.verdict is (Verdict.INCONCLUSIVE if read else Verdict.REFUTED)
    assert found.leaks


@pytest.mark.known_bad
@pytest.mark.parametrize(
    ("ones", "consistent"),
    [
        ((1, True), False),
        ((1, 1.0), False),
        ((1, np.int32(1)), False),
        ((0.0, -0.0), False),
        ((1, np.int64(1)), True),
    ],
)
def test_a_type_that_depends_on_the_data_is_no_other_way_to_return_an_output(
    ones: tuple[Any, Any], consistent: bool
) -> None:
    def typed(x: FloatArray, *, rng: Generator) -> Any:
        return float(np.sum(x) + rng.laplace()), ones[int(np.sum(x))]

    found = dp.trace(typed, X, Y, dp.PureDP(1.0001), draws=20)
    assert (found.verdict is Verdict.CONSISTENT) is consistent
    assert bool(found.leaks) is not consistent
