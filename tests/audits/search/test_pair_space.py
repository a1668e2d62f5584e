"""The catalogues of neighbours, and what can be said wrongly of them."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from dpcp_audit.audits.search.pair_space import (
    FixedPairs,
    RecordOrder,
    input_as_data,
    input_from_data,
    input_key,
)
from dpcp_audit.audits.search.record_pairs import RecordPairs, ValuePairs
from dpcp_audit.audits.search.score_pairs import STEP, ScorePairs, sizes_beside
from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.words.guarantees import Neighbours, Relation
from dpcp_ledger.zoo.broken_mechanisms import gaps


def test_the_first_pair_is_the_worst_of_a_bisection_of_known_rank() -> None:
    worst = PCOQS(alpha=0.1, rho=0.5).worst_pair(100)
    first = ScorePairs(sizes=(100, 5), alpha=0.1).candidates()[0]
    for x, y in zip(first.inputs, worst, strict=True):
        np.testing.assert_array_equal(np.sort(x), np.sort(y))


def test_the_split_is_found_where_the_rank_is_not_known() -> None:
    mechanism = PCOQS(alpha=0.3, rho=50.0)
    rng = np.random.default_rng(0)
    found = ScorePairs(sizes=(80,)).balanced(
        lambda x, m: mechanism.sample(x, m, rng=rng), outputs=11
    )
    splits = [int((candidate.scores.scores[0][:-1] == 0).sum()) for candidate in found]
    assert abs(splits[0] - (mechanism.rank(80) - 1)) <= 1


def test_a_crowd_in_the_middle_is_split_where_the_output_leaves_it() -> None:
    """Of 20 scores with the rank 19, 17 at 0 make the gaps below and above the crowd as likely."""
    rng = np.random.default_rng(0)
    pairs = ScorePairs(sizes=(20,)).balanced(lambda x, m: gaps(x, size=m, rng=rng), outputs=11)
    crowds = [pair.scores for pair in pairs if "a crowd" in pair.family]
    below = [pair for pair in crowds if pair.source == 1.0]
    assert any(int(pair.counts[pair.positions == 0].sum()) in (16, 17, 18) for pair in below)
    assert all(pair.target == 0.0 and (pair.positions <= 0.5).all() for pair in below)
    assert {pair.target for pair in crowds} == {0.0, 1.0}


def test_the_score_that_comes_out_moves() -> None:
    """Of code that returns the 40th of 50 scores, that score moves, and no other."""

    def fortieth(scores, size) -> np.ndarray:
        return np.full(size, np.sort(scores)[39])

    pairs = list(ScorePairs(sizes=(50,)).balanced(fortieth, outputs=11))
    moved = [pair.scores for pair in pairs if pair.family == "the score that comes out moves"]
    assert [pair.source for pair in moved] == pytest.approx([39.5 / 50] * 2)
    assert [pair.target for pair in moved] == pytest.approx([0.8, 0.0])


@pytest.mark.parametrize("cells", [5, 10, 20, 50])
def test_a_score_steps_to_the_next_cell_of_a_histogram(cells: int) -> None:
    """Of code that returns the end of the cell that holds the 90th of 100 scores."""

    def cell(score: float) -> int:
        return min(int(score * cells), cells - 1)

    def ninetieth(scores, size) -> np.ndarray:
        return np.full(size, (cell(np.sort(scores)[89]) + 1) / cells)

    pairs = ScorePairs(sizes=(100,)).balanced(ninetieth, outputs=11)
    steps = [pair.scores for pair in pairs if pair.family == STEP]
    nearest = [pair for pair in steps if abs(cell(pair.source) - cell(pair.target)) == 1]
    assert {pair.source for pair in nearest} == {0.0, 1.0}
    assert all(89 <= np.count_nonzero(x == 0) <= 92 for pair in nearest for x in pair.scores)


@pytest.mark.parametrize("sizes", [(1,), (100, 20)])
def test_nothing_steps_where_outputs_scatter(sizes: tuple[int, ...]) -> None:
    """Sums with noise, and a bisection: all of its outputs are the same where no round is open."""
    bisection = PCOQS(alpha=0.1, rho=0.5)
    for sample in (
        lambda x, m, rng: np.mean(x) + rng.laplace(size=m),
        lambda x, m, rng: bisection.sample(x, m, rng=rng),
    ):
        draw = partial(sample, rng=np.random.default_rng(0))
        pairs = ScorePairs(sizes=sizes).balanced(draw, outputs=11)
        assert STEP not in {pair.family for pair in pairs}


def test_nothing_turns_where_outputs_are_vectors() -> None:
    assert not list(ScorePairs(sizes=(8,)).balanced(lambda x, m: np.zeros((m, len(x))), outputs=11))


def test_the_first_pairs_are_of_all_orders_and_small_sizes() -> None:
    first = ScorePairs(sizes=sizes_beside((100, 500))).candidates()[:40]
    assert {pair.scores.order for pair in first} == set(RecordOrder)
    assert {pair.scores.size for pair in first} >= {100, 500, 1, 2, 3, 101}
    assert len({pair.family for pair in first}) > 10


def test_pairs_without_ties_keep_what_moves() -> None:
    space = ScorePairs(sizes=(40,))
    for candidate in space.candidates():
        untied = space.untied(candidate)
        assert (untied is None) == (not candidate.scores.tied)
        if untied is None:
            continue
        moved = candidate.scores.source, candidate.scores.target
        assert (untied.scores.source, untied.scores.target) == moved
        for x in untied.inputs:
            assert np.unique(x).size == x.size == 40
            assert x.min() >= 0
            assert x.max() <= 1


@pytest.mark.parametrize("space", [ScorePairs(), RecordPairs(), ValuePairs(n_values=5)])
def test_a_catalogue_lists_every_pair_once(space) -> None:
    keys = [tuple(map(input_key, candidate.inputs)) for candidate in space.candidates()]
    assert len(set(keys)) == len(keys) >= 10


def test_many_values_are_not_all_paired() -> None:
    assert len(ValuePairs(n_values=25).candidates()) == 300
    assert len(ValuePairs(n_values=200).candidates()) < 600


def test_records_have_the_scores_of_their_pair() -> None:
    for candidate in RecordPairs(scores=ScorePairs(sizes=(6, 1))).candidates():
        for (probabilities, labels), scores in zip(
            candidate.inputs, candidate.scores.scores, strict=True
        ):
            of_label = probabilities[np.arange(labels.size), labels]
            np.testing.assert_allclose(1 - of_label, scores)
            np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


def test_one_label_keeps_the_probabilities() -> None:
    space = RecordPairs(scores=ScorePairs(sizes=(6,)), relation=Relation.ONE_LABEL, n_classes=3)
    for candidate in space.candidates():
        (p, labels), (q, other) = candidate.inputs
        np.testing.assert_array_equal(p, q)
        assert (labels != other).sum() == 1
        assert candidate.neighbours.relation is Relation.ONE_LABEL


@pytest.mark.parametrize("value", [3, 0.5, np.array([0.1, 0.2]), (np.eye(2), np.array([0, 1]))])
def test_inputs_survive_as_plain_data(value) -> None:
    assert input_key(input_from_data(input_as_data(value))) == input_key(value)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: ScorePairs(sizes=()), "sizes must hold a number >= 1"),
        (lambda: ScorePairs(sizes=(1,), relation=Relation.ADD_REMOVE), "a number >= 2"),
        (lambda: ScorePairs(sizes=(0, 3)), "sizes must be an integer >= 1, got 0"),
        (lambda: ScorePairs(relation=Relation.ONE_LABEL), "must be substitution or add-remove"),
        (lambda: ScorePairs(relation=Relation.ZERO_OUT), "must be substitution or add-remove"),
        (lambda: ScorePairs(bounds=(1.0, 0.0)), "bounds must be finite with a < b"),
        (lambda: ScorePairs(alpha=1.0), "alpha must lie in"),
        (lambda: FixedPairs(()), "pairs must hold at least one"),
    ],
)
def test_bad_spaces_are_named(build, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()


def test_given_pairs_are_the_only_ones() -> None:
    pair = Neighbours(relation=Relation.SUBSTITUTION, value=0, neighbour=1)
    space = FixedPairs((pair,))
    (candidate,) = space.candidates()
    assert candidate.neighbours is pair
    assert space.at_random(candidate, np.random.default_rng(0)) is None
    assert not list(space.simpler(candidate))
