"""A threshold for each class: what a record moves, and coverage of a rare class."""

from __future__ import annotations

import numpy as np
import pytest
from class_conditional import ClassConditional

from dpcp_audit.mechanisms.pcoqs import PCOQS

MECHANISM = ClassConditional(search=PCOQS(alpha=0.1, rho=0.5), n_classes=2)


def data(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return scores and labels; the rare class has the highest scores."""
    labels = (np.arange(4000) < 200).astype(int)
    return np.where(labels == 1, 0.9 + 0.1 * rng.random(4000), 0.9 * rng.random(4000)), labels


@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.5, 0.99])
def test_one_more_score_moves_count_less_rank_by_one_at_most(alpha: float) -> None:
    mechanism = ClassConditional(search=PCOQS(alpha=alpha, rho=0.5), n_classes=2)
    ranks = np.array([mechanism.rank(n) for n in range(500)])
    moved = np.diff(ranks)
    assert set(moved) <= {0, 1}
    assert np.abs(np.subtract.outer([0, 1], moved)).max() <= 1


@pytest.mark.statistical(false_alarm=1e-8)
def test_a_rare_class_is_covered_that_one_threshold_leaves_out() -> None:
    """Means over 200 releases, with a standard error of 0.006 at most in the rare class."""
    scores, labels = data(np.random.default_rng(0))
    found = MECHANISM.sample(scores, labels, 200, rng=np.random.default_rng(1))
    one = MECHANISM.search.sample(scores, 200, rng=np.random.default_rng(2))
    rare = scores[labels == 1]
    assert (rare[:, None] <= found[:, 1]).mean() == pytest.approx(0.9, abs=0.05)
    assert (scores[labels == 0][:, None] <= found[:, 0]).mean() == pytest.approx(0.9, abs=0.01)
    assert (rare[:, None] <= one).mean() < 0.1


def test_a_class_without_scores_is_searched_and_paid_for() -> None:
    assert MECHANISM.guarantee.rho == pytest.approx(1.0)
    found = MECHANISM.sample([0.2, 0.3], [0, 0], 50, rng=3)
    assert found.shape == (50, 2)
    assert len(np.unique(found[:, 1])) > 1


@pytest.mark.known_bad
def test_a_rank_of_all_records_would_cost_more() -> None:
    """A rank by n in the place of n_y covers no rare class at all: it is never reached."""
    scores, labels = data(np.random.default_rng(0))
    own = np.sort(scores[labels == 1])
    assert MECHANISM.search.rank(scores.size) > own.size
    assert MECHANISM.search.rank(own.size) <= own.size


def test_arguments_are_checked() -> None:
    with pytest.raises(ValueError, match="labels must have shape"):
        MECHANISM.sample([0.2, 0.3], [0], 1)
    with pytest.raises(ValueError, match="n_classes"):
        ClassConditional(search=MECHANISM.search, n_classes=1)
