"""PyTorch's tensors: what is public, summed or noisy, and what belongs to one record each.

A ``Tensor`` holds a value that any other rule knows. A tensor of one record, or of each record, is
a function of that record and of public numbers, of which only bounds of its entries and of its
derivatives are known: a gradient, which is clipped by its norm before it is summed. The operations
are those with finite values and derivatives for all finite numbers, so that no gradient is NaN.
Bounds are rigorous for real numbers, and small enough that floating-point numbers stay finite.
Nothing is changed in place, but a sum that has one name.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.proving import dp_sgd
from dpcp_audit.proving.distances import (
    Hidden,
    Noise,
    Noisy,
    Public,
    PublicFloat,
    Records,
    Shape,
    Statistic,
    Together,
    Value,
    is_data,
    is_known,
    is_public,
    operation,
    shape_of,
    size_of,
    tokens,
)
from dpcp_audit.proving.exact_numbers import exact_of, is_scalar, rational_of, root_above

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.proving.reading import Interpreter

    Bounds = Callable[[Fraction], tuple[Fraction, Fraction]]

_COARSE = 2**11
"""Size, in scales of noise, of a sum: single-precision numbers of it are 2⁻¹² scales apart."""
_LARGEST = {True: Fraction(2**50), False: Fraction(2**400)}
"""Size of numbers, of single precision or not, whose squares add up to a finite number."""
_SHARED = -3
"""The token of memory that has another name."""
_SMALLEST_SCALE = Fraction(1, 2**60)
ONE = Fraction(1)


@dataclass(frozen=True, slots=True)
class Tensor(Hidden):
    """A tensor that is the same function of all records everywhere, or of none.

    Parameters
    ----------
    held : Public, Statistic, Noise or Noisy
        What it holds.
    single : bool
        True if its numbers are of single precision, False if they are doubles.
    coarse : bool
        True if noise in it was drawn in single precision.
    leaf : int
        The name by which gradients with respect to it are taken; 0 where it requires none.
    storage : int
        The name of its memory; 0 where other arrays may share it.
    """

    called = "a tensor"

    held: Value
    single: bool
    coarse: bool = False
    leaf: int = 0
    storage: int = 0


@dataclass(frozen=True, slots=True)
class Each(Hidden):
    """A tensor that is a function of one record, and of public numbers.

    Parameters
    ----------
    shape : tuple of int
        The shape of one record's.
    size : Fraction
        Bound of the absolute value of each entry.
    steep : Fraction
        Bound of its derivative with respect to any entry that it is computed from, and of the
        sums of products of derivatives on the way.
    single : bool or None
        As of ``Tensor``; None of a number of Python's.
    records : Records or None
        None where it depends on no record.
    batched : bool
        True if it is that of all records, along a first dimension.
    listed : bool
        True if it is a list of a tensor for each record.
    leaves : frozenset of int
        The names of tensors with respect to which gradients of it can be taken.
    square : Fraction or None
        Bound of its squared norm, where it was clipped.
    token : int
        Its name, of which norms are known.
    """

    called = "a tensor for each record"
    shape: Shape
    size: Fraction
    steep: Fraction
    single: bool | None
    records: Records | None = None
    batched: bool = False
    listed: bool = False
    leaves: frozenset[int] = frozenset()
    square: Fraction | None = None
    token: int = field(default_factory=lambda: next(tokens))

    @property
    def entries(self) -> int:
        """The number of one record's entries."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class TorchSource(Hidden):
    """A generator of PyTorch's that is made in the function."""

    called = "a source"
    token: int


KINDS = (Tensor, Each)


def released(reader: Interpreter, value: Tensor) -> Value:
    """Return a public value for a tensor, or data."""
    share(reader, value)
    held = reader.release(value.held)
    return held if is_data(held) else Public(None)


def share(reader: Interpreter, value: Tensor) -> None:
    """Remember that a tensor's memory has another name, which is kept beyond one record's."""
    if value.storage and not reader.each_record:
        reader.path.use((value.storage,), _SHARED)


