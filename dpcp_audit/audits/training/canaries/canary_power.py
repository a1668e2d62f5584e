"""The power of a canary audit before it runs: how much less noise its guesses would refute.

The attacker is the best that there is: its guesses are right as often as the training's own curve
allows, each canary by itself. An attack that sees less refutes less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scipy.stats import binom

from dpcp_audit.audits.training.canaries.guess_counts import (
    BLOCK,
    MISSED,
    MOST_GUESSES,
    grouped,
    spread,
)
from dpcp_audit.audits.training.one_run import refutes, total
from dpcp_audit.quantities import Quantity
from dpcp_audit.results import Power
from dpcp_audit.stats.bisection import fewest, turn

if TYPE_CHECKING:
    from dpcp_audit.audits.training.one_run import Guesses
    from dpcp_audit.mechanisms.dpsgd.subsampled_gaussian import SubsampledGaussian

_LEAST_NOISE, _STEPS = 4.0, 8
"""Noise down to a sixteenth of the claim's, to 1 %."""
_MOST, _SHARE = 2**24, 50
_DETAIL = "by an attack that is right as often as so little noise allows"


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryPlan:
    """The guesses that a canary audit is going to make against its claim.

    Parameters
    ----------
    claim : SubsampledGaussian
    delta : float
        At which ε is stated.
    canaries, runs : int
        Canaries in each of so many runs.
    side_by_side : int
        Runs of a chunk.
    share : float
        Of the canaries, how many are guessed "in"; at most 10,000.
    """

    claim: SubsampledGaussian
    delta: float
    canaries: int
    runs: int
    side_by_side: int
    share: float

    def groups(self) -> list[Guesses]:
        """Return the groups of guesses, none of them right."""
        share = min(self.share, MOST_GUESSES / (self.canaries * self.runs))
        block = max(1, round(BLOCK / self.canaries))
        parts: list[dict[str, int]] = []
        for start in range(0, self.runs, self.side_by_side):
            chunk = min(self.side_by_side, self.runs - start)
            for first in range(0, chunk, block):
                seen = min(block, chunk - first) * self.canaries
                made = max(1, round(share * seen))
                parts.append({"correct": 0, "guesses": made, "canaries": seen})
        return grouped(parts)

    def smallest_violation(self, *, significance: float) -> Power:
        """Return the ε of the largest noise that is refuted with probability 0.95 or so.

        Infinity where a sixteenth of the noise is not.
        """
        claimed = self.claim.epsilon_at(self.delta)

        def refuted(fewer: float) -> bool:
            return self.refutes(_with_less(self.claim, fewer), significance=significance)

        smallest = math.inf
        if refuted(_LEAST_NOISE):
            fewer = turn(refuted, 0.0, _LEAST_NOISE, steps=_STEPS).holds
            smallest = _with_less(self.claim, fewer).epsilon_at(self.delta)
        return Power(
            quantity=Quantity.EPSILON,
            smallest=smallest,
            claimed=claimed,
            at={"delta": self.delta},
            detail=_DETAIL,
        )

    def draws_needed(self, violation: float, *, significance: float) -> int:
        """Return the runs, or the canaries of a single one, that refute a training of this ε.

        Raises
        ------
        ValueError
            If the claim allows it, or if no number is large enough.
        """
        if not violation > self.claim.epsilon_at(self.delta):
            raise ValueError(f"violation must exceed the claim's ε, got {violation!r}")

        def loses(fewer: float) -> bool:
            return _with_less(self.claim, fewer).epsilon_at(self.delta) >= violation

        truth = _with_less(self.claim, turn(loses, 0.0, _LEAST_NOISE, steps=_STEPS).holds)

        def enough(number: int) -> bool:
            single = self.runs == 1
            plan = replace(self, canaries=number) if single else replace(self, runs=number)
            return plan.refutes(truth, significance=significance)

        needed = fewest(enough, at_least=2, most=_MOST, share=_SHARE)
        if needed is None:
            raise ValueError(f"violation is too close to the claim, got {violation!r}")
        return needed

    def refutes(self, truth: SubsampledGaussian, *, significance: float) -> bool:
        """Tell whether the claim is refuted by as many right guesses as ``truth`` shows.

        At the 5 % quantile of their number, spread evenly over the groups.
        """
        groups = self.groups()
        made = total(groups)
        rate = right_share(truth, made.guesses / made.canaries)
        right = int(binom.ppf(MISSED, made.guesses, rate))
        return refutes(self.claim, *spread(groups, right), significance=significance)


def _with_less(claim: SubsampledGaussian, halvings: float) -> SubsampledGaussian:
    """Return the training with 2^−``halvings`` times the noise."""
    return replace(claim, noise_multiplier=claim.noise_multiplier * 2**-halvings)


def right_share(truth: SubsampledGaussian, share: float) -> float:
    """Return how often the best guesses of "in" are right, of so large a share of the canaries.

    Guessed are those whose score exceeds a threshold: TPR/2 of the canaries rightly, and FPR/2
    wrongly, at the point of the training's curve where they make up the share.
    """

    def guessed(fpr: float) -> float:
        return (float(truth.power(fpr)) + fpr) / 2

    fpr = turn(lambda x: guessed(x) >= share, 0.0, 1.0, relative=1e-9).holds
    return min(1.0, 1 - fpr / (2 * share))
