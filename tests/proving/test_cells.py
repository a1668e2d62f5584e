"""Cells of the records: what one record moves, of real records, and totals of partitions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from proving import correct_functions_cells as right

import dpcp_audit as dp
from dpcp_audit.proving.distances import Cell, in_both, moved_together

NAMES = {
    "Eq": np.equal,
    "Lt": np.less,
    "LtE": np.less_equal,
    "Gt": np.greater,
    "GtE": np.greater_equal,
}
GRID = st.integers(0, 4)
CUTS = st.tuples(st.sampled_from(["label", "score"]), st.sampled_from(sorted(NAMES)), GRID)


def cell_of(cut: tuple[str, str, int], *, replaced: bool = True) -> Cell | None:
    column, name, end = cut
    return Cell.of(column, name, Fraction(end), replaced=replaced)


def holds(cut, record) -> bool:
    column, name, end = cut
    return bool(NAMES[name](record[column], end))


RECORDS = st.fixed_dictionaries({"label": GRID, "score": st.sampled_from([0, 0.5, 1, 2, 3.5, 4])})


@given(st.lists(st.lists(CUTS, max_size=3), max_size=5), RECORDS, RECORDS)
def test_what_a_record_moves_is_one_of_the_sets(conditions, before, after) -> None:
    """Each condition is a conjunction; an empty one holds of all records."""
    cells = []
    for cuts in conditions:
        cell = None
        for each in cuts:
            cell = in_both(cell, cell_of(each))
        cells.append(cell)
    moved = {
        place
        for place, cuts in enumerate(conditions)
        if any(all(holds(cut, record) for cut in cuts) for record in (before, after))
    }
    assert any(moved <= each for each in moved_together(cells))


@given(st.lists(CUTS, max_size=5), RECORDS)
def test_an_added_record_moves_what_it_lies_in(cuts, record) -> None:
    cells = [cell_of(each, replaced=False) for each in cuts]
    moved = {place for place, cut in enumerate(cuts) if holds(cut, record)}
    assert any(moved <= each for each in moved_together(cells))


def test_a_partition_is_told_apart() -> None:
    classes = [cell_of(("label", "Eq", k), replaced=False) for k in range(4)]
    assert {frozenset({k}) for k in range(4)} <= set(moved_together(classes))
    assert max(map(len, moved_together(classes))) == 1
    classes = [cell_of(("label", "Eq", k)) for k in range(4)]
    assert max(map(len, moved_together(classes))) == 2


def test_many_cells_are_taken_together() -> None:
    many = [cell_of(("label", "Eq", k)) for k in range(2_000)]
    assert moved_together(many) == [frozenset(range(2_000))]


PARTITIONS = [
    right.bins_by_masks,
    right.bins_in_an_array,
    right.bins_in_comprehensions,
    right.sums_of_selections,
    right.choice_in_each_half,
]


@pytest.mark.parametrize("function", PARTITIONS, ids=lambda each: each.__name__)
def test_a_partition_costs_one_cell_of_an_added_record_and_two_of_a_replaced_one(function) -> None:
    one = dp.prove(function, dp.PureDP(1.0), neighbours="add-remove")
    assert (one.proved, one.total) == (True, 1.0)
    two = dp.prove(function, dp.PureDP(2.0), n=20)
    assert (two.proved, two.total) == (True, 2.0)


def test_what_is_made_of_a_count_keeps_its_cell() -> None:
    found = dp.prove(right.counts_and_a_bound, dp.PureDP(1.0), neighbours="add-remove")
    assert (found.proved, found.total) == (True, 1.0)


def test_other_currencies_add_the_cells_that_a_record_moves() -> None:
    for claim, value in (
        (dp.ZCDP(1.0), 2 / 8),
        (dp.RenyiDP(3.0, 2.0), 3 * 2 / 8),
        (dp.GaussianDP(1.0), 2 / 4),
    ):
        assert dp.prove(right.noisy_classes, claim, n=20).total == pytest.approx(value)
    alone = dp.prove(right.noisy_classes, dp.GaussianDP(0.5), neighbours="add-remove")
    assert alone.proved
    delta = dp.prove(right.noisy_classes, dp.ApproxDP(1.0, 0.1), neighbours="add-remove").total
    mu = 0.5
    exact = normal(mu / 2 - 1 / mu) - math.e * normal(-mu / 2 - 1 / mu)
    assert delta == pytest.approx(exact, rel=1e-6)


def normal(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2
