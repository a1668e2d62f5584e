"""Brackets of a loss: intervals that hold jointly, in the claim's unit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import binom

from dpcp_audit.audits.estimates.loss_bracket import (
    Asked,
    CrossedBracketError,
    LossBracket,
    all_asked,
    claimed_loss,
    exact_bracket,
    learn_partition,
    measured,
    partition_loss,
)
from dpcp_audit.laws.laws import FiniteLaw, FinitePair
from dpcp_audit.words.guarantees import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP
from dpcp_audit.words.quantities import Quantity

_K, _EPSILON = 5, 1.5


def _reports(rng: np.random.Generator, size: int, value: int) -> np.ndarray:
    keep = math.exp(_EPSILON) / (math.exp(_EPSILON) + _K - 1)
    other = rng.integers(0, _K - 1, size)
    return np.where(rng.random(size) < keep, value, other + (other >= value)).astype(float)


def _truth() -> FinitePair:
    rest = 1 / (math.exp(_EPSILON) + _K - 1)
    p = np.full(_K, rest)
    p[0] *= math.exp(_EPSILON)
    return FinitePair(FiniteLaw.from_mass(p), FiniteLaw.from_mass(p[[1, 0, *range(2, _K)]]))


@pytest.mark.statistical(false_alarm=1e-6)
def test_all_intervals_of_k_rr_hold_at_once() -> None:
    """At a joint error of 0.2 in 60 repetitions: false alarm below 1e-6. Cells are its values."""
    rng, truth, rows = np.random.default_rng(5), _truth(), all_asked()
    partition = learn_partition(*(_reports(rng, 2000, value) for value in (0, 1)), trials=2000)
    true = [measured(asked, truth) for asked in rows]
    wrong = 0
    for _ in range(60):
        outputs = [_reports(rng, 2000, value) for value in (0, 1)]
        bracket = partition_loss(partition, *outputs, significance=0.2).bracket
        found = [bracket.estimate(asked) for asked in rows]
        wrong += any(
            not each.lower <= value + 1e-9 or not value <= each.partition_upper + 1e-9
            for each, value in zip(found, true, strict=True)
        )
    assert wrong <= binom.isf(1e-6, 60, 0.2)


def test_a_laplace_release_is_estimated_within_a_tenth() -> None:
    rng = np.random.default_rng(0)

    def outputs(shift: float, size: int) -> np.ndarray:
        return rng.laplace(size=size) + shift

    partition = learn_partition(outputs(0, 20_000), outputs(1, 20_000), trials=100_000)
    found = partition_loss(
        partition, outputs(0, 100_000), outputs(1, 100_000), significance=0.05
    ).bracket
    loss = found.estimate(Asked(Quantity.EPSILON, {"delta": 0.01}))
    assert loss.lower == pytest.approx(0.976, abs=0.05)
    assert loss.upper == math.inf
    assert loss.partition_upper < 1.12
    advantage = found.estimate(Asked(Quantity.ADVANTAGE, {}))
    assert advantage.lower > 0.38
    assert advantage.partition_upper < 0.41
    assert advantage.lower < advantage.value < advantage.partition_upper
    assert "over a partition into" in loss.label
    assert "the whole loss may be larger" in loss.label


def test_known_laws_have_intervals_of_rounding_alone() -> None:
    bracket = exact_bracket(_truth())
    found = bracket.estimate(Asked(Quantity.EPSILON, {}))
    assert found.confidence == 1
    assert found.lower <= _EPSILON <= found.upper
    assert found.upper - found.lower < 1e-8


def test_an_estimate_lies_in_its_interval_even_where_the_found_law_does_not() -> None:
    low, high = (
        FinitePair(FiniteLaw.from_mass([a, 1 - a]), FiniteLaw.from_mass([1 - a, a]))
        for a in (0.6, 0.7)
    )
    bracket = LossBracket(least=low, found=high, most=low, confidence=0.9)
    found = bracket.estimate(Asked(Quantity.ADVANTAGE, {}))
    assert found.lower <= found.value <= found.upper


@pytest.mark.parametrize(
    ("guarantee", "quantity"),
    [
        (PureDP(1.0), Quantity.EPSILON),
        (ApproxDP(1.0, 0.01), Quantity.EPSILON),
        (ZCDP(0.5), Quantity.RHO),
        (GaussianDP(1.0), Quantity.MU),
        (RenyiDP(2.0, 1.0), Quantity.RENYI_DIVERGENCE),
    ],
)
def test_a_claims_loss_is_in_its_unit(guarantee, quantity) -> None:
    rng = np.random.default_rng(1)
    pilot, fresh = ((rng.normal(size=3000), rng.normal(size=3000) + 1) for _ in range(2))
    (found,) = claimed_loss(guarantee, pilot, fresh)
    true = measured(Asked(quantity, found.at), _gaussian_cells())
    assert found.quantity is quantity
    assert 0 < found.lower < true
    assert found.lower <= found.value <= found.upper


def _gaussian_cells() -> FinitePair:
    """Return a fine partition of N(0, 1) and N(1, 1)."""
    cuts = np.linspace(-4, 5, 200)
    laws = (np.diff(np.r_[0, ndtr(cuts - shift), 1]) for shift in (0, 1))
    return FinitePair(*map(FiniteLaw.from_mass, laws))


def _pair(mass: float) -> FinitePair:
    p = np.array([mass, 1 - mass])
    return FinitePair(FiniteLaw.from_mass(p), FiniteLaw.from_mass(p[::-1]))


def test_no_probability_exceeds_one() -> None:
    least, most = _pair(0.9), _pair(1.0)
    bracket = LossBracket(least=least, found=most, most=most, confidence=0.9)
    rows = [Asked(Quantity.TOTAL_VARIATION, {}), Asked(Quantity.ADVANTAGE, {})]
    rows += [
        Asked(Quantity.DELTA, {"epsilon": 0.1}),
        Asked(Quantity.TRUE_POSITIVE_RATE, {"fpr": 1}),
    ]
    for asked in rows:
        found = bracket.estimate(asked)
        assert found.lower <= found.value <= found.upper <= 1.0


def test_ends_that_cross_are_an_error_of_their_own() -> None:
    bracket = LossBracket(least=_pair(0.9), found=_pair(0.8), most=_pair(0.6), confidence=0.9)
    with pytest.raises(CrossedBracketError, match="randomness that was not followed"):
        bracket.estimate(Asked(Quantity.ADVANTAGE, {}))
