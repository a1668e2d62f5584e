"""The largest of noisy numbers in plain lists: ``max``, ``min``, ``sorted`` and ``np.argmax``.

Python finds the largest by comparisons of two, which show more than which one it is. Here that is
all that is observed, as it is for arrays. An order is observed place by place, as far as asked for.
"""

from __future__ import annotations

import builtins
import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dpcp_audit.tracing.known_sums import is_discrete
from dpcp_audit.tracing.traced_arrays import MOST_ORDERED, traced_array
from dpcp_audit.tracing.traced_numbers import Traced, is_plain, traced_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownParameterType=false, reportIncompatibleMethodOverride=false


_FEWEST = 3
"""Of two numbers the larger is a comparison."""
_NONE: Any = object()
_max, _min, _sorted = builtins.max, builtins.min, builtins.sorted


def _keys(items: Sequence[Any], key: Callable[[Any], Any] | None) -> list[Any]:
    return list(items) if key is None else [key(each) for each in items]


def _numbers(keys: Sequence[Any]) -> list[Any] | None:
    """Return the numbers that decide which key is the largest; None of other keys."""
    firsts = [each[0] if type(each) in {tuple, list} and each else None for each in keys]
    if firsts and all(map(_is_continuous, firsts)):
        return firsts
    real = all(isinstance(each, Traced) or (is_plain(each) and each == each) for each in keys)  # noqa: PLR0124
    return list(keys) if real and any(isinstance(each, Traced) for each in keys) else None


def _is_continuous(value: Any) -> bool:
    return isinstance(value, Traced) and not is_discrete(value)


def _place(keys: Sequence[Any], *, largest: bool) -> int | None:
    """Observe which key is the largest, or the smallest; None where comparisons do that."""
    numbers = _numbers(keys)
    if numbers is None:
        return None
    plain = [place for place, each in enumerate(numbers) if not isinstance(each, Traced)]
    best = (_max if largest else _min)(plain, key=numbers.__getitem__, default=None)
    if best is not None and math.isinf(numbers[best]):
        if (numbers[best] > 0) is largest:
            return best
        best = None
    rivals = [place for place in range(len(numbers)) if place not in plain or place == best]
    if len(rivals) < _FEWEST:
        return None
    path: Any = next(each.path for each in numbers if isinstance(each, Traced))
    found: int = path.extreme([numbers[place] for place in rivals], largest=largest)
    return rivals[found]


def _extreme(plain: Callable[..., Any], *, largest: bool) -> Callable[..., Any]:
    """Return ``max`` or ``min``."""

    def found(*args: Any, key: Callable[[Any], Any] | None = None, default: Any = _NONE) -> Any:
        if len(args) != 1:
            items: Sequence[Any] = args
        else:
            items = list(args[0])
        if not items:
            return plain(items) if default is _NONE else default
        keys = _keys(items, key)
        place = _place(keys, largest=largest)
        if place is None:
            place = plain(range(len(keys)), key=keys.__getitem__)
        return items[place]

    return found


