"""``dp.calibrate`` returns a private threshold with what is proved of it, and why."""

from __future__ import annotations

import numpy as np
import pytest

import dpcp_audit as dp

SCORES = np.random.default_rng(0).random(1000)


def test_a_threshold_comes_with_what_is_proved_of_it() -> None:
    found = dp.calibrate(SCORES, alpha=0.1, guarantee=dp.ZCDP(0.5), rng=1)
    assert 0.88 < found.threshold < 0.95
    assert (found.guarantee, found.coverage) == (dp.ZCDP(0.5), dp.Coverage(0.9))
    assert not found.every_label
    again = dp.calibrate(SCORES, alpha=0.1, guarantee=dp.ZCDP(0.5), rng=1)
    assert again.threshold == found.threshold
    sure = dp.calibrate(SCORES, alpha=0.1, guarantee=dp.ZCDP(0.5), confidence=0.99, rng=1)
    assert sure.coverage == dp.Coverage(0.9, confidence=0.99)
    assert sure.calibrator.rank > found.calibrator.rank


@pytest.mark.parametrize("guarantee", [dp.ZCDP(0.5), dp.PureDP(1.0), dp.LocalDP(3.0)])
def test_the_choice_does_not_look_at_the_scores(guarantee) -> None:
    """Nor does the reason: only the threshold differs."""
    found = [
        dp.calibrate(scores, alpha=0.2, guarantee=guarantee, rng=0)
        for scores in (SCORES, np.zeros(1000), SCORES**20)
    ]
    assert len({each.reason for each in found}) == 1
    assert len({each.calibrator for each in found}) == 1


def test_the_reason_names_the_others_and_the_price_of_privacy() -> None:
    found = dp.calibrate(SCORES, alpha=0.1, guarantee=dp.ZCDP(0.5), rng=0)
    assert found.reason.startswith("P-COQS, upper end, was chosen: it aims at rank 907 of 1000")
    assert "ExponQ, full budget: 911.1; without privacy: 901" in found.reason
    pure = dp.calibrate(SCORES, alpha=0.1, guarantee=dp.PureDP(1.0), rng=0)
    assert pure.reason.startswith("ExponQ, full budget, was chosen")
    assert "P-COQS" not in pure.reason


def test_too_few_scores_return_the_bound_and_say_so() -> None:
    found = dp.calibrate([2.0] * 50, alpha=0.1, guarantee=dp.ZCDP(0.5), bounds=(0, 5), rng=0)
    assert (found.threshold, found.every_label, found.coverage) == (5.0, True, dp.Coverage(1.0))
    assert "sets hold every label" in found.reason


def test_scores_beyond_the_bounds_are_refused() -> None:
    with pytest.raises(ValueError, match=r"scores must lie in \[0, 1\]"):
        dp.calibrate([0.5, 1.5], alpha=0.1, guarantee=dp.ZCDP(0.5))


@pytest.mark.parametrize("rng", ["x", -1, 1.5])
def test_a_seed_that_is_none_is_refused_even_where_nothing_is_drawn(rng) -> None:
    with pytest.raises(ValueError, match="rng must be"):
        dp.calibrate([0.5] * 50, alpha=0.1, guarantee=dp.ZCDP(0.5), rng=rng)
