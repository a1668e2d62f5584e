"""Calls: of known functions, of functions that are read, and of the one that a proof is of."""

# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
from __future__ import annotations

import ast
import functools
import inspect
import itertools
import math
import sys
import types
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.proving import library_mechanisms, noise_rules, objects, opendp_measurements
from dpcp_audit.proving.arithmetic import LARGEST, in_range, is_double, kind
from dpcp_audit.proving.class_rows import ClassRows
from dpcp_audit.proving.distances import (
    NUMPY,
    PYTHON,
    SCALAR,
    UNKNOWN,
    WHOLE,
    Generator,
    Once,
    Public,
    PublicFloat,
    PublicInteger,
    Records,
    Reference,
    Refusal,
    Statistic,
    Value,
    is_data,
    is_known,
    is_public,
    is_whole,
    join,
    shape_of,
    size_of,
    tokens,
)
from dpcp_audit.proving.exact_numbers import is_scalar, plain
from dpcp_audit.proving.gathering import MISSING, actual, is_shown
from dpcp_audit.proving.paths import Contents, Frame
from dpcp_audit.proving.sources import (
    admitted,
    defaults_of,
    is_function,
    is_narrow,
    locals_of,
    of_owner,
    source_of,
    unread,
)
from dpcp_audit.proving.spelled_out import SPELLED_OUT
from dpcp_audit.proving.table import (
    GLOBAL_DRAWS,
    HELD_BEFORE,
    OPTIONAL,
    SPECIAL,
    Rule,
    all_known,
    called,
    known_functions,
    scipy_law,
)
from dpcp_audit.proving.torch_values import Each, Tensor, listed_sum
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.validate import is_array

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from fractions import Fraction

    from dpcp_audit.proving.reading import Interpreter
    from dpcp_audit.proving.sources import FunctionSource

_CONSUMERS = (sum, min, max, any, all, list, tuple, sorted, math.fsum)
_LAZY = (zip, enumerate, reversed)


def _table() -> dict[Any, Rule]:
    return _table_of(len([name for name in OPTIONAL if name in sys.modules]))


@lru_cache(maxsize=2)
def _table_of(loaded: int) -> dict[Any, Rule]:
    return known_functions()


def rule_of(function: Value) -> Rule | None:
    """Return the rule of a known function; None of any other."""
    return _table().get(function)


def named(name: str) -> Value:
    """Return a known function by its name in the table."""
    return next(each for each, rule in _table().items() if rule.name == name)


def consumes(reader: Interpreter, function: Value) -> bool:
    """Return True if a function goes through an iterator, or hands it on as another one."""
    return any(function is each for each in (*_CONSUMERS, *_LAZY))


def exhausts(function: Value) -> bool:
    """Return True if a function goes through a generator before anything else happens."""
    return any(function is each for each in _CONSUMERS)


def may_act(node: ast.expr) -> bool:
    """Return True if an expression may do more than have a value."""
    return any(
        isinstance(each, ast.Call | ast.NamedExpr | ast.Attribute) for each in ast.walk(node)
    )


def function(reader: Interpreter, target: Value, args: list[Value], kw: dict[str, Value]) -> Value:
    """Return the result of a function that is no closure."""
    law = scipy_law(target)
    if law is not None:
        return noise_rules.frozen_law(reader, law, args, kw)
    if not is_function(target):
        raise reader.refuse(f"a call of {kind(target)} is not followed")
    if target in GLOBAL_DRAWS:
        generator, name = GLOBAL_DRAWS[target]
        noise_rules.refuse_seeds(reader)
        reader.doubt("a global generator is drawn from")
        return noise_rules.draw(reader, generator, name, args, kw)
    target = SPELLED_OUT.get(target, target)
    special = _special(reader, target, kw)
    if special is not None:
        return special(reader, args, kw)
    rule = rule_of(target)
    if rule is not None:
        return _known(reader, target, rule, args, kw)
    if target in {np.random.default_rng, np.random.Generator, np.random.RandomState}:
        raise noise_rules.own_generator(reader)
    if type(target) is type and not issubclass(target, BaseException):
        return objects.construct(reader, target, args, kw)
    if not isinstance(target, types.FunctionType):
        raise reader.refuse(unread(target))
    source = source_of(target, reader.line)
    return reader.inline(source, source.node, defaults_of(target, reader.line), args, kw)


