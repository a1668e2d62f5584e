"""The guessing game of a randomizer with a finite domain: its rule, and the loss over all pairs.

In each round one of s inputs is drawn uniformly, and an observer guesses it from its report or
abstains. Under ε-LDP the posterior of any of them is at most e^ε times that of any other, so that a
guess is right with probability at most e^ε/(e^ε + s − 1). Two kinds of contest: one pair of inputs,
for a loss that few inputs suffer, and all inputs, for a loss that all share.

A pilot's reports come in two halves. Each half orders the outputs of every contest, the likeliest
to betray its input first, and the other half says how many of them are worth a guess: out of
sample, so that what only looks like a loss is not taken for one.

A set of outputs shows no larger ratio than the best of its members, so that ε of the whole
randomiser is the largest log-ratio of a single output's probabilities on two inputs. Limits of all
probabilities at once bound it from both sides, whatever pair and output it is attained at.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpcp_audit.stats.guessing import guess_share
from dpcp_audit.stats.intervals import clopper_pearson
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import Estimate

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.words.validate import FloatArray, IntArray


EASED = 0.75
"""Outputs are guessed as against this share of the claimed ε: most violations are small beside
the pilot's noise, and a rule that reaches for the largest excess seen guesses too little."""
_PRIOR = 1.0
_STEADY = 10.0
"""Guesses that stand beside those that were made, so that few lucky ones do not look best."""
ABSTAINS = -1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GuessRule:
    """A contest, and how to guess in it.

    Parameters
    ----------
    inputs : tuple of int
        Those in play, at least two.
    guesses : ndarray of int, shape (m,)
        The input that is guessed from each output; −1 where none is.
    share : float
        Guesses a round, as the pilot has it.
    """

    inputs: tuple[int, ...]
    guesses: IntArray
    share: float


class _Shown(NamedTuple):
    """One half of the pilot's results for guesses that the other half suggests, shape (..., m).

    Parameters
    ----------
    size : ndarray of float
        Log-odds of the guess, by the other half.
    right, made : ndarray of int
        Guesses of each output.
    """

    size: FloatArray
    right: IntArray
    made: IntArray


class _Prefix(NamedTuple):
    """The best number of outputs to guess: standard errors beyond ε, and guesses, a round."""

    merit: FloatArray
    share: FloatArray


def choose_rule(halves: tuple[IntArray, IntArray], *, epsilon: float) -> GuessRule:
    """Choose the contest that exceeds ε by most standard errors, and its guesses.

    Parameters
    ----------
    halves : tuple of ndarray, shape (k, m)
        Counts of the pilot's outputs by input, of either half; equally many a row.

    Notes
    -----
    The best of many pairs looks better than it is: √(2 log k) standard errors are taken off, about
    what the largest of k normal variables reaches. A loop over the first inputs keeps the work in
    memory, O(km) at a time.
    """
    k, size = len(halves[0]), 2 * int(halves[0][0].sum())
    crowd = _both(halves, _crowd, epsilon=epsilon, inputs=k)
    best, inputs, share = float(crowd.merit), tuple(range(k)), float(crowd.share)
    penalty = math.sqrt(2 * math.log(k) / (2 * size))
    for first in range(k - 1):
        pairs = _both(halves, partial(_duels, first=first), epsilon=epsilon, inputs=2)
        second = int(np.argmax(pairs.merit))
        merit = float(pairs.merit[second]) - penalty
        if merit > best:
            best, inputs = merit, (first, first + 1 + second)
            share = float(pairs.share[second])
    return _rule(inputs, halves[0] + halves[1], share)


def _both(
    halves: tuple[IntArray, IntArray],
    contest: Callable[[IntArray, IntArray], _Shown],
    *,
    epsilon: float,
    inputs: int,
) -> _Prefix:
    """Judge each half's guesses by the other half, and return the mean."""
    rounds = inputs * int(halves[0][0].sum())
    one, other = (
        _prefix(contest(*pair), epsilon=epsilon, inputs=inputs, rounds=rounds)
        for pair in (halves, halves[::-1])
    )
    return _Prefix((one.merit + other.merit) / 2, (one.share + other.share) / 2)


def _crowd(learned: IntArray, judged: IntArray) -> _Shown:
    """Guess the likeliest of all inputs."""
    rates = learned + _PRIOR
    guess = rates.argmax(axis=0)
    outputs = np.arange(len(guess))
    size = np.log(rates[guess, outputs] / rates.mean(axis=0))
    return _Shown(size, judged[guess, outputs], judged.sum(axis=0))


