"""Mechanisms of diffprivlib by their ``randomise``: noise of a known law.

The library is read as it is installed: a class or function of its modules that means something
else than its file says is refused. A mechanism is made in the function that is read, and draws from
the system's generator. Truncated and folded values are functions of noisy ones.

References
----------
Holohan, Braghin, Mac Aonghusa and Levacher 2019, "Diffprivlib: the IBM differential privacy
library". Laplace noise of four uniforms: Holohan and Braghin 2021, "Secure random sampling in
differential privacy". Gaussian noise: Balle and Wang 2018. Discrete Gaussian noise: Canonne, Kamath
and Steinke 2020, Algorithms 1 to 3. Staircase noise: Geng, Kairouz, Oh and Viswanath 2015, "The
staircase mechanism in differential privacy"; Geng and Viswanath 2016, Algorithm 1.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import abc
import ast
import builtins
import functools
import importlib
import importlib.metadata
import linecache
import math
import os
import random
import sys
import types
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import ctx

from dpcp_audit.proving import noise_rules
from dpcp_audit.proving.arithmetic import COARSE, FIXED, LARGEST, kind, noisy, require_fine
from dpcp_audit.proving.charges import Charge
from dpcp_audit.proving.distances import (
    DISCRETE,
    UNKNOWN,
    Hidden,
    Noise,
    Private,
    Public,
    Statistic,
    Value,
    is_known,
    is_public,
    tokens,
)
from dpcp_audit.proving.exact_numbers import Surd, exact_of, is_scalar, plain
from dpcp_audit.proving.sources import (
    codes_in,
    compiled_module,
    is_plain,
    starts_at,
)
from dpcp_audit.stats.enclosures import ball, lower

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpcp_audit.proving.paths import Interpreter

_VERSION = "0.6"
"""The version of the library whose mechanisms are described here."""
_LAWS = {
    "Laplace": "laplace",
    "LaplaceTruncated": "laplace",
    "LaplaceFolded": "laplace",
    "Gaussian": "normal",
    "GaussianAnalytic": "normal",
    "Geometric": "two-sided geometric",
    "GeometricTruncated": "two-sided geometric",
    "GeometricFolded": "two-sided geometric",
    "GaussianDiscrete": DISCRETE,
    "Staircase": "staircase",
}
_BOUNDED = {"LaplaceTruncated", "LaplaceFolded", "GeometricTruncated", "GeometricFolded"}
"""Noise of a law, of which a function with public bounds is released."""
_WHOLE = "two-sided geometric"
_OF_WHOLE = {_WHOLE, DISCRETE}
"""The laws of whole numbers: of any other number their mechanisms raise an error."""
_RARE = Fraction(1, 2**40)
"""The rate of geometric noise below which a draw may be as large as doubles that skip numbers."""


@dataclass(frozen=True, slots=True)
class Mechanism(Hidden):
    """A mechanism: the name of its class, and its scale from below; of geometric noise its rate.

    Of staircase noise the scale is the sensitivity, at each multiple of which ``epsilon`` is lost.
    """

    name: str
    scale: Surd
    epsilon: Fraction = Fraction(0)


def maker(target: Any) -> Callable[[Any, list[Value], dict[str, Value]], Value] | None:
    """Return the reader of a call of a class of the library; None for anything else."""
    module = sys.modules.get("diffprivlib.mechanisms")
    name = target.__name__ if type(target) is abc.ABCMeta else ""
    known = module is not None and name in _LAWS and vars(module).get(name) is target
    return functools.partial(_construct, name, target) if known else None


def _construct(
    name: str, cls: Any, reader: Interpreter, args: list[Value], kw: dict[str, Value]
) -> Mechanism:
    """Return a mechanism that is made in the function."""
    if reader.each_record:
        raise reader.refuse("a mechanism is made for each record")
    _check_library(reader, cls)
    given = dict(kw)
    if given.pop("random_state", None) is not None:
        raise reader.leak(
            "a generator of the program's own: whoever knows its seed knows the noise",
            "leave random_state out: the system's generator is then drawn from",
        )
    for each, value in given.items():
        given[each] = reader.public(value, f"{each} of {name}", FIXED)
        if not (is_known(given[each]) and is_scalar(given[each])):
            raise reader.refuse(f"{each} of {name} is not a known number")
    if args:
        raise reader.refuse(f"raises TypeError: arguments of {name}")
    try:
        made = cls(**{each: plain(value) for each, value in given.items()})
    except Exception as error:
        raise reader.refuse(f"raises {type(error).__name__}: {error}") from None
    held = vars(made) | given
    scale = _scale(reader, _LAWS[name], held)
    return Mechanism(name, scale, _finite(reader, "epsilon", held["epsilon"]).size_above)


def _scale(reader: Interpreter, law: str, held: dict[str, Value]) -> Surd:
    """Return the scale of noise, from below; of geometric noise its rate."""
    numbers = [_finite(reader, each, held[each]) for each in ("epsilon", "delta", "sensitivity")]
    epsilon, delta, sensitivity = numbers
    if epsilon.sign < 0 or sensitivity.sign <= 0:
        raise reader.refuse("a sensitivity of 0 stands for no noise at all")
    for each, number in (("epsilon", epsilon), ("sensitivity", sensitivity)):
        if not _RARE**2 <= number.square <= _RARE**-2:
            raise reader.refuse(f"{each} so small or large that doubles under- or overflow")
    if law in {"normal", DISCRETE}:
        return Surd.of(Fraction(float(held["_scale"])))  # of an infinite one it is an error
    if law == _WHOLE:
        rate = epsilon.times(sensitivity.inverse())
        if rate.square < _RARE**2:
            raise reader.refuse("geometric noise so large that whole numbers wrap around")
        return rate
    if law == "staircase" or not delta.sign:
        return sensitivity if law == "staircase" else sensitivity.times(epsilon.inverse())
    return _laplace_scale(reader, [each.rational for each in numbers])


def _finite(reader: Interpreter, name: str, value: Value) -> Surd:
    exact = exact_of(value)
    if exact is None:
        raise reader.refuse(f"{name} is not a finite number")
    return exact


def _laplace_scale(reader: Interpreter, parts: list[Fraction | None]) -> Surd:
    """Return the scale of Laplace noise from below, of ε, δ and the sensitivity."""
    if any(each is None for each in parts) or parts[1] == 1:
        raise reader.refuse("the scale of the noise is not a known number")
    with ctx.workprec(192):
        first, second, third = (ball(each) for each in parts if each is not None)
        return Surd.of(Fraction(lower(third / (first - (1 - second).log()))))


def method(
    reader: Interpreter, owner: Mechanism, name: str, args: list[Value], kw: dict[str, Value]
) -> Value:
    """Return a value with noise of the mechanism, or what is made of it with public bounds."""
    if name != "randomise":
        raise reader.refuse(f"{name} of a mechanism is not followed")
    if reader.each_record:
        raise reader.refuse("noise of its own for each record is not followed")
    if len(args) + len(kw) != 1 or kw.keys() - {"value"}:
        raise reader.refuse("raises TypeError: arguments of randomise")
    reader.doubt("a generator of a library's own is drawn from")
    value = reader.release((*args, *kw.values())[0])
    if is_public(value):
        return UNKNOWN
    law = _LAWS[owner.name]
    if law == "staircase":
        return _staircase(reader, owner, _number(reader, law, value))
    noise = Noise((next(tokens),), law, owner.scale, (), reader.line)
    reader.rules.add(f"diffprivlib's {owner.name} draws {law} noise: Holohan and others 2019")
    found = noisy(reader, _number(reader, law, value), noise)
    if owner.name not in _BOUNDED:
        return found
    reader.release(found)
    return UNKNOWN


def _staircase(reader: Interpreter, owner: Mechanism, x: Statistic) -> Public:
    """Charge ε for each sensitivity by which a number may move: a whole step of the density.

    Whatever γ is, the density at y + d is at least e^-ε of that at y for |d| ≤ sensitivity.
    """
    require_fine(reader, x, COARSE * owner.scale.size_above)
    reader.noised.add(x.name)
    steps = math.ceil(x.l1 / noise_rules.below(owner.scale))
    cost, scale = owner.epsilon * steps, float(owner.scale)
    reader.note(f"staircase noise of steps of {scale:.6g} on {x.says}", noise=True)
    charge = Charge("pure", cost, reader.line, "staircase noise", scale=scale)
    reader.charge(replace(charge, where=x.where, sample=x.sample))
    return Public(())


def _number(reader: Interpreter, law: str, value: Value) -> Statistic:
    """Return a value that the mechanism takes: any other raises an error."""
    if isinstance(value, Private):
        raise reader.refuse(value.reason, value.hint)
    if not isinstance(value, Statistic) or value.shape != ():
        raise reader.refuse(f"randomise of {kind(value)}, which is not a number")
    if law in _OF_WHOLE and (not value.integer or value.floats or value.size is None):
        raise reader.refuse(f"{law} noise on a value that may not be a whole number", "int(...)")
    if value.size is not None and value.size > LARGEST:
        raise reader.refuse("numbers are so large that doubles round whole numbers")
    return value


# ---------------------------------------------------------------------- the library's own code


_MEANT = {name: dict(vars(importlib.import_module(name))) for name in ("random", "secrets")}
"""What the names of these modules mean when the verifier is loaded."""
_BASES = {each: each.__bases__ for each in (random.Random, random.SystemRandom)}
_ENTROPY = os.urandom
_OF_EVERY_CLASS = set(vars(type("_", (), {"__doc__": ""}))) | {
    "__qualname__", "__firstlineno__", "__static_attributes__", "__annotations__", "__slots__",
    "__abstractmethods__", "_abc_impl", "__parameters__", "__dict__", "_randbelow",
}  # fmt: skip
"""The attributes of a class that does nothing of its own, or that draws no whole numbers."""


def _changed_since(module: types.ModuleType) -> str:
    """Return a name of a module whose value has changed since import; "" where none has."""
    now, meant = vars(module), _MEANT[module.__name__]
    names = sorted(now.keys() ^ meant.keys()) or [
        name for name in meant if now[name] is not meant[name]
    ]
    if any(each.__bases__ != bases for each, bases in _BASES.items()):
        return "the bases of a class"
    of_c = type(_ENTROPY) is types.BuiltinFunctionType and _ENTROPY.__module__ in {"posix", "nt"}
    return next(iter(names), "") if of_c and os.urandom is _ENTROPY else "os.urandom"


def _check_library(reader: Interpreter, cls: type) -> None:
    """Refuse a class of which anything means something else than in the installed library."""
    try:
        version = importlib.metadata.version("diffprivlib")
        place = importlib.metadata.distribution("diffprivlib").locate_file("diffprivlib")
    except importlib.metadata.PackageNotFoundError:
        raise reader.refuse("diffprivlib is not installed, and yet in use") from None
    homes = {each.__module__ for each in cls.__mro__ if each.__module__ not in {"abc", "builtins"}}
    for each in cls.__mro__[:-1]:
        if vars(sys.modules[each.__module__]).get(each.__name__) is not each:
            raise reader.refuse(f"{each.__name__} is not of the installed diffprivlib")
    home = Path(str(place)).resolve()
    modules = [sys.modules[name] for name in {*homes, "diffprivlib.utils"}]
    for module in (*modules, sys.modules["random"], sys.modules["secrets"]):
        own = module.__name__ in {"random", "secrets"}
        if not own and not Path(str(module.__file__)).resolve().is_relative_to(home):
            raise reader.refuse(f"{module.__name__} is not of the installed diffprivlib")
        changed = changed_in(module) or (own and _changed_since(module))
        if changed:
            raise reader.refuse(f"{changed} of {module.__name__} is not what its file says")
    if not version.startswith(_VERSION):
        raise reader.refuse(f"diffprivlib {version} is not known", f"it is known as {_VERSION}")


def changed_in(module: types.ModuleType) -> str:
    """Return a name of a module that means something else than its file says; "" where none does.

    What it imports, its functions and the methods of its classes are compared, and the functions
    of NumPy that it uses.
    """
    file = str(module.__file__)
    linecache.checkcache(file)
    tree, compiled = compiled_module(file, "".join(linecache.getlines(file)))
    codes, space = list(codes_in(compiled)), vars(module)
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
    yield from ((f"{node.name}.{name}", name in _OF_EVERY_CLASS) for name in held)


def _targets(node: ast.stmt) -> list[str]:
    """Return the names that a statement assigns."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [each.id for each in targets if isinstance(each, ast.Name)]


