"""A number that remembers its noise: ``offset + Σ coefficient·Z`` over standard draws Z.

Sums with data and multiples keep that form. A comparison is an observation of one bit. Whatever
needs the number itself (``float``, ``int``, formatting, hashing, a function of C code) reads it,
which is an observation of its value: nothing is dropped silently.

Some draws follow from others, by sums whose values were read, and by identities of laws. A total
that is read first and its parts later, shares of it, deviations from a mean: each value is one
equation of the draws. They are kept reduced by row operations that keep the determinant: the draws
that they settle are known at once, with the unit in which their density is taken, and those that
are left share as few draws as possible.

−log U is exponential, and −log of that is Gumbel. The size of a symmetric uniform draw and its sign
are independent, and a fair sign times an exponential draw is Laplace. √(−2 log U) times the cosine
of a uniform angle is normal, and independent of that times the sine (Box and Muller 1958). A draw
that another was made of cannot be used again.
"""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownParameterType=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

import math
import numbers
import operator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

import numpy as np

from dpcp_audit.tracing.draws import (
    EXPONENTIAL,
    GUMBEL,
    LAPLACE,
    NORMAL,
    UNIFORM,
    Ordering,
    counted_law,
    scipy_law,
)
from dpcp_audit.words.values import is_list

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpcp_audit.tracing.draws import Line, NoiseDraw, NoiseLaw


Terms = dict["NoiseDraw", float]
"""Coefficients of standard draws."""


class _NumberPath(Protocol):
    """The path that a traced number belongs to, to which draws can be added."""

    live: ClassVar[bool]
    values: bool
    closed: bool
    halves: dict[NoiseDraw, tuple[NoiseDraw, NoiseDraw]]
    turns: dict[NoiseDraw, Turn]

    def new_draw(
        self, law: NoiseLaw | None, name: str, line: Line, standard: float = ..., /
    ) -> NoiseDraw:
        """Add a draw, with its Z where that is known."""
        ...

    def read(self, number: Traced, /) -> Any:
        """Observe the number's value."""
        ...

    def compare(self, left: Traced, how: Ordering, right: Any, /) -> Any:
        """Observe a comparison."""
        ...

    def ufunc(self, ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: Any, /) -> Any:
        """Apply a ufunc of NumPy to numbers some of which are traced."""
        ...

    def array_function(self, function: Any, args: Any, kwargs: Any, /) -> Any:
        """Apply a function of NumPy to arguments some of which are traced."""
        ...


@dataclass(slots=True, eq=False)
class Turn:
    """The cosine and the sine of a uniform angle, and the normal draws that they are made into.

    Parameters
    ----------
    angle : tuple of float
        Offset and coefficient of the uniform draw.
    waves : tuple of NoiseDraw
        Cosine and sine, which are not independent: once both are asked for, neither is observed.
    radius : NoiseDraw or None
        The draw that they were multiplied by.
    normals : tuple of NoiseDraw
        The products.
    """

    angle: tuple[float, float]
    waves: tuple[NoiseDraw, NoiseDraw]
    radius: NoiseDraw | None = None
    normals: tuple[NoiseDraw, ...] = ()


_REAL = frozenset({int, float, bool, np.float64, np.int64, np.bool_})
_KINDS = (int, float, np.integer, np.floating, np.bool_)


def is_plain(value: object) -> bool:
    """Return True if a value is a real number of Python or NumPy, or a boolean."""
    return type(value) in _REAL or isinstance(value, _KINDS)


def _comparing(how: Ordering) -> Callable[[Any, Any], Any]:
    def compare(self: Traced, other: Any) -> Any:
        if not isinstance(other, Traced) and not is_plain(other):
            return NotImplemented
        return self.path.compare(self, how, other)

    return compare


def _reading_by(function: Callable[..., Any]) -> Callable[..., Any]:
    def apply(self: Traced, *others: Any) -> Any:
        return function(self.read(), *others)

    return apply


