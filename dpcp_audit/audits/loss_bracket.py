"""A bracket of a pair's loss: two pairs of laws, between which every measure of the truth lies.

Each of them is at least as large for laws that are easier to tell apart (Blackwell's order), so
that a pair with a lower and one with a higher ROC curve bracket all of them at once.

A loss is shown too by two rates of an attack, by the upper end of a trace, and in figures.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtri

from dpcp_audit.audits.guesser import distinct_values, experts_for, half_lines
from dpcp_audit.audits.search.event_search import quantile_cuts
from dpcp_audit.laws.laws import FiniteLaw, FinitePair
from dpcp_audit.laws.losses import guarantee_pair, loss_of
from dpcp_audit.stats.roc import RocCurve, log_ratio_limits, roc_band
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.formatting import limits, number
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import ROUNDING, Estimate, Figure, FigureKind, Series

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dpcp_audit.audits.guesser import Expert, LogOdds
    from dpcp_audit.audits.search.event_search import Feature
    from dpcp_audit.laws.losses import Loss
    from dpcp_audit.tracing.pair_traces import LossSample, PairTrace
    from dpcp_audit.words.guarantees import PrivacyGuarantee
    from dpcp_audit.words.validate import BoolArray, FloatArray, IntArray


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
_LARGEST_EXPONENT = 600.0


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
    positive = pilot.losses[(pilot.losses > 0) & (pilot.losses < _LARGEST_EXPONENT)]
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


def law_over_partition(found: _PartitionLoss) -> Figure:
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


_MIDDLE = (0.1, 0.2, 0.35, 0.5)
_STEP = 3.0
_FEWEST = 40
"""Outputs of either input that a cell at an end should hold."""
_MOST = 20_000
"""Outputs of either input that a partition is learned from."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _OutputPartition:
    """Cells of outputs whose learned log-odds are alike, the first input's likeliest in front.

    Parameters
    ----------
    log_odds : LogOdds
        Learned from pilot outputs.
    edges : ndarray, shape (m − 1,)
        Decreasing log-odds: a cell holds those from its edge up to the one before.
    """

    log_odds: LogOdds
    edges: FloatArray

    @property
    def size(self) -> int:
        """The number of cells."""
        return self.edges.size + 1

    def counts(self, outputs: FloatArray) -> IntArray:
        """Return how many outputs lie in each cell, shape (m,)."""
        cells = np.searchsorted(-self.edges, -self.log_odds(outputs), side="left")
        return np.bincount(cells, minlength=self.size)


def learn_partition(
    outputs: FloatArray,
    neighbour_outputs: FloatArray,
    *,
    trials: int,
    bounds: tuple[float, float] | None = None,
    feature: Feature | None = None,
) -> _OutputPartition:
    """Return the partition of the expert that predicts the input best on every other output.

    Parameters
    ----------
    outputs, neighbour_outputs : ndarray, shape (size,) or (size, d)
        Pilot outputs of either input, equally many.
    trials : int
        Outputs of either input that will be counted: the more, the finer the cells at both ends.
    bounds : tuple of float or None
        The interval that a bisecting target would start from.
    feature : Feature or None
        A number to look at beside those that suit the outputs' shape.
    """
    _validate.integer(trials=trials, at_least=1)
    size = min(len(outputs), len(neighbour_outputs), _MOST)
    pooled = np.concatenate([outputs[:size], neighbour_outputs[:size]])
    coins = np.arange(2 * size) < size
    able: list[Expert] = [*experts_for(pooled, bounds=bounds)]
    if feature is not None:
        able += [partial(half_lines, feature), partial(distinct_values, feature)]
    best = max(able, key=lambda expert: _predicts(expert, pooled, coins))
    learned = best(pooled, coins)
    return _OutputPartition(log_odds=learned, edges=_edges(learned(pooled), trials))


