"""One path through the target: what it draws, what it is let to see, and how that is decided.

``SampledRun`` draws from a generator and sees what an untraced run would. Every run keeps, for each
draw, what the observations leave of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence  # noqa: TC003  (fields of a named tuple)
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from dpcp_audit.tracing import traced_arrays
from dpcp_audit.tracing.draws import (
    NORMAL,
    SEED,
    SLACK,
    JoinedBit,
    NeedsValuesError,
    NoiseDraw,
    NoiseVector,
    Observation,
    Ordering,
    Seen,
    UnfollowableError,
    target_line,
)
from dpcp_audit.tracing.traced_numbers import Terms, Traced, folded, values_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dpcp_audit.tracing.draws import Line, NoiseLaw
    from dpcp_audit.tracing.traced_numbers import Turn
    from dpcp_audit.words.validate import FloatArray

_UNSPLIT: Any = None
"""What stands for a draw of a vector."""
MOST_NUMBERS = 100_000
"""Draws of one run that are followed; a run that draws without end is ended by it."""


class RevealedDraw(NamedTuple):
    """A draw that is revealed as it is made.

    Parameters
    ----------
    name : str
        Name of the generator's method.
    sample : callable
        Draws it.
    log_mass : callable
        The log-probability of what was drawn.
    options : callable
        A function that returns all values that may be drawn.
    key : object
        Parameters of the draw, where its probability is not known; else None.
    """

    name: str
    sample: Callable[[], Any]
    log_mass: Callable[[Any], float]
    options: Callable[[], Sequence[Any]]
    key: Any = None


class Question(NamedTuple):
    """The observation that the program is about to make.

    Parameters
    ----------
    found : Observation
        The observation, without its result.
    plain : object
        The value that an untraced run sees.
    terms : dict
        The draws of the number that is observed, with their coefficients.
    how : Ordering or None
        The comparison of the number with 0, for a bit; else None.
    """

    found: Observation
    plain: Any
    terms: Terms
    how: Ordering | None = None


_CANCELLED = 1e-11
"""A coefficient that is left of a difference counts as 0 if it is smaller than that share."""


class _Reduced(NamedTuple):
    """A number ``offset + Σ coefficient·Z`` without the draws that known sums express by others.

    Parameters
    ----------
    offset : float
    terms : dict
        The draws that are left, with their coefficients.
    size : float
        The largest number that was added up: the offset is known to a few roundings of it.
    """

    offset: float
    terms: Terms
    size: float

    def less(self, row: _Row) -> _Reduced:
        """Return the number without the row's own draw."""
        coefficient = self.terms.get(row.draw)
        if coefficient is None:
            return self
        factor = coefficient / row.terms[row.draw]
        left = dict(self.terms)
        for draw, other in row.terms.items():
            before, taken = left.get(draw, 0.0), factor * other
            left[draw] = before - taken
            if abs(left[draw]) <= _CANCELLED * max(abs(before), abs(taken)):
                del left[draw]
        left.pop(row.draw, None)
        taken = factor * row.offset
        return _Reduced(self.offset - taken, left, max(self.size, abs(taken)))


class _Row(NamedTuple):
    """An equation ``offset + Σ coefficient·Z = 0``, and the draw that stands in no other row."""

    draw: NoiseDraw
    offset: float
    terms: Terms


class _KnownSums:
    """The equations of a path that hold of draws which are not known yet."""

    def __init__(self) -> None:
        self.rows: list[_Row] = []

    def __len__(self) -> int:
        return len(self.rows)

    def holds(self, draw: NoiseDraw) -> bool:
        """Return True if a draw stands in a sum that is known."""
        return any(draw in row.terms for row in self.rows)

    def reduced(self, offset: float, terms: Terms) -> _Reduced:
        """Return a number without the draws that the sums express by others."""
        found = _Reduced(offset, terms, abs(offset))
        for row in self.rows:
            found = found.less(row)
        return found

    def add(self, number: _Reduced) -> None:
        """Keep that a number, which the known sums do not settle, is 0."""
        terms = number.terms
        draw = max(terms, key=lambda each: abs(terms[each]))
        added = _Row(draw, number.offset, terms)
        rows = [added]
        for row in self.rows:
            left = _Reduced(row.offset, row.terms, 0.0).less(added)
            rows.append(_Row(row.draw, left.offset, left.terms))
        self.rows = [row for row in rows if len(row.terms) > 1]
        for row in rows:
            if len(row.terms) == 1:
                coefficient = row.terms[row.draw]
                row.draw.point = -row.offset / coefficient
                row.draw.log_unit = math.log(abs(coefficient))

    def as_bits(self) -> Iterator[JoinedBit]:
        """Yield the equations of the draws that are not known."""
        for row in self.rows:
            terms = tuple(row.terms.items())
            yield JoinedBit(offset=row.offset, terms=terms, how=Ordering.EQUAL)


