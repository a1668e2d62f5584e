"""The comparison's choice."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from dpcp_ledger.claims.compared_calibrators import (
    Panel,
    choose,
    elected,
    shortfalls,
)
from dpcp_ledger.comparison.calibrator_study import (
    Comparison,
    ComparisonRow,
    Grid,
)
from dpcp_ledger.comparison.method import Trust

POOL = "digits-logistic"
CASE = {"subject": POOL, "n": 1000, "alpha": 0.1, "epsilon": 1.0}
ANYONE = Panel(title="anyone", trusts=frozenset(Trust))
GRID = Grid(
    methods=("split", "pcoqs-coarse", "exponq-full", "histlap", "ldpcp-s", "ldpcp-l", "exponq"),
    subjects=(POOL,),
    sizes=(1000,),
    epsilons=(1.0,),
    alphas=(0.1,),
    trials=100,
)


def row(key: str, size: float, **changes: object) -> ComparisonRow:
    measured = ComparisonRow(
        method=key,
        subject=POOL,
        n=1000,
        alpha=0.1,
        epsilon=math.inf if key == "split" else 1.0,
        delta=1e-6,
        trials=100,
        coverage=0.92,
        coverage_error=0.001,
        failure_rate=0.05,
        distance=0.02,
        set_size=size,
        labels=10,
        parameter="σ = 3 | 4",
    )
    return replace(measured, **changes)


def comparison(*rows: ComparisonRow) -> Comparison:
    return Comparison(grid=GRID, rows=(row("split", 1.0), *rows), skipped=())


def chosen(*rows: ComparisonRow, panel: Panel = ANYONE) -> str | None:
    best = choose(comparison(*rows), panel=panel, **CASE)
    return best.method if best else None


class TestChoice:
    def test_the_smallest_sets_win(self) -> None:
        assert chosen(row("histlap", 1.5), row("exponq-full", 1.3)) == "exponq-full"

    def test_what_does_not_cover_does_not_stand(self) -> None:
        short = row("histlap", 1.0, coverage=0.8969)
        assert chosen(short, row("exponq-full", 1.3)) == "exponq-full"
        assert chosen(replace(short, coverage=0.8971), row("exponq-full", 1.3)) == "histlap"
        assert chosen(short) is None

    def test_useless_sets_do_not_win(self) -> None:
        assert chosen(row("histlap", 9.0)) is None
        assert chosen(row("histlap", 8.9)) == "histlap"

    def test_labels_alone_and_half_a_budget_do_not_stand(self) -> None:
        assert chosen(row("ldpcp-l", 1.1), row("exponq", 1.2), row("ldpcp-s", 1.3)) == "ldpcp-s"

    def test_a_theorem_can_be_asked_for(self) -> None:
        rows = row("histlap", 1.0), row("exponq-full", 2.0)
        assert chosen(*rows, panel=replace(ANYONE, promised=True)) == "exponq-full"

    def test_whom_to_trust_can_be_restricted(self) -> None:
        rows = row("histlap", 1.0), row("ldpcp-s", 2.0)
        panel = Panel(title="none", trusts={Trust.NOBODY})
        assert chosen(*rows, panel=panel) == "ldpcp-s"

    def test_among_equals_the_one_that_covers_more_often_wins(self) -> None:
        elsewhere = row("histlap", 1.0, subject="elsewhere", coverage=0.5)
        rows = row("histlap", 1.1), row("exponq-full", 1.11), elsewhere
        assert chosen(*rows) == "exponq-full"
        assert chosen(row("histlap", 1.1), row("exponq-full", 1.13), elsewhere) == "histlap"
        assert shortfalls(comparison(*rows), "histlap") == 0.5

    def test_another_budget_is_another_case(self) -> None:
        assert chosen(row("histlap", 1.0, epsilon=2.0)) is None

    def test_without_a_reference_there_is_no_choice(self) -> None:
        with pytest.raises(ValueError, match="split conformal sets"):
            choose(comparison(), panel=ANYONE, **(CASE | {"n": 7}))

    def test_the_elected_are_counted(self) -> None:
        tally = elected(comparison(row("histlap", 1.2)), subject=POOL, alpha=0.1, panel=ANYONE)
        assert tally == {"histlap": 1}
        assert elected(comparison(), subject=POOL, alpha=0.1, panel=ANYONE) == {"": 1}
