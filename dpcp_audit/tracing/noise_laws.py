"""Laws of standard draws Z, in logs: ours, and those of SciPy.

A draw is ``loc + scale·Z``; a frozen distribution of SciPy is taken apart into that form.
"""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.special import gammaln, log_ndtr, logsumexp

if TYPE_CHECKING:
    from dpcp_audit.words.arrays import FloatArray


_NEVER = -1e6
"""The log-probability of another trial, where the first one succeeds: not -inf, for 0·inf."""
_MANY = 1_000_000
"""The most values of a discrete law that are added up."""


class NoiseLaw(ABC):
    """The law of a standard draw.

    Attributes
    ----------
    name : str
        As NumPy's generators call it.
    discrete : bool
        True if Z is a whole number.
    spread : float
        A length over which the density changes: what a quadrature has to resolve.
    reach : tuple of float
        An interval outside of which the mass is below e^-700, or none.
    corners : tuple of float
        Where the density jumps besides 0.
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
class GeometricLaw(NoiseLaw):
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
class PoissonLaw(_Counted):
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
class DiscreteGaussianLaw(_Counted):
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
class BinomialLaw(_Counted):
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
class CategoricalLaw(_Counted):
    """P(Z = k) for k = 0, 1, ..."""

    name: ClassVar[str] = "choice"

    masses: tuple[float, ...]

    def log_point(self, z: FloatArray) -> FloatArray:
        """Return the log-mass at z."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.array(self.masses)[np.asarray(z, dtype=np.intp)]))

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
class ScipyLaw(NoiseLaw):
    """A distribution of ``scipy.stats`` at ``loc`` 0 and ``scale`` 1.

    Parameters
    ----------
    family : str
        Its name there.
    shapes : tuple of float
        Its shape parameters.
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
    return _OWN.get(family) or ScipyLaw(family, shapes)
