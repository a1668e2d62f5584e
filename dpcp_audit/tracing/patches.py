"""What is replaced while a target runs: the global generators, and functions of libraries.

The generators of NumPy and Python are handed to a path for the length of a call. Those that the
target seeds with a constant stay what they are: their draws are no noise. So are functions that
the target imported by name.

Functions are followed by what they do, not by how. Python finds the largest of noisy numbers by
comparisons of two, which show more than which one it is: here that is all that is observed of
``max``, ``min`` and ``np.argmax``, as it is for arrays. diffprivlib combines several draws of a
generator of the system, against attacks on floating point: its mechanisms' laws are taken from
their parameters. PyTorch has its own module.
"""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownParameterType=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

import builtins
import math
import random
import secrets
import sys
import time
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcp_audit.tracing.draws import (
    LAPLACE,
    NORMAL,
    UnfollowableError,
    asked_by_target,
    counted_law,
    scipy_law,
    target_line,
)
from dpcp_audit.tracing.generators import RecordingGenerator, recording
from dpcp_audit.tracing.reachable_names import (
    Reach,
    lasting_code,
    refusals,
    refused_entropy,
    replaced,
    unused_entropy,
)
from dpcp_audit.tracing.traced_arrays import traced_array
from dpcp_audit.tracing.traced_numbers import (
    Traced,
    WholeArray,
    is_discrete,
    is_plain,
    made,
    traced_in,
)
from dpcp_audit.tracing.unread_noise import kept_noise

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from dpcp_audit.tracing.draws import NoiseLaw


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
        floats = not others and _is_float(asked)
        if floats and isinstance(first, WholeArray):
            own = plain in _AS_ARRAY or not kwargs.get("copy", True)
            return first if own else first.moved(np.copy)
        if floats and isinstance(first, list | tuple) and next(traced_in(first), None) is not None:
            return traced_array(list(first))
        return plain(first, *args, **kwargs)

    return array


_AS_ARRAY = (np.asarray, np.asanyarray)


def _is_float(dtype: Any) -> bool:
    return dtype is None or dtype in (float, np.float64, "float", "float64")


_FUNCTIONS = ("argmax", "argmin", "max", "min", "amax", "amin", "argsort", "sum", "mean")


