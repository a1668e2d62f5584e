"""Scores within a theorem's hypotheses on which it is as tight as it can be made.

On the way to its answer a search meets the same count at every midpoint, as far from the rank as
the bound allows: each round is then one more chance to go wrong, and no later round undoes it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.extensions.claims import Computed
from dpcp_audit.extensions.claims import validate as _validate
from dpcp_audit.extensions.laws import PiecewiseConstant
from dpcp_audit.extensions.theorems import with_tightness
from dpcp_ledger.pcoqs.marginal_grid import FiniteCoverage

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from dpcp_audit.extensions.claims import Check, Computation, FloatArray
    from dpcp_audit.extensions.mechanisms import PCOQS
    from dpcp_audit.extensions.theorems import CoverageTheorem, Scalable, ScoreTheorem

    class RankOnScores(Protocol):
        """A bound on the rank error on given scores."""

        @property
        def mechanism(self) -> PCOQS:
            """The mechanism."""
            ...

        @property
        def scores(self) -> FloatArray:
            """The scores, shape (n,)."""
            ...

        @property
        def bounds(self) -> dict[str, float]:
            """The limit, by its name."""
            ...


_EDGE = 1e-9
"""The distance past a bound from which a rank counts as past it, in ranks."""


def split_scores(mechanism: PCOQS, n: int, *, below: int) -> FloatArray:
    """Return n scores 2Δ apart: ``below`` of them from a upwards, the rest from b downwards."""
    _validate.integer(n=n, at_least=1)
    _validate.integer(below=below, at_least=0)
    if below > n:
        raise ValueError(f"below must be at most n = {n}, got {below}")
    low, high = mechanism.bounds
    step = 2 * mechanism.resolution
    lows = low + step * np.arange(below, dtype=np.float64)
    highs = high - step * np.arange(n - below, dtype=np.float64)
    return np.concatenate([lows, highs[::-1]])


def too_few_below(theorem: RankOnScores) -> tuple[FloatArray, str] | None:
    """Return scores on which the rank error passes its limit as soon as one round is wrong.

    Every round counts ⌊limit⌋ + 1 scores too few for the rank, and is to say so. With their name;
    None where the rank is too small for that.
    """
    (limit,) = theorem.bounds.values()
    n = theorem.scores.size
    below = theorem.mechanism.rank(n) - math.floor(limit + _EDGE) - 1
    if below < 0:
        return None
    return split_scores(theorem.mechanism, n, below=below), f"split({below},{n - below})"


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
    """Return what puts ``more`` clusters between the two ends of ``undercovered``.

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
        What is stated, planted errors included.
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
