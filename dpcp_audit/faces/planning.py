"""The plan of a run: what the source decides, and the calls that test each other claim."""

from __future__ import annotations

import math
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dpcp_audit.engine import cell_template
from dpcp_audit.engine.tasks import Task, decode, pickled
from dpcp_audit.engine.worker_pool import DEFAULT_SECONDS, Limits, WorkerProcess
from dpcp_audit.reports.sentences import power_sentence
from dpcp_audit.target_checks import planned_calls as time_limits
from dpcp_audit.target_checks.planned_calls import calls_for, cut_words, short_words
from dpcp_audit.target_checks.target_claims import TargetClaim
from dpcp_audit.target_checks.target_rows import check_of, rows_of_targets
from dpcp_audit.target_checks.tried_inputs import pair_space, typical
from dpcp_audit.targets import TargetError, TargetRaisedError
from dpcp_audit.targets.loading import raised
from dpcp_audit.words.checks import Context
from dpcp_audit.words.errors import HINT, IncompleteError, UsageError
from dpcp_audit.words.formatting import number
from dpcp_audit.words.results import Finding, SourceLocation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpcp_audit.target_checks.check_spec import CheckSpec
    from dpcp_audit.target_checks.planned_calls import ClaimAudit
    from dpcp_audit.targets import Target
    from dpcp_audit.words.checks import Row


