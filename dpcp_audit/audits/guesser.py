"""The observer: a mixture of experts that learns online, and says how much to guess.

Each expert learns log-odds of the coin from the rounds shown so far. What it believes may be as
wrong as it likes: it then guesses badly, and power is lost, never the level. So that its log-odds
can be compared with a claim, small counts are shrunk towards 0.

A fit of steps follows the noise of the rounds it was made of; the log-odds of most mechanisms
change slowly. The average over a fifth of the outputs, those nearest in rank, tells better where
they exceed a claim: on a Laplace release bets grow by a fifth faster, and a game of 1,800 outputs
of each input refutes 90 % of ε 54 times of 100 in place of 46.

Every expert's log-odds are formed before a batch is shown, so that what it would have got right in
past rounds is out of sample. The expert, and how many guesses to make, are chosen by these; the
log-odds of the day only put the outputs in order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import betaln, expit, logit

from dpcp_audit.audits.search.event_search import (
    Coordinate,
    DecimalPlaces,
    Feature,
    FittedScore,
    Ones,
    Rank,
    ScalarValue,
    feature_as_data,
    feature_from_data,
    quantile_cuts,
)
from dpcp_audit.stats.rates import GuessingTest
from dpcp_audit.stats.roots import level_starts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.words.results import PlainData
    from dpcp_audit.words.validate import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LogOdds:
    """A step function of a feature: the log-odds that an output is of the first input.

    Parameters
    ----------
    feature : Feature
    cuts : ndarray, shape (m,)
        Increasing right ends of the first m cells of the feature's range.
    steps : ndarray, shape (m+1,)
        The log-odds on each cell; 0 where nothing is known, and then no guess is made.
    """

    feature: Feature
    cuts: FloatArray
    steps: FloatArray

    def __call__(self, outputs: FloatArray) -> FloatArray:
        """Return the log-odds of outputs of shape (size,) or (size, d)."""
        return self.at(self.feature(outputs))

    def at(self, values: FloatArray) -> FloatArray:
        """Return the log-odds where the feature has these values."""
        return self.steps[np.searchsorted(self.cuts, values, side="left")]

    def above(self, threshold: float) -> LogOdds:
        """Return the same to two decimals, with 0 where they are below ``threshold`` in size."""
        steps = np.where(np.abs(self.steps) >= threshold, np.round(self.steps, 2), 0.0)
        part = np.flatnonzero(np.diff(steps))  # cells of equal steps are one
        return LogOdds(
            feature=self.feature, cuts=self.cuts[part], steps=np.append(steps[part], steps[-1])
        )

    def as_data(self) -> PlainData:
        """Return the function as plain data."""
        return {
            "feature": feature_as_data(self.feature),
            "cuts": self.cuts.tolist(),
            "steps": self.steps.tolist(),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> LogOdds:
        """Build the function that ``as_data`` wrote."""
        return cls(
            feature=feature_from_data(data["feature"]),
            cuts=np.asarray(data["cuts"], dtype=np.float64),
            steps=np.asarray(data["steps"], dtype=np.float64),
        )


_PRIORS = np.array([0.5, 2.0, 4.0, 16.0, 64.0])
"""Pseudo-counts, half of either coin, among which the likeliest shrinks the counts of cells."""
_PRIOR = 4.0
"""Those of a level of a half-line."""
_COORDINATES = 32
_BITS = (10, 24, 48)


Expert = Callable[["FloatArray", "BoolArray"], LogOdds]
"""Learns log-odds from the outputs of rounds and their coins; a true coin is the first input."""


def half_lines(feature: Feature, outputs: FloatArray, coins: BoolArray) -> LogOdds:
    """Return log-odds that rise, or fall, with a feature: isotonic regression of the coin."""
    values, first, trials = _counts(feature(outputs), coins)
    fits: list[tuple[float, FloatArray, FloatArray]] = []
    for increasing in (True, False):
        starts = level_starts(first / trials, trials.astype(np.float64), increasing=increasing)
        hits, sizes = (np.add.reduceat(x, starts) for x in (first, trials))
        rates = (hits + _PRIOR / 2) / (sizes + _PRIOR)
        likelihood = float(hits @ np.log(rates) + (sizes - hits) @ np.log1p(-rates))
        fits.append((likelihood, values[starts[1:] - 1], logit(rates)))
    _, cuts, steps = max(fits, key=lambda one: one[0])
    return LogOdds(feature=feature, cuts=cuts, steps=steps)


def distinct_values(feature: Feature, outputs: FloatArray, coins: BoolArray) -> LogOdds:
    """Return shrunk log-odds of a feature's values; 0 for any other, and if none came twice."""
    values, first, trials = _counts(feature(outputs), coins)
    if values.size == len(outputs):
        return LogOdds(feature=feature, cuts=np.zeros(0), steps=np.zeros(1))
    before = np.nextafter(values, -np.inf)
    lower = np.append(-np.inf, values[:-1])
    apart = before > lower  # a cell of unseen values lies between
    cuts, steps = np.concatenate([before[apart], values]), np.zeros(apart.sum())
    order = np.argsort(cuts, kind="stable")
    return LogOdds(
        feature=feature,
        cuts=cuts[order],
        steps=np.append(np.concatenate([steps, _shrunk(first, trials)])[order], 0.0),
    )


