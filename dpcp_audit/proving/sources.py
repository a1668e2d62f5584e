"""Functions and classes from outside: their source, checked against the code that runs; objects.

A function is read from its signature on: records come first, and the generator by its name. Names
of its module and closure mean what they mean now. An attribute of an object is looked up as Python
does: a property of the class, then the object's own, then the class's. Classes that change how this
is done are refused.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import abc
import ast
import dataclasses
import inspect
import linecache
import types
import warnings
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.proving.distances import (
    BoundMethod,
    Generator,
    Leak,
    Records,
    Reference,
    Refusal,
    Value,
    tokens,
)
from dpcp_audit.proving.exact_numbers import OutsideList
from dpcp_audit.proving.paths import Contents, Frame
from dpcp_audit.words.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from fractions import Fraction

    from dpcp_audit.proving.interpreter import Reader
    from dpcp_audit.proving.paths import Interpreter


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
    raise Refusal(line, f"{name} is a {type(value).__name__} from outside, which can change")


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
    found = [node for node in ast.walk(tree) if _starts(node, code)]
    if len(found) != 1 or not isinstance(found[0], FunctionNode):
        raise Refusal(line, f"{code.co_name} is one of several functions in one line")
    return found[0]


def _starts(node: ast.AST, code: types.CodeType) -> bool:
    if isinstance(node, ast.Lambda):
        return code.co_name == "<lambda>" and node.lineno == code.co_firstlineno
    if isinstance(node, ast.FunctionDef):
        first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
        return node.name == code.co_name and first == code.co_firstlineno
    return False


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


def all_records(bounds: tuple[Fraction, Fraction]) -> Records:
    """Return the records between these bounds, each at its own place."""
    return Records(*bounds, next(tokens), placed=True, itself=True)


GENERATORS = frozenset({"rng", "random_state", "generator", "prng"})
"""Arguments of a function that are read as the generator it draws from."""


def returned_by(
    reader: Reader,
    function: Any,
    source: FunctionSource,
    first: Value,
    options: Mapping[str, Any],
) -> Value:
    """Read the function's body on this first argument, and return its value."""
    node = source.node
    reader.line, reader.file = node.lineno, source.file
    given = dict(defaults_of(function, node.lineno))
    given |= {name: admitted(value, name, node.lineno) for name, value in options.items()}
    signature = inspect.signature(function, follow_wrapped=False)
    unknown = options.keys() - signature.parameters.keys()
    if unknown:
        known = ", ".join(signature.parameters) or "nothing"
        raise UsageError(
            f"options must be arguments of the function, got {sorted(unknown)}",
            hint=f"it takes {known}",
        )
    if len((GENERATORS - options.keys()) & signature.parameters.keys()) > 1:
        raise Refusal(node.lineno, "more than one argument may be the generator")
    args: list[Value] = []
    kw: dict[str, Value] = {}
    for position, (name, parameter) in enumerate(signature.parameters.items()):
        value = given.get(name)
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD} and (
            position == 0 or name in GENERATORS or parameter.kind is parameter.VAR_KEYWORD
        ):
            raise Refusal(node.lineno, f"the records or the generator may be in {name}")
        if position == 0:
            value = first
        elif name in GENERATORS and name not in options:
            value = Generator(name)
        elif name not in given:
            continue
        if parameter.kind is parameter.KEYWORD_ONLY:
            kw[name] = value
        elif parameter.kind in {parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD}:
            args.append(value) if len(args) == position else kw.update({name: value})
    reader.path.frames[0] = Frame({}, source, None, locals_of(node))
    returned = reader.inline(source, node, (), args, kw)
    reader.line = node.lineno
    return returned


_HOOKS = {
    "__new__", "__getattr__", "__getattribute__", "__setattr__", "__delattr__", "__del__",
    "__init_subclass__", "__set_name__", "__slots__", "__prepare__",
}  # fmt: skip
_MISSING = object()
_FACTORIES: dict[Any, str] = {list: "list", dict: "dict"}


def construct(reader: Interpreter, cls: type, args: list[Value], kw: dict[str, Value]) -> Value:
    """Return a new object of a class that is written in Python."""
    if reader.each_record:
        raise reader.refuse("an object is made for each record")
    _check(reader, cls)
    made = reader.path.store(Contents("object", (), (), of=cls))
    initialise = _of_class(cls, "__init__")
    if _is_generated(cls, "__init__"):
        _fill(reader, made, cls, args, kw)
    elif isinstance(initialise, types.FunctionType):
        if _inlined(reader, initialise, [made, *args], kw) is not None:
            raise reader.refuse("__init__ returns a value")
    elif args or kw or initialise is not _MISSING:
        raise reader.refuse(f"the class {cls.__name__} takes no arguments, or is not followed")
    return made


def from_outside(reader: Interpreter, owner: Any) -> Reference:
    """Return an object that was made before, with the attributes that it has now."""
    _check(reader, type(owner))
    held = {name: admitted(each, name, reader.line) for name, each in vars(owner).items()}
    return reader.path.store(Contents("object", tuple(held.values()), tuple(held), of=type(owner)))


def _check(reader: Interpreter, cls: type) -> None:
    """Refuse a class whose objects do not behave as plain ones."""
    for each in cls.__mro__[:-1]:
        hooks = {name for name in _HOOKS & vars(each).keys() if not _is_generated(each, name)}
        if type(each) is not type or hooks or each.__module__ == "builtins":
            raise reader.refuse(f"the class {cls.__name__} is not followed")


def _of_class(cls: type, name: str) -> Any:
    """Return what the class, or a base, has under a name."""
    found = (vars(each)[name] for each in cls.__mro__[:-1] if name in vars(each))
    return next(found, _MISSING)