class NoisyOrder:
    """The list that ``sorted`` returns for noisy keys; its places are observed when asked for.

    Parameters
    ----------
    items : sequence
        What is ordered.
    keys : sequence
        What it is ordered by.
    reverse : bool
        Whether the largest comes first.
    """

    def __init__(self, items: Sequence[Any], keys: Sequence[Any], *, reverse: bool) -> None:
        self._left = dict(enumerate(keys))
        self._items = items
        self._reverse = reverse
        self._first: list[int] = []
        self._last: list[int] = []
        self._whole: list[Any] | None = None

    __class__ = cast("Any", list)

    def __len__(self) -> int:
        return len(self._items if self._whole is None else self._whole)

    def __iter__(self) -> Iterator[Any]:
        place = 0
        while place < len(self):
            yield self[place]
            place += 1

    def __getitem__(self, place: Any) -> Any:
        if self._whole is None and isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        if self._whole is None:
            found = self._at(range(len(self))[place])
            if found is not None:
                return self._items[found]
        return self.whole()[place]

    def _at(self, place: int) -> int | None:
        """Return which item stands at a place, None where it is too deep."""
        from_end = len(self) - 1 - place
        ends, depth = (self._first, place) if place <= from_end else (self._last, from_end)
        while len(ends) <= depth:
            left = list(self._left)
            largest = self._reverse is (ends is self._first)
            keys = [self._left[each] for each in left]
            found = None if self._is_deep(ends) else _place(keys, largest=largest)
            if found is None:
                return None
            ends.append(left[found])
            del self._left[left[found]]
        return ends[depth]

    def _is_deep(self, ends: list[int]) -> bool:
        """Tell whether the next place is left to comparisons: equal keys have an order too."""
        if ends is self._first:
            return len(ends) >= MOST_ORDERED or bool(self._last)
        ties = any(isinstance(each, Traced) and is_discrete(each) for each in self._left.values())
        return len(ends) >= MOST_ORDERED or bool(self._first) or ties

    def whole(self) -> list[Any]:
        """Return the ordered list, by comparisons of what is not known yet."""
        if self._whole is None:
            middle = _sorted(self._left, key=self._left.__getitem__, reverse=self._reverse)
            order = [*self._first, *middle, *self._last[::-1]]
            self._whole = [self._items[place] for place in order]
        return self._whole

    def __getattr__(self, name: str) -> Any:
        return getattr(self.whole(), name)

    def __repr__(self) -> str:
        return repr(self.whole())

    def __reduce__(self) -> Any:
        return list, (self.whole(),)


def _of_whole(name: str) -> Callable[..., Any]:
    def apply(self: NoisyOrder, *args: Any) -> Any:
        return getattr(self.whole(), name)(*args)

    return apply


_NAMES = "add radd iadd mul rmul imul eq ne lt le gt ge contains setitem delitem reversed"
for _name in _NAMES.split():
    if hasattr(list, f"__{_name}__"):
        setattr(NoisyOrder, f"__{_name}__", _of_whole(f"__{_name}__"))


def noisy_sorted(
    iterable: Iterable[Any], /, *, key: Callable[[Any], Any] | None = None, reverse: bool = False
) -> Any:
    """Return ``sorted``."""
    items = list(iterable)
    keys = _keys(items, key)
    if len(items) < _FEWEST or _numbers(keys) is None:
        order = _sorted(range(len(keys)), key=keys.__getitem__, reverse=reverse)
        return [items[place] for place in order]
    return NoisyOrder(items, keys, reverse=bool(reverse))


def _of_lists(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of NumPy that takes lists of noisy numbers for arrays of them."""

    def apply(first: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(first, list | tuple) and next(traced_in(first), None) is not None:
            first = traced_array(list(first))
        return plain(first, *args, **kwargs)

    return apply


def _array(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``np.array``, which keeps the noise of lists of floats."""

    def array(first: Any, *args: Any, **kwargs: Any) -> Any:
        asked = args[0] if args else kwargs.get("dtype")
        others = len(args) > 1 or kwargs.keys() - {"dtype", "copy"}
        listed = isinstance(first, list | tuple) and not others and _is_float(asked)
        if listed and next(traced_in(first), None) is not None:
            return traced_array(list(first))
        return plain(first, *args, **kwargs)

    return array


def _is_float(dtype: Any) -> bool:
    return dtype is None or dtype in (float, np.float64, "float", "float64")


_FUNCTIONS = ("argmax", "argmin", "max", "min", "amax", "amin", "argsort", "sum", "mean")


def replaced_extremes() -> list[tuple[Any, str, Any]]:
    """Return what is replaced while a target runs: its owner, its name and what replaces it."""
    return [
        (builtins, "max", _extreme(builtins.max, largest=True)),
        (builtins, "min", _extreme(builtins.min, largest=False)),
        (builtins, "sorted", noisy_sorted),
        (np, "array", _array(np.array)),
        (np, "asarray", _array(np.asarray)),
        *((np, name, _of_lists(getattr(np, name))) for name in _FUNCTIONS),
    ]
