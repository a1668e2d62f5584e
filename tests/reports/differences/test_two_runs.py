"""The adjustment of a comparison's p-values: Holm in each family, and exact numbers apart."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from dpcp_audit.reports.two_runs import ShiftTest, _adjust
from dpcp_audit.stats.samples import Shift


def test_numbers_of_the_same_cases_and_of_others_are_adjusted_by_holm_apart() -> None:
    rng = np.random.default_rng(0)
    shifts = [Shift(higher=p, lower=1.0) for p in [*(rng.random(40) ** 4).tolist(), 0.25, 0.25]]
    tested = {
        f"{i}": ShiftTest(shift=shift, differs=("n",) if i % 3 == 0 else ())
        for i, shift in enumerate(shifts)
    }
    tested |= {"untested": ShiftTest(), "exact": ShiftTest(shift=shifts[0], certain=True)}
    adjusted = _adjust(tested)
    assert adjusted.pop("exact") == shifts[0].p_value
    assert len(adjusted) == len(shifts)
    for family in ([i for i in range(42) if i % 3], range(0, 42, 3)):
        expected = multipletests([shifts[i].p_value for i in family], method="holm")[1]
        assert [adjusted[f"{i}"] for i in family] == pytest.approx(expected.tolist())
