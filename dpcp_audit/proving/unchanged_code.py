"""Code of libraries: whether what a module's names mean now is what its file says.

The file's definitions are made anew, and compared with what the names of the loaded module mean:
code, defaults, closures, the attributes of classes, and values. What a module imports is compared
with what its home calls so.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import ast
import builtins
import ctypes
import importlib.metadata
import linecache
import math
import sys
import types
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.proving.sources import codes_in, is_plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcp_audit.proving.reading import Interpreter

_OF_IMPORT = {
    "__builtins__", "__cached__", "__doc__", "__file__", "__loader__", "__name__", "__package__",
    "__path__", "__spec__", "__warningregistry__", "__annotations__",
}  # fmt: skip
"""Names that the import of a module binds, or warnings."""
_OF_EVERY_CLASS = {
    "__dict__", "__weakref__", "__doc__", "_abc_impl", "__annotations__", "__firstlineno__",
    "__static_attributes__", "__parameters__", "__ctype_be__", "__ctype_le__",
}  # fmt: skip
"""Attributes of a class that are Python's own."""
_STATE = {
    "GLOBAL_FEATURES", "_dependencies", "_np_csprng", "_buffer_pos", "_inst",
    "_c_functype_cache",
}  # fmt: skip
"""Names of what may change while a program runs, and is compared elsewhere or nowhere needed."""


@dataclass(frozen=True, slots=True)
class _File:
    """What a file defines, and the builtins and the names with an attribute that it uses."""

    made: dict[str, Any]
    tree: ast.Module
    codes: list[types.CodeType]
    builtins: list[str]
    used: list[tuple[str, str]]


def home_of(reader: Interpreter, name: str, version: str) -> Path:
    """Return the folder of an installed library; refuse one of a version that is not known."""
    try:
        found = importlib.metadata.version(name)
        place = importlib.metadata.distribution(name).locate_file(name)
    except importlib.metadata.PackageNotFoundError:
        raise reader.refuse(f"{name} is not installed, and yet in use") from None
    if not found.startswith(version):
        raise reader.refuse(f"{name} {found} is not known", f"it is known as {version.rstrip('.')}")
    return Path(str(place)).resolve()


def require_unchanged(reader: Interpreter, *modules: types.ModuleType) -> None:
    """Refuse modules of which a name means something else than their files say."""
    for module in modules:
        changed = changed_in(module)
        if changed:
            raise reader.refuse(f"{changed} of {module.__name__} is not what its file says")


def changed_in(module: types.ModuleType) -> str:
    """Return a name of a module that means something else than its file says; "" where none does.

    Builtins and functions of NumPy that the module uses must be of C, and NumPy's own.
    """
    if type(module) is not types.ModuleType:
        return "__class__"
    file = str(module.__file__)
    linecache.checkcache(file)
    said, now = _made_anew(module.__name__, file, "".join(linecache.getlines(file))), vars(module)
    compared = _Compared(now, said.codes)
    for name in sorted((now.keys() | said.made.keys()) - _OF_IMPORT - _STATE):
        value = now.get(name)
        if type(value) is types.ModuleType and name not in said.made:
            if value is not sys.modules.get(f"{module.__name__}.{name}"):
                return name
        elif name not in now or name not in said.made or not compared.alike(value, said.made[name]):
            return name
    changed = [name for name in said.builtins if not _is_of_c(vars(builtins)[name])]
    return next(iter([*changed, *_strangers(said, now)]), "")


@lru_cache(maxsize=64)
def _made_anew(name: str, file: str, text: str) -> _File:
    """Return the definitions of a file, made again; what the file only does is left out."""
    tree = ast.parse(text)
    compiled = compile(
        ast.Module(list(_definitions(tree.body)), []), file, "exec", dont_inherit=True
    )
    made = types.ModuleType(name)
    package = name if Path(file).name == "__init__.py" else name.rpartition(".")[0]
    vars(made).update({"__file__": file, "__package__": package})
    exec(compiled, vars(made))  # noqa: S102  (as the import did)
    codes = list(codes_in(compiled))
    used = {each for code in (compiled, *codes) for each in code.co_names}
    named = {
        (each.value.id, each.attr)
        for each in ast.walk(tree)
        if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name)
    }
    return _File(vars(made), tree, codes, sorted(used & vars(builtins).keys()), sorted(named))


