"""How the following of a path ends before its output: three cases that are never confused."""

from __future__ import annotations

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
