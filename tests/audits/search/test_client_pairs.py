"""Lists of clients' scores that are neighbours, by the record and by the client."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpcp_audit as dp
from dpcp_audit.audits.search.row_pairs import ClientPairs
from dpcp_audit.audits.search.score_pairs import ScorePairs
from dpcp_audit.words.guarantees import Relation
from dpcp_audit.words.results import Verdict


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
