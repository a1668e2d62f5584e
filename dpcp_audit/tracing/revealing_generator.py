"""A NumPy generator whose choices are revealed as they are made.

Indices, choices and permutations are revealed with their probability. Any other draw is revealed
too, and is good for both inputs only where its parameters are the same.

What it needs of a draw: its shape, the log-probability of what is drawn, and all that may be.
"""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownParameterType=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

import math
import pickle
from itertools import permutations, product
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.tracing.draws import SEED, NotFiniteError, target_line
from dpcp_audit.tracing.path_runs import RevealedDraw
from dpcp_audit.tracing.traced_arrays import traced_array
from dpcp_audit.tracing.traced_numbers import is_plain, traced_in, values_in, values_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.tracing.path_runs import PathRun
    from dpcp_audit.words.arrays import FloatArray


MOST_OPTIONS = 100_000
"""Values of a draw that are listed."""


def uniform_log_mass(found: Any, first: int, stop: int, count: int) -> float:
    """Return the log-probability of whole numbers that are uniform from ``first`` to ``stop``."""
    if isinstance(found, int | np.integer):
        return -math.log(count) if first <= found < stop else -math.inf
    values = np.asarray(found)
    if values.size and not (first <= values.min() and values.max() < stop):
        return -math.inf
    return -values.size * math.log(count)


def choice_log_mass(found: Any, count: int, weights: Any, *, replace: bool) -> float:
    """Return the log-probability of places, by weights, or uniform with or without replacement."""
    places = np.asarray(found)
    if places.size and places.max() >= count:
        return -math.inf
    if weights is not None:
        with np.errstate(divide="ignore"):
            return float(np.log(weights / weights.sum())[places].sum())
    if replace:
        return -places.size * math.log(count)
    return math.lgamma(count - places.size + 1) - math.lgamma(count + 1)


def all_tuples(values: range, size: Any, dtype: Any, *, distinct: bool = False) -> list[Any]:
    """Return all that can be drawn, of any shape."""
    if size is None:
        if len(values) > MOST_OPTIONS:
            return no_options()
        return [np.dtype(dtype).type(each) for each in values]
    shape = (int(size),) if np.ndim(size) == 0 else tuple(size)
    count = math.prod(shape)
    total = math.perm(len(values), count) if distinct else len(values) ** count
    if total > MOST_OPTIONS:
        return no_options()
    ways = permutations(values, count) if distinct else product(values, repeat=count)
    return [np.array(way, dtype=dtype).reshape(shape) for way in ways]


def no_options() -> list[Any]:
    """Raise that what may be drawn is not listed."""
    raise NotFiniteError("what may be drawn is not finite, or too much", target_line())


def drawn_shape(parameters: tuple[Any, ...], size: Any) -> tuple[int, ...] | None:
    """Return the shape of what is drawn, None of a number."""
    if size is None and all(is_plain(each) for each in parameters):
        return None
    if size is not None:
        return (int(size),) if np.ndim(size) == 0 else tuple(int(each) for each in size)
    shapes = [np.shape(each) for each in parameters]
    return np.broadcast_shapes(*shapes) if any(shapes) else None


def undrawn(shape: tuple[int, ...] | None) -> Any:
    """Return NaN, of that shape: a replay draws nothing."""
    return math.nan if shape is None else np.full(shape, math.nan)


def listed_values(value: Any, shape: tuple[int, ...] | None) -> list[Any]:
    """Return a parameter for each number of that shape."""
    if shape is None:
        return [value]
    if np.ndim(value) == 0:
        return [value] * math.prod(shape)
    return np.broadcast_to(np.asarray(value), shape).ravel().tolist()


_INTEGER_BITS = 63
_MANY_SEEDS = 2**31
"""Whole numbers below at least so many may seed another generator."""


