"""Reads a function that takes an order statistic of its scores at a public or drawn rank.

What depends on the scores is the scores themselves, in any order, or one of their order statistics;
whatever else is made of them stops the reading. Ranks are found by running NumPy's own function on
zeros and ones, where it shows which of the sorted entries it takes.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import ast
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.proving import gathering
from dpcp_audit.proving import known_calls as calls
from dpcp_audit.proving.distances import (
    BoundMethod,
    Hidden,
    Records,
    Value,
    is_known,
    is_whole,
)
from dpcp_audit.proving.draw_outcomes import (
    ENUMERATED,
    Chances,
    DrawReader,
    RealDraw,
    moved,
    real,
    rounded,
)
from dpcp_audit.proving.exact_numbers import ExponentialQuotient, is_scalar, plain
from dpcp_audit.proving.local_values import ARGUMENTS
from dpcp_audit.proving.sources import is_function

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.proving.paths import Choices

_DISCRETE = "take one of the scores: method='higher'"
_LONGEST = 1_000_000
"""Records up to which NumPy is asked for a rank."""


@dataclass(frozen=True, slots=True)
class OrderStatistic(Hidden):
    """A number between two order statistics of n exchangeable scores.

    Parameters
    ----------
    n : int
        The number of scores.
    low, high : int
        The ranks, from 1 on; n + 1 is that of any number from the low one on.
    weight : Fraction
        The number is the low one's value plus this share of the distance to the high one's.
    """

    called = "an order statistic of the scores"

    n: int
    low: int
    high: int
    weight: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Padded(Hidden):
    """Scores, and infinite ones that are added; in the order of these ranks if they are known."""

    called = "scores in some order"

    records: Records
    more: int = 1
    ranks: range | None = None


@dataclass(frozen=True, slots=True)
class Places(Hidden):
    """The places, or place, of the scores of these ranks in an array, as ``np.argsort`` gives."""

    called = "the places of scores"

    records: Records
    ranks: range | int


@dataclass(frozen=True, slots=True)
class Partitioned(Hidden):
    """The result of ``np.partition``: at these places the entries are as if sorted."""

    called = "partitioned scores"

    data: Records | Padded
    places: tuple[int, ...]


_OF_SCORES = (Records, Padded, Partitioned, Places)
_LARGEST = Fraction(2) ** 1023
"""Bounds of scores beyond which their differences may be infinite."""


class CoverageReader(DrawReader):
    """Reads a function along one path; what it draws is a known number there.

    Parameters
    ----------
    n : int
        The number of scores.
    bounds : tuple of Fraction
        Between which each score lies.
    choices : Choices
        The outcomes that draws have on the path.
    """

    rarest = 0.0
    """Here the numbers are real numbers."""

    def __init__(self, n: int, bounds: tuple[Fraction, Fraction], choices: Choices) -> None:
        super().__init__(n, choices)
        self.bounds, self.rounded = bounds, set[int]()
        self.sliced, self.sorted_in_place = False, False

    # ------------------------------------------------------------------ operators

    def operate(self, name: str, a: Value, b: Value) -> Value:
        """Return the result of an operator; noise may be added to a known rank."""
        if isinstance(a, RealDraw) or isinstance(b, RealDraw):
            found = moved(name, a, b)
            if found is None:
                raise self.refuse("only +, - and * of noise and a known number are followed")
            return found
        return super().operate(name, a, b)

    def decided(self, name: str, a: Value, b: Value) -> Value | None:
        """Return the answer whether a uniform draw is below a known number on this path."""
        return self.settled(super().decided(name, a, b))

    # ------------------------------------------------------------------ entries and calls

    def entry_of(self, value: Value, node: ast.expr) -> Value:
        """Return an entry of a value: one of the sorted scores, at a known place."""
        if not isinstance(value, _OF_SCORES):
            return super().entry_of(value, node)
        index = self.read(node)
        if isinstance(index, Places) and isinstance(value, Records):
            return self._at_places(value, index)
        index = self.as_index(index)
        ranks = self.ranks_of(value)
        if ranks is not None and isinstance(index, slice) and is_known(index):
            return self.of_ranks(value, ranks[plain(index)])
        if not (is_known(index) and is_whole(index)):
            if isinstance(value, Records) and not self.sorted_in_place:
                self.sliced = True
                return gathering.element(self, value, index)
            raise self.refuse("several scores are taken out")
        return self._entry(value, int(plain(index)))

    def ranks_of(self, value: Value) -> range | None:
        """Return the ranks of the entries of scores in order; None of others."""
        if isinstance(value, Records):
            return range(1, self.size_of(value) + 1) if value.ordered else None
        ranks = value.ranks if isinstance(value, Padded | Places) else None
        return ranks if isinstance(ranks, range) else None

    def of_ranks(self, value: Value, ranks: range) -> Value:
        """Return the scores, or their places, in the order of these ranks."""
        if isinstance(value, Records):
            return Padded(value, 0, ranks)
        return replace(value, ranks=ranks)

    def _at_places(self, records: Records, places: Places) -> Value:
        """Return the scores at their places by rank, which must be those in the same array."""
        same = (records.order, records.where) == (places.records.order, places.records.where)
        if not same or self.sorted_in_place:
            raise self.refuse("the places of scores in another array")
        if isinstance(places.ranks, range):
            return Padded(records, 0, places.ranks)
        return self.ranked(records, places.ranks, places.ranks, Fraction(0))

    def _entry(self, value: Value, index: int) -> Value:
        """Return one of the sorted scores, or its place."""
        data: Any = value.data if isinstance(value, Partitioned) else value
        ranks = self.ranks_of(data)
        if isinstance(data, Places) and ranks is None:
            raise self.refuse("an entry of one place")
        size = self.size_of(data) if ranks is None else len(ranks)
        if not -size <= index < size:
            raise self.refuse("raises IndexError")
        place = index % size
        if isinstance(value, Partitioned) and place in value.places:
            return self.ranked(data, place + 1, place + 1, Fraction(0))
        if ranks is None or isinstance(value, Partitioned):
            raise self.refuse("a score is taken out of scores that are not sorted")
        if isinstance(data, Places):
            return replace(data, ranks=ranks[place])
        return self.ranked(data, ranks[place], ranks[place], Fraction(0))

    def _do_Expr(self, node: ast.Expr) -> None:
        """Sort scores in place under their name; other names of the array are not told apart."""
        match node.value:
            case ast.Call(ast.Attribute(ast.Name() as name, "sort"), [], keywords):
                value = self.read(name)
            case _:
                return super()._do_Expr(node)
        if not isinstance(value, Records) or value.single or self.each_record:
            return super()._do_Expr(node)
        if self.sliced or self.sorted_in_place or value.ordered:
            raise self.refuse("scores are sorted in place, which may have another name")
        kw = {str(each.arg): self.read(each.value) for each in keywords}
        if kw and not value.listed:
            raise self.refuse("scores are sorted with arguments that are not followed")
        found = self.call(sorted if value.listed else np.sort, [value], kw)
        self.sorted_in_place = True
        self.assign(name.id, found)
        return None

    def size_of(self, data: Records | Padded | Places) -> int:
        """Return the number of scores, all of which must be the records themselves."""
        records = data if isinstance(data, Records) else data.records
        if not records.itself or records.single or records.chosen or self.n is None:
            raise self.refuse(
                "the threshold is taken from values that are not the scores themselves"
            )
        size = self.n if records.count is None else records.count
        size += data.more if isinstance(data, Padded) else 0
        if isinstance(data, Padded) and data.ranks is not None and len(data.ranks) != size:
            raise self.refuse("a part of the sorted scores, of which one entry alone is followed")
        return size

    def ranked(
        self, data: Records | Padded | Places, low: int, high: int, weight: Fraction
    ) -> Value:
        """Return the order statistics at, or between, two ranks; infinity beyond the scores."""
        n = self.size_of(data if isinstance(data, Records) else data.records)
        if low > n:
            return math.inf
        if high > n:
            raise self.refuse("a threshold is interpolated between a score and infinity")
        self.note(f"rank {low} of {n}" if low == high else f"between ranks {low} and {high} of {n}")
        return OrderStatistic(n, low, high, weight)

    def call(self, function: Value, args: list[Value], kw: dict[str, Value]) -> Value:
        """Return the result of a call."""
        if isinstance(function, BoundMethod):
            if isinstance(function.owner, (*_OF_SCORES, OrderStatistic)):
                named = _METHODS.get(function.name)
                if named is not None:
                    return self.call(named, [function.owner, *args], kw)
        else:
            rule = calls.rule_of(function) if is_function(function) else None
            named = _CALLS.get("" if rule is None else rule.name)
            found = NotImplemented if named is None else named(self, args, kw)
            if found is not NotImplemented:
                return found
        return super().call(function, args, kw)

    def draw(self, name: str, args: list[Value], kw: dict[str, Value]) -> Value:
        """Return the outcome of a draw on this path; noise becomes one where it is rounded."""
        if self.each_record or self.choices.drawn >= _MOST_DRAWN:
            raise self.refuse("so many draws that their outcomes are not enumerated")
        names = _PARAMETERS.get(name, ARGUMENTS.get(name))
        if names is None:
            raise self.refuse(f"a draw by {name}, whose outcomes are not enumerated")
        given = dict(zip(names, args, strict=False)) | kw
        if given.get("size") is not None or len(args) > len(names):
            raise self.refuse("several draws at once")
        if name not in _PARAMETERS:
            return self.settled(super().draw(name, args, kw))
        if given.keys() - set(names) or not all(map(is_known, given.values())):
            raise self.refuse(f"a draw by {name}, whose outcomes are not enumerated")
        if name in ENUMERATED and given.keys() != set(names):
            raise self.refuse(f"a parameter of a draw by {name} is not given")
        if name in ENUMERATED:
            return self._one_of(ENUMERATED[name](self, given))
        return real(self, name.removeprefix("standard_"), given)

    def _one_of(self, chances: Chances) -> int:
        """Return the number that a draw is on this path, of numbers with their chances at least."""
        found = [(number, chance) for number, chance in chances if chance]
        number, chance = found[self.choices.choose(len(found))]
        self.chance = self.chance * ExponentialQuotient.of(chance)
        return number

    def whole(self, draw: RealDraw, how: str) -> int:
        """Return the whole number that noise is rounded to on this path."""
        if draw.token in self.rounded:
            raise self.refuse("one draw is rounded twice", "round it once, and keep the result")
        self.rounded.add(draw.token)
        return self._one_of(rounded(self, draw, how))


_METHODS: dict[str, Any] = {"min": np.min, "max": np.max, "item": float, "tolist": list}
_MOST_DRAWN = 50
"""Draws on one path."""
_PARAMETERS = {
    "standard_normal": (),
    "normal": ("loc", "scale"),
    "laplace": ("loc", "scale"),
    "geometric": ("p",),
    "binomial": ("n", "p"),
}
"""The laws of noise and of whole numbers, of one draw."""


def _quantile(of: Callable[..., Any]) -> Any:
    """Return the rule of NumPy's quantile or percentile."""

    def rule(reader: CoverageReader, args: list[Value], kw: dict[str, Value]) -> Value:
        given = dict(zip(("a", "q"), args, strict=False)) | kw
        data = given.pop("a", None)
        if not isinstance(data, Records | Padded):
            return NotImplemented
        if len(args) > 2 or given.keys() - {"q", "method"} or not _are_numbers(given):
            raise reader.refuse("a quantile with arguments that are not followed")
        settings = {name: plain(value) for name, value in given.items()}
        return _ranked_by(reader, data, lambda array: of(array, **settings))

    return rule


