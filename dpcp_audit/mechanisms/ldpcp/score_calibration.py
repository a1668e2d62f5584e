"""LDP-CP-S: conformal calibration from randomised answers about scores (LDP-CP, Algorithm 3)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.mechanisms.ldpcp.window import Blocks, Debiasing, LDPTrials, WindowSearch
from dpcp_audit.mechanisms.randomized_response import BinaryRandomizedResponse
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.guarantees import LocalDP

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcp_audit.laws.populations import Population
    from dpcp_audit.words.arrays import FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class LDPCPScores(WindowSearch):
    """Round j asks its own block of users whether their score lies below the midpoint.

    Each user answers once, b_i = 1(s_i < q) through randomised response. Scores lie in [0, 1].

    Parameters
    ----------
    alpha, rounds, window_width, window, on_miss, starred
        As in ``WindowSearch``.
    epsilon : float
        Privacy parameter ε > 0 of each user's answer.
    debiasing : Debiasing
        The divisor of the sum of a block's reports.
    blocks : Blocks
        The users who are asked in each round.
    """

    epsilon: float
    debiasing: Debiasing = Debiasing.CORRECTED
    blocks: Blocks = Blocks.CORRECTED

    def __post_init__(self) -> None:
        WindowSearch.__post_init__(self)
        _validate.positive(epsilon=self.epsilon)
        _validate.choice(Debiasing, debiasing=self.debiasing)
        _validate.choice(Blocks, blocks=self.blocks)

    @property
    def guarantee(self) -> LocalDP:
        """ε-LDP, where no user is asked twice (Theorem 4)."""
        return LocalDP(self.epsilon)

    @property
    def response(self) -> BinaryRandomizedResponse:
        """The randomizer that each user who is asked runs on its bit."""
        return BinaryRandomizedResponse(self.epsilon)

    def blocks_of(self, n: int) -> list[IntArray]:
        """Return the 0-based indices of the users asked in each of the T rounds."""
        each = self._block_length(n)
        if self.blocks is Blocks.CORRECTED:
            return np.array_split(np.arange(n), self.rounds)
        return [
            np.arange(min(j * each, n), min((j + 1) * each, n)) for j in range(1, self.rounds + 1)
        ]

    def block_sizes(self, n: int) -> list[int]:
        """Return how many users are asked in each round, at a cost that does not grow with n."""
        each = self._block_length(n)
        if self.blocks is Blocks.CORRECTED:
            return [each + (j < n % self.rounds) for j in range(self.rounds)]
        return [min((j + 1) * each, n) - min(j * each, n) for j in range(1, self.rounds + 1)]

    def debias(self, reports: ArrayLike, *, asked: int, n: int) -> FloatArray:
        """Return Z from the number of ones among the reports of a block (Algorithm 3, line 8).

        Parameters
        ----------
        reports : array_like of int
            Numbers of ones.
        asked, n : int
            Users in the block, and in all.
        """
        return self.response.debias(np.asarray(reports) / self.divisor(asked, n))

    def divisor(self, asked: int, n: int) -> int:
        """Return what the sum of a block's reports is divided by.

        The corrected form divides by ``asked``, or by n′ where a printed block runs past n: users
        who do not exist report nothing.
        """
        whole = max(asked, self._block_length(n))
        return whole if self.debiasing is Debiasing.CORRECTED else n

    def sample(
        self, scores: ArrayLike, size: int, *, rng: np.random.Generator | int | None = None
    ) -> FloatArray:
        """Release ``size`` independent thresholds from the same users' scores.

        Parameters
        ----------
        scores : array_like, shape (n,)
            The users' scores in [0, 1], in the order in which blocks are formed.
        size : int
            Number of releases.

        Returns
        -------
        ndarray, shape (size,)
        """
        values = _validate.scores(scores, within=(0.0, 1.0))
        _validate.integer(size=size, at_least=1)
        generator = _validate.generator(rng)
        asked = [np.sort(values[users]) for users in self.blocks_of(values.size)]

        def estimate(j: int, q: FloatArray, _: IntArray) -> FloatArray:
            ones = np.searchsorted(asked[j], q, side="left")
            reports = self.response.sample_counts(ones, asked[j].size - ones, rng=generator)
            return self.debias(reports, asked=asked[j].size, n=values.size)

        return self.search(estimate, runs=size).threshold

    def trials(
        self,
        population: Population,
        *,
        n: int,
        trials: int,
        rng: np.random.Generator | int | None = None,
    ) -> LDPTrials:
        """Run the algorithm ``trials`` times, each on n fresh users.

        The users of a block are asked once, so their reports are i.i.d. and only their sum is
        drawn: the cost of a trial does not grow with n. The search stays in [0, 1]; scores
        beyond 1 that a population may hold are never covered.
        """
        _validate.integer(trials=trials, at_least=1)
        generator = _validate.generator(rng)
        sizes = self.block_sizes(n)

        def estimate(j: int, q: FloatArray, _: IntArray) -> FloatArray:
            chance = self.response.report_probability(population.cdf_left(q))
            return self.debias(generator.binomial(sizes[j], chance), asked=sizes[j], n=n)

        threshold, missed = self.search(estimate, runs=trials)
        return LDPTrials(threshold, population.cdf(threshold), missed)

    def _block_length(self, n: int) -> int:
        """Return n′ = ⌊n/T⌋."""
        _validate.integer(n=n, at_least=self.rounds)
        return n // self.rounds


def hoeffding_width(*, n: int, epsilon: float, rounds: int, delta: float) -> float:
    """Return Δ_S = (e^ε+1)/(e^ε−1)·sqrt(T·log(2T/δ)/(2n)), the half-width of all T estimates.

    LDP-CP's Theorem 4 gives n = O(T/Δ²·((e^ε+1)/(e^ε−1))²·log(T/δ)); this is Hoeffding's
    inequality (1963, Theorem 2) for the n/T reports of a block, two-sided, with a union bound
    over the T rounds. With probability at least 1−δ every Z is within Δ_S of its mean, where
    T divides n; pass n − (n mod T) where it does not.
    """
    _validate.integer(n=n, at_least=1)
    _validate.integer(rounds=rounds, at_least=1)
    _validate.open_unit(delta=delta)
    gain = BinaryRandomizedResponse(epsilon).gain
    return gain * math.sqrt(rounds * math.log(2 * rounds / delta) / (2 * n))
