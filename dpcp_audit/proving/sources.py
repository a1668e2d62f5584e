"""The source of a function, checked against the code that runs, and the names that it uses."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import abc
import ast
import builtins
import inspect
import linecache
import math
import sys
import types
import warnings
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.proving.distances import Foreign, Leak, Refusal
from dpcp_audit.proving.exact_numbers import OutsideList

if TYPE_CHECKING:
    from collections.abc import Iterator

FunctionNode = ast.FunctionDef | ast.Lambda
_PLAIN = {int, float, complex, str, bytes, bool, type(None), type(Ellipsis)}


@dataclass(frozen=True, slots=True, eq=False)
class FunctionSource:
    """A function's definition and the function itself, for its globals and closure."""

    node: FunctionNode
    function: types.FunctionType
    file: str

    @property
    def seeds(self) -> bool:
        """Return True if the file seeds a generator anywhere."""
        text = "".join(linecache.getlines(self.file, self.function.__globals__))  # pyright: ignore[reportAttributeAccessIssue]
        found = set[Any]()
        for each in ast.walk(_module(self.file, text)[0]):
            called = getattr(each, "func", None)
            found |= {getattr(each, "attr", None), getattr(called, "id", None)}
            found |= {getattr(each, "name", None)} if isinstance(each, ast.alias) else set()
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


OF_EVERY_CLASS = set(vars(type("_", (Exception,), {"__doc__": ""}))) | {
    "__qualname__", "__firstlineno__", "__static_attributes__", "__annotations__", "__slots__",
    "__abstractmethods__", "_abc_impl", "__parameters__", "__dict__", "_randbelow",
}  # fmt: skip
"""The attributes of a class that does nothing of its own, or that draws no whole numbers."""
_SEEDING = {"seed", "set_state", "setstate", "set_bit_generator"}
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
    """Tell whether a value is a function, a class or a law, and its operators no program's own."""
    law = type(value).__module__ == "scipy.stats._continuous_distns"
    return type(value) in _FUNCTIONS or type(value) is abc.ABCMeta or law


def is_plain(value: Any) -> bool:
    """Tell whether a value is an immutable number or text of Python's or NumPy's own types."""
    numpys = isinstance(value, np.generic) and type(value).__module__ == "numpy"
    return type(value) in _PLAIN or numpys


def admitted(value: Any, name: str, line: int) -> Any:
    """Return a value from outside the function, where it is known for good.

    Numbers, text, tuples, functions and modules are; an array or a list is read as it is now, and
    cannot be changed by the function.

    Raises
    ------
    Refusal
        For any other object.
    """
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
    if isinstance(value, np.dtype) or value is np.r_:
        return value
    if isinstance(value, np.random.Generator | np.random.RandomState):
        raise Leak(
            line,
            f"{name} is a generator of the program's own: whoever knows its seed knows the noise",
            "draw from the rng that is handed in",
        )
    if str(type(value).__module__).startswith(_LIBRARIES):
        return Foreign(value)
    raise Refusal(line, f"{name} is a {type(value).__name__} from outside, which can change")


_LIBRARIES = "diffprivlib.mechanisms."
"""The module of objects that only rules of their own take."""
NARROW = "a cast to a narrow type, whose numbers wrap around, round, or are infinite"
_WIDE = (np.dtype(float), np.dtype(np.int64), np.dtype(bool))


def is_narrow(value: Any) -> bool:
    """Tell whether a value is, or names, a NumPy type other than float64, int64 and bool."""
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype.kind in "biufc" and value.dtype not in _WIDE
    if isinstance(value, str) or (isinstance(value, type) and issubclass(value, np.generic)):
        try:
            with warnings.catch_warnings(action="error"):
                value = np.dtype(value)
        except TypeError:
            return False
        except DeprecationWarning:
            return True
    return isinstance(value, np.dtype) and value.kind in "biufc" and value not in _WIDE


@lru_cache(maxsize=256)
def _module(file: str, text: str) -> tuple[ast.Module, types.CodeType]:
    tree = ast.parse(text)
    return tree, compile(text, file, "exec", dont_inherit=True)


@lru_cache(maxsize=256)
def _functions(tree: ast.Module) -> tuple[FunctionNode, ...]:
    """Return the functions of a file, at any depth."""
    return tuple(each for each in ast.walk(tree) if isinstance(each, FunctionNode))


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from _codes(constant)


