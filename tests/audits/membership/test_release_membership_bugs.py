"""Broken mechanisms that the membership and local checks must catch, beside their correct twins."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.membership import game, played
from support.refusals import most_refusals
from support.samplers import context, laplace

from dpcp_audit.mechanisms.local_labels import LDPCPLabels
from dpcp_audit.mechanisms.local_scores import LDPCPScores
from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.mechanisms.quantiles import SplitConformal
from dpcp_audit.words.guarantees import LocalDP, PureDP
from dpcp_audit.words.results import Verdict
from dpcp_ledger.mechanisms.release_games import (
    conformal_threshold,
    label_report,
    pcoqs_threshold,
    score_answer,
)

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