def quantile_cells(feature: Feature, outputs: FloatArray, coins: BoolArray) -> LogOdds:
    """Return shrunk log-odds of cells of a feature between pooled quantiles."""
    values = feature(outputs)
    cuts = quantile_cuts(values)
    cells = np.searchsorted(cuts, values, side="left")
    first = _hits(cells, coins, cuts.size + 1)
    trials = np.bincount(cells, minlength=cuts.size + 1)
    return LogOdds(feature=feature, cuts=cuts, steps=_shrunk(first, trials))


def distinct_rows(outputs: FloatArray, coins: BoolArray) -> LogOdds:
    """Return shrunk log-odds of the vectors that came up twice or more; 0 for any other."""
    rows, back, sizes = np.unique(outputs, axis=0, return_inverse=True, return_counts=True)
    again = sizes > 1
    first = _hits(back.reshape(-1), coins, len(rows))[again]
    return LogOdds(
        feature=Rank(rows[again]),
        cuts=np.arange(float(again.sum())),
        steps=np.append(_shrunk(first, sizes[again]), 0.0),
    )


def linear_score(outputs: FloatArray, coins: BoolArray) -> LogOdds:
    """Return half-lines of a logistic regression on a vector's squashed coordinates."""
    return half_lines(FittedScore.of(outputs, coins), outputs, coins)


def settled(rule: LogOdds) -> Expert:
    """Return an expert that has made up its mind."""
    return lambda _outputs, _coins: rule


def experts_for(
    outputs: FloatArray, *, bounds: tuple[float, float] | None = None
) -> tuple[Expert, ...]:
    """Return the experts that suit the outputs' shape.

    Parameters
    ----------
    outputs : ndarray, shape (size,) or (size, d)
    bounds : tuple of float or None
        The interval of a bisection, whose bits are looked at too.
    """
    if outputs.ndim == 2:
        columns = range(min(_COORDINATES, outputs.shape[1]))
        return (
            linear_score,
            distinct_rows,
            *(partial(half_lines, Coordinate(i)) for i in columns),
        )
    value = ScalarValue()
    bits = () if bounds is None else tuple(Ones(bounds=bounds, rounds=r) for r in _BITS)
    parts: tuple[Feature, ...] = (DecimalPlaces(9), DecimalPlaces(6), *bits)
    return (
        partial(half_lines, value),
        partial(distinct_values, value),
        partial(quantile_cells, value),
        *(partial(distinct_values, feature) for feature in parts),
    )


