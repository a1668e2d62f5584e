"""Operators: what they give for each pair of kinds of values.

Adding a public number leaves distances as they are; a factor scales them; distances of sums add up
(the triangle inequality). Everything else of a noisy value is post-processing of its release.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import math
import operator
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.proving import dp_sgd, gaps, inverse_laws, list_weights, torch_values
from dpcp_audit.proving.class_rows import ClassRows
from dpcp_audit.proving.distances import (
    DISCRETE,
    MOST_RECORDS,
    SEED,
    UNKNOWN,
    WHOLE,
    BoundMethod,
    Closure,
    Distribution,
    EitherType,
    Generator,
    Hidden,
    Inverse,
    Multiple,
    Noise,
    Noisy,
    Private,
    Public,
    PublicFloat,
    PublicInteger,
    Records,
    Reference,
    Shifted,
    Statistic,
    Value,
    Weights,
    affine_of,
    in_both,
    is_count,
    is_data,
    is_known,
    is_public,
    is_whole,
    multiple_of,
    of_operator,
    operation,
    shape_of,
    size_of,
    tokens,
)
from dpcp_audit.proving.exact_numbers import (
    Affine,
    Surd,
    combine,
    exact_of,
    frozen,
    is_scalar,
    plain,
    rational_of,
)
from dpcp_audit.proving.thresholds import Difference, Present, difference, shown_above
from dpcp_audit.words.formatting import rounded
from dpcp_audit.words.quantities import Quantity

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.proving.reading import Interpreter

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "Div": operator.truediv,
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
    "Pow": operator.pow,
    "LShift": operator.lshift,
    "RShift": operator.rshift,
    "BitAnd": operator.and_,
    "BitOr": operator.or_,
    "BitXor": operator.xor,
    "MatMult": operator.matmul,
}
_POWERS = range(1, 17)
"""Powers of records that are followed."""
_NUMERIC = {"Add", "Sub", "Mult", "Div", "Pow"}
_WHOLE = {"Add", "Sub", "Mult", "FloorDiv", "Mod"}
_SMALLEST = Fraction(1, 2**1000)
"""Square of a scale of noise below which doubles may underflow."""
LARGEST = 2**53
"""Size of a number beyond which doubles leave out whole numbers, and NumPy's may wrap around."""
COARSE = 2**40
"""Size, in scales of noise, of what is added: doubles of that size are 2⁻¹² scales apart."""
_MOST_MOVES = 16
"""Numbers that may be added to one draw, one after the other."""
_FAR = 2**31
"""Size of what may be added to noise of whole numbers."""
_TOO_LARGE = "numbers are so large that doubles round whole numbers, and NumPy's may wrap around"
_MAY_WRAP = "a whole number of NumPy's wraps around if the public number beside it is large"
SYMMETRIC = {"normal", "laplace", "two-sided geometric", DISCRETE}
_ONE_SIDED = {"geometric": "two-sided geometric", "exponential": "laplace"}
"""Laws of draws above 0, and of the difference of two of them."""


def binary(reading: Interpreter, name: str, a: Value, b: Value) -> Value:
    """Return the result of an operator on two values."""
    if is_known(a) and is_known(b):
        return known_binary(reading, name, a, b)
    reading.require_followed(a, b)
    name, b = inverse_laws.added(name, b)
    made = inverse_laws.binary(name, a, b)
    if made is not None:
        return made
    a, b = (reading.release(each) if isinstance(each, Inverse) else each for each in (a, b))
    if isinstance(a, torch_values.KINDS) or isinstance(b, torch_values.KINDS):
        return torch_values.binary(reading, name, a, b)
    if isinstance(a, Hidden) or isinstance(b, Hidden):
        return _of_hidden(reading, name, a, b)
    if isinstance(a, Records) or isinstance(b, Records):
        return _of_records(reading, name, a, b)
    found = difference(reading, a, b) if name == "Sub" else None
    if name in {"Add", "Sub"} and found is None:
        found = _sum(reading, name, a, b)
    elif name in {"Mult", "Div"}:
        found = _product(reading, name, a, b)
    if found is not None:
        return found
    return _processed(reading, name, a, b)


