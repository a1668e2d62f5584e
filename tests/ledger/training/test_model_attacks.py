"""What each attack scores: by hand, against fitted Gaussians, and what it refuses."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.stats import norm
from support.cohorts import cohort, three_labels

from dpcp_ledger.training.model_attacks import (
    LiRA,
    LossThreshold,
    View,
)

if TYPE_CHECKING:
    from dpcp_ledger.training.model_attacks import Cohort


def gaussian_shadows(models: int = 4000) -> Cohort:
    """Return shadows whose logits are N(2, 1) for members and N(0, 4) for others."""
    rng = np.random.default_rng(0)
    members = rng.random((models, 3)) < 0.5
    logits = np.where(
        members, rng.normal(2.0, 1.0, members.shape), rng.normal(0.0, 2.0, members.shape)
    )
    return cohort(members, 1 / (1 + np.exp(-logits)))


def test_signals_by_hand() -> None:
    seen = three_labels()
    log_odds = [[0.0, math.log(0.125 / 0.875)]]
    assert View.PROBABILITIES.signal(seen) == pytest.approx(np.array(log_odds))
    # scores 1 − p: 0.5, 0.75, 0.75 and 0.5, 0.625, 0.875 against 0.7
    assert View.SETS.signal(seen).tolist() == [[3.0, -2.0]]


def test_a_certain_model_has_a_finite_signal() -> None:
    sure = cohort(np.array([[True, False]]), np.array([[1.0, 0.0]]))
    assert View.PROBABILITIES.signal(sure) == pytest.approx(np.log(1e16) * np.array([[1, -1]]))


def test_the_loss_threshold_is_the_signal() -> None:
    seen = three_labels()
    score = LossThreshold().fit(seen, View.PROBABILITIES)
    assert score(seen).tolist() == View.PROBABILITIES.signal(seen).tolist()


@pytest.mark.parametrize("pooled", [False, True])
def test_lira_is_the_ratio_of_the_fitted_gaussians(pooled) -> None:
    shadows = gaussian_shadows()
    signal, inside = View.PROBABILITIES.signal(shadows), shadows.members
    score = LiRA(global_variance=pooled).fit(shadows, View.PROBABILITIES)
    seen = shadows.part(0, 7)
    for record in range(3):
        laws = []
        for chosen in (inside, ~inside):
            own = signal[chosen[:, record], record]
            residuals = [signal[chosen[:, r], r] - signal[chosen[:, r], r].mean() for r in range(3)]
            spread = (
                math.sqrt(sum((r**2).sum() for r in residuals) / (chosen.sum() - 3))
                if pooled
                else own.std(ddof=1)
            )
            laws.append(norm(own.mean(), spread))
        expected = laws[0].logpdf(signal[:7, record]) - laws[1].logpdf(signal[:7, record])
        assert score(seen)[:, record] == pytest.approx(expected)


def test_offline_lira_looks_at_shadows_without_the_record_alone() -> None:
    shadows = gaussian_shadows()
    moved = cohort(shadows.members, np.where(shadows.members, 0.5, shadows.probabilities[..., 0]))
    attack = LiRA(online=False)
    scores = [attack.fit(one, View.PROBABILITIES)(shadows.part(0, 5)) for one in (shadows, moved)]
    assert scores[0] == pytest.approx(scores[1])
    signal = View.PROBABILITIES.signal(shadows)
    outside = signal[~shadows.members[:, 1], 1]
    assert scores[0][:, 1] == pytest.approx((signal[:5, 1] - outside.mean()) / outside.std(ddof=1))


def test_lira_on_sets_weighs_answers_by_their_frequency() -> None:
    members = np.array([[True], [True], [True], [False], [False], [False]])
    # two labels: {0} of signal 2 where p > 1/2, else {1} of signal −1
    shadows = cohort(members, np.array([[0.9], [0.9], [0.1], [0.9], [0.1], [0.1]]))
    score = LiRA().fit(shadows, View.SETS)
    common = {"in": (2 + 0.5) / 4, "out": (1 + 0.5) / 4}  # of {0}
    expected = [
        math.log((2 + 2 * common["in"]) / (1 + 2 * common["out"])),
        math.log((1 + 2 * (1 - common["in"])) / (2 + 2 * (1 - common["out"]))),
    ]
    seen = cohort(members[:2], np.array([[0.9], [0.1]]))
    assert score(seen)[:, 0] == pytest.approx(expected)
    assert score(cohort(members[:1], np.array([[0.5]]))).tolist() == [[0.0]]  # {0, 1}: not seen


def test_lira_refuses_too_few_shadows() -> None:
    members = np.array([[True], [True], [False]])
    with pytest.raises(ValueError, match="shadows must be at least two with and without every"):
        LiRA().fit(cohort(members, np.full((3, 1), 0.5)), View.PROBABILITIES)