def _definitions(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that bind names."""
    for each in body:
        if isinstance(each, ast.If):
            body = [*_definitions(each.body), ast.copy_location(ast.Pass(), each)]
            other = list(_definitions(each.orelse))
            yield ast.copy_location(ast.If(each.test, body, other), each)
        elif not isinstance(each, ast.Expr):
            yield each


class _Compared:
    """What the names of a module mean, beside what its file makes of them."""

    def __init__(self, space: dict[str, Any], codes: list[types.CodeType]) -> None:
        self.space, self.codes = space, codes
        self.seen: dict[tuple[int, int], tuple[Any, Any]] = {}

    def alike(self, now: Any, made: Any) -> bool:
        """Return True if two objects do the same."""
        if now is made or (id(now), id(made)) in self.seen:
            return True
        self.seen[id(now), id(made)] = now, made  # which keeps both, and so their names
        if all(isinstance(each, type) for each in (now, made)):
            return self._classes(now, made)
        kind = type(now)
        if kind is not type(made):
            return self.alike(kind, type(made)) and self._values(now, made)
        if kind is types.FunctionType:
            return self._functions(now, made)
        if kind in {list, tuple}:
            return len(now) == len(made) and all(map(self.alike, now, made))
        if kind in {dict, types.MappingProxyType}:
            return now.keys() == made.keys() and all(self.alike(now[k], made[k]) for k in made)
        if kind in _PARTS:
            parts = [[getattr(one, each) for each in _PARTS[kind]] for one in (now, made)]
            return self.alike(*parts)
        return self._values(now, made)

    def _functions(self, now: types.FunctionType, made: types.FunctionType) -> bool:
        """Return True if a function has a definition of the file, and its defaults and closure."""
        if now.__code__ != made.__code__ or now.__globals__ is not self.space:
            return False
        held: list[list[Any]] = []
        for one in (now, made):
            cells = [each.cell_contents for each in one.__closure__ or ()]
            space = getattr(one, "__builtins__")  # noqa: B009  (type checkers differ)
            given = [one.__defaults__, one.__kwdefaults__, vars(one).get("__wrapped__")]
            held.append([*cells, *given, space])
        return now.__code__ in self.codes and self.alike(*held)

    def _classes(self, now: type, made: type) -> bool:
        """Return True if two classes have the same bases and attributes."""
        apart = _OF_EVERY_CLASS | _STATE
        held = [{k: v for k, v in vars(one).items() if k not in apart} for one in (now, made)]
        heads = [[type(one), *one.__bases__] for one in (now, made)]
        return now.__name__ == made.__name__ and self.alike(*heads) and self.alike(*held)

    def _values(self, now: Any, made: Any) -> bool:
        """Return True if two objects of one class hold the same."""
        if isinstance(now, _C_FUNCTION):
            calls_back = made._objects  # noqa: SLF001
            return bool(calls_back) or _address(now) == _address(made)
        if isinstance(now, ctypes.CDLL):
            return self._of_c(vars(now), vars(made), made)
        if type(made) is types.BuiltinFunctionType:
            kinds = [type(each.__self__) for each in (now, made)]
            return now.__name__ == made.__name__ and self.alike(*kinds)
        if getattr(made, "__wrapped__", None):
            return self.alike(now.__wrapped__, made.__wrapped__)
        held = getattr(now, "__dict__", None)
        if held:
            return self.alike(held, vars(made))
        plainly = is_plain(now) or type(now) in {set, frozenset}
        return bool(now == made) if plainly else repr(now) == repr(made)

    def _of_c(self, now: dict[str, Any], made: dict[str, Any], library: Any) -> bool:
        """Return True if two handles are of one library, and each name is its own function."""
        for name, function in now.items():
            if name not in {"_name", "_handle", "_FuncPtr"}:
                own = isinstance(function, _C_FUNCTION) and function.errcheck is None
                if not own or _address(function) != _address(library[name]):
                    return False
        return self.alike(now["_FuncPtr"], made["_FuncPtr"]) and now["_handle"] == made["_handle"]


_C_FUNCTION: Any = type(ctypes.pythonapi.Py_IncRef).__mro__[1]
"""The class of functions of C that ``ctypes`` calls."""
_PARTS: dict[type, tuple[str, ...]] = {
    property: ("fget", "fset", "fdel"),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    types.MethodType: ("__func__",),
}
"""Descriptors, and what they are made of."""


def _address(function: Any) -> int | None:
    """Return the address of a function of C."""
    return ctypes.c_void_p.from_buffer(function).value


def is_plain_of_c(kind: type) -> bool:
    """Return True if a class of pointers or arrays has no attributes but those of its kind."""
    return vars(kind).keys() <= _OF_POINTERS


_OF_POINTERS = {"_type_", "_length_", "__module__", "__dict__", "__weakref__", "__doc__"}
"""The attributes that ``ctypes`` gives such a class."""


# ---------------------------------------------------------------------- what a module uses


def _strangers(said: _File, space: dict[str, Any]) -> Iterator[str]:
    """Yield the imported names, and the attributes of modules, that are another program's."""
    for node in said.tree.body:
        if isinstance(node, ast.ImportFrom) and node.module != "__future__":
            package = f"{said.made['__package__']}." if node.level else ""
            home = sys.modules.get(f"{package}{node.module or ''}")
            for alias in node.names:
                value = space.get(alias.asname or alias.name)
                if alias.name != "*" and not _is_of(home, alias.name, value):
                    yield alias.name
    for name, attribute in said.used:
        home = space.get(name)
        value = vars(home).get(attribute) if isinstance(home, types.ModuleType) else None
        if value is not None and type(home) is not types.ModuleType:
            yield name
        elif name == "np" and not _is_own(attribute, space.get("np", np)):
            yield f"np.{attribute}"
        elif type(value) is types.FunctionType and not _is_of(home, attribute, value):
            yield f"{name}.{attribute}"


_RENAMED = {"bisect_right", "Structure", "Union"}
"""The names of what ``random`` and ``ctypes`` import as another one."""


def _is_of(home: Any, name: str, value: Any) -> bool:
    """Return True if a value may be what a module calls so: no function of another program's."""
    if isinstance(value, types.FunctionType):
        folder = Path(getattr(home, "__file__", None) or "/none").parent
        file = value.__code__.co_filename
        return file.startswith("<frozen ") or Path(file).is_relative_to(folder)
    if isinstance(value, types.BuiltinFunctionType | type):
        return value.__name__ in {name, *_RENAMED}
    plainly = type(value).__module__ in {"builtins", "numpy"} and not callable(value)
    return plainly or type(value).__module__ in {"typing", "_ctypes"}


_MADE_BY_PYTHON = 1 << 9
"""The flag of types that a class statement makes (Py_TPFLAGS_HEAPTYPE): of C's own few have it."""
_NUMPYS = dict(vars(np))
"""What NumPy's names mean when the verifier is loaded."""


def _is_own(name: str, numpy: Any) -> bool:
    """Return True if a name of NumPy still has the value it had at import, compiled from C."""
    value: Any = vars(np).get(name)
    if numpy is np and type(value) is types.ModuleType:  # perhaps one that NumPy loads when asked
        home = Path(str(np.__file__)).parent
        known = value is sys.modules.get(f"numpy.{name}")
        return known and Path(str(value.__file__)).is_relative_to(home)
    if numpy is not np or name not in _NUMPYS or value is not _NUMPYS[name]:
        return False
    if type(value) is float:
        return value == {"pi": math.pi, "e": math.e, "inf": math.inf}.get(name)
    named = getattr(value, "__name__", "").rstrip("_") == name.rstrip("_")
    return _is_of_c(value) and callable(value) and named


def _is_of_c(value: Any) -> bool:
    """Return True if a value's class, and a class itself, is no program's own."""
    kinds: list[Any] = [type(value), value] if isinstance(value, type) else [type(value)]
    return not any(each.__flags__ & _MADE_BY_PYTHON for each in kinds) and (
        type(value) is not types.FunctionType
    )
