"""Games on trainings: canaries that are in by fair coins, and bets on independent runs.

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
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, cast

import numpy as np
from scipy.stats import betabinom

from dpcp_audit.audits.training.one_run import Guesses, falling, top_guesses, total
from dpcp_audit.stats.roots import turns
from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpcp_audit.words.validate import BoolArray, FloatArray, IntArray


_MOST = (1, 2, 4)
_CAPS = np.linspace(0.5, 9.0, 18)
_THRESHOLDS = 24
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
    """The bet on every run; it must be chosen on other runs.

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
            If ε exceeds ``largest_epsilon``.
        """
        if not 0 <= epsilon <= self.largest_epsilon:
            raise ValueError(f"epsilon must lie in [0, {self.largest_epsilon:.4g}], got {epsilon}")
        tally = _Tally.of(*self.count(runs))
        stakes, epsilons = np.array([self.stake]), np.array([epsilon])
        return float(tally.log_capitals(stakes, epsilons, penalty=self._penalty)[0])

    def lower_bound(self, runs: Ranked, *, significance: float) -> float:
        """Return a lower bound of ε(δ), 0 where not even ε = 0 is refuted."""
        _validate.open_unit(significance=significance)
        tally, stakes = _Tally.of(*self.count(runs)), np.array([self.stake])
        target = -math.log(significance)
        bounds = tally.lower_bounds(stakes, most=self.most, penalty=self._penalty, target=target)
        return float(bounds[0])

    @classmethod
    def chosen(
        cls,
        pilot: Ranked,
        *,
        canaries: int,
        delta: float,
        runs: int,
        significance: float,
    ) -> Self:
        """Return the bets that would certify most on ``runs`` runs like the pilot's.

        The few wrong guesses of a pilot would mislead: a logistic regression on the scores says
        how probable each is, and what is weighed is the expected number of runs with so many
        right and wrong guesses.
        """
        chances = _chances(pilot)
        laws = {guesses: _right_guesses(chances, guesses) for guesses in range(max(_MOST) + 1)}
        target = -math.log(significance) * len(pilot.scores) / runs
        levels = np.unique(np.quantile(pilot.scores, 1 - np.geomspace(1, 1e-4, _THRESHOLDS)))
        penalty = canaries * delta / 2
        tried: list[tuple[float, float, int, float]] = []
        for most, threshold in itertools.product(_MOST, levels.tolist()):
            guesses = (pilot.scores[:, :most] > threshold).sum(axis=1)
            tally = _Tally.expected(guesses, laws)
            stakes = 1 / (np.exp(_CAPS) * most + penalty)
            bounds = tally.lower_bounds(stakes, most=most, penalty=penalty, target=target)
            best = int(np.argmax(bounds))
            tried.append((float(bounds[best]), threshold, most, float(stakes[best])))
        _, threshold, most, stake = max(tried, key=lambda one: one[0])
        return cls(canaries=canaries, delta=delta, threshold=threshold, most=most, stake=stake)


class _Tally(NamedTuple):
    """The number of runs for each pair of right and wrong guesses, each of shape (k,)."""

    right: IntArray
    wrong: IntArray
    runs: IntArray | FloatArray

    @classmethod
    def of(cls, right: IntArray, wrong: IntArray) -> _Tally:
        base = int(wrong.max()) + 1
        codes, runs = np.unique(right * base + wrong, return_counts=True)
        return cls(codes // base, codes % base, runs)

    @classmethod
    def expected(cls, guesses: IntArray, laws: Mapping[int, FloatArray]) -> _Tally:
        """Return how many runs to expect.

        Parameters
        ----------
        guesses : ndarray of int, shape (runs,)
            The number of canaries that are guessed in each run, those of the largest scores.
        laws : mapping
            From a number g of guesses to how probable each number of right ones is in each run,
            shape (runs, g + 1).
        """
        cells = [
            (right, g - right, float(laws[g][guesses == g, right].sum()))
            for g in range(int(guesses.max()) + 1)
            for right in range(g + 1)
        ]
        right, wrong, runs = (np.array(column) for column in zip(*cells, strict=True))
        return cls(right, wrong, runs)

    def log_capitals(
        self, stakes: FloatArray, epsilons: FloatArray, *, penalty: float
    ) -> FloatArray:
        """Return the log of the capital of each stake against its ε, shape (stakes,)."""
        wrong = np.exp(epsilons)[:, None] * self.wrong
        gains = stakes[:, None] * (self.right - wrong - penalty)
        with np.errstate(divide="ignore"):  # all may be lost at the largest ε
            logs: FloatArray = np.log1p(np.maximum(gains, -1.0))
        return logs @ np.asarray(self.runs, dtype=np.float64)

    def lower_bounds(
        self, stakes: FloatArray, *, most: int, penalty: float, target: float
    ) -> FloatArray:
        """Return the largest ε that each stake refutes with this log-capital, 0 where none is."""

        def refuted(epsilons: FloatArray) -> BoolArray:
            return np.asarray(self.log_capitals(stakes, epsilons, penalty=penalty) >= target)

        low, high = np.zeros(stakes.shape), np.log((1 / stakes - penalty) / most)
        steps = math.ceil(math.log2(float(high.max()) / _RESOLUTION))
        bounds = turns(refuted, high, low, steps=steps)[1]
        return np.where(refuted(low), bounds, 0.0)


def _count(runs: Ranked, threshold: float, most: int) -> tuple[IntArray, IntArray]:
    guessed = runs.scores[:, :most] > threshold
    inside = runs.members[:, :most]
    return (guessed & inside).sum(axis=1), (guessed & ~inside).sum(axis=1)


def _right_guesses(chances: FloatArray, guesses: int) -> FloatArray:
    """Return how probable each number of right guesses is in each run, shape (runs, guesses + 1).

    ``chances``, of shape (runs, k), are those of the canaries of the largest scores.
    """
    law = np.ones((len(chances), 1))
    for each in chances[:, :guesses].T[:, :, None]:
        missed, hit = law * (1 - each), law * each
        law = np.pad(missed, ((0, 0), (0, 1))) + np.pad(hit, ((0, 0), (1, 0)))
    return law


def _chances(pilot: Ranked) -> FloatArray:
    """Return the fitted probability that each canary is in, of the scores' shape."""
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415  (slow to import)

    middle = np.full(2, np.median(pilot.scores))
    scores = np.concatenate([pilot.scores.ravel(), middle])
    members = np.concatenate([pilot.members.ravel(), [False, True]])
    fitted = cast("Any", LogisticRegression(C=1e6)).fit(scores[:, None], members)
    found: FloatArray = fitted.predict_proba(pilot.scores.reshape(-1, 1))[:, 1]
    return found.reshape(pilot.scores.shape)


