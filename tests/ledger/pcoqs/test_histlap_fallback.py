"""The chance of HistLap's published fallback, against the mechanism's own draws."""

from __future__ import annotations

import numpy as np
import pytest

from dpcp_audit.laws.populations import Uniform
from dpcp_audit.words.guarantees import Relation
from dpcp_audit.words.results import Verdict
from dpcp_ledger.mechanisms.histlap import EmptyHistogram, HistLap
from dpcp_ledger.pcoqs.other_quantiles import median_shown


def published(**fields: float) -> HistLap:
    setting = {"alpha": 0.1, "epsilon": 0.5} | fields
    return HistLap(**setting, noise=Relation.ADD_REMOVE, empty=EmptyHistogram.MEDIAN)


@pytest.mark.statistical(false_alarm=1e-8)
def test_a_point_is_released_that_the_neighbour_never_releases() -> None:
    """In 40,000 draws of three bins the share has a standard error of 0.0011."""
    mechanism = published(n_bins=3)
    found = median_shown(mechanism, n=2)
    assert found.verdict is Verdict.REFUTED
    rng = np.random.default_rng(0)
    own, other = (
        mechanism.sample(found.witness[side], 40_000, rng=rng)
        for side in ("scores", "neighbour_scores")
    )
    (point,) = found.witness["event"]
    assert np.isclose(own, point, rtol=0, atol=1e-15).mean() == pytest.approx(
        found.value, abs=0.007
    )
    assert not np.isclose(other, point, rtol=0, atol=1e-15).any()


@pytest.mark.known_bad
def test_the_upper_bound_in_its_place_shows_nothing() -> None:
    mechanism = HistLap(alpha=0.1, epsilon=0.5, n_bins=3, noise=Relation.ADD_REMOVE)
    (point,) = median_shown(published(n_bins=3), n=2).witness["event"]
    scores = median_shown(published(n_bins=3), n=2).witness["scores"]
    assert (mechanism.sample(scores, 10_000, rng=0) != point).all()


def test_trials_do_not_know_the_median() -> None:
    with pytest.raises(ValueError, match="empty must be upper-bound"):
        published().trials(Uniform(), n=10, trials=1)
