"""Theorem checks that stop as soon as the answer is clear, and checks along n."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.stats import rate_power
from dpcp_audit.stats.rate_power import RateSequence
from dpcp_audit.stats.samples import Spread
from dpcp_audit.theorems.theorem import (
    RESOLUTION,
    beyond_multiples,
    case,
    failure_power,
    histogram,
    mean_note,
    rate_evidence,
    rate_limits,
    undetected,
    with_certified_tightness,
)
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.evidence import conclude, settled
from dpcp_audit.words.figures import Figure, FigureKind, Series
from dpcp_audit.words.formatting import power
from dpcp_audit.words.results import Count, Outcome, Power

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.theorems.theorem import Theorem
    from dpcp_audit.words.arrays import FloatArray
    from dpcp_audit.words.checks import Context

_FIRST_LOOK = 500
"""Trials before the first look, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SequentialRate:
    """Test a theorem's failure probability against δ, with as few trials as it takes.

    Looks are taken at an anytime-valid interval (``RateSequence``), so stopping early costs no
    error probability: it stops once the interval lies above δ, or below. The first look is where a
    run without failures would settle it, or at 500 trials; the trials are then doubled. What
    ``n_trials`` do not settle is judged by their power, as by ``FailureRate``.
    """

    theorem: Theorem
    n_trials: int = 64_000

    def __post_init__(self) -> None:
        _validate.integer(n_trials=self.n_trials, at_least=100)

    @property
    def sampled(self) -> bool:
        """The verdict takes from the error budget."""
        return True

    def __call__(self, context: Context) -> Outcome:
        """Run trials until the failure rate is settled or the budget is spent."""
        budget = context.samples(self.n_trials)
        sequence = self.sequence(context.significance)
        first = self._first_look(sequence)
        statistics: list[FloatArray] = []
        beyond: list[list[int]] = []
        tally = Count(of="failures", hits=0, trials=0, any_time=True)
        evidence = None
        while evidence is None or (not settled(evidence) and tally.trials < budget):
            count = min(max(first, tally.trials), budget - tally.trials)
            part = self.theorem.trials(count, rng=context.rng(len(statistics)))
            statistics.append(part.statistic)
            beyond.append([] if part.needed is None else beyond_multiples(part.needed))
            tally = replace(
                tally,
                hits=tally.hits + int(part.failed.sum()),
                trials=tally.trials + count,
                undecided=tally.undecided + part.undecided_only,
            )
            limits = rate_limits(tally, context.significance, sequence.interval)
            evidence = rate_evidence(self.theorem, limits, tally, context=context)
        spread = Spread.of(np.concatenate(statistics))
        outcome = conclude(
            evidence,
            lambda: undetected(self.smallest_violation(context), tally),
            detect=RESOLUTION,
            witness=case(self.theorem, trials=tally.trials, context=context),
            note=(
                f"{mean_note(spread, self.theorem)} {tally.trials} of at most {budget} trials "
                "were run."
            ),
            figures=(histogram(spread, self.theorem),),
        )
        counts = [sum(each) for each in zip(*beyond, strict=True)]
        return with_certified_tightness(
            outcome,
            self.theorem,
            beyond=counts,
            tally=tally,
            significance=context.significance,
            interval=sequence.interval,
        )

    def smallest_violation(self, context: Context) -> Power:
        """Return a failure probability that the full budget refutes with probability >= 0.95.

        The smallest one for a single look at the end; infinity where no outcome refutes.
        """
        smallest = self.sequence(context.significance).smallest_violation(
            self.theorem.allowed_failure, context.samples(self.n_trials)
        )
        return failure_power(self.theorem, smallest, "by the full budget")

    def draws_needed(self, violation: float, *, significance: float) -> int:
        """Return a budget at which a failure probability ``violation`` > δ is refuted.

        With probability at least 0.95, already by the look at the end.
        """
        return self.sequence(significance).draws_needed(self.theorem.allowed_failure, violation)

    def _first_look(self, sequence: RateSequence) -> int:
        """Return the fewest trials without a failure that settle it, or 500."""
        limit, allowed = -math.log(sequence.significance), self.theorem.allowed_failure
        return 1 + bisect_left(
            range(1, _FIRST_LOOK),
            limit,
            key=lambda trials: sequence.log_evidence(allowed, 0, trials),
        )

    def sequence(self, significance: float) -> RateSequence:
        """Return the confidence sequence, tuned to rates near δ."""
        return RateSequence(
            significance=significance, expected_rate=self.theorem.allowed_failure, strength=1.0
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AlongN:
    """Test a theorem's failure probability against δ at several n; the worst decides.

    Parameters
    ----------
    theorem_at : callable
        Returns the theorem at a given n.
    sizes : tuple of int
        The n to try; each has an equal share of the significance.
    """

    theorem_at: Callable[[int], Theorem]
    sizes: tuple[int, ...]
    n_trials: int = 4_000

    def __post_init__(self) -> None:
        _validate.integer(n_trials=self.n_trials, at_least=100)
        if not self.sizes:
            raise ValueError("sizes must not be empty, got ()")

    @property
    def sampled(self) -> bool:
        """The verdict takes from the error budget."""
        return True

    def __call__(self, context: Context) -> Outcome:
        """Run the trials at every n."""
        count = context.samples(self.n_trials)
        significance = context.significance / len(self.sizes)
        theorems, claimed = self._theorems()
        statistics: list[FloatArray] = []
        limits: list[tuple[float, float]] = []
        tallies: list[Count] = []
        for chunk, theorem in enumerate(theorems):
            run = theorem.trials(count, rng=context.rng(chunk))
            tally = Count(
                of=f"failures at n = {self.sizes[chunk]}",
                hits=int(run.failed.sum()),
                trials=count,
                undecided=run.undecided_only,
            )
            statistics.append(run.statistic)
            limits.append(rate_limits(tally, significance))
            tallies.append(tally)
        lows, highs = np.transpose(limits)
        worst = int(np.argmax(lows if lows.max() > claimed else highs))
        rates = [tally.hits / count for tally in tallies]
        return conclude(
            rate_evidence(
                theorems[worst],
                limits[worst],
                *tallies,
                context=context,
                worst=worst,
                detail="the largest over n",
            ),
            lambda: undetected(self.smallest_violation(context), *tallies),
            detect=RESOLUTION,
            witness=case(theorems[worst], trials=count, context=context),
            note=f"Worst at n = {power(self.sizes[worst])}.",
            figures=(self._figure(statistics, theorems), self._rate_figure(rates, claimed)),
        )

    def smallest_violation(self, context: Context) -> Power:
        """Return the smallest failure probability at one n that is refuted with probability 0.95.

        At that n's share of the significance, by itself: failures at other n can only add.
        Trials that may be undecided are not counted in; infinity where no outcome refutes.
        """
        theorems, claimed = self._theorems()
        smallest = rate_power.smallest_violation(
            claimed,
            context.samples(self.n_trials),
            significance=context.significance / len(self.sizes),
        )
        return failure_power(theorems[0], smallest, "at any one n")

    def draws_needed(self, violation: float, *, significance: float) -> int:
        """Return the fewest trials at each n that refute a failure probability ``violation`` > δ.

        With probability at least 0.95, where it holds at one n; ``significance`` is that of
        the whole check.
        """
        _validate.open_unit(significance=significance)
        share = significance / len(self.sizes)
        return rate_power.draws_needed(self._theorems()[1], violation, significance=share)

    def _theorems(self) -> tuple[list[Theorem], float]:
        """Return the theorem at every n, and the δ that all of them allow."""
        theorems = [self.theorem_at(n) for n in self.sizes]
        allowed = {theorem.allowed_failure for theorem in theorems}
        if len(allowed) > 1:
            raise ValueError(f"theorem_at must allow one failure probability, got {allowed}")
        return theorems, allowed.pop()

    def _figure(self, statistics: list[FloatArray], theorems: list[Theorem]) -> Figure:
        x = [float(n) for n in self.sizes]
        bands = {"1 % quantile": 0.01, "mean": None, "99 % quantile": 0.99}
        series = [
            Series(
                name=name,
                x=x,
                y=[float(s.mean() if q is None else np.quantile(s, q)) for s in statistics],
            )
            for name, q in bands.items()
        ]
        series += [
            Series(name=name, x=x, y=[t.bounds[name] for t in theorems])
            for name in theorems[0].bounds
        ]
        label = theorems[0].statistic
        return Figure(
            kind=FigureKind.LINES,
            title=f"{label[:1].upper()}{label[1:]} against n",
            x_label="n",
            y_label=label,
            log_x=True,
            series=series,
            description=f"Mean and 98 % band of the {label} with the theorem's bounds, along n.",
        )

    def _rate_figure(self, rates: list[float], claimed: float) -> Figure:
        x = [float(n) for n in self.sizes]
        return Figure(
            kind=FigureKind.LINES,
            title="Failure probability against n",
            x_label="n",
            y_label="failure probability",
            log_x=True,
            series=[
                Series(name="claimed: at most", x=[x[0], x[-1]], y=[claimed, claimed]),
                Series(name="measured", x=x, y=rates),
            ],
            description="The rate at which the bound is missed, along n, against the claimed δ.",
        )
