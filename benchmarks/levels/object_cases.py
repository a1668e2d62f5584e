"""The checks of users' objects: the battery of a calibrator, and the lots of a loader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from level_case import LevelCase

from dpcp_audit.audits.accounting import DrawnLots
from dpcp_audit.target_checks.battery import Duty, DutyCheck
from dpcp_audit.words.checks import Context
from dpcp_audit.words.evidence import refutes
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcp_audit.words.validate import BoolArray, FloatArray, IntArray

_MISSED = 0.1
_DRAWN = (Duty.ORDER, Duty.TIES, Duty.TINY, Duty.EMPTY)
"""The duties that are tested by draws; the others are seen."""
_ROWS, _LABELS = 4, 2
_LOTS, _RECORDS, _RATE = 400, 60, 0.1


@dataclass(frozen=True, slots=True)
class DrawnSets:
    """Calls of an object whose sets of all rows hold every label, or, if they miss, none.

    It stands for the calls of a fitted object: all rows miss together, with probability ``missed``.
    """

    missed: float

    n: int = 50

    @property
    def labels(self) -> IntArray:
        """The rows' labels."""
        return np.arange(_ROWS) % _LABELS

    def draw(self, rng: np.random.Generator, n: int | None = None) -> IntArray:
        """Return the rows of a data set."""
        return rng.integers(_ROWS, size=self.n if n is None else n)

    def in_two_steps(self, rows: IntArray) -> bool:
        """Return True if the object is fitted before it is calibrated: it is not."""
        del rows
        return False

    def outputs(self, rows: IntArray, *, seed: int, size: int = 1) -> FloatArray:
        """Return sets as indicators, shape (size, m·K)."""
        del rows
        return self._sets(np.random.default_rng(seed), size)

    def calls(
        self, rng: np.random.Generator, *, count: int, **others: Any
    ) -> tuple[FloatArray, str]:
        """Return the outputs of so many fits, none of which is refused."""
        del others
        return self._sets(rng, count), ""

    def covered(self, outputs: FloatArray) -> BoolArray:
        """Tell of each row whether its label is in its set, shape (size, m)."""
        sets = outputs.reshape(len(outputs), _ROWS, _LABELS) > 0
        return np.asarray(sets[:, np.arange(_ROWS), self.labels])

    def empty(self, outputs: FloatArray) -> BoolArray:
        """Tell of each row whether nothing is in its set, shape (size, m)."""
        return np.asarray(~(outputs.reshape(len(outputs), _ROWS, _LABELS) > 0).any(axis=2))

    def _sets(self, rng: np.random.Generator, size: int) -> FloatArray:
        held = rng.random((size, 1)) >= self.missed
        return np.repeat(held, _ROWS * _LABELS, axis=1).astype(np.float64)


@dataclass(frozen=True, slots=True)
class BatteryTrial:
    """All duties that are tested by draws, at equal shares of the level."""

    def __call__(self, seed: int, /, *, level: float, twice: bool = False) -> bool:
        """Return True if any of them is refuted of an object that misses as often as it may."""
        sets: Any = DrawnSets(2 * _MISSED if twice else _MISSED)
        verdicts = {
            DutyCheck(duty=duty, calls=sets, at_least=1 - _MISSED)(
                Context(seed=seed, name=f"level, {duty}", significance=level / len(_DRAWN))
            ).verdict
            for duty in _DRAWN
        }
        return Verdict.REFUTED in verdicts


@dataclass(frozen=True, slots=True)
class LotsTrial:
    """The rate and the independence of Poisson lots; against them, lots of one size."""

    def __call__(self, seed: int, /, *, level: float, twice: bool = False) -> bool:
        """Return True if any is refuted."""
        rng = np.random.default_rng(seed)
        order = rng.random((_LOTS, _RECORDS))
        members = order < _RATE
        if twice:
            members = order.argsort(axis=1) < round(_RATE * _RECORDS)
        lots = DrawnLots(members=members, first=np.arange(_LOTS) % 2 == 0)
        part = level / 2
        found = [lots.rate_evidence(_RATE, significance=part)]
        found += [
            test(significance=part / 2) for test in (lots.size_evidence, lots.overlap_evidence)
        ]
        return any(map(refutes, found))


def object_cases() -> Iterator[LevelCase]:
    """Yield the checks of users' objects."""
    yield LevelCase(
        auditor="battery of a calibrator",
        claim="order, ties, few records and empty sets, misses all at once",
        trial=BatteryTrial(),
        at_twice="twice the misses",
    )
    yield LevelCase(
        auditor="lots of a training",
        claim="rate and independence, Poisson lots",
        trial=LotsTrial(),
        at_twice="lots of one size",
    )
