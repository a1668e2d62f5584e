"""Mechanisms of diffprivlib by their ``randomise``: laws of noise, and published guarantees.

Noise of a known law is read as a draw of NumPy's. Of every other mechanism the published guarantee
is charged for, and named as a rule of the proof: at the private value's own distance, not at the
sensitivity that was stated. The library is read as it is installed: a class or function of its
modules that means something else than its file says is refused. Its own generator is the system's.

References
----------
Holohan, Braghin, Mac Aonghusa and Levacher 2019, "Diffprivlib: the IBM differential privacy
library". Laplace noise of four uniforms: Holohan and Braghin 2021, "Secure random sampling in
differential privacy". Staircase: Geng and Viswanath 2016. Gaussian noise: Balle and Wang
2018. Discrete Gaussian noise: Canonne, Kamath and Steinke 2020, Theorem 4.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import abc
import functools
import importlib
import importlib.metadata
import inspect
import math
import os
import random
import sys
import types
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import ctx

from dpcp_audit.proving.arithmetic import LARGEST, kind, noisy
from dpcp_audit.proving.charges import Charge
from dpcp_audit.proving.distances import (
    UNKNOWN,
    WHOLE,
    Foreign,
    Hidden,
    Noise,
    Private,
    PublicFloat,
    Reference,
    Statistic,
    Value,
    is_known,
    is_public,
    is_whole,
    same,
    tokens,
)
from dpcp_audit.proving.exact_numbers import Surd, exact_of, is_scalar, plain
from dpcp_audit.proving.sources import changed_in, is_plain
from dpcp_audit.stats.enclosures import ball, lower

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.proving.paths import Interpreter

_GENERATOR: Any = np.random.default_rng
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
}
_BOUNDED = {"LaplaceTruncated", "LaplaceFolded", "GeometricTruncated", "GeometricFolded"}
"""Noise of a law, of which a function with public bounds is released."""
_PUBLISHED = {
    "GaussianDiscrete": "Canonne, Kamath and Steinke 2020, Theorem 4",
    "Staircase": "Geng and Viswanath 2016",
}
_CHOICES = {
    "Exponential": "McSherry and Talwar 2007, Theorem 6",
    "PermuteAndFlip": "McKenna and Sheldon 2020, Theorem 1",
}
_WHOLE = {"Geometric", "GeometricTruncated", "GeometricFolded", "GaussianDiscrete"}
"""Mechanisms of whole numbers alone: of any other number they raise an error."""
_PARAMETERS = ("epsilon", "delta", "sensitivity", "lower", "upper", "gamma")
_LISTS = ("utility", "candidates")
_RARE = Fraction(1, 2**40)
"""The rate of geometric noise below which a draw may be as large as doubles that skip numbers."""


@dataclass(frozen=True, slots=True)
class Mechanism(Hidden):
    """A mechanism with known parameters, and the utilities that it chooses by.

    Parameters
    ----------
    name : str
        Its class.
    numbers : tuple
        Its parameters and their exact values, and its scale, by name.
    utility : Statistic or None
        The utility of each candidate.
    candidates : value
        A list; None where places are chosen.
    """

    name: str
    numbers: tuple[tuple[str, Surd], ...]
    utility: Statistic | None = None
    candidates: Value = None

    def number(self, name: str) -> Surd:
        """Return a parameter."""
        return dict(self.numbers)[name]


def name_of(target: Any) -> str:
    """Return the name of a class of the library that is known here; "" of anything else."""
    module = sys.modules.get("diffprivlib.mechanisms")
    name = target.__name__ if type(target) is abc.ABCMeta else ""
    known = module is not None and name in {*_LAWS, *_PUBLISHED, *_CHOICES}
    return name if known and vars(module).get(name) is target else ""


_MEANT = {name: dict(vars(importlib.import_module(name))) for name in ("random", "secrets")}
"""What the names of these modules mean when the verifier is loaded."""
_BASES = {each: each.__bases__ for each in (random.Random, random.SystemRandom)}
_ENTROPY = os.urandom


def _changed_since(module: types.ModuleType) -> str:
    """Return what of a module means something else than it did at first; "" where nothing does."""
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
    if type(cls) is not abc.ABCMeta or np.random.default_rng is not _GENERATOR:
        raise reader.refuse("a generator of NumPy's, or a class, was changed")
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


def maker(target: Any) -> Callable[[Any, list[Value], dict[str, Value]], Value] | None:
    """Return what reads a call of a class of the library; None of anything else."""
    name = name_of(target)
    return functools.partial(_construct, name, target) if name else None


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
    lists: dict[str, Value] = {each: given.pop(each) for each in _LISTS if each in given}
    for each, value in given.items():
        given[each] = reader.public(value, f"{each} of {name}")
        if not (is_known(given[each]) and is_scalar(given[each])):
            raise reader.refuse(f"{each} of {name} is no known number")
    utility, candidates = _lists(reader, lists) if name in _CHOICES else (None, None)
    if args or (lists and name not in _CHOICES):
        raise reader.refuse(f"raises TypeError: arguments of {name}")
    try:
        alone = {} if utility is None else {"utility": [0.0]}
        made = cls(**{each: plain(value) for each, value in given.items()}, **alone)
    except Exception as error:
        raise reader.refuse(f"raises {type(error).__name__}: {error}") from None
    return Mechanism(name, _numbers(reader, made, given), utility, candidates)


def _lists(reader: Interpreter, lists: dict[str, Value]) -> tuple[Statistic, Value]:
    """Return the utilities as one statistic, and the candidates."""
    utility, candidates = lists.get("utility"), lists.get("candidates")
    for each in (utility, *([] if candidates is None else [candidates])):
        if not isinstance(each, Reference) or reader.cells(each).kind != "list":
            raise reader.refuse("raises TypeError: utilities and candidates are lists")
    found = reader.gathered(utility)
    if not isinstance(found, Statistic) or len(found.shape) != 1:
        raise reader.refuse("utilities that are no numbers of the data")
    if found.size is None or found.size > LARGEST:
        raise reader.refuse("utilities whose size is not known, or so large that they wrap around")
    if not found.integer and found.size > found.linf / _RARE:
        raise reader.refuse("utilities are so large that doubles round what moves them")
    if candidates is not None:
        items = reader.cells(candidates).items
        if len(items) != found.shape[0] or not all(map(_is_candidate, items)):
            raise reader.refuse("candidates that are no known numbers or texts, one a utility")
    return found, candidates


def _is_candidate(value: Value) -> bool:
    return is_known(value) and (is_scalar(value) or isinstance(value, str))


def _of_outside(reader: Interpreter, made: Any) -> Mechanism:
    """Return a mechanism that was made before: one of this class and these parameters is as this.

    It draws from the system's generator, which has no state.
    """
    cls, held = type(made), vars(made)
    if type(held) is not dict:
        raise reader.refuse("a mechanism was changed after it was made")
    held = dict(held)
    name = name_of(cls)
    if not name or name in _CHOICES:
        raise reader.refuse(f"a {cls.__name__} from outside, which can change")
    _check_library(reader, cls)
    generator = held.pop("_rng", None)
    if type(generator) is not random.SystemRandom or vars(generator).keys() - {"gauss_next"}:
        raise reader.leak(
            "a generator of the program's own: whoever knows its seed knows the noise",
            "leave random_state out: the system's generator is then drawn from",
        )
    if not all(map(is_plain, held.values())):
        raise reader.refuse("a parameter of a mechanism is of a type of its own")
    given = {each: held[each] for each in _PARAMETERS if each in held and each in _taken(cls)}
    try:
        twin = dict(vars(cls(**given)))
    except Exception as error:
        raise reader.refuse(f"raises {type(error).__name__}: {error}") from None
    for each in held.keys() | (twin.keys() - {"_rng"}):
        if each != "random_state" and not (each in held and same(held[each], twin.get(each))):
            raise reader.refuse(f"{each} of a {name} was changed after it was made")
    return Mechanism(name, _numbers(reader, made, {}))


def _taken(cls: Any) -> set[str]:
    """Return the arguments that a class is made with."""
    return set(inspect.signature(cls).parameters)


def _numbers(
    reader: Interpreter, made: Any, given: dict[str, Value]
) -> tuple[tuple[str, Surd], ...]:
    """Return the exact values of what a mechanism computes with."""
    found: dict[str, Surd] = {}
    for each in ("epsilon", "delta", "sensitivity", "monotonic"):
        value = given.get(each, vars(made).get(each))
        exact = exact_of(value) if is_scalar(value) else None
        if exact is None and each in vars(made):
            raise reader.refuse(f"{each} is no finite number")
        if exact is not None:
            found[each] = exact
    if found["epsilon"].sign < 0 or found["sensitivity"].sign <= 0:
        raise reader.refuse("a sensitivity of 0 stands for no noise at all")
    for each in ("epsilon", "sensitivity"):
        if not _RARE**2 <= found[each].square <= _RARE**-2:
            raise reader.refuse(f"{each} so small or large that doubles under- or overflow")
    scale = vars(made).get("_scale")
    if isinstance(scale, float) and math.isfinite(scale) and scale > 0:
        found["scale"] = Surd.of(Fraction(float(scale)))
    return tuple(found.items())


# ---------------------------------------------------------------------- what is drawn


KINDS = (Mechanism, Foreign)


def method(
    reader: Interpreter,
    owner: Mechanism | Foreign,
    name: str,
    args: list[Value],
    kw: dict[str, Value],
) -> Value:
    """Return what a mechanism makes of a value, and charge for it where it is released."""
    if name != "randomise":
        raise reader.refuse(f"{name} of a mechanism is not followed")
    if isinstance(owner, Foreign):
        owner = _of_outside(reader, owner.made)
    if reader.each_record:
        raise reader.refuse("noise of its own for each record is not followed")
    if len(args) + len(kw) > 1 or kw.keys() - {"value"}:
        raise reader.refuse("raises TypeError: arguments of randomise")
    (value,) = (*args, *kw.values()) or (None,)
    reader.doubt("a generator of a library's own is drawn from")
    if owner.name in _CHOICES:
        return _chosen(reader, owner, value)
    value = reader.release(value)
    if is_public(value):
        return UNKNOWN
    if owner.name in _PUBLISHED:
        return _published(reader, owner, _number(reader, owner, value))
    return _law(reader, owner, _number(reader, owner, value))


def _number(reader: Interpreter, owner: Mechanism, value: Value) -> Statistic:
    """Return a value that the mechanism takes: any other raises an error."""
    if isinstance(value, Private):
        raise reader.refuse(value.reason, value.hint)
    if not isinstance(value, Statistic) or value.shape != ():
        raise reader.refuse(f"randomise of {kind(value)}, which is no number")
    if owner.name in _WHOLE and (not value.integer or value.floats or value.size is None):
        raise reader.refuse(f"{owner.name} of what may be no whole number", "int(...)")
    if value.size is not None and value.size > LARGEST:
        raise reader.refuse("numbers are so large that doubles round whole numbers")
    return value


def _law(reader: Interpreter, owner: Mechanism, value: Statistic) -> Value:
    """Return a value with noise of a known law, or what is made of it with public bounds."""
    law = _LAWS[owner.name]
    noise = Noise((next(tokens),), law, _scale(reader, owner, law), (), reader.line)
    reader.rules.add(f"diffprivlib's {owner.name} draws {law} noise: Holohan and others 2019")
    found = noisy(reader, value, noise)
    if owner.name not in _BOUNDED:
        return found
    reader.release(found)
    return UNKNOWN


def _scale(reader: Interpreter, owner: Mechanism, law: str) -> Surd:
    """Return the scale of noise, from below; of geometric noise its rate."""
    epsilon, sensitivity = owner.number("epsilon"), owner.number("sensitivity")
    if law == "normal":
        return owner.number("scale")
    if owner.name in _WHOLE:
        rate = epsilon.times(sensitivity.inverse())
        if rate.sign <= 0 or rate.square < _RARE**2:
            raise reader.refuse("geometric noise so large that whole numbers wrap around")
        return rate
    delta = owner.number("delta")
    if not delta.sign:
        return sensitivity.times(epsilon.inverse())
    parts = [each.rational for each in (epsilon, delta, sensitivity)]
    if any(each is None for each in parts) or parts[1] == 1:
        raise reader.refuse("a scale of noise that is no known number")
    with ctx.workprec(192):
        first, second, third = (ball(each) for each in parts if each is not None)
        return Surd.of(Fraction(lower(third / (first - (1 - second).log()))))


def _published(reader: Interpreter, owner: Mechanism, value: Statistic) -> Value:
    """Charge for a value by a published guarantee, at the distance that it has."""
    name, line = owner.name, reader.line
    epsilon, sensitivity = owner.number("epsilon"), owner.number("sensitivity")
    reader.rules.add(
        f"assumes that diffprivlib's {name} does what its paper says: {_PUBLISHED[name]}"
    )
    steps = Surd.of(value.linf).times(sensitivity.inverse()).size_above
    says, rest = f"diffprivlib's {name}", {"where": value.where, "sample": value.sample}
    if name == "Staircase":
        cost = math.ceil(steps) * epsilon.size_above
        reader.charge(Charge("pure", cost, line, says, **rest))  # type: ignore[arg-type]
        return PublicFloat(())
    scale = owner.number("scale")
    cost = value.l2_squared / scale.square
    reader.charge(Charge("concentrated", cost, line, says, scale=float(scale), **rest))  # type: ignore[arg-type]
    return WHOLE


def _chosen(reader: Interpreter, owner: Mechanism, value: Value) -> Value:
    """Charge for a choice by utilities, whose differences have a span."""
    utility = owner.utility
    if value is not None or utility is None:
        raise reader.refuse("raises ValueError: a choice takes no value")
    divisor = Fraction(1 if owner.number("monotonic").sign else 2)
    factor = owner.number("epsilon").times(owner.number("sensitivity").inverse())
    span = utility.span * factor.size_above / divisor
    law = "range" if owner.name == "Exponential" else "pure"
    reader.rules.add(
        f"assumes that diffprivlib's {owner.name} does what its paper says: {_CHOICES[owner.name]}"
    )
    says = f"diffprivlib's {owner.name}"
    reader.charge(Charge(law, span, reader.line, says, where=utility.where))
    if owner.candidates is None:
        return WHOLE
    items = reader.cells(owner.candidates).items
    if not all(map(_is_candidate, items)) or len(items) != utility.shape[0]:
        raise reader.refuse("candidates are changed after the mechanism was made")
    return WHOLE if all(map(is_whole, items)) else UNKNOWN
