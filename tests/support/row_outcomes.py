"""What the rows of a suite find at the least effort, once for all tests that look at it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING
from unittest import mock

from dpcp_audit.engine.suites import row_of
from dpcp_audit.words.checks import Context

if TYPE_CHECKING:
    import numpy as np

    from dpcp_audit.words.results import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class RowOutcome:
    """An outcome, and whether the check asked for a generator of its context."""

    outcome: Outcome
    drew: bool


@cache
def least_effort(which: str, id_: str) -> RowOutcome:
    """Return what a row of a suite finds at the least effort, on seed 0."""
    asked: list[int] = []
    original = Context.rng

    def counted(context: Context, chunk: int = 0) -> np.random.Generator:
        asked.append(chunk)
        return original(context, chunk)

    context = Context(seed=0, name=id_, significance=1e-3, effort=0.005)
    with mock.patch.object(Context, "rng", counted):
        outcome = row_of(id_, which).check(context)
    return RowOutcome(outcome=outcome, drew=bool(asked))
