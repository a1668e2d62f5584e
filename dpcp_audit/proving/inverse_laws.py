"""Noise made of one uniform draw U by the inverse of its distribution function.

-ln U and -ln(1 - U) are exponential noise of scale 1. The sign of V = U - 1/2 is a fair coin, and
1 - 2|V| is uniform and independent of it, so that sign(V)·ln(1 - 2|V|) is Laplace noise of scale 1.
The negative logarithm of exponential noise is Gumbel noise. A draw that is 0 as a double makes
noise that is infinite for all data.

Reference: Devroye 1986, "Non-uniform random variate generation", section II.2.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from dpcp_audit.proving.distances import Inverse, Noise, Value, is_known
from dpcp_audit.proving.exact_numbers import Surd, exact_of, is_scalar, rational_of

if TYPE_CHECKING:
    from dpcp_audit.proving.reading import Interpreter

_ONE = Surd.of(1)
_NEGATIVE = {"exponential", "gumbel"}
"""Laws of which the negative is followed."""
_FOLDED = Fraction(-2), Fraction(1)
_UNIFORM = {(Fraction(1), Fraction(0)), (Fraction(-1), Fraction(1))}
"""Slopes and offsets of what is uniform on (0, 1): of |U - 1/2|, and of U."""


def of_draw(value: Value) -> Inverse | None:
    """Return a uniform draw, or what is computed of one, in the form that is followed here."""
    if isinstance(value, Noise) and value.law == "uniform":
        return Inverse(value.draw, value.shape, "draw", _ONE, line=value.line)
    return value if isinstance(value, Inverse) else None


def added(name: str, value: Value) -> tuple[str, Value]:
    """Return the operator and operand for a logarithm that is subtracted: noise that is added."""
    one_sided = isinstance(value, Inverse) and value.of in _NEGATIVE and value.slope.sign > 0
    return ("Add", value.noise(value.of, _ONE)) if name == "Sub" and one_sided else (name, value)


def binary(name: str, a: Value, b: Value) -> Value | None:
    """Return an operator's result, or None if it is not on the way to noise."""
    x, y = of_draw(a), of_draw(b)
    if x is not None and y is not None:
        pair = {x.of: x, y.of: y}
        alike = name == "Mult" and (x.draw, x.shape) == (y.draw, y.shape)
        if not alike or pair.keys() != {"sign", "logarithm"} or x.offset or y.offset:
            return None
        return x.noise("laplace", y.slope)
    one, other, left = (y, a, False) if x is None else (x, b, True)
    if one is None or not (is_known(other) and is_scalar(other)):
        return None
    if name in {"Add", "Sub"}:
        return _moved(one, rational_of(other), name == "Add", left=left)
    if name != "Mult" and not (name == "Div" and left):
        return None
    factor = exact_of(other)
    if factor is None or not factor.sign or one.offset:
        return _stretched(one, other, name)
    return _times(one, factor, name)


def _moved(x: Inverse, number: Fraction | None, adds: bool, *, left: bool) -> Inverse | None:  # noqa: FBT001
    """Return a draw, or a distance, plus or minus a number, or a number minus it."""
    if number is None or x.of not in {"draw", "distance"}:
        return None
    if adds or left:
        return replace(x, offset=x.offset + (number if adds else -number))
    return replace(x, slope=x.slope.times(Surd.of(-1)), offset=number - x.offset)


def _stretched(x: Inverse, other: Value, name: str) -> Inverse | None:
    """Return a draw with a number on it times another number."""
    factor = rational_of(other)
    if not factor:
        return None
    factor = factor if name == "Mult" else 1 / factor
    return replace(x, slope=x.slope.times(Surd.of(factor)), offset=x.offset * factor)


def _times(x: Inverse, factor: Surd, name: str) -> Value:
    """Return a multiple: of the negative of one-sided noise that noise, where its sign is right."""
    factor = factor if name == "Mult" else factor.inverse()
    if x.of in _NEGATIVE and x.slope.sign * factor.sign < 0:
        return x.noise(x.of, factor)
    return replace(x, slope=x.slope.times(factor))


def sign(reader: Interpreter, x: Value) -> Value:
    """``np.sign`` of U - 1/2."""
    one = of_draw(x)
    if one is None or not one.centred:
        return NotImplemented
    return replace(one, of="sign", slope=Surd.of(one.slope.sign), offset=Fraction(0))


def copysign(reader: Interpreter, x: Value, y: Value) -> Value:
    """``math.copysign`` of a number above 0, or of the logarithm, and of U - 1/2."""
    one = sign(reader, y)
    if isinstance(x, Inverse) and x.of == "logarithm" and one is not NotImplemented:
        found = binary("Mult", x, one)
        return NotImplemented if found is None else found
    factor = exact_of(x) if is_known(x) and is_scalar(x) else None
    if one is NotImplemented or factor is None or not factor.sign:
        return NotImplemented
    return replace(one, slope=one.slope.times(Surd(1, factor.square)))


def absolute(x: Inverse | Noise) -> Value:
    """Return the distance of a draw from 1/2, from a multiple of U - 1/2."""
    one = of_draw(x)
    if one is None or not one.centred:
        return NotImplemented
    return replace(one, of="distance", slope=Surd(1, one.slope.square), offset=Fraction(0))


def logarithm_of_more(reader: Interpreter, x: Value) -> Value:
    """``np.log1p``."""
    return logarithm(x, plus_one=True)


def logarithm(x: Value, *, plus_one: bool = False) -> Value:
    """``ln x`` or ``ln(1 + x)``, of what is uniform on (0, 1] or is exponential noise."""
    if isinstance(x, Noise) and (x.law, x.scale) == ("exponential", _ONE) and x.alike:
        if plus_one or x.moved:
            return NotImplemented
        return Inverse(x.draw, x.shape, "gumbel", _ONE, line=x.line)
    one = of_draw(x)
    if one is None:
        return NotImplemented
    line = one.slope.rational, one.offset + plus_one
    if one.of == "distance" and line == _FOLDED:
        return replace(one, of="logarithm", slope=_ONE, offset=Fraction(0))
    if one.of == "draw" and line in _UNIFORM:
        return replace(one, of="exponential", slope=_ONE, offset=Fraction(0))
    return NotImplemented
