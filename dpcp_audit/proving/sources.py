"""The source of a function, checked against the code that runs, and the names that it uses."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import abc
import ast
import inspect
import linecache
import sys
import types
import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.proving.distances import Leak, Refusal
from dpcp_audit.proving.exact_numbers import OutsideList

if TYPE_CHECKING:
    from collections.abc import Iterator

FunctionNode = ast.FunctionDef | ast.Lambda
_PLAIN = {int, float, complex, str, bytes, bool, type(None), type(Ellipsis)} | set(
    np.sctypeDict.values()
)


@dataclass(frozen=True, slots=True, eq=False)
class FunctionSource:
    """A function's definition and the function itself, for its globals and closure."""

    node: FunctionNode
    function: types.FunctionType
    file: str

    def seeds(self, *read: ast.AST) -> bool:
        """Return True if the file seeds a generator anywhere but in statements that are read."""
        text = "".join(linecache.getlines(self.file, self.function.__globals__))  # pyright: ignore[reportAttributeAccessIssue]
        found, waiting = set[Any](), list[ast.AST]([compiled_module(self.file, text)[0]])
        while waiting:
            each = waiting.pop()
            maker = getattr(getattr(each, "value", None), "func", None)
            made = "Generator" in {getattr(maker, "attr", None), getattr(maker, "id", None)}
            attribute = getattr(each, "attr", None)
            found |= {None if made and attribute == "manual_seed" else attribute}
            found |= {getattr(getattr(each, "func", None), "id", None)}
            found |= {getattr(each, "name", None)} if isinstance(each, ast.alias) else set()
            waiting += [one for one in ast.iter_child_nodes(each) if one not in read]
        return not _SEEDING.isdisjoint(found)

    def outside(self, name: str, line: int) -> Any:
        """Return the value of a name that is not local: of the closure, a global or a builtin.

        Raises
        ------
        Refusal
            If there is none, or it can change.
        """
        code = self.function.__code__
        cells = dict(zip(code.co_freevars, self.function.__closure__ or (), strict=True))
        if name in cells:
            try:
                return admitted(cells[name].cell_contents, name, line)
            except ValueError:
                raise Refusal(line, f"{name} has no value yet") from None
        builtins = getattr(self.function, "__builtins__")  # noqa: B009  (type checkers differ)
        for space in (self.function.__globals__, builtins):  # pyright: ignore[reportAttributeAccessIssue]
            if name in space:
                return admitted(space[name], name, line)
        raise Refusal(line, f"the name {name} is not defined")


_SEEDING = {
    "seed", "set_state", "setstate", "set_bit_generator", "manual_seed", "set_rng_state",
    "seed_everything", "set_seed", "fork_rng", "default_generator",
}  # fmt: skip
_FUNCTIONS = {
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    type(np.sum),
    type(np.random.normal),
    type(np.random.default_rng),
    type(np.concatenate),
    np.ufunc,
    type,
}


def is_function(value: Any) -> bool:
    """Return True for a function, a class or a law whose operators are no program's own."""
    return type(value) in _FUNCTIONS or type(value) is abc.ABCMeta or is_law(value)


def is_law(value: Any) -> bool:
    """Return True if a value is a law of scipy.stats, of a class of SciPy's own."""
    homes = map(sys.modules.get, ("scipy.stats._continuous_distns", "scipy.stats._discrete_distns"))
    return any(home and vars(home).get(type(value).__name__) is type(value) for home in homes)


def is_space(value: Any) -> bool:
    """Return True if a value is of OpenDP's classes of domains, distances and measures."""
    home = sys.modules.get("opendp.mod")
    known = {"AtomDomain", "VectorDomain", "Metric", "Measure"} & {type(value).__name__}
    return home is not None and any(vars(home).get(each) is type(value) for each in known)


def is_plain(value: Any) -> bool:
    """Return True if a value is an immutable number or text of Python's or NumPy's own types."""
    return type(value) in _PLAIN


