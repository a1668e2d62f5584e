"""Mechanisms of the zoo, right and wrong, as users write them.

A quantile takes ``scores`` of shape (n,) and returns ``size`` independent thresholds; a randomizer
takes an array of values in {0, …, K−1} and returns as many reports; a calibrator takes
probabilities (n, K) and labels (n,) and returns a threshold on 1 − p_y. The keyword arguments
choose between the correct code, by default, and its broken twins.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.extensions.claims import Relation
from dpcp_audit.extensions.laws import Uniform
from dpcp_audit.extensions.mechanisms import Debiasing, ExponQ, Normaliser, OnMiss, conformal_rank
from dpcp_audit.extensions.theorems import ScoreTheorem
from dpcp_ledger.mechanisms.histlap import HistLap

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import FloatArray, IntArray


ROUNDS = 20
ALPHA, RHO, EPSILON = 0.1, 0.5, 1.0
FAILURE = 0.02
"""The probability with which any of the search's noises may exceed the margin of its rank."""
LDP_USERS, LDP_FAILURE = 28_000, 0.1
FEWEST = 20
"""The number of scores below which ``falls_back`` adds no noise."""


def noise_scale(*, rounds: int = ROUNDS) -> float:
    """Return the standard deviation that makes so many noisy counts ρ-zCDP together."""
    return math.sqrt(rounds / (2 * RHO))


def safe_rank(n: int) -> int:
    """Return the conformal rank and the largest noise of all rounds that is to be expected."""
    margin = noise_scale() * math.sqrt(2 * math.log(ROUNDS / FAILURE))
    return conformal_rank(n, alpha=ALPHA) + math.ceil(margin)


def bisect(
    scores: FloatArray, noise: FloatArray, *, bounds: tuple[float, float] = (0.0, 1.0)
) -> tuple[FloatArray, FloatArray]:
    """Return both ends of the last brackets; a row of ``noise`` is one round, a column a run."""
    ordered, rank = np.sort(scores), safe_rank(len(scores))
    left = np.full(noise.shape[1], bounds[0])
    right = np.full(noise.shape[1], bounds[1])
    for drawn in noise:
        middle = (left + right) / 2
        enough = np.searchsorted(ordered, middle, side="right") + drawn >= rank
        left, right = np.where(enough, left, middle), np.where(enough, middle, right)
    return left, right


def search(
    scores: FloatArray, *, size: int, rng: np.random.Generator, noise: float = 1.0
) -> FloatArray:
    """Bisect by noisy counts, ρ = 0.5; ``noise`` below 1 is a scale that is too small."""
    drawn = noise * noise_scale() * rng.standard_normal((ROUNDS, size))
    return bisect(scores, drawn)[1]


def sigma_of_range(scores: FloatArray, *, size: int, rng: np.random.Generator) -> FloatArray:
    """Count rounds as ⌈log2 L⌉ in place of ⌈log2(L/Δ)⌉: no round, and so σ = 0, on [0, 1]."""
    low, high = 0.0, 1.0
    sigma = math.sqrt(math.ceil(math.log2(high - low)) / (2 * RHO))
    return bisect(scores, sigma * rng.standard_normal((ROUNDS, size)))[1]


def undivided_budget(scores: FloatArray, *, size: int, rng: np.random.Generator) -> FloatArray:
    """Spend all of ρ in every round."""
    sigma = noise_scale(rounds=1)
    return bisect(scores, sigma * rng.standard_normal((ROUNDS, size)))[1]


def one_draw(scores: FloatArray, *, size: int, rng: np.random.Generator) -> FloatArray:
    """Draw the noise once and add it in every round."""
    drawn = noise_scale() * rng.standard_normal(size)
    return bisect(scores, np.tile(drawn, (ROUNDS, 1)))[1]


def own_bounds(scores: FloatArray, *, size: int, rng: np.random.Generator) -> FloatArray:
    """Search between the least and the largest score."""
    drawn = noise_scale() * rng.standard_normal((ROUNDS, size))
    return bisect(scores, drawn, bounds=(float(np.min(scores)), float(np.max(scores))))[1]


def fixed_seed(scores: FloatArray, *, rng: np.random.Generator) -> float:
    """Draw from a generator of one's own, seeded with a constant: 'reproducible'."""
    del rng
    drawn = noise_scale() * np.random.default_rng(42).standard_normal((ROUNDS, 1))
    return float(bisect(scores, drawn)[1][0])


def seed_of_data(scores: FloatArray, *, rng: np.random.Generator) -> float:
    """Seed the noise with a hash of the scores."""
    del rng
    own = np.random.default_rng(int(1e6 * np.sum(scores)))
    return float(bisect(scores, noise_scale() * own.standard_normal((ROUNDS, 1)))[1][0])


