"""A draw of the target: its law, where it stands in the code, and what observations leave of it.

A draw is ``loc + scale·Z``. The laws of standard draws Z, in logs, are ours and those of SciPy: a
frozen distribution is taken apart into that form.

What the program is let to see of its noise is one entry of a path's transcript each. The following
of a path ends before its output in three cases, which are never confused.
"""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportPrivateUsage=false

from __future__ import annotations

import math
import operator
import os
import sys
from abc import ABC, abstractmethod
from builtins import max, min  # noqa: A004, UP029  (a followed call replaces them)
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import gammaln, log_ndtr, logsumexp

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from dpcp_audit.words.validate import FloatArray


_NEVER = -1e6
"""The log-probability of another trial, where the first one succeeds: not -inf, for 0·inf."""
_MANY = 1_000_000
"""The most values of a discrete law that are added up."""


class NoiseLaw(ABC):
    """The law of a standard draw.

    Attributes
    ----------
    name : str
        Name in NumPy's generators.
    discrete : bool
        True if Z is a whole number.
    spread : float
        A length over which the density changes: what a quadrature has to resolve.
    reach : tuple of float
        An interval outside of which the mass is below e^-700, or none.
    corners : tuple of float
        Places where the density jumps, besides 0.
    first : float or None
        The least Z of a law that code may count from 0 in its place.
    """

    name: ClassVar[str]
    discrete: ClassVar[bool] = False
    first: ClassVar[float | None] = None
    spread: ClassVar[float] = 1.0
    reach: ClassVar[tuple[float, float]] = (-700.0, 700.0)
    corners: ClassVar[tuple[float, ...]] = ()

    @abstractmethod
    def log_point(self, z: FloatArray) -> FloatArray:
        """Return the log-density at z; of a discrete law the log-mass."""

    @abstractmethod
    def log_interval(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return log P(low < Z < high); of a discrete law log P(low ≤ Z ≤ high), whole ends."""

    def drawn(self, rng: np.random.Generator) -> float:
        """Draw one Z."""
        return float(getattr(rng, self.name)())

    def values(self) -> FloatArray | None:
        """Return all values of a finite law, None of any other."""
        return None

    def support(self) -> tuple[float, float]:
        """Return an interval outside of which the mass is below e^-700, or none."""
        return self.reach


class _Normal(NoiseLaw):
    """N(0, 1)."""

    name = "normal"
    reach = (-38.0, 38.0)

    def log_point(self, z: FloatArray) -> FloatArray:
        return np.asarray(-z * z / 2 - 0.5 * math.log(2 * math.pi))

    def log_interval(self, low: FloatArray, high: FloatArray) -> FloatArray:
        above = low > 0
        first, last = np.where(above, -high, low), np.where(above, -low, high)
        return log_difference(log_ndtr(last), log_ndtr(first))


class _Laplace(NoiseLaw):
    """Density exp(−|z|)/2."""

    name = "laplace"

    def log_point(self, z: FloatArray) -> FloatArray:
        return np.asarray(-np.abs(z) - math.log(2))

    def log_interval(self, low: FloatArray, high: FloatArray) -> FloatArray:
        above = low > 0
        first, last = np.where(above, -high, low), np.where(above, -low, high)
        return log_difference(_laplace_below(last), _laplace_below(first))


class _Exponential(NoiseLaw):
    """Density exp(−z) on z ≥ 0."""

    name = "exponential"
    reach = (0.0, 700.0)

    def log_point(self, z: FloatArray) -> FloatArray:
        return np.where(z >= 0, -z, -np.inf)

    def log_interval(self, low: FloatArray, high: FloatArray) -> FloatArray:
        return log_difference(-np.maximum(low, 0.0), -np.maximum(high, 0.0))


class _Gumbel(NoiseLaw):
    """P(Z < z) = exp(−exp(−z))."""

    name = "gumbel"
    reach = (-6.6, 700.0)

    def log_point(self, z: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            return np.asarray(-z - np.exp(-z))

    def log_interval(self, low: FloatArray, high: FloatArray) -> FloatArray:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            gap = np.where(np.isposinf(low), 0.0, np.exp(-low) * -np.expm1(low - high))
            inside = -np.exp(-high) + np.log(-np.expm1(-gap))
            return np.where(high > low, inside, -np.inf)


class _Uniform(NoiseLaw):
    """Uniform on [0, 1)."""

    name = "uniform"
    spread = 0.25
    reach = (0.0, 1.0)
    corners = (1.0,)

    def log_point(self, z: FloatArray) -> FloatArray:
        return np.where((z >= 0) & (z <= 1), 0.0, -np.inf)

    def log_interval(self, low: FloatArray, high: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            inside = np.minimum(high, 1.0) - np.maximum(low, 0.0)
            return np.asarray(np.log(np.maximum(0.0, inside)))


@dataclass(frozen=True, slots=True)
class _Geometric(NoiseLaw):
    """P(Z = k) = (1 − p)^(k−1)·p for k = 1, 2, ..."""

    name: ClassVar[str] = "geometric"
    discrete: ClassVar[bool] = True
    first: ClassVar[float | None] = 1.0

    p: float

    def log_point(self, z: FloatArray) -> FloatArray:
        """Return the log-mass at z."""
        return np.where(z >= 1, (z - 1) * self._log_fails + math.log(self.p), -np.inf)

    def log_interval(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return log P(low ≤ Z ≤ high)."""
        first, last = np.maximum(low, 1.0) - 1, np.maximum(high, 0.0)
        return log_difference(first * self._log_fails, last * self._log_fails)

    def support(self) -> tuple[float, float]:
        """Return an interval that holds all but a mass of e^-700."""
        return 1.0, math.ceil(700 / -self._log_fails) + 1

    @property
    def _log_fails(self) -> float:
        return math.log1p(-self.p) if self.p < 1 else _NEVER


class _Counted(NoiseLaw):
    """A discrete law whose intervals are added up."""

    discrete = True

    def log_interval(self, low: FloatArray, high: FloatArray) -> FloatArray:
        first, last = self.support()
        pairs = zip(np.maximum(low, first), np.minimum(high, last), strict=True)
        return np.array([self._added(a, b) for a, b in pairs])

    def _added(self, low: float, high: float) -> float:
        if high < low:
            return -math.inf
        points = np.arange(low, min(high, low + _MANY) + 1)
        return float(logsumexp(self.log_point(points)))


@dataclass(frozen=True, slots=True)
class _Poisson(_Counted):
    """P(Z = k) = λ^k·e^−λ/k!."""

    name: ClassVar[str] = "poisson"

    rate: float

    def log_point(self, z: FloatArray) -> FloatArray:
        """Return the log-mass at z."""
        if self.rate == 0:
            return np.where(z == 0, 0.0, -np.inf)
        k = np.maximum(z, 0.0)
        return np.where(z >= 0, k * math.log(self.rate) - self.rate - gammaln(k + 1), -np.inf)

    def support(self) -> tuple[float, float]:
        """Return an interval that holds all but a mass of e^-700."""
        return 0.0, math.ceil(self.rate + 60 * math.sqrt(self.rate) + 800)


@dataclass(frozen=True, slots=True)
class _DiscreteGaussian(_Counted):
    """P(Z = k) ∝ exp(−k²/(2σ²)) (Canonne, Kamath and Steinke 2020)."""

    name: ClassVar[str] = "discrete gaussian"

    sigma: float

    def log_point(self, z: FloatArray) -> FloatArray:
        """Return the log-mass at z."""
        first, last = self.support()
        exponents = -(np.arange(first, last + 1) ** 2) / (2 * self.sigma**2)
        return np.asarray(-(z * z) / (2 * self.sigma**2) - float(logsumexp(exponents)))

    def drawn(self, rng: np.random.Generator) -> int:
        """Draw one Z."""
        first, last = self.support()
        values = np.arange(first, last + 1)
        return int(rng.choice(values, p=np.exp(self.log_point(values))))

    def support(self) -> tuple[float, float]:
        """Return an interval that holds all but a mass of e^-700."""
        end = float(math.ceil(38 * self.sigma) + 1)
        return -end, end


@dataclass(frozen=True, slots=True)
class _Binomial(_Counted):
    """The number of successes among n trials."""

    name: ClassVar[str] = "binomial"

    n: int
    p: float

    def log_point(self, z: FloatArray) -> FloatArray:
        """Return the log-mass at z."""
        inside = (z >= 0) & (z <= self.n)
        k = np.clip(z, 0, self.n)
        ways = gammaln(self.n + 1) - gammaln(k + 1) - gammaln(self.n - k + 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            hits = np.where(k > 0, k * np.log(self.p), 0.0)
            misses = np.where(k < self.n, (self.n - k) * np.log1p(-self.p), 0.0)
        return np.where(inside, ways + hits + misses, -np.inf)

    def values(self) -> FloatArray:
        """Return 0 to n."""
        return np.arange(self.n + 1.0)

    def support(self) -> tuple[float, float]:
        """Return 0 and n."""
        return 0.0, float(self.n)


@dataclass(frozen=True, slots=True)
class _Categorical(_Counted):
    """P(Z = k) for k = 0, 1, ..."""

    name: ClassVar[str] = "choice"

    masses: tuple[float, ...]

    def log_point(self, z: FloatArray) -> FloatArray:
        """Return the log-mass at z."""
        last = len(self.masses) - 1
        inside = (z >= 0) & (z <= last)
        places = np.clip(z, 0, last).astype(np.intp)
        with np.errstate(divide="ignore"):
            return np.where(inside, np.log(np.array(self.masses)[places]), -np.inf)

    def values(self) -> FloatArray:
        """Return all places."""
        return np.arange(float(len(self.masses)))

    def support(self) -> tuple[float, float]:
        """Return the first and the last place."""
        return 0.0, len(self.masses) - 1.0


NORMAL, LAPLACE, EXPONENTIAL, GUMBEL, UNIFORM = (
    _Normal(),
    _Laplace(),
    _Exponential(),
    _Gumbel(),
    _Uniform(),
)


_COUNTED: dict[str, Callable[..., NoiseLaw]] = {
    each.name: each for each in (_Geometric, _Poisson, _DiscreteGaussian, _Binomial, _Categorical)
}


def counted_law(name: str, *parameters: Any) -> NoiseLaw:
    """Return a law of whole numbers by the name of what draws it, with its parameters.

    Examples
    --------
    >>> counted_law("binomial", 3, 0.5).values().tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
    return _COUNTED[name](*parameters)


def _laplace_below(z: FloatArray) -> FloatArray:
    """Return log P(Z < z) of a Laplace draw."""
    return np.where(z < 0, z - math.log(2), np.log1p(-np.exp(-np.abs(z)) / 2))


def log_difference(larger: FloatArray, smaller: FloatArray) -> FloatArray:
    """Return log(e^larger − e^smaller), −∞ where nothing is left."""
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = np.where(np.isneginf(smaller), -np.inf, smaller - larger)
        inside = np.where(gap > -math.log(2), np.log(-np.expm1(gap)), np.log1p(-np.exp(gap)))
        return np.where(gap < 0, larger + inside, -np.inf)


_OWN: dict[str, NoiseLaw] = {
    "norm": NORMAL,
    "laplace": LAPLACE,
    "expon": EXPONENTIAL,
    "gumbel_r": GUMBEL,
    "uniform": UNIFORM,
}


@dataclass(frozen=True, slots=True)
class _ScipyLaw(NoiseLaw):
    """A distribution of ``scipy.stats`` at ``loc`` 0 and ``scale`` 1.

    Parameters
    ----------
    family : str
        Name of the family in SciPy.
    shapes : tuple of float
        Shape parameters of the family.
    """

    family: str
    shapes: tuple[float, ...] = ()

    @property
    def discrete(self) -> bool:  # type: ignore[override]
        """True if it is one of whole numbers."""
        return hasattr(_frozen(self.family, self.shapes).dist, "pmf")

    @property
    def spread(self) -> float:  # type: ignore[override]
        """A quarter of the distance between its quartiles."""
        return _sizes(self.family, self.shapes)[0]

    @property
    def reach(self) -> tuple[float, float]:  # type: ignore[override]
        """An interval that holds all but a mass of about 1e-15."""
        return _sizes(self.family, self.shapes)[1:]

    def drawn(self, rng: np.random.Generator) -> Any:
        """Draw one Z."""
        return np.asarray(_frozen(self.family, self.shapes).rvs(random_state=rng)).item()

    def log_point(self, z: FloatArray) -> FloatArray:
        """Return the log-density at z, or the log-mass."""
        law = _frozen(self.family, self.shapes)
        with np.errstate(all="ignore"):
            return np.asarray(law.logpmf(z) if self.discrete else law.logpdf(z))

    def log_interval(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return log P(low < Z < high), of whole numbers with both ends."""
        law, first = _frozen(self.family, self.shapes), np.asarray(low) - self.discrete
        above = first > law.median()
        with np.errstate(all="ignore"):
            upper: Any = np.where(above, law.logsf(first), law.logcdf(high))
            lower: Any = np.where(above, law.logsf(high), law.logcdf(first))
            return np.where(high > first, log_difference(upper, lower), -np.inf)


@cache
def _frozen(family: str, shapes: tuple[float, ...]) -> Any:
    from scipy import stats  # noqa: PLC0415  (slow to import)

    return getattr(stats, family)(*shapes)


@cache
def _sizes(family: str, shapes: tuple[float, ...]) -> tuple[float, float, float]:
    """Return the spread and both ends of the reach."""
    law = _frozen(family, shapes)
    first, last = law.support()
    quartiles = law.ppf([0.25, 0.75])
    low, high = max(first, law.ppf(1e-15)), min(last, law.isf(1e-15))
    return max(float(quartiles[1] - quartiles[0]) / 4, 1e-6), float(low), float(high)


def described(frozen: Any) -> tuple[NoiseLaw, float, float]:
    """Return the law of Z, ``loc`` and ``scale`` of a frozen distribution of SciPy.

    Raises
    ------
    ValueError
        If it is not one, or its parameters are not finite numbers.
    """
    dist = getattr(frozen, "dist", None)
    if dist is None or not hasattr(dist, "_parse_args"):
        raise ValueError(f"law must be a frozen distribution of scipy.stats, got {frozen!r}")
    shapes, loc, scale = dist._parse_args(*frozen.args, **frozen.kwds)  # noqa: SLF001
    numbers = [float(each) for each in (*shapes, loc, scale)]
    if not all(map(math.isfinite, numbers)) or scale < 0:
        raise ValueError(f"law must have finite parameters and scale >= 0, got {numbers}")
    *shapes, loc, scale = numbers
    return scipy_law(dist.name, tuple(shapes)), loc, scale


def scipy_law(family: str, shapes: tuple[float, ...] = ()) -> NoiseLaw:
    """Return the law of that name in ``scipy.stats``; our own where there is one."""
    return _OWN.get(family) or _ScipyLaw(family, shapes)


SEED = "seed"
"""The name of a draw of a whole number among so many that it may seed another generator."""


class Seen(StrEnum):
    """A kind of observation."""

    BIT = "bit"
    """The comparison of two numbers."""
    VALUE = "value"
    """The value of a noisy number."""
    SETTLED = "settled"
    """The value of a number that earlier observations settle."""
    PEAK = "peak"
    """The index of the largest or smallest of many numbers."""
    CHOICE = "choice"
    """A draw that was revealed as it was made, such as an index."""


class Observation(NamedTuple):
    """An entry of a transcript; a tuple, since a path makes thousands of them.

    Parameters
    ----------
    kind : Seen
        The kind of observation.
    result : object
        The bit, the value, the index or the choice.
    draws : tuple of int
        The draws that it speaks of.
    line : tuple
        Line of the target's code.
    offset : float or ndarray
        For a bit or value, the part without noise; for a vector, the parts of its values.
    scale : float
        For a bit or value of one draw, the size of its coefficient. For a settled value, the
        largest number that it was computed from.
    at_return : bool
        True if the value is what the target returned.
    key : object
        For a choice, its parameters, where its probability is not known.
    """

    kind: Seen
    result: Any
    draws: Any
    line: Line
    offset: Any = 0.0
    scale: Any = 0.0
    at_return: bool = False
    key: Any = None

    def with_result(self, result: Any) -> Observation:
        """Return the observation with what was seen."""
        return Observation(self[0], result, *self[2:])

    @property
    def is_whole(self) -> bool:
        """True if it speaks of an array of draws, one by one: its fields are arrays too."""
        return isinstance(self.draws, np.ndarray)

    def one_by_one(self) -> list[Observation]:
        """Return the observations of an array, of one draw each."""
        if not self.is_whole:
            return [self]
        columns: Any = self.result, self.draws, self.offset, self.scale
        return [
            self._replace(result=result, draws=(draw,), offset=offset, scale=scale)
            for result, draw, offset, scale in zip(*(c.tolist() for c in columns), strict=True)
        ]


_STANDARD = Path(os.__file__).parent
_THEIRS = ("secrets.py", "uuid.py", "pathlib.py", "heapq.py", "bisect.py")
"""Modules that draw or compare for their callers."""
_TRACER = str(Path(__file__).parent)
_INTERNAL = (
    _TRACER,
    str(Path(np.__file__).parent),
    *(str(_STANDARD / name) for name in _THEIRS),
)


@cache
def is_library(file: str) -> bool:
    """Return True if a file belongs to Python itself, or to an installed package."""
    return "-packages" in file or _is_internal(file) or file.startswith(str(_STANDARD))


@cache
def _is_internal(file: str) -> bool:
    """Return True if a file belongs to the tracer, to NumPy or to the import machinery."""
    return file.startswith((*_INTERNAL, "<frozen")) or file.endswith(
        ("/random.py", "/copy.py", ".pyx")
    )


def target_line() -> tuple[str, int]:
    """Return the file and the line of the innermost frame of the user's own code.

    Where the target is a library's function, of the innermost frame that is not the tracer's.
    """
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001  (quicker than the inspect module)
    while frame is not None and _is_internal(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return "", 0
    caller: FrameType | None = frame
    while caller is not None and not caller.f_code.co_filename.startswith(_TRACER):
        if not is_library(caller.f_code.co_filename):
            return caller.f_code.co_filename, caller.f_lineno
        caller = caller.f_back
    return frame.f_code.co_filename, frame.f_lineno


def asked_by_target() -> bool:
    """Return True if the function that asks this was called by code that is followed.

    Python's own modules, as that of log messages, do not count as such.
    """
    file = sys._getframe(2).f_code.co_filename  # noqa: SLF001  (of the caller's caller)
    return is_target(file) and (not file.startswith(str(_STANDARD)) or "-packages" in file)


def is_target(file: str) -> bool:
    """Return True if a file is code that is followed."""
    return not _is_internal(file)


Line = tuple[str, int]
"""A file and a line of it."""


class TraceEnd(BaseException):
    """The path cannot go on. Not an ``Exception``: the target must not catch it.

    Parameters
    ----------
    reason : str
        Reason for the end, in words.
    line : tuple
        Line of the target's code.
    """

    def __init__(self, reason: str, line: Line) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


class PathDivergedError(TraceEnd):
    """With the same observations forced, the neighbour's run took another way.

    It ``blames`` the line where it stood unless an earlier line led past the noise of that one.
    """

    def __init__(self, reason: str, line: Line, *, blames: bool = True) -> None:
        super().__init__(reason, line)
        self.blames = blames


class UnfollowableError(TraceEnd):
    """The target did something that cannot be followed: nothing is judged."""


class NeedsValuesError(TraceEnd):
    """The comparisons of this path have no law that is computed: their values are revealed."""


class ImpossibleError(NeedsValuesError):
    """The comparisons of this path cannot all be true."""


class NotFiniteError(TraceEnd):
    """The tree of observations is not finite, or too large to be enumerated."""


SAME = 1e-12
"""Relative difference, by rounding, up to which two settled numbers are the same."""
SLACK = 1e-9
"""Relative rounding of a value that lies at the end of what earlier bits leave."""
_LATTICE = 1e-9
"""The largest distance, by rounding, of a discrete draw from a whole number."""


class Ordering(StrEnum):
    """A comparison of two numbers."""

    LESS = "<"
    LESS_EQUAL = "<="
    GREATER = ">"
    GREATER_EQUAL = ">="
    EQUAL = "=="
    NOT_EQUAL = "!="

    @property
    def negated(self) -> Ordering:
        """The comparison that holds where this one does not."""
        return _NEGATED[self]

    @property
    def mirrored(self) -> Ordering:
        """The comparison with both sides multiplied by −1."""
        return _MIRRORED[self]

    def holds(self, left: float, right: float) -> bool:
        """Return True if it holds of two numbers."""
        return bool(_HOLDS[self](left, right))


_OPPOSITES = (
    (Ordering.LESS, Ordering.GREATER_EQUAL),
    (Ordering.GREATER, Ordering.LESS_EQUAL),
    (Ordering.EQUAL, Ordering.NOT_EQUAL),
)
_NEGATED = dict(_OPPOSITES) | {other: each for each, other in _OPPOSITES}
_MIRRORED = dict(zip(Ordering, map(Ordering, (">", ">=", "<", "<=", "==", "!=")), strict=True))
_COMPARE = operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne
_HOLDS = dict(zip(Ordering, _COMPARE, strict=True))
_DOWNWARD = frozenset({Ordering.LESS, Ordering.LESS_EQUAL})
_STRICT = frozenset({Ordering.LESS, Ordering.GREATER})


@dataclass(frozen=True, slots=True)
class DrawRegion:
    """The values of a standard draw Z that the observations leave.

    Parameters
    ----------
    low, high : float
        Ends of the region; for a discrete draw, whole numbers that belong to it.
    excluded : frozenset of float
        Values of a discrete draw between them that are ruled out.
    """

    low: float = -math.inf
    high: float = math.inf
    excluded: frozenset[float] = frozenset()

    @property
    def whole(self) -> bool:
        """True if nothing has been observed of the draw."""
        return self.low == -math.inf and self.high == math.inf and not self.excluded

    def narrowed(self, how: Ordering, bound: float, *, discrete: bool) -> DrawRegion:
        """Return the values z of the region with ``z how bound``."""
        if how is Ordering.EQUAL:
            return DrawRegion(max(self.low, bound), min(self.high, bound), self.excluded)
        if how is Ordering.NOT_EQUAL:
            excluded = {round(bound)} if _is_whole(bound) else frozenset[float]()
            return DrawRegion(self.low, self.high, self.excluded | excluded)
        low, high = narrowed_ends((self.low, self.high), how, bound, discrete=discrete)
        return DrawRegion(float(low), float(high), self.excluded)

    def holds(self, z: float, *, slack: float) -> bool:
        """Return True if a value lies in the region, but for ``slack``."""
        return self.low - slack <= z <= self.high + slack and z not in self.excluded


WHOLE = DrawRegion()
"""The region of a draw of which nothing has been observed."""


def _is_whole(number: float) -> bool:
    return math.isfinite(number) and abs(number - round(number)) <= _LATTICE


def narrowed_ends(
    ends: tuple[Any, Any], how: Ordering, bound: Any, *, discrete: bool
) -> tuple[Any, Any]:
    """Return the ends of the values z between others with ``z how bound``; of arrays, of each."""
    low, high = ends
    strict = how in _STRICT
    if how in _DOWNWARD:
        return low, np.minimum(high, _whole_below(bound, strict=strict) if discrete else bound)
    return np.maximum(low, -_whole_below(-bound, strict=strict) if discrete else bound), high


def _whole_below(bound: Any, *, strict: bool) -> Any:
    """Return the largest whole number below a bound, or at most it."""
    whole = np.round(bound)
    with np.errstate(invalid="ignore"):
        on = np.abs(bound - whole) <= _LATTICE
    return np.where(on, whole - strict, np.floor(bound))


@dataclass(slots=True, eq=False)
class NoiseDraw:
    """A draw ``loc + scale·Z`` of one path.

    Parameters
    ----------
    index : int
        Index among the draws of the path.
    law : NoiseLaw or None
        Law of Z; None for a draw that was revealed as it was made.
    name : str
        Name of the generator's method.
    line : tuple
        Line that draws it.
    standard : float
        Z as an untraced run has it; NaN in a replay.
    region : DrawRegion
        The values of Z that the observations allow.
    point : float or None
        Z itself, once a value has revealed it.
    log_unit : float
        For a value that was read, the log of the factor between Z and the value.
    revealed : float
        For a draw that was revealed as it was made, the log of its probability.
    joined : bool
        True if it was compared with another draw, or added to one.
    settled : bool
        True if a sum was read in which it stands: no more can be said of it alone.
    pure : bool
        True if its value was read before anything was added to it.
    """

    index: int
    law: NoiseLaw | None
    name: str
    line: Line
    standard: float = math.nan
    region: DrawRegion = WHOLE
    point: float | None = None
    log_unit: float = 0.0
    revealed: float = 0.0
    joined: bool = False
    settled: bool = False
    pure: bool = False

    @property
    def places(self) -> slice:
        """The index, as a slice."""
        return slice(self.index, self.index + 1)

    def narrow(self, offset: float, coefficient: float, how: Ordering) -> None:
        """Keep that ``offset + coefficient·Z`` compares with 0 in this way."""
        self.region = self.region.narrowed(
            how if coefficient > 0 else how.mirrored,
            -offset / coefficient,
            discrete=self.law is not None and self.law.discrete,
        )

    def is_counted_from_zero(self, shift: float) -> bool:
        """Return True if Z + shift is 0 for the least Z: failures in place of trials, say."""
        first = None if self.law is None else self.law.first
        return first is not None and shift == -first

    def holds_point(self, slack: float) -> bool:
        """Return True if Z, which is known, lies in the region, but for a relative slack."""
        z = 0.0 if self.point is None else self.point
        return self.region.holds(z, slack=slack * max(1.0, abs(z)))


@dataclass(slots=True, eq=False)
class NoiseVector:
    """Independent draws of one continuous law, made at once, each of which is seen alone.

    Parameters
    ----------
    start : int
        Index of the first among the draws of the path.
    law, name, line
        As of a ``NoiseDraw``.
    standard : ndarray
        Z as an untraced run has it; NaN in a replay.
    low, high : ndarray
        Ends of what the observations leave.
    point, log_unit : ndarray
        Z, and the log of the factor between Z and the value, where that was read; else NaN.
    pure : ndarray of bool
        True where the value was read before anything was added to it.
    """

    start: int
    law: NoiseLaw
    name: str
    line: Line
    standard: FloatArray
    low: FloatArray = field(init=False)
    high: FloatArray = field(init=False)
    point: FloatArray = field(init=False)
    log_unit: FloatArray = field(init=False)
    pure: Any = field(init=False)

    def __post_init__(self) -> None:
        count = self.standard.size
        self.low, self.high = np.full(count, -np.inf), np.full(count, np.inf)
        self.point, self.log_unit = np.full(count, np.nan), np.zeros(count)
        self.pure = np.zeros(count, dtype=bool)

    def narrow(self, places: Any, how: Ordering, bits: Any, offset: Any, scale: Any) -> None:
        """Keep whether ``offset + scale·Z`` compares with 0 in this way."""
        bound = -offset / scale
        below = (bits == (how in _DOWNWARD)) == (scale > 0)
        self.high[places] = np.where(below, np.minimum(self.high[places], bound), self.high[places])
        self.low[places] = np.where(below, self.low[places], np.maximum(self.low[places], bound))

    @property
    def places(self) -> slice:
        """The indices of the draws."""
        return slice(self.start, self.start + self.standard.size)

    def log_likelihood(self) -> FloatArray:
        """Return the log-probability, or density, of what was observed of each draw."""
        found, known = np.zeros(self.standard.size), ~np.isnan(self.point)
        z, low, high = self.point[known], self.low[known], self.high[known]
        slack = SLACK * np.maximum(1.0, np.abs(z))
        inside = (low - slack <= z) & (z <= high + slack)
        found[known] = np.where(inside, self.law.log_point(z) - self.log_unit[known], -np.inf)
        narrowed = ~known & (np.isfinite(self.low) | np.isfinite(self.high))
        found[narrowed] = self.law.log_interval(self.low[narrowed], self.high[narrowed])
        return found

    def split(self) -> list[NoiseDraw]:
        """Return the draws one by one."""
        columns = self.standard, self.low, self.high, self.point, self.log_unit, self.pure
        return [
            NoiseDraw(
                index=self.start + place,
                law=self.law,
                name=self.name,
                line=self.line,
                standard=standard,
                region=DrawRegion(low, high),
                point=None if math.isnan(point) else point,
                log_unit=unit,
                pure=pure,
            )
            for place, (standard, low, high, point, unit, pure) in enumerate(
                zip(*(each.tolist() for each in columns), strict=True)
            )
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedBit:
    """``offset + Σ coefficient·Z`` compared with 0, or equal to it, for several draws."""

    offset: float
    terms: tuple[tuple[NoiseDraw, float], ...]
    how: Ordering
