# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownParameterType=false, reportIncompatibleMethodOverride=false
"""A NumPy generator whose draws are traced numbers.

Additive noise is followed as ``loc + scale·Z``. Indices, choices and permutations are revealed as
they are made, with their probability. Any other draw is revealed too, and is good for both inputs
only where its parameters are the same.
"""

from __future__ import annotations

import math
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.tracing import noise_laws
from dpcp_audit.tracing.noise_laws import CategoricalLaw
from dpcp_audit.tracing.observations import SEED
from dpcp_audit.tracing.path_runs import RevealedDraw
from dpcp_audit.tracing.scipy_laws import scipy_law
from dpcp_audit.tracing.source_lines import target_line
from dpcp_audit.tracing.step_numbers import StepNumber
from dpcp_audit.tracing.trace_errors import NotFiniteError, UnfollowableError
from dpcp_audit.tracing.traced_arrays import traced_array, traced_in, values_in, values_of
from dpcp_audit.tracing.traced_numbers import Traced, is_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpcp_audit._types import FloatArray
    from dpcp_audit.tracing.draws import NoiseDraw
    from dpcp_audit.tracing.noise_laws import NoiseLaw
    from dpcp_audit.tracing.path_runs import PathRun
    from dpcp_audit.tracing.trace_errors import Line

_Generator = np.random.Generator
_MANY_SEEDS = 2**31
"""Whole numbers below at least so many may seed another generator."""

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


