from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from dpcp_audit.laws.pools import hps, true_label_scores
from dpcp_ledger.mechanisms.label_scores import aps, aps_as_printed, prediction_sets, raps

if TYPE_CHECKING:
    from collections.abc import Callable

TIED = np.array([[0.25, 0.25, 0.5, 0.0], [0.25, 0.25, 0.25, 0.25], [0.0, 1.0, 0.0, 0.0]])


def by_formula(p: np.ndarray, u: np.ndarray, *, own_in_sum: bool) -> np.ndarray:
    """Sum over the labels, one at a time, as the formulas are written."""
    out = np.empty_like(p)
    for i, row in enumerate(p):
        for y, own in enumerate(row):
            others = [q for q in row if (q >= own if own_in_sum else q > own)]
            out[i, y] = math.fsum(others) + u[i, y] * own
    return out


@pytest.fixture(params=[TIED, np.random.default_rng(0).dirichlet(np.full(7, 0.3), size=40)])
def p(request: pytest.FixtureRequest) -> np.ndarray:
    return request.param


@pytest.fixture
def u(p: np.ndarray) -> np.ndarray:
    return np.random.default_rng(1).random(p.shape)


def test_aps_is_the_formula_of_romano_et_al(p: np.ndarray, u: np.ndarray) -> None:
    np.testing.assert_allclose(aps(p, u=u), by_formula(p, u, own_in_sum=False), atol=1e-12)


def test_aps_without_u_sums_all_labels_at_least_as_likely(p: np.ndarray) -> None:
    expected = by_formula(p, np.zeros_like(p), own_in_sum=True)
    np.testing.assert_allclose(aps(p), expected, atol=1e-12)


def test_aps_as_printed_is_the_printed_formula(p: np.ndarray, u: np.ndarray) -> None:
    expected = by_formula(p, u, own_in_sum=True)
    np.testing.assert_allclose(aps_as_printed(p, u=u), expected, atol=1e-12)


def test_aps_ends_at_one_exactly_though_the_row_sums_to_more() -> None:
    p = np.array([[0.1] * 10, [0.3, 0.2, 0.2, 0.1, 0.1, 0.1, 0, 0, 0, 0]]) * (1 + 5e-7)
    assert p.sum(axis=1).max() > 1
    assert aps(p).max() == 1
    assert aps(p, u=np.ones(2)).max() <= 1


def test_printed_aps_leaves_the_interval_that_the_search_runs_on() -> None:
    assert aps_as_printed([[0.999, 0.001]], u=[0.999])[0, 0] > 1.99
    assert aps([[0.999, 0.001]], u=[0.999])[0, 0] < 1


def test_prediction_sets_hold_the_labels_at_or_below_the_threshold() -> None:
    scores = np.array([[0.2, 0.5, 0.7]])
    np.testing.assert_array_equal(prediction_sets(scores, 0.5), [[True, True, False]])
    assert prediction_sets(scores, math.inf).all()


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: hps([[0.5, 0.6]]), "probabilities"),
        (lambda: hps([0.5, 0.5]), "probabilities"),
        (lambda: aps([[math.nan, 1.0]]), "probabilities"),
        (lambda: aps([[0.5, 0.5]], u=0.5), "u"),
        (lambda: aps_as_printed([[0.5, 0.5]], u=["x"]), "u"),
        (lambda: true_label_scores([[0.5, 0.5]], [2]), "labels"),
        (lambda: true_label_scores([[0.5, 0.5]], [0, 1]), "labels"),
        (lambda: true_label_scores([0.5, 0.5], [0, 1]), "scores"),
    ],
)
def test_bad_input_names_the_argument(call: Callable[[], object], name: str) -> None:
    with pytest.raises(ValueError, match=rf"^{name} must"):
        call()


def test_raps_adds_its_penalty_by_rank_and_is_aps_without_it() -> None:
    probabilities = np.array([[0.4, 0.3, 0.2, 0.1]])
    assert raps(probabilities, penalty=0.0, spared=1) == pytest.approx(aps(probabilities))
    found = raps(probabilities, penalty=0.1, spared=2)
    assert found == pytest.approx(np.array([[0.4, 0.7, 1.0, 1.2]]) / 1.2)