def shown(reader: Interpreter, value: Value) -> Value:
    """Return a tensor of public numbers, where it is used beside each record."""
    if not isinstance(value, Tensor):
        return value
    return replace(value, held=reader.public(value.held, "a number beside each record"))


def each_of(reader: Interpreter, value: Value) -> Each:
    """Return a tensor or a number as a function of one record."""
    if isinstance(value, Each):
        if value.listed:
            raise reader.refuse("a list of a tensor for each record is used", "torch.stack(...)")
        return value
    if isinstance(value, Records) and value.single and value.floats and not value.boolean:
        size = max(abs(value.low), abs(value.high))
        return checked(reader, Each((), size, ONE, None, _all(value)))
    exact = exact_of(value)
    if exact is not None:
        return checked(reader, Each((), exact.size_above, ONE, None))
    single, leaf = None, 0
    if isinstance(value, Tensor):
        value, single, leaf = shown(reader, value).held, value.single, value.leaf
    shape, bound = shape_of(value), size_of(value)
    if not is_public(value) or shape is None or (single is None and shape):
        raise reader.refuse("a tensor beside a value that is not followed", "torch.as_tensor(...)")
    if bound is None:
        raise reader.refuse(
            "a public number of unknown size is beside the records: it may be infinite",
            "begin with known numbers, and add noisy ones alone",
        )
    leaves = frozenset({leaf} if leaf else ())
    return checked(reader, Each(shape, Fraction(bound), ONE, single, leaves=leaves))


def records_of(reader: Interpreter, iterable: Records | Together | Each) -> Records:
    """Return the records that a loop goes through, by themselves or as a tensor."""
    whole = not isinstance(iterable, Each) or (iterable.batched and not iterable.listed)
    records = iterable if isinstance(iterable, Records) else iterable.records
    if not whole or records is None:
        raise reader.refuse("a loop goes through a tensor that is not one of all records")
    return records


def listed(reader: Interpreter, value: Value, *, some: bool) -> Each:
    """Return a list of a tensor for each record."""
    if not isinstance(value, Each) or some or value.batched or value.records is None:
        raise reader.refuse("a value for each record that is not followed")
    return replace(each_of(reader, value), batched=True, listed=True, token=next(tokens))


def _all(records: Records) -> Records:
    """Return the records of which this is one."""
    return replace(records, single=False, ordered=False)


def checked(reader: Interpreter, found: Each) -> Each:
    """Return a tensor of one record, unless its numbers may be infinite."""
    most = _LARGEST[found.single is True]
    if found.size > most or found.steep > most:
        raise reader.refuse("numbers of one record may be so large that they are infinite")
    return found


def public_of(found: Each) -> Each | Tensor:
    """Return what depends on no record as a public tensor."""
    if found.records is not None or found.leaves:
        return found
    held = PublicFloat(found.shape, math.ceil(found.size))
    return Tensor(held, found.single is True, storage=next(tokens))


# ---------------------------------------------------------------------- operators


def binary(reader: Interpreter, name: str, a: Value, b: Value) -> Value:
    """Return the result of an operator on a tensor and another value."""
    for x, norms in ((a, b), (b, a)):
        if isinstance(x, Each) and isinstance(norms, dp_sgd.Norms):
            if name == "MatMult" and x is b and norms.inverse and not norms.column:
                column = replace(norms, column=True)
                return summed(reader, _clipped(reader, "Mult", x, column, first=True))
            return _clipped(reader, name, x, norms, first=x is a)
    if not isinstance(a, Each) and not isinstance(b, Each) and name != "MatMult":
        records = any(isinstance(each, Records) for each in (a, b))
        if not records and not any(getattr(each, "leaf", 0) for each in (a, b)):
            return _held(reader, name, a, b)
    if name == "Pow":
        return power(reader, a, b)
    if name == "Div":
        number = rational_of(b) if is_known(b) and is_scalar(b) else None
        if not number:
            raise reader.refuse(
                "a division by what may be 0: its gradients may be NaN", "divide by a known number"
            )
        name, b = "Mult", Each((), 1 / abs(number), ONE, None)
    return _of_two(reader, name, each_of(reader, a), each_of(reader, b))


