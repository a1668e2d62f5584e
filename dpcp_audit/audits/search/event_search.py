"""Events that exceed a guarantee most: features of pilot samples, cut into cells and joined.

A feature is one number for each output of a mechanism. It is plain data once it is fitted, so that
the event which it defines can be written into a report and evaluated again on fresh outputs.
Squashed coordinates follow the log-ratio of Laplace noise, which is bounded, and tell as much of
Gaussian noise; one that moves by its spread is not drowned by a few outputs far out.

A search cuts that number's range into cells, and takes half-lines of cells and unions of cells in
order of their likelihood ratio. All of it happens on pilot samples. Whatever is chosen is certified
on fresh ones, so that a poor choice costs power and never the level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeAlias, cast

import numpy as np
from scipy.special import expit

from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from dpcp_audit.words.guarantees import PrivacyGuarantee
    from dpcp_audit.words.results import PlainData
    from dpcp_audit.words.validate import BoolArray, FloatArray, IntArray


_MANTISSA = 53
_NEAR = 0.25
"""The largest distance of a number on the public grid from its decimals, in last units."""


@dataclass(frozen=True, slots=True)
class LastBits:
    """The last bits of a number's mantissa, as a number; −1 where it is not finite.

    Parameters
    ----------
    bits : int
    coordinate : int or None
        The index in a vector; None where outputs are single numbers.
    """

    bits: int = 8
    coordinate: int | None = None

    def __call__(self, outputs: FloatArray) -> FloatArray:
        """Return 0, …, 2^bits − 1, shape (size,)."""
        mantissa, finite = _mantissa(outputs, self.coordinate)
        return np.where(finite, (mantissa & (2**self.bits - 1)).astype(np.float64), -1.0)


@dataclass(frozen=True, slots=True)
class TrailingZeros:
    """The number of trailing zeros of a mantissa: the binary grid that the number lies on.

    Parameters
    ----------
    coordinate : int or None
        The index in a vector; None where outputs are single numbers.
    """

    coordinate: int | None = None

    def __call__(self, outputs: FloatArray) -> FloatArray:
        """Return 0, …, 53, or −1 where the number is not finite; shape (size,)."""
        mantissa, finite = _mantissa(outputs, self.coordinate)
        lowest = mantissa & -mantissa  # a power of two, or 0
        zeros = np.where(lowest > 0, np.log2(np.maximum(lowest, 1)), _MANTISSA)
        return np.where(finite, zeros, -1.0)


@dataclass(frozen=True, slots=True)
class DecimalPlaces:
    """The number of decimals that a number needs: the rounding that it has been through.

    Survives the public grid where that is finer than a quarter of the last decimal.

    Parameters
    ----------
    most : int
        The decimals looked at.
    """

    most: int = 9

    def __call__(self, outputs: FloatArray) -> FloatArray:
        """Return 0, …, most + 1, which stands for more than the most; shape (size,)."""
        near = _NEAR * 10.0**-self.most
        needed = np.full(outputs.shape, self.most + 1.0)
        for places in range(self.most, -1, -1):
            with np.errstate(over="ignore", invalid="ignore"):
                close = np.abs(np.round(outputs, places) - outputs) <= near
            needed[close | np.isinf(outputs)] = places
        return needed


def _mantissa(outputs: FloatArray, coordinate: int | None) -> tuple[IntArray, np.ndarray]:
    """Return the 53-bit mantissas as whole numbers, and which outputs are finite."""
    outputs = outputs if coordinate is None else outputs[:, coordinate]
    finite = np.isfinite(outputs)
    shares, _ = np.frexp(np.where(finite, outputs, 0.0))
    return np.abs(np.ldexp(shares, _MANTISSA)).astype(np.int64), finite


_MOST_BITS = 50
"""Up to which midpoints of [0, 1], and products with them, are exact."""


Feature: TypeAlias = "Callable[[FloatArray], FloatArray]"
"""Gives every output a number: shape (size,), from outputs of shape (size,) or (size, d)."""


@dataclass(frozen=True, slots=True)
class ScalarValue:
    """A scalar output itself."""

    def __call__(self, outputs: FloatArray) -> FloatArray:
        """Return the outputs, shape (size,)."""
        if outputs.ndim != 1:
            raise ValueError(f"outputs must have shape (size,), got shape {outputs.shape}")
        return outputs


@dataclass(frozen=True, slots=True)
class Coordinate:
    """One coordinate of a vector output."""

    index: int

    def __post_init__(self) -> None:
        _validate.integer(index=self.index, at_least=0)

    def __call__(self, outputs: FloatArray) -> FloatArray:
        """Return column ``index``, shape (size,)."""
        return outputs[:, self.index]


def bisected(
    outputs: FloatArray, *, bounds: tuple[float, float], rounds: int, resolution: float
) -> Iterator[BoolArray]:
    """Yield the bits of outputs that a bisection has found, shape (size,), from the first on.

    A bit is one where the output lies above the midpoint of the interval that is left; the
    search then goes on above it, from ``resolution`` beyond, and else below it.
    """
    left, right = (np.full(outputs.shape, end) for end in bounds)
    for _ in range(rounds):
        middle = (left + right) / 2
        one = outputs > middle
        left = np.where(one, middle + resolution, left)
        right = np.where(one, right, middle)
        yield one


@dataclass(frozen=True, slots=True, kw_only=True)
class Ones:
    """The number of ones among the bits of an output that a bisection has found.

    Parameters
    ----------
    bounds : tuple of float
        The interval [a, b] that the bisection starts from.
    rounds : int
        The number of bits.
    resolution : float
        The distance beyond the midpoint at which the upper half begins (Δ in P-COQS, Algorithm 1).
    start, stop : int
        Bits start, …, stop−1 are counted, from 0; a ``stop`` of 0 stands for ``rounds``.
    """

    bounds: tuple[float, float]
    rounds: int
    resolution: float = 0.0

    def __post_init__(self) -> None:
        _validate.bounds(self.bounds)
        _validate.integer(rounds=self.rounds, at_least=1)
        _validate.non_negative(resolution=self.resolution)

    def __call__(self, outputs: FloatArray) -> FloatArray:
        """Return the counts, shape (size,)."""
        if self.bounds == (0, 1) and not self.resolution and self.rounds <= _MOST_BITS:
            return self._of_fractions(outputs)
        count = np.zeros(outputs.shape)
        for one in bisected(
            outputs, bounds=self.bounds, rounds=self.rounds, resolution=self.resolution
        ):
            count += one
        return count

    def _of_fractions(self, outputs: FloatArray) -> FloatArray:
        """Return the same where the midpoints are fractions with a power of two below."""
        last = 2**self.rounds - 1
        rank = np.ceil(np.clip(outputs, 0.0, 1.0) * (last + 1)) - 1
        found = np.maximum(rank, 0.0).astype(np.int64)
        return np.asarray(np.bitwise_count(found), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FittedScore:
    """A weighted sum of terms of a vector output, by which a logistic regression tells two inputs.

    Parameters
    ----------
    centre, scale : ndarray, shape (d,)
        By which each coordinate is standardised.
    weights : ndarray
        One for each term.
    """

    centre: FloatArray
    scale: FloatArray
    weights: FloatArray

    steps: ClassVar[int] = 200
    """The most iterations of the regression."""

    @classmethod
    def of(cls, outputs: FloatArray, coins: BoolArray) -> Self:
        """Return the log-odds of the coin by logistic regression; 0 if all coins are alike.

        Parameters
        ----------
        outputs : ndarray, shape (size, d)
        coins : ndarray of bool, shape (size,)
        """
        from sklearn.linear_model import LogisticRegression  # noqa: PLC0415  (slow to import)

        low, centre, high = np.quantile(outputs, [0.25, 0.5, 0.75], axis=0, method="inverted_cdf")
        with np.errstate(invalid="ignore"):
            spread = high - low
        centre = np.where(np.isfinite(centre), centre, 0.0)
        scale = np.where(np.isfinite(spread) & (spread > 0), spread, 1.0)
        shell = cls(centre=centre, scale=scale, weights=np.zeros(0))
        terms = shell.terms((outputs - centre) / scale)
        weights = np.zeros(terms.shape[1])
        if coins.any() and not coins.all():
            model = cast("Any", LogisticRegression(C=1.0, max_iter=cls.steps))
            model.fit(terms, coins)
            weights = cast("FloatArray", model.coef_[0])
        return replace(shell, weights=weights)

    def terms(self, z: FloatArray) -> FloatArray:
        """Return the terms of standardised outputs: each squashed in two ways, shape (size, 2d)."""
        return np.concatenate([np.clip(z, -3.0, 3.0), np.clip(4 * z, -1.0, 1.0)], axis=1)

    def __call__(self, outputs: FloatArray) -> FloatArray:
        """Return the sums, shape (size,)."""
        values: FloatArray = self.terms((outputs - self.centre) / self.scale) @ self.weights
        return values


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Quadratic(FittedScore):
    """A quadratic function of a vector output, each coordinate centred, scaled and capped."""

    steps: ClassVar[int] = 1000

    def terms(self, z: FloatArray) -> FloatArray:
        """Return the terms of standardised outputs, shape (size, d + d(d+1)/2)."""
        z = np.clip(z, -8.0, 8.0)
        first, second = np.triu_indices(z.shape[1])
        return np.concatenate([z, z[:, first] * z[:, second]], axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class Rank:
    """The place of an output in a list of distinct outputs; past its end if it is not there.

    Parameters
    ----------
    listed : ndarray, shape (m,) or (m, d)
    """

    listed: FloatArray

    def __call__(self, outputs: FloatArray) -> FloatArray:
        """Return places 0, …, m−1, and m for any other output; shape (size,)."""
        places = {_key(row): place for place, row in enumerate(self.listed)}
        values, back = np.unique(outputs, axis=0, return_inverse=True)
        found = [float(places.get(_key(row), len(self.listed))) for row in values]
        return np.array(found)[back.reshape(-1)]


_KINDS: dict[str, Callable[..., Feature]] = {
    "value": ScalarValue,
    "coordinate": Coordinate,
    "ones": Ones,
    "quadratic": Quadratic,
    "squashed-sum": FittedScore,
    "rank": Rank,
    "last-bits": LastBits,
    "trailing-zeros": TrailingZeros,
    "decimals": DecimalPlaces,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}
_ARRAYS = frozenset({"centre", "scale", "weights", "listed"})


def feature_as_data(feature: Any) -> PlainData:
    """Return a feature as plain data: its kind, and its fields."""
    found: PlainData = {"kind": _NAMES[type(feature)]}
    for each in fields(feature):
        value = getattr(feature, each.name)
        if each.name in _ARRAYS:
            value = value.tolist()
        found[each.name] = list(value) if each.name == "bounds" else value
    return found


def feature_from_data(data: Mapping[str, Any]) -> Feature:
    """Return the feature that ``feature_as_data`` wrote."""
    make = _KINDS.get(str(data.get("kind")))
    if make is None:
        raise ValueError(f"data must name a kind of feature, got {data.get('kind')!r}")
    rest: dict[str, Any] = {
        name: np.asarray(value, dtype=float) if name in _ARRAYS else value
        for name, value in data.items()
        if name != "kind"
    }
    if make is Ones and (rest.pop("start", 0) or rest.pop("stop", 0)):  # of files until 0.2
        raise ValueError(f"data must count all bits of a bisection, got {dict(data)}")
    if "bounds" in rest:
        low, high = rest["bounds"]
        rest["bounds"] = (low, high)
    feature: Feature = make(**rest)
    return feature


def _key(row: FloatArray) -> tuple[float, ...]:
    return tuple(np.atleast_1d(row).tolist())


CELLS = 64
"""Cells that a continuous output is cut into, at most."""
_PER_CELL = 80
"""Samples that a cell of a continuous output should hold, on either input."""
_FEW = 16
"""Up to so many cells, likelihood ratios order them well enough."""


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """A set of outputs: the chosen cells of a partition of the line, (−∞, c₁], (c₁, c₂], … .

    Parameters
    ----------
    cuts : ndarray, shape (m,)
        Increasing right ends of the first m cells.
    inside : ndarray, shape (m+1,)
        True where a cell belongs to the event.
    feature : Feature
        The number that is looked up in the cells: the output itself, unless said otherwise.
    """

    cuts: FloatArray
    inside: BoolArray
    feature: Feature = field(default_factory=ScalarValue)

    def contains(self, outputs: FloatArray) -> BoolArray:
        """Return True for each output in the event, shape (size,)."""
        return self.inside[np.searchsorted(self.cuts, self.feature(outputs), side="left")]

    def as_intervals(self) -> list[list[float]]:
        """Return the feature's values as half-open intervals (low, high], neighbours merged."""
        edges = np.concatenate([[-np.inf], self.cuts, [np.inf]])
        steps = np.diff(np.concatenate([[0], self.inside.astype(int), [0]]))
        starts, ends = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1)
        return [[float(edges[a]), float(edges[b])] for a, b in zip(starts, ends, strict=True)]

    def as_data(self) -> Any:
        """Return the event as plain data: intervals, and the feature where there is one."""
        if isinstance(self.feature, ScalarValue):
            return self.as_intervals()
        return {"feature": feature_as_data(self.feature), "intervals": self.as_intervals()}

    @classmethod
    def from_data(cls, data: dict[str, Any] | list[Any]) -> Event:
        """Build the event that ``as_data`` wrote; an interval from −∞ includes −∞."""
        pairs: list[tuple[float, float]] = data["intervals"] if isinstance(data, dict) else data
        intervals = [(float(a), float(b)) for a, b in pairs]
        ends = {a for a, _ in intervals if a > -np.inf} | {b for _, b in intervals if b < np.inf}
        cuts = np.array(sorted(ends))
        inside = [
            any((low < right or low == -np.inf) and right <= high for low, high in intervals)
            for right in (*cuts, np.inf)
        ]
        feature = feature_from_data(data["feature"]) if isinstance(data, dict) else ScalarValue()
        return cls(cuts, np.array(inside), feature)


