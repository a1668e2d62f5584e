"""The bisection that both LDP-CP algorithms share, in the variants of its two editions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.stats.enclosures import Number
    from dpcp_audit.words.arrays import BoolArray, FloatArray, IntArray


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
    """The number by which LDP-CP-S divides the sum of a block's reports."""

    CORRECTED = "corrected"
    """The number of users in the block, which makes Z unbiased."""
    PRINTED = "printed"
    """n, the number of all users (Algorithm 3, line 8)."""


class Blocks(StrEnum):
    """The users whom LDP-CP-S asks in round j = 1, ..., T, with n′ = ⌊n/T⌋."""

    CORRECTED = "corrected"
    """T disjoint runs that hold all n users; the first n mod T hold n′+1, the others n′."""
    PRINTED = "printed"
    """{j·n′+1, ..., (j+1)·n′} (Algorithm 3, line 5); an index beyond n names nobody."""


class OnMiss(StrEnum):
    """The output of a search when none of its T estimates fell into the window."""

    LAST_MIDPOINT = "last-midpoint"
    """q^(T), as printed, whichever side of the target its estimate lay on."""
    UPPER_END = "upper-end"
    """The upper end of the last bracket: 1, or a point whose estimate was above the window."""


class LabelSearch(StrEnum):
    """The search of LDP-CP-L's aggregator for the threshold."""

    WINDOW = "window"
    """Until an estimate falls into a window of width Δ (Algorithm 2)."""
    NACP = "nacp"
    """Until the interval is small: NACP's public code, see ``NoiseAwareLabels``."""


class SearchResult(NamedTuple):
    """Thresholds, and whether no estimate fell into the window; both of shape (runs,)."""

    threshold: FloatArray
    missed: BoolArray


class LDPTrials(NamedTuple):
    """Independent runs on fresh users; each array has shape (trials,)."""

    threshold: FloatArray
    coverage: FloatArray
    missed: BoolArray


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowSearch:
    """Bisection of [0, 1] that stops at the first estimate inside a window.

    LDP-CP paper, Algorithm 2, lines 6 to 14, and Algorithm 3, lines 3 to 13.

    Parameters
    ----------
    alpha : float
        Miscoverage level in (0, 1).
    rounds : int
        T, the largest number of estimates.
    window_width : float
        Δ > 0, in units of coverage.
    window : Window
        The position of the window of width Δ.
    on_miss : OnMiss
        The value to return when no estimate fell into the window.
    starred : bool
        Calibrate at 1−α+Δ in place of 1−α (the paper's L* and S*).
    """

    alpha: float
    rounds: int
    window_width: float
    window: Window = Window.FINAL
    on_miss: OnMiss = OnMiss.LAST_MIDPOINT
    starred: bool = False

    def __post_init__(self) -> None:
        _validate.open_unit(alpha=self.alpha)
        _validate.integer(rounds=self.rounds, at_least=1)
        _validate.positive(window_width=self.window_width)
        _validate.choice(Window, window=self.window)
        _validate.choice(OnMiss, on_miss=self.on_miss)

    @property
    def limits(self) -> tuple[float, float]:
        """The estimates, lowest and highest, at which the search stops."""
        return self.window.limits(alpha=self.alpha, width=self.window_width, starred=self.starred)

    def search(
        self, estimate: Callable[[int, FloatArray, IntArray], FloatArray], *, runs: int
    ) -> SearchResult:
        """Run the bisection in ``runs`` runs side by side.

        Parameters
        ----------
        estimate : callable
            ``estimate(j, q, which)`` returns Z of round j = 0, ..., T−1 at the points ``q``
            of the runs whose indices are ``which``, both of shape (active,): the runs that
            have not stopped.
        runs : int
            Number of runs.
        """
        low, high = np.zeros(runs), np.ones(runs)
        point = np.empty(runs)
        active = np.arange(runs)
        bottom, top = self.limits
        for j in range(self.rounds):
            point[active] = middle = (low[active] + high[active]) / 2
            z = estimate(j, middle, active)
            above, below = z > top, z < bottom
            high[active[above]] = middle[above]
            low[active[below]] = middle[below]
            active = active[above | below]
            if not active.size:
                break
        missed = np.zeros(runs, dtype=np.bool_)
        missed[active] = True
        if self.on_miss is OnMiss.UPPER_END:
            point[missed] = high[missed]
        return SearchResult(point, missed)

    def open_places(self, points: FloatArray, lowest: FloatArray, highest: FloatArray) -> BoolArray:
        """Return at which points the search may ask for an estimate without knowing the answer.

        Parameters
        ----------
        points : ndarray, shape (m,)
            Increasing; an estimate changes at these only, and is 0 before the first.
        lowest, highest : ndarray, shape (m,)
            Limits of the estimate at each point and up to the next.

        Returns
        -------
        ndarray of bool, shape (m,)
        """
        bottom, top = self.limits
        sure = (lowest > top) | (highest < bottom) | ((lowest >= bottom) & (highest <= top))
        return ~sure & asked_places(
            points, lowest < bottom, highest > top, start=0.0, rounds=self.rounds
        )


def asked_places(
    points: FloatArray, below: BoolArray, above: BoolArray, *, start: float, rounds: int
) -> BoolArray:
    """Return at which points a bisection of [start, 1] may ask for an estimate, shape (m,).

    Parameters
    ----------
    points : ndarray, shape (m,)
        Increasing; the estimate changes at these only, and is 0 before the first.
    below, above : ndarray of bool, shape (m,)
        True where the estimate may turn out so low that the search goes on to the right, and so
        high that it goes on to the left.
    """
    below, above = np.append([True], below), np.append([False], above)
    asked = np.zeros(points.size + 1, dtype=np.bool_)
    low, high = np.array([start]), np.ones(1)
    for _ in range(rounds):
        middle = (low + high) / 2
        place = np.searchsorted(points, middle, side="right")
        asked[place] = True
        onward = np.searchsorted(points, low, "right") < np.searchsorted(points, high, "right")
        left, right = onward & above[place], onward & below[place]
        low, high = np.append(low[left], middle[right]), np.append(middle[left], high[right])
    return asked[1:]