def admitted(value: Any, name: str, line: int) -> Any:
    """Return a value from outside the function, where it is known for good.

    Numbers, text, tuples, functions and modules are; an array or a list is read as it is now, and
    cannot be changed by the function.

    Raises
    ------
    Refusal
        If it is any other object.
    """
    if is_dimensionless(value):
        raise Refusal(line, f"{name} is {DIMENSIONLESS}")
    if isinstance(value, np.ndarray | np.generic) and is_narrow(value):
        raise Refusal(line, f"{name} is of a narrow type, whose numbers wrap around", "use int")
    if is_plain(value) or isinstance(value, types.ModuleType) or is_function(value):
        return value
    if isinstance(value, tuple) and type(value) is tuple:
        return tuple(admitted(each, name, line) for each in value)
    if type(value) is list:
        return OutsideList(admitted(each, name, line) for each in value)
    if type(value) is np.ndarray and value.dtype.kind in "biuf":
        frozen = value.copy()
        frozen.flags.writeable = False
        return frozen
    kept = isinstance(value, np.dtype) or value is np.r_ or is_space(value)
    if kept or _is_of_torch(value):
        return value
    if isinstance(value, np.random.Generator | np.random.RandomState):
        raise Leak(
            line,
            f"{name} is a generator of the program's own: whoever knows its seed knows the noise",
            "draw from the rng that is handed in",
        )
    raise Refusal(line, f"{name} is a {type(value).__name__} from outside, which can change")


_MADE_BY_PYTHON = 1 << 9
"""The flag of types that a class statement makes (Py_TPFLAGS_HEAPTYPE)."""


def _is_of_torch(value: Any) -> bool:
    """Return True of PyTorch's types of numbers, and of its class of generators."""
    torch: Any = sys.modules.get("torch")
    kinds: list[Any] = [getattr(torch, name, None) for name in ("dtype", "Generator")]
    known = type(value) is kinds[0] or value is kinds[1]
    return known and all(not each.__flags__ & _MADE_BY_PYTHON for each in kinds)


DIMENSIONLESS = "an array of no dimension: += changes it in place, under all of its names"


def is_dimensionless(value: Any) -> bool:
    """Return True if a value is an array of no dimension, which is not as numbers are."""
    return isinstance(value, np.ndarray) and not value.ndim


NARROW = "a cast to a narrow type, whose numbers wrap around, round, or are infinite"
_WIDE = (np.dtype(float), np.dtype(np.int64), np.dtype(bool))


def is_narrow(value: Any) -> bool:
    """Return True if a value is, or names, a NumPy type other than float64, int64 and bool."""
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype.kind in "biufc" and value.dtype not in _WIDE
    if isinstance(value, str) or (isinstance(value, type) and issubclass(value, np.generic)):
        try:
            with warnings.catch_warnings(action="error"):
                value = np.dtype(value)
        except (TypeError, ValueError, SyntaxError):
            return False
        except DeprecationWarning:
            return True
    return isinstance(value, np.dtype) and value.kind in "biufc" and value not in _WIDE


@lru_cache(maxsize=256)
def compiled_module(file: str, text: str) -> tuple[ast.Module, types.CodeType]:
    """Return a file's definitions, and its code, compiled again."""
    tree = ast.parse(text)
    return tree, compile(text, file, "exec", dont_inherit=True)


@lru_cache(maxsize=256)
def _functions(tree: ast.Module) -> tuple[FunctionNode, ...]:
    """Return the functions of a file, at any depth."""
    return tuple(each for each in ast.walk(tree) if isinstance(each, FunctionNode))


def codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield the code of each function that is defined in this one, at any depth."""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from codes_in(constant)


def source_of(function: Any, line: int = 0) -> FunctionSource:
    """Return the source of a Python function, if the file says what the function does.

    The file is compiled again and the code compared, so that a function that was changed, made or
    wrapped at run time is noticed.

    Raises
    ------
    Refusal
        If there is no source, or it is another function's.
    """
    function, _ = of_owner(function)
    if not isinstance(function, types.FunctionType):
        raise Refusal(line, unread(function))
    if np.geterr()["under"] != "ignore":
        raise Refusal(
            line,
            "NumPy raises an error, or warns, where the data's numbers underflow (np.seterr)",
            "np.seterr(under='ignore'), as it is by default",
        )
    code = function.__code__
    name = function_name(function)
    linecache.checkcache(code.co_filename)
    text = "".join(linecache.getlines(code.co_filename, function.__globals__))
    if not text:
        raise Refusal(line, f"{name} has no source file to read")
    try:
        tree, compiled = compiled_module(code.co_filename, text)
    except SyntaxError:
        raise Refusal(line, f"the file of {name} has changed since it was loaded") from None
    if not any(each == code for each in codes_in(compiled)):
        raise Refusal(line, f"{name} is not what its file says: it was changed after loading")
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise Refusal(line, f"{name} is a generator or a coroutine")
    node = _node(tree, code, line)
    _check_names(node)
    return FunctionSource(node, function, code.co_filename)


def _check_names(node: FunctionNode) -> None:
    """Refuse names such as ``__x``: inside of a class they mean ``_Class__x``."""
    for each in ast.walk(node):
        for kind in ("id", "arg", "attr", "name", "asname"):
            name = getattr(each, kind, None) or ""
            if name.startswith("__") and not name.endswith("__"):
                raise Refusal(node.lineno, f"the name {name} means another one inside of a class")


def defaults_of(target: types.FunctionType, line: int) -> tuple[tuple[str, Any], ...]:
    """Return the defaults of a function, which must not be changeable."""
    code, given = target.__code__, target.__defaults__ or ()
    names = code.co_varnames[code.co_argcount - len(given) : code.co_argcount]
    pairs = [*zip(names, given, strict=True), *(target.__kwdefaults__ or {}).items()]
    return tuple((name, admitted(value, name, line)) for name, value in pairs)


def _node(tree: ast.Module, code: types.CodeType, line: int) -> FunctionNode:
    found = [node for node in _functions(tree) if starts_at(node, code)]
    if len(found) != 1:
        raise Refusal(line, f"{code.co_name} is one of several functions in one line")
    return found[0]


def starts_at(node: FunctionNode, code: types.CodeType) -> bool:
    """Return True if code may be that of a definition: its name and its first line are."""
    if isinstance(node, ast.Lambda):
        return code.co_name == "<lambda>" and node.lineno == code.co_firstlineno
    first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
    return node.name == code.co_name and first == code.co_firstlineno


def of_owner(function: Any) -> tuple[Any, list[Any]]:
    """Return a method's function and its object; of an object that is called its method."""
    if isinstance(function, types.MethodType):
        return function.__func__, [function.__self__]
    plain = isinstance(function, types.FunctionType | types.BuiltinFunctionType | type)
    called = None if plain else getattr(type(function), "__call__", None)  # noqa: B004
    return (called, [function]) if isinstance(called, types.FunctionType) else (function, [])


