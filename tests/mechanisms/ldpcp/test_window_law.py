"""The exact law of LDP-CP-S's threshold: by hand at tiny T, in far tails, at huge n, on atoms."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from scipy.stats import norm

from dpcp_audit.laws.populations import Beta, Population, Uniform, atoms
from dpcp_audit.mechanisms.local_scores import (
    Blocks,
    Debiasing,
    LDPCPScores,
    OnMiss,
    ThresholdLaw,
    Window,
    _binomial_below,
    _binomial_from,
    threshold_law,
)
from dpcp_audit.theorems.ldpcp import ScoreTheorem, exact_failure
from dpcp_audit.words.results import Verdict

HEAP = atoms([0.25, 0.5, 0.5625, 1.0], [3, 4, 1, 2], name="heap")
SEARCH = LDPCPScores(alpha=0.3, epsilon=1.0, rounds=3, window_width=0.2)
VARIANTS = [
    LDPCPScores(
        alpha=0.3,
        epsilon=1.0,
        rounds=3,
        window_width=0.2,
        window=window,
        debiasing=debiasing,
        blocks=blocks,
        on_miss=on_miss,
        starred=starred,
    )
    for window, debiasing, blocks, on_miss, starred in product(
        Window, Debiasing, Blocks, OnMiss, (False, True)
    )
]


def by_hand(
    mechanism: LDPCPScores, population: Population, n: int
) -> dict[tuple[float, bool], Fraction]:
    """Walk through every number of reports in every round; exact given each report's chance."""
    law: Counter[tuple[float, bool]] = Counter()
    bottom, top = mechanism.limits

    def walk(done: int, low: float, high: float, mass: Fraction) -> None:
        middle, asked = (low + high) / 2, mechanism.block_sizes(n)[done]
        chance = mechanism.response.report_probability(population.cdf_left(np.array(middle)))
        for ones, share in enumerate(binomial(asked, float(chance))):
            z = float(mechanism.debias(ones, asked=asked, n=n))
            ends = (low, middle) if z > top else (middle, high)
            if bottom <= z <= top:
                law[middle, False] += mass * share
            elif done + 1 < mechanism.rounds:
                walk(done + 1, *ends, mass * share)
            else:
                upper = mechanism.on_miss is OnMiss.UPPER_END
                law[ends[1] if upper else middle, True] += mass * share

    walk(0, 0.0, 1.0, Fraction(1))
    return {key: mass for key, mass in law.items() if mass}


def binomial(trials: int, p: float) -> list[Fraction]:
    chance = Fraction(p)
    return [comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(trials + 1)]


def gathered(law: ThresholdLaw) -> dict[tuple[float, bool], float]:
    """Return the mass of each threshold, hits and misses apart."""
    total: Counter[tuple[float, bool]] = Counter()
    for point, missed, mass in zip(law.threshold, law.missed, law.mass, strict=True):
        total[float(point), bool(missed)] += float(mass)
    return {key: mass for key, mass in total.items() if mass}


@pytest.mark.parametrize("population", [Uniform(), HEAP], ids=lambda p: p.name)
@pytest.mark.parametrize("mechanism", VARIANTS)
def test_law_by_hand(mechanism: LDPCPScores, population: Population) -> None:
    """Three rounds of four, three and three users, in all 32 variants."""
    expected = by_hand(mechanism, population, 10)
    law = gathered(threshold_law(mechanism, population, n=10, prune=0.0))
    assert law == pytest.approx({key: float(mass) for key, mass in expected.items()}, rel=1e-11)


@pytest.mark.parametrize("rounds", [1, 2])
def test_fewer_rounds_by_hand(rounds: int) -> None:
    mechanism = replace(SEARCH, rounds=rounds)
    law = gathered(threshold_law(mechanism, Uniform(), n=rounds, prune=0.0))
    assert law == pytest.approx(
        {k: float(m) for k, m in by_hand(mechanism, Uniform(), rounds).items()}
    )


@pytest.mark.parametrize("population", [Beta(5, 0.2), Beta(0.2, 5)], ids=lambda p: p.name)
def test_far_tails_keep_their_relative_accuracy(population: Population) -> None:
    """Masses below 1e-30 on either side, against exact rational arithmetic."""
    mechanism = replace(SEARCH, rounds=2, epsilon=8.0, window_width=0.05)
    expected = by_hand(mechanism, population, 80)
    law = gathered(threshold_law(mechanism, population, n=80, prune=0.0))
    assert min(expected.values()) < 1e-30
    for key, mass in expected.items():
        assert law[key] == pytest.approx(float(mass), rel=1e-9, abs=0.0)


