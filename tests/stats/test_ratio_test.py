"""The score test: its region, its exact level against brute force, and what it refuses."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import binom, norm
from statsmodels.stats.proportion import score_test_proportions_2indep

from dpcp_audit.stats.rates import clopper_pearson
from dpcp_audit.stats.ratio_test import (
    RatioTest,
    _guess,
    epsilon_lower_bound,
    power_along,
    rate_detected,
)

DESIGNS = [(12, 9, 0.5, 0.0), (15, 20, 1.0, 0.1), (10, 10, 0.0, 0.0), (8, 30, 2.0, 0.0)]


def table(test: RatioTest) -> np.ndarray:
    return np.array(
        [[test.statistic(x, y) for y in range(test.n_prime + 1)] for x in range(test.n + 1)]
    )


def exact_rejection(rejected: np.ndarray, test: RatioTest, rates: np.ndarray) -> np.ndarray:
    """Sum the probabilities of the rejected (x, y) at every rate p′ on the boundary."""
    n, m = test.n, test.n_prime
    left = binom.pmf(np.arange(n + 1)[:, None], n, test.boundary(rates))
    right = binom.pmf(np.arange(m + 1)[:, None], m, rates)
    return np.einsum("xi,xy,yi->i", left, rejected.astype(float), right)


@pytest.mark.parametrize(("n", "m", "epsilon", "delta"), DESIGNS)
def test_the_restricted_estimate_maximises_the_likelihood(
    n: int, m: int, epsilon: float, delta: float
) -> None:
    test = RatioTest(n=n, n_prime=m, epsilon=epsilon, delta=delta)
    for x, y in ((n // 2, m // 3), (n - 1, m - 1), (n // 3, 1)):
        best = minimize_scalar(
            lambda q, x=x, y=y: (
                -float(binom.logpmf(x, n, test.ratio * q + delta) + binom.logpmf(y, m, q))
            ),
            bounds=(1e-12, test.largest_rate - 1e-12),
            method="bounded",
            options={"xatol": 1e-10},
        )
        assert test.restricted_rate(x, y) == pytest.approx(best.x, abs=1e-6)


@pytest.mark.parametrize(("n", "m", "epsilon", "delta"), DESIGNS)
def test_the_statistic_is_monotone_and_its_contours_are_right(
    n: int, m: int, epsilon: float, delta: float
) -> None:
    test = RatioTest(n=n, n_prime=m, epsilon=epsilon, delta=delta)
    values = table(test)
    assert (np.diff(values, axis=0) >= -1e-9).all()
    assert (np.diff(values, axis=1) <= 1e-9).all()
    for t in np.unique(values[values > 1e-6]):
        critical = test.critical_counts(t, np.arange(m + 1.0))
        assert ((np.arange(n + 1)[:, None] >= critical) == (values >= t - 1e-9)).all()


@pytest.mark.parametrize(("n", "m", "epsilon", "delta"), DESIGNS)
@pytest.mark.parametrize("nuisance_error", [1e-9, 1e-2])
def test_the_p_value_is_the_supremum_over_the_nuisance(
    n: int, m: int, epsilon: float, delta: float, nuisance_error: float
) -> None:
    """Never below a fine grid's maximum, and at most 2 % above it."""
    test = RatioTest(n=n, n_prime=m, epsilon=epsilon, delta=delta)
    values = table(test)
    for x, y in ((n, 0), (n, 1), (n - 2, 2), (n - 3, 1), (n // 2 + 1, 0)):
        if (t := test.statistic(x, y)) <= 0:
            continue
        low, high = clopper_pearson(y, m, significance=nuisance_error)
        rates = np.linspace(low, min(high, test.largest_rate), 4001)
        supremum = exact_rejection(values >= t - 1e-9, test, rates).max()
        reported = test.p_value(x, y, nuisance_error=nuisance_error) - nuisance_error
        assert supremum - 1e-12 <= reported <= 1.02 * supremum + 1e-3 * nuisance_error + 1e-6


@pytest.mark.parametrize(("n", "m", "epsilon", "delta"), DESIGNS)
@pytest.mark.parametrize("level", [0.3, 0.05, 1e-3])
def test_the_size_is_at_most_the_level_and_the_level_is_used(
    n: int, m: int, epsilon: float, delta: float, level: float
) -> None:
    test = RatioTest(n=n, n_prime=m, epsilon=epsilon, delta=delta)
    rejected = np.array(
        [
            [test.p_value(x, y, nuisance_error=level / 1000) <= level for y in range(m + 1)]
            for x in range(n + 1)
        ]
    )
    size = exact_rejection(rejected, test, np.linspace(0, test.largest_rate, 2001)).max()
    assert size <= level
    if level == 0.3:
        assert size > level / 3


@pytest.mark.parametrize(("n", "p", "epsilon"), [(1700, 0.5, 1.0), (1100, 0.4508, 2.0)])
def test_ninety_percent_of_epsilon_from_few_samples(n: int, p: float, epsilon: float) -> None:
    """Counts at their means: Laplace's half-line at ε = 1, ten-ary response at ε = 2."""
    x, y = round(n * p), round(n * p * math.exp(-epsilon))
    bound = epsilon_lower_bound(x, n, y, n, significance=0.05)
    assert 0.9 * epsilon <= bound < epsilon
    low, _ = clopper_pearson(x, n, significance=0.05)
    _, high = clopper_pearson(y, n, significance=0.05)
    assert bound > math.log(low / high)


def p_value_of(
    x: int, n: int, y: int, n_prime: int, *, nuisance_error: float = 1e-6, **claim: float
) -> float:
    """Return the p-value of p ≤ e^ε·p′ + δ from x ~ Bin(n, p) and y ~ Bin(n′, p′)."""
    return RatioTest(n=n, n_prime=n_prime, **claim).p_value(x, y, nuisance_error=nuisance_error)


def test_what_does_not_exceed_the_claim_has_the_p_value_1() -> None:
    """Neither a share that e^ε·p′ allows, nor any beside a p′ that e^−ε lies below."""
    assert p_value_of(27, 100, 10, 100, epsilon=1.0) == 1.0
    assert p_value_of(28, 100, 10, 100, epsilon=1.0) < 1.0
    assert p_value_of(100, 100, 100, 100, epsilon=1.0) == 1.0


def test_the_bound_inverts_the_test() -> None:
    bound = epsilon_lower_bound(300, 1000, 100, 900, delta=0.01, significance=1e-3)
    for epsilon, refuted in ((bound, True), (bound + 1.001e-3, False)):
        p_value = p_value_of(300, 1000, 100, 900, epsilon=epsilon, delta=0.01, nuisance_error=1e-6)
        assert (p_value <= 1e-3) == refuted
    assert epsilon_lower_bound(10, 100, 20, 100, significance=0.05) == -math.inf


def test_an_event_that_only_one_input_gives() -> None:
    assert 5 < epsilon_lower_bound(2000, 2000, 0, 2000, significance=0.05) < math.log(2000)
    assert p_value_of(0, 50, 0, 50, epsilon=0.5) == 1
    assert p_value_of(50, 50, 50, 50, epsilon=0.0) == 1
    assert p_value_of(50, 50, 40, 50, epsilon=1.0) == 1


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"epsilon": -0.1}, "epsilon must be finite and >= 0"),
        ({"epsilon": 51.0}, "epsilon must be at most 50"),
        ({"epsilon": 1.0, "delta": 1.0}, "delta must be below 1"),
        ({"epsilon": 1.0, "nuisance_error": 0.0}, "nuisance_error must lie in"),
    ],
)
def test_bad_parameters_are_refused(keywords: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        p_value_of(5, 10, 1, 10, **keywords)


def test_bad_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="x and y must be at most n and n_prime, got 11 of 10"):
        p_value_of(11, 10, 0, 10, epsilon=1.0)
    with pytest.raises(ValueError, match="y must be an integer >= 0"):
        p_value_of(5, 10, -1, 10, epsilon=1.0)
    with pytest.raises(ValueError, match="n must be an integer >= 1"):
        p_value_of(0, 0, 0, 10, epsilon=1.0)


