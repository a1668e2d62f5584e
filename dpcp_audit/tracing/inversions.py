"""A value that depends on one draw alone, and takes finitely many values.

The comparison ``u < p`` of a draw is such a value, and so is all that is made of it and plain data
elementwise. As long as the program only computes with such values it takes one way, whatever is
drawn: independent bits need not be enumerated together.

Noise that is made of uniform draws: identities of laws that keep it traced.

−log U is exponential, and −log of that is Gumbel. The size of a symmetric uniform draw and its sign
are independent, and a fair sign times an exponential draw is Laplace. A draw that another was made
of cannot be used again.
"""

from __future__ import annotations

import math
import operator
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

import numpy as np
from scipy.special import logsumexp

from dpcp_audit.tracing.noise_laws import EXPONENTIAL, GUMBEL, LAPLACE, UNIFORM, CategoricalLaw
from dpcp_audit.tracing.source_lines import NotFiniteError, target_line
from dpcp_audit.tracing.traced_numbers import NumberPath, Traced

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpcp_audit.tracing.draws import NoiseDraw
    from dpcp_audit.tracing.noise_laws import NoiseLaw
    from dpcp_audit.tracing.source_lines import Line


# pyright: reportUnknownLambdaType=false, reportUnknownVariableType=false


class StepNumber:
    """A step function of a draw Z.

    Parameters
    ----------
    draw : NoiseDraw
        The draw.
    cuts : tuple of float
        Where the value changes, ascending; between whole numbers for a discrete draw.
    values : tuple
        Below the first cut, between two, and above the last: one more than the cuts.
    """

    __slots__ = ("cuts", "draw", "values")
    __array_priority__ = 1000

    def __init__(self, draw: NoiseDraw, cuts: tuple[float, ...], values: tuple[Any, ...]) -> None:
        self.draw = draw
        self.cuts = cuts
        self.values = values

    def at(self, cuts: Sequence[float]) -> list[Any]:
        """Return the values between finer cuts."""
        places = np.searchsorted(self.cuts, [*cuts, np.inf], side="left")
        return [self.values[int(place)] for place in places]

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs:
            refuse()
        return mapped(ufunc, *inputs)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def __bool__(self) -> bool:
        return bool(refuse())

    def __int__(self) -> int:
        return int(refuse())

    def __float__(self) -> float:
        return float(refuse())

    def __index__(self) -> int:
        return int(refuse())

    def __hash__(self) -> int:
        return int(refuse())

    def __str__(self) -> str:
        return str(refuse())

    __repr__ = __str__

    def __reduce__(self) -> Any:
        return refuse()


def refuse() -> Any:
    """Say that a value is needed, so that the program may take several ways."""
    raise NotFiniteError("a value that depends on a draw is acted on", target_line())


def mapped(function: Callable[..., Any], *args: Any) -> Any:
    """Apply a function of plain values elementwise; some arguments are step numbers of one draw.

    Arrays are broadcast.
    """
    if any(isinstance(each, np.ndarray) for each in args):
        one = partial(mapped, function)
        return np.frompyfunc(one, len(args), 1)(*map(_boxed, args))
    steps = [each for each in args if isinstance(each, StepNumber)]
    if not steps:
        return function(*args)
    draw = steps[0].draw
    if any(each.draw is not draw for each in steps):
        refuse()
    cuts = sorted({cut for each in steps for cut in each.cuts})
    columns = [
        each.at(cuts) if isinstance(each, StepNumber) else [each] * (len(cuts) + 1) for each in args
    ]
    return StepNumber(
        draw, tuple(cuts), tuple(function(*row) for row in zip(*columns, strict=True))
    )