@pytest.mark.parametrize("sides", [-4.0, -1.0, 0.5, 3.0])
def test_one_round_of_a_million_million_users_is_a_normal_tail(sides: float) -> None:
    """A window that opens so many standard deviations above the mean of Z, and never closes."""
    n = 10**12
    deviation = SEARCH.response.gain / (2 * np.sqrt(n))
    mechanism = replace(SEARCH, rounds=1, alpha=0.5 - sides * deviation, window_width=0.9)
    law = threshold_law(mechanism, Uniform(), n=n)
    assert law.mass.sum() == pytest.approx(1.0, abs=1e-12)
    assert law.probability(~law.missed) == pytest.approx(norm.sf(sides), rel=1e-4)


def test_the_law_of_many_rounds_at_huge_n_is_the_noiseless_search() -> None:
    mechanism = replace(SEARCH, rounds=20, alpha=0.1, window_width=1e-4)
    law = threshold_law(mechanism, Uniform(), n=10**12)
    assert law.mass.sum() + law.slack == pytest.approx(1.0, abs=1e-9)
    near = np.abs(law.threshold - 0.9) < 3e-4
    assert law.probability(near) > 1 - 1e-9


def test_users_at_the_midpoint_do_not_count_as_below() -> None:
    """All scores are 1/2 and reports are true: the first answer is 0, the second is 1."""
    half = atoms([0.5], [1], name="half")
    mechanism = replace(SEARCH, epsilon=60.0, rounds=2, alpha=0.1, window_width=0.05)
    law = threshold_law(mechanism, half, n=100)
    missed = (law.threshold == 0.75) & law.missed
    assert law.probability(missed) == pytest.approx(1.0, abs=1e-12)
    for starred in (False, True):  # 1 is the upper end of the window, then its lower end
        ending = replace(mechanism, window_width=0.1, starred=starred)
        law = threshold_law(ending, half, n=100)
        hit = (law.threshold == 0.75) & ~law.missed
        assert law.probability(hit) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("prune", [1e-25, 1e-6, 1e-2, 0.3])
@pytest.mark.parametrize("population", [Uniform(), Beta(5, 0.2)], ids=lambda p: p.name)
def test_pruned_mass_is_slack(prune: float, population: Population) -> None:
    mechanism = replace(SEARCH, rounds=8)
    whole = threshold_law(mechanism, population, n=4000, prune=0.0)
    pruned = threshold_law(mechanism, population, n=4000, prune=prune)
    assert whole.slack == 0.0
    assert pruned.mass.sum() + pruned.slack == pytest.approx(1.0, abs=1e-11)
    for limit in (0.3, 0.5, 0.7, 0.9):
        low = pruned.probability(pruned.threshold <= limit)
        exact = whole.probability(whole.threshold <= limit)
        assert low <= exact + 1e-12
        assert exact <= low + pruned.slack + 1e-12
    assert prune < 1e-6 or pruned.slack > 0


def test_everything_may_be_pruned() -> None:
    law = threshold_law(SEARCH, Uniform(), n=300, prune=1.0)
    assert law.mass.sum() + law.slack == pytest.approx(1.0)
    assert not law.missed.any()


@pytest.mark.parametrize("prune", [-1.0, 1.1, float("nan")])
def test_bad_pruning_is_refused(prune: float) -> None:
    with pytest.raises(ValueError, match="^prune must "):
        threshold_law(SEARCH, Uniform(), n=300, prune=prune)


THEOREM = ScoreTheorem(population=Uniform(), n=11_080, epsilon=4.0, delta=0.1)


@pytest.mark.parametrize("delta", [0.1, 1e-3, 1e-6, 1e-12])
def test_theorem_4_is_proved_for_uniform_scores_at_any_delta(delta: float) -> None:
    result = exact_failure(replace(THEOREM, delta=delta))
    assert result.verdict is Verdict.PROVED
    assert 0 <= result.value < delta
    assert result.slack < 1e-20


def test_theorem_4_is_refuted_for_scores_heaped_near_1() -> None:
    result = exact_failure(replace(THEOREM, population=Beta(5, 0.2)))
    assert result.verdict is Verdict.REFUTED
    assert result.value > 0.99
    assert result.witness["population"] == "beta(5,0.2)"
    (figure,) = result.figures
    assert figure.series[0].y[-1] == pytest.approx(1.0)
    assert figure.marks == THEOREM.bounds


def test_binomial_tails_at_their_ends() -> None:
    rates = np.array([0.0, 0.5, 1.0])
    for count, below in ((0, [0, 0, 0]), (1, [1, 1 / 32, 0]), (5, [1, 31 / 32, 0]), (6, [1, 1, 1])):
        assert _binomial_below(count, 5, rates) == pytest.approx(below)
        assert _binomial_from(count, 5, rates) == pytest.approx(1 - np.array(below))
