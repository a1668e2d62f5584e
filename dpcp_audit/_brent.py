"""Brent's root and minimum of a function of one number (R. P. Brent 1973, chapters 4 and 5).

They ask the same points as ``scipy.optimize``'s ``brentq`` and ``minimize_scalar``, whose import
takes longer than a short audit.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

_ROUNDING = 4 * math.ulp(1.0)
_STEPS = 500
_GOLDEN = 0.5 * (3.0 - math.sqrt(5.0))
_HALF_OF_THE_DIGITS = math.sqrt(2.2e-16)


class Point(NamedTuple):
    """A number, and the function's value there."""

    x: float
    y: float

    def of_other_sign(self, other: Point) -> bool:
        """Tell whether the function is 0 in between, if it is continuous."""
        return math.copysign(1, self.y) != math.copysign(1, other.y)


def root(f: Callable[[float], float], low: float, high: float, *, xtol: float = 2e-12) -> float:
    """Return where a continuous function is 0, up to ``xtol`` and rounding.

    Parameters
    ----------
    low, high : float
        Two numbers at which its signs differ.

    Raises
    ------
    ValueError
        If the signs do not differ.

    Examples
    --------
    >>> round(root(lambda x: x * x - 2, 0.0, 2.0), 9)
    1.414213562
    """
    before, best = Point(low, f(low)), Point(high, f(high))
    if before.y == 0:
        return before.x
    if best.y != 0 and not before.of_other_sign(best):
        raise ValueError(f"f must change its sign, got {before.y!r} and {best.y!r}")
    beyond, step, last = before, 0.0, 0.0  # the root lies between best and beyond
    for _ in range(_STEPS):
        if before.y != 0 and before.of_other_sign(best):
            beyond, step = before, best.x - before.x
            last = step
        if abs(beyond.y) < abs(best.y):
            before, best, beyond = best, beyond, best
        close = (xtol + _ROUNDING * abs(best.x)) / 2
        half = (beyond.x - best.x) / 2
        if best.y == 0 or abs(half) < close:
            break
        drawn = abs(last) > close and abs(best.y) < abs(before.y)
        tried = _interpolated(before, best, beyond) if drawn else math.inf
        if 2 * abs(tried) < min(abs(last), 3 * abs(half) - close):
            last, step = step, tried
        else:
            last = step = half
        x = best.x + (step if abs(step) > close else math.copysign(close, half))
        before, best = best, Point(x, f(x))
    return best.x


def _interpolated(before: Point, best: Point, beyond: Point) -> float:
    """Return the step to the root of the secant, or of the inverse parabola through three points.

    Where there is none it is infinite.
    """
    try:
        if before.x == beyond.x:
            return -best.y * (best.x - before.x) / (best.y - before.y)
        first = (before.y - best.y) / (before.x - best.x)
        second = (beyond.y - best.y) / (beyond.x - best.x)
        rise = second * first * (beyond.y - before.y)
        return -best.y * (beyond.y * second - before.y * first) / rise
    except ZeroDivisionError:
        return math.inf


def least(f: Callable[[float], float], low: float, high: float, *, xtol: float = 1e-5) -> float:
    """Return the least value of a function between two numbers, as far as the search finds it.

    Examples
    --------
    >>> round(least(lambda x: (x - 1) ** 2 + 3, 0.0, 5.0), 9)
    3.0
    """
    x = low + _GOLDEN * (high - low)
    best = second = third = Point(x, f(x))
    step = last = 0.0
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        close = _HALF_OF_THE_DIGITS * abs(best.x) + xtol / 3.0
        if abs(best.x - middle) <= 2.0 * close - 0.5 * (high - low):
            break
        up, down = _parabola(best, second, third)
        inside = down * (low - best.x) < up < down * (high - best.x)
        if abs(last) > close and inside and abs(up) < abs(0.5 * down * last):
            last, step = step, up / down
            x = best.x + step
            if min(x - low, high - x) < 2.0 * close:
                step = math.copysign(close, middle - best.x)
        else:
            last = (low if best.x >= middle else high) - best.x
            step = _GOLDEN * last
        size = max(abs(step), close)
        x = best.x + (size if step >= 0 else -size)
        new = Point(x, f(x))
        if new.y <= best.y:
            low, high = (best.x, high) if new.x >= best.x else (low, best.x)
            best, second, third = new, best, second
        else:
            low, high = (new.x, high) if new.x < best.x else (low, new.x)
            if new.y <= second.y or second.x == best.x:
                second, third = new, second
            elif new.y <= third.y or third.x in {best.x, second.x}:
                third = new
    return best.y


def _parabola(best: Point, second: Point, third: Point) -> tuple[float, float]:
    """Return the step from the best point to the vertex of the parabola, as a fraction."""
    one = (best.x - second.x) * (best.y - third.y)
    other = (best.x - third.x) * (best.y - second.y)
    up = (best.x - third.x) * other - (best.x - second.x) * one
    down = 2.0 * (other - one)
    return (-up if down > 0.0 else up), abs(down)
