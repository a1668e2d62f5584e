"""The loss that an attack shows, by hand, and one that is known from below alone."""

from __future__ import annotations

import math

import pytest
from scipy.special import ndtri

from dpcp_audit.audits.estimates.shown_losses import Rate, attack_loss, from_below
from dpcp_audit.mechanisms.dpsgd.subsampled_gaussian import SubsampledGaussian
from dpcp_audit.words.guarantees import ApproxDP, GaussianDP, PureDP
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import Estimate

HITS, ALARMS = Rate(0.6, 0.5, 0.7), Rate(0.2, 0.1, 0.3)
LOG = math.log


@pytest.mark.parametrize(
    ("claim", "quantity", "ends"),
    [
        (PureDP(1.0), Quantity.EPSILON, (LOG(5 / 3), LOG(3.0), LOG(7.0))),
        (ApproxDP(1.0, 0.05), Quantity.EPSILON, (LOG(0.45 / 0.3), LOG(0.55 / 0.2), LOG(6.5))),
        (GaussianDP(1.0), Quantity.MU, tuple(ndtri((0.5, 0.6, 0.7)) - ndtri((0.3, 0.2, 0.1)))),
    ],
)
def test_the_ends_are_those_of_the_rates(claim, quantity, ends) -> None:
    found = attack_loss(claim, HITS, ALARMS, confidence=0.95, detail="of it")
    assert found.quantity is quantity
    assert (found.lower, found.value, found.partition_upper) == pytest.approx(ends)
    assert found.upper == math.inf
    assert (found.confidence, found.detail) == (0.95, "of it (the whole loss may be larger)")


def test_a_training_is_measured_by_its_gaussian_loss() -> None:
    claim = SubsampledGaussian(sampling_rate=0.5, steps=2, noise_multiplier=2.0)
    found = attack_loss(claim, HITS, ALARMS, confidence=0.95, detail="of it")
    assert found.quantity is Quantity.MU


def test_an_attack_that_may_be_worse_than_a_guess_shows_nothing_but_has_an_upper_end() -> None:
    found = attack_loss(PureDP(1.0), ALARMS, HITS, confidence=0.95, detail="")
    assert (found.lower, found.value) == (0.0, 0.0)
    assert found.partition_upper == pytest.approx(LOG(7.0))


def test_no_alarm_leaves_the_upper_end_open() -> None:
    found = attack_loss(PureDP(1.0), HITS, Rate(0.0, 0.0, 0.1), confidence=0.95, detail="")
    assert found.value == found.lower == pytest.approx(LOG(5.0))
    assert found.partition_upper == found.upper == math.inf


def test_a_lower_end_alone_says_why() -> None:
    known = Estimate(
        quantity=Quantity.RHO, value=2.0, lower=1.0, upper=3.0, confidence=0.9, at={}, detail="x"
    )
    found = from_below(known, why="too few")
    assert (found.value, found.lower, found.upper) == (2.0, 1.0, math.inf)
    assert (found.detail, found.confidence) == ("from below alone: too few", 0.9)
