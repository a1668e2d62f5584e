"""Kills at random moments, also while reports are written: nothing that was finished is lost.

    python -m pytest -m study tests/engine/test_journal_kills.py

Ten rounds of four kills each. A moment is one of the processor time of the process, so that it
falls alike on quick machines, slow ones and busy ones.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

if TYPE_CHECKING:
    from pathlib import Path

OLD = "the report of an earlier run\n"
KILLS = 4
COMMANDS = (
    (
        "run",
        "--profile=smoke",
        "--only=ldpcp.krr",
        "--only=pcoqs.remark-3*",
        "--only=pcoqs.remark-7*",
    ),
    ("selftest", "--profile=smoke", "--only=zoo.wrong-k*"),
    ("reproduce", "pcoqs-table-15", "--profile=smoke"),
    ("check", "mine.py:mean", "--kind=quantile", "--pure-dp=1", "--n=20", "--draws=2000"),
    ("run", "--profile=smoke", "--only=dpskin.rdp*", "--only=ldpcp.rr-debias*"),
)
TARGET = "def mean(scores, *, rng):\n    return scores.mean() + rng.laplace() / len(scores)\n"


def started(command: tuple[str, ...], folder: Path, *options: str) -> subprocess.Popen[bytes]:
    """Start a command that writes its results and a page into a folder."""
    reports = ("--report=json=r.json", "--report=markdown=r.md")
    (folder / "tmp").mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-m", "dpcp_audit", *command, "--jobs=1", *reports, *options],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(folder / "tmp")},
    )


def processor_seconds(pid: int) -> float:
    """Return the processor time that a process has used, its children's left out."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:  # noqa: PTH123
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def used(process: subprocess.Popen[bytes], limit: float) -> float:
    """Wait until a process has used so much processor time or ended; return what it has used."""
    seconds = 0.0
    while seconds < limit and process.poll() is None:
        seconds = processor_seconds(process.pid)
        time.sleep(0.002)
    return seconds


def whole(command: tuple[str, ...], folder: Path) -> float:
    """Run a command that nothing ends; return its processor time."""
    with started(command, folder) as process:
        seconds = used(process, float("inf"))
    assert process.returncode in {0, 1}
    return seconds


def timeless(path: Path) -> list[str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if "seconds" not in line]


def begun(command: tuple[str, ...], folder: Path) -> subprocess.Popen[bytes]:
    """Go on with what a journal holds, or begin where it holds nothing; old reports are there."""
    for name in ("r.json", "r.md"):
        (folder / name).write_text(OLD, encoding="utf-8")
    journal = folder / "journal"
    if not (journal.exists() and b"\n" in journal.read_bytes()):
        journal.unlink(missing_ok=True)
        return started(command, folder, "--journal=journal")
    named = command if command[0] == "check" else command[:1]
    return started(named, folder, "--resume=journal")


def require_whole(folder: Path, expected: Path) -> None:
    """Require that each report is the old one, or all of the new one."""
    results, page = folder / "r.json", folder / "r.md"
    if results.read_text(encoding="utf-8") != OLD:
        assert timeless(results) == timeless(expected / "r.json")
    if page.read_text(encoding="utf-8") != OLD:
        assert page.read_text(encoding="utf-8").endswith(
            (expected / "r.md").read_text(encoding="utf-8").splitlines(keepends=True)[-1]
        )


@pytest.mark.study
@pytest.mark.parametrize("seed", range(10))
def test_killed_at_random_moments_and_resumed(seed: int, tmp_path: Path) -> None:
    """The results are those of an uninterrupted run, and no temporary file stays behind."""
    command, folder, expected = COMMANDS[seed % len(COMMANDS)], tmp_path / "a", tmp_path / "b"
    for each in (folder, expected):
        each.mkdir()
        (each / "mine.py").write_text(TARGET, encoding="utf-8")
    seconds = whole(command, expected)
    rng, killed = np.random.default_rng(seed), 0
    while killed < KILLS:
        with begun(command, folder) as process:
            used(process, rng.uniform(0.2, 1) * seconds)
            process.send_signal(signal.SIGKILL)
        killed += process.returncode == -signal.SIGKILL
        require_whole(folder, expected)
        if process.returncode != -signal.SIGKILL:  # it had ended before
            (folder / "journal").unlink()
    with begun(command, folder) as process:
        pass
    assert process.returncode in {0, 1}
    assert timeless(folder / "r.json") == timeless(expected / "r.json")
    assert not list((folder / "tmp").iterdir())