class PilotEvent(NamedTuple):
    """An event, its direction, and what the pilot promises of it.

    ``swapped`` tells whether the event is likelier on the neighbour than the guarantee would
    allow; ``excess`` is how far its probability exceeds what is allowed, in standard errors of
    the certification.
    """

    event: Event
    swapped: bool
    excess: float


class PilotCounts(NamedTuple):
    """The number of pilot outputs of either input in each cell, shape (2, cuts + 1).

    Every other output orders the cells, the rest judge the order.
    """

    cuts: FloatArray
    ordering: IntArray
    judging: IntArray

    @classmethod
    def of(cls, values: tuple[FloatArray, FloatArray], cuts: FloatArray) -> PilotCounts:
        """Count values in the cells whose increasing right ends are ``cuts``."""
        cells = [np.searchsorted(cuts, x, side="left") for x in values]
        ordering, judging = (
            np.stack([np.bincount(x[part], minlength=cuts.size + 1) for x in cells])
            for part in (slice(0, None, 2), slice(1, None, 2))
        )
        return cls(cuts, ordering, judging)


class _Unions(NamedTuple):
    """The orders of the cells among which ``CutFeature`` chooses, one a row.

    Parameters
    ----------
    cuts : ndarray, shape (m,)
    orders : ndarray, shape (6, m+1)
        The orders; by the first three the event is to be likelier on the first input.
    likelier, other : ndarray, shape (6, m+1)
        The shares of the first 1, 2, … cells of the order, on the input on which they are to be
        likelier and on the other.
    handicaps : ndarray, shape (6,)
        Standard errors that are taken off.
    """

    cuts: FloatArray
    orders: IntArray
    likelier: FloatArray
    other: FloatArray
    handicaps: FloatArray

    @classmethod
    def of(cls, counts: PilotCounts) -> _Unions:
        """Order the cells: from left to right, the other way, and by likelihood ratio."""
        pooled = counts.ordering + counts.judging
        ordering, judging, all_ = map(_shares, (counts.ordering, counts.judging, pooled))
        along: IntArray = np.arange(ordering.shape[1], dtype=np.int64)
        orders: list[IntArray] = []
        for first, second in (ordering, ordering[::-1]):
            orders += [along, along[::-1], np.argsort(-first / second)]
        sides = [(by[first], by[1 - first]) for first in (0, 1) for by in (all_, all_, judging)]
        likelier, other = (
            np.cumsum([side[k][order] for side, order in zip(sides, orders, strict=True)], axis=1)
            for k in (0, 1)
        )
        handicap = 0.0 if counts.cuts.size < _FEW else 1.0
        return cls(counts.cuts, np.stack(orders), likelier, other, np.tile([0, 0, handicap], 2))

    def best(self, guarantee: PrivacyGuarantee, feature: Feature, *, trials: int) -> PilotEvent:
        """Return the best event against a claim, were it certified on so many outputs."""
        excess = _excess(_interpolated_power(guarantee), self.likelier, self.other, trials)
        last = max(1, excess.shape[1] - 1)  # all cells together are no event
        taken = excess[:, :last].argmax(axis=1)
        promised = (
            np.take_along_axis(excess, taken[:, None], axis=1)[:, 0] - self.handicaps
        ).tolist()
        row = max(range(len(promised)), key=promised.__getitem__)
        inside = np.zeros(excess.shape[1], dtype=bool)
        inside[self.orders[row, : taken[row] + 1]] = True
        return PilotEvent(
            Event(self.cuts, inside, feature), row >= len(promised) // 2, promised[row]
        )