def replaced_extremes() -> list[tuple[Any, str, Any]]:
    """Return the replacements while a target runs: owner, name and new function."""
    return [
        (builtins, "max", _extreme(builtins.max, largest=True)),
        (builtins, "min", _extreme(builtins.min, largest=False)),
        (np, "array", _array(np.array)),
        (np, "asarray", _array(np.asarray)),
        (np, "asanyarray", _array(np.asanyarray)),
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
    return counted_law("discrete gaussian", sigma), value, 1.0 if sigma > 0 else 0.0


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


_SHARED = """
normal laplace gumbel exponential uniform standard_normal standard_exponential geometric
poisson binomial choice permutation shuffle random gamma beta chisquare f dirichlet
hypergeometric logistic lognormal logseries multinomial multivariate_normal
negative_binomial noncentral_chisquare noncentral_f pareto power rayleigh standard_cauchy
standard_gamma standard_t triangular vonmises wald weibull zipf bytes
"""
_SAME = tuple(_SHARED.split())
"""Functions of ``numpy.random`` that generators have under the same name."""


class _Recorder:
    """The functions of a module's generators, drawn by a recording generator.

    Parameters
    ----------
    rng : RecordingGenerator
        The generator that draws.
    """

    original: ClassVar[type[Any]]
    own: ClassVar[Mapping[str, Callable[..., Any]]]
    same: ClassVar[Sequence[str]] = ()

    def __init__(self, rng: RecordingGenerator) -> None:
        self.rng = rng
        self.seeded: Any = None

    def __getattr__(self, name: str) -> Any:
        if self.seeded is not None:
            return getattr(self.seeded, name)
        if name not in self.own and name not in self.same:
            raise AttributeError(name)
        return partial(self._drawn, name)

    def _drawn(self, name: str, *args: Any, **kwargs: Any) -> Any:
        if self.seeded is None and name in self.own:
            return self.own[name](self.rng, *args, **kwargs)
        return getattr(self.seeded or self.rng, name)(*args, **kwargs)

    def seed(self, *args: Any, **kwargs: Any) -> None:
        """Seed: from now on nothing is noise, unless the seed is None."""
        seed, *_ = (*args, *kwargs.values(), None)
        with unused_entropy():
            self.seeded = None if is_random(self.rng, seed) else self.original(seed)

    def set_state(self, *_: Any) -> None:
        """Refuse: the state may come from anywhere."""
        raise UnfollowableError("the state of a generator is set", target_line())

    setstate = set_state


_LEGACY: dict[str, Callable[..., Any]] = {
    "random_sample": lambda rng, size=None: rng.random(size),
    "ranf": lambda rng, size=None: rng.random(size),
    "sample": lambda rng, size=None: rng.random(size),
    "rand": lambda rng, *shape: rng.random(shape or None),
    "randn": lambda rng, *shape: rng.standard_normal(shape or None),
    "randint": lambda rng, low, high=None, size=None, dtype=int: rng.integers(
        low, high, size, dtype
    ),
}


def _pick(rng: RecordingGenerator, population: Any) -> Any:
    return population[int(rng.integers(len(population)))]


def _picks(
    rng: RecordingGenerator,
    population: Any,
    weights: Any = None,
    *,
    cum_weights: Any = None,
    k: int = 1,
) -> list[Any]:
    if cum_weights is not None:
        weights = np.diff(cum_weights, prepend=0.0)
    shares = None if weights is None else np.asarray(weights, float) / np.sum(weights)
    return [population[int(place)] for place in rng.choice(len(population), size=k, p=shares)]


def _shuffled(rng: RecordingGenerator, x: Any) -> None:
    x[:] = [x[int(place)] for place in rng.permutation(len(x))]


def _sampled(rng: RecordingGenerator, population: Any, k: int, *, counts: Any = None) -> list[Any]:
    if counts is not None:
        pairs = zip(population, counts, strict=True)
        population = [each for each, count in pairs for _ in range(int(count))]
    places = rng.choice(len(population), size=k, replace=False)
    return [population[int(place)] for place in places]


_PYTHON: dict[str, Callable[..., Any]] = {
    "random": lambda rng: rng.random(),
    "uniform": lambda rng, a, b: rng.uniform(a, b),
    "gauss": lambda rng, mu=0.0, sigma=1.0: rng.normal(mu, sigma),
    "normalvariate": lambda rng, mu=0.0, sigma=1.0: rng.normal(mu, sigma),
    "expovariate": lambda rng, lambd=1.0: rng.exponential(1 / lambd),
    "randint": lambda rng, a, b: int(rng.integers(a, b + 1)),
    "randrange": lambda rng, start, stop=None, step=1: range(
        *((start,) if stop is None else (start, stop)), *((step,) if stop is not None else ())
    )[int(rng.integers(len(range(start) if stop is None else range(start, stop, step))))],
    "choice": _pick,
    "choices": _picks,
    "shuffle": _shuffled,
    "sample": _sampled,
    "randbelow": lambda rng, n: int(rng.integers(n)),
    "randbits": lambda rng, k: rng.bits(k),
    "triangular": lambda rng, low=0.0, high=1.0, mode=None: rng.triangular(
        low, (low + high) / 2 if mode is None else mode, high
    ),
    "lognormvariate": lambda rng, mu=0.0, sigma=1.0: np.exp(rng.normal(mu, sigma)),
    "getrandbits": lambda rng, k: rng.bits(k),
}


class _LegacyRecorder(_Recorder):
    """The functions of ``numpy.random`` and ``RandomState``."""

    original, own, same = np.random.RandomState, _LEGACY, _SAME


class _PythonRecorder(_Recorder):
    """The functions of the module ``random``."""

    original, own = random.Random, _PYTHON


def is_random(rng: RecordingGenerator, seed: Any) -> bool:
    """Return True if a seed is none, or one that the path has drawn and no generator has."""
    if seed is None or seed is rng:
        return True
    drawn = isinstance(seed, int | np.integer) and int(seed) in rng.path.seeds
    if drawn:
        rng.path.seeds_one(int(seed), rng.source)
        rng.path.own_stream = False
    return drawn


@dataclass(frozen=True, slots=True)
class _Recorders:
    """The generators that draw while a target runs."""

    rng: RecordingGenerator
    legacy: _LegacyRecorder
    python: _PythonRecorder


_NOTHING = Reach()
_SHARED_STATE = "_rand"
"""The name of the state of ``numpy.random``'s functions, which other libraries use too."""
_OWN_STATE = getattr(np.random.mtrand, _SHARED_STATE)
_ACTIVE: list[_Recorders] = []


def _forwarded(which: str, name: str) -> Callable[..., Any]:
    """Return a function that the recorder of the running target carries out."""

    def draw(*args: Any, **kwargs: Any) -> Any:
        _ACTIVE[-1].rng.path.own_stream = False  # an untraced call has a stream of its own there
        return getattr(getattr(_ACTIVE[-1], which), name)(*args, **kwargs)

    return draw


RECORDERS = (RecordingGenerator, _LegacyRecorder, _PythonRecorder)
"""What a followed call draws from in place of generators."""


def _unseeded(original: type, recorder: type[_Recorder]) -> type:
    """Return the stand-in for a class of generators: without a seed it records.

    Seeded ones, and those made before, still pass for its instances.
    """

    class Seedable(type):
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, (original, recorder))

        def __call__(cls, seed: Any = None) -> Any:
            rng = _ACTIVE[-1].rng
            if is_random(rng, seed):
                return recorder(rng)
            with unused_entropy():
                return original(seed)

    return Seedable(original.__name__, (), {})


