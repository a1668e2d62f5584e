"""Roots and minima, points at which a condition turns, and isotonic regression.

SciPy's optimisation is imported when it is called: a first verdict is sooner there.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.words.validate import BoolArray, FloatArray, IntArray


_STEPS = 500


def find_root(
    f: Callable[[float], float], low: float, high: float, *, xtol: float = 2e-12
) -> float:
    """Return a root of a continuous function, up to ``xtol`` and rounding.

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
    >>> round(find_root(lambda x: x * x - 2, 0.0, 2.0), 9)
    1.414213562
    """
    from scipy.optimize import brentq  # noqa: PLC0415

    return float(brentq(f, low, high, xtol=xtol, maxiter=_STEPS))


def find_least(
    f: Callable[[float], float], low: float, high: float, *, xtol: float = 1e-5
) -> float:
    """Return the least value of a function between two numbers, as far as the search finds it.

    Examples
    --------
    >>> round(find_least(lambda x: (x - 1) ** 2 + 3, 0.0, 5.0), 9)
    3.0
    """
    from scipy.optimize import minimize_scalar  # noqa: PLC0415

    found = minimize_scalar(f, bounds=(low, high), method="bounded", options={"xatol": xtol})
    return float(found.fun)


class _Turn(NamedTuple):
    """Two neighbouring numbers: the condition fails at the first, and holds at the second."""

    fails: float
    holds: float


def turn(
    condition: Callable[[float], bool],
    fails: float,
    holds: float,
    *,
    steps: int = 200,
    relative: float = 0.0,
) -> _Turn:
    """Bisect between a number at which a condition fails and one at which it holds.

    Parameters
    ----------
    condition : callable
        A condition that turns once between the two points, which may come in either order. It is
        not evaluated at them.
    steps : int
        Halvings at most; it ends anyway where no number lies in between.
    relative : float
        Relative distance of the two at which the search ends, to the larger of 1 and the second.

    Examples
    --------
    >>> round(turn(lambda x: x * x >= 2, 0.0, 2.0).holds, 12)
    1.414213562373
    """
    for _ in range(steps):
        middle = (fails + holds) / 2
        if middle in {fails, holds} or abs(holds - fails) <= relative * max(1.0, abs(holds)):
            break
        fails, holds = (fails, middle) if condition(middle) else (middle, holds)
    return _Turn(fails, holds)


def turn_by_factor(
    condition: Callable[[float], bool], fails: float, holds: float, *, ratio: float
) -> _Turn:
    """Bisect positive numbers by factors, until one is at most ``ratio`` > 1 times the other.

    Examples
    --------
    >>> round(turn_by_factor(lambda x: x * x >= 2e6, 1.0, 1e6, ratio=1.0001).holds)
    1414
    """
    while max(fails, holds) > ratio * min(fails, holds):
        middle = math.sqrt(fails * holds)
        fails, holds = (fails, middle) if condition(middle) else (middle, holds)
    return _Turn(fails, holds)


def turns(
    condition: Callable[[FloatArray], BoolArray],
    fails: FloatArray,
    holds: FloatArray,
    *,
    steps: int,
) -> tuple[FloatArray, FloatArray]:
    """Bisect elementwise, as ``turn`` does for one number; all arrays have one shape."""
    for _ in range(steps):
        middle = (fails + holds) / 2
        if ((middle == fails) | (middle == holds)).all():
            break
        held = condition(middle)
        fails, holds = np.where(held, fails, middle), np.where(held, middle, holds)
    return fails, holds


def fewest(
    condition: Callable[[int], bool], *, at_least: int = 1, most: int = 2**50, share: int = 0
) -> int | None:
    """Return the least whole number at which a condition that rises holds; None if that is large.

    Parameters
    ----------
    at_least, most : int
        The first number to try, and where doubling it ends.
    share : int
        Precision, to 1 in so many, for a condition that is slow to evaluate; 0 asks for the least
        number itself.
    """
    low, high = at_least - 1, at_least
    while not condition(high):
        low, high = high, 2 * high
        if high > most:
            return None
    while high - low > max(1, high // share if share else 1):
        middle = (low + high) // 2
        low, high = (low, middle) if condition(middle) else (middle, high)
    return high


def level_starts(values: FloatArray, weights: FloatArray, *, increasing: bool) -> IntArray:
    """Return the starts of the levels of the least-squares fit (``scipy.optimize``).

    Parameters
    ----------
    values, weights : ndarray of float, shape (n,), n >= 1
        The data to fit, and the weights of the squared residuals, which are positive.
    increasing : bool
        True if the fit rises; else it falls.

    Examples
    --------
    >>> import numpy as np
    >>> level_starts(np.array([1.0, 3.0, 2.0, 4.0]), np.ones(4), increasing=True)
    array([0, 1, 3])
    """
    from scipy.optimize import isotonic_regression  # noqa: PLC0415  (slow to import)

    blocks: IntArray = isotonic_regression(values, weights=weights, increasing=increasing).blocks
    return blocks[:-1]