def _special(
    reader: Interpreter, target: Value, kw: dict[str, Value]
) -> Callable[..., Value] | None:
    """Return the reader of calls of a function that has one of its own."""
    if target in (max, min) and kw.keys() == {"key"}:
        return functools.partial(best_by_key, choose=target)
    found = SPECIAL.get(target) or library_mechanisms.maker(target)
    return found or opendp_measurements.maker(reader, target)


def best_by_key(
    reader: Interpreter, args: list[Value], kw: dict[str, Value], *, choose: Any
) -> Value:
    """``max`` and ``min`` by a key: a noisy maximum where the keys are noisy values."""
    heap = dict(reader.path.heap)
    items = reader.entries(args[0], "what is chosen from") if len(args) == 1 else ()
    keys = tuple(reader.call(kw["key"], [each], {}) for each in items)
    if not items or any(reader.path.heap.get(name) is not each for name, each in heap.items()):
        raise reader.refuse("nothing is chosen from, or the key changes something")
    if is_known(keys):
        numbers: Any = plain(keys)
        with reader.computing():
            return items[choose(range(len(items)), key=numbers.__getitem__)]
    if any(isinstance(each, tuple | Reference) for each in keys):
        raise reader.refuse("a key that is a tuple or a list")
    place = reader.call(np.argmax if choose is max else np.argmin, [keys], {})
    reader.public(place, "the place of the best item")
    return functools.reduce(lambda a, b: join(a, b, reader.line, _not_merged), items)


def _not_merged(a: Value, b: Value) -> None:
    """Return None: noise of either of two items is not known as one draw."""


_TELLING = {"str", "repr", "format", "print"}
"""Functions that write a number out, NumPy's otherwise than Python's."""


def _known(
    reader: Interpreter, target: Value, rule: Rule, args: list[Value], kw: dict[str, Value]
) -> Value:
    if rule.name == "len" and len(args) == 1 and not kw and is_shown(reader, args[0]):
        return WHOLE  # branches on public values alone have filled it
    if target is sum and len(args) == 1 and isinstance(args[0], Each) and not kw:
        return listed_sum(reader, args[0])
    args = [_no_tensor(reader, rule, each) for each in args]
    kw = {name: _no_tensor(reader, rule, each) for name, each in kw.items()}
    _check_no_alias(reader, target, rule, args, kw)
    _check_as_python(reader, rule, (*args, *kw.values()))
    reader.require_followed(*args, *kw.values())
    given = [actual(reader, each) for each in args]
    settings = {name: actual(reader, each) for name, each in kw.items()}
    known = not any(each is MISSING for each in (*given, *settings.values()))
    if known and target is not print:
        return called(reader, target, given, settings)
    found = _by_rule(reader, rule, args, kw)
    if found is not NotImplemented:
        return _of_these(reader, rule, found, [*args, *kw.values()])
    as_lists = not rule.name.startswith("np.")
    opened = [_argument(reader, each, as_lists) for each in args]
    named = {name: _argument(reader, each, as_lists) for name, each in kw.items()}
    if all_known(opened, named):  # of an iterator, which is gone through
        return called(reader, target, opened, named)
    return _post_processed(reader, rule, opened, named)


def _by_rule(reader: Interpreter, rule: Rule, args: list[Value], kw: dict[str, Value]) -> Value:
    """Return the result of a function's rule; NotImplemented where it takes no such values."""
    if rule.apply is None:
        return NotImplemented
    try:
        return rule.apply(reader, *args, **kw)
    except TypeError as error:
        if "argument" not in str(error):
            raise
        return NotImplemented


