"""Searches for an event: which features of the outputs are cut into cells.

Each takes the pilot outputs of two neighbours and returns the event of its features that
promises most (``events.best_cells``).

Rare atoms: outputs that are handed out once in a thousand calls, where a δ is claimed.

An event of probability 10⁻³ on one input and 0 on its neighbour breaks (1, 10⁻⁵)-DP, but in a few
hundred outputs it does not come up twice. It shows, sooner or later, where all records but one are
alike, since whatever is handed out then differs most; and in outputs that otherwise hardly repeat.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dpcp_audit.audits.certificates import linear_claim
from dpcp_audit.audits.search.event_search import CELLS, best_cells
from dpcp_audit.audits.search.features import (
    Coordinate,
    Ones,
    Quadratic,
    Rank,
    ScalarValue,
    squashed_score,
)
from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    from dpcp_audit.audits.search.event_search import Event, EventSearch, PilotEvent
    from dpcp_audit.audits.search.features import Feature
    from dpcp_audit.audits.search.pair_space import Candidate
    from dpcp_audit.words.arrays import FloatArray
    from dpcp_audit.words.guarantees import PrivacyGuarantee


@dataclass(frozen=True, slots=True, kw_only=True)
class LikelihoodRatio:
    """For scalars: unions of cells of the line, by their likelihood ratio, and half-lines.

    Every distinct output is a cell where there are at most ``cells``; else pooled quantiles are
    the cuts.
    """

    cells: int = CELLS

    def __post_init__(self) -> None:
        _validate.integer(cells=self.cells, at_least=2)

    def __call__(
        self, guarantee: PrivacyGuarantee, outputs: FloatArray, neighbour_outputs: FloatArray, /
    ) -> PilotEvent:
        """Return the best event of the outputs' values."""
        return best_cells(guarantee, ScalarValue(), (outputs, neighbour_outputs), cells=self.cells)


