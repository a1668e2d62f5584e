"""What the program is let to see of its noise: one entry of a path's transcript each."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from dpcp_audit.tracing.trace_errors import Line


SEED = "seed"
"""The name of a draw of a whole number among so many that it may seed another generator."""


class Seen(StrEnum):
    """A kind of observation."""

    BIT = "bit"
    """Which of two numbers is the smaller."""
    VALUE = "value"
    """The value of a noisy number."""
    SETTLED = "settled"
    """The value of a number that earlier observations settle."""
    PEAK = "peak"
    """Which of many numbers is the largest, or the smallest."""
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
        Of a bit or value of one draw: the size of its coefficient.
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
