"""Processor time: of calls in this process, and of programs with all that they start."""

from __future__ import annotations

import os
import resource
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


class Spent(NamedTuple):
    """What a program took."""

    seconds: float
    """Of the processor, its children's included."""
    gibibytes: float
    """The most memory that one of its processes held; of the largest program so far."""


def program(arguments: tuple[str, ...], folder: Path | None = None) -> Spent:
    """Run a Python program, whose byte code is kept as an installed package's is."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    before = _children()
    subprocess.run(  # noqa: S603  (this package)
        [sys.executable, *arguments], cwd=folder, env=kept, capture_output=True, check=False
    )
    after = _children()
    return Spent(
        after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        after.ru_maxrss / 2**20,
    )


def _children() -> resource.struct_rusage:
    return resource.getrusage(resource.RUSAGE_CHILDREN)