def _no_tensor(reader: Interpreter, rule: Rule, value: Value) -> Value:
    """Return a tensor that a function of another library takes as a public value."""
    if rule.name == "len" and isinstance(value, Each) and value.batched:
        return value.records
    tensor = isinstance(value, (Tensor, Each))
    return reader.public(value, "an argument of another library") if tensor else value


_ELEMENTS_ONLY = {"len", "print", "sorted"}
_OF_CELLS = {"len", "print", "sorted", "list", "tuple"}
"""Builtins that take a dictionary, too."""


def _check_as_python(reader: Interpreter, rule: Rule, values: tuple[Value, ...]) -> None:
    """Refuse functions that are handed on, and lists that a builtin takes as no array would be."""
    for each in values:
        own = isinstance(each, type) and each.__module__ not in {"builtins", "numpy"}
        if own or isinstance(each, types.FunctionType | types.MethodType):
            raise reader.refuse("a function or class is handed to a function of a library")
    held = [reader.cells(each).kind for each in values if isinstance(each, Reference)]
    if rule.name not in _OF_CELLS and not {"dict", "object"}.isdisjoint(held):
        raise reader.refuse("a dictionary or an object is handed to a function of a library")
    some = [each for each in values if isinstance(each, Records) and each.listed and each.chosen]
    if rule.name.startswith("np.") and not all(each.floats for each in some):
        raise reader.refuse("an array of a list that may be empty is then one of floats")
    lists = [found for each in values if (found := _items_of_list(reader, each)) is not None]
    if rule.name == "print" or (rule.name in _TELLING and not all(map(is_known, values))):
        reader.doubt(f"{rule.name} is used")
    if not lists or "." in rule.name or rule.name in _ELEMENTS_ONLY:
        return
    items = itertools.chain(*lists)
    flat = not any(isinstance(item, Reference | tuple) or shape_of(item) for item in items)
    if len(lists) > 1 or not flat or rule.name in {"bool", "str", "repr", "format"}:
        raise reader.refuse(f"{rule.name} of a list that is not an array", "use NumPy's function")


def _items_of_list(reader: Interpreter, value: Value) -> tuple[Value, ...] | None:
    """Return the items of a list or an iterator; None of anything else."""
    if isinstance(value, Once):
        return value.items
    cells = reader.cells(value) if isinstance(value, Reference) else None
    return cells.items if cells is not None and cells.kind == "list" else None


_OF_ENTRIES = {"sum", "np.sum", "math.fsum", "np.count_nonzero"}
"""Functions of an array that are the same with and without an entry that is 0 or False."""


def _of_these(reader: Interpreter, rule: Rule, found: Value, args: list[Value]) -> Value:
    """Return a statistic as one of these records only; records as an array."""
    if not all(map(is_public, args)):
        reader.rules.add(f"{rule.name}: {rule.source}")
    if isinstance(found, Statistic) and found.size is not None:
        in_range(reader, found)
    if isinstance(found, Records) and rule.name.startswith("np."):
        return replace(found, listed=False, entry_type=NUMPY)
    if isinstance(found, Records) and rule.name.startswith("math."):
        return replace(found, entry_type=PYTHON)
    sources = [each for each in args if isinstance(each, Records | Statistic)]
    if len(sources) != 1 or len(args) - len(sources) != sum(map(is_public, args)):
        return found
    (one,) = sources
    if isinstance(found, Statistic) and isinstance(one, Records):
        cell = one.cell if one.chosen or rule.name in _OF_ENTRIES else None
        return replace(found, where=one.where, sample=one.sample, cell=cell)
    if isinstance(found, tuple):  # of np.histogram, whose edges are public
        return tuple(_of_these(reader, rule, each, args) for each in found)
    return found