FEWEST = 2**11
"""A budget cuts to these at most: fewer calls miss a hundredth of the noise."""
_SHARE = 0.7
"""The share of the budget that is planned; the rest is for a machine that gets busier."""
_TIMED_SHARE = 0.1
"""The share of the budget that small timed audits may take."""
_OWN_SECONDS = 2e-5
"""Seconds that an audit itself takes per output, about, where none can be timed."""
_TIMING_SECONDS = 1.0
_PATIENCE_SECONDS, _LEAST_PATIENCE_SECONDS = 60.0, 5.0
"""The longest and shortest time for a target to load and answer first: its budget, in between."""
_AUDITS = "dpcp_audit.target_checks.claim_audits"
"""What makes calls, imported before time is taken or processes are forked."""
_LEAST_ROOM = 0.25
"""The smallest share of the budget for calls, where processes are slow to start."""
_OTHERS = 4
"""Pairs whose inputs a target is timed on that raises on the typical one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Timing:
    """Opens a target where it cannot do harm, and times it.

    Parameters
    ----------
    proves : bool
        True if claims that the source decides are decided; where all are, no call is timed.
    """

    spec: CheckSpec
    proves: bool = False

    def __call__(self, context: Context) -> dict[str, Any]:
        """Return the place of the source and what calls take, or what went wrong.

        ``seconds`` is what a call takes; with a budget ``rates`` has, for each claim, what a
        call takes with the audit's own work, and ``spent`` what timing took. ``decided`` has, for
        each claim, what the source decides, or None.
        """
        started = time_limits.clock()
        try:
            opened = self.spec.target.open()
        except BaseException as error:  # noqa: BLE001  (here Ctrl-C is the target's own, too)
            return {"unusable": self._told(error)}
        with opened as target:
            found: dict[str, Any] = {"seconds": 0.0}
            if target.source is not None:
                found |= {"file": target.source.file, "line": target.source.line}
            if self.proves:
                checks = (check_of(self.spec, each) for each in self.spec.guarantees)
                found["decided"] = [_decision(each, target, context) for each in checks]
            if self.spec.draws is None and not all(found.get("decided", [None])):
                try:
                    found["seconds"] = self._seconds(target, context)
                except BaseException as error:  # noqa: BLE001
                    return {"failed": self._told(error)}
                if self.spec.budget is not None:
                    found["rates"] = self._rates(target, context, found["seconds"])
        return found | {"spent": time_limits.clock() - started}

    def _seconds(self, target: Target, context: Context) -> float:
        """Return what a call takes, on a typical input or on another one that it does not refuse.

        Raises
        ------
        TargetRaisedError
            If it raises on all of them: what it raised on the typical input.
        """
        refused: TargetRaisedError | None = None
        for value in self._inputs():
            try:
                return target.seconds_per_draw(value, context.rng(), at_most_seconds=self._patience)
            except TargetRaisedError as error:
                refused = refused or error
        assert refused is not None  # noqa: S101  (there is a typical input)
        raise refused

    def _inputs(self) -> Iterator[Any]:
        """Yield inputs to time, a typical one first; others are those of pairs to be tried."""
        yield typical(self.spec)
        if self.spec.privacy:
            for candidate in pair_space(self.spec).candidates()[:_OTHERS]:
                yield from candidate.inputs

    @property
    def _patience(self) -> float:
        budget = self.spec.budget
        few = _TIMING_SECONDS / 10
        return _TIMING_SECONDS if budget is None else min(_TIMING_SECONDS, max(few, budget / 20))

    def _rates(self, target: Target, context: Context, seconds: float) -> list[float]:
        audits = [check_of(self.spec, guarantee).audit for guarantee in self.spec.guarantees]
        return [_rate(audit, target, context, seconds) for audit in audits]

    def _told(self, error: BaseException) -> str:
        if isinstance(error, TargetError):
            return str(error)
        return f"{self.spec.name} raised {raised(error, file=None)}"


def _decision(check: TargetClaim, target: Target, context: Context) -> dict[str, Any] | None:
    """Return what the source decides of a claim, and in how many seconds; None where nothing."""
    started = time_limits.clock()
    try:
        outcome = check.decided(target, context)
    except Exception:  # noqa: BLE001  (the check proper will say what is wrong)
        return None
    if outcome is None:
        return None
    return {"outcome": outcome, "seconds": time_limits.clock() - started}


def _rate(audit: ClaimAudit, target: Target, context: Context, seconds: float) -> float:
    """Return the seconds that a call takes in an audit, its own work included.

    Of audits of 2¹⁰ calls and more, as long as there is time; those take longer for a call than
    the larger one that they stand for.
    """
    room = _TIMED_SHARE * (audit.spec.budget or math.inf) / len(audit.spec.guarantees)
    calls, rate = FEWEST // 2, seconds + _OWN_SECONDS
    while 2 * calls * rate < room and calls < calls_for(audit):
        started = time_limits.clock()
        try:
            outcome = audit.on(target, calls)(context)
        except Exception:  # noqa: BLE001  (the audit proper will say what is wrong)
            break
        spent = outcome.witness.get("spent")
        if not spent:  # decided without samples, however many calls there are
            break
        taken = time_limits.clock() - started
        rate, room = taken / spent, room - taken
        calls *= 4
    return rate


def plan(specs: Sequence[CheckSpec]) -> tuple[CheckSpec, ...]:
    """Return the checks with the calls that each claim is to be tested with.

    They follow from the claim and from what is to be detected (``calls_for``). Every target is
    opened, and called a few times, in a process of its own kind. Where a budget is given, small
    audits are timed there, and the calls are cut to a power of two that keeps within it.

    Raises
    ------
    UsageError
        If there is no such target, or it cannot be called as its kind is.
    IncompleteError
        If a target fails on a typical input, and on those of a few pairs, or is too slow.
    """
    return tuple(map(planned, specs, _timed_all(specs, proves=False)))


def plan_unproved(specs: Sequence[CheckSpec]) -> tuple[tuple[CheckSpec, ...], list[Finding]]:
    """Return the checks likewise, and the findings on all claims that the source decides.

    No call is planned of a check whose claims are all decided.
    """
    found = _timed_all(specs, proves=True)
    checks = tuple(map(planned, specs, found))
    decided = [
        each
        for spec, told in zip(specs, found, strict=True)
        for each in told.get("decided", [None] * len(spec.guarantees))
    ]
    findings = [
        Finding(claim=row.claim, outcome=decode(each["outcome"]), seconds=each["seconds"])
        for row, each in zip(rows_of_targets(checks), decided, strict=True)
        if each is not None
    ]
    return checks, findings


def share_imports() -> None:
    """Import what checks need that make calls, once for all their processes."""
    import_module(_AUDITS)
    cell_template.renew()


def plan_within_budget(spec: CheckSpec) -> CheckSpec:
    """Return a check of a function of this process, with the calls that its budget allows."""
    import_module(_AUDITS)  # its time is not the budget's
    found = _Timing(spec=spec)(_context(spec))
    for key in ("unusable", "failed"):
        if key in found:
            raise UsageError(found[key])
    try:
        return planned(spec, found)
    except IncompleteError as error:
        raise UsageError(str(error)) from error


def announcement(row: Row, significance: float) -> str:
    """Return with how many calls a claim is tested, whether they were cut, and what they refute."""
    check = row.check
    assert isinstance(check, TargetClaim)  # noqa: S101  (a target's row)
    audit = check.audit.planned()
    context = Context(seed=0, name=row.claim.id, significance=significance)
    power = audit.smallest_violation(context)
    seen = power_sentence(asdict(power) | {"factor": power.factor})
    cut = cut_words(audit, audit.calls)
    again = f" {cut} --draws {audit.calls} repeats them." if cut else ""
    short = short_words(audit.spec.detect, power)
    beyond = f" {short}" if short else ""
    return f"{audit.calls:,} calls are planned. {seen}{beyond}{again}"


def time_limit(spec: CheckSpec) -> float:
    """Return the seconds after which the process of a check is ended.

    Traces have as long again as the calls that a budget was cut to.
    """
    seconds = time_limits.seconds_of(spec)
    if seconds is None:
        return DEFAULT_SECONDS
    traced = spec.trace and spec.privacy and not spec.target.command
    return 2 * seconds if traced else seconds


def planned(spec: CheckSpec, found: dict[str, Any]) -> CheckSpec:
    """Return a check with its calls, from what ``_Timing`` has found."""
    if "file" in found:
        spec = replace(spec, location=SourceLocation.of(found["file"], found["line"]))
    if spec.draws is not None or all(found.get("decided", [None])):
        return spec
    wanted = [calls_for(check_of(spec, guarantee).audit) for guarantee in spec.guarantees]
    if spec.budget is None:
        _require_time(spec, sum(wanted), found.get("seconds", 0.0))
        return replace(spec, planned=tuple(wanted))
    room = max(_SHARE * spec.budget - found["spent"], _LEAST_ROOM * spec.budget)
    return replace(spec, planned=tuple(_cut(spec, wanted, found["rates"], room)))


def _cut(spec: CheckSpec, wanted: list[int], rates: list[float], room: float) -> list[int]:
    """Return the calls of the claims, cut to an equal share of the time for each.

    What a claim does not need is left to those that need more.
    """
    calls = list(wanted)
    order = sorted(range(len(wanted)), key=lambda i: wanted[i] * rates[i])
    for place, i in enumerate(order):
        affordable = max(0.0, room) / (len(order) - place) / rates[i]
        if affordable < min(FEWEST, wanted[i]):
            raise _too_slow(spec, rates[i])
        if affordable < wanted[i]:
            calls[i] = int(2 ** math.floor(math.log2(affordable)))
        room -= calls[i] * rates[i]
    return calls


def _context(spec: CheckSpec) -> Context:
    return Context(seed=0, name=spec.name, significance=0.5)


def _timed_all(specs: Sequence[CheckSpec], *, proves: bool) -> list[dict[str, Any]]:
    """Time each target in a process of its own, after those that can be refused unopened."""
    for spec in specs:
        if spec.privacy or not spec.guarantees:
            pair_space(spec)  # refused where no neighbours can be searched
    cell_template.prepare()
    return [_timed_apart(spec, proves=proves and spec.prove) for spec in specs]


def _timed_apart(spec: CheckSpec, *, proves: bool) -> dict[str, Any]:
    timing = _Timing(spec=spec, proves=proves)
    with closing(WorkerProcess()) as cell:
        found = _timed(timing, cell)
    if found is None:  # a proof, or the calls beside it, may have taken too long
        with closing(WorkerProcess()) as cell:
            found = _timed(replace(timing, proves=False), cell)
    return found or {}


def _timed(timing: _Timing, cell: WorkerProcess) -> dict[str, Any] | None:
    """Return what a timing finds; None where its process was stopped, and it can do less."""
    spec = timing.spec
    task = Task(check=pickled(timing), context=_context(spec))
    budget = _PATIENCE_SECONDS if spec.budget is None else spec.budget
    patience = min(_PATIENCE_SECONDS, max(_LEAST_PATIENCE_SECONDS, budget))
    started = time_limits.clock()
    done = cell.run(task, Limits(seconds=patience))
    elapsed = time_limits.clock() - started
    if done.stopped and timing.proves:
        return None
    if done.stopped:
        raise IncompleteError(
            f"{spec.name}, called a first few times: {done.error}", hint=done.hint
        )
    if done.error:
        raise UsageError(f"{spec.name}: {done.error}", hint=done.hint)
    found: dict[str, Any] = done.data
    if "unusable" in found:
        raise UsageError(found["unusable"])
    if "failed" in found:
        tip = (
            ""
            if HINT in found["failed"]
            else "no claim was tested; call it on such inputs yourself"
        )
        raise IncompleteError(found["failed"], hint=tip)
    return found | {"spent": 2 * elapsed - found["spent"]}  # the run starts a process, too


def _require_time(spec: CheckSpec, calls: int, seconds: float) -> None:
    """Refuse a target that is so slow that its check would be stopped before its end."""
    if calls * seconds > DEFAULT_SECONDS:
        hours = number(calls * seconds / 3600, digits=2)
        raise IncompleteError(
            f"{spec.name} takes {seconds:.2g} s a call, so that the {calls:,} planned calls take "
            f"{hours} hours",
            hint="set a budget, such as 30m, or draws, or make it vectorised",
        )


def _too_slow(spec: CheckSpec, seconds: float) -> IncompleteError:
    minutes = math.ceil(FEWEST * seconds * len(spec.guarantees) / (_SHARE - 2 * _TIMED_SHARE) / 60)
    return IncompleteError(
        f"{spec.name} takes {seconds:.2g} s a call, and an audit makes at least {FEWEST} calls for "
        "each claim",
        hint=f"give it a budget of {minutes}m, or make it vectorised",
    )
