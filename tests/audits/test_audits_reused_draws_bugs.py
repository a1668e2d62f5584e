"""Targets whose every output keeps the promise, and which reuse one draw for several in a row.

A test of independent outputs refutes them far more often than stated; every auditor names the
dependence instead. Their twins that draw anew are judged as ever.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.samplers import context, pair

from dpcp_audit.audits.blackbox import BlackBoxPrivacy
from dpcp_audit.audits.local import LocalPrivacy
from dpcp_audit.audits.release_membership import MembershipInference
from dpcp_audit.audits.search.score_pairs import ScorePairs
from dpcp_audit.targets.answers import DegenerateTargetError as DependentOutputsError
from dpcp_audit.targets.kinds import Kind
from dpcp_audit.theorems.coverage_audit import CoverageAudit
from dpcp_audit.words.guarantees import Coverage, LocalDP, PureDP
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from dpcp_audit.words.checks import Check

pytestmark = pytest.mark.known_bad


@dataclass(frozen=True)
class ReusedLaplace:
    """The mean with noise for ε = 1, of which ``times`` outputs in a row have the same."""

    times: int

    def __call__(self, value: Any, size: int, /, *, rng: np.random.Generator) -> np.ndarray:
        noise = rng.laplace(scale=1 / np.size(value), size=-(-size // self.times))
        return np.mean(value) + np.repeat(noise, self.times)[:size]


@dataclass(frozen=True)
class ReusedResponse:
    """Ternary randomised response of ε = 1, which lies to ``times`` users in a row or to none."""

    times: int

    def __call__(self, values: np.ndarray, /, *, rng: np.random.Generator) -> np.ndarray:
        shape = -(-values.size // self.times)
        kept, shift = rng.random(shape) < np.e / (np.e + 2), rng.integers(1, 3, size=shape)
        moved = np.repeat(np.where(kept, 0, shift), self.times)[: values.size]
        return (values + moved) % 3


@dataclass
class ReusedCoin:
    """Covers all or nothing, with probability 0.9; ``times`` calls in a row do the same."""

    times: int
    left: int = field(default=0)
    covers: bool = field(default=False)

    def __call__(self, value: Any, size: int, /, *, rng: np.random.Generator) -> np.ndarray:
        if self.left == 0:
            self.left, self.covers = self.times, bool(rng.random() < 0.9)
        self.left -= 1
        return np.full(size, np.inf if self.covers else -np.inf)


def audit(name: str, times: int) -> Check:
    target = ReusedLaplace(times)
    pure: dict[str, Any] = {"sample": target, "guarantee": PureDP(1.0)}
    if name == "membership":
        return MembershipInference(**pure, neighbours=pair(), n_samples=1000)
    if name == "blackbox":
        return BlackBoxPrivacy(**pure, pairs=ScorePairs(sizes=(1,)), draws=4000)
    return LocalPrivacy(
        randomizer=ReusedResponse(times), guarantee=LocalDP(1.0), n_inputs=3, n_outputs=3,
        n_samples=1000,
    )  # fmt: skip


NAMES = ["membership", "blackbox", "local"]


@pytest.mark.parametrize("times", [2, 20])
@pytest.mark.parametrize("name", NAMES)
def test_a_draw_that_is_reused_is_named(name: str, times: int) -> None:
    """At a significance of 1e-4, where 20 outputs of one draw would refute one in five."""
    with pytest.raises(DependentOutputsError, match="depend on each other: at lag 1, large"):
        audit(name, times)(context(0, significance=1e-4))


@pytest.mark.parametrize("name", NAMES)
def test_a_twin_that_draws_anew_is_judged(name: str) -> None:
    outcome = audit(name, 1)(context(0, significance=1e-4))
    assert outcome.verdict in {Verdict.CONSISTENT, Verdict.INCONCLUSIVE}


@pytest.mark.parametrize("times", [2, 20])
def test_a_coverage_is_not_refuted_by_calls_that_depend_on_each_other(times: int) -> None:
    check = CoverageAudit(
        calibrate=ReusedCoin(times), kind=Kind.QUANTILE, guarantee=Coverage(0.99), n=5, draws=2000
    )
    with pytest.raises(DependentOutputsError, match="depend on each other: at lag"):
        check(context(0, significance=1e-4))


def test_a_coverage_that_falls_short_by_independent_calls_is_refuted() -> None:
    check = CoverageAudit(
        calibrate=ReusedCoin(1), kind=Kind.QUANTILE, guarantee=Coverage(0.99), n=5, draws=2000
    )
    assert check(context(0, significance=1e-4)).verdict is Verdict.REFUTED
