"""Theorems as objects, and the checks that hold them against simulation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from dpcp_audit import _validate
from dpcp_audit.audits.evidence import (
    Bound,
    Count,
    Evidence,
    EvidenceKind,
    Figure,
    FigureKind,
    Measure,
    Outcome,
    PlainData,
    Sample,
    Series,
    Verdict,
)
from dpcp_audit.audits.statistics import (
    clopper_pearson,
    detectable_excess,
    mean_interval,
    trials_needed,
)

if TYPE_CHECKING:
    from dpcp_audit._types import BoolArray, FloatArray
    from dpcp_audit.audits.check import Context

_CHUNK = 50_000
_ROUNDING = 1e-12
"""By how much a statistic may overstep a bound before it counts: 1 − 0.7 is not quite 0.3."""
_RESOLUTION = 1.5
"""A check is CONSISTENT, not INCONCLUSIVE, if it would refute 1.5 times the claimed rate."""


class TheoremTrials(NamedTuple):
    """Independent trials of a theorem's event; every array has shape (trials,).

    ``undecided`` marks trials whose own error leaves open whether they failed: they count
    as failures in the upper limit of the failure probability, and not in the lower.
    """

    statistic: FloatArray
    failed: BoolArray
    undecided: BoolArray | None = None

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
class FailureRate:
    """Hold a theorem's failure probability against its claimed δ.

    The verdict comes from the Clopper–Pearson interval of the failure rate at the check's
    significance: REFUTED if it lies above δ, CONSISTENT if it lies below δ or if a failure
    probability of 1.5 δ would have been refuted with probability 0.95 even if every
    undecided trial failed, else INCONCLUSIVE.
    """

    theorem: Theorem
    n_trials: int = 20_000

    def __post_init__(self) -> None:
        _validate.integer(n_trials=self.n_trials, at_least=100)

    @property
    def sampled(self) -> bool:
        """The verdict takes from the error budget."""
        return True

    def __call__(self, context: Context) -> Outcome:
        """Run the trials and judge the failure rate."""
        count = context.samples(self.n_trials)
        run = [
            self.theorem.trials(min(_CHUNK, count - start), rng=context.rng(start // _CHUNK))
            for start in range(0, count, _CHUNK)
        ]
        statistic = np.concatenate([part.statistic for part in run])
        failures = int(sum(part.failed.sum() for part in run))
        undecided = sum(part.undecided_only for part in run)
        low, high = clopper_pearson(failures, count, significance=context.significance)
        if undecided:
            high = clopper_pearson(failures + undecided, count, significance=context.significance)[
                1
            ]
        claimed = self.theorem.allowed_failure
        excess = (
            self.detectable(context) + undecided / count
        )  # as many failures may hide among the undecided
        return Outcome(
            verdict=_judge_rate(low, high, claimed, excess),
            evidence=rate_evidence(
                failures / count,
                (low, high),
                self.theorem,
                n_samples=count,
                context=context,
                counts=(Count(of="failures", hits=failures, trials=count, undecided=undecided),),
            ),
            witness=case(self.theorem, trials=count, context=context),
            note=(
                f"Mean {self.theorem.statistic} {statistic.mean():.4g} (standard deviation "
                f"{statistic.std():.2g}); a failure probability of {excess:.3g} would have been "
                "refuted with probability 0.95."
            ),
            figures=(histogram(statistic, self.theorem),),
        )

    def detectable(self, context: Context) -> float:
        """Return the smallest failure probability that is refuted with probability 0.95.

        Trials that may be undecided are not counted in; infinity where no outcome refutes.
        """
        return detectable_excess(
            self.theorem.allowed_failure,
            context.samples(self.n_trials),
            significance=context.significance,
        )

    def trials_needed(self, rate: float, *, significance: float) -> int:
        """Return the fewest trials at which a failure probability of ``rate`` > δ is refuted.

        With probability at least 0.95; trials that may be undecided are not counted in.
        """
        return trials_needed(self.theorem.allowed_failure, rate, significance=significance)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanBound:
    """Hold the mean of a bounded statistic against claimed bounds.

    Empirical-Bernstein interval at the check's significance: REFUTED if it lies outside of
    the bounds, CONSISTENT if it lies inside of them up to ``tolerance``.

    Parameters
    ----------
    at_least, at_most : float
        The claimed bounds on the mean.
    range : tuple of float
        Bounds that the statistic never leaves.
    tolerance : float
        A shortfall that the check may leave open, in units of the statistic.
    """

    theorem: Theorem
    at_least: float = -math.inf
    at_most: float = math.inf
    range: tuple[float, float] = (0.0, 1.0)
    tolerance: float = 0.005
    n_trials: int = 20_000

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
        count = context.samples(self.n_trials)
        statistic = self.theorem.trials(count, rng=context.rng()).statistic
        low, high = (
            float(end)
            for end in mean_interval(
                statistic, bounds=self.range, significance=context.significance
            )
        )
        return Outcome(
            verdict=self._judge(low, high),
            evidence=Evidence(
                kind=EvidenceKind.CERTIFIED,
                quantity=f"mean {self.theorem.statistic}",
                value=float(statistic.mean()),
                lower=low,
                upper=high,
                claimed=self.at_least if math.isinf(self.at_most) else self.at_most,
                confidence=1 - context.significance,
                n_samples=count,
                bound=Bound.AT_LEAST if math.isinf(self.at_most) else Bound.AT_MOST,
                sample=Sample(
                    measure=Measure.MEAN,
                    trials=count,
                    variance=float(statistic.var(ddof=1)),
                    range=self.range,
                ),
            ),
            witness=self.theorem.parameters | {"trials": count, "seed": context.seed},
            note=f"A mean outside of the bound by more than {high - low:.2g} would be refuted.",
            figures=(histogram(statistic, self.theorem),),
        )

    def _judge(self, low: float, high: float) -> Verdict:
        if high < self.at_least or low > self.at_most:
            return Verdict.REFUTED
        within = low >= self.at_least - self.tolerance and high <= self.at_most + self.tolerance
        return Verdict.CONSISTENT if within else Verdict.INCONCLUSIVE


def outside(
    statistic: FloatArray, bounds: dict[str, float], *, margin: FloatArray | float = 0.0
) -> BoolArray:
    """Tell which values lie outside of the bounds by more than ``margin``.

    ``bounds`` holds a lower bound and, where there is one, an upper bound after it.
    """
    lower, *upper = bounds.values()
    failed = statistic + margin < lower - _ROUNDING
    for bound in upper:
        failed |= statistic - margin > bound + _ROUNDING
    return failed


def rate_evidence(
    rate: float,
    interval: tuple[float, float],
    theorem: Theorem,
    *,
    n_samples: int,
    context: Context,
    counts: tuple[Count, ...],
    quantity: str = "failure probability",
) -> Evidence:
    """Return certified evidence of a failure rate with its interval, against the theorem's δ.

    ``counts`` are the failures behind it, with those of other cases that it was chosen among.
    """
    return Evidence(
        kind=EvidenceKind.CERTIFIED,
        quantity=quantity,
        value=rate,
        lower=interval[0],
        upper=interval[1],
        claimed=theorem.allowed_failure,
        confidence=1 - context.significance,
        n_samples=n_samples,
        sample=Sample(measure=Measure.RATES, counts=counts),
    )


def case(theorem: Theorem, *, trials: int, context: Context) -> PlainData:
    """Return the witness of simulated trials: the theorem's parameters, limits and the seed."""
    return theorem.parameters | {
        "limits": theorem.bounds,
        "trials": trials,
        "seed": context.seed,
    }


def histogram(statistic: FloatArray, theorem: Theorem) -> Figure:
    """Return the histogram of the statistic with the theorem's bounds marked."""
    counts, edges = np.histogram(statistic, bins=40)
    return Figure(
        kind=FigureKind.HISTOGRAM,
        title=f"{theorem.statistic[:1].upper()}{theorem.statistic[1:]}, {statistic.size} trials",
        x_label=theorem.statistic,
        y_label="trials",
        series=[Series(name="trials", x=edges.tolist(), y=counts.astype(float).tolist())],
        marks=dict(theorem.bounds),
        description=(
            f"Histogram of the {theorem.statistic} of {statistic.size} independent trials, with "
            "the bounds of the theorem as vertical lines."
        ),
    )


def _judge_rate(low: float, high: float, claimed: float, excess: float) -> Verdict:
    if low > claimed:
        return Verdict.REFUTED
    if high <= claimed or excess <= _RESOLUTION * claimed:
        return Verdict.CONSISTENT
    return Verdict.INCONCLUSIVE
