"""PyTorch's tensors as they are made, drawn, cast and handed on, without the library itself.

Noise is that of the global generator, or of a generator whose seed is drawn from the one that was
handed in and is used for nothing else. A generator without a seed has the same one in every run.
Noise of single precision hides numbers of single precision only.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false

from __future__ import annotations

import math
import sys
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpcp_audit.proving import dp_sgd
from dpcp_audit.proving.distances import (
    NUMPY,
    PYTHON,
    SEED,
    BoundMethod,
    Generator,
    Noise,
    Noisy,
    Public,
    PublicFloat,
    Records,
    Reference,
    Statistic,
    Value,
    is_known,
    is_public,
    shape_of,
    tokens,
)
from dpcp_audit.proving.exact_numbers import is_scalar, plain
from dpcp_audit.proving.torch_values import (
    KINDS,
    ONE,
    Each,
    Tensor,
    TorchSource,
    checked,
    each_of,
    joined,
    public_of,
    share,
    shown,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.proving.distances import Leak
    from dpcp_audit.proving.reading import Interpreter

_SEEDED = -2
"""The token of a generator that was seeded."""
_32_BITS = "PyTorch's generator keeps 32 bits of its seed, which are taken as unknown to anybody"


def library() -> Any:
    """Return the library, if the program has loaded it; else None."""
    return sys.modules.get("torch")


def _single(reader: Interpreter, dtype: Value, otherwise: bool | None = None) -> bool:  # noqa: FBT001
    """Return True of single precision, False of doubles; refuse any other type."""
    torch = library()
    if dtype is None and otherwise is not None:
        return otherwise
    dtype = torch.get_default_dtype() if dtype is None else dtype
    if dtype is torch.float32 or dtype is torch.float64:
        return bool(dtype is torch.float32)
    raise reader.refuse("a tensor of another type than torch.float32 and torch.float64")


# ---------------------------------------------------------------------- tensors are made


def tensor(
    reader: Interpreter,
    data: Value,
    dtype: Value = None,
    requires_grad: Value = False,  # noqa: FBT002
) -> Value:
    """``torch.tensor``: of all records, of one record, of known numbers, or of released ones."""
    if isinstance(data, Records):
        plainly = data.floats and not data.boolean and not data.listed and requires_grad is False
        if not plainly or data.entry_type not in {NUMPY, PYTHON}:
            raise reader.refuse(
                "a tensor of records that are not doubles in a NumPy array, or with a graph"
            )
        single = _single(reader, dtype, None if data.entry_type == PYTHON else False)
        size, own = max(abs(data.low), abs(data.high)), replace(data, single=False, ordered=False)
        return checked(reader, Each((), size, ONE, single, records=own, batched=not data.single))
    items = None if is_known(data) else reader.entries_or_none(data)
    known = plain(data) if is_known(data) else None
    if isinstance(data, Reference) and items is not None and all(map(is_known, items)):
        known = [plain(each) for each in items]
    if known is not None:
        return _of_known(reader, known, dtype, requires_grad)
    held = reader.gathered(data)
    double = isinstance(held, Statistic | Noise | Noisy | PublicFloat) and shape_of(held)
    if not double or (isinstance(held, Statistic) and not held.floats):
        raise reader.refuse("a tensor of a value that is not followed")
    single = _single(reader, dtype, otherwise=False)
    return _made(reader, Tensor(held, single, coarse=single), requires_grad)


def _of_known(reader: Interpreter, known: Any, dtype: Value, requires_grad: Value) -> Value:
    try:
        found = library().tensor(known, dtype=dtype)
    except Exception as error:
        raise reader.refuse(f"raises {type(error).__name__}: {error}") from None
    single, size = _single(reader, found.dtype), found.abs().max().item() if found.numel() else 0.0
    if not math.isfinite(size):
        raise reader.refuse("a tensor of numbers that are not finite")
    held = PublicFloat(tuple(found.shape), math.ceil(size))
    return _made(reader, Tensor(held, single), requires_grad)


def _made(reader: Interpreter, found: Tensor, requires_grad: Value) -> Tensor:
    if type(requires_grad) is not bool:
        raise reader.refuse("requires_grad is not known")
    if requires_grad and not is_public(found.held):
        raise reader.refuse("gradients with respect to what the data decide")
    leaf = next(tokens) if requires_grad else 0
    return replace(found, leaf=leaf, storage=next(tokens))


def shared(reader: Interpreter, data: Value, dtype: Value = None) -> Value:
    """``torch.as_tensor``: other arrays may share its memory."""
    if isinstance(data, KINDS):
        return data if dtype is None else cast(reader, data, dtype)
    if isinstance(data, Reference) and reader.cells(data).kind != "list":
        raise reader.refuse("an array that is filled gets another name", "torch.tensor(...)")
    found = tensor(reader, data, dtype)
    return replace(found, storage=0) if isinstance(found, Tensor) else found


def _size(reader: Interpreter, size: tuple[Value, ...]) -> tuple[int, ...]:
    """Return a shape, given as whole numbers or as one tuple of them."""
    given = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    items = reader.entries_or_none(given) if isinstance(given, Reference) else given
    if not isinstance(items, tuple) or not all(type(each) is int and each >= 0 for each in items):
        raise reader.refuse("the shape of a tensor is not known")
    return items


def filled(value: int) -> Callable[..., Tensor]:
    """Return the rule of ``torch.zeros`` or ``torch.ones``."""

    def fill(
        reader: Interpreter, *size: Value, dtype: Value = None, requires_grad: Value = False
    ) -> Tensor:
        held = PublicFloat(_size(reader, size), value)
        return _made(reader, Tensor(held, _single(reader, dtype)), requires_grad)

    return fill


def like(value: int) -> Callable[..., Value]:
    """Return the rule of ``zeros_like`` or ``ones_like``."""

    def fill(reader: Interpreter, input: Value, dtype: Value = None) -> Value:  # noqa: A002
        if isinstance(input, Tensor):
            single = _single(reader, dtype, input.single)
            return _made(
                reader, Tensor(PublicFloat(shape_of_tensor(reader, input), value), single), False
            )
        one = each_of(reader, input)
        single = _single(reader, dtype, one.single)
        return Each(one.shape, Fraction(value), ONE, single, one.records, one.batched)

    return fill


def stack(reader: Interpreter, tensors: Value, dim: Value = 0) -> Value:
    """``torch.stack``: numbers of one record as a vector, or a list of all records' tensors."""
    if isinstance(tensors, Each) and tensors.listed:
        if dim != 0 or (tensors.records is not None and tensors.records.chosen):
            raise reader.refuse("a list of tensors is stacked that may be empty")
        return replace(tensors, listed=False, token=next(tokens))
    parts = _parts(reader, tensors)
    along = 1 if any(each.batched for each in parts) else 0
    if dim not in {along, -1} or any(each.shape for each in parts):
        raise reader.refuse("tensors are stacked that are not a number for each record")
    return _together(reader, parts, (len(parts),))


