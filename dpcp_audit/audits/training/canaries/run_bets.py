"""Betting on independent runs with many canaries each, against (ε, δ)-DP.

In a run, A of the canaries that are guessed "in" are in, and B are not. As every coin is fair,
A has the mean Σ_i P(i guessed | in)/2 and B the mean Σ_i P(i guessed | out)/2, so that under
(ε, δ)-DP, with d = m·δ/2,

    E[A] ≤ e^ε·E[B] + d,

however the canaries of a run depend on one another. With at most g guesses a run the factor
1 + λ(A − e^ε·B − d) is non-negative for a stake λ ≤ 1/(e^ε·g + d), and has a mean of at most 1: the
capital, its product over runs, reaches 1/significance with probability at most the significance,
whenever one stops (Ville's inequality). At a fixed stake the capital falls as ε grows.

Against the product of likelihood ratios over the guesses of a run, as against the p-values of
``one_run`` for all runs together, δ enters as itself: neither multiplied by what was won before it,
nor as an event that gives away all runs at once.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

import numpy as np

from dpcp_audit import _validate
from dpcp_audit.audits.training.one_run import falling, largest_refuted

if TYPE_CHECKING:
    from dpcp_audit._types import BoolArray, FloatArray, IntArray

_MOST = (1, 2, 4)
_CAPS = np.linspace(0.5, 9.0, 18)
_THRESHOLDS = 24
_REDRAWN = 200_000
_RESOLUTION = 1e-3


class Ranked(NamedTuple):
    """The largest scores of every run, in falling order, both of shape (runs, k)."""

    scores: FloatArray
    members: BoolArray


def ranked(scores: FloatArray, members: BoolArray, *, keep: int = max(_MOST)) -> Ranked:
    """Return the ``keep`` largest scores of every run; fewer where there are fewer canaries.

    ``scores`` and ``members`` have shape (runs, m).
    """
    order = falling(scores)[:, :keep]
    return Ranked(np.take_along_axis(scores, order, 1), np.take_along_axis(members, order, 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBets:
    """What is bet on every run; to be chosen on other runs.

    Parameters
    ----------
    canaries : int
        m, in each run.
    delta : float
        δ in [0, 1).
    threshold : float
        Canaries whose score exceeds it are guessed "in", …
    most : int
        … but at most so many a run, those of the largest scores; g.
    stake : float
        λ > 0.
    """

    canaries: int
    delta: float
    threshold: float
    most: int
    stake: float

    def __post_init__(self) -> None:
        _validate.integer(canaries=self.canaries, most=self.most, at_least=1)
        _validate.closed_unit(delta=self.delta)
        _validate.finite(threshold=self.threshold)
        _validate.positive(stake=self.stake)
        if self.stake * (self.most + self._penalty) > 1:
            raise ValueError(f"stake must leave a capital at ε = 0, got {self.stake!r}")

    @property
    def largest_epsilon(self) -> float:
        """The largest ε that these bets can refute: λ(e^ε·g + d) = 1."""
        return math.log((1 / self.stake - self._penalty) / self.most)

    @property
    def _penalty(self) -> float:
        return self.canaries * self.delta / 2

    def count(self, runs: Ranked) -> tuple[IntArray, IntArray]:
        """Return the right and the wrong guesses of every run, A and B."""
        return _count(runs, self.threshold, self.most)

    def log_capital(self, runs: Ranked, *, epsilon: float) -> float:
        """Return the log of the capital after these runs, against (``epsilon``, δ)-DP.

        Raises
        ------
        ValueError
            Where ε exceeds ``largest_epsilon``.
        """
        if not 0 <= epsilon <= self.largest_epsilon:
            raise ValueError(f"epsilon must lie in [0, {self.largest_epsilon:.4g}], got {epsilon}")
        return self._log_capital(_Tally.of(*self.count(runs)), epsilon)

    def lower_bound(self, runs: Ranked, *, significance: float) -> float:
        """Return a lower bound of ε(δ), 0 where not even ε = 0 is refuted."""
        _validate.open_unit(significance=significance)
        return self._lower_bound(_Tally.of(*self.count(runs)), -math.log(significance))

    @classmethod
    def chosen(
        cls,
        pilot: Ranked,
        *,
        canaries: int,
        delta: float,
        runs: int,
        significance: float,
        rng: np.random.Generator,
    ) -> Self:
        """Return the bets that would certify most on ``runs`` runs like the pilot's.

        The few wrong guesses of a pilot would mislead: its coins are drawn anew, many times, by
        a logistic regression on the scores.
        """
        redrawn = _redrawn(pilot, rng)
        target = -math.log(significance) * len(redrawn.scores) / runs
        levels = np.unique(np.quantile(redrawn.scores, 1 - np.geomspace(1, 1e-4, _THRESHOLDS)))
        penalty = canaries * delta / 2
        tried: list[tuple[float, Self]] = []
        for most, threshold in itertools.product(_MOST, levels):
            tally = _Tally.of(*_count(redrawn, float(threshold), most))
            for stake in 1 / (np.exp(_CAPS) * most + penalty):
                bets = cls(
                    canaries=canaries,
                    delta=delta,
                    threshold=float(threshold),
                    most=most,
                    stake=float(stake),
                )
                tried.append((bets._lower_bound(tally, target), bets))
        return max(tried, key=lambda one: one[0])[1]

    def _lower_bound(self, tally: _Tally, target: float) -> float:
        def refuted(epsilon: float) -> bool:
            return self._log_capital(tally, epsilon) >= target

        if not refuted(0.0):
            return 0.0
        return largest_refuted(refuted, low=0.0, high=self.largest_epsilon, resolution=_RESOLUTION)

    def _log_capital(self, tally: _Tally, epsilon: float) -> float:
        gains = self.stake * (tally.right - math.exp(epsilon) * tally.wrong - self._penalty)
        with np.errstate(divide="ignore"):  # all may be lost at the largest ε
            return float(np.log1p(np.maximum(gains, -1.0)) @ tally.runs)


class _Tally(NamedTuple):
    """How many runs had which numbers of right and wrong guesses, each of shape (k,)."""

    right: IntArray
    wrong: IntArray
    runs: IntArray

    @classmethod
    def of(cls, right: IntArray, wrong: IntArray) -> _Tally:
        base = int(wrong.max()) + 1
        codes, runs = np.unique(right * base + wrong, return_counts=True)
        return cls(codes // base, codes % base, runs)


def _count(runs: Ranked, threshold: float, most: int) -> tuple[IntArray, IntArray]:
    guessed = runs.scores[:, :most] > threshold
    inside = runs.members[:, :most]
    return (guessed & inside).sum(axis=1), (guessed & ~inside).sum(axis=1)


def _redrawn(pilot: Ranked, rng: np.random.Generator) -> Ranked:
    """Return copies of the pilot with coins drawn by their fitted probabilities."""
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415  (slow to import)

    middle = np.full(2, np.median(pilot.scores))
    scores = np.concatenate([pilot.scores.ravel(), middle])
    members = np.concatenate([pilot.members.ravel(), [False, True]])
    fitted = cast("Any", LogisticRegression(C=1e6)).fit(scores[:, None], members)
    copies = max(1, _REDRAWN // pilot.scores.size)
    tiled = np.tile(pilot.scores, (copies, 1))
    inside = fitted.predict_proba(tiled.reshape(-1, 1))[:, 1].reshape(tiled.shape)
    return Ranked(tiled, rng.random(tiled.shape) < inside)