class CutFeature(NamedTuple):
    """A feature cut into cells, from which the best event against any claim is taken.

    One half of the samples orders the cells, the other says how many to take: judged on the
    samples that ordered them, the luckiest cells would look best. Among many cells a union must
    promise one standard error more than a half-line to be taken.
    """

    feature: Feature
    values: tuple[FloatArray, FloatArray]
    counts: PilotCounts
    unions: _Unions
    trials: int
    """The size of the certification."""

    @classmethod
    def of(
        cls,
        feature: Feature,
        samples: tuple[FloatArray, FloatArray],
        *,
        cells: int = CELLS,
        trials: int | None = None,
        marks: Sequence[float] | None = None,
    ) -> CutFeature:
        """Cut a feature's range into at most ``cells`` cells.

        ``trials`` is the number of samples unless given. Of the value itself, ``marks`` and atoms
        have cells of their own, unless ``marks`` is None.
        """
        first, second = (feature(sample) for sample in samples)
        cuts = quantile_cuts(np.concatenate([first, second]), cells=cells)
        if marks is not None and isinstance(feature, ScalarValue):
            alone = np.unique(np.concatenate([_atoms(first, second), np.asarray(marks)]))
            cuts = np.unique(np.concatenate([cuts, alone, np.nextafter(alone, -np.inf)]))
        counts = PilotCounts.of((first, second), cuts)
        return cls(feature, (first, second), counts, _Unions.of(counts), trials or first.size)

    def best(self, guarantee: PrivacyGuarantee) -> PilotEvent:
        """Return the best event against a claim: a half-line, or a union by likelihood ratio."""
        return self.unions.best(guarantee, self.feature, trials=self.trials)


