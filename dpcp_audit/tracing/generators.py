"""NumPy generators of a trace: one reveals its choices, the other records its noise.

Additive noise is followed as ``loc + scale·Z``. Indices, choices and permutations are revealed with
their probability as they are made; any other draw is revealed too, and is good for both inputs only
where its parameters are the same. What that needs of a draw: its shape, the log-probability of what
is drawn, and all that may be.

A function whose law is declared is called as it stands without a trace; in a trace its law is drawn
from in its place.
"""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownParameterType=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial, wraps
from itertools import permutations, product
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from dpcp_audit.tracing import draws
from dpcp_audit.tracing.draws import (
    SEED,
    NotFiniteError,
    UnfollowableError,
    described,
    scipy_law,
    target_line,
)
from dpcp_audit.tracing.noisy_arrays import NoisyArray
from dpcp_audit.tracing.path_runs import RevealedDraw
from dpcp_audit.tracing.traced_arrays import traced_array
from dpcp_audit.tracing.traced_numbers import (
    COIN,
    Traced,
    is_plain,
    traced_in,
    values_in,
    values_of,
)
from dpcp_audit.words.errors import UsageError, shown

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from dpcp_audit.tracing.draws import Line, NoiseLaw
    from dpcp_audit.tracing.path_runs import PathRun
    from dpcp_audit.words.validate import FloatArray


MOST_OPTIONS = 100_000
"""Values of a draw that are listed."""


def uniform_log_mass(found: Any, first: int, stop: int, count: int) -> float:
    """Return the log-probability of whole numbers that are uniform from ``first`` to ``stop``."""
    if isinstance(found, int | np.integer):
        return -math.log(count) if first <= found < stop else -math.inf
    values = np.asarray(found)
    if values.size and not (first <= values.min() and values.max() < stop):
        return -math.inf
    return -values.size * math.log(count)


def choice_log_mass(found: Any, count: int, weights: Any, *, replace: bool) -> float:
    """Return the log-probability of places, by weights, or uniform with or without replacement."""
    places = np.asarray(found)
    if places.size and places.max() >= count:
        return -math.inf
    if weights is not None:
        with np.errstate(divide="ignore"):
            return float(np.log(weights / weights.sum())[places].sum())
    if replace:
        return -places.size * math.log(count)
    return math.lgamma(count - places.size + 1) - math.lgamma(count + 1)


def all_tuples(values: range, size: Any, dtype: Any, *, distinct: bool = False) -> list[Any]:
    """Return all that can be drawn, of any shape."""
    if size is None:
        if len(values) > MOST_OPTIONS:
            return no_options()
        return [np.dtype(dtype).type(each) for each in values]
    shape = (int(size),) if np.ndim(size) == 0 else tuple(size)
    count = math.prod(shape)
    total = math.perm(len(values), count) if distinct else len(values) ** count
    if total > MOST_OPTIONS:
        return no_options()
    ways = permutations(values, count) if distinct else product(values, repeat=count)
    return [np.array(way, dtype=dtype).reshape(shape) for way in ways]


def no_options() -> list[Any]:
    """Raise that what may be drawn is not listed."""
    raise NotFiniteError("what may be drawn is not finite, or too much", target_line())


def drawn_shape(parameters: tuple[Any, ...], size: Any) -> tuple[int, ...] | None:
    """Return the shape of what is drawn, None of a number."""
    if size is None and all(is_plain(each) for each in parameters):
        return None
    if size is not None:
        return (int(size),) if np.ndim(size) == 0 else tuple(int(each) for each in size)
    shapes = [np.shape(each) for each in parameters]
    return np.broadcast_shapes(*shapes) if any(shapes) else None


def undrawn(shape: tuple[int, ...] | None) -> Any:
    """Return NaN, of that shape: a replay draws nothing."""
    return math.nan if shape is None else np.full(shape, math.nan)


