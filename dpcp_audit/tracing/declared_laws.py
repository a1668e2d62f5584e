"""Laws whose density jumps inside or at the ends: the staircase, and Laplace noise that is cut.

Laws of SciPy as laws of a standard draw: a frozen distribution is ``loc + scale·Z``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcp_audit.tracing import noise_laws
from dpcp_audit.tracing.noise_laws import LAPLACE, NoiseLaw, log_difference
from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    from dpcp_audit.words.arrays import FloatArray


_NEGLIGIBLE = 40.0
"""Minus the log of the mass of a staircase's tails, beyond which no jump is looked for."""


@dataclass(frozen=True, slots=True)
class StaircaseLaw(NoiseLaw):
    r"""Density a·e^(−kε) for k ≤ \|z\| < k + γ, and a·e^(−(k+1)ε) from there to k + 1.

    With a = (1 − e^−ε)/(2(γ + (1 − γ)e^−ε)), for k = 0, 1, ... (Geng and Viswanath 2016).

    Parameters
    ----------
    epsilon : float
        > 0.
    gamma : float
        In [0, 1].

    Examples
    --------
    >>> law = StaircaseLaw(1.0, 0.25)
    >>> log_ratio = law.log_point(np.array([0.1])) - law.log_point(np.array([1.1]))
    >>> round(float(log_ratio[0]), 12)
    1.0
    """

    name: ClassVar[str] = "staircase"
    spread: ClassVar[float] = 0.25

    epsilon: float
    gamma: float

    def __post_init__(self) -> None:
        _validate.positive(epsilon=self.epsilon)
        _validate.closed_unit(gamma=self.gamma)

    @property
    def reach(self) -> tuple[float, float]:  # type: ignore[override]
        """An interval that holds all but a mass of e^-40.

        Of two that are compared, a probability below e^-35 is up to 1 % too small, which
        overstates a loss that is larger than 30 already.
        """
        end = float(math.ceil(_NEGLIGIBLE / self.epsilon))
        return -end, end

    @property
    def corners(self) -> tuple[float, ...]:  # type: ignore[override]
        """All jumps within its reach."""
        stairs = np.arange(1.0, self.reach[1] + 1)
        ends = np.concatenate([stairs, stairs - 1 + self.gamma])
        return tuple(np.concatenate([-ends, ends]).tolist())

    def drawn(self, rng: np.random.Generator) -> float:
        """Draw one Z."""
        stair = rng.geometric(-math.expm1(-self.epsilon)) - 1
        low = rng.random() < self.gamma / self._width
        within = self.gamma * rng.random() if low else self.gamma + (1 - self.gamma) * rng.random()
        return float((stair + within) * rng.choice([-1, 1]))

    def log_point(self, z: FloatArray) -> FloatArray:
        """Return the log-density at z."""
        stair, within = self._split(np.abs(z))
        return np.asarray(self._log_top - (stair + (within >= self.gamma)) * self.epsilon)

    def log_interval(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return log P(low < Z < high)."""
        above = low > 0
        first, last = np.where(above, -high, low), np.where(above, -low, high)
        return log_difference(self._log_below(last), self._log_below(first))

    @property
    def _width(self) -> float:
        """Of a stair that were as high throughout: γ + (1 − γ)e^−ε."""
        return self.gamma + (1 - self.gamma) * math.exp(-self.epsilon)

    @property
    def _log_top(self) -> float:
        return math.log(-math.expm1(-self.epsilon) / (2 * self._width))

    def _split(self, size: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the stair of each size, and the place on it; of infinity a stair far out."""
        far = np.minimum(size, 1e300)
        stair = np.floor(far)
        return stair, far - stair

    def _log_below(self, z: FloatArray) -> FloatArray:
        """Return log P(Z < z), with the relative precision of the nearer tail."""
        stair, within = self._split(np.abs(z))
        high, low = np.minimum(within, self.gamma), np.maximum(0.0, within - self.gamma)
        covered = (high + math.exp(-self.epsilon) * low) / self._width
        left = np.log1p(math.expm1(-self.epsilon) * covered)
        tail = left - stair * self.epsilon - math.log(2)
        return np.where(z < 0, tail, np.log1p(-np.exp(tail)))


@dataclass(frozen=True, slots=True)
class CutLaplaceLaw(NoiseLaw):
    """Laplace noise, given that it lies between two ends.

    Parameters
    ----------
    low, high : float
        ``low`` ≤ 0 ≤ ``high``, and not both 0.
    """

    name: ClassVar[str] = "cut laplace"

    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low <= 0 <= self.high or not self.low < self.high:
            raise ValueError(f"low and high must enclose 0, got {self.low!r} and {self.high!r}")

    @property
    def reach(self) -> tuple[float, float]:  # type: ignore[override]
        """Its ends, as far as there is mass."""
        return max(self.low, LAPLACE.reach[0]), min(self.high, LAPLACE.reach[1])

    @property
    def corners(self) -> tuple[float, ...]:  # type: ignore[override]
        """Its ends."""
        return self.low, self.high

    def drawn(self, rng: np.random.Generator) -> float:
        """Draw one Z: a sign, and the size of it."""
        below, above = -math.expm1(self.low), -math.expm1(-self.high)
        if rng.random() * (below + above) < below:
            return math.log1p(-below * rng.random())
        return -math.log1p(-above * rng.random())

    def log_point(self, z: FloatArray) -> FloatArray:
        """Return the log-density at z."""
        inside = (z >= self.low) & (z <= self.high)
        return np.where(inside, LAPLACE.log_point(z) - self._log_mass, -np.inf)

    def log_interval(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return log P(low < Z < high)."""
        first, last = np.maximum(low, self.low), np.minimum(high, self.high)
        return np.asarray(LAPLACE.log_interval(first, last) - self._log_mass)

    @property
    def _log_mass(self) -> float:
        ends = np.array([self.low]), np.array([self.high])
        return float(LAPLACE.log_interval(*ends)[0])


# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false


_OWN: dict[str, NoiseLaw] = {
    "norm": noise_laws.NORMAL,
    "laplace": noise_laws.LAPLACE,
    "expon": noise_laws.EXPONENTIAL,
    "gumbel_r": noise_laws.GUMBEL,
    "uniform": noise_laws.UNIFORM,
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
            return np.where(high > first, noise_laws.log_difference(upper, lower), -np.inf)


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
