"""Attributes and methods: of arrays, of texts, of lists and dictionaries, of generators."""

# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
from __future__ import annotations

import math
import types
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.proving import (
    dp_sgd,
    gaps,
    gathering,
    library_mechanisms,
    noise_rules,
    objects,
    opendp_measurements,
)
from dpcp_audit.proving.arithmetic import kind
from dpcp_audit.proving.class_rows import ClassRows
from dpcp_audit.proving.distances import (
    UNKNOWN,
    WHOLE,
    BoundMethod,
    Distribution,
    Generator,
    Inverse,
    Noise,
    Noisy,
    Once,
    Public,
    Records,
    Reference,
    Statistic,
    Value,
    Weights,
    is_known,
    is_public,
    shape_of,
)
from dpcp_audit.proving.exact_numbers import exponential, plain
from dpcp_audit.proving.known_calls import function, named
from dpcp_audit.proving.paths import Contents
from dpcp_audit.proving.rules import whole_numbers
from dpcp_audit.proving.sources import admitted, is_plain
from dpcp_audit.proving.table import METHODS, all_known, called, scipy_law

if TYPE_CHECKING:
    from dpcp_audit.proving.reading import Interpreter

_TEXT = {"format", "join", "upper", "lower", "strip", "split", "startswith", "endswith", "replace",
         "count"}  # fmt: skip
_OF_NUMBERS = {"count", "bit_count", "bit_length"}
"""Methods of texts and whole numbers that give a whole number."""
_COPYING = {"sum", "mean", "min", "max", "argmax", "argmin", "cumsum", "copy", "tolist", "astype"}
"""Methods of an array that is filled that give a number, or an array of their own."""
_VIEWS = {"items", "keys", "values"}
"""Methods of a dictionary of which the result is gone through at once."""
_ARRAY = METHODS.keys() | {"tolist", "dot", "is_integer", "bit_length", "bit_count"}


def attribute(reader: Interpreter, value: Value, name: str) -> Value:
    """Return an attribute, or the method of a value."""
    if isinstance(value, types.ModuleType):
        if type(value) is not types.ModuleType or name not in vars(value):
            raise reader.refuse(f"{value.__name__} has no {name}")
        if name == "e" and vars(value)[name] == math.e:
            return exponential(math.e, 1)
        return admitted(vars(value)[name], name, reader.line)
    reader.require_followed(value)
    value = reader.release(value) if isinstance(value, Inverse) else value
    law = value if isinstance(value, Distribution) else scipy_law(value)
    if law is not None and name == "rvs":
        return BoundMethod(law, name)
    if isinstance(value, Reference) and gathering.kind_of(reader, value) == "object":
        return objects.attribute(reader, value, name)
    shape = _shape_attribute(reader, value, name)
    if shape is not None:
        return shape
    if is_known(value) and not (isinstance(value, np.ndarray) or is_plain(plain(value))):
        if isinstance(value, tuple | str | np.ufunc):
            own = isinstance(value, np.ufunc)
            return getattr(value, name, None) if own else BoundMethod(value, name)
        raise reader.refuse(f"{name} of {type(value).__name__} is not followed")
    return BoundMethod(value, name)


def _shape_attribute(reader: Interpreter, value: Value, name: str) -> Value | None:
    """Return size, shape or ndim, where ``value`` is an array."""
    if name not in {"size", "shape", "ndim", "T", "dtype"}:
        return None
    if isinstance(value, np.ndarray):
        return getattr(value, name)
    if isinstance(value, Records) and name == "ndim" and not value.single:
        return 1
    if isinstance(value, Records) and name in {"size", "shape"} and not value.single:
        size = reader.call(len, [value], {})
        return size if name == "size" else (size,)
    if isinstance(value, dp_sgd.Rows | ClassRows) and name == "shape":
        return reader.call(len, [value.records], {}), value.entries
    if isinstance(value, gaps.Edges | gaps.Gaps) and name in {"size", "shape"}:
        return gaps.size(value) if name == "size" else (gaps.size(value),)
    value = value if not isinstance(value, Noisy) else value.noise
    if isinstance(value, Reference) and reader.cells(value).kind == "array":
        value = Public((len(reader.cells(value).items),))
    shape = value.shape if isinstance(value, Public | Statistic | Noise | Weights) else None
    if not shape or any(each < 0 for each in shape):  # a number of Python's own has no shape
        raise reader.refuse(f"{name} of {kind(value)} is not followed")
    found = {"size": math.prod(shape), "shape": shape, "ndim": len(shape)}
    if name not in found:
        raise reader.refuse(f"{name} of {kind(value)} is not followed")
    return found[name]


def method(
    reader: Interpreter, owner: Value, name: str, args: list[Value], kw: dict[str, Value]
) -> Value:
    """Return the result of a method."""
    if isinstance(owner, Generator):
        return noise_rules.draw(reader, owner, name, args, kw)
    if isinstance(owner, Records) and (owner.listed or owner.single):
        raise reader.refuse("a method of a list of records, or of one", "use NumPy's function")
    if isinstance(owner, Distribution):
        return noise_rules.variates(reader, owner, args, kw)
    if isinstance(owner, library_mechanisms.Mechanism | opendp_measurements.Handle):
        return _library_method(reader, owner, name, args, kw)
    if isinstance(owner, Reference) and _is_listed(reader, owner):
        return _list_method(reader, owner, name, args)
    if isinstance(owner, Reference) and reader.cells(owner).kind == "object":
        return objects.method(reader, owner, name, args, kw)
    if isinstance(owner, tuple) and not is_known(owner):
        raise reader.refuse("a method of a tuple")
    found = _of_dictionary(reader, owner, name, args) if not kw else NotImplemented
    if found is not NotImplemented:
        return found
    if isinstance(owner, Reference) and (name not in _COPYING or kw):
        raise reader.refuse("an array that is filled gets another name", "use its copy")
    return _array_method(reader, reader.gathered(owner), name, args, kw)


