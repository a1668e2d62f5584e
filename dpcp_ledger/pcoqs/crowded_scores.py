"""Scores that test M(Δ) in P-COQS's theorems: many lie within Δ of each other, at the rank.

A search at resolution Δ cannot part them. It ends beside all of them, and errs by their number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from dpcp_audit.extensions.claims import validate as _validate
from dpcp_audit.extensions.theorems import CoverageTheorem, noise_rank_error
from dpcp_ledger.pcoqs.marginal_grid import FiniteCoverage
from dpcp_ledger.pcoqs.pcoqs_theorems import FixedRankError, evenly_spaced

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import FloatArray, PlainData
    from dpcp_audit.extensions.mechanisms import PCOQS


_GOLDEN = (5**0.5 - 1) / 2
_PLACES = 200
"""Places of the crowd that are tried."""
_WIDTH = 1e-6
"""The width of the crowd, in units of Δ."""
_CLEAR = 2.5
"""Standard deviations of the noise between the r-th score and the first of a crowd."""
_NOISELESS = 1e18
"""A ρ at which the noise is far below one rank."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CrowdedRankError(FixedRankError):
    """Proposition 1 or Remark 3, where M(Δ) is what is multiplied.

    Parameters
    ----------
    windowed : float
        A planted multiple of M(Δ).
    """

    correction_name = "M(Δ)"

    windowed: float = 1.0

    @property
    def bounds(self) -> dict[str, float]:
        """The limit on the rank error."""
        noise = noise_rank_error(self.mechanism, beta=self.beta, bound=self.noise_bound)
        crowd = self.windowed * self.windows * self.window_count
        return {"τ* + M(Δ)": self.correction * noise + crowd}

    @property
    def parameters(self) -> PlainData:
        """The case, as plain data."""
        case: PlainData = FixedRankError.parameters.__get__(self)
        return case | ({} if self.windowed == 1 else {"windowed": self.windowed})

    def scaled(self, factor: float) -> Self:
        """Return the theorem with M(Δ) multiplied by ``factor`` ≥ 0."""
        return replace(self, windowed=factor)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrowdedCoverage(CoverageTheorem):
    """Theorem 1 or Corollary 1, where M(Δ) is what is multiplied.

    Parameters
    ----------
    crowd : int
        M(Δ) of the scores; ``window_count`` is what the bound has in its place.
    """

    correction_name = "M(Δ)"

    crowd: int = 1

    def scaled(self, factor: float) -> Self:
        """Return the theorem with M(Δ) multiplied by ``factor`` ≥ 0."""
        return replace(self, window_count=round(factor * self.crowd))


def crowded(n: int, *, crowd: int, first: int, place: float, width: float) -> FloatArray:
    """Return n scores in [0, 1], of which ``crowd`` share a place and the others are far apart.

    Parameters
    ----------
    first : int
        The rank of the first of the crowd.
    place, width : float
        Where the crowd begins, and the length that it fills, in units of the scores.
    """
    _validate.integer(first=first, at_least=1)
    below = first - 1
    above = n - below - crowd
    if above < 0:
        raise ValueError(f"crowd must fit above rank {first} of {n}, got {crowd}")
    return np.concatenate(
        [
            place * (np.arange(below) + 0.5) / max(below, 1),
            place + width * np.arange(crowd) / crowd,
            place + (1 - place) * (np.arange(above) + 0.5) / max(above, 1),
        ]
    )


def crowd_place(mechanism: PCOQS, *, before: bool) -> float:
    """Return a place at which a search without noise ends before the crowd, or else past it.

    Raises
    ------
    ValueError
        If the search never does, of 200 places that are tried.
    """
    sure = replace(mechanism, alpha=0.5, rho=_NOISELESS)
    width = _WIDTH * mechanism.resolution
    for step in range(1, _PLACES + 1):
        place = 0.25 + 0.5 * (step * _GOLDEN % 1)
        scores = crowded(64, crowd=16, first=25, place=place, width=width)
        (threshold,) = sure.sample(scores, 1, rng=0)
        if bool(threshold < place) is before:
            return place
    raise ValueError(f"mechanism must end on either side of a crowd, got {mechanism!r}")


def rank_on_crowd(theorem: CrowdedRankError) -> CrowdedRankError:
    """Return the bound where the r-th score is of a crowd's first, past which the search ends."""
    n, crowd = theorem.scores.size, theorem.scores.size // 2
    first = _first_before(theorem.mechanism, n)
    width = _WIDTH * theorem.mechanism.resolution
    place = crowd_place(theorem.mechanism, before=False)
    scores = crowded(n, crowd=crowd, first=first, place=place, width=width)
    return replace(theorem, scores=scores, name=f"a crowd of {crowd} from rank {first} on")


def _first_before(mechanism: PCOQS, n: int) -> int:
    """Return a rank so far below r that comparisons below the crowd hardly ever go wrong."""
    return mechanism.rank(n) - math.ceil(_CLEAR * mechanism.noise_scale)


def coverage_on_crowd(theorem: CrowdedCoverage) -> FiniteCoverage:
    """Return Theorem 1 where the search ends past a crowd, or Corollary 1 where it ends before it.

    The crowd begins at the nominal rank: past it the coverage is too large; before it, too small,
    where the higher rank that α* asks for is still of the crowd.
    """
    n, crowd, mechanism = theorem.n, theorem.crowd, theorem.mechanism
    first = mechanism.rank(n) - 1 if theorem.corrected else _first_before(mechanism, n)
    place = crowd_place(theorem.mechanism, before=theorem.corrected)
    width = _WIDTH * mechanism.resolution
    scores = crowded(n + 1, crowd=crowd, first=first, place=place, width=width)
    return FiniteCoverage(
        theorem=theorem, scores=scores, name=f"a crowd of {crowd} from rank {first} on"
    )


def heaped(n: int, *, ties: int) -> FloatArray:
    """Return n scores that fill [0, 1] evenly, ``ties`` of them at each place.

    Examples
    --------
    >>> heaped(4, ties=2).tolist()
    [0.25, 0.25, 0.75, 0.75]
    """
    return np.repeat(evenly_spaced(-(-n // ties)), ties)[:n]
