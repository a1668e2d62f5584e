"""Black-box audits of code with a planted bug, and of its correct twin."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.blackbox import gaussian_mean, gaussian_sum, laplace_mean, search
from support.leaks import scattered

from dpcp_audit.audits.blackbox import confirm
from dpcp_audit.audits.search.record_pairs import RecordPairs, ValuePairs
from dpcp_audit.audits.search.score_pairs import ScorePairs
from dpcp_audit.laws.laws import GaussianPair
from dpcp_audit.words.checks import Context
from dpcp_audit.words.guarantees import ZCDP, ApproxDP, LocalDP, PureDP, Relation
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from dpcp_audit.audits.search.pair_space import Sampler

pytestmark = pytest.mark.known_bad

ADDED = ScorePairs(sizes=(50, 2, 5), relation=Relation.ADD_REMOVE)


def calibrated(scale: float) -> Sampler:
    """A threshold from (probabilities, labels): the noisy mean of the scores 1 − p_y."""

    def sample(value, size, *, rng) -> np.ndarray:
        probabilities, labels = value
        scores = 1 - probabilities[np.arange(labels.size), labels]
        return laplace_mean(scale)(scores, size, rng=rng)

    return sample


@pytest.mark.parametrize(
    ("bad", "correct", "guarantee", "pairs", "draws"),
    [
        (gaussian_sum(0.5), gaussian_sum(1.0), ZCDP(0.5), ADDED, 20_000),
        (
            gaussian_mean(0.6),
            gaussian_mean(1.0),
            ApproxDP(1.0, GaussianPair(1.0).delta_at(1.0)),
            ScorePairs(sizes=(100, 1, 2, 3, 5, 10, 20)),
            20_000,
        ),
        (calibrated(0.5), calibrated(1.0), PureDP(1.0), RecordPairs(), 20_000),
        (
            calibrated(0.5),
            calibrated(1.0),
            PureDP(1.0),
            RecordPairs(relation=Relation.ONE_LABEL),
            20_000,
        ),
    ],
    ids=["gaussian-add-remove", "gaussian-approx", "calibrator", "one-label"],
)
def test_a_planted_bug_is_found_and_its_twin_is_not(
    bad, correct, guarantee, pairs, draws: int
) -> None:
    """Of shapes and claims that the zoo does not have."""
    assert search(bad, guarantee, pairs, draws=draws).verdict is Verdict.REFUTED
    assert search(correct, guarantee, pairs, draws=draws).verdict is not Verdict.REFUTED


@pytest.mark.parametrize(("leak", "draws"), [(scattered, 20_000)])
def test_a_leak_that_no_interval_shows_is_found_and_replays(leak, draws: int) -> None:
    """Ten thousand scattered outcomes of loss ±1 are seen with 10,000 outputs of either input."""
    pairs, claim = ValuePairs(n_values=2), LocalDP(0.2)
    found = search(leak(1.0), claim, pairs, draws=draws)
    assert found.verdict is Verdict.REFUTED
    assert 0.2 < found.evidence.lower <= 1.0
    witness = json.loads(json.dumps(found.witness))
    assert {"game", "event"} & set(witness)
    context = Context(seed=1, name="again", significance=0.05)
    again = confirm(witness, leak(1.0), guarantee=claim, context=context)
    assert again.verdict is Verdict.REFUTED
    twin = search(leak(0.2), claim, pairs, draws=draws)
    assert twin.verdict is not Verdict.REFUTED