_GIVES_WHOLE = {"int", "math.floor", "math.ceil", "math.isqrt", "np.argmin", "np.argmax"}
_NEAREST = {"int", "math.floor", "math.ceil"}
"""Functions of these that give a whole number less than 1 away."""
_COPYING = {"np." + name for name in (
    "array", "copy", "sum", "mean", "min", "max", "argmin", "argmax", "cumsum", "sort", "median",
)} | {"len"}  # fmt: skip
"""Functions of one array that give a number, or an array of their own."""
_READS_ALL = {"np.where", "np.interp", "print", "min", "max"}
"""Functions that write into no argument, at whatever place it is."""


def _check_no_alias(
    reader: Interpreter, target: Value, rule: Rule, args: list[Value], kw: dict[str, Value]
) -> None:
    """Refuse calls that write into an argument, or that may return its memory."""
    for each in (*args, *kw.values()):
        if is_narrow(each):
            raise reader.refuse("numbers of a narrow type, which wrap around", "use float or int")
    if "where" in kw:
        raise reader.refuse(HELD_BEFORE)
    if "out" in kw or (isinstance(target, np.ufunc) and len(args) > target.nin):
        raise reader.refuse("a function writes into an array that it is given")

    held = any(_holds_filled(reader, each) for each in (*args, *kw.values()))
    if held and not _copies(target, rule, len(args), kw):
        raise reader.refuse(
            "the call may keep an array that is filled, under another name", "use np.copy"
        )
    for place, each in enumerate(args):
        read_only = rule.name in _READS_ALL or place <= (rule.name == "np.clip") + 1
        if not read_only and _may_be_array(reader, each):
            raise reader.refuse("a function may write into an array that it is given")


def _is_filled(reader: Interpreter, value: Value) -> bool:
    return isinstance(value, Reference) and reader.cells(value).kind == "array"


def _holds_filled(reader: Interpreter, value: Value) -> bool:
    """Return True if a value is an array that is filled, or holds one."""
    if isinstance(value, Reference):
        items = reader.cells(value).items
        return _is_filled(reader, value) or any(_holds_filled(reader, each) for each in items)
    parts = value.items if isinstance(value, Once) else value
    return isinstance(parts, tuple) and any(_holds_filled(reader, each) for each in parts)


def _may_be_array(reader: Interpreter, value: Value) -> bool:
    if isinstance(value, Reference):
        return _is_filled(reader, value)
    plainly = value is None or isinstance(value, tuple | str | type | np.dtype)
    return not plainly and shape_of(value) != ()


def _copies(target: Value, rule: Rule, count: int, kw: dict[str, Value]) -> bool:
    """Return True if a call with arrays, or lists of arrays, keeps none of them.

    A builtin may return one of a list's arrays; with ``dtype=object`` an array holds them.
    """
    numpys = isinstance(target, np.ufunc) and rule.name.startswith("np.")
    plainly = rule.name in _COPYING and count == 1 and kw.keys() <= {"axis"}
    return plainly or (("dtype" not in kw) and (numpys or rule.name == "np.where"))


def _argument(reader: Interpreter, value: Value, as_lists: bool) -> Value:  # noqa: FBT001
    """Return an argument as a function takes it: one of NumPy's takes lists as arrays."""
    items = _items_of_list(reader, value) if as_lists else None
    if items is not None and is_known(items):
        return list(items)
    if isinstance(value, Reference | Once):
        return reader.gathered(value)
    if isinstance(value, tuple) and not is_known(value):
        return tuple(_argument(reader, each, as_lists) for each in value)
    return value


def _of_data(reader: Interpreter, rule: Rule, value: Value) -> Refusal:
    """Return the refusal of a function that is called with data and has no rule for it."""
    if rule.name in _GRIDS:
        return reader.leak("a grid comes from the data without noise", _OF_ALL)
    squares = rule.name in {"np.std", "np.var"}
    hint = "add noise to the sum and to the sum of squares" if squares else ""
    hint = "make it an array: u = np.array(...), u.max()" if rule.name in {"min", "max"} else hint
    name = rule.name.removeprefix("np.")
    return reader.refuse(f"{name} of {kind(value)} is not followed", hint)