def source_of(function: Any, line: int = 0) -> FunctionSource:
    """Return the source of a Python function, if the file says what the function does.

    The file is compiled again and the code compared, so that a function that was changed, made or
    wrapped at run time is noticed.

    Raises
    ------
    Refusal
        If there is no source, or it is another function's.
    """
    if not isinstance(function, types.FunctionType):
        raise Refusal(line, f"{_name(function)} is not known, and has no Python source to read")
    code = function.__code__
    name = _name(function)
    linecache.checkcache(code.co_filename)
    text = "".join(linecache.getlines(code.co_filename, function.__globals__))
    if not text:
        raise Refusal(line, f"{name} has no source file to read")
    try:
        tree, compiled = _module(code.co_filename, text)
    except SyntaxError:
        raise Refusal(line, f"the file of {name} has changed since it was loaded") from None
    if not any(each == code for each in _codes(compiled)):
        raise Refusal(line, f"{name} is not what its file says: it was changed after loading")
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise Refusal(line, f"{name} is a generator or a coroutine")
    node = _node(tree, code, line)
    _check_names(node)
    return FunctionSource(node, function, code.co_filename)


def changed_in(module: types.ModuleType) -> str:
    """Return a name of a module that means something else than its file says; "" where none does.

    What it imports, its functions and the methods of its classes are compared, and the functions
    of NumPy that it uses.
    """
    file = str(module.__file__)
    linecache.checkcache(file)
    tree, compiled = _module(file, "".join(linecache.getlines(file)))
    codes, space = list(_codes(compiled)), vars(module)
    bound: set[str] = set()
    for node in tree.body:
        for name, holds in _bindings(node, space, codes):
            if not holds:
                return name
            bound.add(name)
    shadowed = {name for name in vars(builtins).keys() & space.keys() if not name.startswith("__")}
    if shadowed - bound:
        return min(shadowed - bound)
    used = {each.attr for each in ast.walk(tree) if _is_numpys(each)}  # type: ignore[attr-defined]
    return next((f"np.{name}" for name in sorted(used) if not _is_own(name, space["np"])), "")


def _bindings(
    node: ast.stmt, space: dict[str, Any], codes: list[types.CodeType]
) -> Iterator[tuple[str, bool]]:
    """Return the names that a statement of a module binds, and whether they are bound so now."""
    if isinstance(node, ast.FunctionDef):
        yield node.name, _runs(space.get(node.name), node, space, codes)
    elif isinstance(node, ast.ClassDef):
        yield from _methods(node, space, codes)
    elif isinstance(node, ast.Import):
        for alias in node.names:
            name = alias.name if alias.asname else alias.name.split(".")[0]
            yield alias.name, space.get(alias.asname or name) is sys.modules.get(name)
    elif isinstance(node, ast.ImportFrom) and node.module != "__future__":
        home = sys.modules.get(node.module or "")
        for alias in node.names:
            value = space.get(alias.asname or alias.name)
            agrees = value is getattr(home, alias.name, None)
            yield alias.name, agrees and _is_of(home, alias.name, value)
    elif isinstance(node, ast.Assign) and _is_arithmetic(node.value, space):
        code = compile(ast.Expression(node.value), "", "eval")
        number = eval(code, {"__builtins__": {}}, space)  # noqa: S307  (of numbers alone)
        for name in _targets(node):
            value = space.get(name)
            yield name, type(value) is type(number) and value == number


def _methods(
    node: ast.ClassDef, space: dict[str, Any], codes: list[types.CodeType]
) -> Iterator[tuple[str, bool]]:
    """Return the names that a class binds, and whether they are bound so now."""
    cls = space.get(node.name)
    held: dict[str, Any] = dict(vars(cls)) if isinstance(cls, type) else {}
    said = [ast.unparse(each).rpartition(".")[2] for each in node.bases] or ["object"]
    bases = cls.__bases__ if isinstance(cls, type) else ()
    yield f"the bases of {node.name}", [each.__name__ for each in bases] == said
    for each in node.body:
        if isinstance(each, ast.FunctionDef):
            yield (
                f"{node.name}.{each.name}",
                _runs(held.pop(each.name, None), each, space, codes, cls),
            )
        for name in _targets(each):
            held.pop(name, None)
    yield from ((f"{node.name}.{name}", name in OF_EVERY_CLASS) for name in held)


