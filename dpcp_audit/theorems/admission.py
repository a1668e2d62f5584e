"""Whether a theorem admits given scores, and so whose claim it is on them: one rule for all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import singledispatch
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit._format import number
from dpcp_audit.data.populations import Deferred
from dpcp_audit.mechanisms.ldpcp.editions import Blocks, Debiasing, LabelSearch, OnMiss
from dpcp_audit.parameters import MOST_ROUNDS
from dpcp_audit.results import Standing
from dpcp_audit.theorems.admissible import largest_interval_mass, likely_crowd
from dpcp_audit.theorems.calibrator_coverage import MarginalCoverage
from dpcp_audit.theorems.ldpcp_coverage import LabelTheorem, ScoreTheorem
from dpcp_audit.theorems.ldpcp_uniform import UniformEvent
from dpcp_audit.theorems.pcoqs_coverage import CoverageReading, CoverageTheorem, RankError
from dpcp_audit.theorems.split_theorem import SplitCoverage

if TYPE_CHECKING:
    from dpcp_audit.data.populations import Population

_UNLIKELY = 0.25
"""Of β: the probability with which M(Δ) may exceed what the theorem is told of it."""
_JUMP = 1.5
"""In units of Δ: how far the search's result may lie from the point of its last answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """Whose claim a theorem is on given scores.

    Parameters
    ----------
    standing : Standing
        The paper's, a reading, an erratum, or a statement outside of its hypotheses.
    reason : str
        Of a statement outside of its hypotheses: which of them fails, and by how much.
    """

    standing: Standing
    reason: str = ""


@singledispatch
def admission(theorem: object) -> Admission:
    """Return whose claim a theorem object is on the scores that it has.

    Raises
    ------
    TypeError
        If it is no theorem object.
    """
    raise TypeError(f"theorem must be a theorem object, got {type(theorem).__name__}")


def standing_of(theorem: object) -> Standing:
    """Return whose claim a theorem object is on the scores that it has."""
    return admission(theorem).standing


def window_count_for(
    population: Population, *, n: int, resolution: float, beta: float, lost: int = 0
) -> int:
    """Return an M(Δ) that n scores exceed with a probability of at most β/4.

    Parameters
    ----------
    resolution : float
        Δ, in units of the scores.
    lost : int
        Ranks that ties cost beside it: 1 for a coverage, which counts the scores at q itself.
    """
    most = likely_crowd(population, n=n, length=_JUMP * resolution, chance=_UNLIKELY * beta)
    return most if most == 1 else most + lost


@admission.register(ScoreTheorem)
def _of_scores(theorem: ScoreTheorem) -> Admission:
    printed = theorem.debiasing is Debiasing.PRINTED or theorem.blocks is Blocks.PRINTED
    standing = Standing.READING if theorem.two_sided else Standing.PAPER
    return _searched(theorem, theorem.population, Standing.ERRATUM if printed else standing)


@admission.register(LabelTheorem)
def _of_labels(theorem: LabelTheorem) -> Admission:
    pool = theorem.pool
    scores = Deferred(theorem.pool_name, lambda: pool().hps_population())
    return _searched(theorem, scores, Standing.PAPER)


@admission.register(UniformEvent)
def _of_estimate(theorem: UniformEvent) -> Admission:  # noqa: ARG001  (it asks for nothing)
    """Theorem 1 asks for nothing of the scores; that its event is uniform is a reading."""
    return Admission(standing=Standing.READING)


@admission.register(RankError)
def _of_rank(theorem: RankError) -> Admission:
    return _crowded(theorem, Standing.PAPER, lost=0)


@admission.register(CoverageTheorem)
def _of_search(theorem: CoverageTheorem) -> Admission:
    marginal = theorem.reading is CoverageReading.MARGINAL
    return _crowded(theorem, Standing.PAPER if marginal else Standing.READING, lost=1)


@admission.register(MarginalCoverage)
def _of_mean(theorem: MarginalCoverage) -> Admission:
    bounds = getattr(theorem.calibrator, "bounds", None)
    return _admitted(Standing.PAPER, bounds and beyond(theorem.population, bounds))


@admission.register(SplitCoverage)
def _of_split(theorem: SplitCoverage) -> Admission:  # noqa: ARG001  (it asks for nothing)
    return Admission(standing=Standing.PAPER)


def _searched(
    theorem: LabelTheorem | ScoreTheorem, population: Population, standing: Standing
) -> Admission:
    """Theorems 3 and 4: no interval of length 2^(−T) holds more than Δ of the mass.

    A reading where a miss does not return what is printed, or the search is another.
    """
    other = theorem.on_miss is not OnMiss.LAST_MIDPOINT or (
        isinstance(theorem, LabelTheorem) and theorem.search is not LabelSearch.WINDOW
    )
    if standing is Standing.PAPER and other:
        standing = Standing.READING
    reason = beyond(population, (0.0, 1.0)) or _unresolved(theorem, population)
    return _admitted(standing, reason)


def _unresolved(theorem: LabelTheorem | ScoreTheorem, population: Population) -> str:
    mass, width = _mass_and_width(theorem, population)
    if mass <= width:
        return ""
    tried = range(theorem.rounds + 1, min(MOST_ROUNDS, theorem.n) + 1)
    finer = ((T, *_mass_and_width(replace(theorem, rounds=T), population)) for T in tried)
    least = next((T for T, finer_mass, its_width in finer if finer_mass <= its_width), None)
    remedy = "no T admits them" if least is None else f"T = {least} would admit them"
    return (
        f"an interval of length 2^(−{theorem.rounds}) holds {number(mass)} of the scores, more "
        f"than Δ = {number(width)}: {remedy}"
    )


def _mass_and_width(
    theorem: LabelTheorem | ScoreTheorem, population: Population
) -> tuple[float, float]:
    """Return the largest mass of an interval of length 2^(−T), and Δ."""
    mass = largest_interval_mass(population, 2.0**-theorem.rounds)
    return mass, theorem.mechanism.window_width


def _crowded(theorem: CoverageTheorem | RankError, standing: Standing, *, lost: int) -> Admission:
    """Proposition 1 and what follows: scores in [a, b], and M(Δ) is what the theorem is told."""
    mechanism, population = theorem.mechanism, theorem.population
    if reason := beyond(population, mechanism.bounds):
        return _admitted(standing, reason)
    needed = window_count_for(
        population, n=theorem.n, resolution=mechanism.resolution, beta=theorem.beta, lost=lost
    )
    if needed <= theorem.window_count:
        return _admitted(standing, "")
    return _admitted(
        standing,
        f"of {theorem.n:,} such scores more than {theorem.window_count} are likely to lie within "
        f"Δ of each other: M(Δ) = {needed:,} would admit them",
    )


def beyond(population: Population, bounds: tuple[float, float]) -> str:
    """Return what mass of the scores lies outside of [a, b], in words; "" where none does."""
    low, high = np.asarray(bounds)
    mass = float(population.cdf_left(low) + 1 - population.cdf(high))
    return f"{number(mass)} of the scores lie outside of [{low:g}, {high:g}]" if mass > 0 else ""


def _admitted(standing: Standing, reason: str | None) -> Admission:
    if not reason:
        return Admission(standing=standing)
    return Admission(standing=Standing.OUTSIDE_HYPOTHESIS, reason=reason)
