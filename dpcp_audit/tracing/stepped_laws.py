"""Laws whose density jumps inside or at the ends: the staircase, and Laplace noise that is cut."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcp_audit import _validate
from dpcp_audit.tracing.noise_laws import LAPLACE, NoiseLaw, log_difference

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray

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
        """Where all but a mass of e^-40 lies.

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
