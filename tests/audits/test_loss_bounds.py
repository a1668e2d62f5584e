"""Lower bounds of ρ, D_α, μ and the trade-off from counts: right, and not vacuous."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from dpcp_audit.audits.certificates import Hits, Judgement, certify
from dpcp_audit.audits.loss_bounds import bernoulli_renyi, event_loss
from dpcp_audit.guarantees import ZCDP, ApproxDP, GaussianDP, PrivacyGuarantee, PureDP, RenyiDP
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


def judged(guarantee: PrivacyGuarantee, hits: Hits, significance: float = 0.05) -> Judgement:
    return certify(guarantee, hits, significance=significance)


@pytest.mark.parametrize(
    ("guarantee", "quantity", "truth"),
    [
        (PureDP(9.0), "epsilon", math.log(P / Q)),
        (ApproxDP(9.0, 0.1), "epsilon", math.log((P - 0.1) / Q)),
        (ZCDP(9.0), "rho", max(bernoulli_renyi(P, Q, a) / a for a in np.linspace(1, 3, 400))),
        (RenyiDP(2.0, 9.0), "renyi-divergence", float(bernoulli_renyi(P, Q, 2))),
        (GaussianDP(9.0), "mu", float(norm.ppf(P) - norm.ppf(Q))),
    ],
)
def test_the_loss_is_in_the_claims_unit_and_close_to_the_truth_from_below(
    guarantee: PrivacyGuarantee, quantity: str, truth: float
) -> None:
    found = judged(guarantee, HITS).evidence
    assert found.quantity == quantity
    assert 0.98 * truth < found.lower < truth
    assert found.value == pytest.approx(truth, rel=1e-3)
    assert found.confidence == 0.95


def test_any_trade_off_is_measured_by_the_gaussian_loss_that_it_allows() -> None:
    """Where the event exceeds the trade-off, the loss exceeds the one that is allowed."""

    class Half(PureDP):
        """A trade-off that has no measure of its own."""

    loss = event_loss.dispatch(PrivacyGuarantee)(Half(0.5))
    assert loss.of(P, Q) == pytest.approx(norm.ppf(P) - norm.ppf(Q))
    assert (loss.of(P, Q) > loss.claimed_at(Q)) == (float(Half(0.5).power(Q)) < P)
    assert (loss.of(0.4, Q) > loss.claimed_at(Q)) == (float(Half(0.5).power(Q)) < 0.4)


@pytest.mark.parametrize("hits", [Hits(160, 60, 200), Hits(200, 100, 200), Hits(90, 0, 200)])
def test_a_bound_is_the_parameter_that_the_region_refutes(hits: Hits) -> None:
    """The claim with a parameter 1 % below the bound is refuted, one 2 % above it is not."""
    rho = judged(ZCDP(1e3), hits, 0.01).evidence.lower
    renyi = judged(RenyiDP(3.0, 1e3), hits, 0.01).evidence.lower
    for guarantee, refuted in (
        (ZCDP(0.99 * rho), True),
        (ZCDP(1.02 * rho), False),
        (RenyiDP(3.0, 0.99 * renyi), True),
        (RenyiDP(3.0, 1.02 * renyi), False),
    ):
        found = judged(guarantee, hits, 0.01)
        assert found.refuted is refuted, guarantee
        assert found.evidence.claimed is not None
        assert (found.evidence.lower > found.evidence.claimed) is refuted


def test_a_gaussian_threshold_shows_its_mu_and_half_the_square_of_it_at_most() -> None:
    hits = Hits(round(TRIALS * norm.sf(-0.5)), round(TRIALS * norm.sf(0.5)), TRIALS)
    assert 0.99 < judged(GaussianDP(9.0), hits).evidence.lower < 1
    assert 0.25 < judged(ZCDP(9.0), hits).evidence.lower < 0.5


def test_rates_that_do_not_part_show_nothing() -> None:
    for hits in (Hits(50, 50, 100), Hits(20, 80, 100), Hits(51, 50, 100), Hits(0, 0, 100)):
        assert judged(ZCDP(9.0), hits).evidence.lower == 0
        assert judged(GaussianDP(9.0), hits).evidence.lower == 0
        assert judged(PureDP(9.0), hits).evidence.lower == 0


def test_bad_orders_are_refused() -> None:
    with pytest.raises(ValueError, match="orders must be >= 1"):
        bernoulli_renyi(0.5, 0.5, 0.5)


@pytest.mark.parametrize("q", [0.0, 0.5, 0.99, 1.0])
@pytest.mark.parametrize("mu", [0.5, 6.0, 40.0])
def test_what_a_gaussian_claim_allows_is_its_own_parameter(mu: float, q: float) -> None:
    """Not the difference of two quantiles near 1, which is 0 or infinite."""
    assert event_loss(GaussianDP(mu)).claimed_at(q) == mu
