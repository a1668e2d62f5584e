"""Theorem checks that stop as soon as the answer is clear, and checks along n."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit import _validate
from dpcp_audit.figures import Figure, FigureKind, Series
from dpcp_audit.results import Count, Outcome, Verdict
from dpcp_audit.stats.confidence_sequence import RateSequence
from dpcp_audit.stats.intervals import clopper_pearson, detectable_excess, trials_needed
from dpcp_audit.stats.trial_summary import Spread
from dpcp_audit.theorems.theorem import case, histogram, rate_evidence

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit._types import FloatArray
    from dpcp_audit.checks import Context
    from dpcp_audit.theorems.theorem import Theorem

_FIRST_LOOK = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class SequentialRate:
    """Hold a theorem's failure probability against δ, with as few trials as it takes.

    Looks are taken after 500, 1000, 2000, … trials at an anytime-valid interval
    (``RateSequence``), so stopping early costs no error probability: REFUTED once the
    interval lies above δ, CONSISTENT once it lies below, INCONCLUSIVE if ``n_trials`` do not
    settle it.
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
        statistics: list[FloatArray] = []
        failures = undecided = done = 0
        low, high = 0.0, 1.0
        verdict = Verdict.INCONCLUSIVE
        while verdict is Verdict.INCONCLUSIVE and done < budget:
            count = min(max(_FIRST_LOOK, done), budget - done)
            part = self.theorem.trials(count, rng=context.rng(len(statistics)))
            statistics.append(part.statistic)
            failures += int(part.failed.sum())
            undecided += part.undecided_only
            done += count
            low = sequence.interval(failures, done)[0]
            high = sequence.interval(failures + undecided, done)[1]
            verdict = self._judge(low, high)
        return Outcome(
            verdict=verdict,
            evidence=rate_evidence(
                failures / done,
                (low, high),
                self.theorem,
                n_samples=done,
                context=context,
                counts=(
                    Count(
                        of="failures",
                        hits=failures,
                        trials=done,
                        undecided=undecided,
                        any_time=True,
                    ),
                ),
            ),
            witness=case(self.theorem, trials=done, context=context),
            note=self._note(np.concatenate(statistics), budget, self.detectable(context)),
            figures=(histogram(Spread.of(np.concatenate(statistics)), self.theorem),),
        )

    def detectable(self, context: Context) -> float:
        """Return a failure probability that the full budget refutes with probability >= 0.95.

        The smallest one for a single look at the end; infinity where no outcome refutes.
        """
        return self.sequence(context.significance).detectable_excess(
            self.theorem.allowed_failure, context.samples(self.n_trials)
        )

    def trials_needed(self, rate: float, *, significance: float) -> int:
        """Return a budget at which a failure probability of ``rate`` > δ is refuted.

        With probability at least 0.95, already by the look at the end.
        """
        return self.sequence(significance).trials_needed(self.theorem.allowed_failure, rate)

    def sequence(self, significance: float) -> RateSequence:
        """Return the confidence sequence, tuned to rates near δ."""
        return RateSequence(
            significance=significance, expected_rate=self.theorem.allowed_failure, strength=1.0
        )

    def _judge(self, low: float, high: float) -> Verdict:
        if low > self.theorem.allowed_failure:
            return Verdict.REFUTED
        if high <= self.theorem.allowed_failure:
            return Verdict.CONSISTENT
        return Verdict.INCONCLUSIVE

    def _note(self, statistic: FloatArray, budget: int, excess: float) -> str:
        return (
            f"Mean {self.theorem.statistic} {statistic.mean():.4g} (standard deviation "
            f"{statistic.std():.2g}); {statistic.size} of at most {budget} trials were run, and "
            f"all of them would have refuted a failure probability of {excess:.3g} with "
            "probability 0.95."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AlongN:
    """Hold a theorem's failure probability against δ at several n; the worst decides.

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
        statistics, limits, rates, counts = [], [], [], []
        for chunk, theorem in enumerate(theorems):
            run = theorem.trials(count, rng=context.rng(chunk))
            failures = int(run.failed.sum())
            low = clopper_pearson(failures, count, significance=significance)[0]
            high = clopper_pearson(failures + run.undecided_only, count, significance=significance)[
                1
            ]
            statistics.append(run.statistic)
            limits.append((low, high))
            rates.append(failures / count)
            of = f"failures at n = {self.sizes[chunk]}"
            counts.append(Count(of=of, hits=failures, trials=count, undecided=run.undecided_only))
        lows, highs = np.transpose(limits)
        verdict, worst = Verdict.INCONCLUSIVE, int(np.argmax(highs))
        if lows.max() > claimed:
            verdict, worst = Verdict.REFUTED, int(np.argmax(lows))
        elif highs[worst] <= claimed:
            verdict = Verdict.CONSISTENT
        return Outcome(
            verdict=verdict,
            evidence=rate_evidence(
                rates[worst],
                limits[worst],
                theorems[worst],
                n_samples=count * len(self.sizes),
                context=context,
                counts=tuple(counts),
                detail="the largest over n",
            ),
            witness=case(theorems[worst], trials=count, context=context),
            note=(
                f"Worst at n = {self.sizes[worst]}. A failure probability of "
                f"{self.detectable(context):.3g} at any one n would have been refuted with "
                "probability 0.95."
            ),
            figures=(self._figure(statistics, theorems), self._rate_figure(rates, claimed)),
        )

    def detectable(self, context: Context) -> float:
        """Return the smallest failure probability at one n that is refuted with probability 0.95.

        At that n's share of the significance, by itself: failures at other n can only add.
        Trials that may be undecided are not counted in; infinity where no outcome refutes.
        """
        return detectable_excess(
            self._theorems()[1],
            context.samples(self.n_trials),
            significance=context.significance / len(self.sizes),
        )

    def trials_needed(self, rate: float, *, significance: float) -> int:
        """Return the fewest trials at each n that refute a failure probability of ``rate`` > δ.

        With probability at least 0.95, where it holds at one n; ``significance`` is that of
        the whole check.
        """
        _validate.open_unit(significance=significance)
        share = significance / len(self.sizes)
        return trials_needed(self._theorems()[1], rate, significance=share)

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
