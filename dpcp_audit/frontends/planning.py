"""From a budget in seconds to numbers of calls: what a run needs to be repeatable."""

from __future__ import annotations

import math
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dpcp_audit.checks import Context
from dpcp_audit.engine.tasks import Task, pickled
from dpcp_audit.engine.worker_pool import Limits, WorkerProcess
from dpcp_audit.errors import IncompleteError, UsageError
from dpcp_audit.results import SourceLocation
from dpcp_audit.target_checks.trial_inputs import pair_space, typical
from dpcp_audit.targets import TargetError
from dpcp_audit.targets.loading import raised

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.target_checks.check_spec import CheckSpec

FEWEST, MOST = 2**11, 2**24
"""Fewer than 2¹¹ calls miss noise that is a hundredth of what it should be."""
_SHARE = 0.7
"""Of the budget; the rest is for the audit's own work."""
_OWN_SECONDS = 1e-5
"""What an audit itself takes for an output, about."""
_TIMING_SECONDS = 1.0
_PATIENCE_SECONDS, _LEAST_PATIENCE_SECONDS = 60.0, 5.0
"""How long a target may take to load and to answer a first few times: its budget, between these."""
_OVERRUN, _GRACE_SECONDS = 5.0, 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Opens a target where it cannot do harm, and times it."""

    spec: CheckSpec

    def __call__(self, context: Context) -> dict[str, Any]:
        """Return the seconds of one call and the place of the source, or what went wrong."""
        try:
            opened = self.spec.target.open()
        except BaseException as error:  # noqa: BLE001  (here Ctrl-C is the target's own, too)
            return {"unusable": self._told(error)}
        with opened as target:
            found: dict[str, Any] = {"seconds": 0.0}
            if target.source is not None:
                found |= {"file": target.source.file, "line": target.source.line}
            if self.spec.draws is None:
                try:
                    found["seconds"] = target.seconds_per_draw(
                        typical(self.spec), context.rng(), at_most_seconds=_TIMING_SECONDS
                    )
                except BaseException as error:  # noqa: BLE001
                    return {"failed": self._told(error)}
        return found

    def _told(self, error: BaseException) -> str:
        if isinstance(error, TargetError):
            return str(error)
        return f"{self.spec.name} raised {raised(error, file=None)}"


def plan(specs: Sequence[CheckSpec]) -> tuple[CheckSpec, ...]:
    """Return the checks with the calls that their budgets allow for each claim.

    Every target is opened and timed in a process of its own kind. The number of calls is a
    power of two from 2¹¹ to 2²⁴, so that the same machine mostly plans the same; with ``draws``
    given it stays as it is, and nothing is timed.

    Raises
    ------
    UsageError
        If there is no such target, or it cannot be called as its kind is.
    IncompleteError
        If a target fails on a typical input, or is too slow for its budget.
    """
    for spec in specs:
        pair_space(spec)
    with closing(WorkerProcess()) as cell:
        return tuple(_planned(spec, _timed(spec, cell)) for spec in specs)


def time_limit(spec: CheckSpec) -> float:
    """Return the seconds after which a check is stopped: several times its target's budget."""
    return _OVERRUN * spec.budget + _GRACE_SECONDS


def affordable_draws(spec: CheckSpec, seconds: float) -> int:
    """Return the calls for each claim that a budget allows, at so many seconds a call."""
    affordable = _SHARE * spec.budget / len(spec.guarantees) / (seconds + _OWN_SECONDS)
    return int(2 ** int(math.log2(min(max(affordable, FEWEST), MOST))))


def _timed(spec: CheckSpec, cell: WorkerProcess) -> dict[str, Any]:
    context = Context(seed=0, name=spec.name, significance=0.5)
    task = Task(check=pickled(Timing(spec=spec)), context=context)
    budget = _PATIENCE_SECONDS if spec.draws is not None else spec.budget
    patience = min(_PATIENCE_SECONDS, max(_LEAST_PATIENCE_SECONDS, budget))
    done = cell.run(task, Limits(seconds=patience))
    if done.stopped:
        stopped = done.error.partition(";")[0]
        raise IncompleteError(f"{spec.name}, called a first few times: {stopped}: does it hang?")
    if done.error:
        raise UsageError(f"{spec.name}: {done.error}")
    found: dict[str, Any] = done.data
    if "unusable" in found:
        raise UsageError(found["unusable"])
    if "failed" in found:
        raise IncompleteError(found["failed"])
    return found


def _planned(spec: CheckSpec, found: dict[str, Any]) -> CheckSpec:
    place = SourceLocation(file=found["file"], line=found["line"]) if "file" in found else None
    if spec.draws is not None:
        return replace(spec, location=place)
    _require_time(spec, found["seconds"])
    return replace(spec, draws=affordable_draws(spec, found["seconds"]), location=place)


def _require_time(spec: CheckSpec, seconds: float) -> None:
    """Refuse a target that is so slow that its check would be stopped before it can say a thing."""
    needed = FEWEST * seconds
    if needed > time_limit(spec) / 2:
        minutes = math.ceil(needed * len(spec.guarantees) / _SHARE / 60)
        raise IncompleteError(
            f"{spec.name} takes {seconds:.2g} s a call, and an audit at least {FEWEST} calls for "
            f"each claim: give it --budget {minutes}m, or make it --vectorised"
        )