def _are_numbers(given: dict[str, Value]) -> bool:
    q, method = given.get("q"), given.get("method", "linear")
    return is_known(q) and is_scalar(q) and not isinstance(q, bool) and type(method) is str


def _reducing(of: Callable[..., Any]) -> Any:
    """Return the rule of a median, a smallest or a largest."""

    def rule(reader: CoverageReader, args: list[Value], kw: dict[str, Value]) -> Value:
        if len(args) != 1 or kw or not isinstance(args[0], Records | Padded):
            return NotImplemented
        return _ranked_by(reader, args[0], of)

    return rule


def _ranked_by(reader: CoverageReader, data: Records | Padded, of: Callable[[Any], Any]) -> Value:
    """Return the order statistic that a function of NumPy takes, by its values on 0s and 1s."""
    size = reader.size_of(data)
    if size > _LONGEST:
        raise reader.refuse("so many scores that the rank is not found")

    def share_beyond(rank: int) -> float:
        """Return the weight of the entries beyond a rank in the result: 1, a share, or 0."""
        array = np.ones(size)
        array[:rank] = 0.0
        return float(of(array))

    try:
        low = _last(lambda rank: share_beyond(rank) == 1, size) + 1
        high = _last(lambda rank: share_beyond(rank) > 0, size) + 1
        weight = Fraction(share_beyond(low)) if high > low else Fraction(0)
    except Exception as error:
        raise reader.refuse(f"raises {type(error).__name__}: {error}") from None
    if not low <= high <= low + 1:
        raise reader.refuse("a quantile that is not between two neighbouring scores")
    if isinstance(data, Padded) and not _keeps_infinity(of, size, data.more, low):
        raise reader.refuse("a quantile next to an infinite score is NaN or infinite", _DISCRETE)
    return reader.ranked(data, low, high, weight)