def _of_two(reader: Interpreter, name: str, a: Each, b: Each) -> Value:
    """Return a sum, a product or a matrix product."""
    shape, times = _shape(reader, name, a, b), 1
    if name in {"Add", "Sub"}:
        size, steep = a.size + b.size, a.steep + b.steep
    elif name in {"Mult", "MatMult"}:
        times = a.shape[-1] if name == "MatMult" else 1
        size = times * a.size * b.size
        steep = times * (max(ONE, b.size) * a.steep + max(ONE, a.size) * b.steep)
    else:
        raise reader.refuse(f"{operation(name)} of tensors of one record is not followed")
    scaled = _scaled(a, b) if name == "Mult" else None
    found = replace(a, shape=shape, size=size, steep=steep, square=scaled)
    return joined(reader, [a, b], found)


def _scaled(a: Each, b: Each) -> Fraction | None:
    """Return the bound of the squared norm of a clipped tensor times a number."""
    for x, y in ((a, b), (b, a)):
        if x.square is not None and y.records is None and not y.shape:
            return x.square * y.size**2
    return None


def _shape(reader: Interpreter, name: str, a: Each, b: Each) -> Shape:
    """Return the shape of one record's result, if the dimension of all records stays the first."""
    both = a.batched and b.batched
    for x, y in ((a, b), (b, a)):
        outside = x.batched and not y.batched and (y.records or len(y.shape) > len(x.shape))
        if outside or (both and len(x.shape) != len(y.shape)):
            raise reader.refuse("tensors for each record along another dimension")
    if name != "MatMult":
        try:
            return tuple(np.broadcast_shapes(a.shape, b.shape))
        except ValueError:
            raise reader.refuse("raises RuntimeError: tensors of other shapes") from None
    if len(a.shape) != 1 or a.shape != b.shape or b.batched:
        raise reader.refuse("a matrix product of other than a vector for each record and a vector")
    return ()


def joined(reader: Interpreter, parts: list[Each], found: Each) -> Value:
    """Return a result of several tensors: of the same records, and of one precision."""
    records = [each.records for each in parts if each.records is not None]
    if not all(each.goes_with(records[0]) for each in records):
        raise reader.refuse("tensors of different records are combined")
    singles = {each.single for each in parts} - {None}
    if len(singles) > 1:
        raise reader.refuse("tensors of two precisions are combined", "give one dtype to all")
    found = replace(
        found,
        records=records[0] if records else None,
        batched=any(each.batched for each in parts),
        single=singles.pop() if singles else None,
        leaves=frozenset[int]().union(*(each.leaves for each in parts)),
        token=next(tokens),
    )
    return public_of(checked(reader, found))


def power(reader: Interpreter, a: Value, b: Value) -> Value:
    """Return a power with a small whole number."""
    if type(b) is not int or not 1 <= b <= 8:
        raise reader.refuse("a power of a tensor of one record other than 1, ..., 8")
    return entrywise(reader, a, lambda size: (size**b, b * max(ONE, size) ** (b - 1)))


def entrywise(reader: Interpreter, value: Value, bounds: Bounds) -> Value:
    """Return a function of each entry, of a bounded size and derivative."""
    x = each_of(reader, value)
    size, slope = bounds(x.size)
    found = replace(
        x, size=size, steep=x.steep * max(ONE, slope), square=None, token=next(tokens)
    )  # fmt: skip
    return public_of(checked(reader, found))