def listed_values(value: Any, shape: tuple[int, ...] | None) -> list[Any]:
    """Return a parameter for each number of that shape."""
    if shape is None:
        return [value]
    if np.ndim(value) == 0:
        return [value] * math.prod(shape)
    return np.broadcast_to(np.asarray(value), shape).ravel().tolist()


_INTEGER_BITS = 63
_MANY_SEEDS = 2**30
"""Whole numbers below at least so many may seed another generator."""


class _RevealingGenerator(np.random.Generator):
    """A generator that tells a path what it draws.

    Parameters
    ----------
    path : PathRun
        The run that its draws belong to.
    source : Generator
        The generator that draws; its stream is that of an untraced run.
    """

    def __init__(self, path: PathRun, source: np.random.Generator) -> None:
        super().__init__(source.bit_generator)
        self.path = path
        self.source = source

    def integers(
        self,
        low: Any,
        high: Any = None,
        size: Any = None,
        dtype: Any = np.int64,
        endpoint: Any = False,  # noqa: FBT002  (as NumPy has it)
    ) -> Any:
        """Draw whole numbers, revealed as they are drawn."""
        low, high = values_of(low), values_of(high)
        first, last = (0, low) if high is None else (low, high)
        if np.ndim(first) or np.ndim(last):
            return self.reveal_other(
                "integers", (low, high, size), {"dtype": dtype, "endpoint": endpoint}
            )
        stop = int(last) + bool(endpoint)
        count = max(1, stop - int(first))
        found = self._reveal(
            SEED if count >= _MANY_SEEDS else "integers",
            lambda: self.source.integers(low, high, size, dtype, endpoint),
            lambda found: uniform_log_mass(found, int(first), stop, count),
            no_options
            if count >= _MANY_SEEDS
            else lambda: all_tuples(range(int(first), stop), size, dtype),
        )
        if count >= _MANY_SEEDS:
            self.path.seeds.update(np.ravel(found).tolist())
        return found

    def bits(self, count: int) -> int:
        """Draw a whole number of so many random bits: a seed, where there are many."""
        if count <= _INTEGER_BITS:
            return int(self.integers(2**count))
        size = -(-count // 8)
        found = int(
            self._reveal(
                SEED,
                lambda: int.from_bytes(self.source.bytes(size), "little") >> (8 * size - count),
                lambda found: -count * math.log(2) if 0 <= found < 2**count else -math.inf,
                no_options,
            )
        )
        self.path.seeds.add(found)
        return found

    def choice(  # noqa: PLR0917  (as NumPy has it)
        self,
        a: Any,
        size: Any = None,
        replace: Any = True,  # noqa: FBT002
        p: Any = None,
        axis: int = 0,
        shuffle: Any = True,  # noqa: FBT002
    ) -> Any:
        """Draw elements; their places are revealed as they are drawn."""
        count = int(values_of(a)) if np.ndim(a) == 0 else np.shape(a)[axis]
        weights = None if p is None else np.asarray(values_of(p), dtype=np.float64)
        ordered = weights is not None or not shuffle
        if not replace and ordered and size is not None:
            # Neither NumPy's weighted draws nor its unshuffled ones have a law that is known here.
            places = self.reveal_other(
                "choice", (count, size, replace, weights), {"shuffle": shuffle}
            )
        else:
            places = self._reveal(
                "choice",
                lambda: self.source.choice(count, size, replace, weights, shuffle=shuffle),
                lambda found: choice_log_mass(found, count, weights, replace=replace),
                lambda: all_tuples(range(count), size, np.int64, distinct=not replace),
            )
        return places if np.ndim(a) == 0 else _taken(a, places, axis)

    def permutation(self, x: Any, axis: int = 0) -> Any:
        """Draw an order, revealed as it is drawn."""
        if np.ndim(x) == 0:
            return self._order(int(values_of(x)))
        return _taken(x, self._order(np.shape(x)[axis]), axis)

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Shuffle in place, in an order that is revealed."""
        order = self._order(np.shape(x)[axis] if isinstance(x, np.ndarray) else len(x))
        if isinstance(x, np.ndarray):
            x[...] = np.take(x, order, axis=axis)
        else:
            x[:] = [x[place] for place in order]

    def among(self, name: str, values: Sequence[Any], masses: FloatArray) -> Any:
        """Draw one of the values, revealed as it is drawn."""
        listed = list(values)

        def log_mass(found: Any) -> float:
            mass = math.fsum(m for v, m in zip(listed, masses, strict=True) if v == found)
            return math.log(mass) if mass > 0 else -math.inf

        return self._reveal(
            name,
            lambda: listed[int(self.source.choice(len(listed), p=masses))],
            log_mass,
            lambda: list(dict.fromkeys(listed)),
        )

    def _reveal(self, *parts: Any) -> Any:
        return self.path.choose(RevealedDraw(*parts))

    def _order(self, count: int) -> Any:
        return self._reveal(
            "permutation",
            lambda: self.source.permutation(count),
            lambda found: -math.lgamma(len(found) + 1) if len(found) == count else -math.inf,
            lambda: all_tuples(range(count), count, np.int64, distinct=True),
        )

    def reveal_other(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Reveal a draw of a law that is not followed, for parameters that are the same."""
        plain, keywords = values_of(args), values_in(kwargs)
        method: Any = getattr(self.source, name)
        key = pickle.dumps((plain, keywords))
        self.path.outside.setdefault(name, target_line())
        return self._reveal(
            name, lambda: method(*plain, **keywords), lambda _: 0.0, no_options, key
        )


def _taken(a: Any, places: Any, axis: int) -> Any:
    """Return elements; of traced ones too."""
    if isinstance(a, np.ndarray):
        return np.take(a, places, axis=axis)
    if next(traced_in(a), None) is not None:
        return a[int(places)] if np.ndim(places) == 0 else traced_array(a)[places]
    return np.take(np.asarray(a), places, axis=axis)


_F = TypeVar("_F", bound=Callable[..., Any])
_RECORDER: ContextVar[RecordingGenerator | None] = ContextVar("recorder", default=None)


@contextmanager
def recording(rng: RecordingGenerator) -> Generator[None]:
    """Let primitives draw by a recording generator."""
    before = _RECORDER.set(rng)
    try:
        yield
    finally:
        _RECORDER.reset(before)


def primitive(*, law: Callable[..., Any]) -> Callable[[_F], _F]:
    """Declare the law of a function that draws its own noise.

    Parameters
    ----------
    law : callable
        A function that takes the arguments of the decorated function and returns the law of its
        result: a frozen distribution of ``scipy.stats``, or a mapping of values to probabilities.

    Returns
    -------
    decorator : callable
        A decorator that changes the function only within traces.

    Examples
    --------
    >>> from scipy import stats
    >>> import dpcp_audit as dp
    >>> @dp.primitive(law=lambda value, scale: stats.laplace(value, scale))
    ... def secure_laplace(value, scale):
    ...     raise NotImplementedError("drawn by a chip")
    >>> def noisy_sum(x):
    ...     return secure_laplace(sum(x), 2.0)
    >>> dp.trace(noisy_sum, [0, 1], [0, 0], draws=50).epsilon()  # doctest: +ELLIPSIS
    0.5...
    """
    if not callable(law):
        raise UsageError(
            f"law must be callable, got {shown(law, 80)}", hint="help(dpcp_audit.primitive) has one"
        )

    def decorate(function: _F) -> _F:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            recorder = _RECORDER.get()
            if recorder is None:
                return function(*args, **kwargs)
            return drawn(recorder, function.__name__, law(*args, **kwargs))

        return cast("_F", call)

    return decorate


def drawn(recorder: RecordingGenerator, name: str, law: Any) -> Any:
    """Return a draw of a declared law: a traced number, or a value that is revealed."""
    if isinstance(law, Mapping):
        return _chosen(recorder, name, cast("Mapping[Any, float]", law))
    return recorder.additive(name, *described(law))


def _chosen(recorder: RecordingGenerator, name: str, law: Mapping[Any, float]) -> Any:
    values, masses = list(law), np.array(list(law.values()), dtype=np.float64)
    total = math.fsum(masses)
    if not values or (masses < 0).any() or not math.isclose(total, 1, abs_tol=1e-9):
        raise ValueError(f"law must be probabilities that sum to 1, got a sum of {total!r}")
    return recorder.among(name, values, masses / total)


_Generator = np.random.Generator
_ADDITIVE: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "logistic": ("logistic", (), ("loc", "scale")),
    "standard_cauchy": ("cauchy", (), ()),
    "standard_t": ("t", ("df",), ("df",)),
    "standard_gamma": ("gamma", ("shape",), ("shape",)),
    "gamma": ("gamma", ("shape",), ("shape", "scale")),
    "chisquare": ("chi2", ("df",), ("df",)),
    "weibull": ("weibull_min", ("a",), ("a",)),
    "rayleigh": ("rayleigh", (), ("scale",)),
    "beta": ("beta", ("a", "b"), ("a", "b")),
}
"""Methods that draw ``loc + scale·Z`` with a law of SciPy: its shapes, and all parameters."""


