"""Measures of a pair of laws: closed forms, both directions, what a guarantee allows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtri

from dpcp_audit.audits.estimates.loss_bracket import (
    Asked,
    all_asked,
    allowed,
    asked_of,
    gaussian_loss,
    measured,
    pair_of_curve,
)
from dpcp_audit.laws.laws import FiniteLaw, FinitePair
from dpcp_audit.stats.roc import RocCurve
from dpcp_audit.words.guarantees import ZCDP, ApproxDP, GaussianDP, LocalDP, PureDP, RenyiDP
from dpcp_audit.words.quantities import Quantity


def _pair(p: list[float], q: list[float]) -> FinitePair:
    return FinitePair(FiniteLaw.from_mass(p), FiniteLaw.from_mass(q))


FLIP = _pair([0.75, 0.25], [0.25, 0.75])


@pytest.mark.parametrize(
    ("quantity", "at", "value"),
    [
        (Quantity.EPSILON, {}, math.log(3)),
        (Quantity.EPSILON, {"delta": 0.5}, 0.0),
        (Quantity.DELTA, {"epsilon": math.log(2)}, 0.25),
        (Quantity.RENYI_DIVERGENCE, {"alpha": 1.0}, 0.5 * math.log(3)),
        (Quantity.RENYI_DIVERGENCE, {"alpha": 2.0}, math.log(0.75**2 / 0.25 + 0.25**2 / 0.75)),
        (Quantity.MU, {}, 2 * ndtri(0.75)),
        (Quantity.TOTAL_VARIATION, {}, 0.5),
        (Quantity.ADVANTAGE, {}, 0.5),
        (Quantity.TRUE_POSITIVE_RATE, {"fpr": 0.1}, 0.3),
    ],
)
def test_randomised_response_has_the_losses_of_the_books(quantity, at, value) -> None:
    assert measured(Asked(quantity, at), FLIP) == pytest.approx(value, abs=1e-9)


def test_the_worse_direction_counts() -> None:
    pair = _pair([0.5, 0.5, 0.0], [0.4, 0.4, 0.2])
    for way in (pair, pair.reversed()):
        assert measured(Asked(Quantity.EPSILON, {}), way) == math.inf
        assert measured(Asked(Quantity.RHO, {}), way) == math.inf
        assert measured(Asked(Quantity.MU, {}), way) == math.inf
        assert measured(Asked(Quantity.EPSILON, {"delta": 0.3}), way) == 0.0


def test_a_higher_curve_has_larger_losses() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        fpr = np.sort(rng.random(6))
        low = RocCurve.hull(fpr, fpr + 0.5 * (1 - fpr) * rng.random(6))
        high = RocCurve.hull(low.fpr, low.tpr + 0.3 * (1 - low.tpr) * (low.fpr > 0))
        for asked in all_asked():
            assert (
                measured(asked, pair_of_curve(low)) <= measured(asked, pair_of_curve(high)) + 1e-9
            )


@pytest.mark.parametrize(
    ("guarantee", "asked", "value"),
    [
        (PureDP(1.0), Asked(Quantity.EPSILON, {}), 1.0),
        (LocalDP(1.0), Asked(Quantity.ADVANTAGE, {}), math.tanh(0.5)),
        (PureDP(1.0), Asked(Quantity.MU, {}), 2 * ndtri(1 / (1 + math.exp(-1)))),
        (ApproxDP(1.0, 0.1), Asked(Quantity.EPSILON, {"delta": 0.1}), 1.0),
        (ApproxDP(1.0, 0.1), Asked(Quantity.EPSILON, {}), math.inf),
        (ApproxDP(1.0, 0.1), Asked(Quantity.RHO, {}), None),
        (ZCDP(0.5), Asked(Quantity.RENYI_DIVERGENCE, {"alpha": 4.0}), 2.0),
        (GaussianDP(2.0), Asked(Quantity.RHO, {}), 2.0),
        (GaussianDP(2.0), Asked(Quantity.MU, {}), 2.0),
        (RenyiDP(2.0, 0.7), Asked(Quantity.RENYI_DIVERGENCE, {"alpha": 2.0}), 0.7),
        (RenyiDP(2.0, 0.7), Asked(Quantity.RENYI_DIVERGENCE, {"alpha": 4.0}), None),
        (PureDP(1.0), Asked(Quantity.TRUE_POSITIVE_RATE, {"fpr": 0.01}), 0.01 * math.e),
    ],
)
def test_what_a_guarantee_allows(guarantee, asked, value) -> None:
    found = allowed(asked, guarantee)
    assert found is None if value is None else found == pytest.approx(value, abs=1e-9)


def test_a_claims_own_unit_stands_first_and_once() -> None:
    for guarantee in (None, PureDP(1.0), ApproxDP(1.0, 1e-3), ZCDP(0.5), GaussianDP(1.0)):
        rows = all_asked(guarantee)
        assert rows[0] == asked_of(guarantee)
        assert rows.count(rows[0]) == 1


def test_a_gaussian_loss_does_not_turn_infinite_where_a_rate_is_nearly_one() -> None:
    p, q = np.array([0.5, 0.5 - 1e-18, 1e-18]), np.array([0.3, 0.6, 0.1])
    pair = FinitePair(FiniteLaw.from_mass(p / p.sum()), FiniteLaw.from_mass(q / q.sum()))
    assert gaussian_loss(pair) == pytest.approx(-ndtri(1e-18) - ndtri(0.9))
