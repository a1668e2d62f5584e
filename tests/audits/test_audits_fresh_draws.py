"""What certifies is independent of what chose: no audit looks at the same draws twice.

A generator is handed to the target in the same state twice only by the probe of its randomness,
whose batches have a size of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.samplers import context, pair

from dpcp_audit.audits.blackbox import BlackBoxPrivacy
from dpcp_audit.audits.local import LocalPrivacy
from dpcp_audit.audits.release_membership import MembershipInference
from dpcp_audit.audits.search.score_pairs import ScorePairs
from dpcp_audit.targets.kinds import Kind
from dpcp_audit.theorems.coverage_audit import CoverageAudit
from dpcp_audit.words.guarantees import Coverage, LocalDP, PureDP

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.words.checks import Check

pytestmark = pytest.mark.known_bad
PROBES = {64, 256}
"""Sizes of the batches that probe the target's randomness."""


@dataclass
class Watched:
    """A target that keeps the stream and the state of every generator it is handed."""

    answer: Callable[[Any, int, np.random.Generator], Any]
    states: list[str] = field(default_factory=list)
    streams: list[object] = field(default_factory=list)

    def __call__(self, value: Any, size: int, /, *, rng: np.random.Generator) -> Any:
        if size not in PROBES:
            self.states.append(str(rng.bit_generator.state))
            self.streams.append(rng.bit_generator.seed_seq.spawn_key)  # type: ignore[attr-defined]
        return self.answer(value, size, rng)

    def report(self, values: Any, /, *, rng: np.random.Generator) -> Any:
        return self(values, len(values), rng=rng)


def noisy_mean(value: Any, size: int, rng: np.random.Generator) -> np.ndarray:
    return np.mean(value) + rng.laplace(scale=1 / np.size(value), size=size)


def largest(value: Any, size: int, rng: np.random.Generator) -> np.ndarray:
    return np.maximum(np.max(value), rng.random(size) < 0.01)


def audit(name: str, target: Watched) -> Check:
    checks: dict[str, Callable[[], Check]] = {
        "local": lambda: LocalPrivacy(
            randomizer=target.report, guarantee=LocalDP(1.0), n_inputs=3, n_outputs=3
        ),
        "membership": lambda: MembershipInference(
            sample=target, guarantee=PureDP(1.0), neighbours=pair(), n_samples=1000
        ),
        "blackbox": lambda: BlackBoxPrivacy(
            sample=target, guarantee=PureDP(1.0), pairs=ScorePairs(sizes=(1, 2)), draws=8000
        ),
        "coverage": lambda: CoverageAudit(
            calibrate=target, kind=Kind.QUANTILE, guarantee=Coverage(0.9), n=9, draws=3000
        ),
    }
    return checks[name]()


TARGETS = {
    "local": lambda value, size, rng: np.where(rng.random(size) < 0.5, value, 0),
    "coverage": largest,
}


@pytest.mark.parametrize("name", ["local", "membership", "blackbox", "coverage"])
def test_no_batch_of_draws_is_used_twice(name: str) -> None:
    target = Watched(TARGETS.get(name, noisy_mean))
    audit(name, target)(context(0, significance=1e-6))
    assert len(target.states) >= 4
    assert len(set(target.states)) == len(target.states)
    used = [stream for stream, _ in groupby(target.streams)]
    assert len(set(used)) == len(used), "a stream that was left is come back to"
