"""How crowded a law of scores is: what the hypotheses of the theorems ask about it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import betainc

from dpcp_audit import _validate
from dpcp_audit.data.piecewise import PiecewiseConstant
from dpcp_audit.data.populations import Beta, Deferred, Pool

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray
    from dpcp_audit.data.populations import Population

_LEVELS = 2**14


class _Starts(NamedTuple):
    """Where intervals may start, and the mass before each; both of shape (starts,)."""

    at: FloatArray
    before: FloatArray


def largest_interval_mass(population: Population, length: float) -> float:
    """Return sup_x P(x ≤ S ≤ x + length) for scores in [0, 1].

    Exact for a pool of scores and for a piecewise-constant law. For other laws the interval
    starts at one of 2¹⁴ quantiles, so the mass may be up to 2^(−14) too small.
    """
    _validate.positive(length=length)
    if isinstance(population, Deferred):
        return largest_interval_mass(population.population, length)
    if isinstance(population, PiecewiseConstant):
        return population.largest_mass(min(length, 1.0))
    if isinstance(population, Pool | Beta):
        return _largest_mass_again(population, length)
    return _largest_mass(population, length, _starts(population))


def _largest_mass(population: Population, length: float, starts: _Starts) -> float:
    return float((population.cdf(starts.at + length) - starts.before).max())


@lru_cache(maxsize=256)
def _largest_mass_again(population: Pool | Beta, length: float) -> float:
    """Return the mass of a law that may be a key: the cells of a grid ask again and again."""
    return _largest_mass(population, length, _starts_again(population))


def admissible_rounds(population: Population, *, width: float, most: int = 60) -> int | None:
    """Return T = ⌈log2(1/τ)⌉ for the largest τ = 2^(−T) that holds at most ``width`` of mass.

    Theorems 3 and 4 of LDP-CP ask for an a-priori bound τ on the length of an interval that
    can hold Δ of probability mass. None means that no interval is short enough: the law has
    an atom above ``width``, or one that ``most`` rounds cannot resolve.
    """
    _validate.positive(width=width)
    _validate.integer(most=most, at_least=1)
    for rounds in range(1, most + 1):
        if largest_interval_mass(population, 2.0**-rounds) <= width:
            return rounds
    return None


def is_admissible(population: Population, *, rounds: int, width: float) -> bool:
    """Tell whether no interval of length 2^(−``rounds``) holds more than ``width`` of mass."""
    _validate.integer(rounds=rounds, at_least=1)
    return largest_interval_mass(population, 2.0**-rounds) <= width


def likely_crowd(population: Population, *, n: int, length: float, chance: float) -> int:
    """Return a number of scores that no interval of ``length`` exceeds, but for ``chance``.

    The least m >= 1 with n·P(Bin(n−1, p) >= m) <= chance, for the largest mass p of an interval
    of that length: where more than m of n i.i.d. scores lie in one, m of the others follow
    the lowest of them within ``length``.

    Examples
    --------
    >>> from dpcp_audit.data.populations import Uniform
    >>> likely_crowd(Uniform(), n=500, length=1e-10, chance=1e-3)
    1
    >>> likely_crowd(Uniform(), n=500, length=0.01, chance=1e-3)
    19
    """
    _validate.integer(n=n, at_least=1)
    _validate.open_unit(chance=chance)
    mass = min(1.0, largest_interval_mass(population, length))
    low, high = 0, n  # m = n is enough, for there are n − 1 others
    while high - low > 1:
        middle = (low + high) // 2
        if n * betainc(middle, n - middle, mass) <= chance:
            high = middle
        else:
            low = middle
    return high


def _starts(population: Population) -> _Starts:
    """Return points such that some best interval starts less than 2^(−14) of mass before one."""
    at = (
        np.unique(population.scores)
        if isinstance(population, Pool)
        else np.append(0.0, population.quantile(np.arange(1, _LEVELS) / _LEVELS))
    )
    return _Starts(at, population.cdf_left(at))


@lru_cache(maxsize=32)
def _starts_again(population: Pool | Beta) -> _Starts:
    return _starts(population)
