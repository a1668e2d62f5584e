"""Calls on plain values, and the functions of Python that go through or make sequences."""

# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.proving import gathering
from dpcp_audit.proving.distances import (
    SCALAR,
    UNKNOWN,
    Once,
    Private,
    Public,
    Records,
    Value,
    is_known,
)
from dpcp_audit.proving.exact_numbers import (
    Surd,
    apply_to_array,
    exact_of,
    exponential,
    frozen,
    is_scalar,
    plain,
    remember,
)
from dpcp_audit.proving.paths import Contents
from dpcp_audit.proving.sources import NARROW, is_narrow

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.proving.paths import Interpreter


def all_known(args: list[Value], kw: dict[str, Value]) -> bool:
    """Tell whether all arguments are plain values."""
    return all(map(is_known, args)) and all(map(is_known, kw.values()))


_HALF = Surd.of(Fraction(1, 2))
_EXACTLY: dict[Any, Callable[[Surd], Surd | None]] = {
    math.sqrt: lambda x: x.power(_HALF),
    np.sqrt: lambda x: x.power(_HALF),
    float: lambda x: x,
    np.float64: lambda x: x,
}


_OF_ARRAYS: dict[Any, str] = {np.abs: "abs", abs: "abs", np.negative: "neg", np.exp: "exp"}


HELD_BEFORE = "entries that where= leaves out hold whatever was in memory before"


def called(reader: Interpreter, target: Any, args: list[Value], kw: dict[str, Value]) -> Value:
    """Call a known function on plain values."""
    if "where" in kw:
        raise reader.refuse(HELD_BEFORE)
    if any(isinstance(each, tuple) and not is_known(each) for each in args):
        raise AssertionError("only plain values are handed on")
    try:
        with np.errstate(all="raise" if reader.for_some else "ignore"):  # a warning of some records
            value = target(*map(plain, args), **{name: plain(each) for name, each in kw.items()})
    except Exception as error:
        raise reader.refuse(f"raises {type(error).__name__}: {error}") from None
    frozen(value)
    if any(map(is_narrow, value if isinstance(value, tuple | list) else (value,))):
        raise reader.refuse(NARROW)
    entrywise = isinstance(value, np.ndarray) and len(args) == 1 and not kw
    if entrywise and target in _OF_ARRAYS:
        return apply_to_array(_OF_ARRAYS[target], value, args[0])
    if isinstance(value, list):
        return reader.listed(value)
    if len(args) == 1 and target in {math.exp, np.exp} and is_scalar(args[0]):
        return exponential(value, args[0])
    if len(args) == 1 and target in {math.expm1, np.expm1} and is_scalar(args[0]):
        return exponential(value, args[0], less=1)
    if len(args) == 1 and not kw and target in _EXACTLY and is_scalar(args[0]):
        exact = exact_of(args[0])
        return value if exact is None else remember(value, _EXACTLY[target](exact))
    return value


# ---------------------------------------------------------------------- what is no rule


def _range(reader: Interpreter, args: list[Value], kw: dict[str, Value]) -> Value:
    values = [reader.public(each, "a range") for each in args]
    if kw or not all(is_known(each) for each in values):
        return Public((-1,))
    return called(reader, range, values, {})


def _zip(reader: Interpreter, args: list[Value], kw: dict[str, Value]) -> Value:
    rows = [reader.entries(each, "a zipped value") for each in args]
    strict = kw.get("strict", False)
    if set(kw) - {"strict"} or not isinstance(strict, bool):
        raise reader.refuse("zip with arguments that are not known")
    if strict and len(set(map(len, rows))) > 1:
        raise reader.refuse("raises ValueError: zip of different lengths")
    return Once(tuple(zip(*rows, strict=False)), tuple(args))


def _enumerate(reader: Interpreter, args: list[Value], kw: dict[str, Value]) -> Value:
    start = kw.get("start", args[1] if len(args) > 1 else 0)
    if not args or not isinstance(start, int):
        raise reader.refuse("enumerate with arguments that are not known")
    return Once(
        tuple(enumerate(reader.entries(args[0], "an enumerated value"), start)), tuple(args)
    )


def _reversed(reader: Interpreter, args: list[Value], kw: dict[str, Value]) -> Value:
    return Once(tuple(reversed(reader.entries(args[0], "a reversed value"))), tuple(args))


def _list(reader: Interpreter, args: list[Value], kw: dict[str, Value]) -> Value:
    if args and isinstance(args[0], Records):
        return replace(args[0], listed=True)
    return reader.listed(reader.entries(args[0], "a list") if args else ())


def _tuple(reader: Interpreter, args: list[Value], kw: dict[str, Value]) -> Value:
    return reader.entries(args[0], "a tuple") if args else ()


def _dict(reader: Interpreter, args: list[Value], kw: dict[str, Value]) -> Value:
    if args:
        raise reader.refuse("dict of what is not followed")
    return reader.path.store(Contents("dict", tuple(kw.values()), tuple(kw)))


def _filled(value: Value) -> Any:
    def fill(reader: Interpreter, args: list[Value], kw: dict[str, Value]) -> Value:
        given = dict(zip(("shape", "dtype"), args, strict=False)) | kw
        if set(given) - {"shape", "dtype"}:
            raise reader.refuse("an array with arguments that are not known")
        shape = reader.public(given.get("shape"), "the shape of an array")
        found = gathering.filled(reader, shape, value, given.get("dtype"))
        if found is NotImplemented and all_known([value, *given.values()], {}):
            return called(reader, np.full, [shape, value], {})
        if found is NotImplemented and isinstance(value, Private):
            raise reader.refuse(value.reason)
        return UNKNOWN if found is NotImplemented else found

    return fill


_HOMES = {"builtins", "numpy"}
"""Modules whose classes identify an object by its type, without running any of its code."""


def _isinstance(reader: Interpreter, args: list[Value], kw: dict[str, Value]) -> Value:
    if len(args) == 2 and all_known(args, kw):
        kinds = args[1] if isinstance(args[1], tuple) else (args[1],)
        if all(type(each) is type and each.__module__ in _HOMES for each in kinds):
            return isinstance(plain(args[0]), args[1])
    raise reader.refuse("the type of a value is tested")


def _full(reader: Interpreter, args: list[Value], kw: dict[str, Value]) -> Value:
    given = dict(zip(("shape", "fill_value", "dtype"), args, strict=False)) | kw
    value = reader.public(given.pop("fill_value", None), "what an array is filled with")
    if given.get("dtype") is None and not isinstance(value, float):
        given["dtype"] = object  # that of the value, which is not known to be a double
    return _filled(value if is_scalar(value) else SCALAR)(reader, [], given)


def _narrow(reader: Interpreter, args: list[Value], kw: dict[str, Value]) -> Value:
    """Refuse a number of a narrow type: a number of Python beside it becomes as narrow."""
    raise reader.refuse(NARROW)


SPECIAL: dict[Any, Callable[[Any, list[Value], dict[str, Value]], Value]] = {
    range: _range,
    zip: _zip,
    enumerate: _enumerate,
    reversed: _reversed,
    list: _list,
    tuple: _tuple,
    dict: _dict,
    isinstance: _isinstance,
    **dict.fromkeys((np.int8, np.int16, np.int32, np.uint8, np.float32), _narrow),
    np.zeros: _filled(0.0),
    np.empty: _filled(Private(0, "np.empty holds whatever was in memory before")),
    np.ones: _filled(1.0),
    np.full: _full,
}