def _is_generated(cls: type, name: str) -> bool:
    """Tell whether a method is the one that ``dataclass`` writes for these fields."""
    method = vars(cls).get(name)
    params = vars(cls).get("__dataclass_params__")
    if params is None or not isinstance(method, types.FunctionType):
        return False
    twin = vars(_twin(cls, params.frozen)).get(name)
    if not isinstance(twin, types.FunctionType) or method.__code__ != twin.__code__:
        return False
    mine, theirs = _constants(method), _constants(twin)
    return name != "__init__" or all(mine.get(each) is theirs[each] for each in theirs)


def _twin(cls: type, frozen: bool) -> type:  # noqa: FBT001
    fields = [
        (
            each.name,
            each.type,
            dataclasses.field(
                default=each.default,
                default_factory=each.default_factory,
                init=each.init,
                kw_only=each.kw_only,
            )
            if each.default_factory is dataclasses.MISSING
            else dataclasses.field(default_factory=each.default_factory, kw_only=each.kw_only),
        )
        for each in dataclasses.fields(cls)
    ]
    after = {"__post_init__": object.__init__} if hasattr(cls, "__post_init__") else {}
    return dataclasses.make_dataclass(cls.__name__, fields, frozen=frozen, namespace=after)


def _constants(function: types.FunctionType) -> dict[Any, Any]:
    """Return what a generated function takes its defaults from."""
    names, cells = function.__code__.co_freevars, function.__closure__ or ()
    held = {name: cell.cell_contents for name, cell in zip(names, cells, strict=True)}
    by_place = dict(enumerate(function.__defaults__ or ()))
    of_fields = {name: value for name, value in held.items() if "dflt" in name}
    return of_fields | by_place | (function.__kwdefaults__ or {})


def _fill(
    reader: Interpreter, made: Reference, cls: type, args: list[Value], kw: dict[str, Value]
) -> None:
    """Set the fields of a dataclass."""
    fields = dataclasses.fields(cls)
    names = [each.name for each in fields if not each.kw_only]
    given = dict(zip(names, args, strict=False)) | kw
    if len(args) > len(names) or len(given) < len(args) + len(kw):
        raise reader.refuse("raises TypeError: too many arguments")
    if given.keys() - {each.name for each in fields} or not all(each.init for each in fields):
        raise reader.refuse(f"arguments of the dataclass {cls.__name__}")
    for each in fields:
        if each.name in given:
            value = given[each.name]
        elif each.default is not dataclasses.MISSING:
            value = admitted(each.default, each.name, reader.line)
        elif any(each.default_factory is one for one in _FACTORIES):
            made_of: Any = each.default_factory
            value = reader.path.store(Contents(_FACTORIES[made_of], ()))
        else:
            raise reader.refuse(f"the field {each.name} has no value")
        if hasattr(type(_of_class(cls, each.name)), "__set__"):
            raise reader.refuse(f"the field {each.name} is also a property")
        _set(reader, made, each.name, value)
    after = _of_class(cls, "__post_init__")
    if isinstance(after, types.FunctionType):
        _inlined(reader, after, [made], {})
    elif after is not _MISSING:
        raise reader.refuse("__post_init__ is no function")


def _inlined(
    reader: Interpreter, function: types.FunctionType, args: list[Value], kw: dict[str, Value]
) -> Value:
    source = source_of(function, reader.line)
    return reader.inline(source, source.node, defaults_of(function, reader.line), args, kw)


def attribute(reader: Interpreter, owner: Reference, name: str) -> Value:
    """Return an attribute of an object."""
    cells = reader.cells(owner)
    of_class = _of_class(cells.of, _plainly(reader, name))
    getter = of_class.fget if type(of_class) is property else None
    if isinstance(getter, types.FunctionType):
        return _inlined(reader, getter, [owner], {})
    if name in cells.keys:
        return cells.items[cells.keys.index(name)]
    if isinstance(of_class, types.FunctionType):
        return BoundMethod(owner, name)
    if isinstance(of_class, staticmethod):
        return of_class.__func__
    if of_class is _MISSING or hasattr(type(of_class), "__get__"):
        raise reader.refuse(f"the attribute {name} has no value yet, or is not followed")
    return admitted(of_class, name, reader.line)


def _plainly(reader: Interpreter, name: str) -> str:
    if name.startswith("__"):
        raise reader.refuse(f"the attribute {name} is not followed")
    return name


def method(
    reader: Interpreter, owner: Reference, name: str, args: list[Value], kw: dict[str, Value]
) -> Value:
    """Return the result of a method."""
    found = _of_class(reader.cells(owner).of, name)
    return _inlined(reader, found, [owner, *args], kw)


def set_attribute(reader: Interpreter, owner: Value, name: str, value: Value) -> None:
    """Assign an attribute of an object."""
    if not isinstance(owner, Reference) or reader.cells(owner).kind != "object":
        raise reader.refuse("an attribute is assigned")
    if reader.each_record:
        raise reader.refuse("something is stored for each record")
    cls = reader.cells(owner).of
    of_class = _of_class(cls, _plainly(reader, name))
    if _of_class(cls, "__setattr__") is not _MISSING or hasattr(type(of_class), "__set__"):
        raise reader.refuse(f"raises AttributeError: {name} cannot be assigned")
    _set(reader, owner, name, value)


def _set(reader: Interpreter, owner: Reference, name: str, value: Value) -> None:
    cells = reader.cells(owner)
    if name in cells.keys:
        at = cells.keys.index(name)
        found = replace(cells, items=(*cells.items[:at], value, *cells.items[at + 1 :]))
    else:
        found = replace(cells, items=(*cells.items, value), keys=(*cells.keys, name))
    reader.path.heap[owner.address] = found
