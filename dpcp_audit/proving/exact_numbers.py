"""Exact numbers: doubles that remember the real number they stand for, and sums of exponentials.

A scale such as ``math.sqrt(9 / (2 * 0.4))`` is a double beside an irrational number. Proofs are of
the real numbers: literals are the decimals that they are written as, and what is computed of them
is a square root of a rational as long as it can be, √(45/4) here. Where it cannot, or where
rounding has moved the double away, the number is the double itself.

Randomised responses are written with quotients of sums of c·e^r with rational c and r.
Exponentials of distinct rational numbers are linearly independent over the rationals (Lindemann
and Weierstrass), so that a sum of them is 0 only where each of its coefficients is. Signs are
therefore decided: by the coefficients, or by enclosures of more and more digits.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from flint import arb, ctx

from dpcp_audit.stats.enclosures import ball, upper

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


_LONGEST = 2048
"""Bits of a numerator or denominator beyond which a number is the double itself."""
_APART = 1e-13
"""Relative distance of a double from its real number beyond which rounding is not negligible."""
_STEEPEST = 500
"""Size of an exponent beyond which an exponential stands for itself."""
_LOST = 1e-8
"""The same for 1 less an exponential near 1, whose digits cancel."""


def root(square: Fraction) -> Fraction | None:
    """Return the square root of a rational where it is rational, else None."""
    top, bottom = math.isqrt(square.numerator), math.isqrt(square.denominator)
    if top * top == square.numerator and bottom * bottom == square.denominator:
        return Fraction(top, bottom)
    return None


def root_above(square: Fraction) -> Fraction:
    """Return a rational at or above the square root, within a relative 2^-60.

    Examples
    --------
    >>> root_above(Fraction(9, 4)), root_above(Fraction(2)) ** 2 > 2
    (Fraction(3, 2), True)
    """
    found = root(square)
    if found is not None:
        return found
    shift = max(0, 128 - square.numerator.bit_length() + square.denominator.bit_length())
    scaled = (square.numerator << (2 * shift)) // square.denominator
    return Fraction(math.isqrt(scaled) + 1, 1 << shift)


@dataclass(frozen=True, slots=True)
class Surd:
    """A real number sign·√square.

    Parameters
    ----------
    sign : int
        -1, 0 or 1.
    square : Fraction
        The number's square.
    """

    sign: int
    square: Fraction

    @classmethod
    def of(cls, number: Fraction | int) -> Surd:
        """Return a rational number."""
        value = Fraction(number)
        return cls((value > 0) - (value < 0), value * value)

    def __float__(self) -> float:
        try:
            return self.sign * math.sqrt(self.square)
        except OverflowError:
            return self.sign * math.inf

    @property
    def rational(self) -> Fraction | None:
        """The number where it is rational, else None."""
        found = root(self.square)
        return None if found is None else self.sign * found

    @property
    def size_above(self) -> Fraction:
        """A rational at or above the absolute value."""
        return root_above(self.square)

    def times(self, other: Surd) -> Surd:
        """Return the product."""
        return Surd(self.sign * other.sign, self.square * other.square)

    def inverse(self) -> Surd:
        """Return 1 over the number, which must not be 0."""
        return Surd(self.sign, 1 / self.square)

    def plus(self, other: Surd) -> Surd | None:
        """Return the sum where it is a square root of a rational again, else None."""
        if not self.sign or not other.sign:
            return self if self.sign else other
        ratio = root(other.square / self.square)
        if ratio is None:
            return None
        factor = Surd.of(1 + self.sign * other.sign * ratio)
        return self.times(factor)

    def power(self, exponent: Surd) -> Surd | None:
        """Return the number to a power that is a whole number or a half, else None."""
        value = exponent.rational
        if value is None or abs(value) > 64 or (value < 0 and not self.sign):
            return None
        if value.denominator == 1:
            whole = int(value)
            return Surd(self.sign if whole % 2 else abs(self.sign), self.square**whole)
        base = self.rational
        if value.denominator == 2 and base is not None and base > 0:
            return Surd(1, base**value.numerator)
        return None


class Real(float):
    """A double with the real number that it stands for.

    ``form`` is that number where exponentials of rational numbers are in it, ``exact`` then the
    double; so it is where ``logarithm`` is (a, b, r), of a + b·ln r with rational numbers.
    ``of_numpy`` tells whether it is NumPy's kind of double, whose type and comparisons differ.
    """

    __slots__ = ("exact", "form", "logarithm", "of_numpy")
    exact: Surd
    of_numpy: bool
    logarithm: tuple[Fraction, Fraction, Fraction] | None
    form: ExponentialQuotient | None

    def __new__(cls, value: float | np.floating[Any], exact: Surd) -> Self:
        """Make a double of this value."""
        made = super().__new__(cls, value)
        made.of_numpy = isinstance(value, np.floating)
        made.exact, made.form, made.logarithm = exact, None, None
        return made


class RealArray(np.ndarray[Any, Any]):
    """Doubles with the rational numbers that they stand for, or with their logarithms."""

    exact: tuple[Fraction, ...] | None
    logs: tuple[Fraction, ...] | None

    def __array_finalize__(self, source: Any) -> None:
        """Forget the numbers: a slice or a result stands for itself."""
        self.exact, self.logs = None, None


_MOST_ENTRIES = 20_000


def _real_array(value: Any, *, exact: Any = None, logs: Any = None) -> Any:
    found = value.view(RealArray)
    found.exact, found.logs = exact, logs
    found.flags.writeable = False
    return found


def numbers_of(value: Any) -> tuple[Fraction, ...] | None:
    """Return the rational numbers of a known number or vector; None where one is not rational."""
    if isinstance(value, RealArray) and value.exact is not None:
        return value.exact
    vector = isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "iuf"
    if not vector and not is_scalar(value):
        return None
    if vector and value.size > _MOST_ENTRIES:
        return None
    exacts = [exact_of(each) for each in (value.tolist() if vector else [value])]
    found = tuple(each.rational for each in exacts if each is not None)
    return found if len(found) == len(exacts) and None not in found else None  # type: ignore[return-value]


def logs_of(value: Any) -> tuple[Fraction, ...] | None:
    """Return the logarithms of a known number or vector, where they are known to be rational."""
    if isinstance(value, RealArray):
        return value.logs
    log = value.form.log if isinstance(value, Real) and value.form is not None else None
    return None if log is None else (log,)


def form_of(value: Any) -> ExponentialQuotient | None:
    """Return a known number as a quotient of sums of exponentials; None where it is none."""
    if isinstance(value, Real) and value.form is not None:
        return value.form
    rational = rational_of(value)
    return None if rational is None else ExponentialQuotient.of(rational)


def is_scalar(value: object) -> bool:
    """Return True if a value is one known real number."""
    return isinstance(value, int | float | np.integer | np.floating | np.bool_)


def exact_of(value: Any) -> Surd | None:
    """Return the real number of a known scalar; None of anything else, of infinities and NaN."""
    if isinstance(value, Real):
        return value.exact
    if isinstance(value, int | np.integer | np.bool_):
        return Surd.of(int(value))
    if isinstance(value, float | np.floating) and math.isfinite(value):
        return Surd.of(Fraction(repr(float(value))))
    return None


def rational_of(value: Any) -> Fraction | None:
    """Return a known number where it is rational; None of anything else."""
    exact = exact_of(value)
    return None if exact is None else exact.rational


def _near(value: float, exact: Surd) -> bool:
    return abs(float(exact) - value) <= _APART * abs(value)


def _short(exact: Surd) -> bool:
    square = exact.square
    return max(square.numerator.bit_length(), square.denominator.bit_length()) <= _LONGEST


def remember(value: Any, exact: Surd | None) -> Any:
    """Return a computed float with its real number, where the two are the same but for rounding."""
    if not isinstance(value, float | np.floating) or exact is None:
        return value
    if not math.isfinite(value) or not _short(exact) or not _near(float(value), exact):
        return value
    return Real(value, exact)


def _quotient(a: Surd, b: Surd) -> Surd | None:
    return a.times(b.inverse()) if b.sign else None


_EXACT: dict[str, Callable[[Surd, Surd], Surd | None]] = {
    "Add": Surd.plus,
    "Sub": lambda a, b: a.plus(Surd(-b.sign, b.square)),
    "Mult": Surd.times,
    "Div": _quotient,
    "Pow": Surd.power,
}


_RATIONAL: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "Add": Fraction.__add__,
    "Sub": Fraction.__sub__,
    "Mult": Fraction.__mul__,
    "Div": Fraction.__truediv__,
}


def _combine_arrays(operator: str, value: Any, left: Any, right: Any) -> Any:
    """Return a computed vector with its rational numbers, entry by entry."""
    a, b = numbers_of(left), numbers_of(right)
    if operator not in _RATIONAL or a is None or b is None or (operator == "Div" and 0 in b):
        return value
    pairs = zip(a * (value.size // len(a)), b * (value.size // len(b)), strict=True)
    exact = tuple(_RATIONAL[operator](x, y) for x, y in pairs)
    near = all(abs(float(e) - v) <= _APART * abs(v) for e, v in zip(exact, value, strict=True))
    return _real_array(value, exact=exact) if near else value


def apply_to_array(name: str, value: Any, argument: Any) -> Any:
    """Return a known vector's negative, absolute value or exponential, with its real numbers."""
    numbers = numbers_of(argument)
    if numbers is None or not isinstance(value, np.ndarray) or value.dtype.kind != "f":
        return value
    if name == "exp":
        return _real_array(value, logs=numbers)
    change = abs if name == "abs" else Fraction.__neg__
    return _real_array(value, exact=tuple(change(each) for each in numbers))


