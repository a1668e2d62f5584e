"""Two-sample tests, against tables, brute force and each other."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, fisher_exact

from dpcp_audit.stats.rates import RateSequence, clopper_pearson
from dpcp_audit.stats.samples import (
    _LARGEST_LOG,
    Shift,
    Spread,
    _radius,
    _smallest,
    comparable,
    compare_log_ratios,
    compare_means,
    compare_rates,
    compare_samples,
)
from dpcp_audit.words.results import Count, Measure, Sample


def count(hits: int, trials: int, **more: object) -> Count:
    return Count(of="failures", hits=hits, trials=trials, **more)  # type: ignore[arg-type]


def pair(p: int, q: int, trials: int, *, any_time: bool = False) -> Sample:
    counts = tuple(
        Count(of=of, hits=hits, trials=trials, any_time=any_time)
        for of, hits in (("one", p), ("other", q))
    )
    return Sample(measure=Measure.LOG_RATIO, counts=counts)


def values(trials: int, variance: float, high: float = 1.0) -> Sample:
    return Sample(measure=Measure.MEAN, trials=trials, variance=variance, range=(0.0, high))


@pytest.mark.parametrize("numbers", [(3, 20, 9, 30), (0, 50, 7, 40), (10, 10, 2, 10), (5, 9, 5, 9)])
def test_rates_are_compared_by_fishers_test(numbers: tuple[int, int, int, int]) -> None:
    a, m, b, n = numbers
    shift = compare_rates(count(a, m), count(b, n))
    table = [[b, n - b], [a, m - a]]
    rises, falls = b * m > a * n, b * m < a * n
    higher = fisher_exact(table, alternative="greater").pvalue if rises else 1.0
    lower = fisher_exact(table, alternative="less").pvalue if falls else 1.0
    assert shift == pytest.approx((higher, lower), rel=1e-9)


def test_undecided_trials_speak_against_a_shift() -> None:
    old, new = count(10, 1000), count(40, 1000)
    assert compare_rates(old, new).higher < 1e-4
    assert compare_rates(replace(old, undecided=30), new).higher == 1.0
    assert compare_rates(old, replace(new, undecided=500)) == compare_rates(old, new)
    assert compare_rates(replace(new, undecided=500), old).lower == compare_rates(new, old).lower
    assert compare_rates(new, replace(old, undecided=30)).lower == 1.0


def stopped_p_values(rate: float) -> float:
    """P(p ≤ 0.05) under equality: one run of 30 trials, one that stops at 5 hits or at 60 trials.

    Exact, over all outcomes.
    """
    stops = [(5, n, float(binom.pmf(4, n - 1, rate)) * rate) for n in range(5, 61)] + [
        (k, 60, float(binom.pmf(k, 60, rate))) for k in range(5)
    ]
    total = 0.0
    for hits, trials, mass in stops:
        new = count(hits, trials, any_time=True)
        for k in range(31):
            small = compare_rates(count(k, 30), new).p_value <= 0.05
            total += mass * float(binom.pmf(k, 30, rate)) * small
    return total


@pytest.mark.parametrize("rate", [0.05, 0.3])
def test_a_stopped_run_keeps_the_level(rate: float) -> None:
    assert stopped_p_values(rate) <= 0.05


def test_stopped_and_large_runs_have_power() -> None:
    old, new = count(100, 10_000), count(200, 10_000)
    fixed = compare_rates(old, new).higher
    stopped = compare_rates(old, replace(new, any_time=True)).higher
    assert fixed < 1e-8 < stopped < 1e-3
    large = compare_rates(count(10**9, 10**12), count(2 * 10**9, 10**12))
    assert large.higher < 1e-80
    assert large.lower == 1.0


def test_log_ratios_need_their_boxes_to_part() -> None:
    assert compare_log_ratios(pair(2700, 1000, 10_000), pair(2710, 990, 10_000)).p_value > 0.5
    doubled = compare_log_ratios(pair(2700, 1000, 10_000), pair(5000, 680, 10_000))
    assert doubled.higher < 1e-9
    assert doubled.lower == 1.0
    back = compare_log_ratios(pair(5000, 680, 10_000), pair(2700, 1000, 10_000))
    assert back == (1.0, doubled.higher)


@pytest.mark.parametrize("any_time", [False, True])
def test_at_the_p_value_the_boxes_touch(any_time: bool) -> None:
    """Four limits, each wrong on its side with a quarter of the p-value at most."""
    old, new = pair(2700, 1000, 10_000, any_time=any_time), pair(3600, 900, 10_000)
    p_value = compare_log_ratios(old, new).higher

    def limits(counted: Count) -> tuple[float, float]:
        if counted.any_time:
            return RateSequence(significance=p_value / 4).interval(counted.hits, counted.trials)
        return clopper_pearson(counted.hits, counted.trials, significance=2 * p_value / 4)

    (_, p_old), (q_old, _) = (limits(counted) for counted in old.counts)
    (p_new, _), (_, q_new) = (limits(counted) for counted in new.counts)
    assert 1e-9 < p_value < 1e-2
    assert p_old / q_old == pytest.approx(p_new / q_new, rel=1e-6)


def test_the_complement_of_an_event_speaks_too() -> None:
    """Of p = 0.98 and p′ = 0.96, noise halved, it is the rest that tells them apart."""
    shift = compare_log_ratios(pair(9800, 9600, 10_000), pair(9980, 9600, 10_000))
    assert shift.higher < 1e-6


def test_log_ratios_without_hits_say_nothing() -> None:
    assert compare_log_ratios(pair(0, 0, 100), pair(0, 0, 100)) == (1.0, 1.0)
    assert compare_log_ratios(pair(50, 0, 100), pair(100, 0, 100)).p_value == 1.0


def test_means_invert_bernsteins_inequality() -> None:
    """The p-value s solves gap = √(2vL) + bL/3, L = log(3/s), with both variances' upper bounds."""
    old, new = values(5000, 0.01), values(8000, 0.02)
    p_value = compare_means(0.90, old, 0.92, new).higher
    log = math.log(3 / p_value)
    spreads = [math.sqrt(s.variance) + math.sqrt(2 * log / (s.trials - 1)) for s in (old, new)]
    variance = spreads[0] ** 2 / 5000 + spreads[1] ** 2 / 8000
    assert math.sqrt(2 * variance * log) + log / 5000 / 3 == pytest.approx(0.02, rel=1e-6)
    assert p_value < 1e-6


