"""The check of a theorem that bounds the mean of its statistic."""

from __future__ import annotations

import math
from dataclasses import dataclass
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

    from dpcp_audit.words.checks import Context
    from dpcp_audit.words.results import Evidence

_LOOKS = 5
"""The number of looks of a check that may stop early."""


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

    @property
    def sampled(self) -> bool:
        """The verdict takes from the error budget."""
        return True

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
        miss = mean_power.smallest_violation(
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