def _keeps_infinity(of: Callable[[Any], Any], size: int, more: int, rank: int) -> bool:
    """Return True if a function takes this rank where the last entries are infinite, too.

    Between infinite entries, or at a share 0 of the way to one, NumPy interpolates to NaN.
    """
    array = np.zeros(size)
    array[size - more :] = math.inf
    with np.errstate(all="ignore"):
        return float(of(array)) == (math.inf if rank > size - more else 0.0)


def _last(holds: Callable[[int], bool], size: int) -> int:
    """Return the largest of 0, 1, ..., size - 1 for which a falling condition holds; 0 holds."""
    low, high = 0, size
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _partition(reader: CoverageReader, args: list[Value], kw: dict[str, Value]) -> Value:
    given = dict(zip(("a", "kth"), args, strict=False)) | kw
    data, kth = given.get("a"), reader.gathered(given.get("kth"))
    if not isinstance(data, Records | Padded) or given.keys() != {"a", "kth"} or len(args) > 2:
        return NotImplemented
    size = reader.size_of(data)
    if not is_known(kth):
        raise reader.refuse("a partition at places that are not known")
    places = [int(each) for each in np.atleast_1d(plain(kth))]
    if not all(-size <= each < size for each in places):
        raise reader.refuse("raises ValueError: a place beyond the scores")
    return Partitioned(data, tuple(each % size for each in places))