def _post_processed(
    reader: Interpreter, rule: Rule, args: list[Value], kw: dict[str, Value]
) -> Value:
    """Return the default: public, of public and of released values."""
    released = [reader.release(each) for each in (*args, *kw.values())]
    for value in released:
        if is_data(value):
            raise _of_data(reader, rule, value)
        if not is_public(value):
            raise reader.refuse(f"{rule.name} of {kind(value)} is not followed")
    doubles = all(isinstance(each, PublicFloat) or is_double(each) for each in released)
    if rule.name in _HALF and not all(map(_is_number, released)):
        return UNKNOWN
    if rule.gives == "same":
        one = len(released) == 1 and not kw and len(shape_of(released[0]) or ()) == 1
        return Public(shape_of(released[0])) if one else UNKNOWN
    if rule.gives == "scalar":
        return UNKNOWN if kw else _one_number(rule, released)
    places = rule.name == "np.where" and len(released) != 3  # of what is true: any number of them
    if rule.gives == "entry by entry" and not kw and not places:
        found = _entrywise([each for each in released if each is not None])
        if rule.name == "np.where" and found.shape == ():
            return UNKNOWN  # an array of no dimension
        floats = doubles and rule.name not in _OF_TRUTH and found.shape is not None
        return PublicFloat(found.shape) if floats else found
    return UNKNOWN


_HALF = {"np." + name for name in (
    "fabs", "sqrt", "exp", "log", "log2", "log10", "log1p", "expm1", "tanh", "rint", "round",
)} | {"scipy.special.logsumexp"}  # fmt: skip
"""Functions that give numbers of half precision for truth values."""
_GRIDS = {"np." + name for name in ("linspace", "arange", "logspace", "geomspace")}
_OF_ALL = "take a grid between bounds that hold for all data, such as 0 and 1"
_OWN_TYPE = {"float", "int", "len", "bool", "any", "all", "np.any", "np.all", "np.size", "np.ndim"}
"""Functions whose result is of the same type, whatever that of their argument."""
_OF_TRUTH = {"np." + name for name in (
    "isnan", "isfinite", "logical_and", "logical_or", "logical_not",
)}  # fmt: skip
"""Functions that give truth values for doubles."""


def _is_number(value: Value) -> bool:
    """Return True if a public value is a double or a whole number, and no truth value."""
    known = is_scalar(value) and not isinstance(value, bool | np.bool_)
    numbers = is_array(value) and value.dtype.kind in "iuf"
    return value is None or isinstance(value, PublicFloat | PublicInteger) or known or numbers


def _one_number(rule: Rule, values: list[Value]) -> Public:
    """Return the unknown result of a function that reduces, as a whole number where it is one."""
    if rule.name in _GIVES_WHOLE and len(values) == 1:
        size = size_of(values[0]) if rule.name in _NEAREST else None
        return WHOLE if size is None or size >= LARGEST else PublicInteger((), size + 1)
    if rule.name in {"min", "max"} and len(values) > 1 and all(map(is_whole, values)):
        return WHOLE
    return SCALAR if _reduces(rule, values) else UNKNOWN


def _reduces(rule: Rule, values: list[Value]) -> bool:
    """Return True if a function of these arguments gives one number."""
    many = {"np.quantile", "np.percentile", "np.dot", "round", "max", "min", "divmod"}
    many |= {"np.float64", "np.int64", "np.bool_"}
    if rule.name in many or rule.name.startswith("math."):
        return all(shape_of(each) == () for each in values) and rule.name != "divmod"
    if rule.name == "sum":
        return len(values) == 1 and len(shape_of(values[0]) or ()) == 1
    own_type = rule.name in _OWN_TYPE or bool(values and shape_of(values[0]) is not None)
    return len(values) == 1 and own_type