def combine(operator: str, value: Any, left: Any, right: Any) -> Any:
    """Return the computed ``value`` of two known numbers, with its real number where it has one."""
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind == "f" and value.size:
        return _combine_arrays(operator, value, left, right)
    if operator not in _EXACT or not isinstance(value, float | np.floating):
        return value
    if not is_scalar(left) or not is_scalar(right):
        return value
    a, b = exact_of(left), exact_of(right)
    logarithm = _logarithm(operator, left, right)
    if logarithm is not None:
        return with_logarithm(value, logarithm)
    found = value if a is None or b is None else remember(value, _EXACT[operator](a, b))
    if not any(isinstance(each, Real) and each.form is not None for each in (left, right)):
        return found
    near = _LOST if operator == "Sub" else _APART
    return _with_form(found, _form(operator, form_of(left), form_of(right)), near)


def _logarithm(operator: str, left: Any, right: Any) -> tuple[Fraction, Fraction, Fraction] | None:
    """Return the result of an operator on a number with a logarithm and a rational one."""
    one, other = (getattr(each, "logarithm", None) for each in (left, right))
    if (one is None) is (other is None) or operator not in _RATIONAL:
        return None
    apply, number = _RATIONAL[operator], rational_of(left if one is None else right)
    if number is None or (operator == "Div" and (one is None or not number)):
        return None
    a, b, r = one or other  # type: ignore[misc]
    if operator in {"Mult", "Div"}:
        return apply(a, number), apply(b, number), r
    if one is not None:
        return apply(a, number), b, r
    return apply(number, a), (-b if operator == "Sub" else b), r


