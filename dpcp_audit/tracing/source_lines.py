"""What the program is let to see of its noise: one entry of a path's transcript each.

Where the target stands: the line of its code that draws, compares or reads.

How the following of a path ends before its output: three cases that are never confused.
"""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from types import FrameType


SEED = "seed"
"""The name of a draw of a whole number among so many that it may seed another generator."""


class Seen(StrEnum):
    """A kind of observation."""

    BIT = "bit"
    """The comparison of two numbers."""
    VALUE = "value"
    """The value of a noisy number."""
    SETTLED = "settled"
    """The value of a number that earlier observations settle."""
    PEAK = "peak"
    """The index of the largest or smallest of many numbers."""
    CHOICE = "choice"
    """A draw that was revealed as it was made, such as an index."""


class Observation(NamedTuple):
    """An entry of a transcript; a tuple, since a path makes thousands of them.

    Parameters
    ----------
    kind : Seen
        What was observed.
    result : object
        The bit, the value, the index or the choice.
    draws : tuple of int
        The draws that it speaks of.
    line : tuple
        Where the target stood.
    offset : float or ndarray
        Of a bit or value: the part without noise; of a vector of values theirs.
    scale : float
        Of a bit or value of one draw: the size of its coefficient. Of a settled value: the largest
        number that it was computed from.
    at_return : bool
        Whether the value is what the target returned.
    key : object
        Of a choice: its parameters, where its probability is not known.
    """

    kind: Seen
    result: Any
    draws: tuple[int, ...]
    line: Line
    offset: Any = 0.0
    scale: float = 0.0
    at_return: bool = False
    key: Any = None

    def with_result(self, result: Any) -> Observation:
        """Return the observation with what was seen."""
        return Observation(self[0], result, *self[2:])


# pyright: reportPrivateUsage=false


_STANDARD = Path(os.__file__).parent
_THEIRS = ("secrets.py", "uuid.py", "pathlib.py", "heapq.py", "bisect.py")
"""Modules that draw or compare for their callers."""
_TRACER = str(Path(__file__).parent)
_INTERNAL = (
    _TRACER,
    str(Path(np.__file__).parent),
    *(str(_STANDARD / name) for name in _THEIRS),
)


@cache
def is_library(file: str) -> bool:
    """Tell whether a file belongs to Python itself, or to an installed package."""
    return "-packages" in file or _is_internal(file) or file.startswith(str(_STANDARD))


@cache
def _is_internal(file: str) -> bool:
    """Tell whether a file belongs to the tracer, to NumPy or to the import machinery."""
    return file.startswith((*_INTERNAL, "<frozen")) or file.endswith(
        ("/random.py", "/copy.py", ".pyx")
    )


def target_line() -> tuple[str, int]:
    """Return the file and the line of the innermost frame of the user's own code.

    Where the target is a library's function, of the innermost frame that is not the tracer's.
    """
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001  (quicker than the inspect module)
    while frame is not None and _is_internal(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return "", 0
    caller: FrameType | None = frame
    while caller is not None and not caller.f_code.co_filename.startswith(_TRACER):
        if not is_library(caller.f_code.co_filename):
            return caller.f_code.co_filename, caller.f_lineno
        caller = caller.f_back
    return frame.f_code.co_filename, frame.f_lineno


def asked_by_target() -> bool:
    """Tell whether the function that asks this was called by code that is followed.

    Python's own modules, as that of log messages, do not count as such.
    """
    file = sys._getframe(2).f_code.co_filename  # noqa: SLF001  (of the caller's caller)
    return is_target(file) and (not file.startswith(str(_STANDARD)) or "-packages" in file)


def is_target(file: str) -> bool:
    """Tell whether a file is code that is followed."""
    return not _is_internal(file)


Line = tuple[str, int]
"""A file and a line of it."""


class TraceEnd(BaseException):
    """The path cannot go on. Not an ``Exception``: the target must not catch it.

    Parameters
    ----------
    reason : str
        What happened, in words.
    line : tuple
        Where the target stood.
    """

    def __init__(self, reason: str, line: Line) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


class PathDivergedError(TraceEnd):
    """With the same observations forced, the neighbour's run took another way."""


class UnfollowableError(TraceEnd):
    """The target did something that cannot be followed: nothing is judged."""


class NeedsValuesError(TraceEnd):
    """The comparisons of this path have no law that is computed: their values are revealed."""


class ImpossibleError(NeedsValuesError):
    """The comparisons of this path cannot all be true."""


class NotFiniteError(TraceEnd):
    """The tree of observations is not finite, or too large to be enumerated."""
