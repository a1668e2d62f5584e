"""Enclosures: numbers as balls with rigorous radii, and the functions of them that privacy needs.

Inputs are exact: a float is the dyadic rational that it is. A side of a comparison is an exact
number, a ball, or a function that computes a ball at FLINT's current precision; the precision is
raised until the comparison is decided.

FLINT's precision is a global of the process. Everything here sets it through a context manager and
restores it. Another thread that changes it meanwhile costs tightness, never rigour: each operation
encloses its result at whatever precision it runs.

Each computes at FLINT's current precision; hand them to ``enclosures.at_most`` or ``ends`` as a
function without arguments, so that the precision can be raised.

Each tail is a regularised incomplete beta function, computed at FLINT's current precision.
The smaller of two tails is the one computed and the other is its complement, so that both keep
their relative accuracy at any number of trials; of what is below the smallest double, only the
bound of Chernoff is computed.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

from flint import arb, ctx, fmpq

from dpcp_audit.words.results import Premise

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


def normal_cdf(x: arb) -> arb:
    """Return Φ(x), to full relative accuracy in both tails.

    Examples
    --------
    >>> print(normal_cdf(arb(-40)).str(5))
    [3.6559e-350 +/- 6.47e-356]
    """
    return (-x / arb(2).sqrt()).erfc() / 2


def gaussian_delta(shift: Exact | arb, epsilon: Exact | arb) -> arb:
    """Return δ(ε) of N(0, 1) against N(μ, 1), for μ > 0 and any real ε.

    Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ) (Balle and Wang 2018, Theorem 8).

    Examples
    --------
    >>> print(gaussian_delta(1, 2.58).str(5))
    [0.0051037 +/- 1.09e-8]
    """
    mu, at = (x if isinstance(x, arb) else ball(x) for x in (shift, epsilon))
    first = normal_cdf(mu / 2 - at / mu)
    difference = first - at.exp() * normal_cdf(-mu / 2 - at / mu)
    return difference if difference.is_finite() else first * _UNIT


_UNIT = arb(0.5, 0.5)
"""All of [0, 1]."""


def laplace_delta(shifts: Sequence[Exact], epsilon: Exact) -> arb:
    """Return δ(ε) of one or two coordinates of Laplace noise, moved by ``shifts`` noise scales.

    Of two, δ is the mean of the second coordinate's δ(ε − L) over the loss L of the first: an
    atom 1/2 at a and one of e^(−a)/2 at −a, and the density e^((x−a)/2)/4 between them.
    """
    first, *rest = map(exact, shifts)
    at = exact(epsilon)
    if not rest:
        return _one_laplace(at, first)
    (second,) = rest
    atoms = _one_laplace(at - first, second) + _exp(-first) * _one_laplace(at + first, second)
    kinks = sorted(min(max(at + s, -first), first) for s in (-second, second))
    between = sum(
        (_stretch(low, high, at, second) for low, high in pairwise([-first, *kinks, first])), arb(0)
    )
    return atoms / 2 + _exp(-first / 2) * between / 4


def _exp(x: fmpq) -> arb:
    return ball(x).exp()


def _one_laplace(epsilon: fmpq, shift: fmpq) -> arb:
    """Return δ(ε) of one coordinate, for any real ε."""
    if epsilon >= shift:
        return arb(0)
    return -ball(epsilon if epsilon <= -shift else (epsilon - shift) / 2).expm1()


def _stretch(low: fmpq, high: fmpq, epsilon: fmpq, shift: fmpq) -> arb:
    """Integrate e^(x/2)·δ(ε − x) of the second coordinate where one of its formulas holds."""
    middle = (low + high) / 2
    if high <= low or epsilon - middle >= shift:
        return arb(0)
    grown = 2 * (_exp(high / 2) - _exp(low / 2))
    if epsilon - middle <= -shift:
        return grown - 2 * _exp(epsilon) * (_exp(-low / 2) - _exp(-high / 2))
    return grown - _exp((epsilon - shift) / 2) * ball(high - low)


def composed_delta(shift: arb, epsilon: Exact | arb, *, promised: Exact, told: Exact = 0) -> arb:
    """Return δ(ε) of an (ε₀, δ₀)-DP release composed with N(0, 1) against N(μ, 1).

    The worst release of such a promise tells everything with probability δ₀, and is randomised
    response with e^ε₀ otherwise (Kairouz, Oh and Viswanath 2015), so that ε − L is ε − ε₀ with
    probability p = e^ε₀/(1 + e^ε₀), else ε + ε₀.
    """
    at = epsilon if isinstance(epsilon, arb) else ball(epsilon)
    own = ball(promised)
    kept = 1 / (1 + (-own).exp())
    rest = kept * gaussian_delta(shift, at - own) + (1 - kept) * gaussian_delta(shift, at + own)
    return ball(told) + (1 - ball(told)) * rest


def response_keep(epsilon: Exact, k: int) -> arb:
    """Return e^ε/(e^ε + k − 1), the probability that k-ary randomised response keeps a label."""
    return 1 / (1 + (k - 1) * _exp(-exact(epsilon)))


def response_move(epsilon: Exact, k: int) -> arb:
    """Return (k − 1)/(e^ε + k − 1), the probability that k-ary randomised response moves a label.

    To full relative accuracy, also where it is tiny.
    """
    return (k - 1) / (_exp(exact(epsilon)) + (k - 1))


def laplace_renyi(shifts: Sequence[Exact], order: Exact) -> arb:
    """Return D_α of coordinates of Laplace noise, for α > 1 (Mironov 2017, Proposition 6)."""
    alpha = exact(order)
    weight = alpha / (2 * alpha - 1)
    total = arb(0)
    for shift in map(exact, shifts):
        near, far = _exp((alpha - 1) * shift), _exp(-alpha * shift)
        total += (ball(weight) * near + ball(1 - weight) * far).log()
    return total / ball(alpha - 1)


Number: TypeAlias = fmpq | arb
"""A rational, or a ball that holds a real number."""
UNIT = arb(0.5, 0.5)
"""All of [0, 1]: a probability of which nothing is known."""
NEGLIGIBLE = arb(2) ** -1100
"""Less than the smallest positive double."""


def binomial_tails(count: int, trials: int, p: Number) -> tuple[arb, arb]:
    """Enclose P(Binomial(trials, p) < count) and P(Binomial(trials, p) ≥ count).

    Examples
    --------
    >>> below, reached = binomial_tails(2, 2, fmpq(1, 2))
    >>> below.contains(0.75), reached.contains(0.25)
    (True, True)
    """
    if count <= 0:
        return arb(0), arb(1)
    if count > trials:
        return arb(1), arb(0)
    if p * trials > count:
        most = _chernoff(count - 1, trials, p)
        far = most < NEGLIGIBLE
        below = UNIT * most if far else beta_cdf(1 - arb(p), trials - count + 1, count)
        return below, 1 - below
    most = _chernoff(count, trials, p) if p * trials < count else UNIT
    far = most < NEGLIGIBLE
    reached = UNIT * most if far else beta_cdf(p, count, trials - count + 1)
    return 1 - reached, reached


def _chernoff(count: int, trials: int, p: Number) -> arb:
    """Enclose exp(−n·KL(k/n ‖ p)), a bound of the tail that begins at k and leaves the mean out."""
    parts = ((fmpq(count, trials), arb(p)), (fmpq(trials - count, trials), 1 - arb(p)))
    divergence = sum((arb(a) * (a / chance).log() for a, chance in parts if a), arb(0))
    return (-trials * divergence).exp()


def beta_cdf(x: Number, a: arb | int, b: arb | int) -> arb:
    """Enclose I_x(a, b), the distribution function of the Beta(a, b) law, for x in [0, 1].

    The ball is [0, 1] where the precision does not suffice.
    """
    ball = arb(x)
    return _beta_cdf(ball.mid(), ball.rad(), a, b, ctx.prec)


@lru_cache(maxsize=4096)
def _beta_cdf(centre: arb, radius: arb, a: arb | int, b: arb | int, precision: int) -> arb:
    """Enclose I_x(a, b) of a ball, by its exact centre and radius: balls are not equal themselves.

    Variants of one search ask for the same tails, each of which takes milliseconds.
    """
    assert precision == ctx.prec  # noqa: S101  (what is remembered is of this precision)
    found = arb(centre, radius).beta_lower(a, b, regularized=True)
    if not found.is_finite():
        return UNIT
    return found if 0 <= found <= 1 else found.intersection(UNIT)
