"""The check of a mean that stops at the first of a few looks at which the answer is clear."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpcp_audit.decisions import decide
from dpcp_audit.results import Verdict
from dpcp_audit.stats.trial_summary import Spread

if TYPE_CHECKING:
    from dpcp_audit.checks import Context
    from dpcp_audit.results import Outcome, Power
    from dpcp_audit.theorems.mean_bound import MeanBound

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
        while decide(evidence) is Verdict.INCONCLUSIVE and look < _LOOKS:
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
