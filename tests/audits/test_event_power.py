"""What an event's certificate would have refuted: as often as it says, and nothing smaller."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.stats import norm
from support.refusals import WaldTest

from dpcp_audit.audits.certificates import (
    Hits,
    _excess,
    _if_gaussian,
    _tangents,
    certify,
    gaussian_shift,
    power_of_twice,
    smallest_violation,
)
from dpcp_audit.mechanisms.subsampled_gaussian import SubsampledGaussian
from dpcp_audit.stats.ratio_test import RatioTest
from dpcp_audit.words.evidence import reaches
from dpcp_audit.words.guarantees import (
    ZCDP,
    ApproxDP,
    GaussianDP,
    PrivacyGuarantee,
    PureDP,
    RenyiDP,
)
from dpcp_audit.words.quantities import Quantity

if TYPE_CHECKING:
    from collections.abc import Iterator

LEVEL = 1e-3
RATES = np.geomspace(1e-9, 0.5, 200)
MISSES = WaldTest(allowed=0.05, excessive=0.25, false_alarm=1e-7)


def refuted(claim: ApproxDP, true: ApproxDP, trials: int) -> Iterator[bool]:
    """Tell of games of randomised response, where an event shows ε best, what is refuted."""
    rng, q = np.random.default_rng(0), 1 / (1 + math.exp(true.epsilon))
    while True:
        x, y = rng.binomial(trials, float(true.power(q))), rng.binomial(trials, q)
        hits = Hits(int(x), int(y), trials)
        yield certify(claim, hits, significance=LEVEL).refuted


@pytest.mark.statistical(false_alarm=1e-7)
def test_the_smallest_violation_is_refuted_and_half_of_it_is_not() -> None:
    """False alarm at most 1e-7, at a little more than the smallest violation.

    Half of it is missed in 0.5 to 0.9 of the games; from 0.35 on this fails for less than 1e-7.
    """
    claim = ApproxDP(1.0, 0.05)
    found = smallest_violation(claim, 500, significance=LEVEL).smallest
    assert 1.2 < found < 2.2
    a_little_more, half = ApproxDP(found + 0.05, 0.05), ApproxDP((1 + found) / 2, 0.05)
    seen = refuted(claim, a_little_more, 500)
    assert not MISSES.exceeded_by(not each for each in seen)
    seen = refuted(claim, half, 500)
    assert MISSES.exceeded_by(not each for each in seen)


def test_tangents_of_a_curve_have_the_slope_of_its_likelihood_ratio() -> None:
    """μ-GDP: e^(μz − μ²/2) at z = Φ⁻¹(1 − rate); none beyond z = μ/2, where it is below 1."""
    rates = np.array([1e-4, 0.01, 0.1, 0.9])
    z = norm.isf(rates)
    *tests, none = _tangents(GaussianDP(1.0), rates, 100)
    assert none is None
    for test, at, rate in zip(tests, z, rates, strict=False):
        assert test is not None
        assert test.epsilon == pytest.approx(at - 0.5, abs=1e-4)
        assert test.delta == pytest.approx(norm.sf(at - 1) - math.exp(at - 0.5) * rate, rel=1e-3)


@pytest.mark.parametrize(
    ("claim", "quantity"),
    [
        (PureDP(1.0), Quantity.EPSILON),
        (ApproxDP(1.0, 1e-6), Quantity.EPSILON),
        (ZCDP(0.5), Quantity.RHO),
        (RenyiDP(2.0, 0.5), Quantity.RENYI_DIVERGENCE),
        (GaussianDP(1.0), Quantity.MU),
        (SubsampledGaussian(sampling_rate=0.5, steps=2, noise_multiplier=2.0), Quantity.MU),
    ],
)
def test_the_power_is_in_the_claims_own_unit_and_grows_with_the_draws(
    claim: PrivacyGuarantee, quantity: Quantity
) -> None:
    few, many = (smallest_violation(claim, n, significance=LEVEL) for n in (1000, 50_000))
    assert few.quantity is many.quantity is quantity
    assert many.claimed < many.smallest < few.smallest
    assert 1.0 < many.factor < few.factor


def test_nothing_is_refuted_by_too_few_draws() -> None:
    for claim in (PureDP(8.0), ZCDP(20.0), ZCDP(50.0)):
        power = smallest_violation(claim, 100, significance=1e-6)
        assert math.isinf(power.smallest)
        assert not reaches(power)


def test_two_people_lose_twice_as_much() -> None:
    assert power_of_twice(GaussianDP(1.0), RATES) == pytest.approx(GaussianDP(2.0).power(RATES))
    assert (power_of_twice(ApproxDP(0.0, 0.0), RATES) > RATES).all()


def test_the_power_of_an_event_is_the_smallest_shift_that_it_refutes() -> None:
    """Counts at the quantiles that the power allows for are refuted at it, and not below."""
    claim, trials, significance = ZCDP(0.5), 2000, 1e-5
    shift = gaussian_shift(claim, trials, significance=significance)
    cuts = np.linspace(0, 4, 9)

    def typical_is_refuted(mean: float) -> bool:
        rates = norm.sf(cuts - mean), norm.sf(cuts)
        return any(
            certify(
                claim,
                Hits(round(trials * p), round(trials * q), trials),
                significance=significance,
            ).refuted
            for p, q in zip(*rates, strict=True)
        )

    assert shift > 1  # 0.5-zCDP allows a shift of 1
    assert typical_is_refuted(shift)
    assert not typical_is_refuted(0.8 * shift)
    assert gaussian_shift(claim, 10 * trials, significance=significance) < shift


@pytest.mark.parametrize("rate", [0.2, 1e-5])
def test_the_excess_by_hand(rate) -> None:
    """In deviations of one output; rates of less than three hits in all count as three."""
    test = RatioTest(n=300, n_prime=300, epsilon=math.log(2), delta=0.1)
    expected = (0.7 - 2 * rate - 0.1) / math.sqrt(0.7 * 0.3 + 4 * max(rate, 0.01))
    assert _excess(test, 0.7, rate) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("guarantee", "loss"), [(GaussianDP(1.0), 0.8), (ZCDP(0.5), 0.32), (RenyiDP(8.0, 1.0), 2.56)]
)
def test_the_losses_of_a_gaussian_shift(guarantee: GaussianDP | ZCDP | RenyiDP, loss) -> None:
    """μ, μ²/2 and αμ²/2, at μ = 0.8."""
    found = _if_gaussian(guarantee, 0.8)
    assert found.smallest == pytest.approx(loss)
    assert found.claimed == (0.5 if isinstance(guarantee, ZCDP) else 1.0)