def test_no_standard_deviation_is_larger_than_half_the_range() -> None:
    """Of 20 values between 0 and 3 it is 3/2 at most, whatever their variance adds up to."""
    few, many = values(20, 2.0, high=3.0), values(10**6, 0.04)
    log = 4.0
    spread = 0.2 + math.sqrt(8 / (10**6 - 1))
    variance = 1.5**2 / 20 + spread**2 / 10**6
    expected = math.sqrt(8 * variance) + 3 / 20 * 4 / 3
    assert _radius(log, few, many) == pytest.approx(expected, rel=1e-12)
    assert _radius(log, many, few) == pytest.approx(expected, rel=1e-12)


def test_means_keep_their_level_where_a_normal_approximation_fails() -> None:
    """Rare large values: 20 samples of a mean of 0.01 mostly look constant."""
    assert compare_means(0.0, values(20, 0.0), 1 / 20, values(20, 0.05)).higher == 1.0


def test_of_several_rates_each_has_a_share() -> None:
    def several(*hits: int) -> Sample:
        counts = tuple(Count(of=f"n = {i}", hits=k, trials=1000) for i, k in enumerate(hits))
        return Sample(measure=Measure.RATES, counts=counts)

    shift = compare_samples(0.0, several(10, 10, 10), 0.0, several(10, 40, 10))
    alone = compare_rates(count(10, 1000), count(40, 1000))
    assert shift.higher == pytest.approx(3 * alone.higher)
    assert not comparable(several(10), several(10, 10))


def test_what_is_not_the_same_is_not_compared() -> None:
    rate = Sample(measure=Measure.RATES, counts=(count(1, 10),))
    assert comparable(rate, rate)
    others = [
        values(10, 0.1),
        Sample(measure=Measure.RATES),
        Sample(measure=Measure.LOG_RATIO, counts=rate.counts),
        Sample(measure=Measure.RATES, counts=(count(11, 10),)),
        Sample(measure=Measure.RATES, counts=(count(5, 10, undecided=6),)),
        Sample(measure=Measure.RATES, counts=(count(0, 0),)),
        Sample(measure=Measure.RATES, counts=(count(0, 10**300),)),
        Sample(measure=Measure.RATES, counts=(Count(of="other", hits=1, trials=10),)),
    ]
    for other in others:
        assert not comparable(rate, other)
    assert not comparable(values(1, 0.0), values(10, 0.1))
    with pytest.raises(ValueError, match="old and new must estimate the same"):
        compare_samples(0.1, rate, 0.1, values(10, 0.1))


