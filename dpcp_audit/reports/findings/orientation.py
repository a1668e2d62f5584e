"""Every finding on one scale: how many times worse than promised, family by family.

The scale is logarithmic, the promise in its middle: left of it lies what keeps the promise, right
of it what breaks it, and what is beyond its ends is drawn at them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcp_audit.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.reports.findings.entry import Entry
    from dpcp_audit.reports.findings.families import Family

FARTHEST = 30.0
"""The factor at the right end of the scale; at the left end is one part in as many."""
TICKS = {0.1: "a tenth", 1.0: "as promised", 10.0: "10 times worse"}
_DRAWN_LAST = (
    Verdict.ERROR,
    Verdict.PROVED,
    Verdict.CONSISTENT,
    Verdict.INCONCLUSIVE,
    Verdict.REFUTED,
)
"""Later marks are drawn over earlier ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingMark:
    """One finding on the scale.

    Parameters
    ----------
    place, low, high : float
        Where its number and the ends of its interval are drawn, in percent of the scale.
    told : str
        Its id, and what was found and promised.
    apart : bool
        Whether it is nobody's claim as it is made.
    """

    verdict: Verdict
    place: float
    low: float
    high: float
    told: str
    apart: bool

    @property
    def width(self) -> float:
        """The length of the interval, in percent of the scale."""
        return self.high - self.low


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """The findings of a family."""

    name: str
    anchor: str
    marks: tuple[FindingMark, ...]


def lanes(families: Sequence[Family]) -> tuple[Lane, ...]:
    """Return the families whose claims bound a number, in their order."""
    found = [
        Lane(name=family.name, anchor=family.anchor, marks=_marks(family.entries))
        for family in families
    ]
    return tuple(lane for lane in found if lane.marks)


def position(factor: float) -> float:
    """Return where a factor is drawn, in percent of the scale.

    Examples
    --------
    >>> position(1.0), position(0.0), position(1e6)
    (50.0, 0.0, 100.0)
    """
    if factor <= 0:
        return 0.0
    share = math.log(factor) / math.log(FARTHEST) if math.isfinite(factor) else 1.0
    return round(50 + 50 * min(1.0, max(-1.0, share)), 2)


def _marks(entries: Sequence[Entry]) -> tuple[FindingMark, ...]:
    marks = [_mark(entry) for entry in entries if entry.times is not None]
    return tuple(sorted(marks, key=lambda mark: _DRAWN_LAST.index(mark.verdict)))


def _mark(entry: Entry) -> FindingMark:
    assert entry.times is not None  # noqa: S101  (the caller has asked)
    place, *ends = map(position, entry.times)
    return FindingMark(
        verdict=entry.verdict,
        place=place,
        low=min(ends),
        high=max(ends),
        told=f"{entry.id}: {entry.verdict}, {entry.breach.found}, promised {entry.breach.promised}",
        apart=entry.apart,
    )