class Traced:
    """A traced number.

    Parameters
    ----------
    path : _NumberPath
        The run that it belongs to.
    value : float or int
        The value that an untraced run would hold here, to the last bit; NaN where the run is a
        replay.
    offset : float
        The part without noise.
    terms : dict
        The standard draws with their coefficients; never empty.
    pure : bool
        True if nothing has been added to the noise.
    """

    __slots__ = ("offset", "path", "pure", "terms", "value")

    def __init__(
        self, path: _NumberPath, value: Any, offset: float, terms: Terms, *, pure: bool = False
    ) -> None:
        self.path = path
        self.value = value
        self.offset = offset
        self.terms = terms
        self.pure = pure

    def read(self) -> Any:
        """Observe the value and return it."""
        return self.path.read(self)

    def _shifted(self, value: Any, other: Any, sign: float) -> Any:
        """Return self + sign·other, of the given value."""
        if isinstance(other, Traced):
            terms = dict(self.terms)
            for draw, coefficient in other.terms.items():
                terms[draw] = terms.get(draw, 0.0) + sign * coefficient
            return self._made(value, self.offset + sign * other.offset, terms)
        number = float(other)
        if not math.isfinite(number):
            return type(value)(sign * number) if isinstance(value, float) else sign * number
        return Traced(self.path, value, self.offset + sign * number, self.terms)

    def _scaled(self, value: Any, factor: float) -> Any:
        if not math.isfinite(factor):
            return operator.mul(self.read(), factor)
        terms = {draw: factor * each for draw, each in self.terms.items()}
        return self._made(value, factor * self.offset, terms, pure=self.pure)

    def _made(self, value: Any, offset: float, terms: Terms, *, pure: bool = False) -> Any:
        left = {draw: each for draw, each in terms.items() if each != 0.0}
        if not left:
            return value if value == value else offset  # noqa: PLR0124  (NaN in a replay)
        return Traced(self.path, value, offset, left, pure=pure)

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Traced):
            return self._shifted(self.value + other.value, other, 1.0)
        return self._shifted(self.value + other, other, 1.0) if is_plain(other) else NotImplemented

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, Traced):
            return self._shifted(self.value - other.value, other, -1.0)
        return self._shifted(self.value - other, other, -1.0) if is_plain(other) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        if not is_plain(other):
            return NotImplemented
        return (-self)._shifted(other - self.value, other, 1.0)

    def __neg__(self) -> Any:
        return self._scaled(-self.value, -1.0)

    def __pos__(self) -> Any:
        return self

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Traced):
            found = product(self, other)
            return self * other.read() if found is None else found
        if not is_plain(other):
            return NotImplemented
        return self._scaled(self.value * other, float(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Traced):
            return self / other.read()
        if not is_plain(other):
            return NotImplemented
        if other == 0 or not math.isfinite(other):
            return self.read() / other
        value = self.value / other
        terms = {draw: each / float(other) for draw, each in self.terms.items()}
        return self._made(value, self.offset / float(other), terms, pure=self.pure)

    def __rtruediv__(self, other: Any) -> Any:
        return other / self.read()

    def __abs__(self) -> Any:
        found = made("absolute", self)
        if found is not None:
            return found
        return -self if self < 0 else self

    __lt__ = _comparing(Ordering.LESS)
    __le__ = _comparing(Ordering.LESS_EQUAL)
    __gt__ = _comparing(Ordering.GREATER)
    __ge__ = _comparing(Ordering.GREATER_EQUAL)
    __eq__ = _comparing(Ordering.EQUAL)
    __ne__ = _comparing(Ordering.NOT_EQUAL)

    def __bool__(self) -> bool:
        return bool(self.path.compare(self, Ordering.NOT_EQUAL, 0))

    __hash__ = _reading_by(hash)

    def __copy__(self) -> Traced:
        return self

    def __deepcopy__(self, memory: Any) -> Traced:
        return self

    def __reduce__(self) -> Any:
        value = self.read()  # of the type that it has, which a replay's NaN has not
        return type(value), (value,)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return self.path.ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return self.path.array_function(func, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute that NumPy's numbers have too; functions of the value read it."""
        if name.startswith("_"):
            raise AttributeError(name)
        if name in _ITSELF:
            return partial(_itself, self)
        if name in _ELEMENTWISE:
            return partial(_applied, getattr(np, name), self)
        if name == "dtype" or not hasattr(np.float64, name):
            raise AttributeError(name)
        return getattr(np.float64(self.read()), name)


class WholeArray:
    """An array of noisy numbers that is one object."""

    __slots__ = ()

    def read(self) -> Any:
        """Observe all values and return them."""
        raise NotImplementedError

    def objects(self) -> Any:
        """Return an array of objects."""
        raise NotImplementedError

    def ufunc(self, ufunc: Any, inputs: tuple[Any, ...]) -> Any:
        """Apply a function of NumPy; ``NotImplemented`` where only objects can."""
        raise NotImplementedError

    def total(self) -> Any:
        """Return the sum of all entries; ``NotImplemented`` where only objects can."""
        raise NotImplementedError

    def chosen(self, condition: Any, first: Any, other: Any) -> Any:
        """Return the entries of one array where a condition holds, and of another elsewhere."""
        raise NotImplementedError

    def moved(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Apply a function that only moves entries."""
        raise NotImplementedError

    def __setitem__(self, key: Any, value: Any) -> None:
        raise NotImplementedError


def _itself(number: Traced, *_: Any) -> Traced:
    return number


def _applied(ufunc: Any, number: Traced) -> Any:
    return ufunc(number.read())


def _reading(function: Callable[..., Any]) -> Callable[..., Any]:
    def forward(self: Traced, other: Any) -> Any:
        return function(self.read(), other.read() if isinstance(other, Traced) else other)

    return forward


def _reflected(function: Callable[..., Any]) -> Callable[..., Any]:
    def backward(self: Traced, other: Any) -> Any:
        return function(other, self.read())

    return backward


for _name in ("mod", "floordiv", "pow", "lshift", "rshift", "and", "or", "xor"):
    _plain = getattr(operator, f"__{_name}__")
    setattr(Traced, f"__{_name}__", _reading(_plain))
    setattr(Traced, f"__r{_name}__", _reflected(_plain))
setattr(Traced, "__divmod__", _reading(divmod))  # noqa: B010  (as above)
setattr(Traced, "__rdivmod__", _reflected(divmod))  # noqa: B010
for _plain in (float, int, complex, round, str, repr, format, operator.index):
    setattr(Traced, f"__{_plain.__name__}__", _reading_by(_plain))
for _plain in (math.trunc, math.floor, math.ceil):
    setattr(Traced, f"__{_plain.__name__}__", _reading_by(_plain))

_ITSELF = frozenset({"item", "copy", "conjugate", "squeeze"})
_ELEMENTWISE = frozenset(
    name
    for name in dir(np)
    if isinstance(ufunc := getattr(np, name), np.ufunc) and ufunc.nin == ufunc.nout == 1
)
"""Methods that NumPy calls on the elements of an array of objects."""
numbers.Real.register(Traced)


def as_float(number: Traced) -> Traced:
    """Return a number that an untraced run holds as a float."""
    return Traced(number.path, float(number.value), number.offset, number.terms, pure=number.pure)


def values_of(value: Any) -> Any:
    """Return plain data in place of traced data: the values are read."""
    if isinstance(value, Traced | WholeArray):
        return value.read()
    if isinstance(value, np.ndarray):
        if value.dtype != object:
            return value.view(np.ndarray)
        plain = [values_of(each) for each in value.ravel().tolist()]
        return np.array(plain).reshape(value.shape) if plain else np.zeros(value.shape)
    if is_list(value) or isinstance(value, tuple):
        return type(value)(values_of(each) for each in cast("list[Any]", value))
    return value


def traced_in(value: Any) -> Iterator[Traced]:
    """Yield the traced numbers in arrays, lists and tuples."""
    if isinstance(value, Traced):
        yield value
    elif isinstance(value, WholeArray):
        yield from traced_in(value.objects())
    elif isinstance(value, np.ndarray):
        if value.dtype == object:
            yield from traced_in(value.ravel().tolist())
    elif isinstance(value, list | tuple):
        for each in cast("list[Any]", value):
            yield from traced_in(each)


def values_in(kwargs: Any) -> dict[str, Any]:
    """Return keyword arguments with the values of those that are traced, read."""
    return {key: values_of(value) for key, value in kwargs.items()}


def is_discrete(number: Traced) -> bool:
    """Return True if a number has a draw of a discrete law."""
    return any(draw.law is not None and draw.law.discrete for draw in number.terms)


def folded(number: Traced) -> tuple[float, Terms]:
    """Return the offset and the terms of a number, with the draws that are known in the offset."""
    offset, terms = number.offset, number.terms
    if all(draw.point is None for draw in terms):
        return offset, terms
    left: Terms = {}
    for draw, coefficient in terms.items():
        if draw.point is None:
            left[draw] = coefficient
        else:
            offset += coefficient * draw.point
    return offset, left


COIN = counted_law("choice", (0.5, 0.5))
"""The law of a fair coin, 0 or 1."""
_RADIUS, _ARCSINE = scipy_law("rayleigh"), scipy_law("arcsine")
_WAVES: dict[str, Callable[[float], float]] = {"cos": math.cos, "sin": math.sin}
_SLACK = 1e-12


def made(name: str, number: Traced) -> Traced | None:
    """Return a function of a number as a number with a draw of its own; None where it has none.

    Parameters
    ----------
    name : str
        "log", "log1p", "sqrt", "absolute", "sign", "cos" or "sin".
    """
    if number.path.closed:
        return None
    if name in _WAVES:
        return _wave(number, name)
    if name in {"absolute", "sign"}:
        return _half(number, name)
    return _newly_made(name, number)


def _newly_made(name: str, number: Traced) -> Traced | None:
    draw = _single(number)
    return None if draw is None or number.path.values else _MADE[name](number, draw)


def product(first: Traced, second: Traced) -> Traced | None:
    """Return a product that has a draw of its own: a Laplace or normal one; None of others."""
    path = first.path
    if path.closed:
        return None
    for sign, size in ((first, second), (second, first)):
        if normal := _turned(sign, size):
            return normal
        coin, draw = _single(sign), _single(size, law=EXPONENTIAL)
        if coin is None or draw is None or coin.law is not COIN or path.values:
            continue
        if size.offset == 0 and 2 * sign.offset == -sign.terms[coin]:
            scale = abs(sign.offset * size.terms[draw])
            value = first.value * second.value
            coin.settled = True
            new = _new(path, LAPLACE, draw, value / scale)
            return Traced(path, value, 0.0, {new: scale}, pure=True)
    return None


def _single(number: Traced, law: NoiseLaw | None = None) -> NoiseDraw | None:
    """Return the only draw of a number, of which nothing has been seen or made."""
    if len(number.terms) != 1:
        return None
    draw = next(iter(number.terms))
    seen = draw.settled or not _is_unseen(draw)
    return None if seen or (law is not None and draw.law is not law) else draw


def _is_unseen(draw: NoiseDraw) -> bool:
    return draw.point is None and not draw.joined and draw.region.whole


def _new(path: _NumberPath, law: NoiseLaw, draw: NoiseDraw, standard: float) -> NoiseDraw:
    draw.settled = True
    return path.new_draw(law, draw.name, draw.line, standard)


def _log(number: Traced, draw: NoiseDraw) -> Traced | None:
    """Return log of a number that is uniform from 0, or exponential."""
    law: NoiseLaw
    first, width = number.offset, number.terms[draw]
    ends = sorted((first, first + width))
    if draw.law is UNIFORM and abs(ends[0]) <= _SLACK * ends[1]:
        law, offset = EXPONENTIAL, math.log(ends[1])
    elif draw.law is EXPONENTIAL and first == 0 and width > 0:
        law, offset = GUMBEL, math.log(width)
    else:
        return None
    path, value = number.path, math.log(number.value) if number.value > 0 else math.nan
    return Traced(path, value, offset, {_new(path, law, draw, offset - value): -1.0}, pure=True)


def _sqrt(number: Traced, draw: NoiseDraw) -> Traced | None:
    """Return the root of an exponential number."""
    if draw.law is not EXPONENTIAL or number.offset or number.terms[draw] <= 0:
        return None
    value, scale = math.sqrt(number.value), math.sqrt(number.terms[draw] / 2)
    root = _new(number.path, _RADIUS, draw, value / scale)
    return Traced(number.path, value, 0.0, {root: scale}, pure=True)


def _wave(number: Traced, name: str) -> Traced | None:
    """Return the cosine or the sine of a number that is a whole turn of a uniform draw."""
    path, draw = number.path, next(iter(number.terms))
    angle = number.offset, number.terms[draw]
    if draw not in path.turns:
        whole = math.isclose(abs(angle[1]), 2 * math.pi, rel_tol=_SLACK)
        if path.values or not whole or _single(number, law=UNIFORM) is None:
            return None
        draw.settled = True
        first, second = (
            path.new_draw(_ARCSINE, draw.name, draw.line, (1 + wave(number.value)) / 2)
            for wave in _WAVES.values()
        )
        (first if name == "sin" else second).settled = True
        path.turns[draw] = Turn(angle, (first, second))
    turn = path.turns[draw]
    if turn.angle != angle:
        return None
    asked, other = turn.waves if name == "cos" else turn.waves[::-1]
    other.settled |= asked.settled
    return Traced(path, _WAVES[name](number.value), -1.0, {asked: 2.0}, pure=True)


def _turned(size: Traced, wave: Traced) -> Traced | None:
    """Return the product of a radius and a wave of an independent angle, a normal number."""
    path, radius, own = size.path, next(iter(size.terms)), next(iter(wave.terms))
    if radius.law is not _RADIUS or own.law is not _ARCSINE or size.offset:
        return None
    turn = next(each for each in path.turns.values() if own in each.waves)
    if 2 * wave.offset != -wave.terms[own] or len(size.terms) + len(wave.terms) > 2:
        return None
    if turn.radius is None:
        if _single(size) is None or not all(_is_unseen(each) for each in turn.waves):
            return None
        turn.radius = radius
        turn.normals = tuple(
            path.new_draw(NORMAL, radius.name, radius.line, radius.standard * (2 * z.standard - 1))
            for z in turn.waves
        )
        for draw in (radius, *turn.waves):
            draw.settled = True
    if turn.radius is not radius:
        return None
    scale = size.terms[radius] * wave.terms[own] / 2
    normal = turn.normals[turn.waves.index(own)]
    return Traced(path, size.value * wave.value, 0.0, {normal: scale}, pure=True)


def _log1p(number: Traced, draw: NoiseDraw) -> Traced | None:
    return _log(1 + number, draw)


def _split(number: Traced, draw: NoiseDraw) -> tuple[NoiseDraw, NoiseDraw] | None:
    """Return the size and the sign of a uniform draw, of a number that is symmetric."""
    if abs(2 * number.offset + number.terms[draw]) > _SLACK * abs(number.offset):
        return None
    path = number.path
    size = _new(path, UNIFORM, draw, abs(2 * draw.standard - 1))
    return size, path.new_draw(COIN, draw.name, draw.line, float(draw.standard > 0.5))


def _half(number: Traced, name: str) -> Traced | None:
    """Return the size or the sign of a number with a symmetric uniform draw."""
    draw = next(iter(number.terms), None)
    if draw is None or len(number.terms) != 1 or draw.law is not UNIFORM:
        return None
    path = number.path
    found = path.halves.get(draw)
    if found is None:
        return _newly_made(name, number)
    width = number.terms[draw]
    if abs(2 * number.offset + width) > _SLACK * abs(width):
        return None
    size, coin = found
    if name == "absolute":
        return Traced(path, abs(number.value), 0.0, {size: abs(width) / 2}, pure=True)
    turn = math.copysign(1.0, width)
    sign = math.copysign(1.0, number.value) if path.live else math.nan
    return Traced(path, sign, -turn, {coin: 2 * turn}, pure=True)


def _halved(number: Traced, draw: NoiseDraw, name: str) -> Traced | None:
    if draw.law is not UNIFORM:
        return None
    found = _split(number, draw)
    if found is None:
        return None
    number.path.halves[draw] = found
    return _half(number, name)


_MADE: dict[str, Callable[[Traced, NoiseDraw], Traced | None]] = {
    "log": _log,
    "log1p": _log1p,
    "sqrt": _sqrt,
    "absolute": lambda number, draw: _halved(number, draw, "absolute"),
    "sign": lambda number, draw: _halved(number, draw, "sign"),
}
