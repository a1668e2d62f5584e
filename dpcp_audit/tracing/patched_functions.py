"""Functions of Python and of libraries that are followed by what they do, not by how.

Python finds the largest of noisy numbers by comparisons of two, which show more than which one it
is: here that is all that is observed of ``max``, ``min`` and ``np.argmax``, as it is for arrays.

diffprivlib combines several draws of a generator of the system, against attacks on floating
point: its mechanisms' laws are taken from their parameters. PyTorch has its own module.
"""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownParameterType=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

import builtins
import math
import sys
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.tracing.derived_draws import is_discrete
from dpcp_audit.tracing.draws import UnfollowableError, target_line
from dpcp_audit.tracing.noise_laws import LAPLACE, NORMAL, DiscreteGaussianLaw, scipy_law
from dpcp_audit.tracing.reachable_names import replaced
from dpcp_audit.tracing.traced_arrays import traced_array
from dpcp_audit.tracing.traced_numbers import Traced, is_plain, traced_in

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from dpcp_audit.tracing.noise_laws import NoiseLaw
    from dpcp_audit.tracing.recording_generator import RecordingGenerator


_FEWEST = 3
"""The fewest numbers of a maximum; the larger of two is a comparison."""
_NONE: Any = object()
_max, _min = builtins.max, builtins.min


def _keys(items: Sequence[Any], key: Callable[[Any], Any] | None) -> list[Any]:
    return list(items) if key is None else [key(each) for each in items]


def _numbers(keys: Sequence[Any]) -> list[Any] | None:
    """Return the numbers that decide which key is the largest; None of other keys."""
    firsts = [each[0] if type(each) in {tuple, list} and each else None for each in keys]
    if firsts and all(map(_is_continuous, firsts)):
        return firsts
    real = all(isinstance(each, Traced) or (is_plain(each) and each == each) for each in keys)  # noqa: PLR0124
    return list(keys) if real and any(isinstance(each, Traced) for each in keys) else None


def _is_continuous(value: Any) -> bool:
    return isinstance(value, Traced) and not is_discrete(value)


def _place(keys: Sequence[Any], *, largest: bool) -> int | None:
    """Observe which key is the largest, or the smallest; None where comparisons do that."""
    numbers = _numbers(keys)
    if numbers is None:
        return None
    plain = [place for place, each in enumerate(numbers) if not isinstance(each, Traced)]
    best = (_max if largest else _min)(plain, key=numbers.__getitem__, default=None)
    if best is not None and math.isinf(numbers[best]):
        if (numbers[best] > 0) is largest:
            return best
        best = None
    rivals = [place for place in range(len(numbers)) if place not in plain or place == best]
    if len(rivals) < _FEWEST:
        return None
    path: Any = next(each.path for each in numbers if isinstance(each, Traced))
    found: int = path.extreme([numbers[place] for place in rivals], largest=largest)
    return rivals[found]


def _extreme(plain: Callable[..., Any], *, largest: bool) -> Callable[..., Any]:
    """Return ``max`` or ``min``."""

    def found(*args: Any, key: Callable[[Any], Any] | None = None, default: Any = _NONE) -> Any:
        if len(args) != 1:
            items: Sequence[Any] = args
        else:
            items = list(args[0])
        if not items:
            return plain(items) if default is _NONE else default
        keys = _keys(items, key)
        place = _place(keys, largest=largest)
        if place is None:
            place = plain(range(len(keys)), key=keys.__getitem__)
        return items[place]

    return found


