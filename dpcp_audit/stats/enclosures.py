"""Enclosures: numbers as balls with rigorous radii, compared without a tolerance.

Inputs are exact: a float is the dyadic rational that it is. A side of a comparison is an exact
number, a ball, or a function that computes a ball at FLINT's current precision; the precision is
raised until the comparison is decided.

FLINT's precision is a global of the process. Everything here sets it through a context manager and
restores it. Another thread that changes it meanwhile costs tightness, never rigour: each operation
encloses its result at whatever precision it runs.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

from flint import arb, ctx, fmpq

from dpcp_audit.proofs import Premise

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Exact: TypeAlias = int | float | Fraction | fmpq
"""A number that is meant exactly as it is written."""
Side: TypeAlias = Exact | arb | Callable[[], arb]
"""A side of a comparison: an exact number, a ball, or what computes one at a precision."""
FIRST_BITS, LAST_BITS = 64, 4096
_END_BITS = 128
_LARGEST = sys.float_info.max


def exact(number: Exact) -> fmpq:
    """Return a finite number as the rational that it is.

    Raises
    ------
    ValueError
        If it is infinite or not a number.

    Examples
    --------
    >>> exact(0.1) == exact(Fraction(1, 10)), exact(0.25)
    (False, 1/4)
    """
    if isinstance(number, fmpq):
        return number
    if isinstance(number, float) and not math.isfinite(number):
        raise ValueError(f"number must be finite, got {number!r}")
    fraction = Fraction(number)
    return fmpq(fraction.numerator, fraction.denominator)


def decimal(number: float) -> fmpq:
    """Return the decimal number that a double was read from, as printed tables mean it.

    Examples
    --------
    >>> decimal(0.1), exact(0.1) == decimal(0.1)
    (1/10, False)
    """
    return exact(Fraction(repr(float(number))))


def ball(number: Exact) -> arb:
    """Return a ball around a number at the current precision; an infinite one is itself."""
    if isinstance(number, float):
        return arb(number)
    return arb(exact(number))


def lower(enclosure: arb) -> float:
    """Return the largest double that is certainly not above anything in the ball.

    Examples
    --------
    >>> from flint import arb
    >>> lower(arb(1) / 3) < 1 / 3 <= upper(arb(1) / 3)
    True
    """
    with ctx.workprec(_END_BITS):
        return 0.0 - upper(-enclosure)


def upper(enclosure: arb) -> float:
    """Return the smallest double that is certainly not below anything in the ball."""
    if not enclosure.is_finite():
        return -math.inf if enclosure <= -math.inf else math.inf
    with ctx.workprec(_END_BITS):
        end = enclosure.upper()
    guess = max(-_LARGEST, min(float(end), _LARGEST))
    while guess > -_LARGEST and arb(math.nextafter(guess, -math.inf)) >= end:
        guess = math.nextafter(guess, -math.inf)
    while not arb(guess) >= end:
        guess = math.nextafter(guess, math.inf)
    return guess


def ends(side: Side) -> tuple[float, float]:
    """Return a lower and an upper double of a number, as close as the precision allows.

    Examples
    --------
    >>> ends(0.5), ends(lambda: arb(2).sqrt())
    ((0.5, 0.5), (1.414213562373095, 1.4142135623730951))
    """
    low, high = -math.inf, math.inf
    for enclosure in _refined(side):
        low, high = max(low, lower(enclosure)), min(high, upper(enclosure))
        if high <= math.nextafter(math.nextafter(low, math.inf), math.inf):
            break  # a ball around a double keeps its two neighbours at any precision
    return low, high


def at_most(says: str, left: Side, right: Side) -> Premise:
    """Return the premise that the left side is at most the right one, decided by enclosures.

    Two exact numbers are compared as rationals, so that they may be equal. What 4096 bits leave
    undecided does not hold.

    Examples
    --------
    >>> at_most("e ≤ 2.7182818284590455", lambda: arb(1).exp(), 2.7182818284590455).holds
    True
    >>> at_most("ε ≤ ε", 0.3, 0.3).holds, at_most("sum", exact(0.1) + exact(0.2), 0.3).holds
    (True, False)
    """
    return Premise(says=says, left=ends(left), right=ends(right), holds=_at_most(left, right))


def all_at_most(says: str, lefts: Sequence[Side], right: Side) -> Premise:
    """Return the premise that the largest of the left sides is at most the right one.

    Examples
    --------
    >>> premise = all_at_most("each ≤ 1", [0.5, fmpq(1, 3), 1], 1)
    >>> premise.holds, premise.left
    (True, (1.0, 1.0))
    """
    return Premise(
        says=says,
        left=ends_of_largest(lefts),
        right=ends(right),
        holds=all(_at_most(left, right) for left in lefts),
    )


def ends_of_largest(sides: Sequence[Side]) -> tuple[float, float]:
    """Return a lower and an upper double of the largest of some numbers.

    Raises
    ------
    ValueError
        If there is none.
    """
    found = [ends(side) for side in sides]
    if not found:
        raise ValueError("sides must hold at least one number, got none")
    return max(low for low, _ in found), max(high for _, high in found)


def _at_most(left: Side, right: Side) -> bool:
    if _rational(left) and _rational(right):
        return exact(left) <= exact(right)
    for one, other in zip(_refined(left), _refined(right), strict=True):
        if one <= other or one > other:
            return one <= other
    return False


def _rational(side: Side) -> TypeGuard[Exact]:
    if isinstance(side, float):
        return math.isfinite(side)
    return isinstance(side, int | Fraction | fmpq)


def _evaluated(side: Side) -> arb:
    if isinstance(side, arb):
        return side
    return side() if callable(side) else ball(side)


def _refined(side: Side) -> Iterator[arb]:
    """Yield balls around a number, at 64, 128, ..., 4096 bits."""
    bits = FIRST_BITS
    while bits <= LAST_BITS:
        with ctx.workprec(bits):
            enclosure = _evaluated(side)
        yield enclosure
        bits *= 2
