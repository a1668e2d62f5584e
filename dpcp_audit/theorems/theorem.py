"""Theorems as objects, and the checks that test them by simulation.

One tests how often a theorem fails against its δ, the other the mean of a bounded statistic.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from dpcp_audit.stats import rates
from dpcp_audit.stats.rates import RateSequence, clopper_pearson, mean_limits, mean_violation
from dpcp_audit.stats.samples import Spread
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.checks import Sampled, whole
from dpcp_audit.words.evidence import conclude, decide, of_mean, of_rate, settled
from dpcp_audit.words.formatting import number, rounded_down, rounded_up
from dpcp_audit.words.quantities import Bound, Quantity
from dpcp_audit.words.results import (
    Count,
    Figure,
    FigureKind,
    Outcome,
    PlainData,
    Power,
    Series,
    Verdict,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    from dpcp_audit.words.checks import Context
    from dpcp_audit.words.results import Evidence
    from dpcp_audit.words.validate import BoolArray, FloatArray

    Limits = Callable[[int, int], tuple[float, float]]


CHUNK = 50_000
"""Trials in a chunk, unless a check says otherwise."""
_FIRST_LOOK = 500
"""Trials before the first look, at most."""
ROUNDING = 1e-12
"""A statistic may exceed a bound by this much before it counts: 1 − 0.7 is not quite 0.3."""
RESOLUTION = 1.5
"""Trials of a theorem are cheap: a check has to be able to refute 1.5 times the claimed rate."""


class TheoremTrials(NamedTuple):
    """Independent trials of a theorem's event; every array has shape (trials,).

    ``undecided`` marks trials whose own error leaves open whether they failed: they count
    as failures in the upper limit of the failure probability, and not in the lower.
    ``uncorrected`` marks trials that would fail, their own error allowed for, without the theorem's
    correction, where that is known.
    """

    statistic: FloatArray
    failed: BoolArray
    undecided: BoolArray | None = None
    uncorrected: BoolArray | None = None

    @property
    def undecided_only(self) -> int:
        """The number of undecided trials that are not marked as failed as well."""
        return 0 if self.undecided is None else int((self.undecided & ~self.failed).sum())


class Theorem(Protocol):
    """A statement "with probability at least 1 − δ, the statistic is within its bound"."""

    @property
    def allowed_failure(self) -> float:
        """The δ that the theorem allows."""
        ...

    @property
    def statistic(self) -> str:
        """The name of the statistic, as an axis label."""
        ...

    @property
    def failure(self) -> Quantity:
        """The event whose probability fails: a coverage, or another bound."""
        ...

    @property
    def bounds(self) -> dict[str, float]:
        """The bounds on the statistic, by name."""
        ...

    @property
    def parameters(self) -> PlainData:
        """Everything that identifies the case, as plain data."""
        ...

    def trials(self, count: int, *, rng: np.random.Generator) -> TheoremTrials:
        """Run ``count`` independent trials."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureRate(Sampled):
    """Test a theorem's failure probability against its claimed δ.

    A check that is to be CONSISTENT has to refute 1.5 δ.

    :Null hypothesis: A trial of the theorem fails with probability at most δ.
    :Statistic: The number of failures among independent trials.
    :Level: At most the significance: half of it on the side that refutes, by the Clopper–Pearson
        limit; by an anytime-valid interval where trials stop early.
    :Power: ``smallest_violation``: the failure probability that is refuted with probability 0.95.
        Undecided trials are taken off: they count as failures in the upper limit only.
    :Reference: Clopper and Pearson (1934); Robbins (1970), where trials stop early.

    Parameters
    ----------
    theorem : Theorem
        The theorem to simulate.
    n_trials : int
        Trials at effort 1.
    chunk_trials : int
        Trials in a chunk: fewer where a trial is slow. Part of what a seed means.
    stops_early : bool
        True if trials end once the interval lies above δ, or below. It is then an anytime-valid
        interval (``RateSequence``), so that stopping costs no error probability. The first look is
        where a run without failures would settle it, or at 500 trials; the trials are then doubled.
    remark : str
        A remark on the case, with which the outcome's note ends.
    """

    theorem: Theorem
    n_trials: int = 20_000
    chunk_trials: int = CHUNK
    stops_early: bool = False
    remark: str = ""

    def __post_init__(self) -> None:
        _validate.integer(n_trials=self.n_trials, at_least=100)
        _validate.integer(chunk_trials=self.chunk_trials, at_least=1)

    def __call__(self, context: Context) -> Outcome:
        """Run the trials and judge the failure rate."""
        return whole(self, context)

    def chunks(self, context: Context) -> int:
        """Return the number of chunks."""
        if self.stops_early:
            return 1
        return -(-context.samples(self.n_trials) // self.chunk_trials)

    def chunk(self, context: Context, index: int) -> PlainData:
        """Run a chunk of the trials and count its failures."""
        budget = context.samples(self.n_trials)
        if not self.stops_early:
            size = chunk_size(budget, self.chunk_trials, index)
            return _counted(self.theorem, size, context.rng(index))
        looks = [_counted(self.theorem, min(self._first_look(context), budget), context.rng())]
        while True:
            found = _summed(looks)
            trials = _tally(found).trials
            if trials == budget or settled(self._evidence(_tally(found), context)):
                return found
            more = min(trials, budget - trials)
            looks.append(_counted(self.theorem, more, context.rng(len(looks))))

    def combine(self, context: Context, results: Sequence[PlainData]) -> Outcome:
        """Judge the failure rate of all chunks."""
        found = _summed(results)
        spread, tally = Spread.from_data(found["spread"]), _tally(found)
        note = mean_note(spread, self.theorem)
        if self.stops_early:
            tally = replace(tally, any_time=True)
            budget = context.samples(self.n_trials)
            note = f"{note} {tally.trials} of at most {budget} trials were run."
        outcome = conclude(
            self._evidence(tally, context),
            lambda: undetected(self.smallest_violation(context), tally),
            detect=RESOLUTION,
            witness=case(self.theorem, trials=tally.trials, context=context),
            note=f"{note} {self.remark}".rstrip(),
            figures=(histogram(spread, self.theorem),),
        )
        outcome = with_its_side(outcome, spread, self.theorem)
        uncorrected = found["uncorrected"]
        if uncorrected is None or outcome.power is None:
            return outcome
        _, upper = self._limits(context.significance)(uncorrected, tally.trials)
        if upper > self.theorem.allowed_failure:
            return outcome
        power = _without_any(outcome.power, self.theorem)
        verdict = decide(outcome.evidence, power=power)
        note = f"{outcome.note} No violation would be caught, {power.detail}."
        return replace(outcome, verdict=verdict, power=power, note=note)

    def smallest_violation(self, context: Context) -> Power:
        """Return the smallest failure probability that is refuted with probability 0.95.

        By all trials, whether or not they may end early. Trials that may be undecided are not
        counted in; infinity where no outcome refutes.
        """
        allowed, trials = self.theorem.allowed_failure, context.samples(self.n_trials)
        if self.stops_early:
            smallest = self._sequence(context.significance).smallest_violation(allowed, trials)
        else:
            smallest = rates.smallest_violation(allowed, trials, significance=context.significance)
        return Power(
            quantity=self.theorem.failure,
            smallest=smallest,
            claimed=allowed,
            detail="by the full budget" if self.stops_early else "",
        )

    def _first_look(self, context: Context) -> int:
        """Return the fewest trials without a failure that settle it, or 500."""
        sequence, allowed = self._sequence(context.significance), self.theorem.allowed_failure
        limit = -math.log(context.significance)
        return 1 + bisect_left(
            range(1, _FIRST_LOOK),
            limit,
            key=lambda trials: sequence.log_evidence(allowed, 0, trials),
        )

    def _sequence(self, significance: float) -> RateSequence:
        """Return the confidence sequence, tuned to rates near δ."""
        return RateSequence(significance=significance, expected_rate=self.theorem.allowed_failure)

    def _limits(self, significance: float) -> Limits:
        """Return the limits of a rate, from the numbers of failures and of trials."""
        if self.stops_early:
            return self._sequence(significance).interval
        return partial(clopper_pearson, significance=significance)

    def _evidence(self, tally: Count, context: Context) -> Evidence:
        """Return certified evidence; undecided trials are failures in the upper limit only."""
        limits = self._limits(context.significance)
        return of_rate(
            self.theorem.failure,
            (
                limits(tally.hits, tally.trials)[0],
                limits(tally.hits + tally.undecided, tally.trials)[1],
            ),
            tally,
            claimed=self.theorem.allowed_failure,
            confidence=1 - context.significance,
        )


def _counted(theorem: Theorem, size: int, rng: np.random.Generator) -> PlainData:
    """Run trials of a theorem and count their failures."""
    part = theorem.trials(size, rng=rng)
    return {
        "failed": int(part.failed.sum()),
        "undecided": part.undecided_only,
        "spread": Spread.of(part.statistic).as_data(),
        "uncorrected": None if part.uncorrected is None else int(part.uncorrected.sum()),
    }


def _summed(parts: Sequence[PlainData]) -> PlainData:
    """Return the counts of several parts together."""
    uncorrected = [part["uncorrected"] for part in parts]
    return {
        "failed": sum(part["failed"] for part in parts),
        "undecided": sum(part["undecided"] for part in parts),
        "spread": Spread.merged(Spread.from_data(part["spread"]) for part in parts).as_data(),
        "uncorrected": None if None in uncorrected else sum(uncorrected),
    }


def _tally(found: PlainData) -> Count:
    return Count(
        of="failures",
        hits=found["failed"],
        trials=found["spread"]["count"],
        undecided=found["undecided"],
    )


def with_its_side(outcome: Outcome, spread: Spread, theorem: Theorem) -> Outcome:
    """Return a refutation of a coverage's bounds that says so where the upper one alone fails."""
    lower, *upper = theorem.bounds.values()
    above = bool(upper) and spread.low >= lower - ROUNDING
    coverage = outcome.evidence.quantity is Quantity.COVERAGE_FAILURE
    if outcome.verdict is not Verdict.REFUTED or not (above and coverage):
        return outcome
    return replace(
        outcome,
        evidence=replace(outcome.evidence, quantity=Quantity.OVER_COVERAGE),
        note=(
            f"{outcome.note} Every failure covers more than the upper bound, "
            f"{rounded_up(upper[0])}. The lower bound, {rounded_down(lower)}, held in every trial: "
            "no lower bound of the coverage is broken."
        ),
    )


def _without_any(power: Power, theorem: Theorem) -> Power:
    """Return the power of a case whose bound would hold without its correction: none.

    No wrong correction is refuted there, so that it is not CONSISTENT.
    """
    correction = getattr(theorem, "correction_name", "the correction")
    why = f"without any {correction} the bound would hold here too"
    return replace(power, smallest=math.inf, why=why)


def outside(
    statistic: FloatArray, bounds: dict[str, float], *, margin: FloatArray | float = 0.0
) -> BoolArray:
    """Return True for each value outside of the bounds by more than ``margin``.

    ``bounds`` holds a lower bound and, where there is one, an upper bound after it.
    """
    lower, *upper = bounds.values()
    failed = statistic + margin < lower - ROUNDING
    for bound in upper:
        failed |= statistic - margin > bound + ROUNDING
    return failed


def undetected(power: Power, tally: Count) -> Power:
    """Return the power where as many failures may hide as trials are undecided."""
    smallest = power.smallest + tally.undecided / tally.trials
    return replace(power, smallest=smallest if smallest <= 1 else math.inf)


def mean_note(spread: Spread, theorem: Theorem) -> str:
    """Return the mean of the statistic in a sentence.

    Where the trials differ by rounding alone, no standard deviation is told.
    """
    alike = spread.deviation <= ROUNDING * abs(spread.mean)
    deviation = number(spread.deviation, digits=2)
    told = "in every trial" if alike else f"(standard deviation {deviation})"
    return f"Mean {theorem.statistic} {number(spread.mean)} {told}."


def case(theorem: Theorem, *, trials: int, context: Context) -> PlainData:
    """Return the witness of simulated trials: the theorem's parameters, limits and the seed."""
    return theorem.parameters | {
        "limits": theorem.bounds,
        "trials": trials,
        "seed": context.seed,
    }


def histogram(spread: Spread, theorem: Theorem) -> Figure:
    """Return the histogram of the statistic with the theorem's bounds marked."""
    return Figure(
        kind=FigureKind.HISTOGRAM,
        title=f"{theorem.statistic[:1].upper()}{theorem.statistic[1:]}, {spread.count} trials",
        x_label=theorem.statistic,
        y_label="trials",
        series=[Series(name="trials", x=spread.edges, y=[float(cell) for cell in spread.cells])],
        marks=dict(theorem.bounds),
        description=(
            f"Histogram of the {theorem.statistic} of {spread.count} independent trials, with "
            "the bounds of the theorem as vertical lines."
        ),
    )


def chunk_size(trials: int, size: int, index: int) -> int:
    """Return the number of trials in a chunk: ``size``, or what is left for the last one."""
    return min(size, trials - index * size)


_LOOKS = 5
"""The number of looks of a check that may stop early."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanBound(Sampled):
    """Test the mean of a bounded statistic against a claimed bound.

    A check that is to be CONSISTENT has to refute a mean that misses its bound by ``tolerance``.

    :Null hypothesis: The mean of the statistic is at least ``at_least``, or at most ``at_most``.
    :Statistic: The mean of independent trials, and their variance.
    :Level: At most the significance: half of it on the side that refutes, by the
        empirical-Bernstein limit. Conservative.
    :Power: ``smallest_violation``: the mean that is refuted with probability 0.95, taking means of
        so many values as normal.
    :Reference: Maurer and Pontil (2009), Theorem 4.

    Parameters
    ----------
    at_least, at_most : float
        The claimed bounds on the mean.
    range : tuple of float
        Bounds that the statistic never leaves.
    tolerance : float
        A miss that the check has to be able to refute, in units of the statistic.
    quantity : Quantity
        The quantity that the statistic is.
    stops_early : bool
        True if trials end at the first of five looks, at a 16th, an 8th, a quarter, a half and all
        of them, at which the interval lies within the claim, or beyond it. The last look has half
        of the significance, those before have equal shares of the other half, so that any of them
        misses the mean with at most the significance (a union bound).
    """

    theorem: Theorem
    at_least: float = -math.inf
    at_most: float = math.inf
    range: tuple[float, float] = (0.0, 1.0)
    tolerance: float = 0.005
    n_trials: int = 20_000
    quantity: Quantity = Quantity.COVERAGE
    stops_early: bool = False

    def __post_init__(self) -> None:
        _validate.non_negative(tolerance=self.tolerance)
        _validate.integer(n_trials=self.n_trials, at_least=100)
        given = (self.at_least != -math.inf, self.at_most != math.inf)
        if sum(given) != 1 or not any(map(math.isfinite, (self.at_least, self.at_most))):
            raise ValueError(
                "exactly one of at_least and at_most must be given, a finite number, got "
                f"{self.at_least!r} and {self.at_most!r}"
            )

    def __call__(self, context: Context) -> Outcome:
        """Run the trials and judge their mean."""
        return whole(self, context)

    def chunks(self, context: Context) -> int:
        """Return the number of chunks."""
        return 1 if self.stops_early else -(-context.samples(self.n_trials) // CHUNK)

    def chunk(self, context: Context, index: int) -> PlainData:
        """Run a chunk of the trials and summarise them."""
        budget = context.samples(self.n_trials)
        if not self.stops_early:
            return self._trials(chunk_size(budget, CHUNK, index), context, index).as_data()
        spread = self._trials(budget >> _LOOKS - 1, context, 0)
        for look in range(1, _LOOKS):
            if settled(self._evidence(spread, context)):
                break
            more = (budget >> _LOOKS - 1 - look) - spread.count
            spread = spread.merge(self._trials(more, context, look))
        return spread.as_data()

    def combine(self, context: Context, results: Sequence[PlainData]) -> Outcome:
        """Judge the mean over all chunks; what it does not settle, the power does."""
        spread = Spread.merged(map(Spread.from_data, results))
        power = self.smallest_violation(context, variance=spread.variance)
        note = mean_note(spread, self.theorem)
        if self.stops_early:
            budget = context.samples(self.n_trials)
            note = f"{note} {spread.count:,} of at most {budget:,} trials were run."
        near = abs(power.smallest - self.claimed) <= self.tolerance
        return conclude(
            self._evidence(spread, context),
            lambda: power,
            detect=math.inf if near else 1.0,
            witness=self.theorem.parameters | {"trials": spread.count, "seed": context.seed},
            note=note,
            figures=(histogram(spread, self.theorem),),
        )

    def _trials(self, count: int, context: Context, index: int) -> Spread:
        return Spread.of(self.theorem.trials(count, rng=context.rng(index)).statistic)

    def _share(self, context: Context, trials: int) -> float:
        """Return the share of the significance that the look at so many trials has."""
        if not self.stops_early:
            return context.significance
        last = trials == context.samples(self.n_trials)
        return context.significance / (2 if last else 2 * (_LOOKS - 1))

    def _evidence(self, spread: Spread, context: Context) -> Evidence:
        """Return the mean with its interval at its share of the check's significance."""
        least, most = self.range
        if not least <= spread.low <= spread.high <= most:
            raise ValueError(
                f"values must lie in [{least:g}, {most:g}], got values from "
                f"{spread.low:.6g} to {spread.high:.6g}"
            )
        low, high = (
            float(end)
            for end in mean_limits(
                spread.mean,
                spread.variance,
                spread.count,
                bounds=self.range,
                significance=self._share(context, spread.count),
            )
        )
        return of_mean(
            self.quantity,
            spread.mean,
            (low, high),
            claimed=self.claimed,
            confidence=1 - context.significance,
            trials=spread.count,
            variance=spread.variance,
            bound=self.bound,
            limits=self.range,
            detail=f"mean {self.theorem.statistic}",
        )

    @property
    def bound(self) -> Bound:
        """The side of the mean that the claim bounds."""
        return Bound.AT_LEAST if math.isinf(self.at_most) else Bound.AT_MOST

    @property
    def claimed(self) -> float:
        """The claimed bound."""
        return self.at_least if self.bound is Bound.AT_LEAST else self.at_most

    def smallest_violation(self, context: Context, *, variance: float) -> Power:
        """Return the mean closest to its bound that is refuted with probability 0.95.

        By all trials, of a statistic with that variance, and means of so many values taken as
        normal.
        """
        trials = context.samples(self.n_trials)
        miss = mean_violation(
            variance, trials, bounds=self.range, significance=self._share(context, trials)
        )
        return Power(
            quantity=self.quantity,
            smallest=self._missing(miss),
            claimed=self.claimed,
            bound=self.bound,
            detail="by the full budget" if self.stops_early else "",
        )

    def _missing(self, miss: float) -> float:
        """Return the mean that misses its bound by so much; infinite where there is none."""
        sign = 1 if self.bound is Bound.AT_MOST else -1
        mean = self.claimed + sign * miss
        return mean if self.range[0] <= mean <= self.range[1] else sign * math.inf