def _padded(reader: CoverageReader, args: list[Value], kw: dict[str, Value]) -> Value:
    """``np.append(scores, np.inf)`` and ``np.concatenate([scores, [np.inf]])``."""
    items = args if len(args) == 2 else (reader.entries_or_none(args[0]) or ()) if args else ()
    if kw or len(items) != 2 or not isinstance(items[0], Records):
        return NotImplemented
    ranks = reader.ranks_of(items[0])
    rest = reader.gathered(items[1])
    if not is_known(rest) or not np.all(np.atleast_1d(plain(rest)) == math.inf):
        return NotImplemented
    more = int(np.size(plain(rest)))
    return Padded(items[0], more, ranks and range(1, ranks.stop + more)) if more else NotImplemented


def _sorted(reader: CoverageReader, args: list[Value], kw: dict[str, Value]) -> Value:
    """``np.sort``, and ``sorted`` in either direction."""
    reverse = kw.get("reverse", False)
    if len(args) != 1 or kw.keys() - {"reverse"} or not isinstance(args[0], Records | Padded):
        return NotImplemented
    if type(reverse) is not bool or (isinstance(args[0], Padded) and args[0].ranks is not None):
        raise reader.refuse("scores are sorted in a way that is not followed")
    if isinstance(args[0], Records) and not reverse:
        return NotImplemented
    ranks = range(1, reader.size_of(args[0]) + 1)[:: -1 if reverse else 1]
    return reader.of_ranks(args[0], ranks)


def _flipped(reader: CoverageReader, args: list[Value], kw: dict[str, Value]) -> Value:
    """``np.flip`` of scores in order."""
    ranks = reader.ranks_of(args[0]) if len(args) == 1 and not kw else None
    return NotImplemented if ranks is None else reader.of_ranks(args[0], ranks[::-1])


