"""The power of a canary audit before it runs: how much less noise its guesses would refute.

The attacker is the best that there is: its guesses are right as often as the training's own curve
allows, each canary by itself. An attack that sees less refutes less.

What is shown of a canary audit: the bounds in words and over the number of runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scipy.stats import binom

from dpcp_audit.audits.estimates.shown_losses import from_below
from dpcp_audit.audits.training.canary_games import BLOCK, MISSED, MOST_GUESSES, grouped, spread
from dpcp_audit.audits.training.one_run import refutes, total
from dpcp_audit.stats.roots import fewest, turn
from dpcp_audit.words.figures import Figure, FigureKind, Series
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import Estimate, Power

if TYPE_CHECKING:
    from collections.abc import Sequence

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


_USUAL = 0.95
_NO_UPPER_END = "canaries of one run may depend on each other, and better attacks may show more"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownBounds:
    """Certified lower bounds of ε(δ), beside the accounted ε.

    Parameters
    ----------
    accounted, delta : float
        The claim.
    runs, canaries : int
        Trainings, and canaries of each.
    strict : float
        The bound without assumptions, at the confidence of the check.
    usual : float
        The same at 95 % confidence.
    among_noises : float
        At 95 %, among trainings that differ in the noise alone; it refutes nothing.
    """

    accounted: float
    delta: float
    runs: int
    canaries: int
    strict: float
    usual: float
    among_noises: float

    def note(self, guesses: Guesses) -> str:
        """Return the bounds in words, with how many of the guesses are right."""
        return (
            f"Accounted: ε = {self.accounted:.4g}. Certified without any assumption about the "
            f"mechanism: {self._of(self.usual)} at 95 % confidence, "
            f"{self._of(self.strict)} at the confidence of this check; among trainings that "
            "differ in the noise alone, by the claim's trade-off: "
            f"{self._of(self.among_noises)} at 95 %. "
            f"{self.runs} {'run' if self.runs == 1 else 'runs'} of {self.canaries} "
            f"{'canary' if self.canaries == 1 else 'canaries'}; of the {guesses.guesses} "
            f"that look most like members, {guesses.correct / guesses.guesses:.1%} are."
        )

    def _of(self, bound: float) -> str:
        return f"ε ≥ {bound:.3g} ({bound / self.accounted:.2f} of it)"

    def estimate(self) -> Estimate:
        """Return ε(δ) as it is certified at 95 %, whatever the mechanism."""
        certified = Estimate(
            quantity=Quantity.EPSILON,
            value=self.usual,
            lower=self.usual,
            upper=math.inf,
            confidence=_USUAL,
            at={"delta": self.delta},
        )
        return from_below(certified, why=_NO_UPPER_END)

    def figure(self, points: Sequence[tuple[int, float, float]]) -> Figure:
        """Return the bounds over the number of runs, or of the canaries of a single one.

        Parameters
        ----------
        points : sequence of tuple
            Runs or canaries, our bound and the binomial theorem's.
        """
        x = [float(point[0]) for point in points]
        label = "canaries in the run" if self.runs == 1 else "runs"
        names = ("certified, any mechanism", "Steinke, Nasr and Jagielski (2023)")
        accounted = [self.accounted] * 2
        return Figure(
            kind=FigureKind.LINES,
            title=f"Certified ε at δ = {self.delta:g} and 95 % confidence",
            x_label=label,
            y_label="ε",
            log_x=True,
            series=[
                Series(name="accounted", x=[x[0], x[-1]], y=accounted),
                *(
                    Series(name=name, x=x, y=[point[k] for point in points])
                    for k, name in enumerate(names, start=1)
                ),
            ],
            description=f"Lower bounds of ε over the number of {label}, against the accounted ε.",
        )
