# pyright: reportPrivateUsage=false
"""Where the target stands: the line of its code that draws, compares or reads."""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from types import FrameType

_STANDARD = Path(os.__file__).parent
_THEIRS = ("secrets.py", "uuid.py", "pathlib.py", "heapq.py", "bisect.py")
"""Modules that draw or compare for their callers."""
_INTERNAL = (
    str(Path(__file__).parent),
    str(Path(np.__file__).parent),
    *(str(_STANDARD / name) for name in _THEIRS),
)


@cache
def _is_internal(file: str) -> bool:
    """Tell whether a file belongs to the tracer, to NumPy or to the import machinery."""
    return file.startswith((*_INTERNAL, "<frozen")) or file.endswith(
        ("/random.py", "/copy.py", ".pyx")
    )


def target_line() -> tuple[str, int]:
    """Return the file and the line of the innermost frame that is not the tracer's own."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001  (quicker than the inspect module)
    while frame is not None and _is_internal(frame.f_code.co_filename):
        frame = frame.f_back
    return ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def asked_by_target() -> bool:
    """Tell whether the function that asks this was called by code that is followed.

    Python's own modules, as that of log messages, do not count as such.
    """
    file = sys._getframe(2).f_code.co_filename  # noqa: SLF001  (of the caller's caller)
    return is_target(file) and (not file.startswith(str(_STANDARD)) or "-packages" in file)


def is_target(file: str) -> bool:
    """Tell whether a file is code that is followed."""
    return not _is_internal(file)