def _entrywise(values: list[Value]) -> Public:
    shapes = [shape_of(each) for each in values]
    known = [each for each in shapes if each is not None]
    if len(known) < len(shapes):
        return UNKNOWN
    try:
        return Public(tuple(np.broadcast_shapes(*known)))
    except ValueError:
        return UNKNOWN


def bound_arguments(
    reader: Interpreter,
    arguments: ast.arguments,
    defaults: dict[str, Value],
    args: list[Value],
    kw: dict[str, Value],
) -> dict[str, Value]:
    """Return the variables that a call begins with."""
    names = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    found = dict(zip(names, args, strict=False))
    if len(args) > len(names) and arguments.vararg is None:
        raise reader.refuse("too many arguments")
    if arguments.vararg is not None:
        found[arguments.vararg.arg] = tuple(args[len(names) :])
    allowed = {each.arg for each in (*arguments.args, *arguments.kwonlyargs)}
    extra = {name: value for name, value in kw.items() if name not in allowed or name in found}
    if extra and (arguments.kwarg is None or extra.keys() & found.keys()):
        raise reader.refuse(f"unexpected argument {next(iter(extra))}")
    found |= {name: value for name, value in kw.items() if name not in extra}
    if arguments.kwarg is not None:
        found[arguments.kwarg.arg] = reader.path.store(
            Contents("dict", tuple(extra.values()), tuple(extra))
        )
    for name in (*names, *(each.arg for each in arguments.kwonlyargs)):
        if name not in found:
            if name not in defaults:
                raise reader.refuse(f"the argument {name} is not given")
            found[name] = defaults[name]
    return found


# ---------------------------------------------------------------------- the function itself


def all_records(bounds: tuple[Fraction, Fraction]) -> Records:
    """Return the records between these bounds, each at its own place."""
    ends = float(bounds[0]), float(bounds[1])
    return Records(*bounds, next(tokens), placed=True, itself=True, ends=ends)


def records_of_clients(
    bounds: tuple[Fraction, Fraction], n: int | None, clients: int
) -> tuple[Records, ...]:
    """Return the records of each client: other clients' are other people's.

    Of n records each client has those that ``numpy.array_split`` gives it; of an unknown number
    each has some.
    """
    found: list[Records] = []
    start = 0
    for client in range(clients):
        count = None if n is None else n // clients + (client < n % clients)
        places = 1 if count is None else (1 << count) - 1
        where = places << (client if count is None else start)
        found.append(replace(all_records(bounds), where=where, count=count))
        start += count or 0
    return tuple(found)


GENERATORS = frozenset({"rng", "random_state", "generator", "prng"})
"""Arguments of a function that are read as the generator it draws from."""


def returned_by(
    reader: Interpreter,
    function: Any,
    source: FunctionSource,
    first: Value | tuple[ClassRows, Records],
    options: Mapping[str, Any],
) -> Value:
    """Read the function's body on this first argument, or on rows and labels; return its value."""
    node = source.node
    reader.line, reader.file = node.lineno, source.file
    function, owners = of_owner(function)
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
    rows = isinstance(first, tuple) and isinstance(first[0], ClassRows)
    owned = [objects.from_outside(reader, each) for each in owners]
    held = dict(reader.path.heap)
    data = (*owned, *(first if rows else (first,)))
    for position, (name, parameter) in enumerate(signature.parameters.items()):
        value = given.get(name)
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD} and (
            position < len(data) or name in GENERATORS or parameter.kind is parameter.VAR_KEYWORD
        ):
            raise Refusal(node.lineno, f"the records or the generator may be in {name}")
        if position < len(data):
            value = data[position]
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
    objects.require_same(reader, held)
    reader.line = reader.returning or node.lineno
    return returned
