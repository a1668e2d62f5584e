"""The draws of a function of one user's value: tables, uniform numbers, public random numbers."""

# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.proving.distances import Value, is_known
from dpcp_audit.proving.draw_outcomes import UniformDraw
from dpcp_audit.proving.exact_numbers import form_of, is_scalar, plain
from dpcp_audit.proving.exponential_quotients import ExponentialQuotient
from dpcp_audit.proving.path_laws import ONE, Axis, Drawn, Entries
from dpcp_audit.proving.statistics import tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpcp_audit.proving.protocol import LocalInterpreter

MOST_WAYS = 2_000
"""Outcomes of one draw that are told apart; a number of more values is a public random one."""
_ARGUMENTS = {
    "random": ("size",),
    "random_sample": ("size",),
    "rand": ("size",),
    "uniform": ("low", "high", "size"),
    "integers": ("low", "high", "size"),
    "randint": ("low", "high", "size"),
    "choice": ("a", "size"),
    "binomial": ("n", "p", "size"),
}
_TYPES: dict[str, Any] = {"integers": np.int64, "randint": int}
"""Of one number; those of an array are NumPy's."""


def draw(reader: LocalInterpreter, name: str, args: list[Value], kw: dict[str, Value]) -> Value:
    """Return what a method of a generator gives."""
    names = _ARGUMENTS.get(name)
    if names is None or len(args) > len(names):
        raise reader.refuse(
            f"a draw by {name} for each record or value, whose outcomes are not enumerated",
            "draw for all records at once: size=len(scores)",
        )
    given = dict(zip(names, args, strict=False)) | kw
    size = given.pop("size", None)
    if name in {"random", "random_sample", "rand", "uniform"}:
        if given and given != {"low": 0, "high": 1}:
            raise reader.refuse("a uniform draw between other ends than 0 and 1")
        return _uniform(reader, size)
    if name == "binomial":
        return _binary(reader, given, size)
    values, chances = (_choice if name == "choice" else _integers)(reader, given)
    if len(values) > MOST_WAYS:
        if size is not None:
            raise reader.refuse("many draws of many outcomes each")
        return reader.seed(values[0], len(values), of_numpy=name == "integers")
    made = reader.as_numpy if size is not None else _TYPES.get(name, lambda each: each)
    table = tuple(made(each) for each in values)
    reader.check_chances(chances)
    return _sized(reader, size, lambda: Drawn((Axis(next(tokens), tuple(chances)),), table))


def _uniform(reader: LocalInterpreter, size: Value) -> Value:
    return _sized(reader, size, lambda: UniformDraw(next(tokens)))


def _sized(reader: LocalInterpreter, size: Value, one: Callable[[], Value]) -> Value:
    """Return one draw, or an array of a known number of them."""
    if size is None:
        return one()
    size = size[0] if type(size) is tuple and len(size) == 1 else size
    if not _is_whole(size) or not 0 < size <= MOST_WAYS:
        raise reader.refuse("the size of a draw is no known number")
    return reader.entries_of(tuple(one() for _ in range(int(size))))


def _is_whole(value: Value) -> bool:
    return type(plain(value)) in {int, np.int64}


Law = tuple["Sequence[Value]", "list[ExponentialQuotient]"]


def _integers(reader: LocalInterpreter, given: dict[str, Value]) -> Law:
    low, high = given.pop("low", 0), given.pop("high", None)
    low, high = (0, low) if high is None else (low, high)
    if given or not _is_whole(low) or not _is_whole(high) or not low < high:
        raise reader.refuse("whole numbers of a range that is not known are drawn")
    values = range(int(low), int(high))
    return values, [ONE / ExponentialQuotient.of(len(values))] * min(len(values), MOST_WAYS)


def _choice(reader: LocalInterpreter, given: dict[str, Value]) -> Law:
    """Return what is chosen from, each of the type it then has, and the chances."""
    a, p = given.pop("a", None), given.pop("p", None)
    if given:
        raise reader.refuse("a choice with arguments that are not followed")
    if _is_whole(a) and 0 < a <= MOST_WAYS:
        values: list[Value] = list(range(int(a)))
    else:
        array = np.array(a) if isinstance(a, range) else reader.gathered(a)
        array = np.asarray(plain(array)) if is_known(array) else np.empty(0)
        if array.ndim != 1 or not 0 < array.size <= MOST_WAYS:
            raise reader.refuse("a choice from what is not known")
        values = list(array)
    weights = [ONE] * len(values) if p is None else [_weight(reader, x) for x in _list(reader, p)]
    total = ExponentialQuotient.of(0)
    for each in weights:
        total = total + each
    if len(weights) != len(values) or total.sign <= 0:
        raise reader.refuse("a choice whose law is not known")
    return values, [each / total for each in weights]


def _list(reader: LocalInterpreter, value: Value) -> tuple[Value, ...]:
    return reader.entries(value, "the law of a choice")


def _weight(reader: LocalInterpreter, value: Value) -> ExponentialQuotient:
    form = form_of(value) if is_known(value) and is_scalar(value) else None
    if form is None or form.sign < 0:
        raise reader.refuse("a choice whose law is not known")
    return form


def _binary(reader: LocalInterpreter, given: dict[str, Value], size: Value) -> Value:
    """``binomial(1, p)``: whether a uniform draw is below p, as a number."""
    p = reader.gathered(given.pop("p", None))
    if given.pop("n", None) != 1 or given:
        raise reader.refuse("a binomial draw of more than one trial")
    rows = p.items if isinstance(p, Entries) else p if isinstance(p, np.ndarray) else None
    uniform = _uniform(reader, len(rows) if rows is not None and size is None else size)
    below = reader.decided("Lt", uniform, p)
    if isinstance(below, Entries):
        return reader.of_entries(below, "astype", [int])
    return reader.combined(lambda each: int(bool(each)), below)
