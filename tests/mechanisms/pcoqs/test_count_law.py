"""The windows of counts at which a noisy comparison may go either way."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.stats import binom, norm

from dpcp_audit.mechanisms.iid_coverage import _CountLaw as CountLaw
from dpcp_audit.mechanisms.iid_coverage import _Interval as Interval
from dpcp_audit.mechanisms.iid_coverage import _weighted, binomial_masses, log_choices

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(
    ("n", "rank", "first", "last"), [(100, 50, 31, 70), (100, 95, 76, 101), (10, 3, 0, 11)]
)
def test_counts_within_nine_and_a_half_deviations_matter(n, rank, first, last) -> None:
    law = CountLaw.over_noise(2.0, n=n, rank=rank, rounds=3)
    assert (law.first, law.last, law.answers.shape[1]) == (first, last, 1)
    assert law.counts.tolist() == list(range(first, last))
    expected = np.broadcast_to(norm.cdf((rank - law.counts) / 2), (3, 1, last - first))
    assert law.answers == pytest.approx(expected)


@pytest.mark.parametrize("chance", [0.0, 0.3, 1.0])
def test_masses_at_sure_chances_too(chance) -> None:
    hits = np.arange(6.0)
    found = binomial_masses(log_choices(5, hits), hits, 5 - hits, chance)
    assert found == pytest.approx(binom.pmf(hits, 5, chance), rel=1e-12, abs=1e-290)
    assert log_choices(5, np.array([-1.0, 6.0])).tolist() == [-np.inf, -np.inf]


@pytest.mark.parametrize("chance", [0.02, 0.5, 0.99, 1.0])
def test_means_over_a_band_of_counts_leave_nothing_out(chance) -> None:
    counts = np.arange(130.0)
    masses = binom.pmf(counts, counts[:, None], chance)
    values = np.random.default_rng(0).random((3, 130))
    assert np.abs(_weighted(values, masses) - values @ masses.T).max() < 2e-15


def walked(law: CountLaw, bits: tuple[int, ...], at: Callable[[float], float]) -> list[Interval]:
    """Return the intervals of a search of [0, 1] whose answers are given, 1 for the right half."""
    here = [law.start(0.0, 1.0)]
    for bit in bits:
        middle = (here[-1].left + here[-1].right) / 2
        here.append(law.step(here[-1], middle, at(middle))[1 - bit])
    return here


@pytest.mark.parametrize(
    "at", [lambda x: x**2, lambda x: 0.3 if 0.2 < x < 0.8 else x], ids=["rises", "a gap"]
)
def test_where_a_search_gets_to_is_what_the_places_of_all_scores_say(at) -> None:
    """By the definition: four scores, each between two of the midpoints; counts 1 and 2 matter."""
    n, rounds = 4, 3
    chances = np.random.default_rng(0).random((rounds, 2, 2))
    law = CountLaw(n=n, first=1, answers=chances)
    below = np.concatenate([np.ones((rounds, 2, 1)), chances, np.zeros((rounds, 2, 2))], axis=2)
    total = np.zeros(2)
    for bits in product((0, 1), repeat=rounds):
        path = walked(law, bits, at)
        middles = [(one.left + one.right) / 2 for one in path[:-1]]
        ends = np.array([*sorted(map(at, middles)), 1.0])
        places = np.array(list(product(range(rounds + 1), repeat=n)))
        masses = np.diff(ends, prepend=0.0)[places].prod(axis=1)
        answered = np.ones((2, len(places)))
        for depth, (middle, bit) in enumerate(zip(middles, bits, strict=True)):
            counts = (ends[places] <= at(middle)).sum(axis=1)
            answered *= below[depth][:, counts] if bit else 1 - below[depth][:, counts]
        assert law.reach(path[-1]) == pytest.approx(answered @ masses, abs=1e-14)
        assert (law.reach_bound(path[-1]) >= answered @ masses - 1e-14).all()
        total += law.reach(path[-1])
    assert total == pytest.approx([1.0, 1.0])