def _of_lists(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of NumPy that takes lists of noisy numbers for arrays of them."""

    def apply(first: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(first, list | tuple) and next(traced_in(first), None) is not None:
            first = traced_array(list(first))
        return plain(first, *args, **kwargs)

    return apply


def _array(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``np.array``, which keeps the noise of lists of floats."""

    def array(first: Any, *args: Any, **kwargs: Any) -> Any:
        asked = args[0] if args else kwargs.get("dtype")
        others = len(args) > 1 or kwargs.keys() - {"dtype", "copy"}
        listed = isinstance(first, list | tuple) and not others and _is_float(asked)
        if listed and next(traced_in(first), None) is not None:
            return traced_array(list(first))
        return plain(first, *args, **kwargs)

    return array


def _is_float(dtype: Any) -> bool:
    return dtype is None or dtype in (float, np.float64, "float", "float64")


_FUNCTIONS = ("argmax", "argmin", "max", "min", "amax", "amin", "argsort", "sum", "mean")


def replaced_extremes() -> list[tuple[Any, str, Any]]:
    """Return what is replaced while a target runs: its owner, its name and what replaces it."""
    return [
        (builtins, "max", _extreme(builtins.max, largest=True)),
        (builtins, "min", _extreme(builtins.min, largest=False)),
        (np, "array", _array(np.array)),
        (np, "asarray", _array(np.asarray)),
        *((np, name, _of_lists(getattr(np, name))) for name in _FUNCTIONS),
    ]


_DIFFPRIVLIB = "diffprivlib.mechanisms"


@contextmanager
def recorded_libraries(rng: RecordingGenerator) -> Generator[None]:
    """Follow the noise of the libraries that are loaded, for the length of a call."""
    with ExitStack() as stack:
        module = sys.modules.get(_DIFFPRIVLIB)
        if module is not None:
            ways = {name: _randomised(rng, name, law) for name, law in _LAWS.items()}
            ways |= {name: _refused(name) for name in _UNKNOWN}
            methods = [(getattr(module, name), "randomise", way) for name, way in ways.items()]
            stack.enter_context(replaced(methods))
        if "torch" in sys.modules:
            from dpcp_audit.tracing.torch_noise import recorded_torch  # noqa: PLC0415  (slow)

            stack.enter_context(recorded_torch(rng))
        yield


def _randomised(rng: RecordingGenerator, name: str, law: Callable[..., Any]) -> Any:
    def randomise(self: Any, value: Any) -> Any:
        self._check_all(value)
        standard, loc, scale = law(self, value)
        return rng.additive(name, standard, loc, scale)

    return randomise


def _refused(name: str) -> Any:
    def randomise(self: Any, value: Any) -> Any:
        del self, value
        raise UnfollowableError(f"the law of diffprivlib's {name} is not known", target_line())

    return randomise


def _laplace(mechanism: Any, value: float) -> Any:
    spent = mechanism.epsilon - math.log1p(-mechanism.delta)
    return LAPLACE, value, mechanism.sensitivity / spent


def _gaussian(mechanism: Any, value: float) -> Any:
    return NORMAL, value, mechanism._scale  # noqa: SLF001  (it has no public name)


def _geometric(mechanism: Any, value: int) -> Any:
    rate = -mechanism._scale  # noqa: SLF001  (it has no public name)
    return scipy_law("dlaplace", (float(rate),)), value, 1.0 if math.isfinite(rate) else 0.0


def _discrete(mechanism: Any, value: int) -> Any:
    sigma = float(mechanism._scale)  # noqa: SLF001  (it has no public name)
    return DiscreteGaussianLaw(sigma), value, 1.0 if sigma > 0 else 0.0


_LAWS: dict[str, Callable[[Any, Any], tuple[NoiseLaw, float, float]]] = {
    "Laplace": _laplace,
    "Gaussian": _gaussian,
    "Geometric": _geometric,
    "GaussianDiscrete": _discrete,
}
"""Mechanisms whose noise is added; the truncated and folded ones are made of them."""
_UNKNOWN = (
    "Snapping",
    "Bingham",
    "Vector",
    "Staircase",
    "LaplaceBoundedNoise",
    "LaplaceBoundedDomain",
)
"""Mechanisms whose several draws would be revealed one by one."""
