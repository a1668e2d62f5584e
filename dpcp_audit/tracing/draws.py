"""A draw of the target, where it stands in its code, and what the observations leave of it.

What the program is let to see of its noise is one entry of a path's transcript each. The following
of a path ends before its output in three cases, which are never confused.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import math
import operator
import os
import sys
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from types import FrameType

    from dpcp_audit.tracing.noise_laws import NoiseLaw


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
        True if the value is what the target returned.
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


SAME = 1e-12
"""Relative difference, by rounding, up to which two settled numbers are the same."""
SLACK = 1e-9
"""Relative rounding of a value that lies at the end of what earlier bits leave."""
_LATTICE = 1e-9
"""The largest distance, by rounding, of a discrete draw from a whole number."""


class Ordering(StrEnum):
    """A comparison of two numbers."""

    LESS = "<"
    LESS_EQUAL = "<="
    GREATER = ">"
    GREATER_EQUAL = ">="
    EQUAL = "=="
    NOT_EQUAL = "!="

    @property
    def negated(self) -> Ordering:
        """The comparison that holds where this one does not."""
        return _NEGATED[self]

    @property
    def mirrored(self) -> Ordering:
        """The comparison with both sides multiplied by −1."""
        return _MIRRORED[self]

    def holds(self, left: float, right: float) -> bool:
        """Tell whether it holds of two numbers."""
        return bool(_HOLDS[self](left, right))


_NEGATED = {
    Ordering.LESS: Ordering.GREATER_EQUAL,
    Ordering.LESS_EQUAL: Ordering.GREATER,
    Ordering.GREATER: Ordering.LESS_EQUAL,
    Ordering.GREATER_EQUAL: Ordering.LESS,
    Ordering.EQUAL: Ordering.NOT_EQUAL,
    Ordering.NOT_EQUAL: Ordering.EQUAL,
}
_MIRRORED = {
    Ordering.LESS: Ordering.GREATER,
    Ordering.LESS_EQUAL: Ordering.GREATER_EQUAL,
    Ordering.GREATER: Ordering.LESS,
    Ordering.GREATER_EQUAL: Ordering.LESS_EQUAL,
    Ordering.EQUAL: Ordering.EQUAL,
    Ordering.NOT_EQUAL: Ordering.NOT_EQUAL,
}
_HOLDS = {
    Ordering.LESS: operator.lt,
    Ordering.LESS_EQUAL: operator.le,
    Ordering.GREATER: operator.gt,
    Ordering.GREATER_EQUAL: operator.ge,
    Ordering.EQUAL: operator.eq,
    Ordering.NOT_EQUAL: operator.ne,
}
_DOWNWARD = frozenset({Ordering.LESS, Ordering.LESS_EQUAL})
_STRICT = frozenset({Ordering.LESS, Ordering.GREATER})


@dataclass(frozen=True, slots=True)
class DrawRegion:
    """The values of a standard draw Z that the observations leave.

    Parameters
    ----------
    low, high : float
        Its ends; of a discrete draw whole numbers that belong to it.
    excluded : frozenset of float
        Values of a discrete draw between them that are ruled out.
    """

    low: float = -math.inf
    high: float = math.inf
    excluded: frozenset[float] = frozenset()

    @property
    def whole(self) -> bool:
        """True if nothing has been observed of the draw."""
        return self.low == -math.inf and self.high == math.inf and not self.excluded

    def narrowed(self, how: Ordering, bound: float, *, discrete: bool) -> DrawRegion:
        """Return the values z of the region with ``z how bound``."""
        low, high, excluded = self.low, self.high, self.excluded
        if how is Ordering.EQUAL:
            low, high = max(low, bound), min(high, bound)
        elif how is Ordering.NOT_EQUAL:
            excluded = excluded | {round(bound)} if _is_whole(bound) else excluded
        elif how in _DOWNWARD:
            high = min(high, _inside(bound, strict=how in _STRICT) if discrete else bound)
        else:
            low = max(low, -_inside(-bound, strict=how in _STRICT) if discrete else bound)
        return DrawRegion(low, high, excluded)

    def holds(self, z: float, *, slack: float) -> bool:
        """Tell whether a value lies in the region, but for ``slack``."""
        return self.low - slack <= z <= self.high + slack and z not in self.excluded


WHOLE = DrawRegion()
"""The region of a draw of which nothing has been observed."""


def _is_whole(number: float) -> bool:
    return math.isfinite(number) and abs(number - round(number)) <= _LATTICE


def _inside(bound: float, *, strict: bool) -> float:
    """Return the largest whole number below the bound, or at most it."""
    if not math.isfinite(bound):
        return bound
    if _is_whole(bound):
        return round(bound) - strict
    return math.floor(bound)


@dataclass(slots=True, eq=False)
class NoiseDraw:
    """A draw ``loc + scale·Z`` of one path.

    Parameters
    ----------
    index : int
        Its number among the draws of the path.
    law : NoiseLaw or None
        That of Z; None of a draw that was revealed as it was made.
    name : str
        As the generator's method is called.
    line : tuple
        Where it was drawn.
    standard : float
        Z as an untraced run has it; NaN in a replay.
    region : DrawRegion
        What the observations leave of Z.
    point : float or None
        Z itself, once a value has revealed it.
    log_unit : float
        Of a value that was read: log of the factor between Z and the value.
    revealed : float
        Of a draw that was revealed as it was made: the log of its probability.
    joined : bool
        True if it was compared with another draw, or added to one.
    settled : bool
        True if a sum was read in which it stands: no more can be said of it alone.
    pure : bool
        True if its value was read before anything was added to it.
    """

    index: int
    law: NoiseLaw | None
    name: str
    line: Line
    standard: float = math.nan
    region: DrawRegion = WHOLE
    point: float | None = None
    log_unit: float = 0.0
    revealed: float = 0.0
    joined: bool = False
    settled: bool = False
    pure: bool = False

    def narrow(self, offset: float, coefficient: float, how: Ordering) -> None:
        """Keep that ``offset + coefficient·Z`` compares with 0 in this way."""
        self.region = self.region.narrowed(
            how if coefficient > 0 else how.mirrored,
            -offset / coefficient,
            discrete=self.law is not None and self.law.discrete,
        )

    def is_counted_from_zero(self, shift: float) -> bool:
        """Tell whether Z + shift is 0 for the least Z: failures in place of trials, say."""
        first = None if self.law is None else self.law.first
        return first is not None and shift == -first

    def holds_point(self, slack: float) -> bool:
        """Tell whether Z, which is known, lies in the region, but for a relative slack."""
        z = 0.0 if self.point is None else self.point
        return self.region.holds(z, slack=slack * max(1.0, abs(z)))


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedBit:
    """``offset + Σ coefficient·Z`` compared with 0, or equal to it, for several draws."""

    offset: float
    terms: tuple[tuple[NoiseDraw, float], ...]
    how: Ordering
