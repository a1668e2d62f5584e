"""The simulation study on the first published draws; nothing that is judged here is random."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest

from dpcp_ledger.reproduce import pcoqs_experiments
from dpcp_ledger.reproduce.simulation import (
    Condition,
    Demand,
    Effort,
    HistogramSeed,
    Measured,
    Metric,
    Model,
    ModelKind,
    SimulatedMethod,
    gathered,
    perform,
    sample,
    stream,
    tasks,
)
from dpcp_ledger.reproduce.table_cells import Printed, ReproducedNumber

if TYPE_CHECKING:
    from collections.abc import Iterable

PLAIN = Model(kind=ModelKind.NAIVE_BAYES)
EPSILONS = (0.1, 1.0, 10.0)
TRIALS = 12


def demand(**parameters: float) -> Demand:
    return Demand(PLAIN, 10_000, Condition(**parameters))


def run(wanted: Iterable[Demand], effort: Effort, *, seed: int) -> dict[Demand, Measured]:
    return gathered(map(perform, tasks(wanted, effort, seed=seed)))


@cache
def measured() -> dict[Demand, Measured]:
    wanted = [demand(epsilon=epsilon) for epsilon in EPSILONS]
    return run(wanted, Effort(main=TRIALS, side=2, forest=1), seed=0)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("method", [SimulatedMethod.EXPONQ, SimulatedMethod.PCOQS])
def test_the_first_published_draws_agree_with_table_5(
    epsilon: float, method: SimulatedMethod
) -> None:
    """No false alarms: data and draws are the published ones."""
    printed = [
        Printed.parse(text)
        for text in pcoqs_experiments.published()["5"]["rows"][str(epsilon)].split()
    ]
    trials = measured()[demand(epsilon=epsilon)].published[:, method]
    for place, metric in enumerate((Metric.COVERAGE, Metric.SIZE, Metric.SINGLE)):
        number = printed[3 * place + method]
        error = max(number.spread, 5e-5) * np.sqrt(1 / TRIALS - 1 / 1000)
        assert abs(trials[:, metric].mean() - number.value) < 4 * error + 5e-5


def test_a_table_computed_at_another_budget_does_not_agree() -> None:
    trials = measured()[demand(epsilon=1.0)].published[:, SimulatedMethod.EXPONQ, Metric.COVERAGE]
    printed = Printed.parse(pcoqs_experiments.published()["5"]["rows"]["0.1"].split()[0])
    assert abs(trials.mean() - printed.value) > 0.05


def test_results_do_not_depend_on_what_runs_beside() -> None:
    effort = Effort(main=6, side=2, forest=1)
    alone = run([demand(epsilon=1.0)], effort, seed=0)[demand(epsilon=1.0)]
    together = run([demand(epsilon=e) for e in EPSILONS], effort, seed=0)
    for one, other in zip(alone, together[demand(epsilon=1.0)], strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(alone.published, measured()[demand(epsilon=1.0)].published[:6])


def test_the_seed_moves_what_is_written_and_not_what_is_published() -> None:
    effort = Effort(main=2, side=2, forest=1)
    first, second = (run([demand()], effort, seed=seed)[demand()] for seed in (0, 1))
    for method in (SimulatedMethod.EXPONQ, SimulatedMethod.PCOQS, SimulatedMethod.STANDARD):
        np.testing.assert_array_equal(first.published[:, method], second.published[:, method])
    assert not np.array_equal(first.written, second.written, equal_nan=True)


def test_histlap_is_seeded_as_its_tables_are() -> None:
    fixed = [HistogramSeed.FIXED.generator(i, stream(0, i)).random() for i in (0, 5)]
    running = [HistogramSeed.RUNNING.generator(i, stream(0, i)).random() for i in (0, 5)]
    assert fixed[0] == fixed[1] == running[0] == np.random.default_rng(12).random()
    assert running[1] == np.random.default_rng(27).random()
    assert HistogramSeed.FRESH.generator(5, stream(0, 5)).random() == stream(0, 5).random()


def test_alone_leaves_the_other_methods_out() -> None:
    wanted = demand(lowest=1e-20, resolution=1e-3, alone=True)
    found = run([wanted], Effort(main=2, side=2, forest=1), seed=0)[wanted]
    for part in found:
        assert np.isnan(part[:, SimulatedMethod.EXPONQ, Metric.COVERAGE]).all()
        assert np.isfinite(part[:, SimulatedMethod.PCOQS]).all()


def test_the_data_is_split_in_60_24_16_percent_and_balanced() -> None:
    data = sample(0, 1000)
    assert [part[1].size for part in (data.fit, data.calibrate, data.test)] == [600, 240, 160]
    labels = np.concatenate([part[1] for part in (data.fit, data.calibrate, data.test)])
    assert labels.sum() == 500
    np.testing.assert_array_equal(sample(0, 1000).fit[0], data.fit[0])
    assert not np.array_equal(sample(1, 1000).fit[0], data.fit[0])


@pytest.mark.study
def test_table_5_comes_out_to_the_printed_digit() -> None:
    """No false alarms: P-COQS and ExponQ over all 1,000 published draws."""
    rows = pcoqs_experiments.published()["5"]["rows"]
    wanted = {label: demand(epsilon=float(label)) for label in rows}
    found = run(wanted.values(), Effort(main=1000, side=1, forest=1), seed=0)
    for label, text in rows.items():
        for place, cell in enumerate(text.split()):
            metric, method = divmod(place, 3)
            if method == SimulatedMethod.HISTLAP:
                continue
            estimate = ReproducedNumber.of(
                found[wanted[label]].published[:, method, metric], repeats=True
            )
            number = Printed.parse(cell)
            assert abs(estimate.value - number.value) <= 5.001e-5, (label, place)
            assert abs(estimate.spread - number.spread) <= 5.001e-5, (label, place)
