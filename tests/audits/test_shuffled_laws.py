"""Laws of shuffled reports of any randomizer, against those of k-ary response in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from dpcp_audit.audits.exact import worst_measurement
from dpcp_audit.audits.search.record_pairs import (
    ShuffledPairs,
    ShuffledReports,
    changes,
    shuffled_pairs,
)
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse
from dpcp_audit.words.guarantees import ApproxDP
from dpcp_ledger.mechanisms.shuffled_response import Others, ShuffledKaryResponse

CLAIM = ApproxDP(0.5, 1e-3)


def channel(epsilon: float, k: int) -> np.ndarray:
    response = KaryRandomizedResponse(epsilon, k)
    table = np.full((k, k), response.beta / k)
    np.fill_diagonal(table, response.keep_probability)
    return table


def worst(epsilon: float, k: int, n: int) -> float:
    pairs = [pair for _, pair in shuffled_pairs(channel(epsilon, k), n)]
    return worst_measurement(CLAIM, pairs)[0].value


@pytest.mark.parametrize(("k", "n"), [(3, 40), (4, 100), (5, 30)])
def test_krr_of_few_users_is_exact(k: int, n: int) -> None:
    known = [ShuffledKaryResponse(2.0, k).pair(n, others) for others in Others]
    expected = worst_measurement(CLAIM, known)[0].value
    assert worst(2.0, k, n) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("n", [200, 2000])
def test_merged_reports_give_a_lower_bound_that_is_not_vacuous(n: int) -> None:
    expected = worst_measurement(ApproxDP(0.1, 1e-3), [ShuffledKaryResponse(2.0, 3).pair(n)])
    pairs = [pair for _, pair in shuffled_pairs(channel(2.0, 3), n)]
    found = worst_measurement(ApproxDP(0.1, 1e-3), pairs)[0].value
    assert 0.3 * expected[0].value <= found <= expected[0].value * (1 + 1e-9)


def test_what_is_tried() -> None:
    assert changes(2) == [(0, 1, 0), (0, 1, 1)]
    assert len(changes(8)) == 28 * 3
    assert len(changes(50)) == 49 * 3
    values = [each.inputs for each in ShuffledPairs(n_values=2).candidates()]
    assert values == [(0, 2), (1, 3)]


def test_counts_are_of_one_user_among_others() -> None:
    def reporter(value: object, size: int, /, *, rng: np.random.Generator) -> np.ndarray:
        return np.full(size, value)

    reports = ShuffledReports(reporter=reporter, n=5, values=(0, 1, 2))
    counts = reports(1 * 3 + 2, 2, rng=np.random.default_rng(0))
    assert counts.tolist() == [[0, 1, 4], [0, 1, 4]]
