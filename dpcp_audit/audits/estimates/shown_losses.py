"""The ways in which a loss is shown: two rates of an attack, the upper end of a trace, figures."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpcp_audit.audits.search.event_search import quantile_cuts
from dpcp_audit.laws.losses import loss_of
from dpcp_audit.stats.roc import RocCurve, log_ratio_limits
from dpcp_audit.words.formatting import limits, number
from dpcp_audit.words.results import Estimate, Figure, FigureKind, Series

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.audits.estimates.loss_bracket import PartitionLoss
    from dpcp_audit.laws.laws import FinitePair
    from dpcp_audit.tracing.pair_traces import LossSample, PairTrace
    from dpcp_audit.words.guarantees import PrivacyGuarantee
    from dpcp_audit.words.validate import FloatArray, IntArray


class Rate(NamedTuple):
    """A rate with its limits."""

    value: float
    lower: float
    upper: float

    def __str__(self) -> str:
        return f"{number(self.value)} {limits(self.lower, self.upper)}"


def attack_loss(
    guarantee: PrivacyGuarantee, hits: Rate, alarms: Rate, *, confidence: float, detail: str
) -> Estimate:
    """Return the loss of the event that an attack says "in", in a claim's unit.

    The lower end is of an attack that is right more often than wrong; the upper one of either.
    Where no alarm was false, the estimate is the lower end: no sample shows an infinite loss.

    Parameters
    ----------
    hits, alarms : Rate
        The shares of true and of false positives; all limits hold at once with
        probability ``confidence``.
    detail : str
        The attack that the rates belong to.

    Examples
    --------
    >>> from dpcp_audit.words.guarantees import PureDP
    >>> found = attack_loss(
    ...     PureDP(1.0),
    ...     Rate(0.7, 0.65, 0.75),
    ...     Rate(0.3, 0.26, 0.34),
    ...     confidence=0.95,
    ...     detail="of a guess",
    ... )
    >>> round(found.lower, 2), round(found.value, 2), found.upper, round(found.partition_upper, 2)
    (0.65, 0.85, inf, 1.09)
    """
    loss = loss_of(guarantee)
    lower = loss.lower_bound(hits.lower, alarms.upper)
    value = loss.lower_bound(hits.value, alarms.value)
    ways = ((hits.upper, alarms.lower), (alarms.upper, hits.lower))
    upper = max(loss.lower_bound(*ends) for ends in ways)
    return Estimate(
        quantity=loss.quantity,
        value=value if math.isfinite(value) else lower,
        lower=lower,
        upper=math.inf,
        confidence=confidence,
        at=loss.at,
        detail=f"{detail} (the whole loss may be larger)",
        partition_upper=upper,
    )


def from_below(estimate: Estimate, *, why: str) -> Estimate:
    """Return a loss of which only a lower end is known, with the reason in its detail."""
    return Estimate(
        quantity=estimate.quantity,
        value=estimate.value,
        lower=estimate.lower,
        upper=math.inf,
        confidence=estimate.confidence,
        at=estimate.at,
        detail=f"from below alone: {why}",
    )


_POINTS = 8
_FEWEST_LOSS = 40
_LARGEST = 600.0


def transcript_curve(trace: PairTrace, *, significance: float) -> RocCurve | None:
    """Return a curve above the ROC curve of the release; None where the traces give none.

    δ(ε) of the transcript is bounded at a few ε in either direction, which a quarter of the paths
    chooses and the others bound; by post-processing δ(ε) of the release is at most that. The
    curve errs with probability at most ``significance``.
    """
    departed = any(sample.departed.any() for sample in trace.samples)
    if not trace.followed or trace.leaks or departed or trace.forward.size < _FEWEST_LOSS:
        return None
    error = significance / (2 * _POINTS)
    forward, backward = (_bounded(sample, error) for sample in trace.samples)
    lines = [(delta, math.exp(epsilon)) for epsilon, delta in forward]
    lines += [(1 - (1 - delta) * math.exp(-eps), math.exp(-eps)) for eps, delta in backward]
    return RocCurve.below(lines)


def _bounded(sample: LossSample, error: float) -> list[tuple[float, float]]:
    """Return points (ε, δ) that the profile lies below, but for the given error each."""
    first = sample.size // 4
    pilot, rest = sample.part(slice(0, first)), sample.part(slice(first, None))
    positive = pilot.losses[(pilot.losses > 0) & (pilot.losses < _LARGEST)]
    chosen: set[float] = {0.0}
    if positive.size:
        chosen.update(np.quantile(positive, np.linspace(0.1, 1.0, _POINTS - 1)).tolist())
    return [
        (epsilon, rest.delta(epsilon, significance=2 * error).upper) for epsilon in sorted(chosen)
    ]


_BINS, _CELLS = 30, 16
_P, _Q = "under P, the first input", "under Q, its neighbour"


def law_of_loss(losses: Sequence[FloatArray], weights: Sequence[FloatArray], of: str) -> Figure:
    """Return the law of log(P/Q) under P and under Q.

    Parameters
    ----------
    losses : sequence of ndarray
        log(P/Q) of outputs, or of cells, under P and under Q.
    weights : sequence of ndarray
        Their probabilities.
    of : str
        Whose loss it is.
    """
    finite = np.concatenate([each[np.isfinite(each)] for each in losses])
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    room = max(0.02 * (high - low), 1e-6)
    edges = np.linspace(low - room, high + room, _BINS + 1)
    counts = [
        np.histogram(each, bins=edges, weights=weight)[0]
        for each, weight in zip(losses, weights, strict=True)
    ]
    means = [float(x[w > 0] @ w[w > 0]) for x, w in zip(losses, weights, strict=True)]
    return Figure(
        kind=FigureKind.HISTOGRAM,
        title=f"Law of the privacy loss log(P/Q), {of}",
        x_label="log(P/Q)",
        y_label="probability",
        series=[
            Series(name=name, x=edges.tolist(), y=count.tolist())
            for name, count in zip((_P, _Q), counts, strict=True)
        ],
        marks={"no loss": 0.0},
        description=(
            f"The loss lies between {low:.4g} and {high:.4g}; its mean is {means[0]:.4g} under P "
            f"and {means[1]:.4g} under Q."
        ),
    )


def law_over_partition(found: PartitionLoss) -> Figure:
    """Return the law of the loss over the cells of a partition."""
    return law_of_loss([found.ratios[0]] * 2, list(found.shares), found.bracket.scope)


def law_of_paths(trace: PairTrace) -> Figure:
    """Return the law of the loss of what the noise reveals."""
    losses = trace.forward.losses, -trace.backward.losses
    return law_of_loss(
        losses, [np.full(each.size, 1 / each.size) for each in losses], "of what the noise reveals"
    )


def exact_law(pair: FinitePair) -> Figure:
    """Return the law of the loss of laws that are known."""
    masses = [np.exp(law.log_mass) for law in (pair.law, pair.neighbour_law)]
    loss = np.where(masses[0] > 0, pair.loss, -np.inf)
    return law_of_loss([loss, loss], masses, "exact")


def loss_along_outputs(
    pilot: Sequence[FloatArray], fresh: Sequence[FloatArray], *, significance: float
) -> Figure | None:
    """Return log(P/Q) along scalar outputs, with a band that holds in all cells at once.

    None of outputs that are vectors, or all alike.

    Parameters
    ----------
    pilot, fresh : sequence of ndarray, shape (size,)
        Outputs of either input: the pilot's quantiles part those that are counted.
    """
    if pilot[0].ndim != 1:
        return None
    cuts = quantile_cuts(np.concatenate(pilot), cells=_CELLS)
    if not cuts.size:
        return None
    counts = [_counted(outputs, cuts) for outputs in fresh]
    ratios = log_ratio_limits(*counts, significance=significance)
    ends = np.quantile(np.concatenate(fresh), [0.001, 0.999])
    edges = np.concatenate([[min(ends[0], cuts[0])], cuts, [max(ends[1], cuts[-1])]])
    x = np.repeat(edges, 2)[1:-1].tolist()
    names = "log(P/Q)", "lower limit", "upper limit"
    return Figure(
        kind=FigureKind.LINES,
        title="Privacy loss log(P/Q) along the threshold",
        x_label="output",
        y_label="log(P/Q)",
        series=[
            Series(name=name, x=x, y=np.repeat(row, 2).tolist())
            for name, row in zip(names, ratios, strict=True)
        ],
        description=(
            f"In {cuts.size + 1} cells of the outputs log(P/Q) goes from {ratios[0].min():.4g} to "
            f"{ratios[0].max():.4g}; all limits hold at once with confidence {1 - significance:g}."
        ),
    )


def _counted(outputs: FloatArray, cuts: FloatArray) -> IntArray:
    return np.bincount(np.searchsorted(cuts, outputs, side="left"), minlength=cuts.size + 1)
