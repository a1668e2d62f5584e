"""A target's process: it is killed where it hangs or floods, with all that it started."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.programs import HEAD, drawn, opened_programs, refusal
from support.waiting import PATIENCE, LateOnce, ended

from dpcp_audit.targets import (
    Kind,
    TargetSpec,
    TargetUnusableError,
    process,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from dpcp_audit.targets import Target


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Callable[..., Target]]:
    yield from opened_programs(tmp_path)


@pytest.mark.parametrize(
    ("body", "words", "seconds"),
    [
        ("time.sleep(60)", "gave no reply within 0.4 s and was killed: does it flush", 0.4),
        ("signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)", "was killed", 0.4),
        ("while True: os.write(2, b'warning\\n' * 2**20)", "gave no reply within 0.4 s", 0.4),
        ("os.close(1); time.sleep(60)", "closed its stdout", PATIENCE),
    ],
)
def test_a_program_that_hangs_is_killed(program, body, words, seconds) -> None:
    assert words in refusal(program(body, seconds=seconds), TargetUnusableError)


def late_once_heard(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the time be up once a program has written something, however long it took to start."""

    def heard() -> bytes:
        asked = target.caller._process  # type: ignore[union-attr]
        return b"" if asked is None else bytes(asked._received) + asked._stderr

    monkeypatch.setattr(process, "time", LateOnce(heard))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            "sys.stdout.write('{\"id\"'); sys.stdout.flush()",
            "gave only '{\"id\"', without an end of line, within 600 s and was killed",
        ),
        (
            "sys.stderr.write('loading\\n'); sys.stderr.flush()",
            "--call-seconds sets the limit; last line of its stderr: 'loading'",
        ),
    ],
)
def test_of_a_program_that_hangs_the_last_words_are_told(program, monkeypatch, body, words) -> None:
    target = program(f"{body}\ntime.sleep(600)")
    late_once_heard(target, monkeypatch)
    assert words in refusal(target, TargetUnusableError)


def test_a_program_that_does_not_read_is_killed(tmp_path) -> None:
    command = (sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)")
    target = TargetSpec(kind=Kind.QUANTILE, command=command, call_seconds=0.4).open()
    with pytest.raises(TargetUnusableError, match="was killed: it did not read its request"):
        drawn(target, np.linspace(0, 1, 50_000))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("while True: sys.stdout.write('x' * 65536)", "floods its stdout: more than 4 MiB"),
        ("while True: send('x')", "printed 'x', which is no JSON"),
    ],
)
def test_a_flood_is_stopped(program, body, words) -> None:
    assert words in refusal(program(body), TargetUnusableError)


def test_all_that_a_program_started_is_killed_with_it(program, tmp_path, monkeypatch) -> None:
    note = tmp_path / "pid"
    target = program(
        "child = subprocess.Popen(['sleep', '600'])\n"
        f"open({str(note)!r}, 'w').write(str(child.pid))\n"
        "sys.stderr.write('started\\n'); sys.stderr.flush(); time.sleep(600)"
    )
    late_once_heard(target, monkeypatch)
    refusal(target, TargetUnusableError)
    assert ended(int(note.read_text(encoding="utf-8")))


def test_a_daemon_that_a_program_left_is_killed_with_it(program, tmp_path) -> None:
    """It has a session of its own and no parent, and is found by its environment."""
    note = tmp_path / "pid"
    body = (
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        for descriptor in range(3):\n"
        "            os.close(descriptor)\n"
        f"        open({str(note)!r}, 'w').write(str(os.getpid()))\n"
        "        time.sleep(600)\n"
        "    os._exit(0)\n"
        f"while not os.path.exists({str(note)!r}) or not open({str(note)!r}).read():\n"
        "    time.sleep(0.01)\n"
        "reply(r, [0.5, 0.5, 0.5])"
    )
    with program(body, seconds=PATIENCE) as target:
        drawn(target)
    assert ended(int(note.read_text(encoding="utf-8")))


def test_leaving_the_target_ends_the_program_and_what_it_started(program) -> None:
    body = "child = subprocess.Popen(['sleep', '60'])\nreply(r, [os.getpid(), child.pid, 0])"
    with program(body) as target:
        pids = drawn(target)[:2].astype(int)
    assert all(ended(int(pid)) for pid in pids)
    with program("reply(r, [os.getpid()] * 3)\ntime.sleep(60)") as target:
        pid = int(drawn(target)[0])
    assert ended(pid)


def test_a_target_that_is_forgotten_ends_its_program(program, tmp_path) -> None:
    path = tmp_path / "lasting.py"
    path.write_text(HEAD + "    reply(r, [os.getpid()])\n", encoding="utf-8")
    command = (sys.executable, "-I", "-S", str(path))
    target = TargetSpec(kind=Kind.QUANTILE, command=command).open()
    pid = int(drawn(target, size=1)[0])
    del target
    assert ended(pid)
