"""Private functions with a bug that shows on few pairs, or in few events, and their correct twins.

Each takes ``correct``; the others are as ``dpcp_audit.audit`` takes them, vectorised.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    Function = Callable[..., Any]

_GRID = np.linspace(0, 1, 17)[1:]
_TABLE = np.random.default_rng(1).random(10_000)


def _noisy(scores, size: int, rng: np.random.Generator, scale: float = 1.0) -> np.ndarray:
    return np.quantile(scores, 0.9) + rng.laplace(scale=scale, size=size)


def less_noise_where(bad: Callable[[np.ndarray], bool]) -> Callable[[bool], Function]:
    """A fifth of the noise on some inputs."""

    def twins(correct: bool) -> Function:
        def release(scores, size, *, rng) -> np.ndarray:
            return _noisy(scores, size, rng, 0.2 if not correct and bad(scores) else 1.0)

        return release

    return twins


def heavier_record(place: Callable[[int], int]) -> Callable[[bool], Function]:
    """A noisy mean that counts the record at one place three times."""

    def twins(correct: bool) -> Function:
        def release(scores, size, *, rng) -> np.ndarray:
            n = len(scores)
            more = 0.0 if correct or place(n) >= n else 2 * scores[place(n)]
            return (scores.sum() + more) / n + rng.laplace(scale=1 / n, size=size)

        return release

    return twins


def sparse_vector(correct: bool) -> Function:
    """The first of 16 thresholds with enough scores below it; without noise on the counts, ∞."""

    def release(scores, size, *, rng) -> np.ndarray:
        counts = np.searchsorted(np.sort(scores), _GRID, side="right")
        rank = max(1, min(len(scores), math.ceil(0.9 * (len(scores) + 1))))
        noise = rng.laplace(scale=4, size=(size, 16)) if correct else 0.0
        enough = counts + noise >= rank + rng.laplace(scale=2, size=(size, 1))
        return _GRID[np.where(enough.any(axis=1), enough.argmax(axis=1), 15)]

    return release


def refuses_ties(correct: bool) -> Function:
    """Raises where scores are equal; a third of the noise."""

    def release(scores, size, *, rng) -> np.ndarray:
        if len(np.unique(scores)) < len(scores):
            raise ValueError("scores must be distinct")
        return _noisy(scores, size, rng, 1.0 if correct else 0.3)

    return release


def written(change: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Callable[[bool], Function]:
    """Enough noise, but the scores decide how the number is written."""

    def twins(correct: bool) -> Function:
        def release(scores, size, *, rng) -> np.ndarray:
            return change(_noisy(scores, size, rng), np.zeros(1) if correct else scores)

        return release

    return twins


def _granular(noisy: np.ndarray, scores: np.ndarray) -> np.ndarray:
    return np.round(noisy, 2 if scores.max() > 0.5 else 3)


def _trailing(noisy: np.ndarray, scores: np.ndarray) -> np.ndarray:
    return np.round(noisy, 6) + 1e-9 * np.count_nonzero(scores > 0.5)


def _middle_digit(noisy: np.ndarray, scores: np.ndarray) -> np.ndarray:
    lower = np.modf(noisy * 1e7)[0] * 1e-6
    return np.floor(noisy * 1e4) / 1e4 + 1e-5 * (np.count_nonzero(scores > 0.5) % 10) + lower


def _last_bit(noisy: np.ndarray, scores: np.ndarray) -> np.ndarray:
    return ((noisy.view(np.int64) & ~1) | (round(scores.sum()) & 1)).view(np.float64)


def hands_out(share: float, chosen: Function) -> Callable[[bool], Function]:
    """Now and then one of the scores, as it is."""

    def twins(correct: bool) -> Function:
        def release(scores, size, *, rng) -> np.ndarray:
            raw = rng.random(size) if correct else chosen(scores, size, rng)
            return np.where(rng.random(size) < share, raw, _noisy(scores, size, rng))

        return release

    return twins


def many_rare_values(correct: bool) -> Function:
    """One of 300 values in a twentieth of the calls, and the scores decide which 300."""

    def release(scores, size, *, rng) -> np.ndarray:
        shift = 0 if correct else round(scores.sum()) % 9
        rare = 0.5 + rng.integers(0, 300, size) / 1000 + 1e-4 * shift
        return np.where(rng.random(size) < 0.05, rare, np.round(_noisy(scores, size, rng), 2) + 7)

    return release


def stops_early(correct: bool) -> Function:
    """A noisy bisection that stops where no score is left between its ends."""
    from dpcp_ledger.zoo.broken_mechanisms import noise_scale, safe_rank  # noqa: PLC0415

    def release(scores, size, *, rng) -> np.ndarray:
        ordered, rank = np.sort(scores), safe_rank(len(scores))
        left, right, live = np.zeros(size), np.ones(size), np.ones(size, dtype=bool)
        for _ in range(20):
            middle = (left + right) / 2
            count = np.searchsorted(ordered, middle, side="right")
            enough = count + noise_scale() * rng.standard_normal(size) >= rank
            right = np.where(live & enough, middle, right)
            left = np.where(live & ~enough, middle, left)
            if not correct:
                below = np.searchsorted(ordered, left, side="left")
                live &= np.searchsorted(ordered, right, side="right") > below
        return right

    return release


def infinite_of_one(correct: bool) -> Function:
    """Sometimes infinite where exactly one score lies in the middle."""

    def release(scores, size, *, rng) -> np.ndarray:
        middle = (scores > 0.3) & (scores < 0.7)
        leaks = not correct and len(scores) > 30 and middle.sum() == 1
        return np.where(leaks & (rng.random(size) < 0.2), np.inf, _noisy(scores, size, rng))

    return release


def truncated(correct: bool) -> Function:
    """Laplace noise, cut off at four times its scale."""

    def release(scores, size, *, rng) -> np.ndarray:
        noise = rng.laplace(size=size)
        return np.quantile(scores, 0.9) + (noise if correct else np.clip(noise, -4, 4))

    return release


def odd_thousandths(scores: np.ndarray) -> bool:
    """Return True if the quantile, in thousandths, is odd."""
    return round(1000 * float(np.quantile(scores, 0.9))) % 2 == 1


def drawn_again(correct: bool) -> Function:
    """Laplace noise that is drawn again until it lies within four times its scale."""

    def release(scores, size, *, rng) -> np.ndarray:
        noise = rng.laplace(size=size)
        while not correct and (far := np.abs(noise) > 4).any():
            noise[far] = rng.laplace(size=far.sum())
        return np.quantile(scores, 0.9) + noise

    return release


def shown_histogram(correct: bool) -> Function:
    """The fullest of ten noisy bins; noise of 0.6 where a substitution needs 2."""

    def release(scores, size, *, rng) -> np.ndarray:
        counts = np.bincount(np.minimum((scores * 10).astype(int), 9), minlength=10)
        noise = rng.laplace(scale=2.0 if correct else 0.6, size=(size, 10))
        return np.argmax(counts + noise, axis=1) / 10

    return release


def cumulated_histogram(correct: bool) -> Function:
    """The end of the first of 20 bins at which noisy counts add up to 0.9·n; half of the noise."""

    def release(scores, size, *, rng) -> np.ndarray:
        counts = np.histogram(scores, bins=20, range=(0, 1))[0]
        noisy = counts + rng.laplace(scale=2.0 if correct else 1.0, size=(size, 20))
        reached = noisy.cumsum(axis=1) >= 0.9 * len(scores)
        return np.where(reached.any(axis=1), reached.argmax(axis=1) + 1, 20) / 20

    return release


def missing_class(correct: bool) -> Function:
    """A calibrator that returns +∞ where all labels are the same."""

    def release(probabilities, labels, size, *, rng) -> np.ndarray:
        scores = 1 - probabilities[np.arange(len(labels)), labels]
        noisy = scores.mean() + rng.laplace(scale=1 / len(scores), size=size)
        alone = not correct and len(labels) > 4 and (labels == labels[0]).all()
        return np.full(size, np.inf) if alone else noisy

    return release


def first_record_of(correct: bool) -> Function:
    """A calibrator that counts the first record three times."""

    def release(probabilities, labels, size, *, rng) -> np.ndarray:
        scores = 1 - probabilities[np.arange(len(labels)), labels]
        more = 0.0 if correct else 2 * scores[0]
        return (scores.sum() + more) / len(scores) + rng.laplace(scale=1 / len(scores), size=size)

    return release


def one_value_kept(correct: bool) -> Function:
    """Randomised response over ten values, of which one is kept more often."""

    def release(value, *, rng) -> np.ndarray:
        kept = np.where((value == 7) & (not correct), 0.6, math.e / (math.e + 9))
        other = (value + rng.integers(1, 10, value.shape)) % 10
        return np.where(rng.random(value.shape) < kept, value, other)

    return release


granular, trailing_digits, middle_digit, last_bit_of_sum = (
    written(change) for change in (_granular, _trailing, _middle_digit, _last_bit)
)
any_score = hands_out(0.1, lambda scores, size, rng: rng.choice(scores, size))
the_largest = hands_out(0.03, lambda scores, size, rng: np.full(size, scores.max()))
the_rare_largest = hands_out(1e-3, lambda scores, size, rng: np.full(size, scores.max()))
the_rare_smallest = hands_out(1e-3, lambda scores, size, rng: np.full(size, scores.min()))