def _duels(learned: IntArray, judged: IntArray, *, first: int) -> _Shown:
    """Guess which of two inputs it was: the first one, or each of those after it."""
    odds = np.log((learned[first] + _PRIOR) / (learned[first + 1 :] + _PRIOR))
    mine, theirs = judged[first], judged[first + 1 :]
    right = np.where(odds > 0, mine, theirs)
    return _Shown(np.abs(odds), np.where(odds, right, 0), np.where(odds, mine + theirs, 0))


def _prefix(shown: _Shown, *, epsilon: float, inputs: int, rounds: int) -> _Prefix:
    order = np.argsort(-shown.size, axis=-1, kind="stable")
    right, made = (np.cumsum(np.take_along_axis(x, order, -1), axis=-1) for x in shown[1:])

    def z(loss: float) -> FloatArray:
        share = guess_share(loss, inputs)
        spread = np.sqrt(share * (1 - share) * (made + _STEADY))
        return np.asarray((right - share * made) / spread)

    best = np.expand_dims(z(EASED * epsilon).argmax(axis=-1), -1)
    merit = np.take_along_axis(z(epsilon), best, -1)[..., 0]
    taken = np.take_along_axis(made, best, -1)[..., 0]
    return _Prefix(merit / math.sqrt(rounds), taken / rounds)


def _rule(inputs: tuple[int, ...], counts: IntArray, share: float) -> GuessRule:
    """Guess the outputs of largest log-odds, as many as come nearest to a share of the rounds."""
    chosen = counts[list(inputs)]
    shown = _crowd(chosen, chosen) if len(inputs) > 2 else _duels(chosen, chosen, first=0)
    size, made = np.atleast_2d(shown.size)[0], np.atleast_2d(shown.made)[0]
    order = np.argsort(-size, kind="stable")
    shares = np.cumsum(made[order]) / chosen.sum()
    taken = order[: 1 + int(np.argmin(np.abs(shares - share)))]
    guesses = np.full(counts.shape[1], ABSTAINS)
    guesses[taken] = np.asarray(inputs)[chosen[:, taken].argmax(axis=0)]
    return GuessRule(inputs=inputs, guesses=guesses, share=float(shares[taken.size - 1]))


_UNSEEN = 0.5
"""Counts that stand beside those of every output in a point estimate, which stays finite."""
_DETAIL = "of the randomizer, over all pairs of inputs and all outputs"


def channel_loss(halves: tuple[IntArray, IntArray], *, significance: float) -> Estimate:
    """Return ε of a randomiser from counts of its outputs on every input.

    The limits are Clopper–Pearson's, and each probability has the same share of the error. The
    estimate is the mean of the log-ratios that each half of the counts has where the other half
    has its largest, since the largest of many is too large; it is held between the limits.

    Parameters
    ----------
    halves : tuple of ndarray of int, shape (k, m)
        Independent counts of the outputs, an input a row; the outputs of each row are as many in
        every row of a half, and that number was fixed beforehand.
    significance : float
        The probability that ε lies outside of the interval is at most this.

    Examples
    --------
    >>> counts = np.array([[360, 40, 100], [100, 300, 100]])
    >>> found = channel_loss((counts, counts), significance=0.05)
    >>> round(found.value, 2), round(found.lower, 2), round(found.upper, 2)
    (2.0, 1.67, 2.39)
    """
    _validate.open_unit(significance=significance)
    counts = halves[0] + halves[1]
    low, high = clopper_pearson(
        counts, int(counts[0].sum()), significance=significance / counts.size
    )
    with np.errstate(divide="ignore"):
        lower = max(0.0, float((np.log(low.max(axis=0)) - np.log(high.min(axis=0))).max()))
        upper = float((np.log(high.max(axis=0)) - np.log(low.min(axis=0))).max())
    found = (_elsewhere(*halves) + _elsewhere(*halves[::-1])) / 2
    return Estimate(
        quantity=Quantity.EPSILON,
        value=min(max(found, lower), upper),
        lower=lower,
        upper=upper,
        confidence=1 - significance,
        detail=_DETAIL,
    )


def _elsewhere(chooses: IntArray, judges: IntArray) -> float:
    """Return the log-ratio that one half has where the other half's is the largest."""
    rates = chooses + _UNSEEN
    first, second = rates.argmax(axis=0), rates.argmin(axis=0)
    outputs = np.arange(int(rates.shape[1]))
    spread = np.sqrt(1 / rates[first, outputs] + 1 / rates[second, outputs])
    ratios = np.log(rates[first, outputs] / rates[second, outputs])
    output = int(np.argmax(ratios - spread))
    seen = (judges[[first[output], second[output]], output] + _UNSEEN).tolist()
    return math.log(seen[0] / seen[1])