def _predicts(expert: Expert, pooled: FloatArray, coins: BoolArray) -> float:
    """Return the log-likelihood of the coins of one half, as learned from the other."""
    belief = expert(pooled[::2], coins[::2])(pooled[1::2])
    signed = np.where(coins[1::2], belief, -belief)
    return -float(np.logaddexp(0.0, -signed).sum())


def _edges(log_odds: FloatArray, trials: int) -> FloatArray:
    """Return the edges of cells by their share of the pooled outputs: small ones at both ends."""
    levels, counts = np.unique(-log_odds, return_counts=True)
    reached = np.cumsum(counts) / log_odds.size
    least = max(_FEWEST / trials, 2 * _FEWEST / log_odds.size)
    tail: list[float] = []
    while least < _MIDDLE[0] / 2:
        tail.append(least)
        least *= _STEP
    shares = np.array([*tail, *_MIDDLE])
    from_top = np.searchsorted(reached, shares * (1 - 1e-12), side="left")
    below = 1 - reached + counts / log_odds.size
    from_bottom = levels.size - 2 - np.searchsorted(below[::-1], shares * (1 - 1e-12), side="left")
    ends = np.unique(np.concatenate([from_top, from_bottom]))
    return np.asarray(-levels[ends[(ends >= 0) & (ends < levels.size - 1)]])


DELTAS = (0.0, 1e-5, 1e-3, 1e-2, 0.1)
ORDERS = (1.0, 2.0, 4.0, 8.0)
RATES = (1e-3, 1e-2, 0.1)


class Asked(NamedTuple):
    """A quantity with its parameters: ε at a δ, δ at an ε, D_α at an order, TPR at an FPR."""

    quantity: Quantity
    at: dict[str, float]


def asked_of(guarantee: PrivacyGuarantee | None) -> Asked:
    """Return what measures a loss in the unit of a claim; the membership advantage without one."""
    if guarantee is None:
        return Asked(Quantity.ADVANTAGE, {})
    loss = loss_of(guarantee)
    return Asked(loss.quantity, loss.at)


def all_asked(guarantee: PrivacyGuarantee | None = None) -> list[Asked]:
    """Return the rows of a table of estimates, a claim's own unit in front."""
    rows = [Asked(Quantity.EPSILON, {"delta": delta} if delta else {}) for delta in DELTAS]
    rows.append(Asked(Quantity.RHO, {}))
    rows += [Asked(Quantity.RENYI_DIVERGENCE, {"alpha": alpha}) for alpha in ORDERS]
    rows += [Asked(Quantity.MU, {}), Asked(Quantity.TOTAL_VARIATION, {})]
    rows.append(Asked(Quantity.ADVANTAGE, {}))
    rows += [Asked(Quantity.TRUE_POSITIVE_RATE, {"fpr": rate}) for rate in RATES]
    first = asked_of(guarantee)
    return [first, *(row for row in rows if row != first)]


def pair_of_curve(curve: RocCurve) -> FinitePair:
    """Return two laws with a ROC curve."""
    p, q = curve.masses
    return FinitePair(FiniteLaw.from_mass(p), FiniteLaw.from_mass(q))


def measured(asked: Asked, pair: FinitePair) -> float:
    """Return what is asked of a pair, the larger of both directions; never negative."""
    return max(0.0, *(_one_way(asked, way) for way in (pair, pair.reversed())))


def _one_way(asked: Asked, pair: FinitePair) -> float:
    if asked.quantity in _DIVERGENCES and math.isinf(pair.max_divergence()):
        return math.inf
    return _MEASURES[asked.quantity](pair, asked.at)


def _true_positives(pair: FinitePair, fpr: float) -> float:
    rates, misses = pair.tradeoff()
    return float(1 - np.interp(fpr, rates, misses))


def gaussian_loss(pair: FinitePair) -> float:
    """Return the least μ for which the pair is μ-GDP: Φ⁻¹(TPR) − Φ⁻¹(FPR) at the worst corner.

    A concave, piecewise linear curve lies below a concave one where its corners do.
    """
    p, q = np.exp(pair.law.log_mass), np.exp(pair.neighbour_law.log_mass)
    order = np.argsort(-pair.loss, kind="stable")
    with np.errstate(invalid="ignore"):
        shift = _quantiles(p[order]) - _quantiles(q[order])
    return float(np.nanmax(shift, initial=0.0))