_BISECT = "bisect_right"
"""The name of the function that ``random`` imports as bisect."""


def _is_of(home: Any, name: str, value: Any) -> bool:
    """Return True if a value may be what a module calls so: no function of another program's."""
    if isinstance(value, types.FunctionType):
        folder = Path(getattr(home, "__file__", None) or "/none").parent
        return Path(value.__code__.co_filename).is_relative_to(folder)
    if isinstance(value, types.BuiltinFunctionType | type):
        return value.__name__ in {name, _BISECT}
    return type(value).__module__ in {"builtins", "numpy"} and not callable(value)


def _is_arithmetic(node: ast.expr, space: dict[str, Any]) -> bool:
    """Return True if an expression is of numbers, and of functions of C."""
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
    """Return True if a function, or a method of any kind, runs the code of its definition."""
    if type(value) is property:
        value = value.fget
    elif type(value) in {staticmethod, classmethod}:
        value = value.__func__
    if type(value) is not types.FunctionType or not starts_at(node, value.__code__):
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
_NUMPYS, _FRESH = dict(vars(np)), np.random.default_rng
"""What NumPy's names mean when the verifier is loaded."""


def _is_own(name: str, numpy: Any) -> bool:
    """Return True if a name of NumPy still has the value it had at import, compiled from C."""
    if numpy is not np or name not in _NUMPYS or vars(np).get(name) is not _NUMPYS[name]:
        return False
    value: Any = _NUMPYS[name]
    if type(value) is types.ModuleType:
        own = value is sys.modules.get(f"numpy.{name}")
        fresh = value.default_rng is _FRESH and not isinstance(_FRESH, types.FunctionType)
        return own and (name != "random" or fresh)
    if type(value) is float:
        return value == {"pi": math.pi, "e": math.e, "inf": math.inf}.get(name)
    of_c = not type(value).__flags__ & _MADE_BY_PYTHON
    return of_c and callable(value) and getattr(value, "__name__", "") == name
