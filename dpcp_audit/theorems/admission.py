"""The rule that says whether a theorem's hypotheses admit given scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache, singledispatch
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import betainc

from dpcp_audit.laws.populations import Beta, Deferred, PiecewiseConstant, Pool
from dpcp_audit.mechanisms.local_scores import Blocks, Debiasing, LabelSearch, OnMiss
from dpcp_audit.theorems.ldpcp_coverage import LabelTheorem, UniformEvent
from dpcp_audit.theorems.ldpcp_scores import ScoreTheorem
from dpcp_audit.theorems.pcoqs_coverage import CoverageReading, CoverageTheorem, RankError
from dpcp_audit.theorems.split import MarginalCoverage, SplitCoverage
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.formatting import number
from dpcp_audit.words.options import MOST_ROUNDS
from dpcp_audit.words.results import Standing

if TYPE_CHECKING:
    from dpcp_audit.laws.populations import Population
    from dpcp_audit.words.arrays import FloatArray


_LEVELS = 2**14


class _Starts(NamedTuple):
    """The possible starts of intervals, and the mass before each; both of shape (starts,)."""

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


def likely_crowd(population: Population, *, n: int, length: float, chance: float) -> int:
    """Return a number of scores that no interval of ``length`` exceeds, but for ``chance``.

    The least m >= 1 with n·P(Bin(n−1, p) >= m) <= chance, for the largest mass p of an interval
    of that length: where more than m of n i.i.d. scores lie in one, m of the others follow
    the lowest of them within ``length``.

    Examples
    --------
    >>> from dpcp_audit.laws.populations import Uniform
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


_UNLIKELY = 0.25
"""The share of β for the event that M(Δ) exceeds the value that the theorem is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """Whose claim a theorem is on given scores.

    Parameters
    ----------
    standing : Standing
        The paper's, a reading, a corrected form, an erratum, or outside of its hypotheses.
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
    """Return an M(Δ), as printed, that n scores exceed with a probability of at most β/4.

    Parameters
    ----------
    resolution : float
        Δ, in units of the scores.
    lost : int
        Ranks that ties cost beside it: 1 for a coverage, which counts the scores at q itself.
    """
    most = likely_crowd(population, n=n, length=resolution, chance=_UNLIKELY * beta)
    return most if most == 1 else most + lost


def with_window_count(theorem: RankError | CoverageTheorem) -> RankError | CoverageTheorem:
    """Return P-COQS's theorem with the M(Δ) that its scores need."""
    crowd = window_count_for(
        theorem.population,
        n=theorem.n,
        resolution=theorem.mechanism.resolution,
        beta=theorem.beta,
        lost=int(isinstance(theorem, CoverageTheorem)),
    )
    return replace(theorem, window_count=crowd)


@admission.register(ScoreTheorem)
def _of_scores(theorem: ScoreTheorem) -> Admission:
    printed = theorem.debiasing is Debiasing.PRINTED or theorem.blocks is Blocks.PRINTED
    standing = Standing.CORRECTED if theorem.two_sided else Standing.PAPER
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
    return _crowded(theorem, Standing.PAPER if theorem.windows == 1 else Standing.CORRECTED, lost=0)


@admission.register(CoverageTheorem)
def _of_search(theorem: CoverageTheorem) -> Admission:
    standing = Standing.PAPER if theorem.windows == 1 else Standing.CORRECTED
    if theorem.reading is not CoverageReading.MARGINAL:
        standing = Standing.READING
    return _crowded(theorem, standing, lost=1)


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

    A corrected form where a miss does not return what is printed, or the search is another.
    """
    other = theorem.on_miss is not OnMiss.LAST_MIDPOINT or (
        isinstance(theorem, LabelTheorem) and theorem.search is not LabelSearch.WINDOW
    )
    if standing is Standing.PAPER and other:
        standing = Standing.CORRECTED
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
        f"of {theorem.n:,} such scores more than {theorem.window_count} may lie within Δ of each "
        f"other: M(Δ) = {needed:,} would admit them",
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
