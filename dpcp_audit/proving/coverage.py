"""Coverage of a threshold at a public or drawn rank, for every law of scores, from the source.

The rank of the next score among n + 1 exchangeable ones is uniform, so that the k-th smallest of
the n others covers it with probability k/(n + 1); with ties at least, since sets hold the scores up
to the threshold. Where the rank is drawn, the coverage is the mean over the ranks. Of i.i.d. scores
without ties, the coverage given the data has the law Beta(k, n + 1 - k).

References
----------
Vovk, Gammerman and Shafer 2005, "Algorithmic learning in a random world", Section 2.2; Vovk 2012,
"Conditional validity of inductive conformal predictors", Proposition 2a.
"""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from flint import ctx

from dpcp_audit.proving.charges import decimal
from dpcp_audit.proving.coverage_reader import CoverageReader, OrderStatistic
from dpcp_audit.proving.distances import Refusal, Value, is_known
from dpcp_audit.proving.exact_numbers import exact_of, is_scalar
from dpcp_audit.proving.known_calls import all_records, returned_by
from dpcp_audit.proving.paths import Choices
from dpcp_audit.proving.proof_result import ProofResult, exceeded
from dpcp_audit.proving.sources import function_name, source_of
from dpcp_audit.proving.spending import Total
from dpcp_audit.stats.enclosures import beta_cdf, exact, lower, upper
from dpcp_audit.words.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dpcp_audit.proving.paths import Note
    from dpcp_audit.words.guarantees import Coverage

_MOST_READINGS = 2_000
"""Sequences of outcomes of draws that are read at most."""
_UNBOUNDED = Fraction(10) ** 400
"""An end of scores without bounds, which no double but infinity reaches."""
_WIDEST = 2.0**1000
_BITS = 192


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageSetting:
    """The setting in which thresholds are compared with scores.

    Parameters
    ----------
    n : int
        The number of scores.
    bounds : tuple of float
        The range of the scores; an end may be infinite.
    ties : bool
        True if laws with ties are meant.
    open_sets : bool
        True if sets are {y : score < threshold}, and not <=.
    """

    n: int
    bounds: tuple[float, float] = (0.0, 1.0)
    ties: bool = True
    open_sets: bool = False