class RecordingGenerator(_Generator):
    """A generator that hands traced numbers to a path.

    Parameters
    ----------
    path : PathRun
        The run that its draws belong to.
    source : Generator
        What draws; its stream is that of an untraced run.
    """

    def __init__(self, path: PathRun, source: np.random.Generator) -> None:
        super().__init__(source.bit_generator)
        self.path = path
        self.source = source

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """NoiseDraw from N(loc, scale²)."""
        return self._shifted("normal", noise_laws.NORMAL, loc, scale, size)

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """NoiseDraw from a Laplace law."""
        return self._shifted("laplace", noise_laws.LAPLACE, loc, scale, size)

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """NoiseDraw from a Gumbel law."""
        return self._shifted("gumbel", noise_laws.GUMBEL, loc, scale, size)

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        """NoiseDraw from an exponential law."""
        scale = values_of(scale)
        return self._numbers(
            "exponential",
            lambda: self.source.exponential(scale, size),
            _shape((scale,), size),
            lambda: ([noise_laws.EXPONENTIAL], 0.0, scale),
        )

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        """NoiseDraw uniformly between two numbers."""
        low, high = values_of(low), values_of(high)
        width = np.subtract(high, low) if np.ndim(low) or np.ndim(high) else high - low
        return self._numbers(
            "uniform",
            lambda: self.source.uniform(low, high, size),
            _shape((low, high), size),
            lambda: ([noise_laws.UNIFORM], low, width),
        )

    def standard_normal(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        """NoiseDraw from N(0, 1)."""
        return self._standard("standard_normal", noise_laws.NORMAL, size, dtype, out)

    def standard_exponential(
        self, size: Any = None, dtype: Any = np.float64, method: Any = "zig", out: Any = None
    ) -> Any:
        """NoiseDraw from the exponential law of mean 1."""
        return self._standard(
            "standard_exponential", noise_laws.EXPONENTIAL, size, dtype, out, method=method
        )

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        """NoiseDraw uniformly from [0, 1)."""
        return self._standard("random", noise_laws.UNIFORM, size, dtype, out)

    def geometric(self, p: Any, size: Any = None) -> Any:
        """NoiseDraw the number of trials until a success."""
        return self._counted("geometric", noise_laws.GeometricLaw, (p,), size)

    def poisson(self, lam: Any = 1.0, size: Any = None) -> Any:
        """NoiseDraw from a PoissonLaw law."""
        return self._counted("poisson", noise_laws.PoissonLaw, (lam,), size)

    def binomial(self, n: Any, p: Any, size: Any = None) -> Any:
        """NoiseDraw the number of successes among n trials."""
        return self._counted("binomial", noise_laws.BinomialLaw, (n, p), size)

    def integers(
        self,
        low: Any,
        high: Any = None,
        size: Any = None,
        dtype: Any = np.int64,
        endpoint: Any = False,  # noqa: FBT002  (as NumPy has it)
    ) -> Any:
        """NoiseDraw whole numbers, revealed as they are drawn."""
        low, high = values_of(low), values_of(high)
        first, last = (0, low) if high is None else (low, high)
        if self.path.symbolic and np.ndim(first) == np.ndim(last) == 0:
            width = int(last) + bool(endpoint) - int(first)
            return first + self._picked("integers", width, None, size)
        if np.ndim(first) or np.ndim(last):
            return self.reveal_other(
                "integers", (low, high, size), {"dtype": dtype, "endpoint": endpoint}
            )
        stop = int(last) + bool(endpoint)
        count = max(1, stop - int(first))
        found = self._reveal(
            SEED if count >= _MANY_SEEDS else "integers",
            lambda: self.source.integers(low, high, size, dtype, endpoint),
            lambda found: _uniform_mass(found, int(first), stop, count),
            lambda: _tuples(range(int(first), stop), size, dtype),
        )
        if count >= _MANY_SEEDS:
            self.path.seeds.update(np.ravel(found).tolist())
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
        """NoiseDraw elements; their places are revealed as they are drawn."""
        count = int(values_of(a)) if np.ndim(a) == 0 else np.shape(a)[axis]
        weights = None if p is None else np.asarray(values_of(p), dtype=np.float64)
        if self.path.symbolic and replace and np.ndim(a) <= 1:
            listed = None if np.ndim(a) == 0 else np.asarray(a).tolist()
            return self._picked("choice", count, weights, size, listed)
        if not replace and weights is not None and size is not None:
            places = self.reveal_other(
                "choice", (count, size, replace, weights), {"shuffle": shuffle}
            )
        else:
            places = self._reveal(
                "choice",
                lambda: self.source.choice(count, size, replace, weights, shuffle=shuffle),
                lambda found: _choice_mass(found, count, weights, replace=replace),
                lambda: _tuples(range(count), size, np.int64, distinct=not replace),
            )
        return places if np.ndim(a) == 0 else _taken(a, places, axis)

    def permutation(self, x: Any, axis: int = 0) -> Any:
        """NoiseDraw an order, revealed as it is drawn."""
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

    def spawn(self, n_children: int) -> list[Any]:
        """Return recording generators of the same path."""
        return [RecordingGenerator(self.path, each) for each in self.source.spawn(n_children)]

    def __reduce__(self) -> Any:
        raise UnfollowableError("the generator is copied or sent elsewhere", target_line())

    def _shifted(self, name: str, law: NoiseLaw, loc: Any, scale: Any, size: Any) -> Any:
        """NoiseDraw loc + scale·Z; a noisy location stays traced."""
        scale = values_of(scale)
        noisy = next(traced_in(loc), None) is not None
        centre = 0.0 if noisy else loc
        shape = _shape((loc, scale), size)
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
        shape = _shape((), size if out is None else out.shape)
        drawn = self._numbers(
            name, lambda: method(shape, dtype=dtype, **others), shape, lambda: ([law], 0.0, 1.0)
        )
        if out is None:
            return drawn
        out[...] = values_of(drawn)
        return out

    def _counted(
        self, name: str, make: Callable[..., NoiseLaw], parameters: tuple[Any, ...], size: Any
    ) -> Any:
        """NoiseDraw whole numbers that are added to data, such as geometric noise."""
        plain = tuple(values_of(each) for each in parameters)
        method: Any = getattr(self.source, name)
        shape = _shape(plain, size)
        listed = [_each(value, shape) for value in plain]

        def law() -> Any:
            return [make(*each) for each in zip(*listed, strict=True)], 0.0, 1.0

        return self._numbers(name, lambda: method(*plain, size), shape, law)

    def _numbers(
        self,
        name: str,
        sample: Callable[[], Any],
        shape: tuple[int, ...] | None,
        described: Callable[[], tuple[Any, Any, Any]],
    ) -> Any:
        """Return a traced number, or an array of them."""
        values = sample() if self.path.live else _nothing(shape)
        law, loc, scale = described()
        line = target_line()
        if shape is None:
            return self._one(name, (law[0], values, float(loc), float(scale)), line)
        count = math.prod(shape)
        parts = zip(
            law if len(law) == count else law * count,
            np.ravel(values).tolist(),
            _each(loc, shape),
            _each(scale, shape),
            strict=True,
        )
        numbers = np.fromiter((self._one(name, part, line) for part in parts), object, count)
        return traced_array(numbers.reshape(shape))

    def _one(self, name: str, part: tuple[NoiseLaw, Any, float, float], line: Line) -> Any:
        law, value, loc, scale = part
        if scale == 0:
            self.path.silent.add(line)
            return loc
        draw = self.path.new_draw(law, name, line, (value - loc) / scale)
        values = law.values() if self.path.symbolic else None
        if values is not None:
            return _stepping(draw, [loc + scale * each for each in values.tolist()])
        return Traced(self.path, value, loc, {draw: scale}, pure=True)

    def additive(self, name: str, law: NoiseLaw, loc: float, scale: float) -> Any:
        """NoiseDraw loc + scale·Z of any law."""
        return self._numbers(
            name, lambda: loc + scale * law.drawn(self.source), None, lambda: ([law], loc, scale)
        )

    def family(self, name: str, family: str, shapes: tuple[str, ...], given: dict[str, Any]) -> Any:
        """NoiseDraw loc + scale·Z of a law of SciPy; of arrays of parameters it is revealed."""
        size = given.pop("size", None)
        if not all(map(is_plain, given.values())):
            return self.reveal_other(name, (), given | {"size": size})
        law = scipy_law(family, tuple(float(given[each]) for each in shapes))
        method: Any = getattr(self.source, name)
        return self._numbers(
            name,
            lambda: method(**given, size=size),
            _shape((), size),
            lambda: ([law], given.get("loc", 0.0), given.get("scale", 1.0)),
        )

    def multivariate_normal(
        self, mean: Any, cov: Any, size: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        """NoiseDraw a normal vector: followed where its coordinates are independent."""
        centre, spread = np.asarray(values_of(mean)), np.asarray(values_of(cov))
        if size is not None or np.count_nonzero(spread - np.diag(np.diagonal(spread))):
            return self.reveal_other("multivariate_normal", (centre, spread, size, *args), kwargs)
        return self._numbers(
            "multivariate_normal",
            lambda: self.source.multivariate_normal(centre, spread, size, *args, **kwargs),
            centre.shape,
            lambda: ([noise_laws.NORMAL], centre, np.sqrt(np.diagonal(spread))),
        )

    def among(self, name: str, values: Sequence[Any], masses: FloatArray) -> Any:
        """NoiseDraw one of the values, revealed as it is drawn."""
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

    def _picked(
        self,
        name: str,
        count: int,
        weights: FloatArray | None,
        size: Any,
        values: Sequence[Any] | None = None,
    ) -> Any:
        """Return independent choices, each for all that may be drawn."""
        if count > _MOST:
            return _no_options()
        masses = np.full(count, 1 / count) if weights is None else weights
        shape, line = _shape((), size), target_line()
        law = CategoricalLaw(tuple((masses / masses.sum()).tolist()))
        listed = range(len(masses)) if values is None else values
        cuts = tuple(k + 0.5 for k in range(len(masses) - 1))
        numbers = np.empty(shape or (), dtype=object)
        for place in np.ndindex(numbers.shape):
            draw = self.path.new_draw(law, name, line)
            numbers[place] = StepNumber(draw, cuts, tuple(listed))
        return numbers[()] if shape is None else traced_array(numbers)

    def _order(self, count: int) -> Any:
        return self._reveal(
            "permutation",
            lambda: self.source.permutation(count),
            lambda found: -math.lgamma(len(found) + 1) if len(found) == count else -math.inf,
            lambda: _tuples(range(count), count, np.int64, distinct=True),
        )

    def reveal_other(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Reveal a draw of a law that is not followed, for parameters that are the same."""
        plain, keywords = values_of(args), values_in(kwargs)
        method: Any = getattr(self.source, name)
        key = pickle.dumps((plain, keywords))
        self.path.outside.setdefault(name, target_line())
        return self._reveal(
            name, lambda: method(*plain, **keywords), lambda _: 0.0, _no_options, key
        )


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


_FOLLOWED = frozenset(vars(RecordingGenerator)) | {"bit_generator"}
for _name in dir(_Generator):
    if not _name.startswith("_") and _name not in _FOLLOWED:
        setattr(RecordingGenerator, _name, _revealing(_name))


def _stepping(draw: NoiseDraw, values: Sequence[Any]) -> StepNumber:
    """Return a value for each whole number from 0, of a discrete draw."""
    plain = tuple(int(each) if float(each).is_integer() else each for each in values)
    return StepNumber(draw, tuple(place + 0.5 for place in range(len(plain) - 1)), plain)


def _no_options() -> list[Any]:
    raise NotFiniteError("what may be drawn is not finite, or too much", target_line())


def _shape(parameters: tuple[Any, ...], size: Any) -> tuple[int, ...] | None:
    """Return the shape of what is drawn, None of a number."""
    if size is None and all(is_plain(each) for each in parameters):
        return None
    if size is not None:
        return (int(size),) if np.ndim(size) == 0 else tuple(int(each) for each in size)
    shapes = [np.shape(each) for each in parameters]
    return np.broadcast_shapes(*shapes) if any(shapes) else None


def _nothing(shape: tuple[int, ...] | None) -> Any:
    """Return NaN, of that shape: a replay draws nothing."""
    return math.nan if shape is None else np.full(shape, math.nan)


def _each(value: Any, shape: tuple[int, ...] | None) -> list[Any]:
    if shape is None:
        return [value]
    if np.ndim(value) == 0:
        return [value] * math.prod(shape)
    return np.broadcast_to(np.asarray(value), shape).ravel().tolist()


def _taken(a: Any, places: Any, axis: int) -> Any:
    """Return elements; of traced ones too."""
    if isinstance(a, np.ndarray):
        return np.take(a, places, axis=axis)
    if next(traced_in(a), None) is not None:
        return a[int(places)] if np.ndim(places) == 0 else traced_array(a)[places]
    return np.take(np.asarray(a), places, axis=axis)


def _uniform_mass(found: Any, first: int, stop: int, count: int) -> float:
    values = np.asarray(found)
    if values.size and not (first <= values.min() and values.max() < stop):
        return -math.inf
    return -values.size * math.log(count)


def _choice_mass(found: Any, count: int, weights: Any, *, replace: bool) -> float:
    places = np.asarray(found)
    if places.size and places.max() >= count:
        return -math.inf
    if weights is not None:
        with np.errstate(divide="ignore"):
            return float(np.log(weights / weights.sum())[places].sum())
    if replace:
        return -places.size * math.log(count)
    return math.lgamma(count - places.size + 1) - math.lgamma(count + 1)


_MOST = 100_000


def _tuples(values: range, size: Any, dtype: Any, *, distinct: bool = False) -> list[Any]:
    """Return all that can be drawn, of any shape."""
    from itertools import permutations, product  # noqa: PLC0415

    if size is None:
        if len(values) > _MOST:
            return _no_options()
        return [np.dtype(dtype).type(each) for each in values]
    shape = (int(size),) if np.ndim(size) == 0 else tuple(size)
    count = math.prod(shape)
    total = math.perm(len(values), count) if distinct else len(values) ** count
    if total > _MOST:
        return _no_options()
    ways = permutations(values, count) if distinct else product(values, repeat=count)
    return [np.array(way, dtype=dtype).reshape(shape) for way in ways]