def _shares(counts: IntArray) -> FloatArray:
    """Return the smoothed shares of the cells on either input, shape (2, cells)."""
    smoothed = np.asarray(counts + 0.5, dtype=np.float64)
    return np.asarray(smoothed / (counts.sum(axis=1) + 0.5 * counts.shape[1])[:, None])


def quantile_cuts(pooled: FloatArray, *, cells: int = CELLS) -> FloatArray:
    """Return cut points: every distinct value when there are few, else pooled quantiles."""
    ordered = np.sort(pooled)
    values = _distinct(ordered)
    if values.size > cells:
        wide = min(cells, max(8, pooled.size // (2 * _PER_CELL)))
        shares = np.linspace(0, 1, wide + 1)[1:]
        places = np.ceil(pooled.size * shares - 1).astype(np.intp)  # the inverse of the ECDF
        values = _distinct(ordered[np.maximum(places, 0)])
    return values[:-1]


def _distinct(ordered: FloatArray) -> FloatArray:
    fresh = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    return np.asarray(ordered[fresh])


@lru_cache(maxsize=16)
def _interpolated_power(guarantee: PrivacyGuarantee) -> Callable[[FloatArray], FloatArray]:
    """Return the guarantee's power, interpolated: good enough to choose an event by, and quick."""
    inner = expit(np.linspace(-10.0, 10.0, 61))
    grid = np.concatenate([[0.0], inner, [1.0]])
    values = guarantee.power(grid)
    return lambda q: np.interp(q, grid, values)


def promised_excess(
    guarantee: PrivacyGuarantee, event: Event, samples: tuple[FloatArray, FloatArray]
) -> float:
    """Return the excess of an event over the claim, in standard errors.

    Parameters
    ----------
    samples : tuple of ndarray
        Outputs of the two inputs, the likelier one's first.
    """
    trials = len(samples[0])
    p, q = (np.array([(event.contains(sample).sum() + 0.5) / (trials + 1)]) for sample in samples)
    return float(_excess(_interpolated_power(guarantee), p, q, trials)[0])


def _excess(
    power: Callable[[FloatArray], FloatArray], p: FloatArray, q: FloatArray, trials: int
) -> FloatArray:
    """Return the excess of p over the rate that q allows, in standard errors."""
    p, q = np.minimum(p, 1.0), np.minimum(q, 1.0)
    error = np.sqrt(np.maximum(q * (1 - q), 1 / trials) / trials)
    allowed, shifted = power(q), power(np.minimum(1.0, q + error))
    variance = np.maximum(p * (1 - p), 1 / trials) / trials
    return (p - allowed) / np.sqrt(variance + (shifted - allowed) ** 2)


_BITS = (24, 10, 48)
_RESOLUTIONS = (1e-10, 1e-8, 1e-6, 1e-4, 1e-3)
"""Steps, as shares of the range, that a bisection may take beyond its midpoints."""
_ATOMS = 24
_SHARE_OF_ATOM, _FEWEST_OF_ATOM = 0.002, 3


def looked_at(
    pooled: FloatArray, bounds: tuple[float, float] | None, *, thorough: bool
) -> list[Feature]:
    """Return the features that suit scalar outputs: the value, its bits and its decimals."""
    features: list[Feature] = [ScalarValue()]
    if bounds is not None and ((pooled >= bounds[0]) & (pooled <= bounds[1])).mean() > 0.5:
        plain = _BITS if thorough else _BITS[:2]
        features += [Ones(bounds=bounds, rounds=rounds) for rounds in plain]
        span = bounds[1] - bounds[0]
        for step in _RESOLUTIONS if thorough else ():
            rounds = math.ceil(-math.log2(step))
            features.append(Ones(bounds=bounds, rounds=rounds, resolution=step * span))
    if np.unique(pooled).size > min(CELLS, pooled.size // 2):
        features.append(DecimalPlaces(6))
    return features


def _atoms(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return values that come up again and again: the most frequent, and the most uneven.

    By the samples that order the cells; the others judge them.
    """
    sides = first[::2], second[::2]
    listed, back = np.unique(np.concatenate(sides), return_inverse=True)
    size = back.size
    on_first, on_second = (
        np.bincount(part, minlength=listed.size)
        for part in (back[: sides[0].size], back[sides[0].size :])
    )
    counts = on_first + on_second
    again = np.flatnonzero(counts >= _FEWEST_OF_ATOM)
    frequent = again[counts[again] >= _SHARE_OF_ATOM * size]
    uneven = np.abs(on_first - on_second)[again] / np.sqrt(counts[again])
    chosen = [
        frequent[np.argsort(-counts[frequent], kind="stable")[:_ATOMS]],
        again[np.argsort(-uneven, kind="stable")[:_ATOMS]],
    ]
    return listed[np.unique(np.concatenate(chosen))]
