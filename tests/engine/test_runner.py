"""The runner: the same findings whatever runs beside them, errors that end nothing, exit codes."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest
from support.unruly import CannotTravel, Does, Sums, calls_a_target, hangs_in_c
from support.waiting import PATIENCE, LateOnce, wait_until

from dpcp_audit.engine import runner, worker_pool
from dpcp_audit.engine.run_settings import Profile, RunSettings
from dpcp_audit.engine.runner import Engine, _Crew, check, check_row, run, share
from dpcp_audit.engine.suites import find, select
from dpcp_audit.engine.tasks import (
    CallsMade,
    CheckFinished,
    CheckStarted,
    RunFinished,
    RunStarted,
    StillRunning,
)
from dpcp_audit.engine.tasks import (
    Done as ChunkFinished,
)
from dpcp_audit.engine.worker_pool import Limits, family
from dpcp_audit.reports.document import to_document
from dpcp_audit.words.checks import Context
from dpcp_audit.words.evidence import Computed
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dpcp_audit.engine.tasks import Done, Task
    from dpcp_audit.words.checks import Row
    from dpcp_audit.words.results import Finding, Outcome
from support.small_rows import FALSE, HOLDS, QUIET, Raises, breaks, holds, row, within

SMOKE = RunSettings(profile=Profile.SMOKE, seed=7)
SOME = ["ldpcp.krr", "ldpcp.theorem-4[scores=uniform]", "pcoqs.remark-3", "pcoqs.remark-7*"]


def findings(rows: Sequence[Row], settings: RunSettings = SMOKE, jobs: int = 1) -> list[Finding]:
    *_, last = run(rows, settings, engine=Engine(jobs=jobs))
    assert isinstance(last, RunFinished)
    return list(last.findings)


def timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: timeless(v)
            for key, v in value.items()
            if not ("seconds" in key or key == "provenance")
        }
    return [timeless(item) for item in value] if isinstance(value, list) else value


def document(rows: Sequence[Row], jobs: int = 1, settings: RunSettings = SMOKE) -> dict[str, Any]:
    found = findings(rows, settings, jobs)
    shown = to_document(settings, found, seconds=float(jobs), complete=True)
    return timeless(json.loads(json.dumps(shown)))  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Dies:
    """A check that takes its process with it."""

    sampled: bool = False

    def __call__(self, context: Context) -> Outcome:
        os._exit(9)


def test_workers_do_not_change_the_document() -> None:
    assert document(select(SOME), jobs=1) == document(select(SOME), jobs=2)


def test_linear_algebra_rounds_alike_whatever_the_number_of_workers() -> None:
    """Sums that BLAS splits over threads: with one worker it would otherwise have all cores."""
    rows = select(["pipeline.budget", "ldpcp.krr"])
    assert document(rows, jobs=1) == document(rows, jobs=2)


def test_company_does_not_change_a_finding() -> None:
    rows = select(SOME)
    alone = [document([row_])["findings"][0] for row_ in rows]
    assert alone == document(rows)["findings"]
    assert alone[::-1] == document(rows[::-1])["findings"]


def test_the_seed_does() -> None:
    rows = select(["pcoqs.remark-7*"])
    other = RunSettings(profile=Profile.SMOKE, seed=8)
    assert document(rows)["findings"] != document(rows, settings=other)["findings"]


def test_check_of_an_id_is_the_run_of_its_row() -> None:
    (finding,) = findings(select(["pcoqs.remark-3"]))
    again = check("pcoqs.remark-3", SMOKE)
    assert (again.outcome, again.claim) == (finding.outcome, finding.claim)


def test_events_come_in_order() -> None:
    events = list(run(select(["ldpcp.krr", "ldpcp.blocks"]), SMOKE))
    kinds = [type(event) for event in events]
    assert kinds == [RunStarted, *[CheckStarted, CheckFinished] * 2, RunFinished]
    assert events[0] == RunStarted(ids=("ldpcp.krr", "ldpcp.blocks"))
    assert events[1] == CheckStarted(id="ldpcp.krr", chunks=1)


def test_the_longest_checks_are_handed_out_first_and_told_in_the_suites_order() -> None:
    longest = find("papers").longest[:2]
    rows = [row(id_, Computed(holds)) for id_ in ("one", *reversed(longest), "other")]
    events = list(run(rows, SMOKE))
    started = [event.id for event in events if isinstance(event, CheckStarted)]
    assert started == [*longest, "one", "other"]
    last = events[-1]
    assert isinstance(last, RunFinished)
    assert [each.claim.id for each in last.findings] == [each.claim.id for each in rows]


def test_no_rows_make_an_empty_run() -> None:
    assert findings([]) == []


def test_rows_of_ones_own_are_run_as_given() -> None:
    """Also where their id is one of the suite's."""
    (finding,) = findings([row("ldpcp.krr", Computed(breaks))])
    assert finding.verdict is Verdict.REFUTED