def _of_one(plain: Callable[..., float], traced: Any) -> Callable[..., Any]:
    """Return a function of ``math`` that keeps noise which is made of uniform draws."""

    def apply(number: Any, *others: Any) -> Any:
        if isinstance(number, Traced) and not others:
            return traced(number)
        return plain(number, *others)

    return apply


def _read(plain: Callable[[], Any]) -> Callable[[], Any]:
    """Return a clock that tells the running path of it, where the target's own lines read it."""

    def read() -> Any:
        if asked_by_target():
            _ACTIVE[-1].rng.path.clock_read()
        return plain()

    return read


_OF_MATH = ("log", "log1p", "sqrt", "cos", "sin")
_CLOCKS = ("time", "perf_counter", "monotonic", "process_time", "thread_time")
_copysign: Any = math.copysign


def _signed(size: Any, number: Any) -> Any:
    """Return ``math.copysign``."""
    if isinstance(number, Traced) and not isinstance(size, Traced):
        sign = made("sign", number)
        if sign is not None:
            return abs(size) * sign
    return _copysign(size, number)


@cache
def _replaced() -> list[tuple[Any, str, Any, Any]]:
    """Return the replacements: owner, name, original and stand-in."""
    default_rng = np.random.default_rng

    def own_rng(seed: Any = None) -> Any:
        rng = _ACTIVE[-1].rng
        if not is_random(rng, seed):
            return default_rng(seed)
        if seed is None or seed is rng:
            return rng
        rng.path.own_stream = True
        return type(rng)(rng.path, default_rng(seed))

    state = _unseeded(np.random.RandomState, _LegacyRecorder)
    system = _unseeded(random.SystemRandom, _PythonRecorder)
    numpy_names = (*_LEGACY, *_SAME, "seed", "set_state")
    found: list[tuple[Any, str, Any]] = [
        *((np.random, name, _forwarded("legacy", name)) for name in numpy_names),
        (np.random, "default_rng", own_rng),
        (np.random, "RandomState", state),
        *((random, name, _forwarded("python", name)) for name in (*_PYTHON, "seed", "setstate")),
        (random, "Random", _unseeded(random.Random, _PythonRecorder)),
        (random, "SystemRandom", system),
        (secrets, "SystemRandom", system),
        *((secrets, n, _forwarded("python", n)) for n in ("randbelow", "choice", "randbits")),
    ]
    found += [
        *((math, each, _of_one(getattr(math, each), getattr(np, each))) for each in _OF_MATH),
        (math, "copysign", _signed),
        *((time, name, _read(getattr(time, name))) for name in _CLOCKS),
        *((time, f"{name}_ns", _read(getattr(time, f"{name}_ns"))) for name in _CLOCKS),
        *replaced_extremes(),
    ]
    return [
        (owner, name, getattr(owner, name), value)
        for owner, name, value in found
        if hasattr(owner, name)
    ]


@cache
def _by_identity() -> dict[int, Any]:
    """Return the stand-ins of functions, by the functions' identity."""
    return {id(original): value for _, _, original, value in (*_replaced(), *refusals())}


@cache
def _originals() -> dict[int, Any]:
    """Return the originals, by the identity of their stand-ins."""
    return {id(value): original for _, _, original, value in (*_replaced(), *refusals())}


@contextmanager
def recorded_globals(rng: RecordingGenerator, reach: Reach = _NOTHING) -> Generator[None]:
    """Replace the functions of ``numpy.random`` and ``random``, and put them back."""
    legacy = _LegacyRecorder(rng)
    _ACTIVE.append(_Recorders(rng, legacy, _PythonRecorder(rng)))
    try:
        with (
            _swapped(legacy, recorded=True),
            recording(rng),
            recorded_libraries(rng),
            refused_entropy(),
            reach.rebound(_by_identity()),
            lasting_code(lambda: _unpatched(reach)),
            kept_noise(reach) if rng.path.unread else nullcontext(),
        ):
            yield
    finally:
        _ACTIVE.pop()


@contextmanager
def _unpatched(reach: Reach) -> Generator[None]:
    """Let the generators stand in their own place within a followed call."""
    with _swapped(_OWN_STATE, recorded=False), reach.rebound(_originals()):
        yield


@cache
def _names(*, recorded: bool) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return the names of each module, and what some of them stand for in a call."""
    found: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}
    for owner, name, own, other in _replaced():
        found.setdefault(id(owner), (vars(owner), {}))[1][name] = other if recorded else own
    return list(found.values())


@contextmanager
def _swapped(state: Any, *, recorded: bool) -> Generator[None]:
    """Let recorders stand in place of the generators, or the generators in their own.

    All are names of modules, a hundred of them, and a call of the target is short.
    """
    tables = _names(recorded=recorded)
    before = [(names, {name: names[name] for name in others}) for names, others in tables]
    try:
        for names, others in tables:
            names.update(others)
        with replaced([(np.random.mtrand, _SHARED_STATE, state)]):
            yield
    finally:
        for names, own in before:
            names.update(own)
