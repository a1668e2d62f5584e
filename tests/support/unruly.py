"""Checks that do what checks should not, and one that falls into chunks; importable by cells."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cloudpickle
import numpy as np

from dpcp_audit.engine.tasks import Task, decode
from dpcp_audit.words.checks import Context, Row, whole
from dpcp_audit.words.checks import count_calls as made
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import Claim, Evidence, Outcome, Source, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpcp_audit.engine.tasks import Done
    from dpcp_audit.words.results import PlainData

MIB = 2**20


def proved(value: float, **witness: Any) -> Outcome:
    return Outcome(
        verdict=Verdict.PROVED,
        evidence=Evidence.exact(Quantity.VALUE, value),
        witness=dict(witness),
    )


def row(id_: str, check: Any) -> Row:
    source = Source(paper="P", section="1")
    return Row(
        claim=Claim(id=id_, statement="s", source=source, expected=Verdict.PROVED), check=check
    )


def raises_what_is_no_exception() -> None:
    raise BaseException("planted")  # noqa: TRY002


def raises_keyboard_interrupt() -> None:
    raise KeyboardInterrupt


def hangs() -> None:
    time.sleep(600)


def calls_a_target() -> None:
    """Three calls, the last of them later than two signs of life are apart."""
    made(2)
    time.sleep(1.1)
    made(1)


def hangs_in_c() -> None:
    """Backtracking that never ends, in C, with the interpreter's lock held."""
    re.match(r"(a+)+$", "a" * 60 + "b")


def hangs_and_ignores_signals() -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    hangs()


def segfaults() -> None:
    ctypes.string_at(0)


def exits() -> None:
    os._exit(9)


def is_killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def calls_exit() -> None:
    sys.exit("enough")


def asks_for_too_much() -> None:
    np.ones(4096 * MIB, dtype=np.uint8)


def leaks() -> None:
    kept = []
    while True:
        kept.append(np.ones(16 * MIB, dtype=np.uint8))


def starts_programs_that_take_too_much() -> None:
    """Each of the two stays below the limit."""
    program = "import time; taken = b'1' * (300 * 2**20); time.sleep(60)"
    for _ in range(2):
        subprocess.Popen([sys.executable, "-c", program])
    hangs()


def prints() -> None:
    print("to stdout")  # noqa: T201
    os.write(1, b"to the pipe\n")
    subprocess.run(["/bin/echo", "a program's"], check=True)
    assert sys.stdin.read() == ""


def harmless() -> None:
    pass


@dataclass(frozen=True)
class Does:
    """Does something, and is proved if it comes to an end."""

    what: Any
    sampled: bool = False

    def __call__(self, context: Context) -> Outcome:
        self.what()
        return proved(0.0, process=os.getpid())


@dataclass(frozen=True)
class HangsBesideAProgram:
    """Starts a program in a session of its own, writes down its number, and hangs."""

    path: str
    sampled: bool = False

    def __call__(self, context: Context) -> Outcome:
        program = subprocess.Popen(["/bin/sleep", "600"], start_new_session=True)
        Path(self.path).write_text(str(program.pid))
        hangs()
        return proved(0.0)


@dataclass(frozen=True)
class LeavesADaemon:
    """Starts a program that leaves its session and its parent, and hangs."""

    path: str
    sampled: bool = False

    def __call__(self, context: Context) -> Outcome:
        leaves_a_daemon(self.path)
        hangs()
        return proved(0.0)


@dataclass(frozen=True)
class CannotTravel:
    sampled: bool = False
    lock: Any = field(default_factory=threading.Lock)

    def __call__(self, context: Context) -> Outcome:
        return proved(0.0)


@dataclass(frozen=True)
class NotPlain:
    sampled: bool = False

    def __call__(self, context: Context) -> Outcome:
        return proved(0.0, what=object())


@dataclass(frozen=True)
class Sums:
    """A weighted sum of random numbers, by chunks; some of these may fail, or take their time.

    ``folder`` is where each chunk that runs leaves a mark.
    """

    parts: int = 4
    fail: tuple[int, ...] = ()
    seconds: float = 0.0
    folder: str = ""
    sampled: bool = True

    def __call__(self, context: Context) -> Outcome:
        return whole(self, context)

    def chunks(self, context: Context) -> int:
        return self.parts

    def chunk(self, context: Context, index: int) -> PlainData:
        if self.folder:
            with (Path(self.folder) / f"{context.name}-{index}").open("a") as mark:
                mark.write("x")
        time.sleep(self.seconds)
        if index in self.fail:
            time.sleep(0.2 * (len(self.fail) - self.fail.index(index)))
            raise ValueError(f"chunk {index} failed")
        return {"sum": context.rng(index).random(), "limit": [float("inf"), (1, 2)]}

    def combine(self, context: Context, results: Sequence[PlainData]) -> Outcome:
        assert [part["limit"] for part in results] == [[float("inf"), [1, 2]]] * self.parts or (
            [part["limit"] for part in results] == [[float("inf"), (1, 2)]] * self.parts
        )
        weighted = [(index + 1) * part["sum"] for index, part in enumerate(results)]
        return proved(sum(weighted), parts=self.parts)


def task(check: Any) -> Task:
    context = Context(seed=0, name="a.b", significance=1e-3)
    return Task(check=cloudpickle.dumps(check), context=context)


def doing(what: Callable[[], None]) -> Task:
    return task(Does(what))


def process_of(done: Done) -> int:
    """Return the process that a ``Does`` ran in."""
    assert not done.error
    return int(decode(done.data).witness["process"])


def answers_for_the_worker() -> None:
    """Writes a reply to every file that is open: an outcome of its own making."""
    message = b'{"data":{"verdict":"PROVED"},"error":"","seconds":0.0}'
    for descriptor in range(3, 64):
        with contextlib.suppress(OSError):
            os.write(descriptor, len(message).to_bytes(8, "big") + message)


def writes_what_is_no_frame() -> None:
    for descriptor in range(3, 64):
        with contextlib.suppress(OSError):
            os.write(descriptor, b"\xff" * 100)


def floods_its_stderr() -> None:
    """Sixteen megabytes, past Python's own streams, with what clears a terminal."""
    for _ in range(256):
        os.write(2, b"\x1b[2J flood" * 6554)


def leaves_a_daemon(place: str) -> None:
    """A program that leaves its session and its parent, as daemons do, and writes its number."""
    program = (
        "import os, sys, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        open(sys.argv[1], 'w').write(str(os.getpid()))\n"
        "        time.sleep(600)\n"
        "    os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", program, place], check=True)
    while not Path(place).exists() or not Path(place).read_text():
        time.sleep(0.01)
