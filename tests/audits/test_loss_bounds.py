"""Lower bounds of ρ, D_α, μ and the trade-off from counts: right, and not vacuous."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from dpcp_audit.audits.certificates import Hits
from dpcp_audit.audits.loss_bounds import (
    bernoulli_renyi,
    gdp_lower_bound,
    renyi_lower_bound,
    rho_lower_bound,
    tradeoff_point,
)
from dpcp_audit.guarantees import ZCDP, RenyiDP
from dpcp_audit.mechanisms.laws import FiniteLaw, FinitePair

P, Q, TRIALS = 0.7, 0.3, 10**6
HITS = Hits(round(P * TRIALS), round(Q * TRIALS), TRIALS)


@pytest.mark.parametrize("alpha", [1.0, 1.5, 2.0, 10.0, 100.0])
def test_bernoulli_divergences_are_those_of_the_pair(alpha: float) -> None:
    laws = [FiniteLaw.from_mass(np.array([p, 1 - p])) for p in (P, 0.1)]
    exact = FinitePair(*laws).renyi(alpha)
    assert bernoulli_renyi(P, 0.1, alpha) == pytest.approx(exact, rel=1e-10)


def test_degenerate_rates() -> None:
    assert bernoulli_renyi(0.5, 0.0, 2.0) == math.inf
    assert bernoulli_renyi(0.5, 1.0, 2.0) == math.inf
    assert bernoulli_renyi(0.0, 0.5, 2.0) == pytest.approx(math.log(2))
    assert bernoulli_renyi(1.0, 1.0, 2.0) == 0


def test_many_samples_come_close_to_the_truth_from_below() -> None:
    rho = max(bernoulli_renyi(P, Q, a) / a for a in (*np.linspace(1, 3, 400), 1.0))
    for bound, truth in (
        (rho_lower_bound(HITS, significance=0.05), float(rho)),
        (renyi_lower_bound(HITS, alpha=2.0, significance=0.05), float(bernoulli_renyi(P, Q, 2))),
        (gdp_lower_bound(HITS, significance=0.05), float(norm.ppf(P) - norm.ppf(Q))),
    ):
        assert 0.98 * truth < bound.lower < truth
        assert bound.value == pytest.approx(truth, rel=1e-3)
        assert bound.confidence == 0.95


@pytest.mark.parametrize("hits", [Hits(160, 60, 200), Hits(200, 100, 200), Hits(90, 0, 200)])
def test_a_bound_is_the_parameter_that_the_region_refutes(hits: Hits) -> None:
    """The claim with a parameter below the bound is refuted, one above it is not."""
    from dpcp_audit.audits.certificates import Certificate, certify  # noqa: PLC0415

    rho = rho_lower_bound(hits, significance=0.01).lower
    renyi = renyi_lower_bound(hits, alpha=3.0, significance=0.01).lower
    for guarantee, refuted in (
        (ZCDP(0.999 * rho), True),
        (ZCDP(1.001 * rho), False),
        (RenyiDP(3.0, 0.999 * renyi), True),
        (RenyiDP(3.0, 1.001 * renyi), False),
    ):
        verdict = certify(
            guarantee, hits, significance=0.01, certificate=Certificate.CLOPPER_PEARSON
        ).verdict
        assert (verdict == "REFUTED") is refuted, guarantee


def test_a_gaussian_threshold_shows_its_mu_and_half_the_square_of_it_at_most() -> None:
    hits = Hits(round(TRIALS * norm.sf(-0.5)), round(TRIALS * norm.sf(0.5)), TRIALS)
    assert 0.99 < gdp_lower_bound(hits, significance=0.05).lower < 1
    assert 0.25 < rho_lower_bound(hits, significance=0.05).lower < 0.5


def test_rates_that_do_not_part_show_nothing() -> None:
    for hits in (Hits(50, 50, 100), Hits(20, 80, 100), Hits(51, 50, 100), Hits(0, 0, 100)):
        assert rho_lower_bound(hits, significance=0.05).lower == 0
        assert gdp_lower_bound(hits, significance=0.05).lower == 0


def test_the_trade_off_point_lies_above_both_rates() -> None:
    fpr, fnr = tradeoff_point(HITS, significance=0.05)
    assert Q < fpr.upper < Q + 0.002
    assert 1 - P < fnr.upper < 1 - P + 0.002


def test_bad_orders_are_refused() -> None:
    with pytest.raises(ValueError, match="alpha must be > 1, got 1"):
        renyi_lower_bound(HITS, alpha=1.0, significance=0.05)
    with pytest.raises(ValueError, match="orders must be >= 1"):
        bernoulli_renyi(0.5, 0.5, 0.5)
