"""Pairs of rows: one row moves the rank of split conformal prediction, and it shows."""

from __future__ import annotations

import numpy as np
import pytest

from dpcp_audit.audits.search.row_pairs import RowPairs
from dpcp_audit.laws.pools import RowPool
from dpcp_audit.words.guarantees import Relation

LABELS = np.arange(60) % 3
FAR = 10.0 * np.eye(3)[LABELS]
"""Classes that no row is near two of."""
POOL = RowPool(FAR, LABELS.astype(float))


def sets_of(rows, labels, new, *, alpha) -> np.ndarray:
    """Return the split conformal sets of a sure classifier."""

    def chances(of) -> np.ndarray:
        weights = np.exp(of)
        return weights / weights.sum(axis=1, keepdims=True)

    scores = np.sort(1 - chances(rows)[np.arange(len(labels)), labels])
    rank = int(np.ceil((1 - alpha) * (len(labels) + 1)))
    return 1 - chances(new) <= (np.inf if rank > len(labels) else scores[rank - 1])


def shown(pairs: RowPairs, *, alpha: float) -> list[str]:
    """Return the families of the pairs whose sets differ."""
    return [
        each.family
        for each in pairs.candidates()
        if not np.array_equal(*(sets_of(*value, alpha=alpha) for value in each.inputs))
    ]


@pytest.mark.parametrize("alpha", [0.1, 0.05])
@pytest.mark.parametrize(
    "relation", [Relation.SUBSTITUTION, Relation.ADD_REMOVE, Relation.ONE_LABEL]
)
def test_usual_levels_are_at_the_rank_without_being_told(alpha, relation) -> None:
    pairs = RowPairs(pool=POOL, sizes=(40,), relation=relation)
    assert "others at the conformal rank" in shown(pairs, alpha=alpha)


def test_another_level_is_at_the_rank_where_it_is_told() -> None:
    assert not shown(RowPairs(pool=POOL, sizes=(40,)), alpha=0.3)
    assert shown(RowPairs(pool=POOL, sizes=(40,), alpha=0.3), alpha=0.3)


def test_pairs_differ_in_one_row() -> None:
    for each in RowPairs(pool=POOL, sizes=(40, 5)).candidates():
        (rows, labels, new), (others, of_others, same) = each.inputs
        differ = (rows != others).any(axis=1) | (labels != of_others)
        assert differ.sum() <= 1
        assert np.array_equal(new, same)


def test_rows_of_one_label_have_no_such_pairs() -> None:
    alone = RowPool(FAR, np.zeros(60))
    families = {each.family for each in RowPairs(pool=alone, sizes=(40,)).candidates()}
    assert "others at the conformal rank" not in families