def test_the_largest_epsilon_is_allowed() -> None:
    assert RatioTest(n=9, n_prime=9, epsilon=50.0).epsilon == 50.0
    with pytest.raises(ValueError, match="^epsilon must be at most 50"):
        RatioTest(n=9, n_prime=9, epsilon=50.1)


@pytest.mark.parametrize(
    ("counts", "significance", "resolution"),
    [((60, 100, 20, 100, 0.0), 0.05, 1e-3), ((300, 1000, 50, 1000, 0.01), 0.01, 1e-2)],
)
def test_the_bound_is_looked_for_where_the_statistic_is_normal(
    counts, significance, resolution
) -> None:
    x, n, y, n_prime, delta = counts
    steps = _guess(*counts, significance, resolution)
    at, after = (
        RatioTest(n=n, n_prime=n_prime, epsilon=each * resolution, delta=delta).statistic(x, y)
        for each in (steps, steps + 2)
    )
    assert after <= norm.isf(significance) <= at


@pytest.mark.parametrize(
    ("counts", "epsilon"),
    [((60, 100, 20, 80), 0.5), ((9, 12, 2, 9), 1.0), ((3, 900, 1, 400), 0.0), ((5, 9, 8, 9), 0.2)],
)
def test_the_statistic_is_the_score_of_statsmodels(counts, epsilon) -> None:
    """Of the ratio of two rates, by the estimate under the null, where no δ is claimed."""
    x, n, y, n_prime = counts
    peer = score_test_proportions_2indep(
        *counts, value=math.exp(epsilon), compare="ratio", correction=False
    )
    found = RatioTest(n=n, n_prime=n_prime, epsilon=epsilon).statistic(x, y)
    assert found == pytest.approx(float(peer.statistic), rel=1e-9)