def _of_hidden(reading: Interpreter, name: str, a: Value, b: Value) -> Value:
    """Return the result where an operand is of a kind that only one mechanism has."""
    if isinstance(a, Difference) or isinstance(b, Difference):
        return _processed(reading, name, a, b)
    if name == "BitAnd" and (isinstance(a, Present) or isinstance(b, Present)):
        return shown_above(reading, *((a, b) if isinstance(a, Present) else (b, a)))
    if isinstance(a, EitherType) or isinstance(b, EitherType):
        raise reading.refuse(f"{name} of {EitherType.called}", "make it a float: float(...)")
    if isinstance(a, Shifted) or isinstance(b, Shifted):
        raise reading.refuse(f"{name} of records plus a public number", "clip them first: np.clip")
    if isinstance(a, dp_sgd.KINDS) or isinstance(b, dp_sgd.KINDS):
        return dp_sgd.binary(reading, name, a, b)
    if isinstance(a, ClassRows) or isinstance(b, ClassRows):
        return _of_class_rows(reading, name, a, b)
    if isinstance(a, list_weights.KINDS) or isinstance(b, list_weights.KINDS):
        return list_weights.binary(reading, name, a, b)
    return gaps.binary(reading, name, a, b)


def _of_class_rows(reading: Interpreter, name: str, a: Value, b: Value) -> ClassRows:
    """Return an operator of every class probability and a known number."""
    rows, other = (a, b) if isinstance(a, ClassRows) else (b, a)
    if rational_of(other) is not None and not rows.records.single:
        pair = (rows.records, other) if rows is a else (other, rows.records)
        found = _of_records(reading, name, *pair)
        if isinstance(found, Records):
            return replace(rows, records=found)
    raise reading.refuse(f"{operation(name)} of class probabilities is not followed")


def _processed(reading: Interpreter, name: str, a: Value, b: Value) -> Value:
    """Return any other operator's result: public, of released values; refuse data."""
    a, b = reading.release(a), reading.release(b)
    if is_data(a) or is_data(b) or not (is_public(a) and is_public(b)):
        raise reading.refuse(f"{operation(name)} of {kind(a)} and {kind(b)} is not followed")
    if name == "MatMult":
        return UNKNOWN
    multiple = _multiple_of_n(name, a, b)
    if name in _WHOLE and is_whole(a) and is_whole(b):
        size = _size_of_result(name, a, b)
        small = size is not None and size <= LARGEST
        return PublicInteger((), size, multiple) if small else WHOLE
    if name == "Pow" and not (type(b) is int and b >= 0):
        return UNKNOWN  # of a number below 0 it may be a complex number
    doubles = isinstance(a, PublicFloat) or isinstance(b, PublicFloat) or name == "Div"
    doubles = doubles or (is_whole(a) and is_double(b)) or (is_whole(b) and is_double(a))
    shape = broadcast(shape_of(a), shape_of(b))
    if not doubles or name not in _NUMERIC or shape is None:
        return Public(shape)
    size = _size_of_result(name, a, b)
    affine = _affine(name, a, b, size) if shape == () and size is not None else None
    if affine is not None and not affine.factor:
        size = math.ceil(abs(affine.offset) + affine.error)
    return PublicFloat(shape, size, affine, multiple)


def _multiple_of_n(name: str, a: Value, b: Value) -> Multiple | None:
    """Return a product or quotient of multiples of powers of n, of which none underflows."""
    x, y = multiple_of(a), multiple_of(b)
    if x is None or y is None or name not in {"Mult", "Div"}:
        return None
    if not (x.factor.sign and y.factor.sign):
        return None
    if name == "Div":
        y = Multiple(y.factor.inverse(), -y.power)
    found = Multiple(x.factor.times(y.factor), x.power + y.power)
    far = not 1 / _LARGEST_PUBLIC**2 < found.factor.square < _LARGEST_PUBLIC**2
    return None if far or abs(found.power) > 2 else found


_LARGEST_PUBLIC = 2**200
"""Size up to which public numbers are followed: none of that size overflows, or is rounded to 0."""