def falls_back(scores: FloatArray, *, size: int, rng: np.random.Generator) -> FloatArray:
    """Release the plain quantile where there are few scores."""
    if len(scores) < FEWEST:
        return np.full(size, np.sort(scores)[min(len(scores), safe_rank(len(scores))) - 1])
    return search(scores, size=size, rng=rng)


def lower_end(scores: FloatArray, *, size: int, rng: np.random.Generator) -> FloatArray:
    """Return the lower end of the last bracket, at which there were too few scores."""
    return bisect(scores, noise_scale() * rng.standard_normal((ROUNDS, size)))[0]


def rounded(scores: FloatArray, *, size: int, rng: np.random.Generator) -> FloatArray:
    """Round the threshold to two decimals: down, in half of the cases."""
    return np.round(search(scores, size=size, rng=rng), 2)


def rounded_up(scores: FloatArray, *, size: int, rng: np.random.Generator) -> FloatArray:
    """Round the threshold up to two decimals."""
    return np.ceil(100 * search(scores, size=size, rng=rng)) / 100


def noisy_quantile(
    scores: FloatArray,
    *,
    size: int,
    rng: np.random.Generator,
    noise: str = "laplace",
    factor: float = 1.0,
    over_n: bool = False,
) -> FloatArray:
    """Add noise to the quantile of scores in [0, 1], whose sensitivity is 1, not 1/n.

    ``noise`` is "laplace", of scale 1/ε, ε-DP; or "gaussian", of standard deviation 1, which
    is 0.5-zCDP; or "laplace-as-gaussian", Laplace noise of that standard deviation. ``factor``
    below 1 is a scale that is too small.
    """
    exact = float(np.quantile(scores, 1 - ALPHA))
    scale = factor / EPSILON / (len(scores) if over_n else 1)
    if noise == "gaussian":
        return exact + rng.normal(scale=scale, size=size)
    if noise == "laplace-as-gaussian":
        scale /= math.sqrt(2)
    return exact + rng.laplace(scale=scale, size=size)


def histogram(
    scores: FloatArray, *, size: int, rng: np.random.Generator, neighbours: str = "substitution"
) -> FloatArray:
    """Read the quantile off a noisy histogram; a substitution moves two of its counts."""
    mechanism = HistLap(alpha=0.5, epsilon=EPSILON, n_bins=2, noise=Relation(neighbours))
    return mechanism.sample(scores, size, rng=rng)


def exponq(
    scores: FloatArray, *, size: int, rng: np.random.Generator, normaliser: str = "corrected"
) -> FloatArray:
    """Draw the quantile among 200 edges by the exponential mechanism, ExponQ."""
    return exponq_mechanism(normaliser).sample(scores, size, rng=rng)


def exponq_mechanism(normaliser: str) -> ExponQ:
    """Return ExponQ as the zoo runs it."""
    return ExponQ(
        alpha=ALPHA,
        epsilon=EPSILON,
        n_candidates=200,
        gamma=0.01,
        normaliser=Normaliser(normaliser),
    )


def gap_weights(scores: FloatArray, *, sensitivity: float) -> tuple[FloatArray, FloatArray]:
    """Return the edges of the n+1 gaps between scores, and the chance of each (Smith 2011).

    The utility of a gap is minus its distance in rank from the quantile.
    """
    edges = np.concatenate([[0.0], np.sort(scores), [1.0]])
    rank = conformal_rank(len(scores), alpha=ALPHA)
    utility = -np.abs(np.arange(len(scores) + 1) - rank)
    weights = np.diff(edges) * np.exp(EPSILON * utility / (2 * sensitivity))
    return edges, weights / weights.sum()


def gaps(
    scores: FloatArray, *, size: int, rng: np.random.Generator, sensitivity: float = 1.0
) -> FloatArray:
    """Draw a gap between scores by the exponential mechanism, and a point of it.

    A substitution changes the utility by 1; exp(ε·u) without the 2 is ``sensitivity`` 1/2.
    """
    edges, chances = gap_weights(scores, sensitivity=sensitivity)
    chosen = rng.choice(len(chances), size=size, p=chances)
    return rng.uniform(edges[chosen], edges[chosen + 1])


def conformal(
    scores: FloatArray, *, rng: np.random.Generator, offset: int = 0, correction: int = 1
) -> float:
    """Return the ⌈(1−α)(n+1)⌉-th smallest score: split conformal, without privacy.

    ``offset`` −1 is the rank off by one; ``correction`` 0 has n in place of n+1.
    """
    del rng
    n = len(scores)
    rank = conformal_rank(n + correction - 1, alpha=ALPHA) + offset
    return math.inf if rank > n else float(np.sort(scores)[rank - 1])


