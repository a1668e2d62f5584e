# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
# pyright: reportUnknownLambdaType=false, reportPrivateUsage=false
"""Gaussian noise of PyTorch: a tensor of noise that stays traced until it is acted on.

``loc + scale·Z`` for a whole tensor of independent Z: sums with data and multiples keep that
form; anything else reads the tensor, which is one observation, such as the noisy sum of clipped
gradients of a step of DP-SGD. Other draws of the global generator follow from one seed, which is
the same in a replay.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from dpcp_audit.tracing.reachable_names import replaced

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from dpcp_audit.tracing.generators import RecordingGenerator
    from dpcp_audit.tracing.path_runs import PathRun

_TENSOR: Any = torch.Tensor
_MOVED = ("view", "view_as", "reshape", "reshape_as", "expand", "flatten", "contiguous", "clone")
_SIZES = ("size", "dim", "numel", "ndimension", "is_floating_point", "is_complex", "is_contiguous")
_SEEDED = ("rand", "rand_like", "randint", "randperm", "bernoulli", "multinomial")

_FOLLOWED = ("randn", "randn_like", "normal", "manual_seed")
_FILLED = ("uniform_", "normal_", "random_", "bernoulli_", "exponential_", "cauchy_", "geometric_")
"""Draws that follow from the seed of the global generator."""


class _NoiseTensor(torch.Tensor):
    """A tensor ``loc + scale·Z`` of one path, with what an untraced run would hold in it."""

    path: PathRun
    loc: Any
    scale: Any
    key: int

    @classmethod
    def of(cls, path: PathRun, values: Any, loc: Any, scale: Any, key: int) -> _NoiseTensor:
        """Return a tensor of noise; ``key`` names its Z."""
        made: _NoiseTensor = _TENSOR._make_subclass(cls, values.detach())  # noqa: SLF001
        made.path, made.loc, made.scale, made.key = path, loc, scale, key
        return made

    @property
    def plain(self) -> Any:
        """The values, without an observation."""
        return self.as_subclass(_TENSOR)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with torch._C.DisableTorchFunctionSubclass():  # noqa: SLF001
            return _applied(func, args, kwargs or {})


def read(noise: _NoiseTensor) -> Any:
    """Observe the values of a tensor of noise."""
    loc, scale = (
        np.broadcast_to(np.asarray(_numpy(each), dtype=np.float64), noise.shape).ravel()
        for each in (noise.loc, noise.scale)
    )
    values = _numpy(noise.plain).astype(np.float64).ravel()
    found = noise.path.read_tensor(noise.key, values, loc, scale)
    return torch.as_tensor(found.reshape(tuple(noise.shape))).to(noise.plain)


def _numpy(value: Any) -> Any:
    return value.detach().cpu().numpy() if isinstance(value, torch.Tensor) else value


def _applied(func: Any, args: Any, kwargs: Any) -> Any:
    name = getattr(func, "__name__", "")
    args = tuple(read(each) if _is_settled(each) else each for each in args)
    first = args[0] if args else None
    if name == "__get__" or name in _SIZES:
        return func(*args, **kwargs)
    if isinstance(first, _NoiseTensor) and name in _MOVED:
        return _moved(func, first, args[1:], kwargs)
    if not kwargs and len(args) <= 2 and name.strip("_") in _ARITHMETIC:
        result = _ARITHMETIC[name.strip("_")](*args)
        if result is not None:
            return _kept(result, first) if name.endswith("_") and name[0] != "_" else result
    plain = _read_in(args), _read_in(kwargs)
    return func(*plain[0], **plain[1])


def _is_settled(value: Any) -> bool:
    return isinstance(value, _NoiseTensor) and value.path.tensors[value.key][1] is not None


def _kept(result: _NoiseTensor, target: Any) -> Any:
    """Write a result of an operation in place."""
    if not isinstance(target, _NoiseTensor):
        return target.copy_(read(result))
    target.plain.copy_(result.plain)
    target.loc, target.scale = result.loc, result.scale
    return target


def _moved(func: Any, noise: _NoiseTensor, args: Any, kwargs: Any) -> _NoiseTensor:
    loc, scale = (
        func(each.expand(noise.shape), *args, **kwargs) if isinstance(each, torch.Tensor) else each
        for each in (noise.loc, noise.scale)
    )
    return _NoiseTensor.of(noise.path, func(noise.plain, *args, **kwargs), loc, scale, noise.key)


def _read_in(value: Any) -> Any:
    if isinstance(value, _NoiseTensor):
        return read(value)
    if isinstance(value, list | tuple):
        return type(value)(_read_in(each) for each in value)
    return {k: _read_in(v) for k, v in value.items()} if isinstance(value, dict) else value


def _shifted(noise: Any, other: Any, sign: float = 1.0) -> _NoiseTensor | None:
    """Return ``other + sign·noise``."""
    if isinstance(other, _NoiseTensor) or not isinstance(noise, _NoiseTensor):
        return None
    values = other + sign * noise.plain
    if values.shape != noise.shape:
        return None
    loc, scale = other + sign * noise.loc, sign * noise.scale
    return _NoiseTensor.of(noise.path, values, loc, scale, noise.key)


def _scaled(noise: Any, factor: Any) -> _NoiseTensor | None:
    if isinstance(factor, _NoiseTensor) or not isinstance(noise, _NoiseTensor):
        return None
    number = isinstance(factor, int | float)
    if factor == 0 if number else factor.numel() != 1:
        return None
    loc, scale = noise.loc * factor, noise.scale * factor
    return _NoiseTensor.of(noise.path, noise.plain * factor, loc, scale, noise.key)


def _added(first: Any, other: Any) -> _NoiseTensor | None:
    return _shifted(first, other) if isinstance(first, _NoiseTensor) else _shifted(other, first)


def _subtracted(first: Any, other: Any) -> _NoiseTensor | None:
    if isinstance(first, _NoiseTensor):
        return None if isinstance(other, _NoiseTensor) else _shifted(first, -other)
    return _shifted(other, first, -1.0)


def _multiplied(first: Any, other: Any) -> _NoiseTensor | None:
    return _scaled(first, other) if isinstance(first, _NoiseTensor) else _scaled(other, first)


def _divided(first: Any, other: Any) -> _NoiseTensor | None:
    return _scaled(first, 1 / other) if isinstance(first, _NoiseTensor) else None


_ARITHMETIC: dict[str, Callable[..., _NoiseTensor | None]] = {
    "add": _added,
    "radd": lambda a, b: _added(b, a),
    "iadd": _added,
    "sub": _subtracted,
    "rsub": lambda a, b: _subtracted(b, a),
    "mul": _multiplied,
    "rmul": _multiplied,
    "imul": _multiplied,
    "div": _divided,
    "truediv": _divided,
    "true_divide": _divided,
    "itruediv": _divided,
    "idiv": _divided,
    "neg": lambda a: _scaled(a, -1.0),
}


class _TorchRecorder:
    """Draws of PyTorch for the length of a call."""

    def __init__(self, rng: RecordingGenerator) -> None:
        self.rng = rng
        self.constant = False
        self.started = False
        self.seed = torch.manual_seed
        self.own_randn, self.own_like, self.own_normal = torch.randn, torch.randn_like, torch.normal

    def manual_seed(self, seed: Any) -> Any:
        """Seed: from now on nothing is noise, unless the seed was drawn."""
        self.constant = int(seed) not in self.rng.path.seeds
        self.started = True
        return self.seed(seed)

    def follows(self, generator: Any, out: Any) -> bool:
        """Return True if draws are noise that stays traced: their seed is no constant."""
        if out is not None:
            return False
        if generator is None:
            return not self.constant
        return generator.initial_seed() in self.rng.path.seeds

    def randn(self, *size: Any, generator: Any = None, out: Any = None, **kwargs: Any) -> Any:
        """Draw standard normal numbers."""
        if not self.follows(generator, out):
            return self.own_randn(*size, generator=generator, out=out, **kwargs)
        return self._noise(0.0, 1.0, torch.empty(*size, **kwargs))

    def randn_like(self, reference: Any, **kwargs: Any) -> Any:
        """Draw standard normal numbers in the shape of others."""
        if not self.follows(None, None):
            return self.own_like(reference, **kwargs)
        return self._noise(0.0, 1.0, torch.empty_like(reference, **kwargs))

    def normal(
        self,
        mean: Any = 0.0,
        std: Any = 1.0,
        size: Any = None,
        *,
        generator: Any = None,
        out: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Draw normal numbers."""
        if not self.follows(generator, out):
            sizes = {} if size is None else {"size": size}
            return self.own_normal(mean, std, **sizes, generator=generator, out=out, **kwargs)
        if size is not None:
            return self._noise(mean, std, torch.empty(size, **kwargs))
        tensors = [each for each in (mean, std) if isinstance(each, torch.Tensor)]
        return self._noise(mean, std, torch.broadcast_tensors(*tensors)[0])

    def seeding(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that draws, made to follow from one seed that replays have too."""

        def draw(*args: Any, **kwargs: Any) -> Any:
            if kwargs.get("generator") is None and not self.started:
                self.started = True
                self.seed(int(self.rng.integers(2**62)))
            return original(*args, **kwargs)

        return draw

    def _noise(self, loc: Any, scale: Any, like: Any) -> _NoiseTensor:
        path, shape = self.rng.path, tuple(like.shape)
        drawn = self.rng.source.standard_normal(shape) if path.live else np.full(shape, math.nan)
        z = torch.as_tensor(drawn).to(like)
        return _NoiseTensor.of(path, loc + scale * z, loc, scale, path.new_tensor("torch.normal"))


@contextmanager
def recorded_torch(rng: RecordingGenerator) -> Generator[None]:
    """Follow the Gaussian noise of PyTorch, and put its functions back."""
    recorder = _TorchRecorder(rng)
    names: list[tuple[Any, str, Any]] = [
        *((torch, name, getattr(recorder, name)) for name in _FOLLOWED),
        *((torch, name, recorder.seeding(getattr(torch, name))) for name in _SEEDED),
        *((_TENSOR, name, recorder.seeding(getattr(_TENSOR, name))) for name in _FILLED),
    ]
    with replaced(names):
        yield