def _quantiles(masses: FloatArray) -> FloatArray:
    """Return Φ⁻¹ of the sums of the first masses, each from its smaller side."""
    first, rest = np.cumsum(masses)[:-1], np.cumsum(masses[::-1])[::-1][1:]
    return np.where(first <= rest, ndtri(np.minimum(first, 0.5)), -ndtri(np.minimum(rest, 0.5)))


_DIVERGENCES = frozenset({Quantity.RHO, Quantity.RENYI_DIVERGENCE})
_MEASURES: Mapping[Quantity, Callable[[FinitePair, Mapping[str, float]], float]] = {
    Quantity.EPSILON: lambda pair, at: pair.epsilon_at(at.get("delta", 0.0)),
    Quantity.DELTA: lambda pair, at: pair.delta_at(at.get("epsilon", 0.0)),
    Quantity.RHO: lambda pair, _: pair.rho(),
    Quantity.RENYI_DIVERGENCE: lambda pair, at: pair.renyi(at["alpha"]),
    Quantity.MU: lambda pair, _: gaussian_loss(pair),
    Quantity.TOTAL_VARIATION: lambda pair, _: pair.total_variation(),
    Quantity.ADVANTAGE: lambda pair, _: pair.total_variation(),
    Quantity.TRUE_POSITIVE_RATE: lambda pair, at: _true_positives(pair, at["fpr"]),
}
"""The measurement of each quantity, in one direction."""


def allowed(asked: Asked, guarantee: PrivacyGuarantee) -> float | None:
    """Return how much of it a guarantee allows; None where it does not bound it in closed form."""
    loss, at = loss_of(guarantee), asked.at
    if asked == asked_of(guarantee) and (loss.by_laws or loss.gaussian):
        return loss.claimed
    if asked.quantity is Quantity.MU or asked.quantity in _DIVERGENCES:
        return _allowed_divergence(asked, loss)
    if asked.quantity is Quantity.EPSILON:
        return guarantee.epsilon_at(at.get("delta", 0.0))
    if asked.quantity is Quantity.DELTA:
        return guarantee.delta_at(at.get("epsilon", 0.0))
    if asked.quantity is Quantity.TRUE_POSITIVE_RATE:
        return float(guarantee.power(at["fpr"]))
    return guarantee.advantage()


def _allowed_divergence(asked: Asked, loss: Loss) -> float | None:
    if loss.linear is not None:
        return measured(asked, guarantee_pair(loss.linear)) if loss.pure else None
    if asked.quantity is Quantity.MU:
        return None
    return loss.divergence_allowed(asked.at.get("alpha", 1.0))


_LARGEST: dict[Quantity, float] = dict.fromkeys(
    (
        Quantity.DELTA,
        Quantity.TOTAL_VARIATION,
        Quantity.ADVANTAGE,
        Quantity.TRUE_POSITIVE_RATE,
    ),
    1.0,
)
"""Measures that are probabilities."""


class CrossedBracketError(RuntimeError):
    """Outputs lose more than a trace allows: not all randomness was followed."""


