# pyright: reportUnknownLambdaType=false, reportUnknownVariableType=false
"""A value that depends on one draw alone, and takes finitely many values.

The comparison ``u < p`` of a draw is such a value, and so is all that is made of it and plain data
elementwise. As long as the program only computes with such values it takes one way, whatever is
drawn: independent bits need not be enumerated together.
"""

from __future__ import annotations

import operator
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy.special import logsumexp

from dpcp_audit.tracing.source_lines import target_line
from dpcp_audit.tracing.trace_errors import NotFiniteError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpcp_audit.tracing.draws import NoiseDraw


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
