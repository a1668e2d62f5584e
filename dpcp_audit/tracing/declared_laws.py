"""Laws of SciPy as laws of a standard draw: a frozen distribution is ``loc + scale·Z``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.tracing import noise_laws
from dpcp_audit.tracing.noise_laws import NoiseLaw

if TYPE_CHECKING:
    from dpcp_audit.words.arrays import FloatArray


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