def _is_listed(reader: Interpreter, owner: Reference) -> bool:
    return gathering.kind_of(reader, owner) == "list" or gathering.is_shown(reader, owner)


def _library_method(
    reader: Interpreter,
    owner: library_mechanisms.Mechanism | opendp_measurements.Handle,
    name: str,
    args: list[Value],
    kw: dict[str, Value],
) -> Value:
    """Return the result of a method of a library's mechanism."""
    if isinstance(owner, library_mechanisms.Mechanism):
        return library_mechanisms.method(reader, owner, name, args, kw)
    if name != "invoke":
        raise reader.refuse(f"{name} of an OpenDP measurement is not followed")
    return opendp_measurements.measured(reader, owner, args, kw)


def _of_dictionary(reader: Interpreter, owner: Value, name: str, args: list[Value]) -> Value:
    """Return a dictionary's entry, or its keys, values or items, gone through at once.

    NotImplemented of any other, and of views of an empty one: false, where an iterator is true.
    """
    cells = reader.cells(owner) if isinstance(owner, Reference) else None
    if cells is None or cells.kind != "dict":
        return NotImplemented
    if name == "get" and len(args) in {1, 2} and isinstance(args[0], str | int | float):
        if args[0] in cells.keys:
            return gathering.element(reader, owner, args[0])
        return args[1] if len(args) == 2 else None
    if name not in _VIEWS or args or not cells.items:
        return NotImplemented
    parts = {"keys": cells.keys, "values": cells.items}
    return Once(parts.get(name, tuple(zip(cells.keys, cells.items, strict=True))), (owner,))


def _array_method(
    reader: Interpreter, owner: Value, name: str, args: list[Value], kw: dict[str, Value]
) -> Value:
    """Return the result of a method of an array or of text."""
    if (
        is_known(owner)
        and all_known(args, kw)
        and name in (_TEXT if isinstance(owner, str) else _ARRAY)
    ):
        return called(reader, getattr(plain(owner), name), args, kw)
    if isinstance(owner, str):
        reader.public((*args, *kw.values()), "text")
        reader.doubt("a value is formatted")
        return UNKNOWN
    if name == "sort" and isinstance(owner, Records):
        raise reader.refuse("records are sorted in place", "use np.sort, which makes a copy")
    if name == "tolist" and len(shape_of(owner) or ()) < 2:  # else of lists
        return reader.listed(reader.entries(owner, "a list"))
    if is_public(owner) and name in _OF_NUMBERS:
        reader.public((*args, *kw.values()), "an argument")
        return WHOLE
    if name == "item" and isinstance(owner, Statistic):
        if owner.shape != () or args:
            raise reader.refuse("item of an array")
        return owner
    if name not in METHODS:
        raise reader.refuse(f"the method {name} of {kind(owner)} is not followed")
    if name == "astype" and args and not kw:
        return _cast(reader, owner, args[0])
    return function(reader, named(METHODS[name]), [owner, *args], kw)


def _cast(reader: Interpreter, owner: Value, dtype: Value) -> Value:
    """Return a cast: of a condition to a number, or of floats to floats; else it is a release."""
    if dtype in (float, np.float64, "float", "float64"):
        if isinstance(owner, Records):
            bit = owner.bit or owner.boolean
            return replace(owner, floats=True, boolean=False, whole=False, listed=False, bit=bit)
        if isinstance(owner, Statistic):
            return replace(owner, floats=True)
        if isinstance(owner, Noise | Noisy):
            return owner
    if dtype in (int, np.int64, "int") and isinstance(owner, Records) and owner.boolean:
        return owner.within(owner.low, owner.high, bit=True)
    if dtype in (int, np.int64, "int") and isinstance(owner, Records):
        found = whole_numbers(owner, int)
        if found is not NotImplemented:
            return found
    released = reader.public(owner, "a cast")
    reader.require_wide(dtype)
    return Public(shape_of(released))


def _list_method(reader: Interpreter, owner: Reference, name: str, args: list[Value]) -> Value:
    reader.require_once("a list is changed for each record")
    if gathering.is_shown(reader, owner) and name == "append" and len(args) == 1:
        gathering.take_up(reader, args[0])
        return None
    cells = reader.cells(owner)
    if name in {"append", "extend"}:
        gathering.changeable(reader, owner)
    if name == "append" and len(args) == 1:
        items = (*cells.items, args[0])
    elif name == "extend" and len(args) == 1:
        items = (*cells.items, *reader.entries(args[0], "a list"))
    elif name == "copy" and not args:
        return reader.listed(cells.items)
    else:
        raise reader.refuse(f"the method {name} of a list is not followed")
    reader.path.heap[owner.address] = Contents("list", items)
    return None