@dataclass(frozen=True, slots=True)
class Threshold:
    """A function's result on one sequence of outcomes of its draws, and their least probability.

    ``value`` is an order statistic, or a number.
    """

    value: OrderStatistic | float
    chance: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageBounds:
    """Bounds of a threshold's coverage.

    Parameters
    ----------
    thresholds : tuple of Threshold
        One for each sequence of outcomes.
    line : int
        The line of the function.
    """

    setting: CoverageSetting
    thresholds: tuple[Threshold, ...]
    line: int

    def least(self, what: Callable[[Threshold], Fraction]) -> Fraction:
        """Return the mean of a number in [0, 1] over the draws, from below."""
        return sum((each.chance * what(each) for each in self.thresholds), Fraction(0))

    def most(self, what: Callable[[Threshold], Fraction]) -> Fraction:
        """Return the mean of a number in [0, 1] over the draws, from above."""
        return 1 - self.least(lambda each: 1 - what(each))

    @property
    def of_all_laws(self) -> tuple[Fraction, Fraction]:
        """The smallest and the largest mean coverage that any law may have."""
        return self.least(self._least_of), self.most(self._most_of)

    @property
    def uniform(self) -> tuple[Fraction, Fraction]:
        """Bounds of the mean coverage of scores that are uniform between their bounds."""
        low = self.least(lambda each: self._of_uniform(each, Fraction(0)))
        return low, self.most(lambda each: self._of_uniform(each, Fraction(1)))

    def failure(self, level: float) -> Fraction:
        """Return an upper bound of P(coverage given data and draws < level)."""
        return self.most(lambda each: self._failure_of(each.value, decimal(level)))

    def failure_of_uniform(self, level: float) -> Fraction:
        """Return a lower bound of that probability for uniform scores; 0 where it is unknown."""
        return self.least(lambda each: self._failure_of_uniform(each.value, decimal(level)))

    def _least_of(self, threshold: Threshold) -> Fraction:
        value = threshold.value
        if isinstance(value, OrderStatistic):
            tied = self.setting.open_sets and self.setting.ties
            return Fraction(0) if tied else Fraction(value.low, value.n + 1)
        return Fraction(int(self._covers_all(value)))

    def _most_of(self, threshold: Threshold) -> Fraction:
        value = threshold.value
        if not isinstance(value, OrderStatistic) or self.setting.ties:
            return Fraction(1)
        return Fraction(value.high, value.n + 1)

    def _covers_all(self, value: float) -> bool:
        high = self.setting.bounds[1]
        return value == math.inf or (value > high if self.setting.open_sets else value >= high)

    def _of_uniform(self, threshold: Threshold, unknown: Fraction) -> Fraction:
        value = threshold.value
        if isinstance(value, OrderStatistic):
            if value.high > value.n:
                return max(unknown, Fraction(value.low, value.n + 1))
            return (value.low + value.weight * (value.high - value.low)) / Fraction(value.n + 1)
        return self._share_below(value, unknown)

    def _share_below(self, value: float, unknown: Fraction) -> Fraction:
        """Return the chance of a uniform score below a number; the bounds may be infinite."""
        low, high = self.setting.bounds
        if value <= low or value >= high:
            return Fraction(int(value >= high))
        if not (math.isfinite(low) and math.isfinite(high)):
            return unknown
        return (decimal(value) - decimal(low)) / (decimal(high) - decimal(low))

    def _failure_of(self, value: OrderStatistic | float, level: Fraction) -> Fraction:
        if not isinstance(value, OrderStatistic):
            return Fraction(int(not self._covers_all(value)))
        if self.setting.open_sets and self.setting.ties:
            return Fraction(1)
        with ctx.workprec(_BITS):
            return Fraction(upper(beta_cdf(exact(level), value.low, value.n + 1 - value.low)))

    def _failure_of_uniform(self, value: OrderStatistic | float, level: Fraction) -> Fraction:
        if not isinstance(value, OrderStatistic):
            return Fraction(int(self._share_below(value, Fraction(1)) < level))
        if value.low < value.high:
            return Fraction(0)
        with ctx.workprec(_BITS):
            return Fraction(lower(beta_cdf(exact(level), value.low, value.n + 1 - value.low)))


def bounds_of(
    function: Callable[..., Any],
    setting: CoverageSetting,
    options: Mapping[str, Any],
    notes: dict[tuple[str, int], list[Note]] | None = None,
) -> CoverageBounds:
    """Return bounds on the coverage of a function's thresholds.

    Raises
    ------
    Refusal
        If the reading stops.
    """
    ends = [decimal(each) if math.isfinite(each) else _far(each) for each in setting.bounds]
    source = source_of(function)
    if any(math.isfinite(each) and abs(each) > _WIDEST for each in setting.bounds):
        line = source.node.lineno
        raise Refusal(line, "scores so large that their differences may be infinite")
    found: list[Threshold] = []
    given: tuple[int, ...] | None = ()
    while given is not None:
        reader = CoverageReader(setting.n, (ends[0], ends[1]), Choices(given))
        try:
            value = returned_by(reader, function, source, all_records((ends[0], ends[1])), options)
            found.append(_threshold(reader, value))
        except (Refusal, UsageError):
            raise
        except Exception as error:
            reason = f"the reading fails here: {type(error).__name__}: {error}"
            raise Refusal(reader.line, reason) from None
        if notes is not None:
            notes.update(reader.notes)
        given = reader.choices.following()
        if given is not None and len(found) == _MOST_READINGS:
            raise reader.refuse("so many outcomes of draws that not all can be read")
    return CoverageBounds(setting=setting, thresholds=tuple(found), line=source.node.lineno)


def _far(end: float) -> Fraction:
    return _UNBOUNDED if end > 0 else -_UNBOUNDED


