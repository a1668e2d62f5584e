"""What went wrong with a target, in one line that says what to do about it."""

from __future__ import annotations

from dpcp_audit.targets.degenerate import DegenerateTargetError

_LONGEST = 200


class TargetError(ValueError):
    """A target cannot be used: the one line says what it did, in which call, and what to do."""


class TargetRaisedError(TargetError):
    """A target gave no answer on one input: it raised, reported an error, or died.

    Other inputs may be to its liking: code that refuses fewer than ten scores, say.
    """


class TargetUnusableError(TargetError, DegenerateTargetError):
    """A target gave an answer that is none, or none in time: no input will make up for that."""


def one_line(text: object, *, longest: int = _LONGEST) -> str:
    """Return a text on one line, cut in the middle where it is too long.

    Control characters, which could steer a terminal, are spelled out.
    """
    words = " ".join(str(text).split())
    line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in words)
    return line if len(line) <= longest else f"{line[: longest - 44]} ... {line[-39:]}"
