"""``dpcp-audit reproduce``: a suite like any other, whose tables are printed cell by cell."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from dpcp_audit.faces.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

KILLED = """
import os, signal, sys
from dpcp_audit.engine.journal import Journal
from dpcp_audit.engine.tasks import CheckFinished, Done as ChunkFinished
from dpcp_audit.faces.cli.main import main

record = Journal.record

def record_and_die(self, event):
    record(self, event)
    if isinstance(event, (ChunkFinished, CheckFinished)):
        os.kill(os.getpid(), signal.SIGKILL)

Journal.record = record_and_die
main(sys.argv[1:])
"""


def document(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: timeless(v)
            for key, v in value.items()
            if not ("seconds" in key or key == "provenance")
        }
    return [timeless(item) for item in value] if isinstance(value, list) else value


def finished(journal: Path) -> list[tuple[str, str, int]]:
    """Return what a journal holds: kind, claim, chunk."""
    entries = [json.loads(line)["entry"] for line in journal.read_text().splitlines()[1:]]
    return [(each["kind"], each["id"], each.get("index", -1)) for each in entries]


@pytest.mark.known_bad
@pytest.mark.parametrize(
    "command",
    [
        ["reproduce", "pcoqs-table-15"],
        ["selftest", "--only", "zoo.wrong-k*"],
    ],
)
def test_a_killed_command_goes_on_where_it_was(command: list[str], tmp_path: Path) -> None:
    """It is killed right after its first chunk was written down, whatever the machine's speed."""
    journal, whole, rest = (tmp_path / name for name in ("journal", "whole.json", "rest.json"))
    command = [*command, "--profile", "smoke", "--jobs", "1"]
    dead = subprocess.run(
        [sys.executable, "-c", KILLED, *command, "--journal", str(journal)],
        capture_output=True,
        check=False,
    )
    assert dead.returncode == -signal.SIGKILL
    (first,) = finished(journal)
    assert main([command[0], "--resume", str(journal), "--report", f"json={rest}"]) == 0
    after = finished(journal)
    assert after[0] == first
    assert len(set(after)) == len(after) > 1
    assert main([*command, "--report", f"json={whole}"]) == 0
    assert timeless(document(rest)) == timeless(document(whole))


def test_experiments_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert listed[0].startswith("pcoqs-table-1\tP-COQS, Table 1\t")


def test_a_table_is_reproduced_in_every_format(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    formats = ("json", "html", "markdown", "csv", "junit", "sarif", "tables", "cells")
    reports = [f"--report={name}={tmp_path / name}" for name in formats]
    assert main(["reproduce", "ldpcp-table-1", "--jobs", "1", *reports]) == 0
    assert "Calibration at ε = 4" in capsys.readouterr().out
    assert all((tmp_path / name).stat().st_size for name in formats)
    assert document(tmp_path / "json")["suite"] == "reproduction"
    with (tmp_path / "cells").open(encoding="utf-8", newline="") as stream:
        cells = {(row["row"], row["number"]): row for row in csv.DictReader(stream)}
    tissue = cells["TissueMNIST", "ε_eff"]
    assert float(tissue["as written"]) == pytest.approx(4 / 23640**0.5)


def test_a_report_is_written_later_from_the_results(tmp_path: Path) -> None:
    results, at_once, later = (tmp_path / name for name in ("r.json", "a.md", "b.md"))
    command = ["reproduce", "ldpcp-table-1", "--jobs", "1", "--report", f"json={results}"]
    assert main([*command, "--report", f"tables={at_once}"]) == 0
    assert main(["report", str(results), "--report", f"tables={later}"]) == 0
    assert at_once.read_text(encoding="utf-8") == later.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "give an ID, 'all' or 'list'"),
        (["nope"], "no experiment has the id 'nope'"),
        (["ldpcp-table-1", "--report", "pdf=x.pdf"], "unknown format 'pdf'"),
    ],
)
def test_wrong_input_is_one_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_another_suites_journal_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = tmp_path / "journal"
    assert main(["run", "--only", "ldpcp.krr", "--jobs", "1", "--journal", str(journal)]) == 0
    assert main(["reproduce", "--resume", str(journal)]) == 2
    assert "--suite: the resumed run was begun with papers" in capsys.readouterr().err
