"""Comparisons of two runs of unchanged mechanisms, which should call no number moved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from coverage_cases import KnownRate
from level_case import LevelCase
from release_cases import Laplace

from dpcp_audit.audits.certificates import smallest_violation
from dpcp_audit.audits.search.event_search import Event
from dpcp_audit.audits.search.pilot_hypotheses import EventTest
from dpcp_audit.engine.run_settings import RunSettings
from dpcp_audit.faces.pytest_plugin.session import REFERENCE, measured_again, reference
from dpcp_audit.reports.document import to_document
from dpcp_audit.reports.two_runs import Movement, compare
from dpcp_audit.targets import Kind, Target
from dpcp_audit.theorems.theorem import FailureRate, MeanBound
from dpcp_audit.words.checks import Context
from dpcp_audit.words.evidence import conclude
from dpcp_audit.words.guarantees import PureDP
from dpcp_audit.words.results import Claim, Finding, Outcome, Source, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpcp_audit.words.checks import Check
    from dpcp_audit.words.results import PlainData
    from dpcp_audit.words.validate import FloatArray

_RATES = (0.002, 0.01, 0.1, 0.5)
_TRIALS = (400, 1600)
"""Of the old run and of the new one."""
_DRAWS = 2000
_CLAIM = PureDP(4.0)


@dataclass(frozen=True, slots=True)
class FixedEvent:
    """Counts the same event on either input, whatever a pilot would say."""

    trials: int
    epsilon: float

    @property
    def sampled(self) -> bool:
        """The verdict takes from the error budget."""
        return True

    def __call__(self, context: Context) -> Outcome:
        """Judge the claim by the event."""
        test = EventTest(
            event=Event(np.array([0.5]), np.array([False, True])),
            swapped=False,
            complement=False,
            promise=1.0,
        )
        outputs = [
            Laplace(self.epsilon)(x, self.trials, rng=context.rng(i))
            for i, x in enumerate(([1.0], [0.0]))
        ]
        found = test.judge(_CLAIM, *outputs, significance=context.significance)
        return conclude(
            found.evidence,
            lambda: smallest_violation(_CLAIM, self.trials, significance=context.significance),
            witness={"value": [1.0], "neighbour": [0.0], **test.as_data()},
            note=found.note,
        )


@dataclass(frozen=True, slots=True)
class TwoRunsTrial:
    """Runs the same sampled checks twice and compares the runs."""

    def __call__(self, seed: int, /, *, level: float, twice: bool = False) -> bool:
        """Return True if any number is called moved."""
        old, new = (
            _document(
                [
                    _finding(f"{number}", check(_context(seed, f"{run} {number}")))
                    for number, check in enumerate(_checks(trials, 2 if twice and run else 1))
                ]
            )
            for run, trials in enumerate(_TRIALS)
        )
        return _moved(old, new, level)


@dataclass(frozen=True, slots=True)
class BaselineTrial:
    """Keeps a case of one session's audit, and measures it again in the next."""

    def __call__(self, seed: int, /, *, level: float, twice: bool = False) -> bool:
        """Return True if the case is called moved."""
        outcome = FixedEvent(_TRIALS[0], 1.0)(_context(seed, "audit"))
        kept = reference(outcome, _target(1.0), _context(seed, "old"), draws=_DRAWS)
        if kept is None:
            return False
        now = _target(2.0 if twice else 1.0)
        again = measured_again({REFERENCE: kept}, now, _context(seed, "new"))
        old, new = (_document([_finding("case", outcome)]) for _ in range(2))
        for document, measured in ((old, kept), (new, again)):
            document["findings"] = [document["findings"][0] | (measured or {})]
        return _moved(old, new, level)


def comparison_cases() -> Iterator[LevelCase]:
    """Yield the comparisons."""
    yield LevelCase(
        auditor="comparison of two runs",
        claim="rates, means and a log-ratio, unchanged",
        trial=TwoRunsTrial(),
        at_twice="twice the failures, half the noise",
    )
    yield LevelCase(
        auditor="baseline of the pytest plugin",
        claim="ε-DP, Laplace, unchanged",
        trial=BaselineTrial(),
        at_twice="half the noise",
    )


def _checks(trials: int, factor: int) -> list[Check]:
    rates = [min(0.9, factor * rate) for rate in _RATES]
    found: list[Check] = [
        *(FailureRate(theorem=KnownRate(rate=rate), n_trials=trials) for rate in rates),
        *(MeanBound(theorem=KnownRate(rate=rate), at_least=0.1, n_trials=trials) for rate in rates),
    ]
    return [*found, FixedEvent(trials, float(factor))]


def _target(epsilon: float) -> Target:
    def noisy_mean(scores: FloatArray, *, size: int, rng: np.random.Generator) -> FloatArray:
        return Laplace(epsilon)(scores, size, rng=rng)

    return Target.from_callable(noisy_mean, kind=Kind.QUANTILE, vectorised=True)


def _moved(old: PlainData, new: PlainData, level: float) -> bool:
    moved = {Movement.WORSE, Movement.BETTER}
    return any(change.number in moved for change in compare(old, new, false_alarm=level).changes)


def _context(seed: int, name: str) -> Context:
    return Context(seed=seed, name=name, significance=1e-3)


def _finding(id_: str, outcome: Outcome) -> Finding:
    source = Source(paper="study", section="levels")
    claim = Claim(id=id_, statement=id_, source=source, expected=Verdict.CONSISTENT)
    return Finding(claim=claim, outcome=outcome)


def _document(findings: Sequence[Finding]) -> PlainData:
    return to_document(RunSettings(), findings, seconds=0.0, complete=True)
