"""A budget kept: a target that is not asked for outputs any more once its time is over."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcp_audit.targets.degenerate import OutOfTimeError

if TYPE_CHECKING:
    import numpy as np

    from dpcp_audit._types import FloatArray
    from dpcp_audit.target_checks.check_spec import CheckSpec
    from dpcp_audit.targets import Target
    from dpcp_audit.targets.degenerate import Randomness

_ASKED, _SHARE = 0.85, 0.95
"""Of the budget, when a target is not asked any more, and what a check may take in all: its process
is ended then. The rest went into its planning."""
clock = time.perf_counter


@dataclass(slots=True, kw_only=True)
class Timed:
    """An opened target with a time limit, that is looked at before each batch of calls.

    Parameters
    ----------
    target : Target
    seconds : float
        The limit, from the first call on: the traces before it are none of the calls that a
        budget was cut to.
    planned : int
        The calls that were to be made.
    """

    target: Target
    seconds: float
    planned: int
    _made: int = 0
    _started: float | None = None

    def __call__(self, value: Any, size: int, /, *, rng: np.random.Generator) -> FloatArray:
        """Return ``size`` outputs on one input.

        Raises
        ------
        OutOfTimeError
            If the time is over.
        """
        now = clock()
        if self._started is None:
            self._started = now
        if now - self._started > self.seconds:
            raise OutOfTimeError(
                f"{self.target.name}: the budget of {self.seconds:g} s was over after "
                f"{self._made:,} of {self.planned:,} calls, as the machine was busier than when "
                "they were planned: give a larger budget, or draws"
            )
        self._made += size
        return self.target(value, size, rng=rng)

    @property
    def randomness(self) -> Randomness:
        """Where the target draws its random numbers."""
        return self.target.randomness


def within(target: Target, spec: CheckSpec, calls: int) -> Target | Timed:
    """Return an opened target that keeps to the budget of its check, where it has one."""
    if seconds_of(spec) is None or spec.budget is None:
        return target
    return Timed(target=target, seconds=_ASKED * spec.budget, planned=calls)


def seconds_of(spec: CheckSpec) -> float | None:
    """Return how long one check of a target may take; None without a budget."""
    return None if spec.budget is None or spec.draws is not None else _SHARE * spec.budget