def cat(reader: Interpreter, tensors: Value, dim: Value = 0) -> Value:
    """``torch.cat``: vectors of one record as one vector."""
    parts = _parts(reader, tensors)
    along = 1 if any(each.batched for each in parts) else 0
    if dim not in {along, -1} or any(len(each.shape) != 1 for each in parts):
        raise reader.refuse("tensors are joined that are not a vector for each record")
    return _together(reader, parts, (sum(each.entries for each in parts),))


def _parts(reader: Interpreter, tensors: Value) -> list[Each]:
    items = reader.entries_or_none(tensors) if not isinstance(tensors, KINDS) else None
    if not items or not all(isinstance(each, KINDS) for each in items):
        raise reader.refuse("tensors are joined with something else")
    parts = [each_of(reader, each) for each in items]
    if len({each.batched for each in parts}) > 1 or len({each.single for each in parts}) > 1:
        raise reader.refuse("tensors are joined that differ in their records or their type")
    return parts


def _together(reader: Interpreter, parts: list[Each], shape: tuple[int, ...]) -> Value:
    size, steep = (max(getattr(each, name) for each in parts) for name in ("size", "steep"))
    return joined(reader, parts, Each(shape, size, steep, None))


# ---------------------------------------------------------------------- noise


def generator(reader: Interpreter, device: Value = "cpu") -> TorchSource:
    """``torch.Generator``, on the CPU."""
    if reader.each_record or device != "cpu":
        raise reader.refuse("a generator is made for each record, or on a device")
    return TorchSource(next(tokens))


