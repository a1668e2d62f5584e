"""Measurements of OpenDP that the function makes itself: what a call costs, by their ``map``.

A measurement is a handle of a compiled library, which does not tell who made it. Therefore it is
read where the function calls constructors of the library: of a domain, a distance and a
measurement, with arguments that are known. Its own ``map`` of the statistic's distance is the
price, and what it returns is public.

References
----------
The OpenDP Library, version 0.16: https://docs.opendp.org. Discrete Laplace noise: Ghosh,
Roughgarden and Sundararajan 2012; discrete Gaussian noise: Canonne, Kamath and Steinke 2020,
"The discrete Gaussian for differential privacy", Theorem 4; noisy maximum: McKenna and Sheldon
2020, "Permute-and-flip".
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import ctypes
import functools
import importlib
import math
import sys
import types
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.proving.arithmetic import COARSE, FIXED, LARGEST, kind, require_fine
from dpcp_audit.proving.charges import Charge
from dpcp_audit.proving.distances import (
    UNKNOWN,
    WHOLE,
    Hidden,
    PublicFloat,
    Statistic,
    Value,
    is_known,
    is_public,
    shape_of,
)
from dpcp_audit.proving.exact_numbers import Surd, exact_of, is_scalar, plain, root_above
from dpcp_audit.proving.sources import is_space
from dpcp_audit.proving.unchanged_code import home_of, is_plain_of_c, require_unchanged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpcp_audit.proving.reading import Interpreter

_VERSION = "0.16."
"""The version of the library whose measurements are described here."""
_NOISE = ("input_domain", "input_metric", "scale")
_ARGUMENTS = {
    "atom_domain": ("bounds", "nan", "T"),
    "vector_domain": ("atom_domain", "size"),
    "absolute_distance": ("T",),
    "l1_distance": ("T",),
    "l2_distance": ("T",),
    "linf_distance": ("T",),
    "max_divergence": (),
    "zero_concentrated_divergence": (),
    "make_laplace": _NOISE,
    "make_geometric": _NOISE,
    "make_gaussian": _NOISE,
    "make_noise": (*_NOISE[:2], "output_measure", "scale"),
    "make_noisy_max": (*_NOISE[:2], "output_measure", "scale", "negate"),
}
"""The constructors, and the arguments that are followed, in their order."""
_HOMES = ("domains", "metrics", "measures", "measurements")
_MODULES = ("core", "mod", "typing", "_convert", "_data", "_lib")
"""Modules of the library that its constructors use, beside their own."""
_TYPES = {float: "f64", int: "i32", "f64": "f64", "i32": "i32", "i64": "i64"}
_LARGEST = {"i32": 2**31 - 1, "i64": LARGEST, "f64": LARGEST}
"""Sizes of numbers beyond which the library raises an error, or doubles leave out numbers."""
_ROUNDING = 1 + Fraction(1, 2**40)
_FAR = 2**80


@dataclass(frozen=True, slots=True)
class Handle(Hidden):
    """What a constructor makes of known arguments; ``then`` if its domain is not given yet.

    ``scale`` is the exact number beside the double that the library is given.
    """

    called = "an object of OpenDP"

    maker: str
    given: tuple[tuple[str, Any], ...]
    scale: Surd | None = None
    then: bool = False

    def of(self, name: str) -> Any:
        """Return an argument; None where it was not given."""
        return dict(self.given).get(name)


def maker(
    reader: Interpreter, target: Any
) -> Callable[[Any, list[Value], dict[str, Value]], Value] | None:
    """Return the reader of a call of a function of the library; None for anything else.

    Raises
    ------
    Refusal
        If the function is of the library, and none of those that are followed.
    """
    home = str(getattr(target, "__module__", None))
    if type(target) is not types.FunctionType or home.partition(".")[0] != "opendp":
        return None
    name = target.__name__
    if name == "enable_features" and _is_of(home, name, target):
        return _enable
    if name.replace("then_", "make_", 1) not in _ARGUMENTS or not _is_of(home, name, target):
        raise reader.refuse(f"OpenDP's {name} is not followed")
    return functools.partial(_construct, name)


def _is_of(home: str, name: str, target: Any) -> bool:
    module = sys.modules.get(home)
    known = home == "opendp.mod" or home.removeprefix("opendp.") in _HOMES
    return known and module is not None and vars(module).get(name) is target


def _enable(reader: Interpreter, args: list[Value], kw: dict[str, Value]) -> Value:
    _check_library(reader)
    if args != ["contrib"] or kw:
        raise reader.refuse("features of OpenDP other than contrib")


def _construct(called: str, reader: Interpreter, args: list[Value], kw: dict[str, Value]) -> Handle:
    """Return what a constructor makes."""
    reader.require_once("OpenDP's constructors are called for each record")
    _check_library(reader)
    then, name = called.startswith("then_"), called.replace("then_", "make_", 1)
    names = [each for each in _ARGUMENTS[name] if not (then and each in _NOISE[:2])]
    given = dict(zip(names, args, strict=False)) | kw
    if len(args) + len(kw) > len(given) or given.keys() - set(names):
        raise reader.refuse(f"arguments of OpenDP's {name} that are not followed")
    for each, value in given.items():
        if isinstance(value, Handle) or is_space(value):
            given[each] = _handle(reader, value)
            continue
        given[each] = reader.public(value, f"{each} of OpenDP's {name}", FIXED)
        if not is_known(given[each]):
            raise reader.refuse(f"{each} of OpenDP's {name} is not known")
    return _known(reader, name, given, then=then)


def _known(reader: Interpreter, name: str, given: dict[str, Any], *, then: bool) -> Handle:
    """Return what is made of these known arguments."""
    scale = exact_of(given["scale"]) if is_scalar(given.get("scale")) else None
    if "scale" in given:
        if scale is None or scale.sign <= 0 or not 1 <= scale.square * _FAR <= _FAR**2:
            raise reader.refuse("a scale of noise that is not a usual number above 0")
        given["scale"] = float(given["scale"])
    if given.get("bounds") is not None:
        raise reader.refuse("a domain with bounds, which OpenDP does not enforce")
    if "T" in given:
        if not isinstance(given["T"], type | str) or given["T"] not in _TYPES:
            raise reader.refuse("a type of numbers that is not f64, i32 or i64")
        given["T"] = _TYPES[given["T"]]
    parts = {
        each: value if isinstance(value, Handle) else plain(value) for each, value in given.items()
    }
    return Handle(name, tuple(sorted(parts.items())), scale, then)


def chained(reader: Interpreter, operator: str, space: Value, then: Value) -> Handle:
    """Return the measurement of ``space >> then_...(...)``."""
    followed = operator == "RShift" and isinstance(then, Handle) and then.then
    if not followed or type(space) is not tuple or len(space) != 2:
        raise reader.refuse(
            "a chain of OpenDP that is not followed", "call the measurement on a number"
        )
    _check_library(reader)
    parts = [_handle(reader, each) for each in space]
    given = dict(then.given) | dict(zip(_NOISE[:2], parts, strict=True))
    return Handle(then.maker, tuple(sorted(given.items())), then.scale)


def measured(reader: Interpreter, made: Handle, args: list[Value], kw: dict[str, Value]) -> Value:
    """Return the release of a measurement, and charge for it."""
    if made.then and len(args) == 2 and not kw:
        return chained(reader, "RShift", tuple(args), made)
    if made.then or made.scale is None or len(args) != 1 or kw:
        raise reader.refuse("a call of what OpenDP makes that is not followed")
    reader.require_once("noise of its own for each record is not followed")
    _check_library(reader)
    real = _built(reader, made)
    reader.doubt("a generator of a library's own is drawn from")
    domain = made.of("input_domain")
    vector = domain.maker == "vector_domain"
    numbers = (domain.of("atom_domain") if vector else domain).of("T")
    value = reader.release(reader.gathered(args[0]))
    if not is_public(value):
        x = _statistic(reader, value, numbers, vector=vector)
        _check_kinds(reader, [each * sum(x.shape) for each in _NUMBERS])
        _charge(reader, made, real, x)
    if made.maker == "make_noisy_max":
        return WHOLE
    one = PublicFloat(()) if numbers == "f64" else WHOLE
    if not vector:
        return one
    shape = shape_of(value)
    known = shape is not None and len(shape) == 1 and sum(shape) >= 0
    return reader.listed([one] * sum(shape)) if shape is not None and known else UNKNOWN


def _statistic(reader: Interpreter, value: Value, numbers: str, *, vector: bool) -> Statistic:
    """Return a value that the measurement takes: any other raises an error."""
    reader.require_followed(value)
    if not isinstance(value, Statistic) or len(value.shape) != vector or sum(value.shape) < 0:
        wanted = "a vector of numbers" if vector else "a number"
        raise reader.refuse(f"a measurement of {kind(value)}, which is not {wanted}")
    if numbers != "f64" and (value.floats or not value.integer):
        raise reader.refuse("a measurement of whole numbers, of what may not be one", "int(...)")
    if value.size is None or value.size > _LARGEST[numbers]:
        raise reader.refuse("numbers so large that OpenDP raises an error, or doubles round them")
    return value


def _charge(reader: Interpreter, made: Handle, real: Any, x: Statistic) -> None:
    """Charge for a release: what the measurement's map says, by its exact formula where close."""
    assert made.scale is not None  # noqa: S101  (of a measurement)
    require_fine(reader, x, COARSE * made.scale.size_above)
    metric, measure = made.of("input_metric"), made.of("output_measure")
    whole, maximum = metric.of("T") != "f64", made.maker == "make_noisy_max"
    distance = {
        "absolute_distance": x.linf,
        "l1_distance": x.l1,
        "l2_distance": root_above(x.l2_squared),
        "linf_distance": x.linf if whole else x.span / 2,  # a common shift changes no maximum
    }[metric.maker]
    squared = made.maker == "make_gaussian" or (
        measure is not None and measure.maker == "zero_concentrated_divergence"
    )
    mapped = real.map(math.ceil(distance) if whole else _double_above(distance))
    if not math.isfinite(mapped):
        raise reader.refuse("the measurement's map has no finite bound")
    rate = made.scale.inverse().size_above
    size, found = distance * rate * (2 if maximum else 1), Fraction(mapped)
    if squared:  # the charge is twice ρ
        squares = x.l2_squared if metric.maker == "l2_distance" else distance * distance
        size, found = squares / made.scale.square, 2 * found
    part, close = x.part, found <= size * _ROUNDING
    factor = part.factor * rate if part is not None and close and not maximum else Fraction(0)
    says = f"OpenDP's {made.maker}"
    law, scale = "concentrated" if squared else "pure", float(made.scale)
    part = part if factor else None
    reader.note(f"{says} of scale {scale:.6g} on {x.says}", noise=True)
    rule = f"{says}: its map of the distance, The OpenDP Library {_VERSION[:-1]}"
    size = size if close else found
    reader.charge(Charge(law, size, reader.line, rule, part, factor, scale, x.where, x.sample))


