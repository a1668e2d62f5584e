"""The page on better mechanisms says what is computed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import update_better_mechanisms
from measured_improvements import (
    at_corollary,
    corollary_pairs,
    curator_pairs,
    label_pairs,
    scored,
    search_pairs,
)

from dpcp_audit.laws.pools import Classifier, Dataset, classifier_pool
from dpcp_audit.laws.populations import Beta, Uniform
from dpcp_audit.mechanisms.pcoqs import PCOQS

PAGE = update_better_mechanisms.PAGE.read_text(encoding="utf-8")


def test_exact_rows_are_those_of_the_page() -> None:
    """``python docs/update_better_mechanisms.py`` renews it."""
    cases = (("uniform", Uniform(), None), ("Beta(5, 0.2)", Beta(5.0, 0.2), None))
    rows = search_pairs(cases, n=11_080)
    for line in update_better_mechanisms._table(rows).splitlines():
        assert line in PAGE


def test_every_improvement_has_its_proof_and_its_table() -> None:
    assert PAGE.count("\n## ") == 7
    assert PAGE.count(update_better_mechanisms._HEAD) == 5
    assert Path(update_better_mechanisms.PAGE).name == "better_mechanisms.md"


def test_the_switch_to_another_channel_is_the_computed_one() -> None:
    assert update_better_mechanisms.switches() in PAGE


LOGISTIC, GAUSSIAN_NB = Classifier.LOGISTIC, Classifier.GAUSSIAN_NB


def test_the_upper_end_covers_where_the_last_midpoint_does_not() -> None:
    printed, ours, *same = search_pairs(
        (("heaped", Beta(5.0, 0.2), None), ("even", Uniform(), None)), n=11_080
    )
    assert printed.short == pytest.approx(1.0)
    assert ours.short < 1e-100
    assert ours.coverage >= 0.9
    assert same[0].coverage == pytest.approx(same[1].coverage, abs=1e-3)


def test_equal_privacy_buys_less_noise_and_smaller_sets() -> None:
    """A comparison of means over 25 calibrations that differ by five standard errors."""
    rows = curator_pairs(n=1000, trials=25, rng=np.random.default_rng(0), epsilons=(1.0,))
    found = {(row.name, row.setting): row for row in rows}
    before, after = (
        found[f"ExponQ, {name}", "ε = 1"] for name in ("nominal ε", "tight normaliser")
    )
    assert after.size < before.size
    assert after.coverage > 0.9
    loose, tight = (
        found[f"P-COQS*, ρ from its {name}", "ε = 1"] for name in ("zCDP", "exact δ(ε)")
    )
    assert loose.coverage > tight.coverage > 0.9
    assert loose.size > tight.size


def test_the_upper_end_says_where_it_holds_every_label() -> None:
    """There the sets of the over-confident classifier are of all ten labels."""
    pool = classifier_pool(Dataset.DIGITS, GAUSSIAN_NB)
    case = ("digits", pool.hps_population(), 1 - pool.probabilities)
    printed, ours = search_pairs((case,), n=11_080)
    assert printed.size < 2
    assert ours.size == pytest.approx(10)


@pytest.mark.known_bad
def test_the_clamp_falls_short_where_the_upper_end_returns_the_bound() -> None:
    """At n = 50 and ρ = 0.05 a quarter of the calibrations cover less than 1−α."""
    search = PCOQS(alpha=0.1, rho=0.05)
    assert at_corollary(search, 50)[0].alpha == 0.0
    sizes = np.linspace(0, 1, 11)[None]
    cases = ((50, 0.05), (2000, 0.5))
    rows = corollary_pairs(Uniform(), sizes, cases, trials=2000, rng=np.random.default_rng(2))
    clamped, bound, printed, ours = rows
    assert clamped.short > 0.1
    assert (bound.short, bound.coverage) == (0.0, 1.0)
    assert printed.coverage > ours.coverage > 0.9


def test_sizes_are_those_of_the_sets() -> None:
    scores = np.array([[0.1, 0.5], [0.2, 0.9]])
    coverage, short, size = scored(Uniform(), scores, np.array([0.5, 0.95]))
    assert (coverage, short, size) == pytest.approx((0.725, 0.5, 1.75))


@pytest.mark.statistical(false_alarm=1e-8)
def test_nacps_search_covers_any_scores_and_no_more_than_it_is_asked_for() -> None:
    """Means over 100 calibrations of n = 10,000, with standard errors below 0.0007."""
    pools = [classifier_pool(Dataset.DIGITS, kind) for kind in (LOGISTIC, GAUSSIAN_NB)]
    rows = label_pairs(pools, n=10_000, trials=100, rng=np.random.default_rng(0))
    printed, published, lower, failing, *kept = rows
    assert lower.coverage == pytest.approx(0.9 + 0.0238, abs=0.005)
    assert min(printed.coverage, published.coverage) > lower.coverage
    assert lower.size < min(printed.size, published.size)
    assert failing.short == 1.0
    assert [row.short for row in kept] == [0.0, 0.0]
