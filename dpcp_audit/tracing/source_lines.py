"""Where the target stands: the line of its code that draws, compares or reads."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import numpy as np

_INTERNAL = (str(Path(__file__).parent), str(Path(np.__file__).parent))


@cache
def _is_internal(file: str) -> bool:
    """Tell whether a file belongs to the tracer, to NumPy or to the import machinery."""
    return file.startswith((*_INTERNAL, "<frozen")) or file.endswith(("/random.py", "/copy.py", ".pyx"))


def target_line() -> tuple[str, int]:
    """Return the file and the line of the innermost frame that is not the tracer's own."""
    frame = sys._getframe(1)  # noqa: SLF001  (inspect.stack reads the source of every frame)
    while _is_internal(frame.f_code.co_filename) and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def is_target(file: str) -> bool:
    """Tell whether a file is code that is followed."""
    return not _is_internal(file)
