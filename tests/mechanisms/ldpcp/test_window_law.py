"""The exact law of LDP-CP-S's threshold, in floats and enclosed, against the whole tree."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product
from math import comb

import numpy as np
import pytest
from flint import arb, ctx, fmpq

from dpcp_audit.laws.populations import Beta, PiecewiseConstant, Population, Uniform, atoms
from dpcp_audit.mechanisms.local_scores import (
    Blocks,
    Debiasing,
    EnclosedSearch,
    LDPCPScores,
    OnMiss,
    ThresholdLaw,
    Window,
    _binomial_below,
    _binomial_from,
    enclosed_hoeffding_width,
    hoeffding_width,
    threshold_law,
)

HEAP = atoms([0.25, 0.5, 0.5625, 1.0], [3, 4, 1, 2], name="heap")
MIXED = PiecewiseConstant(cells=(0.7,), atoms=((0.6, 0.3),))
SEARCH = LDPCPScores(alpha=0.3, epsilon=1.0, rounds=3, window_width=0.2)
VARIANTS = [
    replace(SEARCH, window=window, debiasing=debiasing, blocks=blocks, on_miss=miss, starred=star)
    for window, debiasing, blocks, miss, star in product(
        Window, Debiasing, Blocks, OnMiss, (False, True)
    )
]
LEVELS = (fmpq(1, 20), fmpq(3, 10), fmpq(1, 2), fmpq(7, 10), fmpq(9, 10), fmpq(1))


def enclosed(mechanism: LDPCPScores, population: Population, n: int) -> EnclosedSearch:
    """The search with its own window width, taken as the decimal that it is written as."""
    width = arb(fmpq(round(1000 * mechanism.window_width), 1000))
    return EnclosedSearch(mechanism=mechanism, population=population, n=n, width=width)


def tree(search: EnclosedSearch) -> list[tuple[fmpq, bool, arb]]:
    """Every threshold, whether it is a miss, and its probability, from every number of reports."""
    mechanism, n = search.mechanism, search.n
    slope = (arb(mechanism.epsilon) / 2).tanh()
    target = search.target + (search.width if mechanism.starred else 0)
    bottom = target - (search.width / 2 if mechanism.window is Window.PREPRINT else 0)
    leaves: list[tuple[fmpq, bool, arb]] = []

    def walk(done: int, low: fmpq, high: fmpq, mass: arb) -> None:
        middle, asked = (low + high) / 2, mechanism.block_sizes(n)[done]
        chance = fmpq(1, 2) + (search.population.enclosed_cdf_left(middle) - fmpq(1, 2)) * slope
        divisor = mechanism.divisor(asked, n)
        for ones in range(asked + 1):
            share = mass * comb(asked, ones) * chance**ones * (1 - chance) ** (asked - ones)
            z = (fmpq(ones, divisor) - fmpq(1, 2)) / slope + fmpq(1, 2)
            assert z > bottom + search.width or z <= bottom + search.width  # decided
            if z >= bottom and z <= bottom + search.width:
                leaves.append((middle, False, share))
            elif done + 1 < mechanism.rounds:
                walk(done + 1, *((low, middle) if z > bottom else (middle, high)), share)
            else:
                upper = middle if z > bottom else high
                ending = upper if mechanism.on_miss is OnMiss.UPPER_END else middle
                leaves.append((ending, True, share))

    walk(0, fmpq(0), fmpq(1), arb(1))
    return leaves


def masses(leaves: list[tuple[fmpq, bool, arb]]) -> dict[tuple[float, bool], float]:
    """Return the mass of each threshold, hits and misses apart."""
    total: dict[tuple[float, bool], arb] = {}
    for point, missed, mass in leaves:
        total[float(point), missed] = total.get((float(point), missed), arb(0)) + mass
    return {key: float(mass) for key, mass in total.items() if mass != 0}


def gathered(law: ThresholdLaw) -> dict[tuple[float, bool], float]:
    """Return the same of a law in floats."""
    total: Counter[tuple[float, bool]] = Counter()
    for point, missed, mass in zip(law.threshold, law.missed, law.mass, strict=True):
        total[float(point), bool(missed)] += float(mass)
    return {key: mass for key, mass in total.items() if mass}


@pytest.mark.parametrize("population", [Uniform(), HEAP, MIXED, Beta(2, 5)], ids=lambda p: p.name)
@pytest.mark.parametrize("mechanism", VARIANTS)
def test_one_path_holds_what_the_whole_tree_sums_to(
    mechanism: LDPCPScores, population: Population
) -> None:
    with ctx.workprec(128):
        search = enclosed(mechanism, population, 10)
        leaves = tree(search)
        assert sum((mass for _, _, mass in leaves), arb(0)).contains(1)
        for level in LEVELS:
            covered = [(population.enclosed_cdf(point), mass) for point, _, mass in leaves]
            low = sum((mass for reached, mass in covered if reached < level), arb(0))
            high = sum((mass for reached, mass in covered if reached > level), arb(0))
            for found, truth in ((search.below(level), low), (search.above(level), high)):
                assert found.overlaps(truth)
                assert found.rad() < 1e-25
        law = gathered(threshold_law(mechanism, population, n=10, prune=0.0))
        assert law == pytest.approx(masses(leaves), rel=1e-11)


@pytest.mark.parametrize("n", [50, 2_400, 11_080, 10**9, 10**12])
@pytest.mark.parametrize("population", [Uniform(), Beta(5, 0.2), MIXED], ids=lambda p: p.name)
@pytest.mark.parametrize("on_miss", OnMiss)
def test_the_float_engine_agrees(n: int, population: Population, on_miss: OnMiss) -> None:
    width = hoeffding_width(n=n, epsilon=4.0, rounds=10, delta=0.1)
    mechanism = replace(
        SEARCH, alpha=0.1, epsilon=4.0, rounds=10, window_width=width, on_miss=on_miss
    )
    law = threshold_law(mechanism, population, n=n)
    coverage = population.cdf(law.threshold)
    with ctx.workprec(96):
        exact_width = enclosed_hoeffding_width(n=n, epsilon=4.0, rounds=10, delta=0.1)
        search = EnclosedSearch(mechanism=mechanism, population=population, n=n, width=exact_width)
        levels = (search.target - exact_width, search.target + exact_width)
        found = [search.below(levels[0]), search.above(levels[1])]
    for ball, event in zip(
        found, (coverage < float(levels[0]), coverage > float(levels[1])), strict=True
    ):
        assert ball.rad() < 1e-15
        assert float(ball) == pytest.approx(
            law.probability(np.asarray(event)), rel=1e-6, abs=law.slack + 1e-290
        )


def test_the_width_is_the_formula() -> None:
    for n, epsilon, rounds, delta in ((50, 4.0, 10, 0.1), (10**9, 0.01, 25, 1e-6)):
        with ctx.workprec(96):
            ball = enclosed_hoeffding_width(n=n, epsilon=epsilon, rounds=rounds, delta=delta)
        rounded = hoeffding_width(n=n, epsilon=epsilon, rounds=rounds, delta=delta)
        assert float(ball) == pytest.approx(rounded, rel=1e-14)
        assert ball.rel_accuracy_bits() > 80


def test_a_threshold_at_the_level_is_covered_and_ties_are_decided() -> None:
    """F(1/2) = 1/2 = 1−α: not below, not above; and the estimate at the window's end is inside."""
    mechanism = replace(SEARCH, alpha=0.5, rounds=1, window_width=0.5)
    with ctx.workprec(96):
        search = enclosed(mechanism, Uniform(), 4)
        assert search.below(fmpq(1, 2)) == 0
        assert search.above(fmpq(1, 2)) == 0
        two_of_four = search._reports(fmpq(1, 2), asked=4, strictly=False)
        beyond = search._reports(fmpq(1, 2), asked=4, strictly=True)
    assert (two_of_four, beyond) == (2, 3)


