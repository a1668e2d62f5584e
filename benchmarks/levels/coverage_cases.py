"""Auditors of coverage, on calibrators and theorems that fail exactly as often as is claimed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from level_case import CheckTrial, LevelCase
from scipy.special import betaincinv

from dpcp_audit.targets.kinds import Kind
from dpcp_audit.theorems.coverage_audit import CoverageAudit
from dpcp_audit.theorems.row_laws import LawCatalogue
from dpcp_audit.theorems.theorem import FailureRate, MeanBound, TheoremTrials
from dpcp_audit.words.guarantees import Coverage
from dpcp_audit.words.quantities import Quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpcp_audit.words.checks import Check
    from dpcp_audit.words.validate import FloatArray

_SCORES = 9
_ALPHA = 0.1
"""With nine scores split conformal prediction covers 0.9 on average, with no score to spare."""
_CALLS = 500
_DELTA = 0.1
_TRIALS = 500


@dataclass(frozen=True, slots=True)
class LargestScore:
    """Split conformal prediction at α = 0.1 of nine scores; a smaller ``rank`` covers less."""

    rank: int = _SCORES

    def __call__(self, value: Any, size: int, /, *, rng: np.random.Generator) -> FloatArray:  # noqa: ARG002  (no noise)
        """Return the rank's score, shape (size,)."""
        return np.full(size, np.sort(value)[self.rank - 1])


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownRate:
    """A theorem that fails with probability ``rate``, of a statistic of mean 1 − rate."""

    rate: float
    allowed_failure: float = _DELTA
    statistic: str = field(default="coverage", init=False)
    failure: Quantity = Quantity.COVERAGE_FAILURE

    @property
    def bounds(self) -> dict[str, float]:
        """The bound that a failure misses."""
        return {"lower bound": 0.5}

    @property
    def parameters(self) -> dict[str, Any]:
        """What identifies the case: the rate is what is measured."""
        return {"theorem": "known rate"}

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        """Run independent trials."""
        failed = rng.random(count) < self.rate
        return TheoremTrials(np.where(failed, 0.0, 1.0), failed)


def coverage_cases() -> Iterator[LevelCase]:
    """Yield the auditors of coverage, of targets first and of theorems then."""
    kept = float(betaincinv(_SCORES, 1, _ALPHA))  # the coverage is Beta(9, 1)
    claims = {
        "mean coverage": Coverage(at_least=1 - _ALPHA),
        "coverage with confidence": Coverage(at_least=kept, confidence=1 - _ALPHA),
    }
    for name, guarantee in claims.items():
        tight, twice = (_audit(guarantee, rank) for rank in (_SCORES, _SCORES - 1))
        yield LevelCase(
            auditor="coverage audit",
            claim=f"{name}, split conformal",
            trial=CheckTrial(tight=tight, twice=twice),
            at_twice="one rank lower",
        )
    for auditor, check in _theorem_checks().items():
        yield LevelCase(
            auditor=auditor,
            claim=f"a theorem that fails with probability {_DELTA:g}",
            trial=CheckTrial(tight=check(_DELTA), twice=check(2 * _DELTA)),
            at_twice="twice the failures",
        )


def _theorem_checks() -> dict[str, Callable[[float], Check]]:
    """Return the checks of theorems, each of the rate at which its theorem fails."""
    return {
        "failure rate": lambda rate: FailureRate(theorem=KnownRate(rate=rate), n_trials=_TRIALS),
        "failure rate, stopped early": lambda rate: FailureRate(
            theorem=KnownRate(rate=rate), n_trials=4 * _TRIALS, stops_early=True
        ),
        "mean of a statistic": partial(_mean_bound, trials=_TRIALS),
        "mean of a statistic, stopped early": lambda rate: replace(
            _mean_bound(rate, trials=4 * _TRIALS), stops_early=True
        ),
    }


def _mean_bound(rate: float, *, trials: int) -> MeanBound:
    return MeanBound(theorem=KnownRate(rate=rate), at_least=1 - _DELTA, n_trials=trials)


def _audit(guarantee: Coverage, rank: int) -> CoverageAudit:
    return CoverageAudit(
        calibrate=LargestScore(rank),
        kind=Kind.QUANTILE,
        guarantee=guarantee,
        n=_SCORES,
        draws=_CALLS,
        laws=LawCatalogue(ties=False, classifiers=False),
    )
