"""Gradients of PyTorch's: of one record's loss, clipped by their norm, and added up.

References
----------
Abadi, Chu, Goodfellow, McMahan, Mironov, Talwar and Zhang 2016, "Deep Learning with Differential
Privacy", Algorithm 1.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false

from __future__ import annotations

import builtins
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpcp_audit.proving import dp_sgd
from dpcp_audit.proving.distances import (
    Closure,
    Hidden,
    Value,
    is_known,
    is_public,
    tokens,
)
from dpcp_audit.proving.exact_numbers import is_scalar, rational_of
from dpcp_audit.proving.torch_values import (
    KINDS,
    ONE,
    Each,
    Tensor,
    checked,
    each_of,
    entrywise,
    power,
    public_of,
    shown,
    summed,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.proving.reading import Interpreter


@dataclass(frozen=True, slots=True)
class Transform(Hidden):
    """``torch.func.grad`` or ``vmap`` of a function: with respect to which arguments, or over."""

    called = "a function of torch.func"

    name: str
    function: Value
    places: Any


# ---------------------------------------------------------------------- norms, and what they clip


def norm(
    reader: Interpreter,
    x: Value,
    p: Value = None,
    dim: Value = None,
    keepdim: Value = False,  # noqa: FBT002
) -> dp_sgd.Norms:
    """The Euclidean norm of one record's vector."""
    one = each_of(reader, x)
    euclidean = p is None or p == "fro" or (is_scalar(p) and p == 2)
    if not euclidean or type(keepdim) is not bool or one.records is None:
        raise reader.refuse("another norm than the Euclidean one of a vector for each record")
    of_each = len(one.shape) == 1 and dim in {1, -1} if one.batched else len(one.shape) <= 1
    if not of_each or (not one.batched and dim not in {None, 0, -1}):
        raise reader.refuse(
            "the norm of all records' gradients: it bounds no record's share", "norm(dim=1)"
        )
    column = keepdim or not one.batched
    return dp_sgd.Norms(one.token, ONE, Fraction(0), column, made=dp_sgd.PYTORCH)


def clamp(reader: Interpreter, x: Value, min: Value = None, max: Value = None) -> Value:  # noqa: A002
    """``torch.clamp`` of norms, of factors, and of the entries of a tensor."""
    if isinstance(x, dp_sgd.Norms):
        if (min is None) is (max is None):
            raise reader.refuse("norms are bounded by a value that is not a known number above 0")
        above, number = max is None, min if max is None else max
        return dp_sgd.bounded(reader, x, number, above=above, made=(dp_sgd.PYTORCH,))
    ends = [rational_of(each) for each in (min, max)]
    most = builtins.max((abs(each) for each in ends if each is not None), default=ONE)
    if None in ends or most > 2**40:
        raise reader.refuse("entries are clipped to ends that are not known numbers")
    found = entrywise(reader, x, lambda _: (most, ONE))
    return replace(found, square=found.entries * most**2) if isinstance(found, Each) else found


def total(mean: bool) -> Callable[..., Value]:  # noqa: FBT001
    """Return the rule of ``sum``, or of ``mean``."""

    def added(reader: Interpreter, x: Value, dim: Value = None) -> Value:
        """The sum, or the mean, of all records' tensors, or of one record's entries."""
        one = each_of(reader, x)
        if not one.batched and dim is None:
            times = Fraction(one.entries)
            size = one.size if mean else times * one.size
            found = replace(one, shape=(), size=size, steep=times * one.steep, square=None)
            return public_of(checked(reader, replace(found, token=next(tokens))))
        if not one.batched or dim != 0:
            raise reader.refuse("tensors are summed along another dimension", "sum(dim=0)")
        return summed(reader, one, mean=mean)

    return added


# ---------------------------------------------------------------------- gradients


def transform(name: str, argument: str, otherwise: int) -> Callable[..., Transform]:
    """Return the rule of ``torch.func.grad`` or ``vmap``, whose places have a name."""

    def make(reader: Interpreter, func: Value, *given: Value, **kw: Value) -> Transform:
        places = kw.pop(argument, given[0] if given else otherwise)
        kept = isinstance(func, Closure) and func.defaults
        if kw or kept or len(given) > 1 or not is_known(places):
            raise reader.refuse(f"{name} with arguments that are not known")
        return Transform(name, func, places)

    return make


def applied(reader: Interpreter, *args: Value, made: Transform) -> Value:
    """Return the result of a gradient's function, or of a function of each record."""
    if made.name == "vmap":
        return _mapped(reader, made, args)
    places = made.places if isinstance(made.places, tuple) else (made.places,)
    if not all(type(each) is int and 0 <= each < len(args) for each in places):
        raise reader.refuse("a gradient with respect to an argument that is not given")
    given = list(args)
    for each in places:
        one = each_of(reader, args[each]) if isinstance(args[each], KINDS) else None
        if one is None or one.batched or one.leaves:
            raise reader.refuse("a gradient with respect to what is not a tensor of its own")
        given[each] = replace(one, steep=ONE, leaves=frozenset({next(tokens)}))
    leaves = [given[each].leaves for each in places]
    loss = _loss(reader, reader.call(made.function, given, {}))
    if loss.leaves - frozenset().union(*leaves):
        raise reader.refuse("a gradient of what requires gradients itself", ".detach()")
    found = tuple(_gradient(reader, loss, given[each]) for each in places)
    return found if isinstance(made.places, tuple) else found[0]