def _targets(node: ast.stmt) -> list[str]:
    """Return the names that a statement assigns."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [each.id for each in targets if isinstance(each, ast.Name)]


_BISECT = "bisect_right"
"""The name of the function that ``random`` imports as bisect."""


def _is_of(home: Any, name: str, value: Any) -> bool:
    """Tell whether a value may be what a module calls so: no function of another program's."""
    if isinstance(value, types.FunctionType):
        folder = Path(getattr(home, "__file__", None) or "/none").parent
        return Path(value.__code__.co_filename).is_relative_to(folder)
    if isinstance(value, types.BuiltinFunctionType | type):
        return value.__name__ in {name, _BISECT}
    return type(value).__module__ in {"builtins", "numpy"} and not callable(value)


def _is_arithmetic(node: ast.expr, space: dict[str, Any]) -> bool:
    """Tell whether an expression is of numbers, and of functions of C."""
    names = [space.get(each.id) for each in ast.walk(node) if isinstance(each, ast.Name)]
    kinds = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.Name, ast.Load)
    numbers = all(isinstance(each, (*kinds, ast.Call)) for each in ast.walk(node))
    known = (int, float, types.BuiltinFunctionType)
    return numbers and all(isinstance(each, known) for each in names)


def _runs(
    value: Any,
    node: ast.FunctionDef,
    space: dict[str, Any],
    codes: list[types.CodeType],
    cls: Any = None,
) -> bool:
    """Tell whether a function, or a method of any kind, runs the code of its definition."""
    if type(value) is property:
        value = value.fget
    elif type(value) in {staticmethod, classmethod}:
        value = value.__func__
    if type(value) is not types.FunctionType or not _starts(node, value.__code__):
        return False
    seen = [each.cell_contents for each in value.__closure__ or ()]
    if value.__globals__ is not space or any(each is not cls for each in seen):
        return False  # super() sees the class itself
    given = {*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()}
    said = [*node.args.defaults, *(each for each in node.args.kw_defaults if each is not None)]
    return value.__code__ in codes and len(given) <= len(said) and all(map(is_plain, given))


def _is_numpys(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and getattr(node.value, "id", None) == "np"


_MADE_BY_PYTHON = 1 << 9
"""The flag of types that a class statement makes (Py_TPFLAGS_HEAPTYPE): of C's own few have it."""
_NUMPYS = dict(vars(np))
"""What NumPy's names mean when the verifier is loaded."""


def _is_own(name: str, numpy: Any) -> bool:
    """Tell whether a name of NumPy's means what it did when the verifier was loaded: code of C."""
    if numpy is not np or name not in _NUMPYS or vars(np).get(name) is not _NUMPYS[name]:
        return False
    value: Any = _NUMPYS[name]
    if type(value) is types.ModuleType:
        return value is sys.modules.get(f"numpy.{name}")
    if type(value) is float:
        return value == {"pi": math.pi, "e": math.e, "inf": math.inf}.get(name)
    of_c = not type(value).__flags__ & _MADE_BY_PYTHON
    return of_c and callable(value) and getattr(value, "__name__", "") == name


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
    found = [node for node in _functions(tree) if _starts(node, code)]
    if len(found) != 1:
        raise Refusal(line, f"{code.co_name} is one of several functions in one line")
    return found[0]


def _starts(node: FunctionNode, code: types.CodeType) -> bool:
    if isinstance(node, ast.Lambda):
        return code.co_name == "<lambda>" and node.lineno == code.co_firstlineno
    first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
    return node.name == code.co_name and first == code.co_firstlineno


def _name(function: Any) -> str:
    return str(getattr(function, "__qualname__", None) or type(function).__name__)


@lru_cache(maxsize=1024)
def locals_of(node: FunctionNode) -> frozenset[str]:
    """Return the names that a function assigns, or takes as arguments.

    Raises
    ------
    Refusal
        For a global or nonlocal statement.
    """
    found = {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
    waiting: list[ast.AST] = list(node.body) if isinstance(node, ast.FunctionDef) else []
    while waiting:
        each = waiting.pop()
        if isinstance(each, ast.Global | ast.Nonlocal):
            raise Refusal(each.lineno, "a name of another function or of the module is assigned")
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
        waiting.extend(ast.iter_child_nodes(each))
    return frozenset(found)