@pytest.mark.parametrize(
    ("numbers", "fits"),
    [
        ((0, 0, 10), True),
        ((10, 0, 10), True),
        ((0, 10, 10), True),
        ((1, 9, 10), True),
        ((0, 0, 1), True),
        ((3, 4, 10**15), True),
        ((-1, 2, 10), False),
        ((3, -1, 10), False),
        ((0, 0, 10**15 + 1), False),
    ],
)
def test_counts_that_can_come_up_are_compared(numbers: tuple[int, int, int], fits: bool) -> None:
    """Hits, undecided, trials; no hits and nothing but hits among them."""
    hits, undecided, trials = numbers
    rate = Sample(measure=Measure.RATES, counts=(count(hits, trials, undecided=undecided),))
    assert comparable(rate, rate) is fits


def test_means_of_two_values_are_compared_and_log_ratios_of_two_counts() -> None:
    assert comparable(values(2, 0.1), values(2, 0.1))
    assert not comparable(values(2, 0.1), values(1, 0.1))
    assert comparable(pair(0, 10, 10), pair(10, 0, 10))
    three = Sample(measure=Measure.LOG_RATIO, counts=(count(1, 10),) * 3)
    assert not comparable(three, three)


def test_two_sides_cost_a_factor_of_two() -> None:
    assert Shift(0.01, 1.0).p_value == 0.02
    assert Shift(1.0, 0.6).p_value == 1.0


def test_the_smallest_probability_by_hand() -> None:
    assert _smallest(lambda x: x <= 3.0) == pytest.approx(math.exp(-3.0), rel=1e-6)
    assert _smallest(lambda x: False) == 1.0
    assert _smallest(lambda x: True) == math.exp(-_LARGEST_LOG) < 1e-80


VALUES = st.lists(
    st.floats(-1e12, 1e12, allow_subnormal=False) | st.sampled_from([0.0, 1.0, 0.9, 1 - 1e-12]),
    min_size=1,
    max_size=40,
)


def summary(values: list[float]) -> Spread:
    return Spread.of(np.array(values))


@given(st.lists(VALUES, min_size=1, max_size=5))
def test_merged_parts_are_the_summary_of_the_whole(parts: list[list[float]]) -> None:
    values = [value for part in parts for value in part]
    merged, whole = Spread.merged(map(summary, parts)), summary(values)
    exact = ("count", "low", "high", "level", "first", "cells")
    assert [getattr(merged, name) for name in exact] == [getattr(whole, name) for name in exact]
    scale = max(map(abs, values))
    assert merged.mean == pytest.approx(whole.mean, abs=1e-12 * scale)
    assert merged.squares == pytest.approx(whole.squares, rel=1e-9, abs=1e-9 * scale**2)


@given(VALUES)
def test_cells_count_the_values_between_their_edges(values: list[float]) -> None:
    found = summary(values)
    assert sum(found.cells) == found.count == len(values)
    assert len(found.cells) <= 64
    assert found.cells[0] > 0 < found.cells[-1]
    if found.low == found.high:
        assert found.edges[0] < found.low == found.high < found.edges[1]
        assert found.edges[1] - found.edges[0] <= max(abs(found.low), 1.0) / 200
    else:
        counted = [
            sum(low <= value < high for value in values)
            for low, high in zip(found.edges, found.edges[1:], strict=False)
        ]
        assert counted == found.cells


@given(VALUES)
def test_summaries_survive_json(values: list[float]) -> None:
    found = summary(values)
    assert Spread.from_data(json.loads(json.dumps(found.as_data()))) == found


def test_a_range_is_shown_by_more_than_thirty_cells() -> None:
    for high in np.geomspace(1e-3, 1e3, 50):
        assert 32 <= len(summary([0.0, high]).cells) <= 64


def test_moments_are_those_of_numpy() -> None:
    values = np.random.default_rng(0).random(1001)
    found = Spread.of(values)
    assert (found.mean, found.variance) == (values.mean(), values.var(ddof=1))
    assert found.deviation == pytest.approx(values.std(), rel=1e-15)
    assert math.isnan(summary([1.0]).variance)


def test_values_that_are_not_finite_are_shown() -> None:
    with pytest.raises(ValueError, match=r"^statistic must be finite, got \[inf nan\]$"):
        summary([1.0, math.inf, 2.0, math.nan])
