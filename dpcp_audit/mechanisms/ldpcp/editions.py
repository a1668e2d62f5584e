"""Variants of LDP-CP: what its two editions print, what is published, and what works."""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from dpcp_audit.stats.binomial_enclosures import Number

_Number = TypeVar("_Number", Fraction, "Number")


class Window(StrEnum):
    """The estimates at which the search stops, for a target coverage c and a width Δ."""

    FINAL = "final"
    """[c, c + Δ]: Algorithms 2 and 3 of the final version."""
    PREPRINT = "preprint"
    """[c − Δ/2, c + Δ/2]: Algorithms 2 and 3 of the preprint."""

    def limits(self, *, alpha: float, width: float, starred: bool) -> tuple[float, float]:
        """Return the lower and upper end of the window.

        The target is 1−α, or 1−α+Δ where ``starred``. ``alpha`` and ``width`` are read as the
        decimals they were written as, so that a coverage of 3/10 meets 1 − 0.7.
        """
        target = 1 - Fraction(repr(float(alpha)))
        bottom, top = self.ends(target, Fraction(repr(float(width))), starred=starred)
        return float(bottom), float(top)

    def ends(self, target: _Number, width: _Number, *, starred: bool) -> tuple[_Number, _Number]:
        """Return the ends of the window around a target 1−α, as exactly as they are given."""
        centre = target + width if starred else target
        bottom = centre - width / 2 if self is Window.PREPRINT else centre
        return bottom, bottom + width


class Debiasing(StrEnum):
    """What LDP-CP-S divides the sum of a block's reports by."""

    CORRECTED = "corrected"
    """The number of users in the block, which makes Z unbiased."""
    PRINTED = "printed"
    """n, the number of all users (Algorithm 3, line 8)."""


class Blocks(StrEnum):
    """Which users LDP-CP-S asks in round j = 1, ..., T, with n′ = ⌊n/T⌋."""

    CORRECTED = "corrected"
    """T disjoint runs that hold all n users; the first n mod T hold n′+1, the others n′."""
    PRINTED = "printed"
    """{j·n′+1, ..., (j+1)·n′} (Algorithm 3, line 5); an index beyond n names nobody."""


class OnMiss(StrEnum):
    """What a search returns when none of its T estimates fell into the window."""

    LAST_MIDPOINT = "last-midpoint"
    """q^(T), as printed, whichever side of the target its estimate lay on."""
    UPPER_END = "upper-end"
    """The upper end of the last bracket: 1, or a point whose estimate was above the window."""


class LabelSearch(StrEnum):
    """How LDP-CP-L's aggregator looks for the threshold."""

    WINDOW = "window"
    """Until an estimate falls into a window of width Δ (Algorithm 2)."""
    NACP = "nacp"
    """Until the interval is small: NACP's public code, see ``NoiseAwareLabels``."""
