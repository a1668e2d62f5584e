from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from dp_accounting.dp_event import GaussianDpEvent, PoissonSampledDpEvent, SelfComposedDpEvent
from dp_accounting.rdp import RdpAccountant
from scipy.special import logsumexp
from scipy.stats import norm

from dpcp_audit.stats.enclosures import ends
from dpcp_ledger.dpskin.training_budgets import renyi_epsilon, sampled_renyi, substituted_renyi


@pytest.mark.parametrize("rate", [Fraction(1, 500), Fraction(1, 5), Fraction(1)])
@pytest.mark.parametrize("noise", [0.7, 2.0, 8.1])
@pytest.mark.parametrize("order", [2, 3, 16])
def test_the_binomial_sum_is_the_accountants(rate: Fraction, noise: float, order: int) -> None:
    steps, delta = 50, 1e-5
    event = PoissonSampledDpEvent(float(rate), GaussianDpEvent(noise))
    accountant = RdpAccountant(orders=[order])
    accountant.compose(SelfComposedDpEvent(event, steps))
    bound = partial(_composed, rate, noise, order, steps, delta)
    low, high = ends(bound)
    assert high - low <= 1e-13 * abs(high)
    assert max(0.0, high) == pytest.approx(accountant.get_epsilon(delta), rel=1e-9)


@pytest.mark.parametrize("rate", [0.01, 0.2, 0.7, 1.0])
@pytest.mark.parametrize("noise", [1.0, 4.0])
@pytest.mark.parametrize("order", [2, 3, 6])
def test_the_bound_under_substitution_is_a_bound_and_close(
    rate: float, noise: float, order: int
) -> None:
    x = np.linspace(-80.0, 80.0, 160_001)

    def log_mixture(sign: int) -> np.ndarray:
        at = [norm.logpdf(x, 0, noise), norm.logpdf(x, sign, noise)]
        return logsumexp(at, axis=0, b=np.array([[1 - rate], [rate]]))

    one, other = log_mixture(1), log_mixture(-1)
    exponents = order * one + (1 - order) * other + math.log(x[1] - x[0])
    truth = logsumexp(exponents) / (order - 1)
    bound = ends(lambda: substituted_renyi(rate, noise, order))[1]
    assert truth <= bound * (1 + 1e-9)
    if noise > 2:
        assert bound <= 1.1 * truth + rate * (1 - rate) / (2 * noise**2) + 1e-9


def _composed(rate: Fraction, noise: float, order: int, steps: int, delta: float) -> object:
    return renyi_epsilon(steps * sampled_renyi(rate, noise, order), order, delta)
