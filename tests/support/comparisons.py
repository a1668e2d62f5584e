"""A comparison of calibrators in this process, without an engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcp_ledger.comparison import calibrator_study
from dpcp_ledger.comparison.calibrator_study import Comparison, ComparisonRow, ordered
from dpcp_ledger.comparison.method import SkippedMethod, subject

if TYPE_CHECKING:
    from dpcp_ledger.comparison.calibrator_study import Grid
    from dpcp_ledger.comparison.method import Case, Method


def measure(chosen: Method, case: Case, *, trials: int, seed: int) -> ComparisonRow | SkippedMethod:
    """Run a method on a case and sum up."""
    runs = calibrator_study.perform(chosen, case, trials=trials, seed=seed)
    return runs if isinstance(runs, SkippedMethod) else runs.row()


def compare(grid: Grid) -> Comparison:
    """Return the rows of every subject, each in the study's order."""
    rows: dict[str, list[ComparisonRow]] = {subject(name).name: [] for name in grid.subjects}
    skipped = {}
    for keys, epsilon in calibrator_study.tasks(grid):
        for chosen, case in calibrator_study.cases(grid, keys, epsilon):
            found = measure(chosen, case, trials=grid.trials, seed=grid.seed)
            if isinstance(found, SkippedMethod):
                skipped[chosen.key, found.reason] = None
            else:
                rows[found.subject].append(found)
    return Comparison(
        grid=grid,
        rows=tuple(row for each in rows.values() for row in ordered(grid, each)),
        skipped=tuple(skipped),
    )