@pytest.mark.parametrize(("x", "y"), [(300, 180), (330, 180), (360, 180), (30, 2)])
@pytest.mark.parametrize("enough", [1e-6, 0.01, 0.05, 0.3])
def test_a_p_value_is_exact_up_to_what_is_enough(x: int, y: int, enough: float) -> None:
    """The decision at any level up to it is that of the whole p-value."""
    test = RatioTest(n=1000, n_prime=1000, epsilon=0.4)
    whole, found = test.p_value(x, y), test.p_value(x, y, enough=enough)
    assert found == whole if whole <= enough else enough < found <= whole


TEST = RatioTest(n=30, n_prime=30, epsilon=0.5, delta=0.1)


def recounted(test: RatioTest, p: float, p_prime: float, *, significance: float) -> float:
    """Sum the probabilities of all counts whose statistic reaches the normal quantile."""
    counts = np.arange(test.n + 1)
    pairs = product(range(test.n + 1), range(test.n_prime + 1))
    reached = [test.statistic(x, y) >= norm.isf(significance) for x, y in pairs]
    law = np.outer(binom.pmf(counts, test.n, p), binom.pmf(counts, test.n_prime, p_prime))
    return float(law.ravel()[reached].sum())


@pytest.mark.parametrize("rates", [(0.5, 0.1), (0.9, 0.2), (0.3, 0.3)])
def test_a_power_is_the_probability_of_the_counts_that_refute(rates: tuple[float, float]) -> None:
    found = power_along(TEST, rates[1], significance=0.01)(rates[0])
    assert found == pytest.approx(recounted(TEST, *rates, significance=0.01), abs=1e-12)


@pytest.mark.parametrize("delta", [0.0, 0.1])
def test_the_rate_detected_is_refuted_as_often_as_wanted(delta: float) -> None:
    test = RatioTest(n=500, n_prime=500, epsilon=0.5, delta=delta)
    p = rate_detected(test, 0.1, significance=1e-3)
    assert p > math.exp(0.5) * 0.1 + delta
    assert power_along(test, 0.1, significance=1e-3)(p) == pytest.approx(0.95, abs=1e-6)


def test_what_nothing_refutes_is_infinite() -> None:
    few = RatioTest(n=3, n_prime=3, epsilon=0.5)
    assert math.isinf(rate_detected(few, 0.5, significance=1e-3))
    assert math.isinf(rate_detected(TEST, 0.1, significance=1e-3, at_most=0.27))


LEVEL, ALARM = 0.05, 1e-7


def score_refusals(test: RatioTest, p: float, q: float, *, repetitions: int, seed: int) -> int:
    rng = np.random.default_rng(seed)
    x, y = rng.binomial(test.n, p, repetitions), rng.binomial(test.n_prime, q, repetitions)
    seen = Counter(zip(x.tolist(), y.tolist(), strict=True))
    return sum(
        times
        for (a, b), times in seen.items()
        if test.p_value(a, b, nuisance_error=LEVEL / 1000, enough=LEVEL) <= LEVEL
    )


@pytest.mark.statistical(false_alarm=1e-07)
def test_the_smallest_violation_is_refuted() -> None:
    """False alarm at most 1e-7: 150 runs with a power of at least 0.93 each (0.95 is stated)."""
    q, trials = 0.15, 1000
    test = RatioTest(n=trials, n_prime=trials, epsilon=1.0)
    p = rate_detected(test, q, significance=LEVEL)
    count = score_refusals(test, p, q, repetitions=150, seed=2)
    assert binom.ppf(ALARM / 2, 150, 0.93) <= count <= binom.isf(ALARM / 2, 150, 0.97)
