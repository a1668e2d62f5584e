"""Betting on a bounded mean: values by hand, limits that agree with the test, and its power."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.levels import mean_interval

from dpcp_audit.stats.bounded_mean import MeanBets, _levels

ONE = MeanBets(bets=np.array([0.5]), weights=np.array([1.0]))
VALUES = np.linspace(0.75, 0.95, 41)


def test_a_capital_by_hand() -> None:
    """At m = 0.8 and f = 1/2, values 0.6 and 1 multiply the capital by 1.5 and 0.5."""
    wealth = ONE.log_wealth([0.6, 1.0, 0.6], at_least=0.8)
    assert wealth == pytest.approx([math.log(1.5 * 0.5 * 1.5)])
    assert ONE.log_capital(wealth) == pytest.approx(math.log(1.125))


def test_the_path_ends_at_the_wealth() -> None:
    bets = MeanBets()
    path = bets.log_wealth_path(np.stack([VALUES, VALUES[::-1]]), at_least=0.9)
    assert path.shape == (2, VALUES.size, bets.bets.size)
    assert path[:, -1] == pytest.approx(np.stack([bets.log_wealth(VALUES, at_least=0.9)] * 2))


def test_the_upper_limit_solves_the_capital() -> None:
    """(1 + 0.5·(m − x)/(1 − m))²⁰ = 100 at the limit m of twenty values x = 0.5."""
    gain = 2 * (100 ** (1 / 20) - 1)
    expected = (gain + 0.5) / (1 + gain)
    limit = ONE.upper_limit(np.full(20, 0.5), significance=0.01)
    assert limit == pytest.approx(expected, abs=1e-9)
    assert ONE.lower_limit(np.full(20, 0.5), significance=0.01) == pytest.approx(1 - expected)


def test_limits_at_the_ends() -> None:
    assert MeanBets().upper_limit(np.ones(50), significance=0.01) == 1.0
    assert MeanBets().lower_limit(np.zeros(50), significance=0.01) == 0.0


def test_the_limit_is_closer_than_empirical_bernsteins() -> None:
    """On the coverages of split conformal prediction: at 500 values by more than a half."""
    values = np.random.default_rng(1).beta(45, 6, size=500)
    ours = MeanBets().upper_limit(values, significance=5e-5) - values.mean()
    other = mean_interval(values, bounds=(0, 1), significance=1e-4)[1] - values.mean()
    assert ours < 0.5 * other
    normal = 3.89 * values.std() / math.sqrt(values.size)
    assert normal < ours < 2 * normal


def test_tilted_bets_keep_half_for_the_rest() -> None:
    bets = MeanBets()
    seen = np.full(30, 0.5)
    tilted = bets.tilted(seen, at_least=0.9)
    best = int(bets.log_wealth(seen, at_least=0.9).argmax())
    assert tilted.weights.sum() == pytest.approx(1)
    assert tilted.weights[best] == pytest.approx(0.5 + 0.5 / bets.bets.size)


def test_growth_tells_the_direction() -> None:
    assert MeanBets().growth(np.full(10, 0.85), at_least=0.9) > 0
    assert MeanBets().growth(np.full(10, 0.95), at_least=0.9) < 0
    half = MeanBets().growth(np.full(10, 0.85), at_least=0.9, prior=10)
    assert half == pytest.approx(MeanBets().growth(np.full(10, 0.85), at_least=0.9) / 2)


def test_the_smallest_violation_inverts_the_draws_needed() -> None:
    settings = {"at_least": 0.9, "significance": 1e-4}
    found = MeanBets().smallest_violation(VALUES, n_values=400, **settings)
    centred = VALUES - VALUES.mean() + 0.9
    assert MeanBets().draws_needed(centred - found, **settings) <= 400
    assert MeanBets().draws_needed(centred - 0.95 * found, **settings) > 400
    assert math.isinf(MeanBets().smallest_violation(VALUES, n_values=2, **settings))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: MeanBets().log_wealth([0.5, 1.5], at_least=0.5), r"values must lie in \[0, 1\]"),
        (lambda: MeanBets().log_wealth([math.nan], at_least=0.5), r"values must lie in \[0, 1\]"),
        (lambda: MeanBets().upper_limit([], significance=0.1), "values must not be empty"),
        (lambda: MeanBets().log_wealth([0.5], at_least=1.0), r"at_least must lie in \(0, 1\)"),
        (lambda: MeanBets().upper_limit([0.5], significance=0), "significance must lie in"),
        (lambda: MeanBets(bets=np.array([1.0])), r"bets must lie in \(0, 1\), got \[1.\]"),
        (lambda: MeanBets(weights=np.ones(3)), "weights must be 12 numbers > 0"),
    ],
)
def test_bad_input_is_named(call, message) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_more_than_a_thousand_values_are_rounded_up_to_a_grid() -> None:
    values = np.linspace(0.1, 0.9, 1001) ** 1.7
    levels, counts = _levels(values[:1000])
    assert levels.tolist() == values[:1000].tolist()
    assert counts.tolist() == [1] * 1000
    levels, counts = _levels(values)
    assert (levels >= values).all()
    assert (levels < values + 1e-5).all()
    assert levels == pytest.approx(np.round(levels, 5), abs=1e-12)
    assert counts.sum() == 1001


REPEATS, LEVEL_VALUES, SIGNIFICANCE = 4000, 200, 0.05
MOST = 285
"""P(Binomial(4000, 0.05) > 285) is below 1e-8."""
LAWS = {
    "bernoulli": (0.9, lambda rng, shape: (rng.random(shape) < 0.9).astype(float)),
    "split conformal": (46 / 51, lambda rng, shape: rng.beta(46, 5, size=shape)),
    "two far values": (0.9, lambda rng, shape: np.where(rng.random(shape) < 1 / 6, 1.0, 0.88)),
    "half": (0.5, lambda rng, shape: rng.random(shape)),
}


def refuted(values: np.ndarray, *, at_least: float, significance: float = SIGNIFICANCE) -> int:
    """Return how many rows ever bring the capital to 1/significance."""
    bets = MeanBets()
    capital = bets.log_capital(bets.log_wealth_path(values, at_least=at_least))
    return int((capital >= -math.log(significance)).any(axis=-1).sum())


@pytest.mark.statistical(false_alarm=1e-08)
@pytest.mark.statistical(false_alarm=1.1e-7)
@pytest.mark.parametrize("name", LAWS)
def test_a_true_mean_is_refuted_as_seldom_as_said_at_any_time(name) -> None:
    """False alarm below 1e-8 a law: each repeat refutes with probability at most 0.05.

    It is not vacuous either: more than 5 repeats do. Where it was measured, between 31 and 57
    did, and a Poisson count of mean 31 is 5 or less with probability below 1e-7.
    """
    mean, sample = LAWS[name]
    values = sample(np.random.default_rng(0), (REPEATS, LEVEL_VALUES))
    assert 5 < refuted(values, at_least=mean) <= MOST


@pytest.mark.statistical(false_alarm=1e-08)
def test_what_is_said_to_be_enough_is_enough() -> None:
    """``draws_needed`` promises 0.95; P(Binomial(1000, 0.95) < 905) is below 1e-8."""
    rng = np.random.default_rng(0)
    law = rng.beta(45, 6, size=50)
    needed = MeanBets().draws_needed(law, at_least=0.9, significance=1e-3)
    drawn = rng.choice(law, size=(1000, int(needed)))
    assert refuted(drawn, at_least=0.9, significance=1e-3) >= 905