@dataclass(frozen=True, slots=True, kw_only=True)
class Discrete:
    """For outputs from a finite set, vectors too: sets of outputs by their likelihood ratio.

    The ``values`` most frequent pilot outputs stand alone; all others are one cell.
    """

    values: int = 256

    def __post_init__(self) -> None:
        _validate.integer(values=self.values, at_least=1)

    def __call__(
        self, guarantee: PrivacyGuarantee, outputs: FloatArray, neighbour_outputs: FloatArray, /
    ) -> PilotEvent:
        """Return the best set of outputs."""
        pooled = np.concatenate([outputs, neighbour_outputs])
        listed, counts = np.unique(pooled, axis=0, return_counts=True)
        frequent = np.sort(np.argsort(-counts, kind="stable")[: self.values])
        return best_cells(
            guarantee,
            Rank(listed[frequent]),
            (outputs, neighbour_outputs),
            cells=self.values + 1,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DyadicBits:
    """For scalars that a bisection has found: the number of ones among the bits.

    All bits are counted, the first half and the second half; the value itself, whose cells
    are the leading bits, is tried beside them. P-COQS's worst pair differs in the number of
    ones, which no threshold on the value sees.

    Parameters
    ----------
    bounds, rounds, resolution
        As in ``Ones``.
    """

    bounds: tuple[float, float]
    rounds: int
    resolution: float = 0.0

    def __post_init__(self) -> None:
        Ones(bounds=self.bounds, rounds=self.rounds, resolution=self.resolution)

    def __call__(
        self, guarantee: PrivacyGuarantee, outputs: FloatArray, neighbour_outputs: FloatArray, /
    ) -> PilotEvent:
        """Return the best event of the counts of ones, or of the value."""
        half = self.rounds // 2
        spans = [(0, self.rounds), (0, half), (half, self.rounds)] if half else [(0, 1)]
        features: list[Feature] = [
            Ones(
                bounds=self.bounds,
                rounds=self.rounds,
                resolution=self.resolution,
                start=start,
                stop=stop,
            )
            for start, stop in spans
        ]
        return _best_feature(guarantee, [*features, ScalarValue()], (outputs, neighbour_outputs))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassifierScore:
    """For vectors: the score of a logistic regression on the coordinates and their products.

    It is fitted on every other pilot output; the event is cut out of the score on the rest.

    Parameters
    ----------
    penalty : float
        Weight of the ridge penalty.
    """

    penalty: float = 1.0

    def __post_init__(self) -> None:
        _validate.positive(penalty=self.penalty)

    def __call__(
        self, guarantee: PrivacyGuarantee, outputs: FloatArray, neighbour_outputs: FloatArray, /
    ) -> PilotEvent:
        """Return the best event of the classifier's score."""
        samples = (outputs, neighbour_outputs)
        score = self._fit(*(sample[::2] for sample in samples))
        held_out = (outputs[1::2], neighbour_outputs[1::2])
        return best_cells(guarantee, score, held_out, trials=len(outputs))

    def _fit(self, outputs: FloatArray, neighbour_outputs: FloatArray) -> Quadratic:
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
        model = cast("Any", LogisticRegression(C=1 / self.penalty, max_iter=1000))
        model.fit(shell.terms(pooled), origin)
        return Quadratic(centre=shell.centre, scale=scale, weights=model.coef_[0])


@dataclass(frozen=True, slots=True)
class SquashedScore:
    """For vectors: a linear score of squashed coordinates, which noise with heavy tails asks for.

    It is fitted on every other pilot output; the event is cut out of the score on the rest.
    """

    def __call__(
        self, guarantee: PrivacyGuarantee, outputs: FloatArray, neighbour_outputs: FloatArray, /
    ) -> PilotEvent:
        """Return the best event of the score."""
        first, second = outputs[::2], neighbour_outputs[::2]
        pooled = np.concatenate([first, second])
        score = squashed_score(pooled, np.arange(len(pooled)) < len(first))
        held_out = (outputs[1::2], neighbour_outputs[1::2])
        return best_cells(guarantee, score, held_out, trials=len(outputs))


@dataclass(frozen=True, slots=True)
class BestOf:
    """The search, of several, whose event promises most on the pilot; ties go to the first."""

    searches: tuple[EventSearch, ...]

    def __post_init__(self) -> None:
        if not self.searches:
            raise ValueError("searches must hold at least one search, got none")

    def __call__(
        self, guarantee: PrivacyGuarantee, outputs: FloatArray, neighbour_outputs: FloatArray, /
    ) -> PilotEvent:
        """Return the best choice of all searches."""
        choices = [search(guarantee, outputs, neighbour_outputs) for search in self.searches]
        return max(choices, key=lambda choice: choice.excess)


@dataclass(frozen=True, slots=True)
class Automatic:
    """``LikelihoodRatio`` for scalars; single coordinates, sets and two scores for vectors."""

    def __call__(
        self, guarantee: PrivacyGuarantee, outputs: FloatArray, neighbour_outputs: FloatArray, /
    ) -> PilotEvent:
        """Return the best choice of the searches that suit the outputs' shape."""
        if outputs.ndim == 1:
            return LikelihoodRatio()(guarantee, outputs, neighbour_outputs)
        searches = BestOf((EachCoordinate(), Discrete(), ClassifierScore(), SquashedScore()))
        return searches(guarantee, outputs, neighbour_outputs)


@dataclass(frozen=True, slots=True)
class EachCoordinate:
    """For vectors: ``LikelihoodRatio`` on the coordinate that promises most."""

    def __call__(
        self, guarantee: PrivacyGuarantee, outputs: FloatArray, neighbour_outputs: FloatArray, /
    ) -> PilotEvent:
        """Return the best event of a single coordinate."""
        features = [Coordinate(index) for index in range(outputs.shape[1])]
        return _best_feature(guarantee, features, (outputs, neighbour_outputs))


def choose_event(
    guarantee: PrivacyGuarantee, outputs: FloatArray, neighbour_outputs: FloatArray
) -> tuple[Event, bool]:
    """Choose the event of ``LikelihoodRatio``, and the direction.

    Returns
    -------
    event : Event
    swapped : bool
        Whether the event is likelier on the neighbour than the guarantee would allow.
    """
    choice = LikelihoodRatio()(guarantee, outputs, neighbour_outputs)
    return choice.event, choice.swapped


def _best_feature(
    guarantee: PrivacyGuarantee,
    features: list[Feature] | list[Coordinate],
    samples: tuple[FloatArray, FloatArray],
) -> PilotEvent:
    choices = [best_cells(guarantee, feature, samples) for feature in features]
    return max(choices, key=lambda choice: choice.excess)


_AHEAD = 1.0
"""What the promise of a pair with an atom is raised by: events that a smaller ε would be broken by
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