class PathRun:
    """A path: its draws, and the observations of them in their order.

    Parameters
    ----------
    values : bool
        True if numbers with several draws are revealed one by one, where a comparison or a sum
        of them would do: an upper bound of what is seen.

    Attributes
    ----------
    live : bool
        True if a generator draws; a replay has NaN in place of every draw.
    seeded : dict
        The drawn seeds that a generator was made of, each with the state that the generator at
        hand had then; None where it had drawn more than seeds.
    own_stream : bool
        True if its draws are those of an untraced run with the same generator.
    by_arrays : bool
        True if many draws are made, and seen, at once.
    events : list of Observation
        What was observed, of arrays at once.
    sums_held : list of Traced
        Numbers of several draws that stand in arrays.
    closed : bool
        True if the run is over: what the target has kept of it is what an untraced run holds.
    unread : bool
        True if ``float`` and new arrays keep noise, and a draw of one of two numbers is a coin.
    """

    live: ClassVar[bool] = False
    by_arrays: ClassVar[bool] = False

    def __init__(self, *, values: bool = False) -> None:
        self.values = values
        self._draws: list[NoiseDraw] = []
        self._whole: list[NoiseVector] = []
        self.sums_held: list[Traced] = []
        self.joined: list[JoinedBit] = []
        self.sums = _KnownSums()
        self.events: list[Observation] = []
        self.outside: dict[str, Line] = {}
        self.silent: set[Line] = set()
        self.home: Line | None = None
        self.impossible = False
        self.seeds: set[int] = set()
        self.seeded: dict[int, Any] = {}
        self.own_stream = True
        self.tensors: dict[int, tuple[NoiseDraw, FloatArray | None]] = {}
        self.closed = self.unread = False
        self.halves: dict[NoiseDraw, tuple[NoiseDraw, NoiseDraw]] = {}
        self.turns: dict[NoiseDraw, Turn] = {}

    def decided(self, asked: Question) -> Any:
        """Return the result of an observation, and note it."""
        raise NotImplementedError

    def chosen(self, choice: RevealedDraw, line: Line) -> Any:
        """Return a draw that is revealed as it is made."""
        raise NotImplementedError

    def seeds_one(self, seed: int, source: np.random.Generator) -> None:
        """Note that a generator is made of a drawn seed: a second one would draw the same."""
        if seed in self.seeded:
            raise UnfollowableError("two generators are made of one drawn seed", target_line())
        alone = all(draw.name == SEED for draw in self.draws)
        self.seeded[seed] = source.bit_generator.state if alone else None

    def clock_read(self) -> None:
        """Note that the target reads a clock, which no path determines."""

    def returns_at(self, home: Line) -> None:
        """Note that the target has returned: what is read from now on is its output."""
        self.home = home

    def new_draw(
        self, law: NoiseLaw | None, name: str, line: Line, standard: float = math.nan
    ) -> NoiseDraw:
        """Add a draw, with its Z where that is known."""
        self._require_few(1, line)
        draw = NoiseDraw(index=len(self._draws), law=law, name=name, line=line, standard=standard)
        if not self.closed:
            self._draws.append(draw)
        return draw

    def new_draws(self, law: NoiseLaw, name: str, line: Line, standard: FloatArray) -> NoiseVector:
        """Add draws that are made at once, with their Z."""
        self._require_few(standard.size, line)
        made = NoiseVector(len(self._draws), law, name, line, standard)
        self._whole.append(made)
        self._draws += [_UNSPLIT] * standard.size
        return made

    def _require_few(self, count: int, line: Line) -> None:
        if len(self._draws) + count > MOST_NUMBERS and not self.closed:
            raise UnfollowableError(f"a run draws more than {MOST_NUMBERS} numbers", line)

    @property
    def draws(self) -> list[NoiseDraw]:
        """All draws, in their order, one by one."""
        for made in self._whole:
            self._draws[made.places] = made.split()
        self._whole.clear()
        return self._draws

    @property
    def groups(self) -> list[NoiseDraw | NoiseVector]:
        """All draws in their order, those of a vector as one."""
        return sorted((*self.singles, *self._whole), key=lambda each: each.places.start)

    @property
    def vectors(self) -> tuple[NoiseVector, ...]:
        """The draws that were made, and only seen, at once."""
        return tuple(self._whole)

    @property
    def singles(self) -> list[NoiseDraw]:
        """All other draws."""
        return (
            [each for each in self._draws if each is not _UNSPLIT] if self._whole else self._draws
        )

    @property
    def seen(self) -> list[Observation]:
        """All observations, of arrays one by one; asked for after the run."""
        if any(each.is_whole for each in self.events):
            self.events = [one for each in self.events for one in each.one_by_one()]
        return self.events

    @property
    def count(self) -> int:
        """The number of draws."""
        return len(self._draws)

    def _vector_of(self, draws: Any) -> NoiseVector | None:
        """Return the vector of different draws none of which is known; None where it is not one."""
        first, last = int(draws.min()), int(draws.max())
        for made in self._whole:
            if made.start <= first and last < made.start + made.standard.size:
                new = np.isnan(made.point[draws - made.start]).all()
                return made if new and np.unique(draws).size == draws.size else None
        return None

    def compare_all(self, cells: Any, how: Ordering, plain: Any) -> Any:
        """Observe comparisons of entries with 0; None where that is done one by one."""
        made = self._vector_of(cells["draw"])
        bits = None if made is None else self._asked(Seen.BIT, cells, plain, target_line())
        if made is not None and bits is not None:
            places = cells["draw"] - made.start
            made.narrow(places, how, bits, cells["offset"], cells["scale"])
        return bits

    def read_all(self, cells: Any) -> Any:
        """Observe the values of entries; None where that is done one by one."""
        made = self._vector_of(cells["draw"])
        line = self.home or target_line()
        values = None if made is None else self._asked(Seen.VALUE, cells, cells["value"], line)
        if made is not None and values is not None:
            places = cells["draw"] - made.start
            made.point[places] = (values - cells["offset"]) / cells["scale"]
            made.log_unit[places] = np.log(np.abs(cells["scale"]))
            made.pure[places] = cells["pure"]
        return values

    def _asked(self, kind: Seen, cells: Any, plain: Any, line: Line) -> Any:
        scales = np.abs(cells["scale"])
        found = self._asked_of(kind, cells["draw"], line, cells["offset"], scales)
        return self.decided_all(found, plain)

    def _asked_of(self, kind: Seen, draws: Any, line: Line, offset: Any, scale: Any) -> Observation:
        """Return an observation without its result."""
        return Observation(kind, None, draws, line, offset, scale, self.home is not None)

    def decided_all(self, found: Observation, plain: Any) -> Any:
        """Return the results of an observation of many draws; None where it is made one by one."""
        raise NotImplementedError

    def new_tensor(self, name: str) -> int:
        """Add a draw of many independent normal Z, and return its number."""
        draw = self.new_draw(NORMAL, name, target_line())
        self.tensors[draw.index] = draw, None
        return draw.index

    def read_tensor(
        self, index: int, values: FloatArray, loc: FloatArray, scale: FloatArray
    ) -> FloatArray:
        """Observe ``loc + scale·Z`` of a draw of many Z, once; later it is settled."""
        draw, known = self.tensors[index]
        if known is not None:
            return loc + scale * known
        line = self.home or target_line()
        size = float(np.abs(scale).max(initial=0.0))
        found = self._asked_of(Seen.VALUE, (index,), line, loc, size)
        result: FloatArray = self.decided(Question(found, values, {}))
        if not np.all(scale):
            raise UnfollowableError("noise of scale 0 is drawn in a tensor", line)
        z = (result - loc) / scale
        draw.revealed = float(np.sum(NORMAL.log_point(z) - np.log(np.abs(scale))))
        draw.pure = not np.any(loc)
        self.tensors[index] = draw, z
        return result

    def choose(self, choice: RevealedDraw) -> Any:
        """Reveal a draw as it is made, and keep its probability."""
        if self.closed:
            return choice.sample()
        line = target_line()
        result = self.chosen(choice, line)
        draw = self.new_draw(None, choice.name, line)
        draw.revealed = choice.log_mass(result)
        self.events.append(
            Observation(
                kind=Seen.CHOICE,
                result=result,
                draws=(draw.index,),
                line=line,
                key=(choice.name, choice.key),
            )
        )
        return result

    def read(self, number: Traced) -> Any:
        """Observe a number's value."""
        if self.closed:
            return number.value
        offset, terms = folded(number)
        line = self.home or target_line()
        left = self.sums.reduced(offset, terms)
        if not left.terms:
            return self._settled(number, left, line)
        if len(terms) > 1 and self.values:
            self._reveal_but_one(terms)
            return self.read(number)
        self._require_open([draw for draw in terms if not self.sums.holds(draw)], line)
        found = self._found(Seen.VALUE, offset, terms, line)
        value = self.decided(Question(found, number.value, terms))
        if len(terms) == 1:
            ((draw, coefficient),) = terms.items()
            draw.pure = number.pure or draw.is_counted_from_zero(offset / coefficient)
            if not self.sums.holds(draw):
                draw.point = (float(value) - offset) / coefficient
                draw.log_unit = math.log(abs(coefficient))
                return value
        self._add_up(left, float(value), line)
        return value

    def compare(  # noqa: PLR0911  (one return a case)
        self, left: Traced, how: Ordering, right: Any
    ) -> Any:
        """Observe a comparison."""
        if self.closed:
            return how.holds(left.value, value_in(right))
        if isinstance(right, Traced) or not math.isfinite(right):
            form: Any = left - right
            if not isinstance(form, Traced):
                return how.holds(form, 0)
            offset, terms = folded(form)
        else:
            offset, terms = folded(left)
            offset -= float(right)
        if not terms:
            return how.holds(left.read(), right.read() if isinstance(right, Traced) else right)
        if how in _EXACT and all(not draw.law.discrete for draw in terms if draw.law):
            return how is Ordering.NOT_EQUAL
        line = target_line()
        if len(terms) > 1 and self.values:
            if isinstance(right, Traced):
                return how.holds(left.read(), right.read())
            self._reveal_but_one(terms)
            return self.compare(left, how, right)
        self._require_open(terms, line)
        found = self._found(Seen.BIT, offset, terms, line)
        plain = how.holds(left.value, value_in(right))
        bit = bool(self.decided(Question(found, plain, terms, how)))
        self.constrain(offset, terms, how if bit else how.negated)
        return bit

    def extreme(self, numbers: Sequence[Any], *, largest: bool) -> int:
        """Observe which number is the largest, or the smallest; of equal ones the first."""
        line = target_line()
        forms = [each for each in numbers if isinstance(each, Traced)]
        if self.closed or self.values:
            found_values = [values_of(each) for each in numbers]
            return found_values.index(max(found_values) if largest else min(found_values))
        for form in forms:
            self._require_open(folded(form)[1], line)
        shadow = [value_in(each) for each in numbers]
        plain = shadow.index(max(shadow) if largest else min(shadow))
        draws = tuple(sorted({draw.index for form in forms for draw in form.terms}))
        found = Observation(kind=Seen.PEAK, result=plain, draws=draws, line=line)
        how = Ordering.GREATER if largest else Ordering.LESS
        place = self.peak(found, numbers, how)
        self.keep_peak(numbers, place, how)
        return place

    def peak(self, found: Observation, numbers: Sequence[Any], how: Ordering) -> int:
        """Return the index of the number that is seen to lie beyond all others."""
        del numbers, how
        return int(self.decided(Question(found, found.result, {})))

    def keep_peak(self, numbers: Sequence[Any], place: int, how: Ordering) -> None:
        """Keep that one number lies beyond all others, or level with later ones."""
        for index, other in enumerate(numbers):
            if index != place:
                self._above(numbers[place], other, how if index < place else _OR_EQUAL[how])

    def ufunc(self, ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: Any) -> Any:
        """Apply a ufunc of NumPy."""
        return traced_arrays.apply_ufunc(ufunc, method, inputs, kwargs)

    def array_function(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Apply a function of NumPy."""
        return traced_arrays.apply_function(function, args, kwargs)

    def _above(self, first: Any, other: Any, how: Ordering) -> None:
        """Keep that ``first`` lies above or below ``other``."""
        form: Any = first - other
        if isinstance(form, Traced):
            offset, terms = folded(form)
            if terms:
                self.constrain(offset, terms, how)
                return
            form = offset
        self.impossible |= not how.holds(form, 0.0) and abs(form) > SLACK

    def constrain(self, offset: float, terms: Terms, how: Ordering) -> None:
        """Keep what a comparison with 0 says of the draws."""
        if len(terms) > 1:
            self._join(offset, terms, how)
            return
        ((draw, coefficient),) = terms.items()
        draw.narrow(offset, coefficient, how)

    def _add_up(self, left: _Reduced, value: float, line: Line) -> None:
        """Keep what the value of a sum says of its draws."""
        kinds = {draw.law is None or draw.law.discrete for draw in left.terms}
        if len(kinds) == 1:
            self.sums.add(left._replace(offset=left.offset - value))
        elif any(self.sums.holds(draw) for draw in left.terms):
            raise NeedsValuesError("a sum of discrete and other draws is read twice", line)
        else:
            self._join(left.offset - value, left.terms, Ordering.EQUAL)
        for draw in left.terms:
            draw.joined = draw.settled = True

    def _join(self, offset: float, terms: Terms, how: Ordering) -> None:
        self.joined.append(JoinedBit(offset=offset, terms=tuple(terms.items()), how=how))
        for draw in terms:
            draw.joined = True

    def _found(self, kind: Seen, offset: float, terms: Terms, line: Line) -> Observation:
        draws = tuple(sorted(draw.index for draw in terms))
        scale = abs(next(iter(terms.values()))) if len(terms) == 1 else 0.0
        return self._asked_of(kind, draws, line, offset, scale)

    def _settled(self, number: Traced, left: _Reduced, line: Line) -> Any:
        found = self._asked_of(Seen.SETTLED, (), line, left.offset, left.size)
        return self.decided(Question(found, number.value, {}))

    def _reveal_but_one(self, terms: Terms) -> None:
        """Reveal all draws of a sum but the one of the largest scale."""
        kept = max(terms, key=lambda draw: abs(terms[draw]))
        for draw in terms:
            if draw is not kept:
                self.read(Traced(self, draw.standard, 0.0, {draw: 1.0}, pure=True))

    def _require_open(self, draws: Iterable[NoiseDraw], line: Line) -> None:
        for draw in draws:
            if draw.settled:
                raise NeedsValuesError("a draw is used again after a sum with it was read", line)


class SampledRun(PathRun):
    """A path with the draws of a generator, as an untraced run has them."""

    live = by_arrays = True

    def chosen(self, choice: RevealedDraw, line: Line) -> Any:
        """Return the generator's draw."""
        del line
        return choice.sample()

    def decided(self, asked: Question) -> Any:
        """Return the value that an untraced run sees."""
        self.events.append(asked.found.with_result(asked.plain))
        return asked.plain

    def decided_all(self, found: Observation, plain: Any) -> Any:
        """Return the values that an untraced run sees."""
        self.events.append(found.with_result(plain))
        return plain


def value_in(number: Any) -> Any:
    """Return the value that an untraced run holds in place of a number, without an observation."""
    return number.value if isinstance(number, Traced) else number


_OR_EQUAL = {Ordering.GREATER: Ordering.GREATER_EQUAL, Ordering.LESS: Ordering.LESS_EQUAL}
_EXACT = frozenset({Ordering.EQUAL, Ordering.NOT_EQUAL})
