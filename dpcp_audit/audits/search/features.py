"""Features: one number for each output of a mechanism, by whose order an event is cut.

A feature is plain data once it is fitted, so that the event which it defines can be written
into a report and evaluated again on fresh outputs.

Squashed coordinates follow the log-ratio of Laplace noise, which is bounded, and tell as much of
Gaussian noise; one that moves by its spread is not drowned by a few outputs far out.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

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


class Feature(Protocol):
    """Gives every output a number."""

    def __call__(self, outputs: FloatArray, /) -> FloatArray:
        """Return shape (size,), from outputs of shape (size,) or (size, d)."""
        ...


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
    start: int = 0
    stop: int = 0

    def __post_init__(self) -> None:
        _validate.bounds(self.bounds)
        _validate.integer(rounds=self.rounds, at_least=1)
        _validate.non_negative(resolution=self.resolution)
        _validate.integer(start=self.start, stop=self.stop, at_least=0)
        if not self.start < (self.stop or self.rounds) <= self.rounds:
            raise ValueError(
                f"start and stop must name bits of {self.rounds} rounds, "
                f"got {self.start} and {self.stop}"
            )

    def __call__(self, outputs: FloatArray) -> FloatArray:
        """Return the counts, shape (size,)."""
        if self.bounds == (0, 1) and not self.resolution and self.rounds <= _MOST_BITS:
            return self._of_fractions(outputs)
        count = np.zeros(outputs.shape)
        stop = self.stop or self.rounds
        bits = bisected(outputs, bounds=self.bounds, rounds=stop, resolution=self.resolution)
        for bit, one in enumerate(bits):
            if bit >= self.start:
                count += one
        return count

    def _of_fractions(self, outputs: FloatArray) -> FloatArray:
        """Return the same where the midpoints are fractions with a power of two below."""
        last = 2**self.rounds - 1
        rank = np.ceil(np.clip(outputs, 0.0, 1.0) * (last + 1)) - 1
        found = np.maximum(rank, 0.0).astype(np.int64)
        stop = self.stop or self.rounds
        counted = (2 ** (stop - self.start) - 1) << (self.rounds - stop)
        return np.asarray(np.bitwise_count(found & counted), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Quadratic:
    """A quadratic function of a vector output, each coordinate centred, scaled and capped.

    Parameters
    ----------
    centre, scale : ndarray, shape (d,)
    weights : ndarray, shape (d + d(d+1)/2,)
        Weights of z₁, …, z_d, then of z_i·z_j with i ≤ j, where z is capped to [−8, 8] so that an
        infinite coordinate counts as a far one.
    """

    centre: FloatArray
    scale: FloatArray
    weights: FloatArray

    def terms(self, outputs: FloatArray) -> FloatArray:
        """Return what the weights multiply, shape (size, d + d(d+1)/2)."""
        z = np.clip((outputs - self.centre) / self.scale, -8.0, 8.0)
        first, second = np.triu_indices(z.shape[1])
        return np.concatenate([z, z[:, first] * z[:, second]], axis=1)

    def __call__(self, outputs: FloatArray) -> FloatArray:
        """Return the function's values, shape (size,)."""
        values: FloatArray = self.terms(outputs) @ self.weights
        return values


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SquashedSum:
    """A weighted sum of a vector's coordinates, each centred, scaled and squashed in two ways.

    Parameters
    ----------
    centre, scale : ndarray, shape (d,)
    weights : ndarray, shape (2d,)
        Weights of z capped to [−3, 3], then of 4z capped to [−1, 1], which is nearly its sign.
    """

    centre: FloatArray
    scale: FloatArray
    weights: FloatArray

    def terms(self, outputs: FloatArray) -> FloatArray:
        """Return what the weights multiply, shape (size, 2d)."""
        z = (outputs - self.centre) / self.scale
        return np.concatenate([np.clip(z, -3.0, 3.0), np.clip(4 * z, -1.0, 1.0)], axis=1)

    def __call__(self, outputs: FloatArray) -> FloatArray:
        """Return the sums, shape (size,)."""
        values: FloatArray = self.terms(outputs) @ self.weights
        return values


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
    "squashed-sum": SquashedSum,
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
    if "bounds" in rest:
        low, high = rest["bounds"]
        rest["bounds"] = (low, high)
    feature: Feature = make(**rest)
    return feature


def _key(row: FloatArray) -> tuple[float, ...]:
    return tuple(np.atleast_1d(row).tolist())


def squashed_score(outputs: FloatArray, coins: BoolArray) -> SquashedSum:
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
    weights: FloatArray = np.zeros((2 * outputs.shape[1],))
    if coins.any() and not coins.all():
        terms = SquashedSum(centre=centre, scale=scale, weights=weights).terms(outputs)
        model = cast("Any", LogisticRegression(C=1.0, max_iter=200))
        model.fit(terms, coins)
        weights = cast("FloatArray", model.coef_[0])
    return SquashedSum(centre=centre, scale=scale, weights=weights)
