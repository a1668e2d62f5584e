"""Worst-case neighbours: a search over pairs of inputs whose objective is an exact loss.

A pair holds n scores on a few positions, and one score that moves between two of them. From
random starts, local moves shift a position, merge or split two, recount, or move the differing
score; a change is kept when the exact loss grows. The pair that comes out is then shrunk:
fewer positions and rounder values, as long as the loss stays.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dpcp_audit.audits.exact import exact_outcome, worst_measurement
from dpcp_audit.audits.search.record_orders import RecordOrder
from dpcp_audit.laws.laws import FinitePair
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.computed import Computation, Computed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike

    from dpcp_audit.laws.laws import FiniteLaw
    from dpcp_audit.words.arrays import FloatArray, IntArray
    from dpcp_audit.words.checks import Context
    from dpcp_audit.words.guarantees import PrivacyGuarantee
    from dpcp_audit.words.results import Outcome, PlainData

_POSITIONS = 6
_APART = 1e-3
"""The share of the range within which tied scores are spread."""
_SHARE_OF_STARTS = 0.25
_GIVEN_UP = 1e-3


class HasLaws(Protocol):
    """A mechanism whose exact laws on given scores are known."""

    @property
    def bounds(self) -> tuple[float, float]:
        """The public interval that holds every score."""
        ...

    def laws(self, *inputs: ArrayLike) -> tuple[FiniteLaw, ...]:
        """Return the law of the output on each input, on shared outcomes."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScorePair:
    """Two neighbouring score arrays: n−1 scores in common, on few positions, and one that moves.

    Parameters
    ----------
    positions : ndarray, shape (k,)
        Increasing.
    counts : ndarray, shape (k,)
        The common scores at each.
    source, target : float
        The differing score on the two inputs.
    order : RecordOrder
        Where that score stands in the arrays.
    """

    positions: FloatArray
    counts: IntArray
    source: float
    target: float
    order: RecordOrder = RecordOrder.LAST

    @property
    def size(self) -> int:
        """The number n of scores in either array."""
        return int(self.counts.sum()) + 1

    @property
    def place(self) -> int:
        """The index of the differing score."""
        return self.order.place(self.size)

    @property
    def scores(self) -> tuple[FloatArray, FloatArray]:
        """The two arrays, each of shape (n,)."""
        common = np.repeat(self.positions, self.counts)
        order = self.order.permutation(self.size)
        return np.append(common, self.source)[order], np.append(common, self.target)[order]

    @property
    def tied(self) -> bool:
        """True if some of the scores are equal."""
        first, second = (np.unique(x).size for x in self.scores)
        return min(first, second) < self.size

    def untied(self, low: float, high: float) -> ScorePair:
        """Return the pair with all scores distinct, those of a position close to each other."""
        if not self.counts.sum():
            return self
        tied = self.tidy()
        ends = np.array([self.source, self.target])
        known = np.unique(np.concatenate([tied.positions, ends, [low, high]]))
        gap = min(_APART * (high - low), float(np.diff(known).min()) / 3)
        starts = np.cumsum(tied.counts) - tied.counts
        within = np.arange(tied.size - 1) - np.repeat(starts, tied.counts)
        offsets = (within + 1) / (np.repeat(tied.counts, tied.counts) + 1)
        inward = np.where(np.repeat(tied.positions, tied.counts) < high, gap, -gap)
        positions = np.repeat(tied.positions, tied.counts) + inward * offsets
        return replace(self, positions=positions, counts=np.ones(positions.size, dtype=np.int64))

    def tidy(self) -> ScorePair:
        """Return the pair without empty positions, equal ones merged, in order."""
        used, back = np.unique(self.positions[self.counts > 0], return_inverse=True)
        counts = np.bincount(back, self.counts[self.counts > 0], used.size).astype(np.int64)
        return replace(self, positions=used, counts=counts)

    def as_data(self) -> PlainData:
        """Return the pair as plain data."""
        return {
            "positions": self.positions.tolist(),
            "counts": self.counts.tolist(),
            "source": self.source,
            "target": self.target,
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Found:
    """The pair that a search found, its exact loss, and how many pairs were tried."""

    pair: ScorePair
    loss: float
    evaluations: int


def exact_loss(mechanism: HasLaws, guarantee: PrivacyGuarantee) -> Callable[[ScorePair], float]:
    """Return the quantity that ``guarantee`` bounds, exact, the larger of both directions."""

    def loss(pair: ScorePair) -> float:
        laws = FinitePair(*mechanism.laws(*pair.scores))
        return worst_measurement(guarantee, [laws])[0].value

    return loss


def search_pairs(
    loss: Callable[[ScorePair], float],
    *,
    n: int,
    bounds: tuple[float, float],
    evaluations: int = 3000,
    rng: np.random.Generator | int | None = None,
) -> Found:
    """Search for the pair of neighbours with the largest loss, and shrink it.

    Parameters
    ----------
    loss : callable
        The objective; larger is worse.
    n : int
        Scores in each input.
    bounds : tuple of float
        The interval of the scores.
    evaluations : int
        How many pairs may be tried, before the shrinking.
    """
    _validate.integer(n=n, at_least=2)
    _validate.integer(evaluations=evaluations, at_least=10)
    low, high = _validate.bounds(bounds)
    generator = _validate.generator(rng)
    starts = max(5, round(_SHARE_OF_STARTS * evaluations))
    tried = (_random_pair(n, low, high, generator) for _ in range(starts))
    best, value = max(((pair, loss(pair)) for pair in tried), key=lambda found: found[1])
    for _ in range(evaluations - starts):
        pair = moved_pair(best, low, high, generator)
        if (moved := loss(pair)) >= value:
            best, value = pair, moved
    return _shrink(Found(pair=best, loss=value, evaluations=evaluations), loss, low, high)


def _random_pair(n: int, low: float, high: float, rng: np.random.Generator) -> ScorePair:
    k = int(rng.integers(1, _POSITIONS))
    points = _points(k + 2, low, high, rng)
    weights = rng.dirichlet(np.full(k, 0.5))
    return ScorePair(
        positions=points[:k],
        counts=rng.multinomial(n - 1, weights),
        source=float(points[k]),
        target=float(points[k + 1]),
    ).tidy()


def _points(size: int, low: float, high: float, rng: np.random.Generator) -> FloatArray:
    """Return points anywhere between the bounds, or, one in two, at one of them."""
    inner = rng.uniform(low, high, size)
    return np.where(rng.random(size) < 0.5, inner, rng.choice([low, high], size))


def moved_pair(pair: ScorePair, low: float, high: float, rng: np.random.Generator) -> ScorePair:
    """Return the pair after one random local move; it must hold a common score."""
    moves = (_recount, _shift, _differ, _split, _merge)
    return moves[rng.integers(len(moves))](pair, low, high, rng).tidy()


def _recount(pair: ScorePair, low: float, high: float, rng: np.random.Generator) -> ScorePair:
    """Move some of the scores at one position to another, or to a new one."""
    del low, high
    if pair.positions.size < 2:
        return pair
    start, end = rng.choice(pair.positions.size, 2, replace=False)
    size = min(int(pair.counts[start]), max(1, int(pair.counts[start] ** rng.random())))
    counts = pair.counts.copy()
    counts[[start, end]] += np.array([-size, size])
    return replace(pair, counts=counts)


def _shift(pair: ScorePair, low: float, high: float, rng: np.random.Generator) -> ScorePair:
    """Move one position, a little or anywhere."""
    positions = pair.positions.copy()
    index = rng.integers(positions.size)
    positions[index] = _near(positions[index], low, high, rng)
    return replace(pair, positions=positions)


def _differ(pair: ScorePair, low: float, high: float, rng: np.random.Generator) -> ScorePair:
    """Move the differing score, on one input."""
    if rng.random() < 0.5:
        return replace(pair, source=_near(pair.source, low, high, rng))
    return replace(pair, target=_near(pair.target, low, high, rng))


def _split(pair: ScorePair, low: float, high: float, rng: np.random.Generator) -> ScorePair:
    """Move some of the scores at one position to a new one."""
    index = rng.integers(pair.positions.size)
    size = int(rng.integers(0, int(pair.counts[index]) + 1))
    counts = np.append(pair.counts, size)
    counts[index] -= size
    return replace(
        pair, positions=np.append(pair.positions, _points(1, low, high, rng)), counts=counts
    )


def _merge(pair: ScorePair, low: float, high: float, rng: np.random.Generator) -> ScorePair:
    """Move all scores at one position to another."""
    del low, high
    if pair.positions.size < 2:
        return pair
    start, end = rng.choice(pair.positions.size, 2, replace=False)
    positions = pair.positions.copy()
    positions[start] = positions[end]
    return replace(pair, positions=positions)


def _near(value: float, low: float, high: float, rng: np.random.Generator) -> float:
    """Return a point at a log-uniform distance from the value, reflected, or anywhere."""
    if rng.random() < 0.4:
        return float(_points(1, low, high, rng)[0])
    step = (high - low) * 10 ** rng.uniform(-6, 0) * rng.choice([-1, 1])
    moved = value + step
    return float(
        moved if low <= moved <= high else value - step if low <= value - step <= high else value
    )


def _shrink(found: Found, loss: Callable[[ScorePair], float], low: float, high: float) -> Found:
    """Simplify the pair while its loss stays within 0.1 % of what was found."""
    pair, value, tried = found.pair, found.loss, found.evaluations
    floor = value - _GIVEN_UP * abs(value)
    simpler = True
    while simpler:
        simpler = False
        for candidate in simpler_pairs(pair, low, high):
            tried += 1
            if (reached := loss(candidate)) >= floor:
                pair, value, simpler = candidate, reached, True
                break
    return Found(pair=pair, loss=value, evaluations=tried)


def simpler_pairs(pair: ScorePair, low: float, high: float) -> Iterator[ScorePair]:
    """Yield pairs with fewer positions, and pairs with one value rounder."""
    k = pair.positions.size
    for start in range(k):
        for end in range(k):
            if start != end:
                positions = pair.positions.copy()
                positions[start] = positions[end]
                yield replace(pair, positions=positions).tidy()
    for value in _rounder(pair.source, low, high):
        yield replace(pair, source=value)
    for value in _rounder(pair.target, low, high):
        yield replace(pair, target=value)
    for index in range(k):
        for value in _rounder(pair.positions[index], low, high):
            positions = pair.positions.copy()
            positions[index] = value
            yield replace(pair, positions=positions).tidy()


def _rounder(value: float, low: float, high: float) -> Iterator[float]:
    """Yield rounder values: the bounds, then k/2, k/4, …, k/64 of the way between them."""
    if value in {low, high}:
        return
    yield from (low, high)
    share = (value - low) / (high - low)
    for parts in (2, 4, 8, 16, 32, 64):
        if share * parts == round(share * parts):
            return
        yield low + (high - low) * round(share * parts) / parts


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstPairSearch:
    """Test a guarantee against the worst pair of neighbours that a search finds.

    REFUTED hands over the pair. CONSISTENT says how close the search came; it proves nothing
    of the pairs that were not tried.

    Parameters
    ----------
    mechanism : HasLaws
    guarantee : PrivacyGuarantee
        The claim.
    n : int
        Scores in each input.
    evaluations : int
        Pairs to try at effort 1, before the shrinking.
    witness : dict
        Parameters of the mechanism, as plain data.
    """

    mechanism: HasLaws
    guarantee: PrivacyGuarantee
    n: int
    evaluations: int = 3000
    witness: PlainData = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        _validate.integer(n=self.n, at_least=2)
        _validate.integer(evaluations=self.evaluations, at_least=10)

    @property
    def sampled(self) -> bool:
        """Only the choice of pairs is random: a refutation is exact."""
        return False

    def __call__(self, context: Context) -> Outcome:
        """Search, and test the guarantee against the exact laws of what was found."""
        return Computed(lambda: self._compute(context))(context)

    def _compute(self, context: Context) -> Computation:
        found = search_pairs(
            exact_loss(self.mechanism, self.guarantee),
            n=self.n,
            bounds=self.mechanism.bounds,
            evaluations=context.samples(self.evaluations),
            rng=context.rng(),
        )
        value, neighbour = found.pair.scores
        pair: dict[str, Any] = {"value": value.tolist(), "neighbour": neighbour.tolist()}
        return exact_outcome(
            self.guarantee,
            [FinitePair(*self.mechanism.laws(value, neighbour))],
            witness=self.witness | pair | {"pair": found.pair.as_data(), "seed": context.seed},
            note=f"The worst of {found.evaluations} pairs tried, {self.n} scores each.",
        )
