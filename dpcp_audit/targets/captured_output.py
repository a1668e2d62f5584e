"""What a target prints: the beginning passes, the rest of many thousand calls' does not."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO, cast

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

_CHARACTERS = 2000
_SILENCE = "\n(more that the code under audit prints is not shown)\n"


@dataclass(slots=True)
class Talk:
    """How many characters code may still print."""

    left: int = _CHARACTERS

    @contextmanager
    def limited(self) -> Generator[None]:
        """Let pass what is printed to stdout and stderr until the characters are used up.

        Afterwards both are as they were, whatever the code put in their place.
        """
        out, err = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = _limit(self, out), _limit(self, err)
        try:
            yield
        finally:
            sys.stdout, sys.stderr = out, err


def _limit(talk: Talk, stream: TextIO | None) -> TextIO:
    return cast("TextIO", None if stream is None else _Limited(talk, stream))


class _Limited:
    """A text stream that falls silent; all but its text is the stream's own."""

    def __init__(self, talk: Talk, stream: TextIO) -> None:
        self._talk, self._stream = talk, stream

    def write(self, text: str) -> int:
        shown = text[: self._talk.left]
        if shown:
            self._talk.left -= len(shown)
            self._stream.write(shown if self._talk.left else shown + _SILENCE)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
