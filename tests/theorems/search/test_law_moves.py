"""Steps from laws whose weights are no whole numbers."""

from __future__ import annotations

import numpy as np
import pytest

from dpcp_audit.laws.populations import PiecewiseConstant
from dpcp_audit.theorems.law_space import move


@pytest.mark.parametrize(
    "law",
    [
        PiecewiseConstant(cells=(0.98,), atoms=((0.0, 0.02),)),
        PiecewiseConstant(edges=(0.0, 0.5, 1.0), cells=(97.5, 2.5)),
        PiecewiseConstant(atoms=((0.0, 0.7), (1.0, 0.3))),
    ],
)
def test_every_step_from_a_law_of_broken_weights_is_a_law(law) -> None:
    rng = np.random.default_rng(0)
    found = [move(law, rng) for _ in range(2000)]
    assert sum(each is not None for each in found) > 1000