class RevealingGenerator(np.random.Generator):
    """A generator that tells a path what it draws.

    Parameters
    ----------
    path : PathRun
        The run that its draws belong to.
    source : Generator
        What draws; its stream is that of an untraced run.
    """

    def __init__(self, path: PathRun, source: np.random.Generator) -> None:
        super().__init__(source.bit_generator)
        self.path = path
        self.source = source

    def integers(
        self,
        low: Any,
        high: Any = None,
        size: Any = None,
        dtype: Any = np.int64,
        endpoint: Any = False,  # noqa: FBT002  (as NumPy has it)
    ) -> Any:
        """NoiseDraw whole numbers, revealed as they are drawn."""
        low, high = values_of(low), values_of(high)
        first, last = (0, low) if high is None else (low, high)
        if np.ndim(first) or np.ndim(last):
            return self.reveal_other(
                "integers", (low, high, size), {"dtype": dtype, "endpoint": endpoint}
            )
        stop = int(last) + bool(endpoint)
        count = max(1, stop - int(first))
        found = self._reveal(
            SEED if count >= _MANY_SEEDS else "integers",
            lambda: self.source.integers(low, high, size, dtype, endpoint),
            lambda found: uniform_log_mass(found, int(first), stop, count),
            lambda: all_tuples(range(int(first), stop), size, dtype),
        )
        if count >= _MANY_SEEDS:
            self.path.seeds.update(np.ravel(found).tolist())
        return found

    def bits(self, count: int) -> int:
        """Draw a whole number of so many random bits: a seed, where there are many."""
        if count <= _INTEGER_BITS:
            return int(self.integers(2**count))
        size = -(-count // 8)
        found = int(
            self._reveal(
                SEED,
                lambda: int.from_bytes(self.source.bytes(size), "little") >> (8 * size - count),
                lambda found: -count * math.log(2) if 0 <= found < 2**count else -math.inf,
                no_options,
            )
        )
        self.path.seeds.add(found)
        return found

    def choice(  # noqa: PLR0917  (as NumPy has it)
        self,
        a: Any,
        size: Any = None,
        replace: Any = True,  # noqa: FBT002
        p: Any = None,
        axis: int = 0,
        shuffle: Any = True,  # noqa: FBT002
    ) -> Any:
        """NoiseDraw elements; their places are revealed as they are drawn."""
        count = int(values_of(a)) if np.ndim(a) == 0 else np.shape(a)[axis]
        weights = None if p is None else np.asarray(values_of(p), dtype=np.float64)
        ordered = weights is not None or not shuffle
        if not replace and ordered and size is not None:
            # Neither NumPy's weighted draws nor its unshuffled ones have a law that is known here.
            places = self.reveal_other(
                "choice", (count, size, replace, weights), {"shuffle": shuffle}
            )
        else:
            places = self._reveal(
                "choice",
                lambda: self.source.choice(count, size, replace, weights, shuffle=shuffle),
                lambda found: choice_log_mass(found, count, weights, replace=replace),
                lambda: all_tuples(range(count), size, np.int64, distinct=not replace),
            )
        return places if np.ndim(a) == 0 else _taken(a, places, axis)

    def permutation(self, x: Any, axis: int = 0) -> Any:
        """NoiseDraw an order, revealed as it is drawn."""
        if np.ndim(x) == 0:
            return self._order(int(values_of(x)))
        return _taken(x, self._order(np.shape(x)[axis]), axis)

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Shuffle in place, in an order that is revealed."""
        order = self._order(np.shape(x)[axis] if isinstance(x, np.ndarray) else len(x))
        if isinstance(x, np.ndarray):
            x[...] = np.take(x, order, axis=axis)
        else:
            x[:] = [x[place] for place in order]

    def among(self, name: str, values: Sequence[Any], masses: FloatArray) -> Any:
        """NoiseDraw one of the values, revealed as it is drawn."""
        listed = list(values)

        def log_mass(found: Any) -> float:
            mass = math.fsum(m for v, m in zip(listed, masses, strict=True) if v == found)
            return math.log(mass) if mass > 0 else -math.inf

        return self._reveal(
            name,
            lambda: listed[int(self.source.choice(len(listed), p=masses))],
            log_mass,
            lambda: list(dict.fromkeys(listed)),
        )

    def _reveal(self, *parts: Any) -> Any:
        return self.path.choose(RevealedDraw(*parts))

    def _order(self, count: int) -> Any:
        return self._reveal(
            "permutation",
            lambda: self.source.permutation(count),
            lambda found: -math.lgamma(len(found) + 1) if len(found) == count else -math.inf,
            lambda: all_tuples(range(count), count, np.int64, distinct=True),
        )

    def reveal_other(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Reveal a draw of a law that is not followed, for parameters that are the same."""
        plain, keywords = values_of(args), values_in(kwargs)
        method: Any = getattr(self.source, name)
        key = pickle.dumps((plain, keywords))
        self.path.outside.setdefault(name, target_line())
        return self._reveal(
            name, lambda: method(*plain, **keywords), lambda _: 0.0, no_options, key
        )


def _taken(a: Any, places: Any, axis: int) -> Any:
    """Return elements; of traced ones too."""
    if isinstance(a, np.ndarray):
        return np.take(a, places, axis=axis)
    if next(traced_in(a), None) is not None:
        return a[int(places)] if np.ndim(places) == 0 else traced_array(a)[places]
    return np.take(np.asarray(a), places, axis=axis)
