"""Pairs of rows: one row moves the rank of split conformal prediction, and it shows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpcp_audit as dp
from dpcp_audit.audits.search.record_pairs import ClientPairs, RowPairs
from dpcp_audit.audits.search.score_pairs import ScorePairs
from dpcp_audit.laws.pools import RowPool
from dpcp_audit.words.guarantees import Relation
from dpcp_audit.words.results import Verdict

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


def differences(pairs: ClientPairs) -> list[tuple[int, int]]:
    """Return by how many clients and by how many scores each pair differs."""
    found: list[tuple[int, int]] = []
    for each in pairs.candidates():
        value, neighbour = each.inputs
        changed = [k for k, x in enumerate(value) if not np.array_equal(x, neighbour[k])]
        scores = sum(int((value[k] != neighbour[k]).sum()) for k in changed)
        found.append((len(changed), scores))
    return found


def test_a_record_of_one_client_differs() -> None:
    found = differences(ClientPairs(scores=ScorePairs(sizes=(20, 3)), clients=4))
    assert len(found) > 10
    assert set(found) == {(1, 1)}


def test_all_scores_of_one_client_differ() -> None:
    found = differences(ClientPairs(scores=ScorePairs(sizes=(20,)), clients=4, of_clients=True))
    assert {clients for clients, _ in found} == {1}
    assert max(scores for _, scores in found) == 5


@pytest.mark.parametrize(("of_clients", "lost"), [(False, 1), (True, 5)])
def test_a_record_or_a_client_is_taken_away(of_clients, lost) -> None:
    scores = ScorePairs(sizes=(20,), relation=Relation.ADD_REMOVE)
    for each in ClientPairs(scores=scores, clients=4, of_clients=of_clients).candidates():
        sizes = [sum(map(len, x)) for x in each.inputs]
        assert sizes[0] - sizes[1] == lost


def total(clients, *, rng) -> float:
    assert isinstance(clients, list)
    return float(sum(each.sum() for each in clients) + rng.laplace(scale=1.0))


@pytest.mark.known_bad
def test_what_is_private_by_the_record_is_not_by_the_client() -> None:
    settings: dict[str, Any] = {"kind": "federated", "n": 20, "draws": 2000}
    of_records = dp.audit(total, dp.PureDP(1.0), **settings)
    assert of_records[0].error == ""
    assert of_records.verdict is not Verdict.REFUTED
    assert dp.audit(total, dp.PureDP(1.0), unit="client", **settings).verdict is Verdict.REFUTED
