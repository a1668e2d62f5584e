"""The check of a theorem that bounds the mean of its statistic.

The check of a mean that stops at the first of a few looks at which the answer is clear.

A check that draws the theorem's statistic, where it computes without drawing.

A check of scores at hand, whose witness holds them: no results file could name them else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpcp_audit.stats import roots as mean_power
from dpcp_audit.stats.intervals import mean_limits
from dpcp_audit.stats.samples import Spread
from dpcp_audit.theorems.theorem import CHUNK, Theorem, chunk_size, histogram, mean_note
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.checks import whole
from dpcp_audit.words.evidence import conclude, of_mean, settled
from dpcp_audit.words.quantities import Bound, Quantity
from dpcp_audit.words.results import Outcome, PlainData, Power

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.words.checks import Check, Context
    from dpcp_audit.words.results import Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanBound:
    """Test the mean of a bounded statistic against claimed bounds.

    The evidence is the empirical-Bernstein interval at the check's significance; a check that is
    to be CONSISTENT has to refute a mean that misses its bound by ``tolerance``.

    Parameters
    ----------
    at_least, at_most : float
        The claimed bounds on the mean.
    range : tuple of float
        Bounds that the statistic never leaves.
    tolerance : float
        A miss that the check has to be able to refute, in units of the statistic.
    quantity : Quantity
        What the statistic is.
    """

    theorem: Theorem
    at_least: float = -math.inf
    at_most: float = math.inf
    range: tuple[float, float] = (0.0, 1.0)
    tolerance: float = 0.005
    n_trials: int = 20_000
    quantity: Quantity = Quantity.COVERAGE

    def __post_init__(self) -> None:
        _validate.non_negative(tolerance=self.tolerance)
        _validate.integer(n_trials=self.n_trials, at_least=100)
        given = (self.at_least != -math.inf, self.at_most != math.inf)
        if sum(given) != 1 or not any(map(math.isfinite, (self.at_least, self.at_most))):
            raise ValueError(
                "exactly one of at_least and at_most must be given, a finite number, got "
                f"{self.at_least!r} and {self.at_most!r}"
            )

    @property
    def sampled(self) -> bool:
        """The verdict takes from the error budget."""
        return True

    def __call__(self, context: Context) -> Outcome:
        """Run the trials and judge their mean."""
        return whole(self, context)

    def chunks(self, context: Context) -> int:
        """Return the number of chunks."""
        return -(-context.samples(self.n_trials) // CHUNK)

    def chunk(self, context: Context, index: int) -> PlainData:
        """Run a chunk of the trials and summarise them."""
        size = chunk_size(context.samples(self.n_trials), CHUNK, index)
        return Spread.of(self.theorem.trials(size, rng=context.rng(index)).statistic).as_data()

    def combine(self, context: Context, results: Sequence[PlainData]) -> Outcome:
        """Judge the mean over all chunks."""
        spread = Spread.merged(map(Spread.from_data, results))
        evidence = self.evidence(spread, context, significance=context.significance)
        power = self.smallest_violation(context, variance=spread.variance)
        return self.judged(spread, evidence, power, context=context)

    def evidence(self, spread: Spread, context: Context, *, significance: float) -> Evidence:
        """Return the mean with its interval at a share of the check's significance."""
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
                significance=significance,
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

    def judged(
        self, spread: Spread, evidence: Evidence, power: Power, *, context: Context, note: str = ""
    ) -> Outcome:
        """Return the outcome of the trials; what their mean does not settle, the power does."""
        return conclude(
            evidence,
            lambda: power,
            detect=self._detect(power),
            witness=self.theorem.parameters | {"trials": spread.count, "seed": context.seed},
            note=f"{mean_note(spread, self.theorem)} {note}".rstrip(),
            figures=(histogram(spread, self.theorem),),
        )

    @property
    def bound(self) -> Bound:
        """Which side of the mean is claimed."""
        return Bound.AT_LEAST if math.isinf(self.at_most) else Bound.AT_MOST

    @property
    def claimed(self) -> float:
        """The claimed bound."""
        return self.at_least if self.bound is Bound.AT_LEAST else self.at_most

    def smallest_violation(self, context: Context, *, variance: float) -> Power:
        """Return the mean closest to its bound that is refuted with probability 0.95.

        Of a statistic with that variance, and means of so many values taken as normal.
        """
        miss = mean_power.smallest_violation(
            variance,
            context.samples(self.n_trials),
            bounds=self.range,
            significance=context.significance,
        )
        return Power(
            quantity=self.quantity,
            smallest=self._missing(miss),
            claimed=self.claimed,
            bound=self.bound,
        )

    def draws_needed(self, violation: float, *, significance: float, variance: float) -> int:
        """Return the fewest trials at which a mean ``violation`` beyond its bound is refuted."""
        miss = abs(violation - self.claimed)
        return mean_power.draws_needed(variance, miss, bounds=self.range, significance=significance)

    def _missing(self, miss: float) -> float:
        """Return the mean that misses its bound by so much; infinite where there is none."""
        sign = 1 if self.bound is Bound.AT_MOST else -1
        mean = self.claimed + sign * miss
        return mean if self.range[0] <= mean <= self.range[1] else sign * math.inf

    def _detect(self, power: Power) -> float:
        """Return the factor that the power must reach: any, where it is within the tolerance."""
        return math.inf if abs(power.smallest - self.claimed) <= self.tolerance else 1.0


