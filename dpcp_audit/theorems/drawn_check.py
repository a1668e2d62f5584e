"""A check that draws the theorem's statistic, where it computes without drawing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpcp_audit.stats.trial_summary import Spread
from dpcp_audit.theorems.theorem import Theorem, histogram

if TYPE_CHECKING:
    from dpcp_audit.checks import Check, Context
    from dpcp_audit.results import Outcome

_TRIALS, _CHUNK = 10_000, 1
"""The chunk whose random stream draws them; that of the check itself is 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A check of a theorem whose outcome has a figure: that of simulated trials, if no other."""

    check: Check
    theorem: Theorem

    @property
    def sampled(self) -> bool:
        """Whether the check itself is sampled: the figure decides nothing."""
        return self.check.sampled

    def __call__(self, context: Context) -> Outcome:
        """Run the check, and draw where it did not."""
        outcome = self.check(context)
        if outcome.figures:
            return outcome
        trials = self.theorem.trials(_TRIALS, rng=context.rng(_CHUNK))
        return replace(outcome, figures=(histogram(Spread.of(trials.statistic), self.theorem),))
