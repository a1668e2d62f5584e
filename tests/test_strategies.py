"""The strategies: what they draw is what they say, and a leak that is found is shrunk."""

from __future__ import annotations

import doctest
from pathlib import Path

import numpy as np
import pytest
from hypothesis import find, given, settings

from dpcp_audit import strategies
from dpcp_audit.words.guarantees import PrivacyGuarantee, Relation

PAGE = Path(__file__).parents[1] / "docs" / "howto" / "property_tests.md"
REPEATED = settings(derandomize=True, database=None, max_examples=2000)
FEW = settings(derandomize=True, database=None, max_examples=60)


@FEW
@given(strategies.scores(n=(2, 6), bounds=(-1.0, 3.0)))
def test_scores_lie_within_the_bounds(scores) -> None:
    assert 2 <= len(scores) <= 6
    assert ((scores >= -1) & (scores <= 3)).all()


@FEW
@given(strategies.scores(ties=False))
def test_scores_without_ties_are_distinct(scores) -> None:
    assert len(np.unique(scores)) == len(scores)


@FEW
@given(strategies.neighbours())
def test_neighbours_differ_in_one_score(pair) -> None:
    assert len(pair.value) == len(pair.neighbour)
    assert (pair.value != pair.neighbour).sum() == 1


@FEW
@given(strategies.neighbours(relation="add-remove"))
def test_a_neighbour_lacks_one_score(pair) -> None:
    assert pair.relation is Relation.ADD_REMOVE
    assert len(pair.value) == len(pair.neighbour) + 1
    assert abs(pair.value.sum() - pair.neighbour.sum()) <= 1 + 1e-9


@FEW
@given(strategies.score_laws())
def test_laws_are_laws_on_the_unit_interval(law) -> None:
    assert law.cdf(np.array([-0.1, 1.0])).tolist() == pytest.approx([0.0, 1.0])
    drawn = law.sample(5, rng=np.random.default_rng(0))
    assert ((drawn >= 0) & (drawn <= 1)).all()


@FEW
@given(strategies.score_laws(ties=False))
def test_laws_without_ties_have_no_atoms(law) -> None:
    assert law.atoms == ()


@FEW
@given(strategies.guarantees())
def test_guarantees_have_trade_off_curves(guarantee) -> None:
    assert isinstance(guarantee, PrivacyGuarantee)
    power = guarantee.power(np.array([0.1, 0.5]))
    assert ((power >= [0.1, 0.5]) & (power <= 1)).all()


@FEW
@given(strategies.pools())
def test_pools_are_rows_of_probabilities(pool) -> None:
    assert pool.probabilities.sum(axis=1) == pytest.approx(np.ones(len(pool.labels)))
    assert pool.labels.max() < pool.probabilities.shape[1]


@pytest.mark.known_bad
def test_a_leak_is_found_and_shrunk() -> None:
    """The median is taken for a mean: one score moves it by more than 1/n."""

    def leaks(pair) -> bool:
        moved = abs(np.median(pair.value) - np.median(pair.neighbour))
        return bool(moved > 1 / len(pair.value))

    pair = find(strategies.neighbours(), leaks, settings=REPEATED)
    assert len(pair.value) == 3
    assert set(np.concatenate([pair.value, pair.neighbour])) == {0.0, 1.0}


def test_what_cannot_be_drawn_is_told() -> None:
    with pytest.raises(ValueError, match="relation must be one of substitution, add-remove, got"):
        strategies.neighbours(relation="zero-out")
    with pytest.raises(ValueError, match="n must be an integer >= 3, got 2"):
        strategies.scores(n=(3, 2))
    with pytest.raises(ValueError, match="classes must be an integer >= 2, got 1"):
        strategies.pools(classes=(1, 3))


def test_the_example_of_the_page_gives_what_it_says() -> None:
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert tried >= 5
    assert failed == 0
