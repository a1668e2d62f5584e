"""The level of membership checks on mechanisms that meet their claim with equality.

Every count of refusals of a true claim is held against Binomial(repetitions, 0.05); each of
the tests raises a false alarm with probability at most 1e-6.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import pytest
from level_limits import LevelTest
from scipy.stats import binom
from support.membership import game
from support.refusals import most_refusals, refusals
from support.samplers import context, pair

from dpcp_audit.audits.event_power import rates_refuted
from dpcp_audit.audits.membership.release_games import label_report, pcoqs_threshold
from dpcp_audit.audits.membership.release_membership import MembershipInference, OperatingPoint
from dpcp_audit.audits.membership.score_attacks import BisectionBits, membership_pvalues
from dpcp_audit.guarantees import (
    ApproxDP,
    PureDP,
)
from dpcp_audit.mechanisms.ldpcp.label_calibration import LDPCPLabels
from dpcp_audit.mechanisms.pcoqs.release import PCOQS

pytestmark = pytest.mark.statistical

LEVEL, ALARM = 0.05, 1e-6


def test_pcoqs_held_to_its_exact_advantage() -> None:
    """False alarm at most 1e-6: the claim is (0, TV)-DP of the worst pair, met with equality."""
    mechanism = PCOQS(alpha=0.1, rho=0.5, resolution=2**-5)
    check = pcoqs_threshold(mechanism, n=50, n_samples=1000)
    assert check.exact is not None
    claim = ApproxDP(0.0, check.exact().total_variation())
    tight = pcoqs_threshold(mechanism, n=50, n_samples=1000, claim=claim)
    count = refusals(tight, repetitions=400, significance=LEVEL)
    assert count <= most_refusals(400, level=LEVEL, false_alarm=ALARM)


def test_a_label_report_with_two_labels() -> None:
    """False alarm at most 1e-6; with k = 2 the report's advantage is all that ε-LDP allows."""
    mechanism = LDPCPLabels(alpha=0.1, rounds=5, window_width=0.05, epsilon=1.0, k=2)
    check = label_report(mechanism, n_samples=1000)
    count = refusals(check, repetitions=400, significance=LEVEL)
    assert count <= most_refusals(400, level=LEVEL, false_alarm=ALARM)


class Misses(MembershipInference):
    """Counts the plays in which a threshold's box leaves its true rates out.

    Of releases that are all alike the p-values are uniform, so that both rates of a threshold
    are its level.
    """

    missed: ClassVar[list[bool]] = []

    def _point(self, purpose, level, member, other, share) -> OperatingPoint:
        point = super()._point(purpose, level, member, other, share)
        self.missed.append(point.tpr.lower > level or level > point.fpr.upper)
        return point


def test_the_boxes_of_all_thresholds_hold_at_once() -> None:
    """False alarm at most 1e-6: each of 400 plays has a miss with probability at most 0.3.

    At three times that it passes with probability below 1e-15. Boxes at the whole significance
    each, undivided, miss in about half of the plays.
    """
    test, plays = LevelTest(level=0.3, repetitions=400, false_alarm=ALARM), 0
    assert test.passes(3 * test.level) < 1e-15
    check = Misses(
        sample=lambda value, size, *, rng: np.zeros(size),
        guarantee=PureDP(1.0),
        neighbours=pair(1, 0),
        n_samples=1000,
    )
    for seed in range(test.repetitions):
        Misses.missed.clear()
        check.play(context(seed, significance=test.level))
        assert len(Misses.missed) == 4
        plays += any(Misses.missed)
    assert plays <= test.most


def test_pvalues_hold_their_false_positive_rate() -> None:
    """False alarm at most 1e-6: 4000 fresh p-values, ties among them, at four rates."""
    rng = np.random.default_rng(0)
    drawn = np.array(
        [
            membership_pvalues(row[:1], row[1:], rng=rng)[0]
            for row in rng.integers(5, size=(4000, 20)).astype(float)
        ]
    )
    for rate in (0.001, 0.01, 0.2, 0.7):
        count = int((drawn <= rate).sum())
        assert binom.cdf(count, 4000, rate) > ALARM / 8
        assert binom.sf(count - 1, 4000, rate) > ALARM / 8


def test_the_smallest_rate_is_refuted() -> None:
    """False alarm at most 1e-6: 200 runs at the stated TPR, each refuting with P ≥ 0.9.

    A release gives the target away with probability ``tpr``, and looks so without it with
    probability ``fpr``; 0.95 is promised where the pilot finds the threshold.
    """
    fpr, claim = 0.01, PureDP(1.0)
    (tpr,) = rates_refuted(claim, [fpr], 2000, significance=LEVEL / 4)

    def sample(value: float, size: int, *, rng: np.random.Generator) -> np.ndarray:
        return rng.random(size) < (tpr if value else fpr)

    check = game(sample, claim, n_samples=4000)
    assert refusals(check, repetitions=200, significance=LEVEL) >= binom.ppf(ALARM, 200, 0.9)


def test_the_bits_reach_the_best_attack() -> None:
    """False alarm at most 1e-6: the interval at 1e-6 of an attack that is nearly the best one.

    At five rounds the bits say all that the release says.
    """
    mechanism = PCOQS(alpha=0.1, rho=0.5, resolution=2**-5)
    check = pcoqs_threshold(mechanism, n=50, n_samples=40_000)
    assert check.exact is not None
    variation = check.exact().total_variation()
    reached = check.play(context(0, significance=ALARM)).advantage
    assert reached.lower <= variation
    assert reached.upper > 0.97 * variation
    bits = BisectionBits(bounds=(0.0, 1.0), rounds=5, resolution=2**-5)
    releases = mechanism.sample(mechanism.worst_pair(50)[0], 5000, rng=1)
    distinct = len(np.unique(bits.bits(releases), axis=1).T)
    assert distinct <= len(np.unique(releases)) <= 2**5
    assert math.isfinite(bits.fit(releases, releases)(releases).sum())