def seeded(reader: Interpreter, owner: TorchSource, name: str, args: list[Value]) -> TorchSource:
    """``manual_seed`` of a generator, by a number drawn from the one that was handed in."""
    if name != "manual_seed" or len(args) != 1:
        raise reader.refuse(f"{name} of a generator is not followed")
    (seed,) = args
    if not isinstance(seed, Noise) or seed.law != SEED:
        raise seed_is_known(reader)
    reader.use(seed.draw, next(tokens))
    reader.path.use((owner.token,), _SEEDED)
    reader.rules.add(_32_BITS)
    return owner


def seeded_globally(reader: Interpreter, seed: Value) -> TorchSource:
    """``torch.manual_seed``, of the generator that draws where no other one is given."""
    return seeded(reader, TorchSource(next(tokens)), "manual_seed", [seed])


def seed_is_known(reader: Interpreter) -> Leak:
    """Return the refusal of noise from a generator whose seed may be known."""
    return reader.leak(
        "a generator of the program's own: whoever knows its seed knows the noise",
        "torch.Generator().manual_seed(int(rng.integers(2**63)))",
    )


def _noise(
    reader: Interpreter,
    given: dict[str, Value],
    generator: Value,
    single: bool,  # noqa: FBT001
) -> Tensor:
    """Return fresh Gaussian noise."""
    if isinstance(generator, TorchSource):
        if not reader.path.was_released((generator.token,), _SEEDED):
            raise reader.leak(
                "a generator that was not seeded: its seed is the same in every run",
                "torch.Generator().manual_seed(int(rng.integers(2**63)))",
            )
    elif generator is None:
        refuse_seeds(reader)
        reader.doubt("a global generator is drawn from")
    elif not isinstance(generator, Generator):
        raise reader.refuse("noise of a generator that is not followed")
    given = {
        name: each for name, each in given.items() if each != ()
    }  # of no dimension: one number
    held = reader.call(BoundMethod(Generator("PyTorch"), "normal"), [], given)
    return Tensor(held, single, coarse=single, storage=next(tokens))


def refuse_seeds(reader: Interpreter) -> None:
    """Refuse a draw of the global generator where the file seeds one."""
    sources = [each.source for each in reader.path.frames.values()]
    bodies = [each.node.body for each in sources]
    read = [one for each in bodies for one in (each if isinstance(each, list) else [each])]
    if any(each.seeds(*read) for each in sources):
        raise reader.refuse(
            "a generator that the file seeds: whoever knows the seed knows the noise",
            "draw with generator=torch.Generator().manual_seed(int(rng.integers(2**63)))",
        )


def randn(
    reader: Interpreter, *size: Value, generator: Value = None, dtype: Value = None
) -> Tensor:
    """``torch.randn``: independent Gaussian draws of scale 1."""
    return _noise(reader, {"size": _size(reader, size)}, generator, _single(reader, dtype))


def normal(reader: Interpreter, mean: Value, std: Value, size: Value, **rest: Value) -> Tensor:
    """``torch.normal`` around 0, of one scale."""
    if not (is_known(mean) and is_scalar(mean) and mean == 0) or rest.keys() - {
        "generator",
        "dtype",
    }:
        raise reader.refuse("noise of PyTorch around a value that is not 0", "add the noise to it")
    given = {"scale": std, "size": _size(reader, (size,))}
    return _noise(reader, given, rest.get("generator"), _single(reader, rest.get("dtype")))


def randn_like(reader: Interpreter, input: Value, dtype: Value = None) -> Tensor:  # noqa: A002
    """``torch.randn_like`` of a sum, or of public numbers."""
    if not isinstance(input, Tensor):
        raise reader.refuse("noise of its own for each record is not followed")
    shape = {"size": shape_of_tensor(reader, input)}
    return _noise(reader, shape, None, _single(reader, dtype, input.single))


# ---------------------------------------------------------------------- shapes, types, copies


def shape_of_tensor(reader: Interpreter, x: Tensor) -> tuple[int, ...]:
    """Return the shape of a tensor of all records, or of none."""
    shape = shape_of(x.held)
    if shape is None:
        raise reader.refuse("a tensor of unknown shape")
    return shape


def column(reader: Interpreter, x: Value) -> Value:
    """``x[:, None]`` and what it is written as: a column of a number for each record."""
    if isinstance(x, dp_sgd.Norms) and not x.column and x.made == dp_sgd.PYTORCH:
        return replace(x, column=True)
    if isinstance(x, Each) and x.batched and not x.listed and not x.shape:
        return replace(x, shape=(1,), square=None, token=next(tokens))
    raise reader.refuse("a tensor gets another shape in a way that is not followed")


