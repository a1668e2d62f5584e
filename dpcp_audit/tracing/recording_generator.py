"""A NumPy generator whose draws are traced numbers, and noise of one's own whose law is declared.

Additive noise is followed as ``loc + scale·Z``; any other draw is revealed. A function whose law
is declared is called as it stands without a trace; in a trace its law is drawn from in its place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from dpcp_audit.tracing import noise_laws
from dpcp_audit.tracing.draws import UnfollowableError, target_line
from dpcp_audit.tracing.noise_laws import described, scipy_law
from dpcp_audit.tracing.revealing_generator import (
    RevealingGenerator,
    drawn_shape,
    listed_values,
    undrawn,
)
from dpcp_audit.tracing.traced_arrays import traced_array
from dpcp_audit.tracing.traced_numbers import Traced, is_plain, traced_in, values_of
from dpcp_audit.words.errors import UsageError
from dpcp_audit.words.plain import shown

if TYPE_CHECKING:
    from collections.abc import Generator

    from dpcp_audit.tracing.draws import Line
    from dpcp_audit.tracing.noise_laws import NoiseLaw


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
    """Declare the law of a function that draws noise in a way of its own.

    Parameters
    ----------
    law : callable
        It takes the arguments of the function and returns the law of the returned value: a frozen
        distribution of ``scipy.stats``, or a mapping of values to probabilities.

    Returns
    -------
    decorator : callable
        Outside of traces the function stays what it is.

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


# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownParameterType=false, reportIncompatibleMethodOverride=false


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


class RecordingGenerator(RevealingGenerator):
    """A generator that hands traced numbers to a path.

    Parameters
    ----------
    path : PathRun
        The run that its draws belong to.
    source : Generator
        What draws; its stream is that of an untraced run.
    """

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
            drawn_shape((scale,), size),
            lambda: ([noise_laws.EXPONENTIAL], 0.0, scale),
        )

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        """NoiseDraw uniformly between two numbers."""
        low, high = values_of(low), values_of(high)
        width = np.subtract(high, low) if np.ndim(low) or np.ndim(high) else high - low
        return self._numbers(
            "uniform",
            lambda: self.source.uniform(low, high, size),
            drawn_shape((low, high), size),
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
        """NoiseDraw loc + scale·Z; a noisy location stays traced."""
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

    def _counted(
        self, name: str, make: Callable[..., NoiseLaw], parameters: tuple[Any, ...], size: Any
    ) -> Any:
        """NoiseDraw whole numbers that are added to data, such as geometric noise."""
        plain = tuple(values_of(each) for each in parameters)
        method: Any = getattr(self.source, name)
        shape = drawn_shape(plain, size)
        listed = [listed_values(value, shape) for value in plain]

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
        values = sample() if self.path.live else undrawn(shape)
        law, loc, scale = described()
        line = target_line()
        if shape is None:
            return self._one(name, (law[0], values, float(loc), float(scale)), line)
        count = math.prod(shape)
        parts = zip(
            law if len(law) == count else law * count,
            np.ravel(values).tolist(),
            listed_values(loc, shape),
            listed_values(scale, shape),
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
            drawn_shape((), size),
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


_FOLLOWED = {*vars(RecordingGenerator), *vars(RevealingGenerator)}
for _name in dir(_Generator):
    if not _name.startswith("_") and _name not in _FOLLOWED:
        setattr(RecordingGenerator, _name, _revealing(_name))
