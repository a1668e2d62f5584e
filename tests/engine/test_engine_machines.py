"""The journal, the worker pool and resuming: whatever happens to them, in whatever order."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import tempfile
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from support import unruly
from support.unruly import Sums, doing, harmless, process_of, row
from support.waiting import PATIENCE, ended

from dpcp_audit.engine.journal import Journal, line_of, read
from dpcp_audit.engine.journal import _ChunkEntry as ChunkEntry
from dpcp_audit.engine.journal import _FindingEntry as FindingEntry
from dpcp_audit.engine.run_settings import Profile, RunSettings
from dpcp_audit.engine.runner import Engine, run
from dpcp_audit.engine.tasks import CheckFinished, RunFinished
from dpcp_audit.engine.tasks import Done as ChunkFinished
from dpcp_audit.engine.worker_pool import Cells, Limits
from dpcp_audit.words.errors import IncompleteError
from dpcp_audit.words.results import Finding

if TYPE_CHECKING:
    from dpcp_audit.words.checks import Row

SETTINGS = RunSettings(profile=Profile.SMOKE)
EXAMPLES = settings.default.max_examples
ROWS = [row("a", Sums(parts=1)), row("b", Sums(parts=9))]
FLOATS = st.floats(allow_nan=False)
DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | FLOATS | st.text(),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(), each, max_size=3),
    max_leaves=5,
)


def cut(path: Path, share: float) -> bytes:
    """Cut a file anywhere behind its first line; return what is left."""
    content = path.read_bytes()
    first = content.index(b"\n") + 1
    left = content[: first + round(share * (len(content) - first))]
    path.write_bytes(left)
    return left


class JournalMachine(RuleBasedStateMachine):
    """A journal that is written, cut, damaged and gone on with holds what was written whole."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "run.ndjson"
        self.entries: list[ChunkEntry | FindingEntry] = []
        self.open: Any = Journal.create(self.path, ROWS, SETTINGS)
        self.journal: Journal = self.open.__enter__()

    @rule(index=st.integers(0, 8), data=DATA, seconds=FLOATS)
    def finish_a_chunk(self, index: int, data: Any, seconds: float) -> None:
        self.journal.record(
            ChunkFinished(id="b", index=index, chunks=9, data=data, seconds=seconds)
        )
        self.entries.append(ChunkEntry(id="b", index=index, data=data, seconds=seconds))

    @rule(value=FLOATS, of=st.sampled_from(ROWS), stopped=st.booleans())
    def finish_a_check(self, value: float, of: Row, stopped: bool) -> None:
        outcome = unruly.proved(value, twice=[value, {"it": value}])
        finding = Finding(claim=of.claim, outcome=outcome, seconds=0.5)
        self.journal.record(CheckFinished(finding=finding, stopped=stopped))
        if not stopped:
            id_ = of.claim.id
            self.entries.append(FindingEntry(id=id_, outcome=outcome, error="", seconds=0.5))

    @rule(error=st.text(min_size=1), room=st.integers(0, 300))
    def fill_the_disk(self, error: str, room: int) -> None:
        entry = FindingEntry(id="a", outcome=None, error=error, seconds=0.0)
        left, real = [room], os.write

        def write(descriptor: int, data: bytes) -> int:
            if not left[0]:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            written = real(descriptor, data[: left[0]])
            left[0] -= written
            return written

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "write", write)
            if room < len(line_of(entry)):
                with pytest.raises(IncompleteError, match="No space left on device"):
                    self.journal.write(entry)
                return
            self.journal.write(entry)
        self.entries.append(entry)

    @rule(share=st.floats(0, 1), damaged=st.booleans())
    def lose_the_end_and_go_on(self, share: float, damaged: bool) -> None:
        """Of a damaged last line nothing is believed."""
        self.open.__exit__(None, None, None)
        left = cut(self.path, share)
        whole = left.count(b"\n") - 1
        torn = not left.endswith(b"\n")
        if damaged and not torn and whole:
            self.path.write_bytes(left[:-3] + b"#" + left[-2:])
            whole, torn = whole - 1, True
        self.entries = self.entries[:whole]
        self.open = Journal.resume(self.path, ROWS, SETTINGS)
        self.journal, recorded = self.open.__enter__()
        assert recorded.entries == self.entries
        assert recorded.torn == torn
        past = recorded.past(ROWS)
        ended_ones = {entry.id for entry in self.entries if entry.kind == "finding"}
        assert set(past.findings) == ended_ones

    @invariant()
    def it_holds_what_was_written(self) -> None:
        assert read(self.path).entries == self.entries

    def teardown(self) -> None:
        self.open.__exit__(None, None, None)
        shutil.rmtree(self.folder)


