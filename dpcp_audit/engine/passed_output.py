"""What a process for checks writes on its stderr: a beginning is passed on, the rest is not.

Code under audit may write past Python's own streams, as C libraries do, and in each of many
thousand calls.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import threading
from typing import IO

MOST_BYTES = 2**16
"""Of one process, for as long as it lives."""
_SILENCE = "\n(more that the code under audit writes is not shown)\n"
_CHUNK = 2**16
_STDERR = 2


def pass_on(pipe: IO[bytes]) -> threading.Thread:
    """Read a pipe to its end and write the beginning on stderr, without control characters."""
    thread = threading.Thread(target=_pass_on, args=(pipe,), daemon=True)
    thread.start()
    return thread


def _pass_on(pipe: IO[bytes]) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    left = MOST_BYTES
    with pipe:
        while data := os.read(pipe.fileno(), _CHUNK):
            shown = decoder.decode(data[:left])
            if left and len(data) >= left:
                shown += _SILENCE
            left -= min(left, len(data))
            _write(shown)


def _write(text: str) -> None:
    """Write a text on this process's stderr, where that is open."""
    plain = "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)
    waiting = memoryview(plain.encode())
    with contextlib.suppress(OSError):
        while waiting:
            waiting = waiting[os.write(_STDERR, waiting) :]
