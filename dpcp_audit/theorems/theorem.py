"""Theorems as objects, and the checks that hold them against simulation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from dpcp_audit import _validate
from dpcp_audit.checks import whole
from dpcp_audit.figures import Figure, FigureKind, Series
from dpcp_audit.quantities import Bound, Quantity
from dpcp_audit.results import (
    Count,
    Evidence,
    EvidenceKind,
    Measure,
    Outcome,
    PlainData,
    Sample,
    Verdict,
)
from dpcp_audit.stats.intervals import (
    clopper_pearson,
    detectable_excess,
    mean_limits,
    trials_needed,
)
from dpcp_audit.stats.trial_summary import Spread

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from dpcp_audit._types import BoolArray, FloatArray
    from dpcp_audit.checks import Context

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
    def failure(self) -> Quantity:
        """What its failure probability is of: a coverage, or another bound."""
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

    Parameters
    ----------
    theorem : Theorem
        What is simulated.
    n_trials : int
        Trials at effort 1.
    chunk_trials : int
        Trials in a chunk: fewer where a trial is slow. Part of what a seed means.
    """

    theorem: Theorem
    n_trials: int = 20_000
    chunk_trials: int = _CHUNK

    def __post_init__(self) -> None:
        _validate.integer(n_trials=self.n_trials, at_least=100)
        _validate.integer(chunk_trials=self.chunk_trials, at_least=1)

    @property
    def sampled(self) -> bool:
        """The verdict takes from the error budget."""
        return True

    def __call__(self, context: Context) -> Outcome:
        """Run the trials and judge the failure rate."""
        return whole(self, context)

    def chunks(self, context: Context) -> int:
        """Return the number of chunks."""
        return -(-context.samples(self.n_trials) // self.chunk_trials)

    def chunk(self, context: Context, index: int) -> PlainData:
        """Run a chunk of the trials and count its failures."""
        size = _chunk_size(context.samples(self.n_trials), self.chunk_trials, index)
        part = self.theorem.trials(size, rng=context.rng(index))
        return {
            "failed": int(part.failed.sum()),
            "undecided": part.undecided_only,
            "spread": Spread.of(part.statistic).as_data(),
        }

    def combine(self, context: Context, results: Sequence[PlainData]) -> Outcome:
        """Judge the failure rate of all chunks."""
        spread = Spread.merged(Spread.from_data(part["spread"]) for part in results)
        count = spread.count
        failures = sum(part["failed"] for part in results)
        undecided = sum(part["undecided"] for part in results)
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
                f"Mean {self.theorem.statistic} {spread.mean:.4g} (standard deviation "
                f"{spread.deviation:.2g}); a failure probability of {excess:.3g} would have been "
                "refuted with probability 0.95."
            ),
            figures=(histogram(spread, self.theorem),),
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
        return -(-context.samples(self.n_trials) // _CHUNK)

    def chunk(self, context: Context, index: int) -> PlainData:
        """Run a chunk of the trials and summarise them."""
        size = _chunk_size(context.samples(self.n_trials), _CHUNK, index)
        return Spread.of(self.theorem.trials(size, rng=context.rng(index)).statistic).as_data()

    def combine(self, context: Context, results: Sequence[PlainData]) -> Outcome:
        """Judge the mean over all chunks."""
        spread = Spread.merged(map(Spread.from_data, results))
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
                significance=context.significance,
            )
        )
        return Outcome(
            verdict=self._judge(low, high),
            evidence=Evidence(
                kind=EvidenceKind.CERTIFIED,
                quantity=self.quantity,
                detail=f"mean {self.theorem.statistic}",
                value=spread.mean,
                lower=low,
                upper=high,
                claimed=self.at_least if math.isinf(self.at_most) else self.at_most,
                confidence=1 - context.significance,
                n_samples=spread.count,
                bound=Bound.AT_LEAST if math.isinf(self.at_most) else Bound.AT_MOST,
                sample=Sample(
                    measure=Measure.MEAN,
                    trials=spread.count,
                    variance=spread.variance,
                    range=self.range,
                ),
            ),
            witness=self.theorem.parameters | {"trials": spread.count, "seed": context.seed},
            note=f"A mean outside of the bound by more than {high - low:.2g} would be refuted.",
            figures=(histogram(spread, self.theorem),),
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
    detail: str = "",
) -> Evidence:
    """Return certified evidence of a failure rate with its interval, against the theorem's δ.

    ``counts`` are the failures behind it, with those of other cases that it was chosen among.
    """
    return Evidence(
        kind=EvidenceKind.CERTIFIED,
        quantity=theorem.failure,
        detail=detail,
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


def _chunk_size(trials: int, size: int, index: int) -> int:
    """Return the number of trials in a chunk: ``size``, or what is left for the last one."""
    return min(size, trials - index * size)


def _judge_rate(low: float, high: float, claimed: float, excess: float) -> Verdict:
    if low > claimed:
        return Verdict.REFUTED
    if high <= claimed or excess <= _RESOLUTION * claimed:
        return Verdict.CONSISTENT
    return Verdict.INCONCLUSIVE
