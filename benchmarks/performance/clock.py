"""Processor time: of calls in this process, and of programs with all that they start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BARE_IMPORT = ("-c", "import numpy, scipy.special")
"""What every program of this package costs before it does anything."""


def best(*calls: Callable[[], object], repeats: int = 7) -> list[float]:
    """Return the least processor time of each call, in seconds; they take turns."""
    least = [float("inf")] * len(calls)
    for _ in range(repeats):
        for i, call in enumerate(calls):
            begun = time.process_time()
            call()
            least[i] = min(least[i], time.process_time() - begun)
    return least


_LAUNCHER = """\
import json, resource, subprocess, sys
subprocess.run([sys.executable, *sys.argv[1:]], capture_output=True)
spent = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([spent.ru_utime + spent.ru_stime, spent.ru_maxrss / 2**20]))
"""
"""Starts the program: a small process, since one counts what its parent held when it began."""


class Spent(NamedTuple):
    """What a program took."""

    seconds: float
    """Of the processor, its children's included."""
    gibibytes: float
    """The most memory that one of its processes held."""


def program(arguments: tuple[str, ...], folder: Path | None = None) -> Spent:
    """Run a Python program, whose byte code is kept as an installed package's is."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    ran = subprocess.run(  # noqa: S603  (this package)
        [sys.executable, "-c", _LAUNCHER, *arguments],
        cwd=folder,
        env=kept,
        capture_output=True,
        check=True,
    )
    return Spent(*json.loads(ran.stdout))