def _double_above(number: Fraction) -> float:
    """Return the smallest double that is at least a number."""
    near = float(number)
    return near if Fraction(near) >= number else math.nextafter(near, math.inf)


# ---------------------------------------------------------------------- the library itself


def _handle(reader: Interpreter, value: Value) -> Handle:
    """Return a domain, distance or measure from outside as the one that it is equal to."""
    if isinstance(value, Handle):
        return value
    found = [
        each for each in _known_spaces() if is_space(value) and _made_by_library(each) == value
    ]
    if not found:
        raise reader.refuse(
            "a domain or a distance that is not followed", "make it in the function"
        )
    return found[0]


def _known_spaces() -> Iterator[Handle]:
    """Yield the domains, distances and measures that are followed."""
    yield from (Handle(each, ()) for each in ("max_divergence", "zero_concentrated_divergence"))
    for numbers in sorted(set(_TYPES.values())):
        exact: tuple[tuple[str, Any], ...] = (("nan", False),) if numbers == "f64" else ()
        atom = Handle("atom_domain", (("T", numbers), *exact))
        yield from (atom, Handle("vector_domain", (("atom_domain", atom),)))
        for each in ("absolute_distance", "l1_distance", "l2_distance", "linf_distance"):
            yield Handle(each, (("T", numbers),))


