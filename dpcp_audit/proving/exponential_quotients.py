"""Quotients of sums of c·e^r with rational c and r: what randomised responses are written with.

Exponentials of distinct rational numbers are linearly independent over the rationals (Lindemann
and Weierstrass), so that a sum of them is 0 only where each of its coefficients is. Signs are
therefore decided: by the coefficients, or by enclosures of more and more digits.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from flint import arb, ctx

from dpcp_audit.stats.enclosures import ball, upper

if TYPE_CHECKING:
    from collections.abc import Iterable

Terms = tuple[tuple[Fraction, Fraction], ...]
"""Exponents, upwards, each with its coefficient, which is not 0."""
_MOST_TERMS = 64
_STEEPEST = 500
_PRECISIONS = (64, 256, 1024, 4096)
_UNIT: Terms = ((Fraction(0), Fraction(1)),)


def _terms(pairs: Iterable[tuple[Fraction, Fraction]]) -> Terms:
    found: dict[Fraction, Fraction] = defaultdict(Fraction)
    for exponent, coefficient in pairs:
        found[exponent] += coefficient
    kept = tuple(sorted((r, c) for r, c in found.items() if c))
    if len(kept) > _MOST_TERMS or any(abs(r) > _STEEPEST for r, _ in kept):
        raise OverflowError("a chance of too many exponentials")
    return kept


def _product(a: Terms, b: Terms) -> Terms:
    return _terms((r + s, c * d) for r, c in a for s, d in b)


def _ball(terms: Terms) -> arb:
    return sum((ball(c) * ball(r).exp() for r, c in terms), arb(0))


def _sign(terms: Terms) -> int:
    for bits in _PRECISIONS if terms else ():
        with ctx.workprec(bits):
            found = _ball(terms)
            if found > 0 or found < 0:
                return 1 if found > 0 else -1
    if terms:
        raise OverflowError("the sign of a sum of exponentials is not found")
    return 0


@dataclass(frozen=True, slots=True)
class ExponentialQuotient:
    """The real number ``top`` over ``bottom``, whose largest exponent is 0 with coefficient 1.

    Examples
    --------
    >>> e = ExponentialQuotient.of(1, exponent=1)
    >>> one = ExponentialQuotient.of(1)
    >>> keep = e / (one + e)
    >>> (keep / (one - keep)).log_above()
    Fraction(1, 1)
    """

    top: Terms
    bottom: Terms

    @classmethod
    def of(cls, number: Fraction | int, exponent: Fraction | int = 0) -> ExponentialQuotient:
        """Return a rational number times e to a rational number."""
        return cls(_terms([(Fraction(exponent), Fraction(number))]), _UNIT)

    @classmethod
    def _constant(cls, number: Fraction) -> ExponentialQuotient:
        return cls(((Fraction(0), number),) if number else (), _UNIT)

    @classmethod
    def _reduced(cls, top: Terms, bottom: Terms) -> ExponentialQuotient:
        largest, coefficient = bottom[-1]
        scale = ((-largest, 1 / coefficient),)
        return cls(_product(top, scale), _product(bottom, scale))

    def __add__(self, other: ExponentialQuotient) -> ExponentialQuotient:
        """Return the sum."""
        a, b = self.rational, other.rational
        if a is not None and b is not None:
            return self._constant(a + b)
        if self.bottom == other.bottom:
            return ExponentialQuotient(_terms([*self.top, *other.top]), self.bottom)
        top = _terms([*_product(self.top, other.bottom), *_product(other.top, self.bottom)])
        return self._reduced(top, _product(self.bottom, other.bottom))

    def __sub__(self, other: ExponentialQuotient) -> ExponentialQuotient:
        """Return the difference."""
        return self + ExponentialQuotient.of(-1) * other

    def __mul__(self, other: ExponentialQuotient) -> ExponentialQuotient:
        """Return the product."""
        a, b = self.rational, other.rational
        if a is not None and b is not None:
            return self._constant(a * b)
        top, bottom = _product(self.top, other.top), _product(self.bottom, other.bottom)
        return self._reduced(top, bottom)

    def __truediv__(self, other: ExponentialQuotient) -> ExponentialQuotient:
        """Return the quotient by a number that is not 0."""
        a, b = self.rational, other.rational
        if a is not None and b is not None:
            return self._constant(a / b)
        if self.bottom == other.bottom:
            return self._reduced(self.top, other.top)
        return self._reduced(_product(self.top, other.bottom), _product(self.bottom, other.top))

    @property
    def sign(self) -> int:
        """-1, 0 or 1."""
        plain = self.rational
        if plain is not None:
            return (plain > 0) - (plain < 0)
        return _sign(self.top) * _sign(self.bottom)

    def __lt__(self, other: ExponentialQuotient) -> bool:
        """Tell whether the number is below another one."""
        return (self - other).sign < 0

    def __float__(self) -> float:
        """Return a double near the number."""
        with ctx.workprec(_PRECISIONS[1]):
            return float((_ball(self.top) / _ball(self.bottom)).mid())

    @property
    def rational(self) -> Fraction | None:
        """The number where it is rational and written without exponentials, else None."""
        if not self.top:
            return Fraction(0)
        plain = self.bottom == _UNIT and len(self.top) == 1 and not self.top[0][0]
        return self.top[0][1] if plain else None

    @property
    def log(self) -> Fraction | None:
        """The logarithm where it is rational, else None."""
        if not self.top:
            return None
        power = self.top[-1][0] - self.bottom[-1][0]
        shifted = _product(self.bottom, ((power, Fraction(1)),))
        return power if shifted == self.top else None

    def log_above(self) -> Fraction:
        """Return a rational at or above the logarithm of a positive number."""
        exact = self.log
        if exact is not None:
            return exact
        with ctx.workprec(_PRECISIONS[1]):
            return Fraction(upper((_ball(self.top) / _ball(self.bottom)).log()))
