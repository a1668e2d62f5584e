"""What a run leaves behind: its report, its exit code, and what it can be resumed from."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest
from support.unruly import Sums
from support.waiting import PATIENCE, LateOnce

from dpcp_audit.engine import suites, worker_pool
from dpcp_audit.engine.runner import run
from dpcp_audit.faces import runs
from dpcp_audit.faces.cli.main import main
from dpcp_audit.words.evidence import Computed
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dpcp_audit.engine.run_settings import RunSettings
    from dpcp_audit.words.checks import Context, Row
    from dpcp_audit.words.results import Outcome
from support.small_rows import FALSE, HOLDS, QUIET, Raises, breaks, holds, row


def exit_code(monkeypatch: pytest.MonkeyPatch, rows: list[Row], *options: str) -> int:
    monkeypatch.setattr(suites, "select", lambda *_, **__: rows)
    return main(["run", "--jobs", "1", "--profile", "smoke", *options])


@dataclass(frozen=True)
class Undecided:
    """A check whose budget is too small, whatever the budget."""

    sampled: bool = False

    def __call__(self, context: Context) -> Outcome:
        return replace(Computed(holds)(context), verdict=Verdict.INCONCLUSIVE)


SURPRISE = row("surprise", Computed(breaks))
NOT_BROKEN = row("not-broken", Computed(holds), Verdict.REFUTED)
RAISES = row("raises", Raises("value"))
OPEN = row("open", Undecided())


@pytest.mark.parametrize(
    ("rows", "options", "code"),
    [
        ([HOLDS], [], 0),
        ([HOLDS, FALSE], [], 0),
        ([HOLDS, SURPRISE], [], 1),
        ([NOT_BROKEN], [], 1),
        ([HOLDS, RAISES], [], 3),
        ([SURPRISE, RAISES], [], 1),
        ([OPEN], [], 0),
        ([OPEN], ["--strict"], 1),
        ([HOLDS, FALSE], ["--strict"], 0),
        ([RAISES], ["--strict"], 3),
    ],
)
def test_exit_codes(
    monkeypatch: pytest.MonkeyPatch, rows: list[Row], options: list[str], code: int
) -> None:
    assert exit_code(monkeypatch, rows, *options) == code


def test_an_interrupted_run_reports_what_was_finished(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(rows: Sequence[Row], settings: RunSettings, **options: Any) -> Any:
        yield from list(run(rows[:1], settings, **options))[:-1]
        raise KeyboardInterrupt

    monkeypatch.setattr(runs, "run", interrupted)
    path = tmp_path / "r.json"
    assert exit_code(monkeypatch, [HOLDS, FALSE], "--report", f"json={path}") == 3
    results = json.loads(path.read_text())
    assert results["complete"] is False
    assert [finding["id"] for finding in results["findings"]] == ["holds"]
    assert [each["name"] for each in results["skipped"]] == ["known-false"]
    out, err = capsys.readouterr()
    assert "stopped: 1 of 2 claims finished: 1 consistent" in out
    assert "interrupted" in err


def test_limits_are_options(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The time is up once the check hangs, however long its process takes to start."""
    log, marks = tmp_path / "log", tmp_path / "marks"
    marks.mkdir()
    monkeypatch.setattr(worker_pool, "time", LateOnce(lambda: any(marks.iterdir())))
    hangs = row("hangs", Sums(parts=1, seconds=PATIENCE, folder=str(marks)))
    options = ["--budget", "10m", "--memory", "1GiB", "--log", str(log)]
    assert exit_code(monkeypatch, [hangs, QUIET], *options) == 3
    assert "Stopped after 600 s: the time limit of a check; its target hung" in " ".join(
        capsys.readouterr().out.split()
    )
    lines = [line.partition(" ")[2] for line in log.read_text().splitlines()]
    assert lines[:2] == ["run started: 2 checks", "hangs: started, 1 chunk(s)"]
    assert lines[2].startswith("hangs: ERROR (")
    assert lines[-1].startswith("run finished: ")


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("--budget", ["0", "-1s", "", "s", "1d", "nan", "inf", "1e5s", "one minute"]),
        ("--memory", ["0GiB", "2", "-1GiB", "GiB", "2G", "", "nanGiB"]),
    ],
)
def test_limits_that_are_none_are_refused(
    option: str, values: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for value in values:
        with pytest.raises(SystemExit, match="2"):
            main(["run", f"{option}={value}"])
        assert f"argument {option}: must be " in capsys.readouterr().err


def test_resuming_takes_the_settings_of_the_journal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal, report = tmp_path / "run.ndjson", tmp_path / "r.json"
    only = ["--only", "ldpcp.krr", "--only", "ldpcp.blocks"]
    begin = ["run", "--profile", "smoke", "--seed", "3", *only, "--journal", str(journal)]
    assert main(begin) == 0
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:2]))
    assert main(["run", "--resume", str(journal), "--report", f"json={report}"]) == 0
    results = json.loads(report.read_text())
    assert (results["seed"], results["profile"], len(results["findings"])) == (3, "smoke", 2)
    assert f"going on with {journal}: 1 checks finished" in capsys.readouterr().err
    for options, error in (
        (["--seed", "4"], "--seed: the resumed run was begun with 3, got 4"),
        (["--profile", "ci"], "--profile: the resumed run was begun with smoke, got ci"),
        (["--suite", "theorems"], "--suite: the resumed run was begun with papers, got theorems"),
        (["--strict"], "--strict: the resumed run was begun with False, got True"),
        (["--only", "ldpcp.krr"], "--only cannot be combined"),
        (["--journal", str(journal)], "--journal cannot be combined with --resume"),
        (["--log", str(tmp_path)], f"--log: {tmp_path}: Is a directory"),
    ):
        assert main(["run", "--resume", str(journal), *options]) == 2
        assert error in capsys.readouterr().err
    assert main(begin) == 2
    assert f"{journal} exists; go on with it by --resume" in capsys.readouterr().err