def _clipped(reader: Interpreter, name: str, x: Each, norms: dp_sgd.Norms, *, first: bool) -> Each:
    """Return a tensor of one record over its own norm, or times a factor made of it."""
    if x.records is None or x.listed:
        raise reader.refuse("a norm that is not that of the tensor beside it")
    rows = dp_sgd.Rows(x.records, x.entries, None, None, x.token)
    found = dp_sgd.binary(reader, name, *((rows, norms) if first else (norms, rows)))
    if not isinstance(found, dp_sgd.Rows) or found.square is None:
        raise reader.refuse("a norm that is not that of the tensor beside it")
    size = root_above(found.square)
    return checked(reader, replace(x, size=size, square=found.square, token=next(tokens)))


def _held(reader: Interpreter, name: str, a: Value, b: Value) -> Tensor:
    """Return an operator of public, summed and noisy tensors, and of public numbers."""
    tensors = [each for each in (a, b) if isinstance(each, Tensor)]
    for each in (a, b):
        if not isinstance(each, Tensor) and not (is_public(each) and shape_of(each) == ()):
            raise reader.refuse("a tensor beside a value that is not followed", "torch.as_tensor")
    shapes = [shape_of(each.held) for each in tensors]
    some = [each for each, shape in zip(tensors, shapes, strict=True) if shape] or tensors
    single = all(each.single for each in some)
    x, y = (each.held if isinstance(each, Tensor) else each for each in (a, b))
    if single and name in {"Add", "Sub"} and (is_public(x) or is_public(y)):
        x, y = (
            reader.release(each) if isinstance(each, Noise | Noisy) else each for each in (x, y)
        )
    found = reader.operate(name, x, y)
    if isinstance(found, Noisy) and isinstance(x, Statistic | Noise) and not isinstance(x, Noisy):
        _check_noise(reader, found, [each for each in tensors if isinstance(each.held, Statistic)])
        coarse = any(each.coarse for each in tensors)
        if coarse and not all(each.single for each in tensors if isinstance(each.held, Statistic)):
            raise reader.refuse(
                "noise of single precision on doubles: the digits that it lacks are those of data",
                "draw it with dtype=torch.float64",
            )
    return Tensor(found, single, any(each.coarse for each in tensors), storage=next(tokens))


def _check_noise(reader: Interpreter, found: Noisy, sums: list[Tensor]) -> None:
    """Refuse a sum so large beside single-precision noise that it is rounded off."""
    size, scale = found.statistic.size, found.noise.scale.size_above
    if not any(each.single for each in sums):
        return
    reader.rules.add("numbers of single precision are taken as real numbers, as doubles are")
    near = found.noise.alike and _SMALLEST_SCALE <= scale <= 1 / _SMALLEST_SCALE
    if size is None or size > _COARSE * scale or not near:
        raise reader.refuse(
            "a sum of single precision so large beside the noise that it is rounded off",
            "dtype=torch.float64",
        )


def summed(reader: Interpreter, one: Each, *, mean: bool = False) -> Tensor:
    """Return the sum, or the mean, of all records' tensors."""
    if one.leaves:
        raise reader.refuse(
            "a sum that holds the records in its graph, or a loss of all records: the clipped "
            "gradient of such a loss bounds no record's share",
            "clip each record's gradient: torch.func.vmap(torch.func.grad(loss), ...)",
        )
    if one.records is None or len(one.shape) > 1:
        raise reader.refuse("tensors are summed that are not a vector for each record")
    rows = dp_sgd.Rows(one.records, one.entries, one.square, None, one.token)
    found = dp_sgd.summed(reader, rows, 0)
    if mean:
        found = reader.operate("Div", found, dp_sgd.number_averaged(reader, one.records))
    held = found if one.shape else replace(found, shape=())
    return Tensor(held, one.single is True, storage=next(tokens))


def listed_sum(reader: Interpreter, one: Each) -> Tensor:
    """``sum`` of a list of a tensor for each record: of none it is the whole number 0."""
    if not one.listed or one.records is None or one.records.chosen:
        raise reader.refuse("a sum of tensors of which there may be none", "torch.stack([...])")
    return summed(reader, replace(one, listed=False))
