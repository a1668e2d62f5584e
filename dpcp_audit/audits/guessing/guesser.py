"""The observer: a mixture of experts that learns online, and says how much to guess.

Every expert's log-odds are formed before a batch is shown, so that what it would have got right in
past rounds is out of sample. The expert, and how many guesses to make, are chosen by these; the
log-odds of the day only put the outputs in order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit

from dpcp_audit.stats.guessing import GuessingTest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.audits.guessing.experts import Expert, LogOdds
    from dpcp_audit.words.validate import BoolArray, FloatArray

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


class Preference(NamedTuple):
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

    def choose(self, tangents: Sequence[Tangent]) -> Preference:
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

    def _judge(self, expert: int, tangent: Tangent) -> Preference:
        """Judge by the log-odds as they were when the rounds came, and plan by those of today.

        Today's have seen which guesses were right, and would flatter an expert of many values.
        """
        then, right = self._sizes[expert], self._right[expert]
        merit, _ = _prefixes(then, then > 0, right, tangent)
        today = np.abs(self.rules[expert](self._outputs[self._unjudged :]))
        _, share = _prefixes(today, then > 0, right, tangent)
        return Preference(expert, tangent, share, merit)


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
