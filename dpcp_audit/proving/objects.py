"""Objects of small classes: attributes, methods, properties and dataclasses.

An attribute is looked up as Python does: a property of the class, then the object's own, then the
class's. Classes that change how this is done are refused.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import dataclasses
import types
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpcp_audit.proving.distances import BoundMethod, Reference, Value
from dpcp_audit.proving.paths import Contents
from dpcp_audit.proving.sources import admitted, defaults_of, source_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcp_audit.proving.reading import Interpreter

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


def require_same(reader: Interpreter, held: Mapping[int, Contents]) -> None:
    """Refuse a call after which an object that was made before is not what it was."""
    if any(reader.path.heap.get(address) is not cells for address, cells in held.items()):
        raise reader.refuse("the target keeps a state between its calls")


def _check(reader: Interpreter, cls: type) -> None:
    """Refuse a class whose objects do not behave as plain ones."""
    for each in cls.__mro__[:-1]:
        hooks = {name for name in _HOOKS & vars(each).keys() if not _is_generated(each, name)}
        if type(each) is not type or hooks or each.__module__ == "builtins":
            raise reader.refuse(f"the class {cls.__name__} is not followed")


def _of_class(cls: type, name: str) -> Any:
    """Return the attribute of the class, or of its first base that has the name."""
    found = (vars(each)[name] for each in cls.__mro__[:-1] if name in vars(each))
    return next(found, _MISSING)


def _is_generated(cls: type, name: str) -> bool:
    """Return True if a method is the one that ``dataclass`` writes for these fields."""
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
    """Return the values that a generated function takes its defaults from."""
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
        raise reader.refuse("__post_init__ is not a function")


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