class PoolMachine(RuleBasedStateMachine):
    """A pool whose cells, programs and template die answers the next task all the same."""

    def __init__(self) -> None:
        super().__init__()
        self.pool = Cells(Limits(seconds=PATIENCE))
        self.pid = 0
        """The cell's that is kept; 0 where the next task is to have a new one."""

    @rule()
    def work(self) -> None:
        done = self.pool.run(doing(harmless))
        assert done is not None
        pid = process_of(done)
        assert pid == (self.pid or pid) != os.getpid()
        self.pid = pid

    @rule(
        what=st.sampled_from(
            [
                (unruly.segfaults, "the process died: signal SIGSEGV"),
                (unruly.exits, "the process died: exit code 9"),
                (unruly.is_killed, "the process died: signal SIGKILL"),
                (unruly.answers_for_the_worker, "invalid reply from the worker process"),
            ]
        )
    )
    def end_the_cell(self, what: tuple[Any, str]) -> None:
        does, says = what
        done = self.pool.run(doing(does))
        assert done is not None
        assert (done.stopped, done.data) == (True, None)
        assert done.error.startswith(says)
        assert not self.pid or ended(self.pid)
        self.pid = 0

    @rule(
        what=st.sampled_from(
            [
                (unruly.calls_exit, "SystemExit: enough (in calls_exit)"),
                (unruly.raises_keyboard_interrupt, "KeyboardInterrupt (in "),
                (unruly.raises_what_is_no_exception, "BaseException: planted (in "),
            ]
        )
    )
    def raise_in_the_cell(self, what: tuple[Any, str]) -> None:
        does, says = what
        done = self.pool.run(doing(does))
        assert done is not None
        assert not done.stopped
        assert done.error.startswith(says)

    @precondition(lambda self: self.pid)
    @rule(template=st.booleans())
    def kill_it_from_outside(self, template: bool) -> None:
        """The cell, or the template that it was forked from, with which all cells end."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        parent = next(line for line in status.splitlines() if line.startswith("PPid"))
        os.kill(int(parent.split()[1]) if template else self.pid, signal.SIGKILL)
        assert ended(self.pid)
        self.pid = 0

    def teardown(self) -> None:
        self.pool.stop()
        assert not self.pid or ended(self.pid)
        assert self.pool.run(doing(harmless)) is None


def rows(folder: Path) -> list[Row]:
    """Checks of one chunk and of several, one of which fails, that leave a mark where they run."""
    marks = str(folder)
    return [
        row("first", Sums(parts=1, folder=marks)),
        row("second", Sums(parts=3, folder=marks)),
        row("third", Sums(parts=4, fail=(2,), folder=marks)),
    ]


def found(last: object) -> list[tuple[str, Any, str]]:
    assert isinstance(last, RunFinished)
    return [(each.claim.id, each.outcome, each.error) for each in last.findings]


@cache
def uninterrupted() -> list[tuple[str, Any, str]]:
    with tempfile.TemporaryDirectory() as folder:
        return found(list(run(rows(Path(folder)), SETTINGS))[-1])


class ResumeMachine(RuleBasedStateMachine):
    """A run that is interrupted anywhere, loses lines and goes on finds what a whole one finds."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "run.ndjson"
        with Journal.create(self.path, rows(self.folder), SETTINGS):
            pass

    @rule(events=st.integers(1, 14), jobs=st.integers(1, 2))
    def go_on(self, events: int, jobs: int) -> None:
        self.run(events, jobs)

    def run(self, events: int, jobs: int) -> object:
        """Run until so many events have come; what is recorded does not run again."""
        marks = Path(tempfile.mkdtemp(dir=self.folder))
        chosen, event = rows(marks), None
        with Journal.resume(self.path, chosen, SETTINGS) as (journal, recorded):
            past = recorded.past(chosen)
            with closing(run(chosen, SETTINGS, engine=Engine(jobs=jobs), past=past)) as stream:
                for _, event in zip(range(events), stream, strict=False):
                    journal.record(event)
        ran = {mark.name for mark in marks.iterdir()}
        chunks = {f"{id_}-{index}" for id_, parts in past.chunks.items() for index in parts}
        assert not ran & chunks
        assert not {name.rpartition("-")[0] for name in ran} & set(past.findings)
        return event

    @rule(share=st.floats(0, 1))
    def lose_the_end(self, share: float) -> None:
        cut(self.path, share)

    def teardown(self) -> None:
        assert found(self.run(1000, jobs=2)) == uninterrupted()
        names = [(e.kind, e.id, getattr(e, "index", 0)) for e in read(self.path).entries]
        assert len(set(names)) == len(names)
        assert sum(kind == "finding" for kind, *_ in names) == 3
        shutil.rmtree(self.folder)


def tried(machine: type[RuleBasedStateMachine], *, examples: int, steps: int) -> Any:
    """Return the machine's test; the profile says how many times as many examples it tries."""
    case = machine.TestCase
    case.settings = settings(
        max_examples=max(1, examples * EXAMPLES // 60), stateful_step_count=steps
    )
    return case


TestJournal = tried(JournalMachine, examples=30, steps=20)
TestPool = tried(PoolMachine, examples=6, steps=8)
TestResume = tried(ResumeMachine, examples=4, steps=4)
