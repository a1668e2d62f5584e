"""Mechanisms of diffprivlib by their ``randomise``: noise of a known law.

The library is read as it is installed: a class or function of its modules that means something
else than its file says is refused. A mechanism is made in the function that is read, and draws from
the system's generator. Truncated and folded values are functions of noisy ones. Uniform, staircase
and discrete Gaussian noise, and choices by a utility, are charged for where they are drawn.

References
----------
Holohan, Braghin, Mac Aonghusa and Levacher 2019, "Diffprivlib: the IBM differential privacy
library". Laplace noise of four uniforms: Holohan and Braghin 2021, "Secure random sampling in
differential privacy". Gaussian noise: Balle and Wang 2018. Staircase noise: Geng and Viswanath
2016, Theorem 1. Uniform noise: Geng, Ding, Guo and Kumar 2018. Discrete Gaussian noise: Canonne,
Kamath and Steinke 2020, Theorem 4. Permute-and-flip: McKenna and Sheldon 2020, and as a noisy
maximum: Ding, Kifer and others 2021.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import abc
import functools
import math
import sys
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import ctx

from dpcp_audit.proving import gathering
from dpcp_audit.proving.arithmetic import COARSE, FIXED, LARGEST, kind, noisy, require_fine
from dpcp_audit.proving.charges import EXPONENTIAL, Charge
from dpcp_audit.proving.distances import (
    SCALAR,
    UNKNOWN,
    WHOLE,
    Hidden,
    Noise,
    Reference,
    Statistic,
    Value,
    is_known,
    is_public,
    tokens,
)
from dpcp_audit.proving.exact_numbers import Surd, exact_of, is_scalar, plain
from dpcp_audit.proving.noise_rules import own_generator
from dpcp_audit.proving.table import SPECIAL
from dpcp_audit.proving.unchanged_code import home_of, require_unchanged
from dpcp_audit.stats.enclosures import ball, lower
from dpcp_audit.words.results import Drawing

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.proving.paths import Contents
    from dpcp_audit.proving.reading import Interpreter

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
    "Uniform": "uniform",
    "Staircase": "staircase",
    "GaussianDiscrete": "discrete Gaussian",
    "Exponential": "exponential mechanism",
    "PermuteAndFlip": "permute-and-flip",
}
_BOUNDED = {"LaplaceTruncated", "LaplaceFolded", "GeometricTruncated", "GeometricFolded"}
"""Noise of a law, of which a function with public bounds is released."""
_WHOLE = {"two-sided geometric", "discrete Gaussian"}
"""The laws of whole numbers: of any other number their mechanisms raise an error."""
_CHOICES = {
    "exponential mechanism": ("range", EXPONENTIAL),
    "permute-and-flip": ("pure", "permute-and-flip: McKenna and Sheldon 2020, Theorem 1"),
}
"""The laws of a choice, with that of its charge and the rule."""
_STEEPEST = 25
"""ε of staircase noise above which 1 - e^-ε, as a double, is too coarse."""
_RARE = Fraction(1, 2**40)
"""The rate of geometric noise below which a draw may be as large as doubles that skip numbers."""


@dataclass(frozen=True, slots=True)
class Mechanism(Hidden):
    """A mechanism: the name of its class, and its scale from below; of geometric noise its rate.

    Of a choice, the scale is that of the utility, and ``held`` are the lists that it is made of,
    with what was in them.
    """

    called = "a mechanism"

    name: str
    scale: Surd
    epsilon: Surd | None = None
    utility: Value = None
    held: tuple[tuple[Reference, Contents], ...] = ()


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
    reader.require_once("a mechanism is made for each record")
    _check_library(reader, cls)
    if name == "Staircase" and np.random.default_rng not in SPECIAL:
        raise reader.refuse("np.random.default_rng is not NumPy's own")
    given = dict(kw)
    lists = {each: given.pop(each, None) for each in ("utility", "candidates")}
    if given.pop("random_state", None) is not None:
        hint = "leave random_state out: the system's generator is then drawn from"
        raise own_generator(reader, hint)
    for each, value in given.items():
        given[each] = reader.public(value, f"{each} of {name}", FIXED)
        if not (is_known(given[each]) and is_scalar(given[each])):
            raise reader.refuse(f"{each} of {name} is not a known number")
    if args:
        raise reader.refuse(f"raises TypeError: arguments of {name}")
    if _LAWS[name] in _CHOICES:
        return _choice(reader, name, cls, given, lists)
    if any(each is not None for each in lists.values()):
        raise reader.refuse(f"raises TypeError: arguments of {name}")
    made = _made(reader, cls, given)
    scale = _scale(reader, _LAWS[name], vars(made) | given)
    return Mechanism(name, scale, exact_of(given.get("epsilon")))


def _made(reader: Interpreter, cls: Any, given: dict[str, Value], **lists: Any) -> Any:
    """Return the mechanism that the class makes of these arguments."""
    with reader.computing():
        return cls(**{each: plain(value) for each, value in given.items()}, **lists)


def _choice(
    reader: Interpreter,
    name: str,
    cls: Any,
    given: dict[str, Value],
    lists: dict[str, Value],
) -> Mechanism:
    """Return a mechanism that chooses a candidate by its utility."""
    held = [each for each in lists.values() if each is not None]
    if lists["utility"] is None or not all(map(_is_list, [reader] * len(held), held)):
        raise reader.refuse("utility or candidates that are not a list", "use .tolist()")
    if "measure" in given:
        raise reader.refuse("a choice with a measure of the candidates")
    contents = [reader.cells(each) for each in held]
    if not all(map(is_public, contents[-1].items)) and len(held) > 1:
        raise reader.refuse("candidates that are not public numbers or texts")
    stand_ins: dict[str, Any] = {
        each: [0.0] * len(reader.cells(value).items)
        for each, value in lists.items()
        if value is not None
    }
    made = _made(reader, cls, given, **stand_ins)
    scale = _scale(reader, "laplace", vars(made) | given)
    if not given.get("monotonic", False):
        scale = scale.times(Surd.of(2))
    utility = reader.release(reader.gathered(lists["utility"]))
    kept = tuple(zip(held, contents, strict=True))
    return Mechanism(name, scale, utility=utility, held=kept)


def _is_list(reader: Interpreter, value: Value) -> bool:
    return isinstance(value, Reference) and gathering.kind_of(reader, value) == "list"


def _chosen(reader: Interpreter, owner: Mechanism) -> Value:
    """Charge for a choice by the utility, and return what is chosen."""
    if any(reader.cells(each) is not contents for each, contents in owner.held):
        raise reader.refuse("a list is changed that a mechanism keeps", "make the mechanism after")
    law, x = _LAWS[owner.name], owner.utility
    if not is_public(x):
        if not isinstance(x, Statistic) or len(x.shape) != 1:
            raise reader.refuse(f"a choice by {kind(x)}, which is not a list of numbers")
        require_fine(reader, x, COARSE * owner.scale.size_above)
        charged, rule = _CHOICES[law]
        size = x.span * owner.scale.inverse().size_above
        reader.charge(Charge(charged, size, reader.line, rule, where=x.where, sample=x.sample))
    return WHOLE if len(owner.held) == 1 else UNKNOWN


def _scale(reader: Interpreter, law: str, held: dict[str, Value]) -> Surd:
    """Return the scale of noise, from below; of geometric noise its rate."""
    epsilon, delta, sensitivity = _parameters(reader, law, held)
    if law in {"normal", "discrete Gaussian"}:
        return Surd.of(Fraction(float(held["_scale"])))  # of an infinite one it is an error
    if law == "uniform":
        return sensitivity.times(delta.inverse())
    if law == "staircase":
        return sensitivity
    if law in _WHOLE:
        rate = epsilon.times(sensitivity.inverse())
        if rate.square < _RARE**2:
            raise reader.refuse("geometric noise so large that whole numbers wrap around")
        return rate
    if not delta.sign:
        return sensitivity.times(epsilon.inverse())
    return _laplace_scale(reader, [each.rational for each in (epsilon, delta, sensitivity)])


def _parameters(reader: Interpreter, law: str, held: dict[str, Value]) -> list[Surd]:
    """Return ε, δ and the sensitivity, unless they are of an unusual size."""
    numbers: list[Surd] = []
    for each in ("epsilon", "delta", "sensitivity"):
        exact = exact_of(held[each])
        if exact is None:
            raise reader.refuse(f"{each} is not a finite number")
        numbers.append(exact)
    if numbers[0].sign < 0 or numbers[2].sign <= 0:
        raise reader.refuse("a sensitivity of 0 stands for no noise at all")
    for name, number in zip(("epsilon", "delta", "sensitivity"), numbers, strict=True):
        used = name == "sensitivity" or (name == "delta") == (law == "uniform")
        if used and not _RARE**2 <= number.square <= _RARE**-2:
            raise reader.refuse(f"{name} so small or large that doubles under- or overflow")
    if law == "staircase" and numbers[0].square > _STEEPEST**2:
        raise reader.refuse("staircase noise of so large an ε that doubles round its law")
    return numbers


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
    reader.require_once("noise of its own for each record is not followed")
    reader.doubt("a generator of a library's own is drawn from")
    if owner.held and not (args or kw):
        return _chosen(reader, owner)
    if owner.held or len(args) + len(kw) != 1 or kw.keys() - {"value"}:
        raise reader.refuse("raises TypeError: arguments of randomise")
    value = reader.release((*args, *kw.values())[0])
    if is_public(value):
        return UNKNOWN
    law = _LAWS[owner.name]
    if law in _AT_ONCE:
        return _charged(reader, owner, _number(reader, law, value))
    noise = Noise((next(tokens),), law, owner.scale, (), reader.line)
    reader.rules.add(f"diffprivlib's {owner.name} draws {law} noise: Holohan and others 2019")
    found = noisy(reader, _number(reader, law, value), noise)
    if owner.name not in _BOUNDED:
        return found
    reader.release(found)
    return UNKNOWN


_AT_ONCE = {
    "uniform": "(0, δ), δ the distance over the width of uniform noise: Geng and others 2018",
    "staircase": "ε for each step of staircase noise: Geng and Viswanath 2016, Theorem 1",
    "discrete Gaussian": "ρ of discrete Gaussian noise: Canonne and others 2020, Theorem 4",
}
"""The laws of noise that is charged for where it is drawn, and their rules."""


def _charged(reader: Interpreter, owner: Mechanism, x: Statistic) -> Value:
    """Charge for a number with noise, and return it, public."""
    law, scale = _LAWS[owner.name], owner.scale
    require_fine(reader, x, COARSE * scale.size_above)
    steps = x.linf * scale.inverse().size_above
    if law == "staircase" and owner.epsilon is not None:
        charged, size = "pure", math.ceil(steps) * owner.epsilon.size_above
    elif law == "uniform":
        charged, size = "rare", min(steps, Fraction(1))
    else:
        charged, size = "concentrated", x.l2_squared / scale.square
    reader.note(f" on {x.says}", drawn=Drawing(law, float(scale)))
    charge = Charge(charged, size, reader.line, _AT_ONCE[law], where=x.where, sample=x.sample)
    charge = replace(charge, cell=x.cell)
    if charged == "concentrated" and x.part is not None:
        rate = x.part.factor * scale.inverse().size_above
        charge = replace(charge, part=x.part, rate=rate)
    reader.charge(charge)
    return WHOLE if law in _WHOLE else SCALAR


def _number(reader: Interpreter, law: str, value: Value) -> Statistic:
    """Return a value that the mechanism takes: any other raises an error."""
    reader.require_followed(value)
    if not isinstance(value, Statistic) or value.shape != ():
        raise reader.refuse(f"randomise of {kind(value)}, which is not a number")
    if law in _WHOLE and (not value.integer or value.floats or value.size is None):
        raise reader.refuse(
            "noise of whole numbers on a value that may not be a whole number", "int(...)"
        )
    if value.size is not None and value.size > LARGEST:
        raise reader.refuse("numbers are so large that doubles round whole numbers")
    return value


# ---------------------------------------------------------------------- the library's own code


def _check_library(reader: Interpreter, cls: type) -> None:
    """Refuse a class of which anything means something else than in the installed library."""
    home = home_of(reader, "diffprivlib", _VERSION)
    homes = {each.__module__ for each in cls.__mro__ if each.__module__ not in {"abc", "builtins"}}
    for each in cls.__mro__[:-1]:
        if vars(sys.modules[each.__module__]).get(each.__name__) is not each:
            raise reader.refuse(f"{each.__name__} is not of the installed diffprivlib")
    modules = [sys.modules[name] for name in {*homes, "diffprivlib.utils"}]
    for module in modules:
        if not Path(str(module.__file__)).resolve().is_relative_to(home):
            raise reader.refuse(f"{module.__name__} is not of the installed diffprivlib")
    others = ("random", "secrets", "abc", "numbers")
    require_unchanged(reader, *modules, *(sys.modules[each] for each in others))