def numpy_quantile(scores: FloatArray, *, rng: np.random.Generator) -> float:
    """Call NumPy: linear interpolation, and no finite-sample correction."""
    del rng
    return float(np.quantile(scores, 1 - ALPHA))


def searched_to(
    scores: FloatArray, *, size: int, rng: np.random.Generator, upper: float = 2.0
) -> FloatArray:
    """Search a threshold of scores in [0, 2], where APS as printed has them, up to ``upper``."""
    drawn = noise_scale() * rng.standard_normal((ROUNDS, size))
    return bisect(scores, drawn, bounds=(0.0, upper))[1]


def ldpcp_scores(
    scores: FloatArray, *, size: int, rng: np.random.Generator, debiasing: str = "corrected"
) -> FloatArray:
    """Run LDP-CP-S, each user answering once; "printed" divides a block's sum by n."""
    return ldpcp_theorem(debiasing).mechanism.sample(scores, size, rng=rng)


def ldpcp_theorem(debiasing: str) -> ScoreTheorem:
    """Return Theorem 4 on uniform scores, as the zoo runs LDP-CP-S."""
    return ScoreTheorem(
        population=Uniform(),
        n=LDP_USERS,
        epsilon=4.0,
        delta=LDP_FAILURE,
        rounds=7,
        alpha=ALPHA,
        on_miss=OnMiss.UPPER_END,
        debiasing=Debiasing(debiasing),
        two_sided=True,
    )


LABELS = 10


def keep_probability(*, k: int = LABELS, epsilon: float = EPSILON) -> float:
    """Return the probability with which k-RR reports the value itself."""
    return float(np.exp(epsilon) / (np.exp(epsilon) + k - 1))


def randomized_response(value: IntArray, *, rng: np.random.Generator, k: int = LABELS) -> IntArray:
    """Keep a label of ten, or draw another uniformly; ``k`` is how many there are taken to be."""
    kept = rng.random(value.shape) < keep_probability(k=k)
    other = (value + rng.integers(1, LABELS, size=value.shape)) % LABELS
    return np.where(kept, value, other)


def nearby_labels(value: IntArray, *, rng: np.random.Generator) -> IntArray:
    """Keep a label, or draw another: one close to it more often than one far from it."""
    kept = rng.random(value.shape) < keep_probability()
    steps = rng.choice(np.arange(1, LABELS), size=value.shape, p=nearby_chances())
    return np.where(kept, value, (value + steps) % LABELS)


def nearby_chances() -> FloatArray:
    """Return the chance of each step away from the label, shape (9,)."""
    steps = np.arange(1, LABELS)
    weights: FloatArray = 1.0 / np.minimum(steps, LABELS - steps)
    chances: FloatArray = weights / weights.sum()
    return chances


def two_bits(value: IntArray, *, rng: np.random.Generator, share: float = 0.5) -> IntArray:
    """Flip both bits of a value below 4, each by randomised response at ``share`` times ε."""
    flip = flip_probability(share)
    first = (value >> 1) ^ (rng.random(value.shape) < flip)
    second = (value & 1) ^ (rng.random(value.shape) < flip)
    return 2 * first + second


def flip_probability(share: float) -> float:
    """Return the probability with which ``two_bits`` flips a bit."""
    return float(1 / (1 + np.exp(share * EPSILON)))


def channel(kept: float, others: FloatArray) -> FloatArray:
    """Return P(report | value), shape (10, 10), from the chances of the steps to other labels."""
    row = np.concatenate([[kept], (1 - kept) * others])
    return np.stack([np.roll(row, value) for value in range(LABELS)])


def two_bit_channel(share: float) -> FloatArray:
    """Return P(report | value) of ``two_bits``, shape (4, 4)."""
    flip = flip_probability(share)
    bit = np.array([[1 - flip, flip], [flip, 1 - flip]])
    chances: FloatArray = np.einsum("ij,kl->ikjl", bit, bit).reshape(4, 4)
    return chances


def split_conformal(
    probabilities: FloatArray,
    labels: IntArray,
    *,
    rng: np.random.Generator,
    score: str = "true-label",
) -> float:
    """Return the conformal quantile of 1 − p_y; "predicted-label" scores the likeliest label."""
    del rng
    own = probabilities[np.arange(len(labels)), labels]
    scores = 1 - (own if score == "true-label" else probabilities.max(axis=1))
    rank = conformal_rank(len(scores), alpha=ALPHA)
    return math.inf if rank > len(scores) else float(np.sort(scores)[rank - 1])


def rounded_down(probabilities: FloatArray, labels: IntArray, *, rng: np.random.Generator) -> float:
    """Round the conformal quantile to two decimals."""
    return round(split_conformal(probabilities, labels, rng=rng), 2)
