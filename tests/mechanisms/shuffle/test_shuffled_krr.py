from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np
import pytest

from dpcp_audit.laws.laws import FiniteLaw, FinitePair
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse, hidden_laws
from dpcp_ledger.mechanisms.shuffled_response import (
    Others,
    ShuffledBinaryResponse,
    ShuffledKaryResponse,
)

EPSILONS = np.linspace(0.0, 2.0, 9)


def histogram_law(epsilon: float, k: int, labels: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    """Return the law of the histogram of reports by going through all k^n of them."""
    laws = np.exp([law.log_mass for law in KaryRandomizedResponse(epsilon, k).laws()])
    result: dict[tuple[int, ...], float] = defaultdict(float)
    for reports in itertools.product(range(k), repeat=len(labels)):
        histogram = tuple(np.bincount(reports, minlength=k))
        result[histogram] += float(np.prod(laws[list(labels), list(reports)]))
    return result


def brute_pair(epsilon: float, k: int, others: tuple[int, ...]) -> FinitePair:
    first, second = (histogram_law(epsilon, k, (user, *others)) for user in (0, 1))
    p, q = (np.array([law[h] for h in first]) for law in (first, second))
    return FinitePair(FiniteLaw.from_mass(p), FiniteLaw.from_mass(q))


@pytest.mark.parametrize(
    ("k", "n", "others", "label"),
    [
        (2, 5, Others.SAME, 0),
        (3, 5, Others.SAME, 0),
        (3, 5, Others.THIRD, 2),
        (4, 4, Others.SAME, 0),
        (4, 5, Others.THIRD, 2),
    ],
)
@pytest.mark.parametrize("tail", [0.0, 1e-20])
def test_the_pair_is_that_of_all_report_vectors(k, n, others, label, tail) -> None:
    exact = ShuffledKaryResponse(1.3, k).pair(n, others, tail=tail)
    brute = brute_pair(1.3, k, (label,) * (n - 1))
    for ours, theirs in ((exact, brute), (exact.reversed(), brute.reversed())):
        for epsilon in EPSILONS:
            assert ours.delta_at(epsilon) == pytest.approx(theirs.delta_at(epsilon), abs=1e-13)
        assert ours.renyi(2.0) == pytest.approx(theirs.renyi(2.0), rel=1e-12)
        assert ours.max_divergence() == pytest.approx(1.3, rel=1e-12)


def test_no_labels_of_the_others_exceed_the_blanket() -> None:
    blanket = ShuffledKaryResponse(1.3, 3).blanket_pair(4, tail=0.0)
    for others in itertools.combinations_with_replacement(range(3), 3):
        pair = brute_pair(1.3, 3, others)
        for epsilon in EPSILONS:
            assert pair.delta_at(epsilon) <= blanket.delta_at(epsilon) + 1e-13
            assert pair.reversed().delta_at(epsilon) <= blanket.delta_at(epsilon) + 1e-13


@pytest.mark.parametrize(("epsilon", "n"), [(1.0, 60), (4.0, 2452), (6.0, 500)])
def test_two_labels_are_binary_randomised_response(epsilon, n) -> None:
    kary = ShuffledKaryResponse(epsilon, 2).pair(n, Others.SAME)
    binary = ShuffledBinaryResponse(epsilon).pair(n, n - 1)
    for target in (0.01, 0.1, 1.0):
        assert kary.delta_at(target) == pytest.approx(binary.delta_at(target), rel=1e-9, abs=1e-18)
    assert kary.law.total == pytest.approx(1.0, abs=1e-11)


@pytest.mark.parametrize(("epsilon", "k", "n"), [(4.0, 10, 300), (1.0, 3, 200), (2.0, 5, 200)])
def test_a_third_label_comes_within_two_per_cent_of_the_blanket(epsilon, k, n) -> None:
    mechanism = ShuffledKaryResponse(epsilon, k)
    attained = mechanism.pair(n).epsilon_at(1e-6)
    bound = mechanism.blanket_pair(n).epsilon_at(1e-6)
    assert attained <= bound <= 1.02 * attained
    same = mechanism.pair(n, Others.SAME)
    assert max(same.epsilon_at(1e-6), same.reversed().epsilon_at(1e-6)) < attained


def test_pruned_mass_is_carried_as_slack() -> None:
    mechanism = ShuffledKaryResponse(2.0, 4)
    whole, cut = mechanism.pair(60, tail=0.0), mechanism.pair(60, tail=1e-6)
    assert whole.slack == 0
    assert 0 < cut.slack < 1e-5
    for epsilon in EPSILONS:
        error = whole.delta_at(epsilon) - cut.delta_at(epsilon)
        assert -1e-13 <= error <= cut.slack + 1e-13


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ShuffledKaryResponse(1.0, 3).pair(0), "n must be an integer >= 1"),
        (lambda: ShuffledKaryResponse(1.0, 9).pair(10**5), "n must leave at most"),
        (lambda: hidden_laws(3, [0.5, 0.6], []), "others must be >= 0 and sum to 1"),
        (lambda: hidden_laws(3, [1.0, 0.0], [[0.5, 0.5]]), "users\\[0\\] must have mass only"),
    ],
)
def test_bad_input_is_named(call, message) -> None:
    with pytest.raises(ValueError, match=message):
        call()