def _boxed(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.view(np.ndarray).astype(object)
    box = np.empty((), dtype=object)
    box[()] = value
    return box


def joint_law(numbers: Sequence[StepNumber]) -> dict[tuple[Any, ...], float]:
    """Return the log-probabilities of the values of several step numbers of one draw."""
    law = numbers[0].draw.law
    assert law is not None  # noqa: S101  (step numbers have one)
    values = law.values()
    if values is None:
        cuts = sorted({cut for each in numbers for cut in each.cuts})
        ends = np.array([-np.inf, *cuts, np.inf])
        masses = law.log_interval(ends[:-1], ends[1:])
        columns = [each.at(cuts) for each in numbers]
    else:
        masses = law.log_point(values)
        columns = [each.at(values[:-1].tolist()) for each in numbers]
    found: dict[tuple[Any, ...], list[float]] = {}
    for row, mass in zip(zip(*columns, strict=True), masses, strict=True):
        if mass > -np.inf:
            found.setdefault(tuple(map(plain, row)), []).append(float(mass))
    return {
        values: listed[0] if len(listed) == 1 else float(logsumexp(listed))
        for values, listed in found.items()
    }


def plain(value: Any) -> Any:
    """Return a number of NumPy as one of Python."""
    return cast("Any", value).item() if isinstance(value, np.generic) else value


def _forward(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, *others: mapped(function, self, *others)


def _backward(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, other: mapped(function, other, self)


_NAMES = "add sub mul truediv floordiv mod pow and or xor lshift rshift"
for _name in _NAMES.split():
    _function = getattr(operator, f"__{_name}__")
    setattr(StepNumber, f"__{_name}__", _forward(_function))
    setattr(StepNumber, f"__r{_name}__", _backward(_function))
for _name in ("lt", "le", "gt", "ge", "eq", "ne", "neg", "pos", "abs"):
    setattr(StepNumber, f"__{_name}__", _forward(getattr(operator, f"__{_name}__")))


def inverted(value: Any) -> Any:
    """Return ``~value`` as NumPy has it: of a boolean its negation."""
    return not value if isinstance(value, bool | np.bool_) else ~value


setattr(StepNumber, "__invert__", _forward(inverted))  # noqa: B010  (as above)


_COIN = CategoricalLaw((0.5, 0.5))
_SLACK = 1e-12


class DrawPath(NumberPath, Protocol):
    """The path that a draw belongs to, to which draws can be added."""

    live: ClassVar[bool]
    values: bool
    halves: dict[NoiseDraw, tuple[NoiseDraw, NoiseDraw]]

    def new_draw(
        self, law: NoiseLaw | None, name: str, line: Line, standard: float = ..., /
    ) -> NoiseDraw:
        """Add a draw, with its Z where that is known."""
        ...


def made(path: DrawPath, name: str, number: Traced) -> Traced | None:
    """Return a function of a number as a number with a draw of its own; None where it has none.

    Parameters
    ----------
    name : str
        "log", "log1p", "absolute" or "sign".
    """
    draw = _single(number)
    if draw is None or path.values or path.symbolic:
        return None
    return _MADE[name](path, number, draw)


def product(path: DrawPath, first: Traced, second: Traced) -> Traced | None:
    """Return a fair sign times an exponential draw as a Laplace draw; None of other products."""
    for sign, size in ((first, second), (second, first)):
        coin, draw = _single(sign), _single(size, law=EXPONENTIAL)
        if coin is None or draw is None or coin.law is not _COIN or path.values:
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
    seen = draw.point is not None or draw.joined or draw.settled or not draw.region.whole
    return None if seen or (law is not None and draw.law is not law) else draw


def _new(path: DrawPath, law: NoiseLaw, draw: NoiseDraw, standard: float) -> NoiseDraw:
    draw.settled = True
    return path.new_draw(law, draw.name, draw.line, standard)


def _log(path: DrawPath, number: Traced, draw: NoiseDraw) -> Traced | None:
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
    value = math.log(number.value) if number.value > 0 else math.nan
    return Traced(path, value, offset, {_new(path, law, draw, offset - value): -1.0}, pure=True)


def _log1p(path: DrawPath, number: Traced, draw: NoiseDraw) -> Traced | None:
    return _log(path, 1 + number, draw)


def _split(path: DrawPath, number: Traced, draw: NoiseDraw) -> tuple[NoiseDraw, NoiseDraw] | None:
    """Return the size and the sign of a uniform draw, of a number that is symmetric."""
    if abs(2 * number.offset + number.terms[draw]) > _SLACK * abs(number.offset):
        return None
    size = _new(path, UNIFORM, draw, abs(2 * draw.standard - 1))
    return size, path.new_draw(_COIN, draw.name, draw.line, float(draw.standard > 0.5))


def halves(path: DrawPath, number: Traced, name: str) -> Traced | None:
    """Return the size or the sign of a number with a symmetric uniform draw."""
    draw = next(iter(number.terms), None)
    if draw is None or len(number.terms) != 1 or draw.law is not UNIFORM:
        return None
    found = path.halves.get(draw)
    if found is None:
        return made(path, name, number)
    width = number.terms[draw]
    if abs(2 * number.offset + width) > _SLACK * abs(width):
        return None
    size, coin = found
    if name == "absolute":
        return Traced(path, abs(number.value), 0.0, {size: abs(width) / 2}, pure=True)
    turn = math.copysign(1.0, width)
    sign = math.copysign(1.0, number.value) if path.live else math.nan
    return Traced(path, sign, -turn, {coin: 2 * turn}, pure=True)


def _halved(path: DrawPath, number: Traced, draw: NoiseDraw, name: str) -> Traced | None:
    if draw.law is not UNIFORM:
        return None
    found = _split(path, number, draw)
    if found is None:
        return None
    path.halves[draw] = found
    return halves(path, number, name)


_MADE: dict[str, Callable[[DrawPath, Traced, NoiseDraw], Traced | None]] = {
    "log": _log,
    "log1p": _log1p,
    "absolute": lambda path, number, draw: _halved(path, number, draw, "absolute"),
    "sign": lambda path, number, draw: _halved(path, number, draw, "sign"),
}