def _size_of_result(name: str, a: Value, b: Value) -> int | None:
    """Return a bound of a sum, difference, product or multiple of public numbers."""
    one, other = size_of(a), size_of(b)
    if one is None or other is None:
        return None
    if name in {"Add", "Sub"}:
        found = one + other
    elif name == "Mult":
        found = one * other
    elif name == "Div" and is_known(b) and abs(plain(b)) >= 1 / _LARGEST_PUBLIC:
        found = math.ceil(one / Fraction(float(abs(plain(b)))))
    elif name == "Div" and is_count(b):
        found = one
    else:
        return None
    return found if found <= _LARGEST_PUBLIC else None


_ROUNDING = Fraction(1, 2**51)
"""A bound of the share by which a double's operator rounds."""


def _affine(name: str, a: Value, b: Value, size: int) -> Affine | None:
    """Return what is known of a result's difference to others, with the operator's rounding."""
    x, y, found = affine_of(a), affine_of(b), None
    if x is None or y is None:
        return None
    if name in {"Add", "Sub"}:
        found = x.plus(y, 1 if name == "Add" else -1)
    elif name == "Mult" and (is_known(a) or is_known(b)):
        number = Fraction(float(plain(a if is_known(a) else b)))
        found = (y if is_known(a) else x).times(number) if number else None
    elif name == "Div" and is_known(b):
        found = x.times(1 / Fraction(float(plain(b))))
    return None if found is None else replace(found, error=found.error + (size + 1) * _ROUNDING)


def decided_by_difference(name: str, a: Value, b: Value) -> bool | None:
    """Return a comparison of two numbers whose difference is known; None of any other."""
    x, y = affine_of(a), affine_of(b)
    apart = None if x is None or y is None or is_known(a) is is_known(b) is True else x.plus(y, -1)
    if apart is None or apart.factor or abs(apart.offset) <= apart.error:
        return None
    below = apart.offset < 0
    return {"Lt": below, "LtE": below, "Gt": not below, "GtE": not below}.get(name)


def kind(value: Value) -> str:
    """Return the kind of a value, in words."""
    if isinstance(value, Statistic):
        return str(value.says)
    if isinstance(value, Present):
        return f"whether {kind(value.counts)} is above a number"
    names: dict[type, str] = {
        Records: "records",
        Private: "the records",
        Weights: "weights",
        Noise: "noise",
        Inverse: "a draw",
        Noisy: "a noisy value",
        Generator: "a generator",
        Distribution: "a law of scipy.stats",
        Reference: "a list, a dictionary, an object, or an array that is filled",
        BoundMethod: "a method",
        Closure: "a function",
    }
    if is_public(value):
        return "a public value"
    if isinstance(value, Hidden) and value.called:
        return value.called
    return names.get(type(value), "a " + type(value).__name__.lower())


FIXED = "give a number that holds for all data"
_ORDER = (
    "one score can move it by the whole range: add noise to counts of scores below thresholds, or "
    "choose the quantile by the exponential mechanism over the gaps between the sorted scores"
)


_NEEDED = {
    Quantity.EPSILON: "rng.laplace(0, {l1} / epsilon{size}) makes one use of it ε-DP",
    Quantity.RHO: "rng.normal(0, {l2} / np.sqrt(2 * rho){size}) makes one use of it ρ-zCDP",
    Quantity.RENYI_DIVERGENCE: "rng.normal(0, {l2} * np.sqrt(alpha / (2 * epsilon)){size}) makes "
    "one use of it (α, ε)-Rényi DP",
    Quantity.MU: "rng.normal(0, {l2} / mu{size}) makes one use of it μ-GDP",
}
"""Noise that hides a statistic, by the loss that is claimed."""
_NEARLY = 1 - 1e-12
"""What a distance is multiplied by before it is rounded up, lest its own rounding counts."""