def _built(reader: Interpreter, made: Handle) -> Any:
    """Return what the library makes, by its own constructor."""
    features = sys.modules["opendp.mod"].GLOBAL_FEATURES
    before = set(features)
    features.add("contrib")
    try:
        return _made_by_library(made)
    except Exception as error:
        said = " ".join(str(error).split())
        raise reader.refuse(f"raises {type(error).__name__}: {said[:80]}") from None
    finally:
        features.intersection_update(before)


def _made_by_library(made: Handle) -> Any:
    held = {
        name: _made_by_library(each) if isinstance(each, Handle) else each
        for name, each in made.given
    }
    homes = (vars(sys.modules[f"opendp.{each}"]) for each in _HOMES)
    return next(home[made.maker] for home in homes if made.maker in home["__all__"])(**held)


def _check_library(reader: Interpreter) -> None:
    """Refuse a library of which anything means something else than in the installed one."""
    if "opendp" in reader.unchanged:  # a reading runs nothing that could change it
        return
    home = home_of(reader, "opendp", _VERSION)
    own = [importlib.import_module(f"opendp.{each}") for each in (*_HOMES, *_MODULES)]
    files = [str(each.__file__) for each in own] + [str(vars(own[-1])["lib_path"])]
    for each in files:
        if not Path(each).resolve().is_relative_to(home):
            raise reader.refuse(f"{Path(each).name} is not of the installed OpenDP")
    arrays = sys.modules.get("numpy.ctypeslib._ctypeslib") or np.ctypeslib
    if vars(arrays).get("as_ctypes") is not np.ctypeslib.as_ctypes:
        raise reader.refuse("np.ctypeslib.as_ctypes is not what its file says")
    require_unchanged(reader, *own, ctypes, arrays)
    held = [each for module in own for each in vars(module).values() if isinstance(each, type)]
    pointed = [each for each in held if issubclass(each, ctypes.Structure | ctypes.Union)]
    _check_kinds(reader, [ctypes.POINTER(each) for each in (*_NUMBERS, *pointed)])
    reader.unchanged.add("opendp")


_NUMBERS: list[Any] = [ctypes.c_double, ctypes.c_int32, ctypes.c_int64]
"""The numbers that the library is handed, as C has them."""


def _check_kinds(reader: Interpreter, kinds: list[Any]) -> None:
    if not all(map(is_plain_of_c, kinds)):
        raise reader.refuse("a class of pointers or arrays is not what ctypes made")