def _loss(reader: Interpreter, loss: Value) -> Each:
    if isinstance(loss, Tensor) and is_public(loss.held):
        loss = each_of(reader, loss)
    if not isinstance(loss, Each) or loss.batched or loss.listed or loss.shape:
        raise reader.refuse(
            "the gradient of what is not one record's loss",
            "torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(weights, x)",
        )
    return loss


def _gradient(reader: Interpreter, loss: Each, leaf: Each) -> Each:
    """Return the gradient of one record's loss: each entry is at most the sum over all ways."""
    found = Each(leaf.shape, loss.steep, loss.steep, leaf.single, loss.records)
    return checked(reader, found)


def _mapped(reader: Interpreter, made: Transform, args: tuple[Value, ...]) -> Value:
    dims = made.places if isinstance(made.places, tuple) else (made.places,) * len(args)
    over = [each for each, dim in zip(args, dims, strict=False) if dim == 0]
    known = all(dim is None or (type(dim) is int and dim == 0) for dim in dims)
    if len(dims) != len(args) or not known or reader.each_record:
        raise reader.refuse("vmap over dimensions that are not followed")
    batches = [each for each in over if isinstance(each, Each) and each.batched and not each.listed]
    if not batches or len(batches) != len(over):
        raise reader.refuse("vmap over something other than a tensor for each record")
    records = batches[0].records
    if records is None or records.chosen:
        raise reader.refuse("vmap over records of which there may be none: it raises an error")
    given = [
        replace(each, batched=False, token=next(tokens)) if dim == 0 else shown(reader, each)
        for each, dim in zip(args, dims, strict=True)
    ]
    with reader.for_each_record(records):
        found = reader.call(made.function, given, {})
    parts = found if isinstance(found, tuple) else (found,)
    if not all(isinstance(each, Each) and each.records and not each.batched for each in parts):
        raise reader.refuse("vmap of a function that does not give a tensor for each record")
    batched = tuple(replace(each, batched=True, token=next(tokens)) for each in parts)
    return batched if isinstance(found, tuple) else batched[0]


def autograd(reader: Interpreter, outputs: Value, inputs: Value) -> Value:
    """``torch.autograd.grad``: a gradient for each tensor, without a graph of its own."""
    loss = _loss(reader, outputs)
    items = (inputs,) if isinstance(inputs, Tensor) else reader.entries_or_none(inputs)
    if not items or not all(
        isinstance(each, Tensor) and each.leaf in loss.leaves for each in items
    ):
        raise reader.refuse("a gradient with respect to what the loss is not computed from")
    return tuple(_gradient(reader, loss, each_of(reader, each)) for each in items)


def of_entries(bounds: Any) -> Callable[..., Value]:
    """Return the rule of a function of each entry."""
    return lambda reader, x: entrywise(reader, x, bounds)


def _require_one_shape(reader: Interpreter, input: Value, target: Value) -> Each:  # noqa: A002
    """Return the first of two tensors of one record, both of one shape."""
    one, other = each_of(reader, input), each_of(reader, target)
    if one.shape != other.shape or one.batched or other.batched:
        raise reader.refuse("a loss of tensors of other shapes, or of all records")
    return one


def squared_error(reader: Interpreter, input: Value, target: Value) -> Value:  # noqa: A002
    """``mse_loss`` of one record."""
    _require_one_shape(reader, input, target)
    return total(mean=True)(reader, power(reader, reader.operate("Sub", input, target), 2))


def logistic(reader: Interpreter, input: Value, target: Value) -> Value:  # noqa: A002
    """The loss max(z, 0) - z·y + log(1 + exp(-|z|)) of one logit z and label y."""
    one = _require_one_shape(reader, input, target)
    product = each_of(reader, reader.operate("Mult", input, target))
    both = replace(product, size=product.size + one.size + 1, steep=2 * product.steep + one.steep)
    return total(mean=True)(reader, public_of(both))


ENTRYWISE: dict[str, Callable[..., Value]] = {
    "sigmoid": of_entries(lambda _: (ONE, ONE)),
    "tanh": of_entries(lambda _: (ONE, ONE)),
    "relu": of_entries(lambda size: (size, ONE)),
}
"""Functions of each entry."""
LOSSES: dict[str, Callable[..., Value]] = {
    "softplus": of_entries(lambda size: (size + 1, ONE)),
    "logsigmoid": of_entries(lambda size: (size + 1, ONE)),
    "mse_loss": squared_error,
    "binary_cross_entropy_with_logits": logistic,
}
"""Losses of one record, and functions that they are made of."""