def _counts(values: FloatArray, coins: BoolArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return the distinct values, how often either coin came up with each, and how often both."""
    listed, back, sizes = np.unique(values, return_inverse=True, return_counts=True)
    return listed, _hits(back, coins, listed.size), sizes


def _hits(cells: IntArray, coins: BoolArray, count: int) -> FloatArray:
    """Return the number of true coins in each of so many cells."""
    return np.asarray(np.bincount(cells, weights=coins, minlength=count), dtype=np.float64)


def _shrunk(first: FloatArray, trials: IntArray) -> FloatArray:
    """Return log-odds with the symmetric beta prior under which the counts are likeliest."""
    half = _PRIORS[:, None] / 2
    evidence = betaln(first + half, trials - first + half) - betaln(half, half)
    prior = float(_PRIORS[int(np.argmax(evidence.sum(axis=1)))])
    return np.asarray(np.log(first + prior / 2) - np.log(trials - first + prior / 2))


_WINDOW = 0.1
"""The share of the outputs on either side that an average is over."""
_CELLS = 200


def smoothed(expert: Expert, outputs: FloatArray, coins: BoolArray) -> LogOdds:
    """Return an expert's log-odds, averaged over neighbouring outputs, constant between quantiles.

    The expert must know an order of the outputs, by a feature.
    """
    rule = expert(outputs, coins)
    values = np.sort(rule.feature(outputs))
    sums = np.append(0.0, np.cumsum(rule.at(values)))
    reach = max(1, round(_WINDOW * values.size))
    ranks = np.arange(values.size)
    first, last = np.maximum(ranks - reach, 0), np.minimum(ranks + reach + 1, values.size)
    means = (sums[last] - sums[first]) / (last - first)
    cuts = np.unique(values[np.linspace(0, values.size - 1, _CELLS).astype(np.int64)])
    ends = np.searchsorted(values, cuts, side="right")
    totals = np.diff(np.append(0.0, np.cumsum(means))[ends], prepend=0.0)
    steps = totals / np.diff(ends, prepend=0)
    return replace(rule, cuts=cuts, steps=np.append(steps, steps[-1]))


def smoothed_experts(
    outputs: FloatArray, *, bounds: tuple[float, float] | None
) -> tuple[Expert, ...]:
    """Return the experts that suit the outputs' shape, smoothed ones of those that know an order.

    Parameters
    ----------
    outputs : ndarray, shape (size,) or (size, d)
    bounds : tuple of float or None
        The interval of a bisection.
    """
    experts = experts_for(outputs, bounds=bounds)
    ordered = [each for each in experts if _of(each) in {half_lines, linear_score}]
    return (*(partial(smoothed, each) for each in ordered), *experts)


def _of(expert: Expert) -> Callable[..., LogOdds]:
    """Return the function that an expert is, whatever its feature."""
    return expert.func if isinstance(expert, partial) else expert


EASED = 0.5
_EASING = 12.0
"""Guesses are chosen as against a part of the claimed ε: most violations are small beside the noise
of what was seen, and a rule that reaches for the largest excess seen guesses too little. Half of it
at first, and ε − 12/√rounds later."""
CHARGED = 1e-3
"""The δ from which on ε is not eased: guesses that are right less often than ε allows then take
from the excess over δ, and many of them all of it."""
_CAUTION = 0.85
"""The share of the guesses that look best that are planned: leaving one out costs less, without δ.
Where there is a δ, guesses that are missing are filled, and cost nothing of the excess."""
_LEAST_SPREAD = 1e-300
"""A variance that stands in for one that a huge ε makes 0."""
_STEADY = 30.0
"""Guesses that stand beside those that were made, so that few lucky ones do not look best."""
_LOOKED_AT = 2**17
"""Rounds that experts look at."""
_NEWS = 1.05
"""Experts learn anew once so many times the rounds are there that they have learned from."""
_FINALISTS = 4
_LOST = 0.25
"""Guesses, all right, must be able to refute at a quarter of the significance."""
_SCREENING = 1500
"""Rounds after which only the four best experts go on learning."""


class Tangent(NamedTuple):
    """A line r ≤ e^ε·w + δ that the claim implies for the rates of right and wrong guesses."""

    epsilon: float
    delta: float

    def eased(self, rounds: int) -> float:
        """Return the ε against which guesses are chosen once so many rounds are seen."""
        if self.delta >= CHARGED:
            return self.epsilon
        return max(EASED * self.epsilon, self.epsilon - _EASING / math.sqrt(max(1, rounds)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The choices that are fixed before the rounds that count.

    Parameters
    ----------
    tangent : Tangent
        The (ε, δ) that is tested.
    share : float
        Guesses a round, in [0, 1].
    """

    tangent: Tangent
    share: float

    def test(self, rounds: int, significance: float) -> GuessingTest:
        """Return the test of so many rounds.

        Where coins may be shown, a standard deviation more guesses than are expected: a round
        that is not played costs more than a guess that is filled. At least as many as can refute.
        """
        epsilon, delta = self.tangent
        expected = self.share * rounds
        room = math.sqrt(expected * (1 - self.share)) if delta else 0.0
        able = math.log(_LOST * significance) / -math.log1p(math.exp(-epsilon))
        guesses = min(rounds, max(1, round(expected + room), math.ceil(able)))
        return GuessingTest(rounds=rounds, guesses=guesses, epsilon=epsilon, delta=delta)


class _Preference(NamedTuple):
    """The score by which an observer guesses, against a tangent.

    Parameters
    ----------
    expert : int
    tangent : Tangent
    share : float
        Guesses a round.
    merit : float
        Standard errors of the right guesses beyond the tangent, eased, per square root of a round.
    """

    expert: int
    tangent: Tangent
    share: float
    merit: float


@dataclass(slots=True, kw_only=True, eq=False)
class Guesser:
    """Experts, what they have seen, and how they have done.

    Parameters
    ----------
    experts : sequence of Expert
    """

    experts: Sequence[Expert]
    rules: list[LogOdds] = field(default_factory=list["LogOdds"])
    _outputs: FloatArray = field(default_factory=lambda: np.zeros(0))
    _coins: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    _sizes: list[FloatArray] = field(default_factory=list["FloatArray"])
    _right: list[BoolArray] = field(default_factory=list["BoolArray"])
    _unjudged: int = 0
    _learned: int = 0

    def see(self, outputs: FloatArray, coins: BoolArray) -> None:
        """Learn from a batch of rounds whose coins are shown."""
        if not self._learned:
            self._outputs, self._coins, self._unjudged = outputs, coins, len(coins)
            self._sizes = [np.zeros(0) for _ in self.experts]
            self._right = [np.zeros(0, dtype=np.bool_) for _ in self.experts]
        elif len(self._coins) < _LOOKED_AT:
            scores = [rule(outputs) for rule in self.rules]
            self._outputs = np.concatenate([self._outputs, outputs])
            self._coins = np.concatenate([self._coins, coins])
            old = zip(self._sizes, self._right, scores, strict=True)
            joined = [(np.append(a, abs(s)), np.append(b, (s > 0) == coins)) for a, b, s in old]
            self._sizes, self._right = [a for a, _ in joined], [b for _, b in joined]
        else:
            return
        if len(self._coins) >= _NEWS * self._learned:
            self.rules = [expert(self._outputs, self._coins) for expert in self.experts]
            self._learned = len(self._coins)

    @property
    def rounds(self) -> int:
        """The rounds that were seen, as far as they are looked at."""
        return len(self._coins)

    def rule(self, tangent: Tangent) -> LogOdds:
        """Return the log-odds of the expert that has done best against a tangent."""
        return self.rules[self.choose((tangent,)).expert if len(self.rules) > 1 else 0]

    def promise(self, plan: Plan) -> float:
        """Return by how many standard errors the plan's guesses have exceeded its tangent.

        Per square root of a round; −∞ where nothing was guessed.
        """
        expert = self.choose((plan.tangent,)).expert
        then, right = self._sizes[expert], self._right[expert]
        order = np.argsort(-then, kind="stable")[: max(1, round(plan.share * then.size))]
        order = order[then[order] > 0]
        if not order.size:
            return -np.inf
        share, miss = (float(expit(sign * plan.tangent.epsilon)) for sign in (1, -1))
        shown = then.size * plan.tangent.delta * miss
        excess = float((right[order] - share).sum()) - shown
        spread = max((share * order.size + shown) * miss, _LEAST_SPREAD)
        return excess / math.sqrt(spread * then.size)

    def choose(self, tangents: Sequence[Tangent]) -> _Preference:
        """Return the expert, the tangent and the share of guesses that have done best.

        Raises
        ------
        ValueError
            If it has seen nothing yet.
        """
        if not self._learned:
            raise ValueError("an observer must have seen a batch before it chooses")
        return max(
            (self._judge(i, tangent) for i in range(len(self.rules)) for tangent in tangents),
            key=lambda choice: choice.merit,
        )

    def screen(self, tangents: Sequence[Tangent]) -> None:
        """Drop all but the best experts once enough has been seen."""
        if len(self._coins) < _SCREENING or len(self.experts) <= _FINALISTS:
            return
        merits = [
            max(self._judge(i, tangent).merit for tangent in tangents)
            for i in range(len(self.experts))
        ]
        best = sorted(np.argsort(merits)[-_FINALISTS:].tolist())
        self.experts = [self.experts[i] for i in best]
        self.rules = [self.rules[i] for i in best]
        self._sizes = [self._sizes[i] for i in best]
        self._right = [self._right[i] for i in best]

    def _judge(self, expert: int, tangent: Tangent) -> _Preference:
        """Judge by the log-odds as they were when the rounds came, and plan by those of today.

        Today's have seen which guesses were right, and would flatter an expert of many values.
        """
        then, right = self._sizes[expert], self._right[expert]
        merit, _ = _prefixes(then, then > 0, right, tangent)
        today = np.abs(self.rules[expert](self._outputs[self._unjudged :]))
        _, share = _prefixes(today, then > 0, right, tangent)
        return _Preference(expert, tangent, share, merit)


def _prefixes(
    sizes: FloatArray, guessed: BoolArray, right: BoolArray, tangent: Tangent
) -> tuple[float, float]:
    """Return the merit of the best prefix of the rounds in order of size, and a share to plan."""
    order = np.argsort(-sizes, kind="stable")
    sizes, made = sizes[order], np.cumsum(guessed[order])
    ends = np.append(sizes[1:] != sizes[:-1], True) & (sizes > 0) & (made > 0)
    if not ends.any():
        return -np.inf, 0.0
    eased = tangent.eased(sizes.size)
    share, rest = float(expit(eased)), float(expit(-eased))  # 1 - share would be 0 of a large ε
    gain = np.cumsum(np.where(guessed[order], np.where(right[order], rest, -share), 0.0))
    shown = sizes.size * tangent.delta * rest
    spread = np.maximum(share * rest * (made + _STEADY) + shown * rest, _LEAST_SPREAD)
    z = np.where(ends, (gain - shown) / np.sqrt(spread), -np.inf)
    best = int(np.argmax(z))
    planned = made[best] * (1.0 if tangent.delta >= CHARGED else _CAUTION)
    nearest = int(np.argmin(np.abs(made[ends] - planned)))
    return float(z[best]) / np.sqrt(sizes.size), float(made[ends][nearest]) / sizes.size


def threshold(sizes: FloatArray, share: float) -> tuple[float, float]:
    """Return the size from which on guesses are nearest to a share, and that share.

    Only where sizes change, so that equal outputs are guessed or left together. Infinity where
    nothing can be guessed.
    """
    known = sizes[sizes > 0]
    if not known.size:
        return np.inf, 0.0
    values, counts = np.unique(-known, return_counts=True)
    shares = np.cumsum(counts) / sizes.size
    nearest = int(np.argmin(np.abs(shares - share)))
    return -float(values[nearest]), float(shares[nearest])