SIGNIFICANCE = 0.05
"""The error probability of the intervals that a finding shows beside its verdict."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LossBracket:
    """Laws that are harder, and laws that are easier to tell apart than the true ones.

    As the bracket holds for the whole ROC curve at once, so do the intervals of as many measures
    of it as one asks for, all with one confidence.

    Parameters
    ----------
    least, found, most : FinitePair
        Pairs of laws with a lower, an estimated and an upper ROC curve.
    confidence : float
        The probability that the true curve lies between them; 1 where it was computed.
    cells : int
        The number of cells of the partition whose loss it is; 0 for the release's.
    """

    least: FinitePair
    found: FinitePair
    most: FinitePair
    confidence: float
    cells: int = 0

    @property
    def scope(self) -> str:
        """Whose loss it is, in words."""
        if not self.cells:
            return "of the release"
        cells = "1 cell" if self.cells == 1 else f"{self.cells} cells"
        return f"over a partition into {cells} (the whole loss may be larger)"

    def estimate(self, asked: Asked) -> Estimate:
        """Return the estimate of a measure with its interval.

        Over a partition the lower end is valid for the release too; no upper end is, so that of
        the partition stands in ``partition_upper``.

        Raises
        ------
        CrossedBracketError
            If the lower end lies above the upper one.
        """
        low, value, high = (measured(asked, each) for each in (self.least, self.found, self.most))
        low = max(0.0, low - _room(low))
        high = min(high + _room(high), _LARGEST.get(asked.quantity, math.inf))
        if self.cells:  # both ends are of one band: they cross by no more than rounding
            low = min(low, high)
        if low > high:
            raise CrossedBracketError(
                f"the outputs lose more than the trace allows: {asked.quantity.described(asked.at)}"
                f" at least {low:.4g}, and at most {high:.4g}; there is randomness that was not "
                "followed"
            )
        return Estimate(
            quantity=asked.quantity,
            value=min(max(value, low), high),
            lower=low,
            upper=math.inf if self.cells else high,
            confidence=self.confidence,
            at=asked.at,
            detail=self.scope,
            partition_upper=high if self.cells else None,
        )


def _room(value: float) -> float:
    """Return how much a computed number may be off by its rounding."""
    return ROUNDING * max(1.0, value) if math.isfinite(value) else 0.0


def exact_bracket(pair: FinitePair) -> LossBracket:
    """Return the bracket of laws that are known."""
    return LossBracket(least=pair, found=pair, most=pair, confidence=1.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _PartitionLoss:
    """The loss over a partition that was chosen beforehand, from fresh outputs.

    Parameters
    ----------
    bracket : LossBracket
        The bracket of the laws of the cell that an output lies in.
    ratios : ndarray, shape (3, m)
        log(P/Q) of each cell: estimate, lower and upper limit.
    shares : ndarray, shape (2, m)
        The cells' shares of the outputs of either input.
    """

    bracket: LossBracket
    ratios: FloatArray
    shares: FloatArray


def partition_loss(
    partition: _OutputPartition,
    outputs: FloatArray,
    neighbour_outputs: FloatArray,
    *,
    significance: float,
) -> _PartitionLoss:
    """Return the loss over a partition, from outputs that were drawn after it was chosen.

    The cell of an output is post-processing, so that the lower ends are valid for the release
    itself; the upper ends are of the partition alone.
    """
    first, second = partition.counts(outputs), partition.counts(neighbour_outputs)
    band = roc_band(first, second, significance=significance)
    least, found, most = map(pair_of_curve, (band.least, band.found, band.most))
    bracket = LossBracket(
        least=least,
        found=found,
        most=most,
        confidence=1 - significance,
        cells=partition.size,
    )
    shares = np.stack([first / first.sum(), second / second.sum()])
    return _PartitionLoss(bracket=bracket, ratios=band.ratios, shares=shares)


def claimed_loss(
    guarantee: PrivacyGuarantee,
    pilot: tuple[FloatArray, FloatArray],
    fresh: tuple[FloatArray, FloatArray],
    *,
    bounds: tuple[float, float] | None = None,
    feature: Feature | None = None,
) -> tuple[Estimate, ...]:
    """Return the loss in a claim's unit, over a partition that a pilot chooses.

    Parameters
    ----------
    pilot, fresh : tuple of ndarray
        Outputs of either input, independent of each other.
    bounds, feature
        As ``learn_partition`` has them.
    """
    partition = learn_partition(*pilot, trials=len(fresh[0]), bounds=bounds, feature=feature)
    found = partition_loss(partition, *fresh, significance=SIGNIFICANCE)
    return (found.bracket.estimate(asked_of(guarantee)),)
