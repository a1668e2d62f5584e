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
import functools
import importlib
import importlib.metadata
import math
import sys
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from dpcp_audit.proving.unchanged_code import changed_in
from dpcp_audit.stats.enclosures import ball, lower

if TYPE_CHECKING:
    from collections.abc import Callable

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
        changed = changed_in(module)
        if changed:
            raise reader.refuse(f"{changed} of {module.__name__} is not what its file says")
    if not version.startswith(_VERSION):
        raise reader.refuse(f"diffprivlib {version} is not known", f"it is known as {_VERSION}")