@dataclass(frozen=True)
class Draws:
    """A check whose number is the first of its random stream."""

    sampled: bool = True

    def __call__(self, context: Context) -> Outcome:
        return Computed(lambda: within(float(context.rng().random())))(context)


def test_every_check_draws_from_a_stream_of_its_own() -> None:
    one, other = findings([row("one", Draws()), row("other", Draws())])
    assert one.outcome != other.outcome


@pytest.mark.parametrize("error", ["value", "memory", "zero"])
def test_a_check_that_raises_is_an_error_and_ends_nothing(error: str) -> None:
    rows = [row("bad", Raises(error)), row("good", Computed(holds))]
    bad, good = findings(rows)
    assert (bad.verdict, good.verdict) == (Verdict.ERROR, Verdict.CONSISTENT)
    assert bad.outcome is None
    assert "planted (in __call__)" in bad.error


@pytest.mark.parametrize("jobs", [0, -1, 1.5, True])
def test_bad_numbers_of_jobs_are_refused(jobs: Any) -> None:
    with pytest.raises(ValueError, match="jobs"):
        Engine(jobs=jobs)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_check_that_takes_its_process_with_it_is_an_error_and_ends_nothing(jobs: int) -> None:
    rows = [HOLDS, row("dies", Dies()), FALSE]
    before, dies, after = findings(rows, jobs=jobs)
    assert dies.error == "the process died: exit code 9"
    assert (before.verdict, after.verdict) == (Verdict.CONSISTENT, Verdict.REFUTED)


def test_chunks_are_put_together_in_their_order() -> None:
    """Whatever runs them: two workers, one, or this process."""
    check_ = row("sums", Sums(parts=5))
    (one,), (two,) = (findings([check_], jobs=jobs) for jobs in (1, 2))
    here = check_row(check_, SMOKE, significance=share(SMOKE, [check_]))
    assert one.outcome == two.outcome == here.outcome
    assert one.outcome is not None
    contexts = Context(seed=7, name="sums", significance=0.5)
    assert one.outcome.evidence.value == sum((i + 1) * contexts.rng(i).random() for i in range(5))


def test_chunks_are_told_of_as_they_finish() -> None:
    events = list(run([row("sums", Sums(parts=3))], SMOKE))
    chunks = [event for event in events if isinstance(event, ChunkFinished)]
    assert [(chunk.index, chunk.chunks, chunk.id) for chunk in chunks] == [
        (0, 3, "sums"),
        (1, 3, "sums"),
        (2, 3, "sums"),
    ]
    assert events.index(chunks[-1]) == len(events) - 3


def test_the_first_chunk_that_fails_is_told_of_whichever_comes_back_first() -> None:
    """Chunk 1 takes longer to fail than chunk 2."""
    check_ = row("sums", Sums(parts=6, fail=(1, 2)))
    for jobs in (1, 2):
        (finding,) = findings([check_], jobs=jobs)
        assert finding.error == "ValueError: chunk 1 failed (in chunk)"


def test_chunks_that_are_not_needed_after_a_failure_do_not_run(tmp_path: Path) -> None:
    """All of them would take twenty seconds: the failure is told before, on any machine."""
    sums = Sums(parts=400, fail=(0,), seconds=0.1, folder=str(tmp_path))
    findings([row("sums", sums), HOLDS], jobs=2)
    assert len(list(tmp_path.iterdir())) < 400


