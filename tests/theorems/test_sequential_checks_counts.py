"""Sequential checks and checks along n: how failed and undecided trials are counted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from dpcp_audit.theorems.sequential_checks import AlongN, SequentialRate
from dpcp_audit.theorems.theorem import TheoremTrials
from dpcp_audit.words.checks import Context
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import Verdict


@dataclass(frozen=True, kw_only=True)
class _FailedAndUndecided:
    """A theorem whose every trial is marked both failed and undecided."""

    allowed_failure: float = 0.1
    failure: Quantity = Quantity.FAILURE
    statistic: str = "x"

    @property
    def bounds(self) -> dict[str, float]:
        return {"limit": 1.0}

    @property
    def parameters(self) -> dict[str, object]:
        return {}

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        both = np.ones(count, dtype=bool)
        return TheoremTrials(np.zeros(count), both, both)


@pytest.mark.parametrize("check_of", ["sequential", "along"])
def test_a_trial_both_failed_and_undecided_counts_once(check_of: str) -> None:
    theorem = _FailedAndUndecided()
    check = (
        SequentialRate(theorem=theorem, n_trials=500)
        if check_of == "sequential"
        else AlongN(theorem_at=lambda _: theorem, sizes=(10, 20), n_trials=500)
    )
    outcome = check(Context(seed=0, name="both", significance=1e-3))
    assert outcome.verdict is Verdict.REFUTED
    assert outcome.evidence.value == 1.0
    assert outcome.evidence.upper == 1.0
