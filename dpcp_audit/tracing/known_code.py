"""Names whose values follow from their arguments alone, the same with a trace as without one.

Left out, besides whatever reads the world: what tells types apart, since noise has one of its own
while it is followed, and what has an order or a text that depends on addresses in memory.

Whether code depends on nothing but its input and its draws: else no law of it is proved.

Enumeration runs all paths that the draws show. A branch on the time, an address, a file or the
type of a number shows in none of them. So the code is read, as it is compiled: every name in it has
to be a function of its arguments that is known, or the user's own, which is read in turn. What is
not known is named with its line. It may be harmless; it only keeps the law from being a proof.
"""

from __future__ import annotations

import bisect
import builtins
import dis
import functools
import itertools
import math
import operator
from collections import deque
from dataclasses import dataclass, field
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.tracing.reachable_names import is_of_package, is_own
from dpcp_audit.tracing.source_lines import UnfollowableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dpcp_audit.tracing.source_lines import Line


_BUILTINS = """
abs all any bool bytearray bytes complex dict divmod enumerate filter float int iter len list map
max min next pow range reversed round slice sorted sum tuple zip staticmethod classmethod
property super NotImplemented Ellipsis StopIteration AssertionError ArithmeticError Exception
IndexError KeyError LookupError NotImplementedError OverflowError RuntimeError TypeError
ValueError ZeroDivisionError __name__ __build_class__
"""
_NUMPY = """
abs absolute add all allclose any append arange arccos arcsin arctan arctan2 argmax argmin argsort
array asarray atleast_1d atleast_2d average bincount bitwise_and bitwise_or bitwise_xor bool bool_
ceil clip column_stack concatenate copysign cos count_nonzero cumprod cumsum diag diff digitize
divide dot e equal exp exp2 expand_dims expm1 eye flatnonzero flip float32 float64 floor
floor_divide full full_like greater greater_equal hstack hypot identity inf insert int16 int32
int64 int8 integer interp intp isclose isfinite isin isinf isnan less less_equal linalg linspace
log log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor logspace matmul max
maximum mean median min minimum mod multiply nan nan_to_num negative newaxis nonzero norm
not_equal ones ones_like outer percentile pi power prod quantile ravel reciprocal remainder repeat
reshape rint roll round searchsorted sign sin sort split sqrt square squeeze stack std subtract
sum take tan tanh tile transpose trapezoid tril triu trunc uint32 uint64 uint8 unique
unravel_index var vstack where zeros zeros_like array_split histogram
"""
_METHODS = """
T all any append argmax argmin argsort as_integer_ratio astype bit_count bit_length capitalize
clear clip conjugate copy count cumprod cumsum denominator diagonal dot endswith extend fill find
flat flatten fromkeys get imag index insert is_integer isdigit items item join keys lower lstrip
max mean min ndim nonzero numerator pop popitem prod ravel real remove repeat reshape reverse
round rstrip searchsorted setdefault shape size sort split squeeze startswith std strip sum
swapaxes take tolist trace transpose update upper values var
"""
_DRAWS = {name for name in dir(np.random.Generator) if name[0] != "_"} - {"bit_generator", "spawn"}
_PURE = (bisect, itertools, math, operator)
_LEFT_OUT = {"attrgetter", "methodcaller", "is_", "is_not"}
"""Functions of ``operator`` that reach attributes by a text, or tell objects apart."""


def _public(module: object) -> set[str]:
    return {name for name in dir(module) if name[0] != "_"} - _LEFT_OUT