def with_logarithm(value: Any, logarithm: tuple[Fraction, Fraction, Fraction]) -> Any:
    """Return a computed float with the a + b·ln r that it stands for, where the two are near."""
    a, b, r = logarithm
    with ctx.workprec(_PRECISIONS[1]):
        exact = float((ball(a) + ball(b) * ball(r).log()).mid())
    if not abs(exact - value) <= _APART * abs(value):
        return value
    found = Real(value, Surd.of(Fraction(repr(float(value)))))
    found.logarithm = logarithm
    return found


def _form(
    operator: str, a: ExponentialQuotient | None, b: ExponentialQuotient | None
) -> ExponentialQuotient | None:
    """Return the result of an operator on two quotients of sums of exponentials."""
    if a is None or b is None:
        return None
    try:
        if operator == "Pow":
            log, power = a.log, b.rational
            return None if log is None or power is None else ExponentialQuotient.of(1, log * power)
        if operator == "Div":
            return a / b if b.top else None
        return {"Add": a.__add__, "Sub": a.__sub__, "Mult": a.__mul__}[operator](b)
    except OverflowError:
        return None


def _with_form(value: Any, form: ExponentialQuotient | None, near: float = _APART) -> Any:
    """Return a computed float with the real number that it stands for, where the two are near."""
    if form is None or abs(float(form) - value) > near * abs(value):
        return value
    found = Real(value, Surd.of(Fraction(repr(float(value)))))
    found.of_numpy = value.of_numpy if isinstance(value, Real) else found.of_numpy
    found.form = form
    return found