def remedy(reading: Interpreter, value: Value) -> str:
    """Return the advice on the noise that a value needs before it is used, in the claim's unit."""
    if isinstance(value, Private):
        return value.hint
    value = value.counts if isinstance(value, Present) else value
    if isinstance(value, gaps.Edge):
        return "draw between the ends of the gap: rng.uniform(edges[i], edges[i + 1])"
    if not isinstance(value, Statistic) or not value.linf:
        return "add noise to it before it is used"
    if value.says.ranked:
        return _ORDER
    size = f", size={value.shape}" if value.shape else ""
    distances = float(value.l1), math.sqrt(value.l2_squared)
    l1, l2 = (f"{rounded(each * _NEARLY, 5, up=True):.12g}" for each in distances)
    return f"adding {_NEEDED[reading.loss].format(l1=l1, l2=l2, size=size)}"


def broadcast(a: tuple[int, ...] | None, b: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """Return the shape of an operation on two shapes; None where it is not known."""
    if a is None or b is None:
        return None
    try:
        return tuple(np.broadcast_shapes(a, b))
    except ValueError:
        return None


def is_double(value: Value) -> bool:
    """Return True if a known number or array is of doubles."""
    return isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f")


def in_range(reading: Interpreter, x: Statistic) -> Statistic:
    """Return a computed statistic, unless its whole numbers may be too large for their type."""
    if x.size is None and not x.floats:
        raise reading.refuse(_MAY_WRAP, "make it a float: float(...) or .astype(float)")
    if x.size is not None and x.size > LARGEST:
        raise reading.refuse(_TOO_LARGE)
    return x


def _moved(reading: Interpreter, x: Statistic, y: Value) -> Statistic:
    """Return a statistic plus or minus a public number or array."""
    most = _largest(y) if is_known(y) else size_of(y)
    size = None if x.size is None or most is None else x.size + most
    floats = x.floats or isinstance(y, PublicFloat) or (is_known(y) and is_double(y))
    found = replace(x, size=size, floats=floats, peak=None, topped=False, name=next(tokens))
    found = replace(found, counts=False, rise=0, low=None, high=None)
    return in_range(reading, replace(found, integer=x.integer and _is_integer(y)))


def _largest(y: Value) -> Fraction | None:
    """Return a bound of the absolute values of a known number or array; None where one is NaN."""
    sizes = [None if (e := exact_of(each)) is None else e.size_above for each in _entries(y)]
    return None if None in sizes else max((e for e in sizes if e is not None), default=None)


def _is_integer(y: Value) -> bool:
    """Return True if a public value, or each entry of an array, is a whole number as a double."""
    if not is_known(y):
        return is_whole(y)
    return all(float(each).is_integer() for each in _entries(plain(y)))


def _keeps_its_law(noise: Noise, y: Value) -> bool:
    """Return True if noise keeps its law beside a public number: one far larger rounds it off."""
    exacts = [exact_of(each) for each in _entries(y)] if is_known(y) else []
    if noise.moved == _MOST_MOVES:
        return False
    if noise.whole:
        near = len(exacts) == 1 and exacts[0] is not None and exacts[0].square <= _FAR**2
        return near and _is_integer(y)
    most = noise.scale.square * COARSE**2
    far = shape_of(y) != ()  # infinite entries of an array leave the others what they are
    return bool(exacts) and all(far if each is None else each.square <= most for each in exacts)


def _moved_once(noise: Noise, *, flips: bool) -> Noise:
    """Return noise, or its negative, with one more public number on it."""
    return replace(noise, sign=-noise.sign if flips else noise.sign, moved=noise.moved + 1)


def known_binary(reading: Interpreter, name: str, a: Value, b: Value) -> Value:
    """Return the result on two plain Python values."""
    if name == "Pow" and isinstance(b, int) and not isinstance(a, float) and abs(b) > 4096:
        raise reading.refuse("a power is too large to be computed")
    with reading.computing():
        value = BINARY[name](plain(a), plain(b))
    reading.require_wide(value)
    return combine(name, frozen(value), a, b)


def _sum(reading: Interpreter, name: str, a: Value, b: Value) -> Value | None:
    for x, y, flips in ((a, b, False), (b, a, name == "Sub")):
        negated = name == "Sub" and not flips
        if isinstance(x, Statistic) and isinstance(y, Noise):
            if negated and y.law not in SYMMETRIC:
                return None
            return noisy(reading, x, y.negative if negated else y)
        if isinstance(x, Statistic) and _is_shift(x, y):
            return _moved(reading, x, y)
        noise = x.noise if isinstance(x, Noisy) else x
        kept = (
            isinstance(noise, Noise)
            and _keeps_its_law(noise, y)
            and (not flips or noise.law in SYMMETRIC)
        )
        if isinstance(x, Noise) and _fits(x.shape, y) and x.law not in {"uniform", SEED}:
            return _moved_once(x, flips=flips) if kept else None
        if isinstance(x, Noisy) and _fits(x.noise.shape, y):
            return replace(x, noise=_moved_once(x.noise, flips=flips)) if kept else None
        if isinstance(x, Noisy) and isinstance(y, Statistic):
            shown = reading.release(x)
            return binary(reading, name, *((y, shown) if flips else (shown, y)))
    if isinstance(a, Statistic) and isinstance(b, Statistic):
        return _both(reading, name, a, b)
    if isinstance(b, Noise) and b.law in _ONE_SIDED and name == "Sub":
        return _two_sided(reading, a, b)
    return None


def _both(reading: Interpreter, name: str, a: Statistic, b: Statistic) -> Statistic:
    if a.shape == b.shape:
        return in_range(reading, a.plus(b))
    for x, y in ((a, b), (b, a)):
        if y.shape == () and len(x.shape) == 1:
            l1, l2_squared = y.linf * x.shape[0], y.linf * y.linf * x.shape[0]
            shift = y.changed(l1, l2_squared, y.linf, span=Fraction(0), shape=x.shape)
            found = in_range(reading, x.plus(shift))
            topped = name == "Sub" and x is a and y.peak == x.name
            return replace(found, topped=topped)
    raise reading.refuse(f"{name} of statistics of the shapes {a.shape} and {b.shape}")


def _is_shift(x: Statistic, y: Value) -> bool:
    """Return True if adding a public value leaves a statistic's shape as it is."""
    return _fits(x.shape, y)


def _fits(shape: tuple[int, ...], y: Value) -> bool:
    other = shape_of(y) if is_public(y) else None
    return other is not None and broadcast(shape, other) == shape


def noisy(reading: Interpreter, x: Statistic, noise: Noise) -> Noisy:
    """Return a statistic with noise on it, one fresh draw for each of its numbers."""
    require_fine(reading, x, LARGEST if noise.whole else COARSE * noise.scale.size_above)
    if x.shape == noise.shape:
        reading.noised.add(x.name)
        return Noisy(x, noise, reading.line)
    raise reading.suspect(
        f"noise of the shape {noise.shape} is on a statistic of the shape {x.shape}: "
        "one draw would be on several numbers",
        "draw one number for each: size=" + str(x.shape),
    )


def require_fine(reading: Interpreter, x: Statistic, most: Fraction | int) -> None:
    """Refuse a statistic that may have been rounded, beside a number of unknown or large size.

    Raises
    ------
    Refusal
        If an entry, or one from which it was computed, may be larger than ``most``.
    """
    if x.size is None:
        raise reading.refuse(
            "a public number of unknown size is beside the statistic: doubles may round it off",
            "draw it between known ends: rng.uniform(low, high)",
        )
    if x.size > most:
        raise reading.refuse("numbers are so large beside the noise that doubles round it off")


def _two_sided(reading: Interpreter, a: Value, b: Noise) -> Noise | Noisy | None:
    """Return the noise after a second one-sided draw is subtracted from the first one."""
    if isinstance(a, Noise):
        return _difference(reading, a, b)
    noise = _difference(reading, a.noise, b) if isinstance(a, Noisy) else None
    return None if noise is None else replace(noisy(reading, a.statistic, noise), line=a.line)


def _difference(reading: Interpreter, a: Noise, b: Noise) -> Noise | None:
    """Return the difference of two draws of one law: of geometric ones it is two-sided geometric.

    Of two exponential numbers it is Laplace noise of their scale: its density is
    ∫ exp(-(x + 2y)/s)/s² dy = exp(-x/s)/(2s) at x >= 0.

    Reference: Ghosh, Roughgarden and Sundararajan 2012, Definition 2.1.
    """
    if (a.law, a.scale, a.shape) != (b.law, b.scale, b.shape) or a.law not in _ONE_SIDED:
        return None
    if not (a.alike and b.alike):
        return None
    for draw in (a.draw, b.draw):
        reading.use(draw, next(tokens))  # refused if it was used before
    moved = max(a.moved, b.moved)
    return Noise((next(tokens),), _ONE_SIDED[a.law], a.scale, a.shape, reading.line, moved=moved)


def _product(reading: Interpreter, name: str, a: Value, b: Value) -> Value | None:
    by_count = _by_count(reading, name, a, b)
    if by_count is not None:
        return by_count
    x, y = (b, a) if is_known(a) and name == "Mult" else (a, b)
    factor = exact_of(y)
    if factor is None or (name == "Div" and not factor.sign):
        return _of_weights(name, a, b)
    size = factor.inverse() if name == "Div" else factor
    if isinstance(x, Statistic):
        doubles = name == "Div" or is_double(y)
        whole = name == "Mult" and float(plain(y)).is_integer()
        x = replace(x, floats=x.floats or doubles, integer=x.integer and whole)
        kept = size.square == 1 and (x.scaled or size.sign < 0)  # ε = 1 is a factor, a sign is none
        multiple = in_range(reading, x.times(size, keeps_integers=True))
        return replace(multiple, scaled=x.scaled if kept else reading.line)
    if not isinstance(x, Noise) or x.law not in {"normal", "laplace", "gumbel", "exponential"}:
        return None
    if not _SMALLEST < x.scale.times(size).square < 1 / _SMALLEST:
        return None  # as doubles, such noise may be 0 or infinite
    if size.sign < 0 and x.law not in SYMMETRIC:
        return None
    found = replace(x, scale=Surd(1, x.scale.times(size).square))
    return found.negative if size.sign < 0 else found


def _by_count(reading: Interpreter, name: str, a: Value, b: Value) -> Statistic | Noise | None:
    """Return a statistic, or noise, times or over a multiple of a power of n; None of any other."""
    x, y = (a, b) if isinstance(a, Statistic | Noise) else (b, a)
    by = multiple_of(y) if isinstance(y, Public) else None
    if by is None or not isinstance(x, Statistic | Noise) or (name == "Div" and y is a):
        return None
    if name == "Div":
        by = Multiple(by.factor.inverse(), -by.power)
    per = max(x.per - by.power, 0)
    if isinstance(x, Noise):
        least = by.factor.times(Surd.of(Fraction(MOST_RECORDS) ** min(by.power, x.per)))
        scale = x.scale.times(least)
        known = x.law in {"normal", "laplace", "gumbel", "exponential"} and least.sign > 0
        if not known or not _SMALLEST < scale.square < 1 / _SMALLEST:
            return None
        return replace(x, scale=scale, per=per, alike=False)
    size, most = x.size, Surd.of(Fraction(MOST_RECORDS) ** max(by.power - x.per, 0))
    if size is not None:
        size *= by.factor.size_above * Fraction(MOST_RECORDS) ** max(by.power, -x.rise)
    floats = x.floats or name == "Div" or isinstance(y, PublicFloat)
    found = replace(x.times(by.factor.times(most)), size=size, floats=floats, integer=False)
    rise = max(x.rise + by.power, 0)
    found = replace(found, name=next(tokens), per=per, rise=rise, scaled=reading.line)
    return in_range(reading, found)


def _entries(value: Value) -> list[Any]:
    """Return the numbers of a known number or array."""
    if isinstance(value, np.ndarray):
        return value.ravel().tolist()
    return [value] if is_scalar(value) else []


def _of_weights(name: str, a: Value, b: Value) -> Value | None:
    """Return weights over their own sum: a law, its logarithms shifted by a common number."""
    if name != "Div" or not isinstance(a, Weights) or not isinstance(b, Weights):
        return None
    own_sum = b.total and not a.total and a.token == b.token
    own_sum = own_sum and not (a.normalised or b.normalised)
    return replace(a, normalised=True) if own_sum else None


def _of_records(reading: Interpreter, name: str, a: Value, b: Value) -> Value:
    """Return an operator applied to each record."""
    found, made = _of_each(reading, name, a, b), of_operator(a, b)
    if isinstance(found, Shifted):
        return replace(found, records=replace(found.records, entry_type=made))
    return replace(found, entry_type=made) if isinstance(found, Records) else found


def _of_each(reading: Interpreter, name: str, a: Value, b: Value) -> Value:
    if any(isinstance(each, Records) and each.listed for each in (a, b)):
        raise reading.refuse(f"{name} of a list of records", "make it an array: np.array(...)")
    if name == "Sub" and _may_be_truth(a) and _may_be_truth(b):
        raise reading.refuse(
            "a difference of values that may be truth values: NumPy raises an error"
        )
    if isinstance(a, Records) and isinstance(b, Records):
        if not a.goes_with(b):
            raise reading.refuse("entries of different records are combined")
        if name in {"BitAnd", "BitOr", "BitXor"} and a.boolean and b.boolean:
            found = a.within(Fraction(0), Fraction(1), boolean=True)
            both = name == "BitAnd" and not a.chosen
            return replace(found, cell=in_both(a.cell, b.cell)) if both else found
        ends = [(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
        found = _bounded(reading, name, a, ends, monotone=False)
        return replace(found, floats=found.floats or b.floats)
    records, other = (a, b) if isinstance(a, Records) else (b, a)
    if (
        isinstance(other, Noise)
        and name in {"Add", "Sub"}
        and records.is_vector(other.shape, reading.n)
    ):
        return binary(
            reading, name, *(records.vector(other.shape) if x is records else x for x in (a, b))
        )
    other = reading.release(other)
    shiftable = name in {"Add", "Sub"} and is_public(other) and shape_of(other) == ()
    if shiftable and not is_known(other) and records.floats:
        return Shifted(
            records
            if name == "Add" or records is a
            else records.within(-records.high, -records.low),
            size_of(other) is not None,
        )
    value = rational_of(other)
    if value is None:
        raise reading.refuse(f"{name} of records and {kind(other)}, not one known number")
    if records is a:
        ends = [(records.low, value), (records.high, value)]
    else:
        ends = [(value, records.low), (value, records.high)]
    found = _bounded(reading, name, records, ends, monotone=records is a)
    whole = records.whole and is_whole(other) and name in {"Add", "Sub", "Mult"}
    floats = found.floats or is_double(other)
    return replace(found, floats=floats, whole=whole, ends=_computed(name, a, b))


def _computed(name: str, a: Value, b: Value) -> tuple[float, float] | None:
    """Return the doubles that an operator gives for the ends of records; it rises, or falls."""
    records = a if isinstance(a, Records) else b
    if records.ends is None or name == "Pow":
        return None
    low, high = (
        BINARY[name](end if records is a else plain(a), plain(b) if records is a else end)
        for end in records.ends
    )
    return low, high


def _may_be_truth(value: Value) -> bool:
    return isinstance(value, bool | np.bool_) or (isinstance(value, Records) and not value.floats)


def _bounded(
    reading: Interpreter,
    name: str,
    records: Records,
    ends: list[tuple[Fraction, Fraction]],
    *,
    monotone: bool,
) -> Records:
    if name == "Add":
        values = [x + y for x, y in ends]
    elif name == "Sub":
        values = [x - y for x, y in ends]
    elif name == "Mult":
        values = [x * y for x, y in ends]
    elif name == "Div" and min(abs(y) for _, y in ends) and len({y > 0 for _, y in ends}) == 1:
        values = [x / y for x, y in ends]
    elif name == "Pow" and monotone and ends[0][1] in _POWERS and records.floats:
        crosses = records.low < 0 < records.high
        values = [x ** int(y) for x, y in ends] + ([Fraction(0)] if crosses else [])
    else:
        raise reading.refuse(f"{operation(name)} of records is not followed")
    largest = max(map(abs, values))
    if largest > LARGEST or (name in {"Add", "Sub"} and largest > COARSE * records.width > 0):
        raise reading.refuse(_TOO_LARGE)
    rises = monotone and (name in {"Add", "Sub"} or (name in {"Mult", "Div"} and ends[0][1] > 0))
    floats = records.floats or name == "Div"
    return records.within(
        min(values), max(values), ordered=records.ordered and rises, floats=floats
    )