BUILTINS = frozenset(_BUILTINS.split())
MODULES = frozenset({*(module.__name__ for module in _PURE), "numpy"})
ATTRIBUTES = frozenset(
    {*_NUMPY.split(), *_METHODS.split(), *_DRAWS, "__init__", "__name__"}.union(
        *map(_public, _PURE)
    )
)
"""Attributes of the modules, of plain values, of arrays and of a generator that is handed over."""
VALUES = frozenset(
    id(value)
    for value in (
        *(getattr(builtins, name) for name in BUILTINS - {"__name__"}),
        *(getattr(np, name) for name in _NUMPY.split() if hasattr(np, name)),
        *(getattr(module, name) for module in _PURE for name in _public(module)),
    )
)
"""Identities of functions and constants, however they are named where they are used."""
HOLDERS = tuple(
    each
    for each in (
        *_PURE,
        np,
        np.linalg,
        np.random,
        *(getattr(np, name, 0) for name in _NUMPY.split()),
    )
    if isinstance(each, FunctionType | ModuleType)
)
"""Modules and functions among them that take an attribute, which may be a state."""


# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false


_PLAIN = (bool, int, float, complex, str, bytes, np.generic, type(None), type(...))
_GENERATED = "<string>"
"""The file of methods that ``dataclass`` writes, and of code that is typed in."""
_WRITER = "__create_fn__"
"""The function of ``dataclasses`` that its methods are written in."""
_LOADED = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})
_OF_OBJECT = frozenset({"LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "IMPORT_FROM"})
_LOCAL = frozenset({"STORE_NAME", "DELETE_NAME"})
_UNKNOWN = {
    "PUSH_EXC_INFO": "errors are caught",
    "BUILD_SET": "a set has an order of its own",
    "FORMAT_VALUE": "a value is formatted",
    "FORMAT_SIMPLE": "a value is formatted",
    "FORMAT_WITH_SPEC": "a value is formatted",
    "MATCH_CLASS": "types are told apart",
    "MATCH_MAPPING": "types are told apart",
    "MATCH_SEQUENCE": "types are told apart",
    "IS_OP": "objects are told apart",
}
"""Operations that may depend on types or addresses, by what they do."""
_INTO_ERROR = frozenset({"FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC"})
_ENDS = ("STORE", "RETURN", "YIELD", "POP_JUMP", "JUMP", "COMPARE", "POP_TOP")
_UNREAD = frozenset(
    {"__repr__", "__str__", "__doc__", "__module__", "__annotations__", "__replace__"}
)
"""Members of a class that nothing which is known to be harmless calls."""
_MOST_DEPTH = 200
_WRAPPED: dict[type, Callable[[Any], tuple[Any, ...]]] = {
    MethodType: lambda value: (value.__func__, value.__self__),
    functools.partial: lambda value: (value.func, value.args, value.keywords),
    staticmethod: lambda value: (value.__func__,),
    classmethod: lambda value: (value.__func__,),
    property: lambda value: (value.fget, value.fset, value.fdel),
    tuple: lambda value: value,
}
"""What holds functions, and which."""


@dataclass(slots=True, eq=False)
class KnownCode:
    """The functions and values that a function reaches, all of them known.

    Parameters
    ----------
    held : list
        What may change between calls: lists, arrays, instances, functions with their cells.
    stored : set of str
        Attributes that are set, which a module or a function of NumPy may be given too.
    """

    held: list[Any] = field(default_factory=list[Any])
    stored: set[str] = field(default_factory=set[str])

    @classmethod
    def of(cls, function: object, home: Line = ("", 0)) -> KnownCode:
        """Read a function and whatever it reaches.

        Raises
        ------
        UnfollowableError
            If it uses anything of which it is not known that it follows from its arguments.

        Examples
        --------
        >>> len(KnownCode.of(lambda value, rng: value ^ (rng.random() < 0.25)).held)
        1
        >>> KnownCode.of(lambda value, rng: id(value) % 7)
        Traceback (most recent call last):
        dpcp_audit.tracing.source_lines.UnfollowableError: id is used
        """
        reader = _Reader(home)
        reader.read(function, home, "the function")
        reader.require_attributes()
        return cls(reader.held, reader.stored)

    def state(self) -> object:
        """Return what the function holds, comparable between calls."""
        given = [vars(each).get(name) for each in HOLDERS for name in self.stored]
        return [_fingerprint(each, frozenset()) for each in (*self.held, *given)]


class _Reader:
    """Reads values and code, each once."""

    def __init__(self, home: Line) -> None:
        self.home = home
        self.seen: dict[int, Any] = {}
        self.held: list[Any] = []
        self.used: dict[str, Line] = {}
        self.own: set[str] = set()
        self.stored: set[str] = set()
        self.depth = 0

    def require_attributes(self) -> None:
        """Refuse attributes that are neither known nor of the user's own classes."""
        for name, line in self.used.items():
            if name not in ATTRIBUTES | self.own | self.stored:
                raise UnfollowableError(f"the attribute {name} is used", line)

    def read(self, value: Any, line: Line, name: str) -> None:
        """Read a value that code can reach at a line by a name."""
        if isinstance(value, _PLAIN) or id(value) in VALUES or id(value) in self.seen:
            return
        self.seen[id(value)] = value
        self.depth += 1
        if self.depth > _MOST_DEPTH:
            raise UnfollowableError(f"{name} holds too much to be read", line)
        for part in self._parts(value, line, name):
            self.read(part, line, name)
        self.depth -= 1

    def _parts(self, value: Any, line: Line, name: str) -> Iterable[Any]:
        """Return what a value is made of, after a look at its code."""
        if isinstance(value, FunctionType):
            return self._of_function(value, line, name)
        if isinstance(value, type) and is_own_class(value):
            return self._of_class(value)
        members = next((of for kind, of in _WRAPPED.items() if type(value) is kind), None)
        return self._of_data(value, line, name) if members is None else members(value)

    def _of_data(self, value: Any, line: Line, name: str) -> Iterable[Any]:
        if type(value) in {list, deque, dict, np.ndarray}:
            self.held.append(value)
            return _items(value)
        if type(value) in {set, frozenset} and not any(isinstance(each, str) for each in value):
            self.held.append(value)
            return _items(value)
        if isinstance(value, ModuleType) and value.__name__ in MODULES:
            return ()
        if is_own_class(type(value)) and not isinstance(value, type):
            self.held.append(value)
            self.own.update(_attributes(value))
            return type(value), *_attributes(value).values()
        raise UnfollowableError(f"{name} is used", line)

    def _of_function(self, function: FunctionType, line: Line, name: str) -> Iterator[Any]:
        file = function.__code__.co_filename
        if not is_of_package(file):
            if not (is_own(file) or file == _GENERATED):
                raise UnfollowableError(f"{name} is used", line)
            self._read_code(function.__code__, function.__globals__)
        self.held.append(function)
        yield from map(_cell, function.__closure__ or ())
        yield from function.__defaults__ or ()
        yield from (function.__kwdefaults__ or {}).values()
        yield from (each for key, each in vars(function).items() if key != "__wrapped__")

    def _of_class(self, kind: type) -> Iterator[Any]:
        self.held.append(kind)
        for base in kind.__mro__[:-1]:
            if not is_own_class(base):
                raise UnfollowableError(f"the class {base.__name__} is used", self.home)
            members = {key: each for key, each in vars(base).items() if not _is_unread(key, each)}
            code = (FunctionType, staticmethod, classmethod, property)
            read = {
                key: each
                for key, each in members.items()
                if isinstance(each, code) or key[:2] != "__"
            }
            self.own.update(read)
            yield from read.values()

    def _read_code(self, code: CodeType, names: dict[str, Any]) -> None:
        instructions = list(dis.get_instructions(code))
        for place, found in enumerate(instructions):
            at = found.positions.lineno if found.positions else None
            line = code.co_filename, at or code.co_firstlineno
            harmless = _is_of_error(instructions[place:]) or _is_none(instructions[:place])
            if found.opname in _UNKNOWN and not harmless:
                raise UnfollowableError(_UNKNOWN[found.opname], line)
            if found.opcode in dis.hasname:
                after = instructions[place + 1].opname
                self._name(found.opname, str(found.argval), line, names, after)
        for each in code.co_consts:
            if isinstance(each, CodeType):
                self._read_code(each, names)
            else:
                self.read(each, (code.co_filename, code.co_firstlineno), "a set of texts")

    def _name(
        self, operation: str, name: str, line: Line, names: dict[str, Any], after: str
    ) -> None:
        if operation in _LOADED:
            self._loaded(name, line, names, after)
        elif operation in _OF_OBJECT:
            self.used.setdefault(name, line)
        elif operation == "STORE_ATTR" and name[:2] != "__":
            self.stored.add(name)
        elif operation == "IMPORT_NAME" and name not in MODULES:
            raise UnfollowableError(f"{name} is used", line)
        elif operation not in _LOCAL and operation != "IMPORT_NAME":
            raise UnfollowableError(f"{_kind(operation)} {name} is changed", line)

    def _loaded(self, name: str, line: Line, names: dict[str, Any], after: str) -> None:
        if name not in names:
            if not (hasattr(builtins, name) and name in BUILTINS):
                raise UnfollowableError(f"{name} is used", line)
            return
        value = names[name]
        if isinstance(value, ModuleType) and after not in _OF_OBJECT:
            raise UnfollowableError(f"the module {name} is handed on or changed", line)
        self.read(value, line, name)


def _kind(operation: str) -> str:
    return "the attribute" if operation == "STORE_ATTR" else "the global name"


def _is_of_error(instructions: list[dis.Instruction]) -> bool:
    """Tell whether a formatted text goes straight into an error that is raised."""
    if instructions[0].opname not in _INTO_ERROR:
        return False
    for each in instructions[1:]:
        if each.opname == "RAISE_VARARGS":
            return True
        if each.opname.startswith(_ENDS):
            return False
    return False


def _is_none(before: list[dis.Instruction]) -> bool:
    """Tell whether the last operation loads None, with which a value may be compared."""
    return bool(before) and before[-1].opname == "LOAD_CONST" and before[-1].argval is None


def is_own_class(kind: type) -> bool:
    """Tell whether the user wrote a class: its module is one of the user's own files."""
    members = {key: each for key, each in vars(kind).items() if key not in _UNREAD}
    found = [each for each in members.values() if isinstance(each, FunctionType)]
    files = [each.__code__.co_filename for each in found]
    return type(kind) is type and bool(files) and all(map(_is_readable, files))


def _is_unread(name: str, member: Any) -> bool:
    """Tell whether a member is called by nothing that is known, or was written by ``dataclass``."""
    code = getattr(member, "__code__", None)
    generated = name[:2] == "__" and code is not None and code.co_qualname.startswith(_WRITER)
    return name in _UNREAD or generated


def _is_readable(file: str) -> bool:
    return is_own(file) or file == _GENERATED


def _items(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    if isinstance(value, np.ndarray):
        return [*value.ravel().tolist()] if value.dtype.hasobject else []
    return list(value)


def _attributes(value: Any) -> dict[str, Any]:
    """Return the attributes of an instance, those of slots among them."""
    slots = [name for base in type(value).__mro__ for name in getattr(base, "__slots__", ())]
    found = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    return found | dict(getattr(value, "__dict__", {}))


def _cell(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _fingerprint(value: Any, inside: frozenset[int]) -> Any:
    """Return what a value holds, as tuples of plain values; of functions what their cells hold."""
    if isinstance(value, _PLAIN):
        return repr(value)
    if id(value) in inside:
        return id(value)
    inside |= {id(value)}
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return id(value), value.shape, value.dtype.str, value.tobytes()
    return id(value), [_fingerprint(each, inside) for each in _parts_of_state(value)]


def _parts_of_state(value: Any) -> Iterable[Any]:
    """Return what may change in a value, without a look at code."""
    if isinstance(value, list | tuple | dict | deque | set | frozenset | np.ndarray):
        return _items(value)
    if isinstance(value, FunctionType):
        return *map(_cell, value.__closure__ or ()), *vars(value).values()
    if isinstance(value, type) and is_own_class(value):
        return [each for key, each in vars(value).items() if key[:2] != "__"]
    return _attributes(value).values() if is_own_class(type(value)) else ()