_LOOKS = 5
"""Looks at a 16th, an 8th, a quarter, a half and all of the budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SequentialMean:
    """Test a mean against its bound, with as few trials as it takes.

    Each look is at the interval of ``MeanBound``: the last one at half of the significance, those
    before at equal shares of the other half, so that any of them misses the mean with at most the
    significance (a union bound). It stops once the interval lies within the claim, or beyond it;
    what the whole budget does not settle is judged by its power, as by ``MeanBound``.

    Parameters
    ----------
    bound : MeanBound
        What is claimed; its ``n_trials`` are the budget.
    """

    bound: MeanBound

    @property
    def sampled(self) -> bool:
        """The verdict takes from the error budget."""
        return True

    def __call__(self, context: Context) -> Outcome:
        """Run trials until the mean is settled or the budget is spent."""
        budget = context.samples(self.bound.n_trials)
        spread = self._trials(budget >> _LOOKS - 1, context, look=1)
        look, evidence = 1, self.bound.evidence(spread, context, significance=_share(context, 1))
        while not settled(evidence) and look < _LOOKS:
            look += 1
            more = (budget >> _LOOKS - look) - spread.count
            spread = spread.merge(self._trials(more, context, look=look))
            evidence = self.bound.evidence(spread, context, significance=_share(context, look))
        return self.bound.judged(
            spread,
            evidence,
            self.smallest_violation(context, variance=spread.variance),
            context=context,
            note=f"{spread.count:,} of at most {budget:,} trials were run.",
        )

    def smallest_violation(self, context: Context, *, variance: float) -> Power:
        """Return the mean closest to its bound that is refuted with probability 0.95.

        By the whole budget: trials stop early only where the mean is settled.
        """
        last = replace(context, significance=_share(context, _LOOKS))
        found = self.bound.smallest_violation(last, variance=variance)
        return replace(found, detail="by the full budget")

    def _trials(self, count: int, context: Context, *, look: int) -> Spread:
        rng = context.rng(look - 1)
        return Spread.of(self.bound.theorem.trials(count, rng=rng).statistic)


def _share(context: Context, look: int) -> float:
    """Return the share of the significance that a look has."""
    return context.significance / (2 if look == _LOOKS else 2 * (_LOOKS - 1))


_TRIALS, _CHUNK = 10_000, 1
"""The chunk whose random stream draws them; that of the check itself is 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A check of a theorem whose outcome has a figure: that of simulated trials, if no other."""

    check: Check
    theorem: Theorem

    @property
    def sampled(self) -> bool:
        """True if the check itself is sampled: the figure decides nothing."""
        return self.check.sampled

    def __call__(self, context: Context) -> Outcome:
        """Run the check, and draw where it did not."""
        outcome = self.check(context)
        if outcome.figures:
            return outcome
        trials = self.theorem.trials(_TRIALS, rng=context.rng(_CHUNK))
        return replace(outcome, figures=(histogram(Spread.of(trials.statistic), self.theorem),))


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedArrays:
    """A check that runs in one piece, and adds the arrays that it ran on to its witness."""

    check: Check
    arrays: PlainData

    @property
    def sampled(self) -> bool:
        """True if the check itself is sampled."""
        return self.check.sampled

    def __call__(self, context: Context) -> Outcome:
        """Run the check."""
        outcome = self.check(context)
        return replace(outcome, witness=outcome.witness | self.arrays)
