from __future__ import annotations

from fractions import Fraction
from functools import partial

import pytest
from dp_accounting.dp_event import GaussianDpEvent, PoissonSampledDpEvent, SelfComposedDpEvent
from dp_accounting.rdp import RdpAccountant

from dpcp_audit.stats.enclosures import ends
from dpcp_audit.stats.sampled_gaussian import renyi_epsilon, sampled_renyi


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


def _composed(rate: Fraction, noise: float, order: int, steps: int, delta: float) -> object:
    return renyi_epsilon(steps * sampled_renyi(rate, noise, order), order, delta)
