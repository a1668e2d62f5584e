"""Broken mechanisms that the membership and local checks must catch, beside their correct twins."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom
from support.membership import game, played
from support.refusals import WaldTest, refutes
from support.samplers import context, laplace

from dpcp_audit.audits.release_membership import membership_pvalues
from dpcp_audit.mechanisms.local_labels import LDPCPLabels
from dpcp_audit.mechanisms.local_scores import LDPCPScores
from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.stats.rates import clopper_pearson
from dpcp_audit.stats.ratio_test import RatioTest, rate_detected
from dpcp_audit.targets.answers import PROBED
from dpcp_audit.words.guarantees import LocalDP, PureDP
from dpcp_audit.words.results import Verdict
from dpcp_ledger.mechanisms.histlap import SplitConformal
from dpcp_ledger.mechanisms.releases import (
    BisectionBits,
    conformal_threshold,
    label_report,
    pcoqs_threshold,
    score_answer,
)


@pytest.mark.known_bad
@pytest.mark.parametrize("resolution", [2**-5, 1e-10])
def test_pcoqs_with_half_the_noise(resolution: float) -> None:
    """Half the noise is four times ρ; the claim has room, so less than that is not seen."""
    right = PCOQS(alpha=0.1, rho=0.5, resolution=resolution)
    wrong = replace(right, rho=4 * right.rho)
    assert wrong.noise_scale == pytest.approx(right.noise_scale / 2)
    caught = played(pcoqs_threshold(wrong, n=50, claim=right.guarantee))
    assert caught.verdict is Verdict.REFUTED
    assert played(pcoqs_threshold(right, n=50)).verdict is Verdict.CONSISTENT


@pytest.mark.known_bad
def test_a_threshold_without_noise() -> None:
    check = conformal_threshold(SplitConformal(alpha=0.1), n=50, claim=PureDP(1.0), n_samples=8000)
    outcome = played(check)
    assert outcome.verdict is Verdict.REFUTED
    assert outcome.evidence.lower > 0.98
    assert played(replace(check, guarantee=PureDP(12.0))).verdict is not Verdict.REFUTED


@pytest.mark.known_bad
def test_reports_of_twice_the_epsilon() -> None:
    search = {"alpha": 0.1, "rounds": 10, "window_width": 0.05}
    for twins in (
        [label_report(LDPCPLabels(epsilon=e, k=3, **search)) for e in (1.0, 2.0)],
        [score_answer(LDPCPScores(epsilon=e, **search)) for e in (1.0, 2.0)],
    ):
        right, wrong = twins
        assert played(right).verdict is Verdict.CONSISTENT
        assert played(replace(wrong, guarantee=LocalDP(1.0))).verdict is Verdict.REFUTED


LEVEL, ALARM = 0.05, 1e-6
POWER = WaldTest(allowed=0.1, excessive=0.4, false_alarm=ALARM)


def test_the_error_is_divided_between_the_advantage_and_the_most_telling_threshold() -> None:
    """Nothing is left to chance: each has half of what the probe leaves, in its own numbers."""
    check = game(laplace(1.0), PureDP(1.0), n_samples=2000)
    result = check.play(context(0, significance=LEVEL))
    half, games = (1 - PROBED) * LEVEL / 2, 1000
    for rate in (result.points[0].tpr, result.points[0].fpr):
        limits = clopper_pearson(round(rate.value * games), games, significance=half)
        assert (rate.lower, rate.upper) == pytest.approx(limits, rel=1e-12)
    assert result.telling is not None
    assert result.telling.evidence.confidence == pytest.approx(1 - half)


@pytest.mark.statistical(false_alarm=1e-06)
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


@pytest.mark.statistical(false_alarm=1e-06)
def test_the_smallest_rate_is_refuted() -> None:
    """False alarm at most 1e-6: runs at the stated TPR, each refuting with P ≥ 0.9.

    A power of 0.6 passes with probability at most 1e-4.

    A release gives the target away with probability ``tpr``, and looks so without it with
    probability ``fpr``; 0.95 is promised where the pilot finds the threshold.
    """
    fpr, claim = 0.01, PureDP(1.0)
    test = RatioTest(n=1000, n_prime=1000, epsilon=1.0)
    tpr = rate_detected(test, fpr, significance=0.999 * LEVEL / 2)

    def sample(value: float, size: int, *, rng: np.random.Generator) -> np.ndarray:
        return rng.random(size) < (tpr if value else fpr)

    check = game(sample, claim, n_samples=2000)
    assert not POWER.exceeded_by(not seen for seen in refutes(check, significance=LEVEL))


@pytest.mark.statistical(false_alarm=1e-06)
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
