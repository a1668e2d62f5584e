"""The best event of a pilot, and rare atoms where a δ is claimed.

Of numbers, the value; of vectors, each coordinate, sets of frequent outputs, and two scores that
are fitted to tell the inputs apart. The event of the feature that promises most is taken.

An event of probability 10⁻³ on one input and 0 on its neighbour breaks (1, 10⁻⁵)-DP, but in a few
hundred outputs it does not come up twice. It shows, sooner or later, where all records but one are
alike, since whatever is handed out then differs most; and in outputs that otherwise hardly repeat.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dpcp_audit.audits.certificates import linear_claim
from dpcp_audit.audits.search.event_search import CutFeature
from dpcp_audit.audits.search.features import (
    Coordinate,
    Quadratic,
    Rank,
    ScalarValue,
    squashed_score,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.audits.search.event_search import PilotEvent
    from dpcp_audit.audits.search.pair_space import Candidate
    from dpcp_audit.words.guarantees import PrivacyGuarantee
    from dpcp_audit.words.validate import FloatArray

    Samples = tuple[FloatArray, FloatArray]

_LISTED = 256
"""Outputs of a finite set that stand alone; all others are one cell."""


def best_event(guarantee: PrivacyGuarantee, samples: Samples) -> PilotEvent:
    """Return the event of pilot outputs that promises most, among the features of their shape.

    Of numbers: unions of cells of the line, by their likelihood ratio, and half-lines. Ties go to
    the first of a vector's features.

    Parameters
    ----------
    samples : tuple of ndarray, shape (size,) or (size, d)
        Samples of the input and of its neighbour.
    """
    return best_of(guarantee, cut_features(samples))


def best_of(guarantee: PrivacyGuarantee, cuts: Sequence[CutFeature]) -> PilotEvent:
    """Return the event that promises most, the first of several that promise the same."""
    return max((each.best(guarantee) for each in cuts), key=lambda choice: choice.excess)


def cut_features(samples: Samples) -> list[CutFeature]:
    """Return the features of the outputs' shape, cut into cells whatever the claim."""
    if samples[0].ndim == 1:
        return [CutFeature.of(ScalarValue(), samples)]
    searches = (of_coordinates, of_listed, of_classifier, of_squashed)
    return [cut for search in searches for cut in search(samples)]


def of_coordinates(samples: Samples) -> list[CutFeature]:
    """Return the coordinates."""
    return [CutFeature.of(Coordinate(i), samples) for i in range(samples[0].shape[1])]


def of_listed(samples: Samples, *, most: int = _LISTED) -> list[CutFeature]:
    """Return the places of outputs, vectors too, of which the most frequent stand alone.

    Nothing, if no output came up twice.
    """
    listed, counts = np.unique(np.concatenate(samples), axis=0, return_counts=True)
    if counts.max() == 1:
        return []
    frequent = np.sort(np.argsort(-counts, kind="stable")[:most])
    return [CutFeature.of(Rank(listed[frequent]), samples, cells=most + 1)]


def of_classifier(samples: Samples) -> list[CutFeature]:
    """Return a logistic regression on a vector's coordinates and their products.

    It is fitted on every other pilot output; events are cut out of the score on the rest.
    """
    score = classifier_score(*(sample[::2] for sample in samples))
    return [CutFeature.of(score, _held_out(samples), trials=len(samples[0]))]


def of_squashed(samples: Samples) -> list[CutFeature]:
    """Return a linear score of squashed coordinates, for noise with heavy tails.

    Fitted and cut on different outputs, likewise.
    """
    first, second = (sample[::2] for sample in samples)
    pooled = np.concatenate([first, second])
    score = squashed_score(pooled, np.arange(len(pooled)) < len(first))
    return [CutFeature.of(score, _held_out(samples), trials=len(samples[0]))]


def classifier_score(
    outputs: FloatArray, neighbour_outputs: FloatArray, *, penalty: float = 1.0
) -> Quadratic:
    """Return the log-odds of the input by a logistic regression, with a ridge penalty."""
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415  (slow to import)

    pooled = np.concatenate([outputs, neighbour_outputs])
    origin = np.arange(len(pooled)) < len(outputs)
    low, centre, high = np.quantile(pooled, [0.25, 0.5, 0.75], axis=0, method="inverted_cdf")
    with np.errstate(invalid="ignore"):
        spread = high - low
    scale = np.where(np.isfinite(spread) & (spread > 0), spread, 1.0)
    shell = Quadratic(
        centre=np.where(np.isfinite(centre), centre, 0.0), scale=scale, weights=np.empty(0)
    )
    model = cast("Any", LogisticRegression(C=1 / penalty, max_iter=1000))
    model.fit(shell.terms(pooled), origin)
    return Quadratic(centre=shell.centre, scale=scale, weights=model.coef_[0])


def _held_out(samples: Samples) -> Samples:
    return samples[0][1::2], samples[1][1::2]


_AHEAD = 1.0
"""Added to the promise of a pair with an atom: events that would refute a smaller ε as well
promise less, unless they refute at once."""
_FEWEST = 4
"""Times that the atoms have to come up."""


def claims_delta(guarantee: PrivacyGuarantee) -> bool:
    """Tell whether the guarantee is (ε, δ)-DP with a δ > 0."""
    linear = linear_claim(guarantee)
    return linear is not None and linear.delta > 0


def shows_atoms(candidate: Candidate) -> bool:
    """Tell whether all scores but one are equal, so that what is handed out differs most."""
    pair = candidate.scores
    return pair is not None and pair.positions.size == 1


def promise_of_atoms(
    guarantee: PrivacyGuarantee, outputs: FloatArray, neighbour_outputs: FloatArray
) -> float:
    """Return what values promise that come up again and again on one of the inputs alone.

    The value most frequent on either, in standard errors of right guesses beyond the claim, for one
    pair of outputs; less what the luckiest of as many repeated values would show. −∞ if nothing,
    or no δ is claimed.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcp_audit.words.guarantees import ApproxDP
    >>> rng = np.random.default_rng(0)
    >>> first, second = rng.normal(size=(2, 1000))
    >>> promise_of_atoms(ApproxDP(1.0, 1e-5), first, second)
    -inf
    >>> first[:5] = 0.25
    >>> promise_of_atoms(ApproxDP(1.0, 1e-5), first, second) > 1
    True
    """
    linear = linear_claim(guarantee)
    if linear is None or not linear.delta or outputs.ndim == 2:
        return -math.inf
    size = len(outputs)
    listed, back = np.unique(np.concatenate([outputs, neighbour_outputs]), return_inverse=True)
    first, second = (np.bincount(part, minlength=listed.size) for part in np.split(back, [size]))
    again = first + second > 1
    most = sum(
        int(on[again & (off == 0)].max(initial=0)) for on, off in ((first, second), (second, first))
    )
    if most < _FEWEST:
        return -math.inf
    luck = math.sqrt(2 * math.log(int(again.sum())))
    excess = math.sqrt(most * math.exp(-linear.epsilon)) - luck
    return _AHEAD + excess / math.sqrt(size) if excess > 0 else -math.inf
