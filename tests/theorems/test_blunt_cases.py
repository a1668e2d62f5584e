"""Cases whose bound would hold without its correction: they have no power."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.samplers import context
from support.theorems import Coin

from dpcp_audit.laws.pools import ProbabilityPool
from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.stats.intervals import clopper_pearson
from dpcp_audit.stats.rate_power import RateSequence
from dpcp_audit.theorems.ldpcp import UniformEvent
from dpcp_audit.theorems.pcoqs_coverage import CoverageReading, CoverageTheorem, RankError
from dpcp_audit.theorems.theorem import FailureRate, TheoremTrials
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

SEARCH = {"mechanism": PCOQS(alpha=0.1, rho=0.5, resolution=2**-20), "n": 400, "beta": 0.1}
POOL = ProbabilityPool("two", np.array([[0.9, 0.1], [0.4, 0.6]]), np.array([0, 1]))


@pytest.mark.parametrize(
    "theorem",
    [
        RankError(**SEARCH),
        RankError(**SEARCH, window_count=2),
        CoverageTheorem(**SEARCH),
        CoverageTheorem(**SEARCH, reading=CoverageReading.CONDITIONAL, window_count=1),
        UniformEvent(pool_name="two", pool=lambda: POOL, n=50, epsilon=2.0, delta=0.1, k=2),
    ],
    ids=["rank error", "a wider window", "marginal", "conditional", "labels"],
)
def test_trials_that_fail_without_the_correction_are_marked(theorem: CoverageTheorem) -> None:
    run = theorem.trials(500, rng=np.random.default_rng(0))
    without = replace(theorem, correction=0.0).trials(500, rng=np.random.default_rng(0))
    possibly = without.failed if without.undecided is None else without.failed | without.undecided
    assert run.uncorrected is not None
    assert run.uncorrected.sum() > 0
    assert (run.uncorrected == possibly).all()


def test_what_has_no_such_correction_marks_none() -> None:
    for theorem in (
        RankError(**SEARCH, windows=2),
        CoverageTheorem(**SEARCH, reading=CoverageReading.CONDITIONAL, windows=2),
        CoverageTheorem(**SEARCH, reading=CoverageReading.CONDITIONAL, corrected=True),
    ):
        assert theorem.trials(10, rng=np.random.default_rng(0)).uncorrected is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Needing(Coin):
    """A theorem that never fails; ``needing`` of its trials would without the correction."""

    needing: int
    correction_name: str = "Δ"

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        del rng
        never = np.zeros(count, dtype=np.bool_)
        return TheoremTrials(np.zeros(count), never, uncorrected=np.arange(count) < self.needing)


@pytest.mark.parametrize(
    ("budget", "trials", "limits"),
    [
        (2000, 2000, partial(clopper_pearson, significance=1e-6)),
        (20_000, 137, RateSequence(significance=1e-6, expected_rate=0.1).interval),
    ],
    ids=["all", "until it is settled"],
)
def test_a_bound_that_holds_without_its_correction_is_not_consistent(
    budget: int, trials: int, limits: Callable[[int, int], tuple[float, float]]
) -> None:
    """Up to the last number of such trials whose upper limit allows δ."""
    early = trials < budget
    check = FailureRate(theorem=Needing(needing=0), n_trials=budget, stops_early=early)
    at = context(0, significance=1e-6)
    last = max(k for k in range(trials // 5) if limits(k, trials)[1] <= 0.1)
    found = [replace(check, theorem=Needing(needing=needing))(at) for needing in (last, last + 1)]
    assert [each.verdict for each in found] == [Verdict.INCONCLUSIVE, Verdict.CONSISTENT]
    assert found[0].power is not None
    assert found[0].power.smallest == math.inf
    assert found[0].power.detail == "without any Δ the bound would hold here too"