def unread(function: Any) -> str:
    """Return why something that is called is not read: it is no function of Python."""
    name = function_name(function)
    if of_owner(function)[1]:
        return f"{name} belongs to an object from outside, which may change between two calls"
    return f"{name} is not known, and has no Python source to read"


def function_name(function: Any) -> str:
    """Return a function's name; of an object that is called its class's."""
    return str(getattr(function, "__qualname__", None) or type(function).__name__)


@lru_cache(maxsize=1024)
def locals_of(node: FunctionNode) -> frozenset[str]:
    """Return the names that a function assigns, or takes as arguments, and that are its own.

    Raises
    ------
    Refusal
        If there is a global statement.
    """
    given = {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
    body = node.body if isinstance(node, ast.FunctionDef) else []
    return frozenset((given | assigned_in(body)) - names_of_others(node))


@lru_cache(maxsize=1024)
def names_of_others(node: FunctionNode) -> frozenset[str]:
    """Return the names of functions around it that a function assigns: its nonlocal ones."""
    found, waiting = set[str](), list(ast.iter_child_nodes(node))
    while waiting:
        each = waiting.pop()
        if isinstance(each, ast.Nonlocal):
            found.update(each.names)
        if not isinstance(each, FunctionNode):
            waiting.extend(ast.iter_child_nodes(each))
    return frozenset(found)


@lru_cache(maxsize=1024)
def names_lent(node: FunctionNode) -> frozenset[str]:
    """Return the names of a function that functions within it assign."""
    inner = (each for each in ast.walk(node) if isinstance(each, ast.Nonlocal))
    return frozenset(name for each in inner for name in each.names) - names_of_others(node)


def names_in(*nodes: ast.AST, use: type[ast.expr_context] = ast.expr_context) -> set[str]:
    """Return the names that stand in nodes, in any use, or as read (Load) or assigned (Store)."""
    found = (each for node in nodes for each in ast.walk(node) if isinstance(each, ast.Name))
    return {each.id for each in found if isinstance(each.ctx, use)}


def assigned_in(body: list[ast.stmt]) -> set[str]:
    """Return the names that statements assign, bind or delete."""
    found = set[str]()
    waiting: list[ast.AST] = list(body)
    while waiting:
        each = waiting.pop()
        if isinstance(each, ast.Global):
            raise Refusal(each.lineno, "a name of the module is assigned")
        if isinstance(each, ast.FunctionDef | ast.ClassDef):
            found.add(each.name)
            continue
        if isinstance(each, ast.Lambda):
            continue
        if isinstance(each, ast.comprehension):
            waiting.extend([each.iter, *each.ifs])
            continue
        if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load):
            found.add(each.id)
        if isinstance(each, ast.alias):
            found.add(each.asname or each.name.partition(".")[0])
        if isinstance(each, ast.ExceptHandler) and each.name is not None:
            found.add(each.name)
        waiting.extend(ast.iter_child_nodes(each))
    return found
