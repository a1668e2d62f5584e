"""LDP-CP-S on fixed users: the exact law of the threshold alone, and of one user's answer.

The users' scores are given and only their answers are random. The number of ones among a
block's reports is then a sum of two binomials, and the search walks a tree of midpoints.
This is the view of an outsider to whom the aggregator hands nothing but the threshold; the
aggregator, who sees who answered what, has the view of ``report_pair``.

LDP-CP-S: conformal calibration from randomised answers about scores (LDP-CP, Algorithm 3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import logsumexp

from dpcp_audit.laws.laws import FiniteLaw, FinitePair
from dpcp_audit.mechanisms.ldpcp.window import Blocks, Debiasing, LDPTrials, OnMiss, WindowSearch
from dpcp_audit.mechanisms.randomized_response import BinaryRandomizedResponse
from dpcp_audit.mechanisms.shuffle import ShuffledBinaryResponse, log_count_masses
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.guarantees import LocalDP

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcp_audit.laws.populations import Population
    from dpcp_audit.words.arrays import BoolArray, FloatArray, IntArray


class ThresholdLaws(NamedTuple):
    """The thresholds that a search may release, and their laws on each input.

    Attributes
    ----------
    threshold : ndarray, shape (m,)
        Distinct thresholds in ascending order; the last is nan, for all pruned branches.
    laws : tuple of FiniteLaw
        One for each input, over these m outcomes.
    """

    threshold: FloatArray
    laws: tuple[FiniteLaw, ...]


class _Branches(NamedTuple):
    """Brackets (nodes,), the midpoints just asked at, and log-probabilities (inputs, nodes)."""

    low: FloatArray
    high: FloatArray
    point: FloatArray
    log_mass: FloatArray

    def take(self, keep: BoolArray) -> _Branches:
        return _Branches(self.low[keep], self.high[keep], self.point[keep], self.log_mass[:, keep])


def report_pair(mechanism: LDPCPScores) -> FinitePair:
    """Return the laws of one user's answer on the bits 1 and 0: its view from the aggregator.

    A user answers once, with a bit that no other user's data change, so that this is all the
    aggregator ever learns from it beyond what the other users' answers say.
    """
    zero, one = mechanism.response.laws()
    return FinitePair(one, zero)


def decision_laws(mechanism: LDPCPScores, *, asked: int, n: int) -> FloatArray:
    """Return log P(Z below, in, above the window) for each number of ones in a block.

    Parameters
    ----------
    asked, n : int
        Users in the block, and in all.

    Returns
    -------
    ndarray, shape (asked + 1, 3)
        A row for each number of ones among the bits of the block.
    """
    _validate.integer(asked=asked, at_least=0)
    return _decisions(mechanism, asked, n, log_count_masses(asked, mechanism.epsilon))


def threshold_laws(
    mechanism: LDPCPScores, *inputs: ArrayLike, prune: float = 1e-25
) -> ThresholdLaws:
    """Return the exact laws of the released threshold on each input, on shared outcomes.

    Branches that release the same number are one outcome: at the last round a hit and a miss
    are told apart only where the mechanism tells them apart.

    Parameters
    ----------
    *inputs : array_like, shape (n,)
        The users' scores in [0, 1], in the order in which blocks are formed; for example
        two arrays that differ in one score.
    prune : float
        Branches with a smaller probability on every input are cut off; their total is the
        laws' slack. 0 follows all 2^T of them.
    """
    _validate.closed_unit(prune=prune)
    arrays = _arrays(inputs)
    n = arrays.shape[1]
    top = np.zeros(1)
    nodes = _Branches(top, top + 1, top, np.zeros((len(inputs), 1)))
    ended: list[tuple[FloatArray, FloatArray]] = []
    lost = np.full(len(inputs), -np.inf)
    for users in mechanism.blocks_of(n):
        block = np.sort(arrays[:, users], axis=1)
        inside, nodes = _round(mechanism, block, nodes, n)
        ended.append(inside)
        with np.errstate(divide="ignore"):
            tiny = nodes.log_mass.max(axis=0) < np.log(prune)
        lost = np.logaddexp(lost, _total(nodes.log_mass[:, tiny]))
        nodes = nodes.take(~tiny)
    end = nodes.high if mechanism.on_miss is OnMiss.UPPER_END else nodes.point
    return _merged([*ended, (end, nodes.log_mass)], lost)


def _arrays(inputs: tuple[ArrayLike, ...]) -> FloatArray:
    if not inputs:
        raise ValueError("inputs must hold at least one score array, got none")
    arrays = [
        _validate.scores(scores, within=(0.0, 1.0), name=f"inputs[{i}]")
        for i, scores in enumerate(inputs)
    ]
    if len({array.size for array in arrays}) > 1:
        sizes = [array.size for array in arrays]
        raise ValueError(f"inputs must hold as many scores each, got sizes {sizes}")
    return np.stack(arrays)


def _round(
    mechanism: LDPCPScores, block: FloatArray, nodes: _Branches, n: int
) -> tuple[tuple[FloatArray, FloatArray], _Branches]:
    """Ask a sorted block, shape (inputs, asked), in every branch; return hits and the rest."""
    middle = (nodes.low + nodes.high) / 2
    ones = np.stack([np.searchsorted(scores, middle, side="left") for scores in block])
    seen, where = np.unique(ones, return_inverse=True)
    table = np.array([_decision(mechanism, block.shape[1], n, int(count)) for count in seen])
    steps = table.reshape(-1, 3)[where.reshape(ones.shape)]
    below, inside, above = np.moveaxis(nodes.log_mass[..., None] + steps, -1, 0)
    rest = _Branches(
        np.concatenate([middle, nodes.low]),
        np.concatenate([nodes.high, middle]),
        np.concatenate([middle, middle]),
        np.concatenate([below, above], axis=1),
    )
    return (middle, inside), rest.take(rest.log_mass.max(axis=0) != -np.inf)


@lru_cache(maxsize=2**15)
def _decision(mechanism: LDPCPScores, asked: int, n: int, ones: int) -> tuple[float, float, float]:
    """Return log P of Z below, in and above the window where ``ones`` of the asked bits are 1."""
    law = ShuffledBinaryResponse(mechanism.epsilon).law(ones, asked).log_mass if asked else None
    (found,) = _decisions(mechanism, asked, n, np.zeros((1, 1)) if law is None else law[None])
    low, inside, high = found.tolist()
    return low, inside, high


def _decisions(mechanism: LDPCPScores, asked: int, n: int, log_mass: FloatArray) -> FloatArray:
    """Return log P of Z below, in and above the window, shape (k, 3), for k laws of the count."""
    z = mechanism.debias(np.arange(asked + 1), asked=asked, n=n)
    bottom, top = mechanism.limits
    below, above = z < bottom, z > top
    parts = [_total(log_mass[:, part]) for part in (below, ~(below | above), above)]
    return np.minimum(0.0, np.stack(parts, axis=1))


def _total(log_mass: FloatArray) -> FloatArray:
    """Return the logarithm of the mass along the last axis; −∞ where there is none."""
    if not log_mass.shape[-1]:
        return np.full(log_mass.shape[:-1], -np.inf)
    with np.errstate(divide="ignore"):
        return np.asarray(logsumexp(log_mass, axis=-1))


def _merged(parts: list[tuple[FloatArray, FloatArray]], lost: FloatArray) -> ThresholdLaws:
    """Merge branches of one threshold, and append the pruned mass."""
    every = np.concatenate([point for point, _ in parts])
    log_mass = np.concatenate([mass for _, mass in parts], axis=1)
    threshold, where = np.unique(every, return_inverse=True)
    total = np.full((log_mass.shape[0], threshold.size), -np.inf)
    for row, mass in zip(total, log_mass, strict=True):
        np.logaddexp.at(row, where, mass)
    total = np.concatenate([total, lost[:, None]], axis=1)
    multiplicity = np.zeros(threshold.size + 1)
    laws = tuple(
        FiniteLaw(row, multiplicity, float(np.exp(slack)))
        for row, slack in zip(total, lost, strict=True)
    )
    return ThresholdLaws(np.append(threshold, np.nan), laws)


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
        What the sum of a block's reports is divided by.
    blocks : Blocks
        Who is asked in which round.
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
