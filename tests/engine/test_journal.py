"""The journal: what was finished is kept, whatever ends the run, and nothing else is."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from support.unruly import Sums, row
from support.waiting import PATIENCE, wait_until

from dpcp_audit.engine import run_settings as environment
from dpcp_audit.engine.journal import Journal, read
from dpcp_audit.engine.run_settings import Profile, RunSettings
from dpcp_audit.engine.runner import Engine, Past, run
from dpcp_audit.engine.tasks import CheckFinished, Event, RunFinished
from dpcp_audit.faces.cli.main import main
from dpcp_audit.words.errors import UsageError as JournalError
from dpcp_audit.words.results import Finding

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dpcp_audit.words.checks import Row

SETTINGS = RunSettings(profile=Profile.SMOKE)


def rows(folder: Path) -> list[Row]:
    """Two checks of several chunks between two of one, which leave a mark where they run."""
    marks = str(folder)
    return [
        row("first", Sums(parts=1, folder=marks)),
        row("second", Sums(parts=3, folder=marks)),
        row("third", Sums(parts=4, fail=(2,), folder=marks)),
        row("last", Sums(parts=1, folder=marks)),
    ]


def events(chosen: Sequence[Row], past: Past | None = None) -> list[Event]:
    with closing(run(chosen, SETTINGS, engine=Engine(jobs=2), past=past)) as stream:
        return list(stream)


def findings(stream: list[Event]) -> list[Finding]:
    assert isinstance(stream[-1], RunFinished)
    return [replace(finding, seconds=0.0) for finding in stream[-1].findings]


def marks(folder: Path) -> dict[str, int]:
    return {path.name: len(path.read_text()) for path in folder.iterdir()}


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, list[Finding], list[Row]]:
    """The journal of a whole run, its findings and its rows."""
    folder = tmp_path_factory.mktemp("run")
    path, done = folder / "run.ndjson", folder / "marks"
    done.mkdir()
    chosen = rows(done)
    stream = events(chosen)
    with Journal.create(path, chosen, SETTINGS) as writing:
        for event in stream:
            writing.record(event)
    assert set(marks(done).values()) == {1}
    return path.read_bytes(), findings(stream), chosen


Whole = tuple[bytes, list[Finding], list["Row"]]


def test_lines_are_json_and_say_what_was_finished(journal: Whole) -> None:
    content, found, chosen = journal
    entries = [json.loads(line)["entry"] for line in content.splitlines()]
    assert entries[0]["kind"] == "run"
    assert entries[0]["ids"] == [one.claim.id for one in chosen]
    kinds = [entry["kind"] for entry in entries[1:]]
    assert kinds.count("finding") == len(found) == 4
    assert kinds.count("chunk") >= 3 + 2


def test_a_finished_run_is_not_run_again(journal: Whole, tmp_path: Path) -> None:
    content, found, chosen = journal
    path = tmp_path / "run.ndjson"
    path.write_bytes(content)
    with Journal.resume(path, chosen, SETTINGS) as (writing, recorded):
        stream = events(chosen, recorded.past(chosen))
        for event in stream:
            writing.record(event)
    assert all(event.recorded for event in stream if isinstance(event, CheckFinished))
    assert findings(stream) == found
    assert path.read_bytes() == content


def test_a_damaged_line_is_named(journal: Whole, tmp_path: Path) -> None:
    path, lines = tmp_path / "run.ndjson", journal[0].splitlines(keepends=True)
    lines[1] = lines[1].replace(b'"entry"', b'"eNtry"')
    path.write_bytes(b"".join(lines))
    with pytest.raises(JournalError, match="line 2 is damaged"):
        read(path)


@pytest.mark.parametrize("content", [b"", b"{", b"\n", b"hello\n", b"\x00" * 100])
def test_what_holds_no_line_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "run.ndjson"
    path.write_bytes(content)
    with pytest.raises(JournalError, match="holds no whole line"):
        read(path)


def refused(journal: Whole, tmp_path: Path, settings: RunSettings, chosen: list[Row]) -> str:
    path = tmp_path / "run.ndjson"
    path.write_bytes(journal[0])
    with pytest.raises(JournalError) as caught, Journal.resume(path, chosen, settings):
        pass
    assert path.read_bytes() == journal[0]
    return str(caught.value)


def test_another_run_is_told_apart(
    journal: Whole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = journal[2]
    other = replace(SETTINGS, seed=1)
    assert "of another run: seed 0 there, 1 here" in refused(journal, tmp_path, other, chosen)
    fewer = refused(journal, tmp_path, SETTINGS, chosen[:-1])
    assert "of other claims: last" in fewer
    assert "their order" in refused(journal, tmp_path, SETTINGS, chosen[::-1])
    here = {**environment.environment(), "numpy": "0.1"}
    monkeypatch.setattr("dpcp_audit.engine.journal.environment", lambda _: here)
    versions = refused(journal, tmp_path, SETTINGS, chosen)
    assert re.search(r"with other versions: numpy \S+ there, 0.1 here$", versions)


def test_files_that_the_settings_name_are_watched(tmp_path: Path) -> None:
    pool, path = tmp_path / "pool.npz", tmp_path / "run.ndjson"
    pool.write_bytes(b"one")
    settings = replace(SETTINGS, pools=(str(pool),))
    with Journal.create(path, [], settings):
        pass
    pool.write_bytes(b"two")
    with (
        pytest.raises(JournalError, match=r"files have changed since .*pool\.npz"),
        Journal.resume(path, [], settings),
    ):
        pass


def test_a_journal_is_of_one_run_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "run.ndjson"
    with Journal.create(path, [], SETTINGS):
        for again in (Journal.create, Journal.resume):
            with (
                pytest.raises(JournalError, match="in use by another run"),
                again(path, [], SETTINGS),
            ):
                pass
    with (
        pytest.raises(JournalError, match="exists; go on with it by --resume"),
        Journal.create(path, [], SETTINGS),
    ):
        pass


@pytest.mark.parametrize("name", ["none/run.ndjson", "."])
def test_a_journal_that_cannot_be_opened(name: str, tmp_path: Path) -> None:
    for again in (Journal.create, Journal.resume):
        with pytest.raises(JournalError, match="directory"), again(tmp_path / name, [], SETTINGS):
            pass


LONG = "pcoqs.theorem-1[coverage=marginal]"
ONLY = ["ldpcp.krr", "ldpcp.rr-debias*", "pcoqs.remark-3*", "pcoqs.remark-7*", "dpskin.rdp*"]


def command(*options: str) -> list[str]:
    return [sys.executable, "-m", "dpcp_audit", "run", *options]


def process(*options: str, **more: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(*options),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        **more,
    )


def timeless(path: Path) -> list[str]:
    text = path.read_text().splitlines()
    return [
        line
        for line in text
        if not {"seconds", "wall_seconds", "finished", "command"} & set(line.split('"'))
    ]


def wait_for(path: Path, lines: int) -> None:
    wait_until(
        lambda: path.exists() and path.read_bytes().count(b"\n") >= lines,
        f"{path} has {lines} lines",
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "r.json"
    only = [f"--only={pattern}" for pattern in ONLY]
    options = ["--report", f"json={path}", "--journal", str(path.with_name("run.ndjson"))]
    assert main(["run", "--profile", "smoke", *only, *options]) == 0
    return path


def test_killed_twice_and_resumed_it_ends_in_the_same_json(whole: Path, tmp_path: Path) -> None:
    journal, report = tmp_path / "run.ndjson", tmp_path / "r.json"
    only = [f"--only={pattern}" for pattern in ONLY]
    for options, lines in (
        (["--profile", "smoke", *only, "--journal", str(journal)], 3),
        (["--resume", str(journal)], 6),
    ):
        with process(*options) as running:
            wait_for(journal, lines)
            running.send_signal(signal.SIGKILL)
            running.communicate()
        assert running.returncode == -signal.SIGKILL
    with process("--resume", str(journal), "--report", f"json={report}") as last:
        _, err = last.communicate(timeout=PATIENCE)
    assert last.returncode == 0, err
    assert f"going on with {journal}: " in err
    assert timeless(report) == timeless(whole)
    ids = [entry.id for entry in read(journal).entries if entry.kind == "finding"]
    assert len(set(ids)) == len(ids) == len(json.loads(report.read_text())["findings"])


def interrupted(number: int, folder: Path) -> tuple[int, str]:
    """Interrupt a run in a check of minutes, after two others; return its exit code and stderr."""
    journal = folder / "run.ndjson"
    only = [f"--only={pattern}" for pattern in ("ldpcp.rr-debias*", LONG, "dpskin.rdp-batch*")]
    options = ["--profile", "full", "--jobs", "1", *only, "--journal", str(journal)]

    def interruptible() -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # tests may run in the background

    report = f"json={folder / 'r.json'}"
    with process(*options, "--report", report, preexec_fn=interruptible) as running:
        wait_for(journal, 3)
        time.sleep(0.5)
        running.send_signal(number)
        _, err = running.communicate(timeout=PATIENCE)
    return running.returncode, err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_waits_for_no_check_and_leaves_a_report(number: int, tmp_path: Path) -> None:
    code, err = interrupted(number, tmp_path)
    assert code == 3
    journal = tmp_path / "run.ndjson"
    assert "the reports hold what was finished" in err
    assert f"go on with: dpcp-audit run --resume {journal}" in err
    results = json.loads((tmp_path / "r.json").read_text())
    assert results["complete"] is False
    recorded = [entry.id for entry in read(journal).entries if entry.kind == "finding"]
    reported = [finding["id"] for finding in results["findings"]]
    assert reported == sorted(reported, key=read(journal).head.ids.index)
    assert set(recorded) <= set(reported)
    assert len(reported) <= len(recorded) + 1  # where it was interrupted before it was recorded


def test_a_disk_that_fills_up_leaves_a_partial_report_and_a_journal_to_go_on_with(
    whole: Path, tmp_path: Path
) -> None:
    """A limit on the size of files stands for the disk."""
    journal, report = tmp_path / "run.ndjson", tmp_path / "r.json"
    only = [f"--only={pattern}" for pattern in ONLY]

    size = whole.with_name("run.ndjson").stat().st_size // 2

    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    options = ["--profile", "smoke", *only, "--journal", str(journal)]
    with process(*options, preexec_fn=small) as running:
        _, err = running.communicate(timeout=PATIENCE)
    assert running.returncode == 3, err
    assert f"--journal: {journal}: File too large\nhint: once that is fixed, continue" in err
    assert "Traceback" not in err
    with process("--resume", str(journal), "--report", f"json={report}") as last:
        _, err = last.communicate(timeout=PATIENCE)
    assert last.returncode == 0, err
    assert timeless(report) == timeless(whole)
