"""A draw of the target, and what the observations so far leave of it.

Draws of finitely many values: the log-probability of what is drawn, and all that may be.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from enum import StrEnum
from itertools import permutations, product
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.tracing.source_lines import NotFiniteError, target_line

if TYPE_CHECKING:
    from dpcp_audit.tracing.noise_laws import NoiseLaw
    from dpcp_audit.tracing.source_lines import Line


SLACK = 1e-9
"""Relative rounding of a value that lies at the end of what earlier bits leave."""
_LATTICE = 1e-9
"""How far a discrete draw may seem to be from a whole number, by rounding."""


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
"""Of a draw of which nothing has been observed."""


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
        Whether it was compared with another draw, or added to one.
    settled : bool
        Whether a sum was read in which it stands: no more can be said of it alone.
    pure : bool
        Whether its value was read before anything was added to it.
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


# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownParameterType=false, reportIncompatibleMethodOverride=false


MOST_OPTIONS = 100_000
"""Values of a draw that are listed."""


def uniform_log_mass(found: Any, first: int, stop: int, count: int) -> float:
    """Return the log-probability of whole numbers that are uniform from ``first`` to ``stop``."""
    if isinstance(found, int | np.integer):
        return -math.log(count) if first <= found < stop else -math.inf
    values = np.asarray(found)
    if values.size and not (first <= values.min() and values.max() < stop):
        return -math.inf
    return -values.size * math.log(count)


def choice_log_mass(found: Any, count: int, weights: Any, *, replace: bool) -> float:
    """Return the log-probability of places, by weights, or uniform with or without replacement."""
    places = np.asarray(found)
    if places.size and places.max() >= count:
        return -math.inf
    if weights is not None:
        with np.errstate(divide="ignore"):
            return float(np.log(weights / weights.sum())[places].sum())
    if replace:
        return -places.size * math.log(count)
    return math.lgamma(count - places.size + 1) - math.lgamma(count + 1)


def all_tuples(values: range, size: Any, dtype: Any, *, distinct: bool = False) -> list[Any]:
    """Return all that can be drawn, of any shape."""
    if size is None:
        if len(values) > MOST_OPTIONS:
            return no_options()
        return [np.dtype(dtype).type(each) for each in values]
    shape = (int(size),) if np.ndim(size) == 0 else tuple(size)
    count = math.prod(shape)
    total = math.perm(len(values), count) if distinct else len(values) ** count
    if total > MOST_OPTIONS:
        return no_options()
    ways = permutations(values, count) if distinct else product(values, repeat=count)
    return [np.array(way, dtype=dtype).reshape(shape) for way in ways]


def no_options() -> list[Any]:
    """Raise that what may be drawn is not listed."""
    raise NotFiniteError("what may be drawn is not finite, or too much", target_line())
