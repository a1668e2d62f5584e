"""PyTorch's functions: those that a step of DP-SGD is written with, known by identity.

The library is not imported here: its functions are known once the user's own module has loaded it.
What is not in the table is refused, ``backward`` among it, whose ``.grad`` adds up over records.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false

from __future__ import annotations

import functools
import importlib.metadata
import sys
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcp_audit.proving import dp_sgd
from dpcp_audit.proving import torch_gradients as gradients
from dpcp_audit.proving import torch_tensors as tensors
from dpcp_audit.proving.distances import NUMPY, BoundMethod, Hidden, Value
from dpcp_audit.proving.torch_values import KINDS, Each, Tensor, TorchSource, power

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.proving.reading import Interpreter


def _operator(name: str) -> Callable[..., Value]:
    return lambda reader, a, b: reader.operate(name, a, b)


_TABLE: dict[str, dict[str, Callable[..., Any]]] = {
    "torch method nn.functional": gradients.ENTRYWISE,
    "nn.functional": gradients.LOSSES,
    "torch method linalg": {"norm": gradients.norm},
    "linalg": {"vector_norm": gradients.norm},
    "torch method": {
        "clamp": gradients.clamp,
        "sum": gradients.total(mean=False),
        "mean": gradients.total(mean=True),
        "pow": power,
        "clone": tensors.clone,
        "unsqueeze": tensors.reshaped((1,), (-1,)),
        "reshape": tensors.reshaped((-1, 1)),
        "dot": _operator("MatMult"),
        "matmul": _operator("MatMult"),
    },
    "torch": {
        "tensor": tensors.tensor,
        "as_tensor": tensors.shared,
        "from_numpy": tensors.shared,
        "zeros": tensors.filled(0),
        "ones": tensors.filled(1),
        "zeros_like": tensors.like(0),
        "ones_like": tensors.like(1),
        "stack": tensors.stack,
        "cat": tensors.cat,
        "randn": tensors.randn,
        "normal": tensors.normal,
        "randn_like": tensors.randn_like,
        "Generator": tensors.generator,
        "manual_seed": tensors.seeded_globally,
    },
    "autograd": {"grad": gradients.autograd},
    "func": {
        "grad": gradients.transform("grad", "argnums", 0),
        "vmap": gradients.transform("vmap", "in_dims", 0),
    },
    "method": {
        "view": tensors.reshaped((-1, 1)),
        "detach": tensors.detach,
        "double": tensors.to_type("float64"),
        "float": tensors.to_type("float32"),
        "to": tensors.cast,
        "requires_grad_": tensors.requires_grad,
        "numpy": tensors.to_numpy,
        "item": tensors.item,
        "tolist": tensors.tolist,
    },
}
"""The rules of functions and methods, by the modules that they are in."""
_METHODS = {
    name: rule
    for places, rules in _TABLE.items()
    for name, rule in rules.items()
    if "method" in places
}


@functools.lru_cache(maxsize=1)
def _genuine(torch: Any, _: Any) -> dict[int, tuple[Any, Callable[..., Any]]]:
    """Return the library's own functions, by their identity, and their rules.

    The library wraps some of them, ``manual_seed`` among these, once it compiles a function.
    """
    found: dict[int, tuple[Any, Callable[..., Any]]] = {}
    try:
        installed = importlib.metadata.distribution("torch").locate_file("torch")
        own = Path(str(installed)).resolve() == Path(torch.__path__[0]).resolve()
    except (importlib.metadata.PackageNotFoundError, AttributeError):
        own = False
    if not own:
        return found  # another library of this name
    for places, rules in _TABLE.items():
        for place in places.replace("method", "").split():
            module = sys.modules.get("torch" if place == "torch" else f"torch.{place}")
            for name, rule in rules.items():
                function = getattr(module, name, None)
                names = {name, f"{place}_{name}", name.replace("logs", "log_s")}
                kind = function is torch._C.Generator  # noqa: SLF001
                if kind or _is_own(torch, function, names):
                    found[id(function)] = function, rule
    return found


def _is_own(torch: Any, function: Any, names: set[str]) -> bool:
    """Return True of a function of C or of the library itself; of one of the names, if any."""
    code = getattr(function, "__code__", None)
    of_c = code is None and type(function) in _OF_C
    own = of_c or (code is not None and code.co_filename.startswith(str(torch.__path__[0])))
    return own and (not names or function.__name__ in names)


_OPERATORS = [f"__{name}__" for name in (
    "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "matmul", "rmatmul", "pow",
    "neg", "getitem", "iter", "len", "float",
)]  # fmt: skip
_OF_C = {types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType}


def rule_of(target: Value) -> Callable[..., Value] | None:
    """Return the rule of a function of the library; None of any other value."""
    torch = tensors.library()
    if isinstance(target, gradients.Transform):
        return functools.partial(gradients.applied, made=target)
    if torch is None or isinstance(target, Hidden | BoundMethod):
        return None
    _, rule = _genuine(torch, getattr(torch, "manual_seed", None)).get(id(target), (None, None))
    home = str(getattr(target, "__module__", "") or "").partition(".")[0]
    if rule is None and home == "torch" and callable(target):
        return _refused(target)
    return rule


def _refused(target: Any) -> Callable[..., Value]:
    """Return the rule of a function of the library that is not in the table."""
    name = getattr(target, "__name__", str(target))

    def refuse(reader: Interpreter, *args: Value, **kw: Value) -> Value:
        if name.startswith("clip_grad"):
            raise reader.refuse(
                f"{name} clips the gradient of all records: it bounds no record's share",
                "clip each record's gradient before they are summed",
            )
        raise reader.refuse(f"{name} of PyTorch is not followed")

    return refuse


_NAMES = {"axis": "dim", "keepdims": "keepdim", "ord": "p"}
"""Other names of arguments."""


def called(
    reader: Interpreter, rule: Callable[..., Value], args: list[Value], kw: dict[str, Value]
) -> Value:
    """Return the result of a rule; refuse arguments that it does not take."""
    torch = tensors.library()
    modes = [getattr(torch._C, f"_len_torch_{name}_stack")() for name in ("function", "dispatch")]  # noqa: SLF001
    changed = [
        name
        for name in (*_METHODS, *_OPERATORS)
        if not _is_own(torch, getattr(torch.Tensor, name), {name} - set(_OPERATORS))
    ]
    if any(modes) or changed:
        raise reader.refuse("PyTorch's functions are changed by a mode, or were replaced")
    try:
        return rule(reader, *args, **{_NAMES.get(key, key): value for key, value in kw.items()})
    except TypeError as error:
        if "argument" not in str(error):
            raise
        raise reader.refuse("a function of PyTorch with arguments that are not followed") from None


def is_own(value: Value) -> bool:
    """Return True of tensors, their norms, and generators, whose methods are PyTorch's."""
    norms = isinstance(value, dp_sgd.Norms) and value.made != NUMPY
    return norms or isinstance(value, (*KINDS, TorchSource, gradients.Transform))


def attribute(reader: Interpreter, value: Value, name: str) -> Value:
    """Return the shape of a tensor, or a method."""
    if name == "shape" and isinstance(value, Tensor):
        return tensors.shape_of_tensor(reader, value)
    if name in {"backward", "grad"}:
        raise reader.refuse(
            f"{name} of a tensor: gradients of records before are added to it",
            "torch.autograd.grad(loss, weights), or torch.func.vmap(torch.func.grad(loss), ...)",
        )
    if name == "shape" and isinstance(value, Each) and value.batched and value.records:
        return reader.call(len, [value.records], {}), *value.shape
    tensor = not isinstance(value, dp_sgd.Norms) or value.made == dp_sgd.PYTORCH
    if isinstance(value, TorchSource) or (tensor and name in _METHODS):
        return BoundMethod(value, name)
    raise reader.refuse(f"the method {name} of a tensor is not followed")


def method(
    reader: Interpreter, owner: Value, name: str, args: list[Value], kw: dict[str, Value]
) -> Value:
    """Return the result of a method of a tensor, of norms, or of a generator."""
    if isinstance(owner, TorchSource):
        return tensors.seeded(reader, owner, name, args)
    return called(reader, _METHODS[name], [owner, *args], kw)
