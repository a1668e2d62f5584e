"""Scores within a theorem's hypotheses on which it is as tight as it can be made.

On the way to its answer a search meets the same count at every midpoint, as far from the rank as
the bound allows: each round is then one more chance to go wrong, and no later round undoes it.

M(Δ) in P-COQS's theorems is tested by many scores that lie within Δ of each other, at the rank. A
search at resolution Δ cannot part them: it ends beside all of them, and errs by their number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dpcp_audit.extensions.claims import Computed
from dpcp_audit.extensions.laws import PiecewiseConstant
from dpcp_audit.extensions.theorems import CoverageTheorem, noise_rank_error, with_tightness
from dpcp_ledger.pcoqs.marginal_grid import FiniteCoverage
from dpcp_ledger.pcoqs.pcoqs_theorems import FixedRankError, crowded, evenly_spaced

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.extensions.claims import Check, Computation, FloatArray, PlainData
    from dpcp_audit.extensions.mechanisms import PCOQS
    from dpcp_audit.extensions.theorems import Scalable, ScoreTheorem


_EDGE = 1e-9
"""The distance past a bound from which a rank counts as past it, in ranks."""


def split_scores(mechanism: PCOQS, n: int, *, below: int) -> FloatArray:
    """Return n scores 2Δ apart: ``below`` of them from a upwards, the rest from b downwards."""
    low, high = mechanism.bounds
    step = 2 * mechanism.resolution
    lows = low + step * np.arange(below, dtype=np.float64)
    highs = high - step * np.arange(n - below, dtype=np.float64)
    return np.concatenate([lows, highs[::-1]])


def too_few_below(theorem: FixedRankError) -> FixedRankError | None:
    """Return the bound on scores on which it is passed as soon as one round is wrong.

    Every round counts ⌊limit⌋ + 1 scores too few for the rank, and is to say so. None where the
    rank is too small for that.
    """
    (limit,) = theorem.bounds.values()
    n = theorem.scores.size
    below = theorem.mechanism.rank(n) - math.floor(limit + _EDGE) - 1
    if below < 0:
        return None
    scores = split_scores(theorem.mechanism, n, below=below)
    return replace(theorem, scores=scores, name=f"split({below},{n - below})")


def undercovered(theorem: CoverageTheorem) -> FiniteCoverage | None:
    """Return Theorem 1 or Corollary 1 on a finite population that one wrong round undercovers.

    The scores up to every midpoint are just too few for the bound. None where there is no such
    number of scores.
    """
    lower, *_ = theorem.bounds.values()
    n = theorem.n
    below = math.ceil(lower * (n + 1) - _EDGE) - 1
    if below < 0:
        return None
    scores = split_scores(theorem.mechanism, n + 1, below=below)
    return FiniteCoverage(theorem=theorem, scores=scores, name=f"split({below},{n + 1 - below})")


def clustered(more: int) -> Callable[[CoverageTheorem], FiniteCoverage | None]:
    """Return a function that puts ``more`` clusters between the two ends of ``undercovered``.

    They lie at 1/2 + 1/8, 1/2 + 1/8 + 1/16, … of the interval and share the upper scores evenly.
    None where they do not fit: more scores than the theorem's M(Δ) would lie within Δ.
    """

    def worst(theorem: CoverageTheorem) -> FiniteCoverage | None:
        found = undercovered(theorem)
        if found is None:
            return None
        low, high = theorem.mechanism.bounds
        scores = found.scores.copy()
        below = int((scores < (low + high) / 2).sum())
        parts = np.array_split(np.arange(below, scores.size), more + 1)
        places = low + (high - low) * (0.5 + np.cumsum(0.5 ** np.arange(3, 3 + more)))
        step = 2 * theorem.mechanism.resolution
        for which, place in zip(parts[:-1], places, strict=True):
            scores[which] = place + step * np.arange(which.size)
        if _crowd(scores, theorem.mechanism.resolution) > theorem.window_count:
            return None
        return FiniteCoverage(theorem=theorem, scores=scores)

    return worst


def _crowd(scores: FloatArray, length: float) -> int:
    """Return the most scores in a half-open interval of that length, M(Δ)."""
    ordered = np.sort(scores)
    ends = np.searchsorted(ordered, ordered + length, side="left")
    return int((ends - np.arange(ordered.size)).max())


def staircase(theorem: ScoreTheorem) -> PiecewiseConstant | None:
    """Return an admissible law on which each early round of LDP-CP-S may go wrong.

    Just less than 1−α−Δ of the mass lies below 1/2, evenly; the rest lies at the top, as densely
    as the theorem admits. None where that does not fit.
    """
    width = theorem.mechanism.window_width
    low = 1 - theorem.alpha - width - _EDGE
    cell = 2.0**-theorem.rounds
    cells = math.ceil((1 - low) / width + 1)
    if low <= 0 or cells * cell >= 0.5 or low * 2 * cell > width:
        return None
    edges = (0.0, 0.5, 1 - cells * cell, 1.0)
    return PiecewiseConstant(edges=edges, cells=(low, 0.0, 1 - low))


def on_staircase(theorem: ScoreTheorem) -> ScoreTheorem | None:
    """Return Theorem 4 on its staircase; None where none fits."""
    law = staircase(theorem)
    return None if law is None else replace(theorem, population=law)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostileTheorem:
    """A theorem on scores that are chosen in view of its constants.

    A wrong constant is tested where it hurts most: the scores follow it.

    Parameters
    ----------
    theorem : theorem
        The statement, planted errors included.
    worst : callable
        Returns the theorem on the worst scores known for it, or None where there are none.
    """

    theorem: Any
    worst: Callable[[Any], Scalable | None]

    @property
    def allowed_failure(self) -> float:
        """The δ that the theorem allows."""
        return float(self.theorem.allowed_failure)

    @property
    def correction_name(self) -> str:
        """The theorem's correction, as its letter."""
        return str(self.theorem.correction_name)

    def scaled(self, factor: float) -> HostileTheorem:
        """Return it with the correction multiplied, and with the scores for that."""
        return replace(self, theorem=self.theorem.scaled(factor))

    def with_errors(self, **errors: float) -> HostileTheorem:
        """Return it with planted errors, such as ``correction=0.95`` or ``noise=1.05``.

        They are fields of the theorem.
        """
        return replace(self, theorem=replace(self.theorem, **errors))

    @property
    def case(self) -> Scalable:
        """The theorem on the worst scores.

        Raises
        ------
        ValueError
            If there are no such scores for the theorem's parameters.
        """
        found = self.worst(self.theorem)
        if found is None:
            raise ValueError("theorem must have hostile scores, got none for its parameters")
        return found

    def failure_probability(self) -> float:
        """Compute the failure probability on the worst scores; 0 where the bound is vacuous."""
        found = self.worst(self.theorem)
        return 0.0 if found is None else found.failure_probability()

    def exact(self) -> Computation:
        """Compute the failure probability on the worst scores, as evidence."""
        return self.case.exact()

    def check(self) -> Check:
        """Return the check, which computes the failure probability and how tight the theorem is."""
        return Computed(partial(with_tightness, self))


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