def test_a_check_has_one_time_limit_for_all_its_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what their processes tell, each takes a minute: more than ten of them take too long."""
    hired = runner.hire

    def of_slow_processes(*given: Any) -> _Crew:
        crew = hired(*given)

        def work(task: Task) -> Done | None:
            done = crew.work(task)
            return None if done is None else replace(done, seconds=60.0)

        return replace(crew, work=work)

    monkeypatch.setattr(runner, "hire", of_slow_processes)
    rows = [row("slow", Sums(parts=400, seconds=0.1, folder=str(tmp_path))), QUIET]
    *_, last = run(rows, SMOKE, engine=Engine(jobs=2), limits=Limits(seconds=PATIENCE))
    assert isinstance(last, RunFinished)
    slow, quiet = last.findings
    assert "s: the time limit of a check; its target hung" in slow.error
    assert 11 <= len(list(tmp_path.iterdir())) < 400
    assert quiet.verdict is Verdict.PROVED


def test_a_check_that_hangs_is_stopped_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its time is up once it hangs, however long its process takes to start."""
    monkeypatch.setattr(worker_pool, "time", LateOnce(lambda: any(tmp_path.iterdir())))
    rows = [row("hangs", Sums(parts=1, seconds=PATIENCE, folder=str(tmp_path))), QUIET]
    limits = Limits(seconds=PATIENCE, memory=2**40)
    events = list(run(rows, SMOKE, engine=Engine(jobs=1), limits=limits))
    ends = [event for event in events if isinstance(event, CheckFinished)]
    assert [(end.finding.error.partition(";")[0], end.stopped) for end in ends] == [
        ("stopped after 600 s: the time limit of a check", True),
        ("", False),
    ]


def test_a_check_that_cannot_travel_is_an_error_and_ends_nothing() -> None:
    bad, good = findings([row("stays", CannotTravel()), HOLDS], jobs=2)
    assert bad.error.startswith("the check cannot be sent to another process: TypeError")
    assert good.verdict is Verdict.CONSISTENT


@dataclass(frozen=True)
class Confused(Sums):
    """A check that does not know its chunks, or cannot judge them."""

    where: str = "chunks"

    def chunks(self, context: Context) -> int:
        if self.where == "chunks":
            raise ValueError("planted")
        return self.parts

    def combine(self, context: Context, results: Sequence[Any]) -> Outcome:
        raise ValueError("planted")


@pytest.mark.parametrize("where", ["chunks", "combine"])
def test_errors_around_the_chunks_are_errors_of_the_check(where: str) -> None:
    bad, good = findings([row("confused", Confused(where=where)), HOLDS])
    assert bad.error == f"ValueError: planted (in {where})"
    assert good.verdict is Verdict.CONSISTENT


def test_a_run_that_is_left_leaves_no_process_behind() -> None:
    before = set(family(os.getpid()))
    events = run([row("hangs", Does(hangs_in_c)), HOLDS], SMOKE)
    assert isinstance(next(events), RunStarted)
    assert isinstance(next(events), CheckStarted)
    wait_until(lambda: set(family(os.getpid())) - before, "a process is started")
    events.close()
    wait_until(lambda: set(family(os.getpid())) <= before, "it is gone")


class EndOfTrace(BaseException):
    """What the following of code under audit ends with, where that code starts a run."""


def test_what_is_no_exception_ends_the_run_as_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def work(task: Task) -> Done:
        raise EndOfTrace(task.context.name)

    crew = _Crew(work=work, stop=lambda: None)
    monkeypatch.setattr(runner, "hire", lambda *_: crew)
    ended: list[BaseException] = []

    def go() -> None:
        try:
            findings([HOLDS])
        except BaseException as error:  # noqa: BLE001
            ended.append(error)

    thread = threading.Thread(target=go, daemon=True)
    thread.start()
    thread.join(timeout=PATIENCE)
    assert [type(each) for each in ended] == [EndOfTrace]


@dataclass(frozen=True)
class Planned(Does):
    """A check of a target that was planned with ten calls."""

    planned_calls: int = 10


def test_a_long_check_says_how_many_calls_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its worker tells how many calls were made; a run of which nothing is heard says so, too."""
    monkeypatch.setattr(runner, "QUIET_SECONDS", 0.05)
    events = list(run([row("slow", Planned(calls_a_target))], SMOKE))
    *_, told = (event for event in events if isinstance(event, CallsMade))  # a slow start adds one
    assert told == CallsMade(id="slow", made=3, planned=10)
    assert str(told) == "slow: 3 of 10 calls made, 7 left"
    waits = [event for event in events if isinstance(event, StillRunning)]
    assert waits
    assert {id_ for event in waits for id_ in event.ids} == {"slow"}
