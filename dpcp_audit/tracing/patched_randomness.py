# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownParameterType=false, reportIncompatibleMethodOverride=false
"""The global generators of NumPy and Python, handed to a path for the length of a call.

Generators that the target seeds with a constant stay what they are: their draws are no noise.
So are functions that the target imported by name.
"""

from __future__ import annotations

import math
import random
import secrets
import time
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.tracing.draws import UnfollowableError, asked_by_target, target_line
from dpcp_audit.tracing.patched_functions import recorded_libraries, replaced_extremes
from dpcp_audit.tracing.reachable_names import (
    Reach,
    lasting_code,
    refusals,
    refused_entropy,
    replaced,
    unused_entropy,
)
from dpcp_audit.tracing.recording_generator import recording
from dpcp_audit.tracing.traced_numbers import Traced

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from dpcp_audit.tracing.recording_generator import RecordingGenerator

_SHARED = """
normal laplace gumbel exponential uniform standard_normal standard_exponential geometric
poisson binomial choice permutation shuffle random gamma beta chisquare f dirichlet
hypergeometric logistic lognormal logseries multinomial multivariate_normal
negative_binomial noncentral_chisquare noncentral_f pareto power rayleigh standard_cauchy
standard_gamma standard_t triangular vonmises wald weibull zipf bytes
"""
_SAME = tuple(_SHARED.split())
"""Functions of ``numpy.random`` that generators have under the same name."""


class LegacyRecorder:
    """The functions of ``numpy.random`` and ``RandomState``, drawn by a recording generator.

    Parameters
    ----------
    rng : RecordingGenerator
        What draws.
    """

    def __init__(self, rng: RecordingGenerator) -> None:
        self.rng = rng
        self.seeded: Any = None

    def __getattr__(self, name: str) -> Any:
        if self.seeded is not None:
            return getattr(self.seeded, name)
        own = _LEGACY.get(name)
        if own is not None:
            return lambda *args, **kwargs: own(self.rng, *args, **kwargs)
        if name in _SAME:
            return getattr(self.rng, name)
        raise AttributeError(name)

    def seed(self, seed: Any = None) -> None:
        """Seed: from now on nothing is noise, unless the seed is None."""
        self.seeded = None if is_random(self.rng, seed) else np.random.RandomState(seed)

    def set_state(self, *_: Any) -> None:
        """Refuse: the state may come from anywhere."""
        raise UnfollowableError("the state of a generator is set", target_line())


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


class PythonRecorder:
    """The functions of the module ``random``, drawn by a recording generator.

    Parameters
    ----------
    rng : RecordingGenerator
        What draws.
    """

    def __init__(self, rng: RecordingGenerator) -> None:
        self.rng = rng
        self.seeded: random.Random | None = None

    def __getattr__(self, name: str) -> Any:
        if name not in _PYTHON:
            raise AttributeError(name)
        return self.drawing(name)

    def drawing(self, name: str) -> Callable[..., Any]:
        """Return the function of that name."""

        def draw(*args: Any, **kwargs: Any) -> Any:
            if self.seeded is not None:
                return getattr(self.seeded, name)(*args, **kwargs)
            return _PYTHON[name](self.rng, *args, **kwargs)

        return draw

    def seed(self, a: Any = None, version: int = 2) -> None:  # noqa: ARG002  (as it is called)
        """Seed: from now on nothing is noise, unless the seed is None."""
        self.seeded = None if is_random(self.rng, a) else random.Random(a)  # noqa: S311

    def setstate(self, *_: Any) -> None:
        """Refuse: the state may come from anywhere."""
        raise UnfollowableError("the state of a generator is set", target_line())


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


def is_random(rng: RecordingGenerator, seed: Any) -> bool:
    """Tell whether a seed is none, or one that the path has drawn and no generator has."""
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
    legacy: LegacyRecorder
    python: PythonRecorder


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


def _unseeded(original: type, recorder: type[LegacyRecorder | PythonRecorder]) -> type:
    """Return what stands in place of a class of generators: without a seed it records.

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


_CLOCKS = ("time", "perf_counter", "monotonic", "process_time", "thread_time")
_copysign = math.copysign


def _signed(size: Any, number: Any) -> Any:
    """Return ``math.copysign``."""
    if isinstance(number, Traced) and not isinstance(size, Traced):
        sign = number.path.made("sign", number)
        if sign is not None:
            return abs(size) * sign
    return _copysign(size, number)


@cache
def _replaced() -> list[tuple[Any, str, Any, Any]]:
    """Return what is replaced: its owner, its name, itself, and what replaces it."""
    default_rng = np.random.default_rng

    def own_rng(seed: Any = None) -> Any:
        rng = _ACTIVE[-1].rng
        if not is_random(rng, seed):
            return default_rng(seed)
        if seed is None or seed is rng:
            return rng
        rng.path.own_stream = True
        return type(rng)(rng.path, default_rng(seed))

    state = _unseeded(np.random.RandomState, LegacyRecorder)
    system = _unseeded(random.SystemRandom, PythonRecorder)
    numpy_names = (*_LEGACY, *_SAME, "seed", "set_state")
    found: list[tuple[Any, str, Any]] = [
        *((np.random, name, _forwarded("legacy", name)) for name in numpy_names),
        (np.random, "default_rng", own_rng),
        (np.random, "RandomState", state),
        *((random, name, _forwarded("python", name)) for name in (*_PYTHON, "seed", "setstate")),
        (random, "Random", _unseeded(random.Random, PythonRecorder)),
        (random, "SystemRandom", system),
        (secrets, "SystemRandom", system),
        *((secrets, n, _forwarded("python", n)) for n in ("randbelow", "choice", "randbits")),
    ]
    found += [
        (math, "log", _of_one(math.log, np.log)),
        (math, "log1p", _of_one(math.log1p, np.log1p)),
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
    """Return what replaces a function, by its identity."""
    return {id(original): value for _, _, original, value in (*_replaced(), *refusals())}


@cache
def _originals() -> dict[int, Any]:
    """Return what was replaced, by the identity of what replaces it."""
    return {id(value): original for _, _, original, value in (*_replaced(), *refusals())}


@contextmanager
def recorded_globals(rng: RecordingGenerator, reach: Reach = _NOTHING) -> Generator[None]:
    """Replace the functions of ``numpy.random`` and ``random``, and put them back."""
    legacy = LegacyRecorder(rng)
    _ACTIVE.append(_Recorders(rng, legacy, PythonRecorder(rng)))
    try:
        with (
            _swapped(legacy, recorded=True),
            recording(rng),
            recorded_libraries(rng),
            refused_entropy(),
            reach.rebound(_by_identity()),
            lasting_code(lambda: _unpatched(reach)),
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