def _places(reader: CoverageReader, args: list[Value], kw: dict[str, Value]) -> Value:
    """``np.argsort``, of arrays: of a list, it gives places that a list does not take."""
    plainly = len(args) == 1 and not kw and isinstance(args[0], Records) and not args[0].listed
    return Places(args[0], range(1, reader.size_of(args[0]) + 1)) if plainly else NotImplemented


def _length(reader: CoverageReader, args: list[Value], kw: dict[str, Value]) -> Value:
    if len(args) != 1 or kw or not isinstance(args[0], Padded):
        return NotImplemented
    return reader.size_of(args[0]) if args[0].ranks is None else len(args[0].ranks)


def _rounding(how: str, gives: Callable[[int], Any] = int) -> Any:
    """Return the rule of a function that rounds noise to a whole number."""

    def rule(reader: CoverageReader, args: list[Value], kw: dict[str, Value]) -> Value:
        if len(args) != 1 or kw or not isinstance(args[0], RealDraw):
            return NotImplemented
        if reader.each_record:
            raise reader.refuse("noise of its own for each record")
        return gives(reader.whole(args[0], how))

    return rule


def _itself(reader: CoverageReader, args: list[Value], kw: dict[str, Value]) -> Value:
    plainly = len(args) == 1 and not kw
    return args[0] if plainly and isinstance(args[0], OrderStatistic) else NotImplemented


def _clamped(names: tuple[str, ...], lower: int | None, upper: int | None) -> Any:
    """Return the rule of a function that keeps a threshold between numbers.

    ``lower`` and ``upper`` are the places of the arguments that are its smallest and largest value.
    """

    def rule(reader: CoverageReader, args: list[Value], kw: dict[str, Value]) -> Value:
        given = dict(zip(names, args, strict=False)) | kw
        values = [given.get(name) for name in names]
        ranked = [each for each in values if isinstance(each, OrderStatistic)]
        named = kw and len(names) == 2  # which raises TypeError
        if not ranked or given.keys() - set(names) or len(args) > len(names) or named:
            return NotImplemented
        if len(values) == 2 and isinstance(values[1], OrderStatistic):
            values.reverse()
        least = None if lower is None else values[lower]
        most = None if upper is None else values[upper]
        low, high = map(_as_double, reader.bounds)
        below, above = _end(least, -math.inf), _end(most, math.inf)
        if len(ranked) > 1 or below is None or above is None or above < high:
            raise reader.refuse("a threshold is cut off within the range of the scores")
        raised = replace(ranked[0], high=ranked[0].n + 1, weight=Fraction(0))
        return ranked[0] if below <= low else raised

    return rule


def _as_double(bound: Fraction) -> float:
    """Return a bound as scores are compared with it; one beyond all doubles is infinite."""
    return math.copysign(math.inf, bound) if abs(bound) > _LARGEST else float(bound)


def _end(value: Value, otherwise: float) -> float | None:
    if value is None:
        return otherwise
    number = is_known(value) and is_scalar(value) and not math.isnan(value)
    return float(plain(value)) if number else None


_CALLS: dict[str, Callable[[CoverageReader, list[Value], dict[str, Value]], Value]] = {
    "np.quantile": _quantile(np.quantile),
    "np.percentile": _quantile(np.percentile),
    "np.median": _reducing(np.median),
    "np.min": _reducing(np.min),
    "np.max": _reducing(np.max),
    "np.partition": _partition,
    "np.append": _padded,
    "np.concatenate": _padded,
    "np.sort": lambda reader, args, kw: NotImplemented if kw else _sorted(reader, args, kw),
    "sorted": _sorted,
    "np.flip": _flipped,
    "np.argsort": _places,
    "len": _length,
    "round": _rounding("round"),
    "int": _rounding("int"),
    "math.floor": _rounding("floor"),
    "math.ceil": _rounding("ceil"),
    "np.floor": _rounding("floor", np.float64),
    "np.ceil": _rounding("ceil", np.float64),
    "np.rint": _rounding("round", np.float64),
    "float": _itself,
    "np.float64": _itself,
    "min": _clamped(("a", "b"), None, 1),
    "max": _clamped(("a", "b"), 1, None),
    "np.minimum": _clamped(("a", "b"), None, 1),
    "np.maximum": _clamped(("a", "b"), 1, None),
    "np.clip": _clamped(("a", "a_min", "a_max"), 1, 2),
}
"""The functions that have rules of their own here."""