def exponential(value: Any, argument: Any, less: int = 0) -> Any:
    """Return a computed exponential, less a whole number, with its real number."""
    exact = exact_of(argument)
    log = None if exact is None else exact.rational
    if log is None or not 0 < value < math.inf or abs(log) > _STEEPEST:
        return value
    form = ExponentialQuotient.of(1, log) - ExponentialQuotient.of(less)
    return _with_form(value, form)


def as_numpy(value: Any) -> Any:
    """Return a known number as NumPy's arrays hold it, with the number that it stands for."""
    found: Any = np.asarray(plain(value))[()]
    if not isinstance(value, Real):
        return found
    kept = Real(found, value.exact)
    kept.form, kept.logarithm = value.form, value.logarithm
    return kept


@dataclass(frozen=True, slots=True)
class Affine:
    """A double as a multiple of an unknown one and a number, off by at most ``error``.

    Parameters
    ----------
    base : int
        The name of the unknown double; 0 where ``factor`` is 0.
    """

    base: int
    factor: Fraction
    offset: Fraction
    error: Fraction = Fraction(0)

    @classmethod
    def of_known(cls, value: Any) -> Affine | None:
        """Return a known finite number as a multiple of none."""
        exact = rational_of(value)
        if exact is None:
            return None
        return cls(0, Fraction(0), exact, abs(exact - Fraction(float(plain(value)))))

    def plus(self, other: Affine, sign: int = 1) -> Affine | None:
        """Return the sum, or the difference, of two multiples of one double."""
        if self.factor and other.factor and self.base != other.base:
            return None
        factor = self.factor + sign * other.factor
        base = (self.base or other.base) if factor else 0
        return Affine(base, factor, self.offset + sign * other.offset, self.error + other.error)

    def times(self, number: Fraction) -> Affine:
        """Return the product with a number that is not 0."""
        factor, offset = self.factor * number, self.offset * number
        return Affine(self.base, factor, offset, self.error * abs(number))


class OutsideList(tuple[Any, ...]):
    """The entries of a list from outside of the function, which must not be changed there."""

    __slots__ = ()


def plain(value: Any) -> Any:
    """Return a value without the real numbers that its doubles stand for."""
    if isinstance(value, Real):
        return np.float64(value) if value.of_numpy else float(value)
    if isinstance(value, RealArray):
        return value.view(np.ndarray)
    if type(value) is OutsideList:
        return [plain(each) for each in value]
    if type(value) in {tuple, list}:
        return type(value)(plain(each) for each in value)
    return value


def frozen(value: Any) -> Any:
    """Return a computed value; what arrays it holds cannot be changed in place any more."""
    for each in value if isinstance(value, tuple | list) else (value,):
        if isinstance(each, np.ndarray):
            each.flags.writeable = False
    return value


Terms = tuple[tuple[Fraction, Fraction], ...]
"""Exponents, upwards, each with its coefficient, which is not 0."""
_MOST_TERMS = 64
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
        """Return True if the number is below another one."""
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
