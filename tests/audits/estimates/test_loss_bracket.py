"""Brackets of a loss: intervals that hold jointly, in the claim's unit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from dpcp_audit.audits.loss_bracket import (
    Asked,
    CrossedBracketError,
    LossBracket,
    all_asked,
    allowed,
    asked_of,
    claimed_loss,
    exact_bracket,
    gaussian_loss,
    learn_partition,
    measured,
    pair_of_curve,
    partition_loss,
)
from dpcp_audit.audits.search.event_search import Ones
from dpcp_audit.laws.laws import FiniteLaw, FinitePair
from dpcp_audit.stats.roc import RocCurve
from dpcp_audit.words.guarantees import ZCDP, ApproxDP, GaussianDP, LocalDP, PureDP, RenyiDP
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


def _response_pair(p: list[float], q: list[float]) -> FinitePair:
    return FinitePair(FiniteLaw.from_mass(p), FiniteLaw.from_mass(q))


FLIP = _response_pair([0.75, 0.25], [0.25, 0.75])


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
    pair = _response_pair([0.5, 0.5, 0.0], [0.4, 0.4, 0.2])
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


def _laplace(rng: np.random.Generator, size: int, shift: float) -> np.ndarray:
    return rng.laplace(size=size) + shift


def test_cells_are_ordered_by_the_likelihood_ratio() -> None:
    rng = np.random.default_rng(0)
    pilot = _laplace(rng, 4000, 0.0), _laplace(rng, 4000, 2.0)
    partition = learn_partition(*pilot, trials=4000)
    first, second = (partition.counts(_laplace(rng, 40_000, shift)) for shift in (0.0, 2.0))
    ratios = np.log(first + 0.5) - np.log(second + 0.5)
    assert first.sum() == second.sum() == 40_000
    assert 3 <= partition.size <= 12
    assert ratios[0] > 1.5
    assert ratios[-1] < -1.5
    assert (np.diff(ratios) < 0.3).all()


def test_more_outputs_part_the_ends_more_finely() -> None:
    rng = np.random.default_rng(1)
    pilot = rng.normal(size=20_000), rng.normal(size=20_000) + 1
    sizes = [learn_partition(*pilot, trials=n).size for n in (300, 3000, 300_000)]
    assert sizes[0] < sizes[1] <= sizes[2] <= 24


def test_scattered_values_and_given_features_are_found() -> None:
    rng = np.random.default_rng(2)
    even, odd = (2 * rng.integers(0, 100, 4000) + shift for shift in (0, 1))
    partition = learn_partition(even.astype(float), odd.astype(float), trials=4000)
    counts = [partition.counts(values.astype(float)) for values in (even, odd)]
    assert np.abs(counts[0] - counts[1]).sum() == 8000  # no cell holds values of both
    bits = Ones(bounds=(0.0, 1.0), rounds=12)
    few, many = (
        (rng.random((4000, 12)) < rate) @ 0.5 ** np.arange(1, 13) + 1e-6 for rate in (0.3, 0.7)
    )
    partition = learn_partition(few, many, trials=4000, feature=bits)
    assert partition.log_odds.feature == bits


def test_outputs_that_are_all_alike_are_one_cell() -> None:
    partition = learn_partition(np.ones(50), np.ones(50), trials=50)
    assert partition.size == 1
    assert partition.counts(np.array([1.0, 2.0])).tolist() == [2]


def test_vectors_are_parted_too() -> None:
    rng = np.random.default_rng(3)
    pilot = rng.normal(size=(2000, 3)), rng.normal(size=(2000, 3)) + 1
    partition = learn_partition(*pilot, trials=2000)
    first = partition.counts(rng.normal(size=(4000, 3)))
    second = partition.counts(rng.normal(size=(4000, 3)) + 1)
    assert np.abs(first - second).sum() / 8000 > 0.55  # the total variation is 0.613
