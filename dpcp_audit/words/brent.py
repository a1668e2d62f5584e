"""Brent's root and minimum of a function of one number, by ``scipy.optimize``.

SciPy's module is imported when it is called: ``import dpcp_audit`` and ``--help`` stay quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


_STEPS = 500


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
    from scipy.optimize import brentq  # noqa: PLC0415

    return float(brentq(f, low, high, xtol=xtol, maxiter=_STEPS))


def least(f: Callable[[float], float], low: float, high: float, *, xtol: float = 1e-5) -> float:
    """Return the least value of a function between two numbers, as far as the search finds it.

    Examples
    --------
    >>> round(least(lambda x: (x - 1) ** 2 + 3, 0.0, 5.0), 9)
    3.0
    """
    from scipy.optimize import minimize_scalar  # noqa: PLC0415

    found = minimize_scalar(f, bounds=(low, high), method="bounded", options={"xatol": xtol})
    return float(found.fun)