def reshaped(*known: tuple[Value, ...]) -> Callable[..., Value]:
    """Return the rule of a method that makes a column, by one of these arguments."""

    def reshape(reader: Interpreter, x: Value, *given: Value) -> Value:
        if given not in known:
            raise reader.refuse("a tensor gets another shape in a way that is not followed")
        return column(reader, x)

    return reshape


def element(reader: Interpreter, x: Value, index: Value) -> Value:
    """Return an entry of a tensor, or a column of one number for each record."""
    if dp_sgd.is_column(index):
        return column(reader, x)
    if isinstance(x, Tensor):
        share(reader, x)
    one = each_of(reader, x)
    if one.batched and isinstance(index, tuple) and len(index) == 2 and index[0] == slice(None):
        index = index[1]
    elif one.batched:
        raise reader.refuse("one record's tensor is taken out")
    if type(index) is not int or not one.shape or not -one.shape[0] <= index < one.shape[0]:
        raise reader.refuse("an entry of a tensor at a place that is not followed")
    return public_of(replace(one, shape=one.shape[1:], square=None, token=next(tokens)))


def cast(reader: Interpreter, x: Value, dtype: Value) -> Value:
    """``to`` of a type; noise of doubles in single precision hides such numbers alone."""
    single = _single(reader, dtype)
    if isinstance(x, Tensor):
        _need_no_leaf(reader, x)
        noise = isinstance(x.held, Noise | Noisy) and single
        return replace(x, single=single, coarse=x.coarse or noise)
    one = each_of(reader, x)
    return checked(reader, replace(one, single=single, square=None, token=next(tokens)))


def to_type(name: str) -> Callable[..., Value]:
    """Return the rule of ``float`` or ``double``."""
    return lambda reader, x: cast(reader, x, getattr(library(), name))


def _need_no_leaf(reader: Interpreter, x: Tensor) -> None:
    if x.leaf:
        raise reader.refuse("a tensor that requires gradients is used otherwise", ".detach()")


def detach(reader: Interpreter, x: Value) -> Value:
    """``detach``: the same numbers and memory, without a graph."""
    if isinstance(x, Tensor):
        return replace(x, leaf=0)
    return public_of(replace(each_of(reader, x), leaves=frozenset(), token=next(tokens)))


def clone(reader: Interpreter, x: Value) -> Value:
    """``clone``: a copy, in the same graph."""
    return replace(x, storage=next(tokens)) if isinstance(x, Tensor) else each_of(reader, x)


def requires_grad(reader: Interpreter, x: Value) -> Value:
    """``requires_grad_`` of a tensor that has no name yet."""
    named = any(each is x for each in reader.path.bindings())
    if named or not isinstance(x, Tensor):
        raise reader.refuse(
            "a tensor begins to require gradients, under other names perhaps",
            "w = w.detach().clone().requires_grad_()",
        )
    return replace(shown(reader, x), leaf=next(tokens))


def to_numpy(reader: Interpreter, x: Value) -> Value:
    """Return a tensor as an array; of single precision once it is public."""
    if not isinstance(x, Tensor) or shape_of_tensor(reader, x) == ():
        raise reader.refuse("an array of a tensor that is not a vector of all records")
    _need_no_leaf(reader, x)
    share(reader, x)
    return Public(shape_of_tensor(reader, x)) if _is_shown(reader, x) else x.held


def _is_shown(reader: Interpreter, x: Tensor) -> bool:
    """Return True of a tensor of single precision, once it is public."""
    return x.single and is_public(reader.public(x.held, "a tensor"))


def item(reader: Interpreter, x: Value) -> Value:
    """``item`` and ``float``: Python's own number."""
    if isinstance(x, dp_sgd.Norms) and x.column and x.made == dp_sgd.PYTORCH:
        return replace(x, made=PYTHON)
    if not isinstance(x, Tensor) or shape_of_tensor(reader, x) != ():
        raise reader.refuse("one number of a tensor of many")
    return PublicFloat(()) if _is_shown(reader, x) else x.held


def tolist(reader: Interpreter, x: Value) -> Value:
    """``tolist`` of a vector, which is public then."""
    if not isinstance(x, Tensor) or len(shape_of_tensor(reader, x)) != 1:
        raise reader.refuse("a list of a tensor that is not a vector of all records")
    held = reader.public(x.held, "a list of a tensor")
    return reader.listed(reader.entries(held, "a tensor"))
