"""The grid of marginal coverage: a case by drawing, and a bound that is too narrow."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpcp_audit.theorems.theorem import outside
from dpcp_ledger.pcoqs.marginal_grid import MarginalGrid

SMALL = MarginalGrid(sizes=(20, 60), alphas=(0.1,), betas=(0.1,), rhos=(0.5,))


@pytest.mark.parametrize("levels", [None, 4])
def test_ties_enter_the_window(levels: int | None) -> None:
    grid = replace(SMALL, levels=levels)
    for case in grid.cases():
        most = 1 if levels is None else -(-(case.theorem.n + 1) // levels)
        assert case.theorem.window_count == most
        assert case.scores.size == case.theorem.n + 1


@pytest.mark.statistical(false_alarm=1e-9)
def test_the_failure_of_a_case_is_what_its_searches_give() -> None:
    """Each score held out in turn, 1,000 noises for all; |share − p| ≤ 0.12, p < 1e-9 to fail."""
    grid = replace(SMALL, sizes=(20,))
    (case,) = (found.scaled(0.1) for found in grid.cases())
    noise = np.random.default_rng(0).standard_normal((case.calibrator.rounds, 1_000))
    covered = np.zeros(1_000)
    for held in range(21):
        kept = np.delete(case.scores, held)
        released = case.calibrator.search(kept, case.calibrator.rank(kept.size), noise)
        covered += (case.scores[held] <= released) / 21
    share = outside(covered, case.bounds).mean()
    assert share == pytest.approx(case.failure_probability(), abs=0.12)
    assert share > 0


@pytest.mark.known_bad
def test_a_bound_of_a_tenth_is_refuted() -> None:
    assert max(case.failure_probability() for case in SMALL.cases()) < 0.1
    tenth = [case.scaled(0.1).failure_probability() for case in SMALL.cases()]
    assert max(tenth) > 0.1


def test_a_case_whose_bounds_hold_of_everything_is_counted() -> None:
    """At ρ = 0.05 τ exceeds n = 20, and the bounds hold every coverage; not at 500."""
    wide = replace(SMALL, sizes=(20,), rhos=(0.05,))
    assert "0 of 1 cases; in 1 its bounds" in wide.worst().note
    assert "; in 0 its bounds" in replace(wide, rhos=(500.0,)).worst().note
    assert "of them at α* = 0" in replace(wide, corrected=True).worst().note


def test_cases_at_zero_are_left_out_unless_asked_for() -> None:
    corrected = replace(SMALL, corrected=True)
    kept = list(replace(corrected, clamped=False).cases())
    assert all(case.calibrator.alpha > 0 for case in kept)
    assert len(kept) < len(list(corrected.cases()))
