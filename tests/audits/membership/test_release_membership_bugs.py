"""Broken mechanisms that the membership and local checks must catch, beside their correct twins."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.membership import game, played
from support.refusals import most_refusals
from support.samplers import context, laplace

from dpcp_audit.audits.local import LocalPrivacy
from dpcp_audit.mechanisms.conformal import SplitConformal
from dpcp_audit.mechanisms.ldpcp.label_calibration import LDPCPLabels
from dpcp_audit.mechanisms.ldpcp.score_calibration import LDPCPScores
from dpcp_audit.mechanisms.pcoqs.release import PCOQS
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse
from dpcp_audit.words.guarantees import LocalDP, PureDP
from dpcp_audit.words.results import Verdict
from dpcp_ledger.mechanisms.release_games import (
    conformal_threshold,
    label_report,
    pcoqs_threshold,
    score_answer,
)

if TYPE_CHECKING:
    from dpcp_audit.audits.local import Randomizer
    from dpcp_audit.words.arrays import IntArray

pytestmark = pytest.mark.known_bad


@pytest.mark.parametrize("resolution", [2**-5, 1e-10])
def test_pcoqs_with_half_the_noise(resolution: float) -> None:
    """Half the noise is four times ρ; the claim has room, so less than that is not seen."""
    right = PCOQS(alpha=0.1, rho=0.5, resolution=resolution)
    wrong = replace(right, rho=4 * right.rho)
    assert wrong.noise_scale == pytest.approx(right.noise_scale / 2)
    caught = played(pcoqs_threshold(wrong, n=50, claim=right.guarantee))
    assert caught.verdict is Verdict.REFUTED
    assert played(pcoqs_threshold(right, n=50)).verdict is Verdict.CONSISTENT


def test_a_threshold_without_noise() -> None:
    check = conformal_threshold(SplitConformal(alpha=0.1), n=50, claim=PureDP(1.0), n_samples=8000)
    outcome = played(check)
    assert outcome.verdict is Verdict.REFUTED
    assert outcome.evidence.lower > 0.98
    assert played(replace(check, guarantee=PureDP(12.0))).verdict is not Verdict.REFUTED


def test_reports_of_twice_the_epsilon() -> None:
    search = {"alpha": 0.1, "rounds": 10, "window_width": 0.05}
    for twins in (
        [label_report(LDPCPLabels(epsilon=e, k=3, **search)) for e in (1.0, 2.0)],
        [score_answer(LDPCPScores(epsilon=e, **search)) for e in (1.0, 2.0)],
    ):
        right, wrong = twins
        assert played(right).verdict is Verdict.CONSISTENT
        assert played(replace(wrong, guarantee=LocalDP(1.0))).verdict is Verdict.REFUTED


_GAMES = 60


@dataclass(frozen=True)
class Response:
    """k-ary response that keeps the label with some probability, whatever ε and k are."""

    keep: float
    k: int
    reach: int = 0
    """How many of the other labels are drawn from; all of them unless given."""

    def __call__(self, values: IntArray, *, rng: np.random.Generator) -> IntArray:
        kept = rng.random(values.shape) < self.keep
        moved = values + rng.integers(1, (self.reach or self.k - 1) + 1, size=values.shape)
        return np.where(kept, values, moved % self.k)


def local_verdict(randomizer: Randomizer, *, epsilon: float, k: int) -> Verdict:
    check = LocalPrivacy(randomizer=randomizer, guarantee=LocalDP(epsilon), n_inputs=k, n_outputs=k)
    return check(context(0, significance=1e-6)).verdict


def keep(epsilon: float, k: int) -> float:
    return math.exp(epsilon) / (math.exp(epsilon) + k - 1)


@pytest.mark.parametrize(
    ("wrong", "epsilon", "k"),
    [
        (Response(keep(1.0, 2), k=10), 1.0, 10),
        (Response(keep(1.0, 5), k=6, reach=4), 1.0, 6),
        (Response(keep(1.0, 5), k=5, reach=2), 1.0, 5),
        (Response(1 - 1 / (1 + math.e**2), k=2), 1.0, 2),
        (Response(keep(1.0, 4) + (1 - keep(1.0, 4)) / 4, k=4), 1.0, 4),
    ],
    ids=["keeps-as-for-two", "a-label-short", "near-alternatives", "flips-for-2ε", "beta-and-keep"],
)
def test_responses_gone_wrong(wrong: Response, epsilon: float, k: int) -> None:
    right = KaryRandomizedResponse(epsilon, k)
    assert local_verdict(wrong, epsilon=epsilon, k=k) is Verdict.REFUTED
    assert local_verdict(right.sample, epsilon=epsilon, k=k) is Verdict.CONSISTENT


def test_the_largest_measured_advantage_taken_as_the_truth_breaks_the_level() -> None:
    """The planted audit: compare the measured ROC with the bound, threshold by threshold."""
    claim = PureDP(1.0)
    check = game(laplace(1.0), claim, n_samples=1000)
    results = [check.play(context(seed)) for seed in range(_GAMES)]
    naive = sum(bool((r.roc_tpr > claim.power(r.roc_fpr) + 1e-9).any()) for r in results)
    honest = sum(
        r.advantage.lower > claim.advantage() or (r.telling is not None and r.telling.refuted)
        for r in results
    )
    allowed = most_refusals(_GAMES, level=0.05, false_alarm=1e-6)
    assert naive > 2 * allowed
    assert honest <= allowed