def _threshold(reader: CoverageReader, value: Value) -> Threshold:
    chance = reader.chance.rational
    if chance is None:
        raise reader.refuse("an outcome of draws whose chance is not a rational number")
    if isinstance(value, OrderStatistic):
        return Threshold(value, chance)
    if is_known(value) and is_scalar(value) and not isinstance(value, bool):
        exact_value = exact_of(value)
        if exact_value is not None or value == math.inf:
            return Threshold(float(value), chance)
    raise reader.refuse(
        "the returned value is not an order statistic of the scores",
        "return np.sort(scores)[k - 1], of a rank k that does not depend on the scores",
    )


def prove_coverage(
    function: Callable[..., Any],
    claim: Coverage,
    setting: CoverageSetting,
    options: Mapping[str, Any],
) -> ProofResult:
    """Return the proof of a claim of coverage, for every law of the scores, or what stops it."""
    notes: dict[tuple[str, int], list[Note]] = {}
    source, stop = None, None
    totals: tuple[Total, ...] = ()
    try:
        source = source_of(function)
        found = bounds_of(function, setting, options, notes)
        total = total_of(found, claim)
        if total.within:
            totals = (total,)
        else:
            stop = Refusal(found.line, *shortfall(found, claim, total))
    except Refusal as refusal:
        stop = refusal
    return ProofResult(
        name=function_name(function),
        claims=(claim,),
        n=setting.n,
        totals=totals,
        spending=None,
        rules=("the rank of the next score is uniform: Vovk, Gammerman and Shafer 2005",),
        assumptions=assumptions(setting, claim),
        stop=stop,
        source=source,
        notes=notes,
    )


def assumptions(setting: CoverageSetting, claim: Coverage) -> tuple[str, ...]:
    """Return the assumptions of a proof of coverage."""
    low, high = setting.bounds
    drawn = "exchangeable" if claim.confidence == 1 else "independent, of one law"
    tied = "with or without ties" if setting.ties else "without ties"
    sets = "below" if setting.open_sets else "at most"
    return (
        f"the scores and the next one are {drawn}, {tied}",
        f"every score is a finite number in [{low:g}, {high:g}], in a NumPy array of floats",
        f"sets hold the labels whose score is {sets} the threshold",
        "numbers are real numbers: noise and differences of scores neither round nor overflow",
        "the generator's draws are independent of the scores and of each other, of the stated laws",
        "names outside of the function mean what they mean now",
    )


def total_of(found: CoverageBounds, claim: Coverage) -> Total:
    """Return an upper bound of the quantity that is claimed."""
    if claim.per_class:
        raise Refusal(found.line, "the coverage of each class is not that of all scores")
    if claim.at_most < 1:
        raise Refusal(found.line, "an upper bound of the coverage, which scores with ties break")
    if claim.confidence < 1:
        failure = found.failure(claim.at_least)
        limit = 1 - decimal(claim.confidence)
        return Total("the share of calibrations that cover less", failure, limit, {})
    return Total("miscoverage", 1 - found.of_all_laws[0], 1 - decimal(claim.at_least), {})


def shortfall(found: CoverageBounds, claim: Coverage, short: Total) -> tuple[str, str]:
    """Return the reason why a coverage claim is not proved, and a remedy that proves it."""
    reason = exceeded(short)
    untied = replace(found, setting=replace(found.setting, ties=False))
    if found.setting.open_sets and found.setting.ties:
        enough = total_of(untied, claim).within
        return reason, "of scores without ties it is proved: --no-ties" if enough else ""
    sizes = {each.value.n for each in found.thresholds if isinstance(each.value, OrderStatistic)}
    n = sizes.pop() if len(sizes) == 1 else found.setting.n

    def proves(rank: int) -> bool:
        one = Threshold(OrderStatistic(n, rank, rank), Fraction(1))
        return total_of(replace(found, thresholds=(one,)), claim).within

    rank = bisect.bisect_left(range(1, n + 1), True, key=proves) + 1
    if rank > n:
        return reason, f"return np.inf: {n} scores are too few for a rank"
    return reason, f"rank {rank} of {n} would prove it"
