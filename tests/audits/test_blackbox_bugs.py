"""Black-box audits of code with a planted bug, and of its correct twin."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.blackbox import gaussian_mean, gaussian_sum, laplace_mean, search
from support.leaks import scattered

from dpcp_audit.audits.blackbox import confirm
from dpcp_audit.audits.search import pilot_hypotheses
from dpcp_audit.audits.search.record_pairs import RecordPairs, ValuePairs
from dpcp_audit.audits.search.score_pairs import ScorePairs, resized
from dpcp_audit.laws.laws import GaussianPair
from dpcp_audit.words.checks import Context
from dpcp_audit.words.guarantees import ZCDP, ApproxDP, LocalDP, PureDP, Relation
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from dpcp_audit.audits.search.pair_space import Candidate, Sampler


ADDED = ScorePairs(sizes=(50, 2, 5), relation=Relation.ADD_REMOVE)


def calibrated(scale: float) -> Sampler:
    """A threshold from (probabilities, labels): the noisy mean of the scores 1 − p_y."""

    def sample(value, size, *, rng) -> np.ndarray:
        probabilities, labels = value
        scores = 1 - probabilities[np.arange(labels.size), labels]
        return laplace_mean(scale)(scores, size, rng=rng)

    return sample


@pytest.mark.known_bad
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


@pytest.mark.known_bad
@pytest.mark.parametrize(("leak", "draws"), [(scattered, 20_000)])
def test_a_leak_that_no_interval_shows_is_found_and_replays(leak, draws: int) -> None:
    """Ten thousand scattered outcomes of loss ±1 are seen with 10,000 outputs of either input."""
    pairs, claim = ValuePairs(n_values=2), LocalDP(0.2)
    found = search(leak(1.0), claim, pairs, draws=draws)
    assert found.verdict is Verdict.REFUTED
    assert 0.2 < found.evidence.lower <= 1.0
    counts = found.evidence.sample.counts
    assert len(counts) == 2 or counts[0].allowed < counts[0].hits <= counts[0].trials
    witness = json.loads(json.dumps(found.witness))
    assert {"game", "event"} & set(witness)
    context = Context(seed=1, name="again", significance=0.05)
    again = confirm(witness, leak(1.0), guarantee=claim, context=context)
    assert again.verdict is Verdict.REFUTED
    twin = search(leak(0.2), claim, pairs, draws=draws)
    assert twin.verdict is not Verdict.REFUTED


@pytest.mark.known_bad
def test_without_the_game_that_leak_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """No event and no moment shows it: the game is not a second way to the same."""
    monkeypatch.setattr(pilot_hypotheses, "choose_game", lambda *_args, **_options: None)
    found = search(scattered(1.0), LocalDP(0.2), ValuePairs(n_values=2), draws=20_000)
    assert found.verdict is not Verdict.REFUTED


def distance(space: ScorePairs, candidate: Candidate) -> int:
    """How many records the two inputs differ in, as multisets."""
    value, neighbour = (list(scores) for scores in candidate.inputs)
    if space.relation is Relation.SUBSTITUTION:
        assert len(value) == len(neighbour)
    for score in list(value):
        if score in neighbour:
            value.remove(score)
            neighbour.remove(score)
    return max(len(value), len(neighbour))


spaces = st.builds(
    ScorePairs,
    bounds=st.sampled_from([(0.0, 1.0), (-3.0, 2.5), (0.0, 1e6)]),
    sizes=st.lists(st.integers(2, 40), min_size=1, max_size=3).map(tuple),
    relation=st.sampled_from([Relation.SUBSTITUTION, Relation.ADD_REMOVE]),
    alpha=st.none() | st.floats(0.01, 0.99),
)


@settings(max_examples=60, deadline=None)
@given(space=spaces, seed=st.integers(0, 2**32 - 1))
def test_every_proposal_is_a_pair_of_neighbours(space: ScorePairs, seed: int) -> None:
    rng = np.random.default_rng(seed)
    proposals = space.candidates()
    candidate = proposals[rng.integers(len(proposals))]
    for _ in range(8):
        candidate = space.at_random(candidate, rng)
        assert candidate is not None
        proposals += [candidate, *space.simpler(candidate)]
    low, high = space.bounds
    for proposal in proposals:
        assert distance(space, proposal) == 1
        assert len(proposal.inputs[0]) in space.sizes
        for scores in proposal.inputs:
            assert ((scores >= low) & (scores <= high)).all()


@given(space=spaces, n=st.integers(1, 300), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_resizing_gives_the_size_asked_for(space: ScorePairs, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    proposals = space.candidates()
    pair = proposals[rng.integers(len(proposals))].scores
    assert pair is not None
    assert resized(pair, n).scores[0].size in ({n} if pair.positions.size else {1})