MOST_GUESSES = 10_000
_BLOCK = 1000
"""Canaries of a block of runs."""
_MISSED = 0.05
"""The probability with which a violation that is stated as seen may be missed."""
_GROUPS = 32


class GameResults(NamedTuple):
    """The outcomes of a game's runs, both of shape (runs, m)."""

    scores: FloatArray
    """Larger where the attacker takes a canary to be in."""
    members: BoolArray


class Game(Protocol):
    """Trains models side by side, each with its own coins, and scores the canaries."""

    @property
    def canaries(self) -> int:
        """The number of canaries of a run, m."""
        ...

    def play(self, runs: int, *, rng: np.random.Generator) -> GameResults:
        """Play independent runs."""
        ...

    def play_noiseless(self, runs: int, *, rng: np.random.Generator) -> GameResults:
        """Play the same training without its noise, in less time than so many runs."""
        ...


def guessed(played: GameResults, share: float) -> dict[str, int]:
    """Return the guesses of this share of the canaries, as plain data."""
    made = max(1, round(share * played.scores.size))
    found = top_guesses(played.scores, played.members, guesses=made)
    return {"correct": found.correct, "guesses": found.guesses, "canaries": found.canaries}


def blocks(played: GameResults) -> list[GameResults]:
    """Return the runs in blocks of 1,000 canaries or so, whose guesses are independent."""
    size = max(1, round(_BLOCK / played.scores.shape[1]))
    cuts = range(size, len(played.scores), size)
    pairs = zip(np.split(played.scores, cuts), np.split(played.members, cuts), strict=True)
    return [GameResults(*pair) for pair in pairs]


def beginnings(played: GameResults, count: int) -> list[GameResults]:
    """Return the first canaries of a single run, from few to all."""
    canaries = played.scores.shape[1]
    sizes = {max(1, canaries >> k) for k in range(count)}
    return [GameResults(played.scores[:, :m], played.members[:, :m]) for m in sorted(sizes)]


def grouped(parts: Sequence[dict[str, int]]) -> list[Guesses]:
    """Return the guesses of all chunks, neighbouring ones together where they are many."""
    guesses = [Guesses(**part) for part in parts]
    size = math.ceil(len(guesses) / _GROUPS)
    return [total(guesses[i : i + size]) for i in range(0, len(guesses), size)]


def foreseen(groups: Sequence[Guesses], twin: Guesses) -> list[Guesses]:
    """Return the groups' guesses if as many were right as of a twin's, at the 5 % quantile.

    Right ones are spread as evenly as whole numbers allow. The twin's rate of right guesses is
    known by Jeffreys's posterior.
    """
    right, wrong = twin.correct + 0.5, twin.guesses - twin.correct + 0.5
    hits = int(betabinom.ppf(_MISSED, total(groups).guesses, right, wrong))
    made = np.cumsum([0, *(group.guesses for group in groups)])
    correct = np.diff(np.floor(made * hits / made[-1])).astype(int).tolist()
    return [replace(group, correct=one) for group, one in zip(groups, correct, strict=True)]


def ranked_of(results: Sequence[dict[str, Any]]) -> Ranked:
    """Return the largest scores of the runs of all chunks."""
    return Ranked(
        np.concatenate([np.asarray(result["scores"]) for result in results]),
        np.concatenate([np.asarray(result["members"], dtype=np.bool_) for result in results]),
    )
