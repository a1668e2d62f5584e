"""The likelihood of a step's noisy sum, against the densities it is the ratio of."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from dpcp_audit.mechanisms.dpsgd.examples import DPSGD, Poisson
from dpcp_ledger.training.canary_games import CanaryStatistic, Watcher


@pytest.mark.parametrize("rate", [0.01, 0.5, 1.0])
@pytest.mark.parametrize("sigma", [0.05, 0.1, 1.0])
def test_the_log_ratio_is_that_of_the_densities(rate: float, sigma: float) -> None:
    """Also where the exponent is −200 or 800 and every step holds the canary."""
    watcher = Watcher(
        attack=CanaryStatistic.LIKELIHOOD,
        settings=DPSGD(sampling=Poisson(rate), lot_size=5, steps=2, noise_multiplier=sigma),
        coordinates=np.array([0]),
    )
    sums = np.linspace(-1.0, 2.5, 71)
    without, included = norm.logpdf(sums, 0, sigma), norm.logpdf(sums, 1, sigma)
    out = np.log1p(-rate) + without if rate < 1 else np.full(71, -np.inf)
    expected = np.logaddexp(out, np.log(rate) + included) - without
    assert watcher._log_ratio(sums) == pytest.approx(expected, rel=1e-9, abs=1e-12)