class RecordingGenerator(_RevealingGenerator):
    """A generator that hands traced numbers to a path.

    Parameters
    ----------
    path : PathRun
        The run that its draws belong to.
    source : Generator
        The generator that draws; its stream is that of an untraced run.
    """

    def integers(self, low: Any, high: Any = None, size: Any = None, *args: Any, **kw: Any) -> Any:
        """Draw whole numbers; one of two is a coin where noise is kept."""
        first, stop = (0, low) if high is None else (low, high)
        plain = not args and not kw and is_plain(first) and is_plain(stop)
        if not self.path.unread or not plain or stop != first + 2:
            return super().integers(low, high, size, *args, **kw)
        sample = partial(self.source.integers, low, high, size)
        return self._coins("integers", sample, first, 1.0, size)

    def choice(self, a: Any, size: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Draw elements; one of a number and its negative is a coin where noise is kept."""
        if not self.path.unread or args or kwargs or not _is_opposite(a):
            return super().choice(a, size, *args, **kwargs)
        sample = partial(self.source.choice, a, size)
        return self._coins("choice", sample, float(a[0]), float(a[1] - a[0]), size)

    def _coins(
        self, name: str, sample: Callable[[], Any], low: float, width: float, size: Any
    ) -> Any:
        return self._numbers(name, sample, drawn_shape((), size), lambda: ([COIN], low, width))

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Draw from N(loc, scale²)."""
        return self._shifted("normal", draws.NORMAL, loc, scale, size)

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Draw from a Laplace law."""
        return self._shifted("laplace", draws.LAPLACE, loc, scale, size)

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Draw from a Gumbel law."""
        return self._shifted("gumbel", draws.GUMBEL, loc, scale, size)

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        """Draw from an exponential law."""
        scale = values_of(scale)
        return self._numbers(
            "exponential",
            lambda: self.source.exponential(scale, size),
            drawn_shape((scale,), size),
            lambda: ([draws.EXPONENTIAL], 0.0, scale),
        )

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        """Draw uniformly between two numbers."""
        low, high = values_of(low), values_of(high)
        width = np.subtract(high, low) if np.ndim(low) or np.ndim(high) else high - low
        return self._numbers(
            "uniform",
            lambda: self.source.uniform(low, high, size),
            drawn_shape((low, high), size),
            lambda: ([draws.UNIFORM], low, width),
        )

    def standard_normal(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        """Draw from N(0, 1)."""
        return self._standard("standard_normal", draws.NORMAL, size, dtype, out)

    def standard_exponential(
        self, size: Any = None, dtype: Any = np.float64, method: Any = "zig", out: Any = None
    ) -> Any:
        """Draw from the exponential law of mean 1."""
        return self._standard(
            "standard_exponential", draws.EXPONENTIAL, size, dtype, out, method=method
        )

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        """Draw uniformly from [0, 1)."""
        return self._standard("random", draws.UNIFORM, size, dtype, out)

    def geometric(self, p: Any, size: Any = None) -> Any:
        """Draw the number of trials until a success."""
        return self._counted("geometric", (p,), size)

    def poisson(self, lam: Any = 1.0, size: Any = None) -> Any:
        """Draw from a Poisson law."""
        return self._counted("poisson", (lam,), size)

    def binomial(self, n: Any, p: Any, size: Any = None) -> Any:
        """Draw the number of successes among n trials."""
        return self._counted("binomial", (n, p), size)

    def spawn(self, n_children: int) -> list[Any]:
        """Return recording generators of the same path."""
        return [RecordingGenerator(self.path, each) for each in self.source.spawn(n_children)]

    @property
    def bit_generator(self) -> Any:
        """Refuse: what is drawn from the bits themselves is recorded nowhere."""
        raise UnfollowableError("the generator's own bits are taken", target_line())

    _bit_generator = bit_generator

    def __str__(self) -> str:
        return "Generator(recorded)"

    def __reduce__(self) -> Any:
        raise UnfollowableError("the generator is copied or sent elsewhere", target_line())

    def __getstate__(self) -> Any:
        raise UnfollowableError("the state of the generator is taken", target_line())

    def _shifted(self, name: str, law: NoiseLaw, loc: Any, scale: Any, size: Any) -> Any:
        """Draw loc + scale·Z; a noisy location stays traced."""
        scale = values_of(scale)
        noisy = next(traced_in(loc), None) is not None
        centre = 0.0 if noisy else loc
        shape = drawn_shape((loc, scale), size)
        method: Any = getattr(self.source, name)
        drawn = self._numbers(
            name,
            lambda: method(centre, scale, shape if noisy else size),
            shape,
            lambda: ([law], centre, scale),
        )
        return loc + drawn if noisy else drawn

    def _standard(
        self, name: str, law: NoiseLaw, size: Any, dtype: Any, out: Any, **others: Any
    ) -> Any:
        method: Any = getattr(self.source, name)
        shape = drawn_shape((), size if out is None else out.shape)
        drawn = self._numbers(
            name, lambda: method(shape, dtype=dtype, **others), shape, lambda: ([law], 0.0, 1.0)
        )
        if out is None:
            return drawn
        out[...] = values_of(drawn)
        return out

    def _counted(self, name: str, parameters: tuple[Any, ...], size: Any) -> Any:
        """Draw whole numbers that are added to data, such as geometric noise."""
        plain = tuple(values_of(each) for each in parameters)
        method: Any = getattr(self.source, name)
        shape = drawn_shape(plain, size)
        listed = [listed_values(value, shape) for value in plain]

        def law() -> Any:
            return [draws.counted_law(name, *each) for each in zip(*listed, strict=True)], 0.0, 1.0

        return self._numbers(name, lambda: method(*plain, size), shape, law)

    def _numbers(
        self,
        name: str,
        sample: Callable[[], Any],
        shape: tuple[int, ...] | None,
        described: Callable[[], tuple[Any, Any, Any]],
    ) -> Any:
        """Return a traced number, or an array of them."""
        values = sample() if self.path.live else undrawn(shape)
        law, loc, scale = described()
        line = target_line()
        count = 1 if shape is None else math.prod(shape)
        if count > 1 and self._by_arrays(law, scale):
            standard = np.ravel((values - loc) / scale)
            made = self.path.new_draws(law[0], name, line, standard)
            return NoisyArray.drawn(self.path, made, values, loc, scale)
        if shape is None:
            return self._one(name, (law[0], values, float(loc), float(scale)), line)
        parts = zip(
            law if len(law) == count else law * count,
            np.ravel(values).tolist(),
            listed_values(loc, shape),
            listed_values(scale, shape),
            strict=True,
        )
        numbers = np.fromiter((self._one(name, part, line) for part in parts), object, count)
        return traced_array(numbers.reshape(shape))

    def _by_arrays(self, law: list[NoiseLaw], scale: Any) -> bool:
        known = self.path.by_arrays and not self.path.unread and not self.path.closed
        return bool(known and len(law) == 1 and not law[0].discrete and np.all(scale))

    def _one(self, name: str, part: tuple[NoiseLaw, Any, float, float], line: Line) -> Any:
        law, value, loc, scale = part
        if scale == 0:
            self.path.silent.add(line)
            return loc
        draw = self.path.new_draw(law, name, line, (value - loc) / scale)
        return Traced(self.path, value, loc, {draw: scale}, pure=True)

    def additive(self, name: str, law: NoiseLaw, loc: float, scale: float) -> Any:
        """Draw loc + scale·Z of any law."""
        return self._numbers(
            name, lambda: loc + scale * law.drawn(self.source), None, lambda: ([law], loc, scale)
        )

    def family(self, name: str, family: str, shapes: tuple[str, ...], given: dict[str, Any]) -> Any:
        """Draw loc + scale·Z of a law of SciPy; of arrays of parameters it is revealed."""
        size = given.pop("size", None)
        if not all(map(is_plain, given.values())):
            return self.reveal_other(name, (), given | {"size": size})
        law = scipy_law(family, tuple(float(given[each]) for each in shapes))
        method: Any = getattr(self.source, name)
        return self._numbers(
            name,
            lambda: method(**given, size=size),
            drawn_shape((), size),
            lambda: ([law], given.get("loc", 0.0), given.get("scale", 1.0)),
        )

    def multivariate_normal(
        self, mean: Any, cov: Any, size: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        """Draw a normal vector: followed where its coordinates are independent."""
        centre, spread = np.asarray(values_of(mean)), np.asarray(values_of(cov))
        if size is not None or np.count_nonzero(spread - np.diag(np.diagonal(spread))):
            return self.reveal_other("multivariate_normal", (centre, spread, size, *args), kwargs)
        return self._numbers(
            "multivariate_normal",
            lambda: self.source.multivariate_normal(centre, spread, size, *args, **kwargs),
            centre.shape,
            lambda: ([draws.NORMAL], centre, np.sqrt(np.diagonal(spread))),
        )


def _is_opposite(values: Any) -> bool:
    """Return True of a number and its negative."""
    return np.shape(values) == (2,) and all(map(is_plain, values)) and 0 != values[0] == -values[1]


def _adding(
    name: str, family: str, shapes: tuple[str, ...], parameters: tuple[str, ...]
) -> Callable[..., Any]:
    def draw(self: RecordingGenerator, *args: Any, **kwargs: Any) -> Any:
        given = dict(zip((*parameters, "size"), args, strict=False)) | kwargs
        if given.keys() - {*parameters, "size"}:
            return self.reveal_other(name, args, kwargs)
        return self.family(name, family, shapes, given)

    draw.__name__ = name
    draw.__doc__ = f"NoiseDraw by ``{name}``."
    return draw


for _name, _described in _ADDITIVE.items():
    setattr(RecordingGenerator, _name, _adding(_name, *_described))


def _revealing(name: str) -> Callable[..., Any]:
    def draw(self: RecordingGenerator, *args: Any, **kwargs: Any) -> Any:
        return self.reveal_other(name, args, kwargs)

    draw.__name__ = name
    draw.__doc__ = f"NoiseDraw by ``{name}``; the draw is revealed."
    return draw


_FOLLOWED = {*vars(RecordingGenerator), *vars(_RevealingGenerator)}
for _name in dir(_Generator):
    if not _name.startswith("_") and _name not in _FOLLOWED:
        setattr(RecordingGenerator, _name, _revealing(_name))