def test_a_level_that_no_ball_tells_from_f_fails_in_the_upper_end_alone() -> None:
    """F(1/2) of Beta(2, 2) is 1/2, which a ball holds and does not show."""
    mechanism = replace(SEARCH, rounds=1, window_width=0.9)
    with ctx.workprec(96):
        found = enclosed(mechanism, Beta(2, 2), 4).below(fmpq(1, 2))
    assert found.contains(0)
    assert found.contains(1)


@pytest.mark.parametrize("population", [Beta(5, 0.2), Beta(0.2, 5)], ids=lambda p: p.name)
def test_far_tails_keep_their_relative_accuracy(population: Population) -> None:
    """Masses below 1e-30 on either side."""
    mechanism = replace(SEARCH, rounds=2, epsilon=8.0, window_width=0.05)
    with ctx.workprec(256):
        expected = masses(tree(enclosed(mechanism, population, 80)))
    law = gathered(threshold_law(mechanism, population, n=80, prune=0.0))
    assert min(expected.values()) < 1e-30
    for key, mass in expected.items():
        assert law[key] == pytest.approx(mass, rel=1e-9, abs=0.0)


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


def test_binomial_tails_at_their_ends() -> None:
    rates = np.array([0.0, 0.5, 1.0])
    for count, below in ((0, [0, 0, 0]), (1, [1, 1 / 32, 0]), (5, [1, 31 / 32, 0]), (6, [1, 1, 1])):
        assert _binomial_below(count, 5, rates) == pytest.approx(below)
        assert _binomial_from(count, 5, rates) == pytest.approx(1 - np.array(below))
