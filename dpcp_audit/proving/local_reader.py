"""Reads a function of one user's value along one path, for its law under local privacy.

The value is a known number, or a record's number between two ends, of which comparisons alone can
be made: they divide the path, as a condition on a draw does. Draws are kept as tables of their
outcomes as long as no condition needs them (``finite_laws``). A public random number of many
values, such as the seed of a hash function, may be shown; what a value is hashed to, modulo a known
number, may be any number below it. Of two values the law is compared at the same seeds.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

import ast
import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.proving import (
    arithmetic,
    comparisons,
    gathering,
    local_draws,
    local_values,
    noise_rules,
)
from dpcp_audit.proving import known_calls as calls
from dpcp_audit.proving.distances import (
    BoundMethod,
    Distribution,
    Generator,
    Reference,
    Value,
    is_known,
)
from dpcp_audit.proving.draw_outcomes import Choices, UniformDraw
from dpcp_audit.proving.entry_types import NUMPY, PYTHON
from dpcp_audit.proving.exact_numbers import as_numpy as numpy_number
from dpcp_audit.proving.exact_numbers import exact_of, form_of, is_scalar, plain
from dpcp_audit.proving.exponential_quotients import ExponentialQuotient
from dpcp_audit.proving.expressions import NO_DOUBLE
from dpcp_audit.proving.local_values import (
    Cut,
    Hashed,
    RecordNumber,
    Seed,
    computable,
    is_number,
    items_of,
    possible,
    typed,
)
from dpcp_audit.proving.path_laws import ONE, Axis, Drawn, Entries, PathLaw, axes_of, tabled
from dpcp_audit.proving.path_reader import PathReader
from dpcp_audit.proving.sources import is_function, is_plain
from dpcp_audit.proving.statistics import tokens
from dpcp_audit.proving.table import GLOBAL_DRAWS

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from dpcp_audit.proving.paths import Contents

ZERO = ExponentialQuotient.of(0)
_NO_CUT: Cut = (Fraction(0), 0)
_RAREST = 2.0**-32
"""Chance below which a uniform double, a multiple of 2⁻⁵³, is not as good as a real number."""
_MOST_PARTS = 64
"""Whole numbers that a record's number is rounded to."""
_BELOW = {"Lt": (True, 0), "LtE": (True, 1), "Gt": (False, 1), "GtE": (False, 0)}
_NUMPYS: dict[Any, Any] = {
    int: np.int64, "int": np.int64, np.int64: np.int64, float: np.float64, "float": np.float64,
    np.float64: np.float64, bool: np.bool_, np.bool_: np.bool_,
}  # fmt: skip


class LocalReader(PathReader):
    """Reads a function of one value along one path.

    Parameters
    ----------
    choices : Choices
        The ways that are taken where the path divides.
    cell : pair of Cut
        The ends of a record's number; on the path they move together.
    """

    def __init__(self, choices: Choices, cell: tuple[Cut, Cut] = (_NO_CUT, _NO_CUT)) -> None:
        super().__init__(None)
        self.choices, self.cell, self.chance = choices, cell, ONE
        self.for_some = True  # NumPy's warnings are seen, and depend on the value
        self.fixed: dict[int, int] = {}
        self.residues: tuple[int, ...] = ()
        self.levels: dict[int, tuple[ExponentialQuotient, ExponentialQuotient]] = {}
        self._tabled: set[int] = set()
        self._seeds = 0
        self.appended: dict[int, tuple[Value, ...]] = {}
        self.looked_at: set[int] = set()

    # ------------------------------------------------------------------ the output

    def law_of(self, output: Value) -> PathLaw:
        """Return the law of an output on this path."""
        parts: list[Drawn] = []
        frame = self._shown(output, parts)
        return PathLaw.of(self.chance, frame, parts, self.fixed, typed)

    def _shown(self, value: Value, parts: list[Drawn]) -> Hashable:
        """Return an output's form: what is known of it, and places for what is drawn."""
        if isinstance(value, Drawn):
            parts.append(value)
            return "drawn", len(parts) - 1
        if isinstance(value, Seed):
            return "seed", value.place, value.low, value.size, value.of_numpy
        if isinstance(value, Reference):
            cells = self.cells(value)
            if cells.kind == "object":
                raise self.refuse("an object is returned")
            inner = [self._shown(each, parts) for each in cells.items]
            return cells.kind, str(cells.of), tuple(map(typed, cells.keys)), tuple(inner)
        if isinstance(value, Entries) or (type(value) is tuple and not is_known(value)):
            items = value.items if isinstance(value, Entries) else value
            return type(value).__name__, *(self._shown(each, parts) for each in items)
        if not is_known(value) or not self._is_plain(value):
            raise self.refuse(
                f"what is returned is {arithmetic.kind(value)}, no value that is known"
            )
        return typed(value)

    def _is_plain(self, value: Value) -> bool:
        if type(value) in {tuple, list}:
            return all(map(self._is_plain, value))
        return isinstance(value, np.ndarray) or is_plain(plain(value))

    # ------------------------------------------------------------------ where paths divide

    def truth(self, value: Value) -> bool:
        """Return whether a condition holds on this path."""
        return super().truth(self._settled(value))

    def _settled(self, value: Value) -> Value:
        """Return a drawn value as the number that it is on this path."""
        if not isinstance(value, Drawn):
            return value
        for axis in value.axes:
            if axis.token not in self.fixed:
                possible = [i for i, chance in enumerate(axis.chances) if chance.top]
                self.fixed[axis.token] = possible[self.choices.choose(len(possible))]
                self.chance = self.chance * axis.chances[self.fixed[axis.token]]
        return value.at(self.fixed)

    def _lies_below(self, cut: Cut) -> bool:
        """Return whether the record's number is below a cut on this path."""
        low, high = self.cell
        if cut <= low or cut >= high:
            return cut >= high
        below = self.choices.choose(2) == 0
        self.cell = (low, cut) if below else (cut, high)
        return below

    def _record_compared(self, name: str, a: Value, b: Value) -> Value:
        first = isinstance(a, RecordNumber)
        record, other = (a, b) if first else (b, a)
        exact = exact_of(other) if is_known(other) and is_scalar(other) else None
        if name not in _BELOW or exact is None or exact.rational is None:
            raise self.refuse("a record is compared with what is no known number")
        less, after = _BELOW[name]
        less = less is first
        after = after if first else 1 - after
        place = (exact.rational - record.offset) / record.factor
        if record.factor < 0:
            less = not less
            after = 1 - after
        if record.entry_type not in {NUMPY, PYTHON}:
            raise self.refuse("a record is of NumPy's type or of Python's", "use float(...)")
        answer = self._lies_below((place, after)) is less
        of_numpy = record.entry_type == NUMPY or isinstance(plain(other), np.generic)
        return np.bool_(answer) if of_numpy else answer

    def _whole_part(self, record: RecordNumber, *, may_be_negative: bool) -> int:
        """Return the largest whole number at or below a record's number, on this path."""
        ends = sorted(each[0] * record.factor + record.offset for each in self.cell)
        low, high = math.floor(ends[0]), math.floor(ends[1])
        if high - low > _MOST_PARTS or (low < 0 and not may_be_negative):
            raise self.refuse("a record is rounded to many whole numbers, or may be below 0")
        for whole in range(low, high):
            if not self._record_compared("GtE", record, whole + 1):
                return whole
        return high

    # ------------------------------------------------------------------ operators

    def decided(self, name: str, a: Value, b: Value) -> Value | None:
        """Return a comparison of what is drawn, or of a record; None of any other."""
        if isinstance(a, Entries) or isinstance(b, Entries):
            return self.each(lambda x, y: comparisons.compare(self, name, x, y), a, b)
        if isinstance(a, RecordNumber) or isinstance(b, RecordNumber):
            return self._record_compared(name, a, b)
        for draw, level, first in ((a, b, True), (b, a, False)):
            if isinstance(draw, UniformDraw) and name in _BELOW:
                return self.uniform_compared(draw, level, less=_BELOW[name][0] is first)
        if computable(a, b):
            return self.combined(lambda x, y: comparisons.known_compare(self, name, x, y), a, b)
        return None

    def combined(self, of: Callable[..., Value], *values: Value) -> Value:
        """Return a function of drawn and known values, as a table."""
        if all(each.token in self.fixed for each in axes_of(values)):
            return of(*map(self._settled, values))
        found = tabled(of, *values)
        if not all(map(is_known, found.values)):
            raise self.refuse("a draw decides between values that are not known")
        return found

    def seed(self, low: int, size: int, *, of_numpy: bool) -> Seed:
        """Return a further public random number."""
        self._seeds += 1
        return Seed(self._seeds, low, size, of_numpy)

    def uniform_compared(self, draw: UniformDraw, level: Value, *, less: bool) -> Value:
        """Return whether a uniform draw is below a level: as a table where it has no name."""
        named = draw.token in self.levels or any(x is draw for x in self.path.bindings())
        if draw.token in self._tabled:
            raise self.refuse("one uniform draw of an array is compared twice")
        level = self._settled(level) if named else level
        values = level.values if isinstance(level, Drawn) else (level,)
        levels = [self._level(each) for each in values]
        of_numpy = {isinstance(plain(each), np.generic) for each in values}
        if len(of_numpy) > 1:
            raise self.refuse("a draw is compared with numbers of NumPy's type and of Python's")
        made: Any = np.bool_ if True in of_numpy else bool
        if named:
            return made(self._is_below(draw, levels[0]) is less)
        self._tabled.add(draw.token)
        steps = [ZERO]
        for each in sorted(levels):
            steps += [each] if (each - steps[-1]).sign else []
        shares = [b - a for a, b in zip(steps, [*steps[1:], ONE], strict=True)]
        self.check_chances(shares)
        axis = Axis(next(tokens), tuple(shares))
        places = [sum((step < each) for step in steps) for each in levels]
        parts = Drawn((axis,), tuple(range(len(shares))))
        if not isinstance(level, Drawn):
            return tabled(lambda part: made((part < places[0]) is less), parts)
        counts = Drawn(level.axes, tuple(places))
        return tabled(lambda part, place: made((part < place) is less), parts, counts)

    def _level(self, level: Value) -> ExponentialQuotient:
        """Return the chance that a uniform draw is below a known number."""
        form = form_of(level) if is_known(level) and is_scalar(level) else None
        if form is None:
            raise self.refuse("a draw is compared with what is no known number")
        return ZERO if form.sign <= 0 else ONE if not form < ONE else form

    def _is_below(self, draw: UniformDraw, level: ExponentialQuotient) -> bool:
        """Return whether a uniform draw is below a level on this path."""
        low, high = self.levels.setdefault(draw.token, (ZERO, ONE))
        if not low < level or not level < high:
            return low < level
        shares = [(level - low) / (high - low), (high - level) / (high - low)]
        self.check_chances(shares)
        below = self.choices.choose(2) == 0
        self.chance = self.chance * shares[not below]
        self.levels[draw.token] = (low, level) if below else (level, high)
        return below

    def check_chances(self, shares: list[ExponentialQuotient]) -> None:
        """Refuse chances that are too small for doubles."""
        if any(each.top and float(each) < _RAREST for each in shares):
            raise self.refuse("a chance so small that doubles do not show it")

    def operate(self, name: str, a: Value, b: Value) -> Value:
        """Return the result of an operator."""
        if isinstance(a, Entries) or isinstance(b, Entries):
            a, b = self.gathered(a), self.gathered(b)
            return self.each(lambda x, y: self.operate(name, x, y), a, b)
        if isinstance(a, RecordNumber) or isinstance(b, RecordNumber):
            return local_values.record_moved(self._reader, name, a, b)
        if isinstance(a, Seed | Hashed) or isinstance(b, Seed | Hashed):
            return local_values.hashed(self._reader, name, a, b)
        if computable(a, b):
            return self.combined(lambda x, y: arithmetic.known_binary(self, name, x, y), a, b)
        return super().operate(name, a, b)

    def each(self, of: Callable[[Value, Value], Value], a: Value, b: Value) -> Entries:
        """Return an operator of arrays, entry by entry."""
        rows = [items_of(each) for each in (a, b)]
        count = max(len(row) for row in rows if row is not None)
        columns = [
            (self.as_numpy(each),) * count if row is None else row
            for row, each in zip(rows, (a, b), strict=True)
        ]
        if len(columns[0]) != len(columns[1]):
            raise self.refuse("arrays of different lengths")
        return self.entries_of(tuple(map(of, *columns)))

    def entries_of(self, items: tuple[Value, ...]) -> Entries:
        """Return an array of these entries, which must all be of one of NumPy's types."""
        kinds = {type(plain(x)) for each in items for x in possible(each)}
        if len(kinds) != 1 or not kinds <= {np.bool_, np.int64, np.float64}:
            raise self.refuse("an array whose entries are not known to be of one type")
        return Entries(items)

    def _check_in_place(self, old: Value, new: Value) -> None:
        if not isinstance(old, Drawn):
            super()._check_in_place(old, new)

    def gathered(self, value: Value) -> Value:
        """Return a list as an array, which may hold draws."""
        if isinstance(value, Reference | tuple) and not is_known(value):
            items = self.entries_or_none(value)
            if items is not None and any(isinstance(each, Drawn) for each in items):
                return self.entries_of(tuple(map(self.as_numpy, items)))
        return super().gathered(value)

    def as_numpy(self, value: Value) -> Value:
        """Return a number as an array holds it."""

        def of(known: Value) -> Value:
            if not is_number(known):
                raise self.refuse("an array of what are no numbers")
            return numpy_number(known)

        return self.combined(of, value) if isinstance(value, Drawn) else of(value)

    def _read_UnaryOp(self, node: ast.UnaryOp) -> Value:
        value = None if isinstance(node.op, ast.Not) else self.read(node.operand)
        if not isinstance(value, Drawn | Entries):
            return super()._read_UnaryOp(node)
        name = type(node.op).__name__

        def of(known: Value) -> Value:
            if name == "Invert" and isinstance(known, np.bool_):
                return np.logical_not(known)
            return arithmetic.known_binary(self, "Sub", 0, known) if name == "USub" else self._no()

        if isinstance(value, Entries):
            return self.entries_of(tuple(self.combined(of, each) for each in value.items))
        return self.combined(of, value)

    def _no(self) -> Value:
        raise self.refuse("an operator of a draw that is not followed")

    def _read_IfExp(self, node: ast.IfExp) -> Value:
        condition = self.read(node.test)
        arms = (node.body, node.orelse)
        plainly = not any(
            isinstance(each, ast.Call | ast.NamedExpr) for x in arms for each in ast.walk(x)
        )
        if isinstance(condition, Drawn) and plainly:
            yes, no = map(self.read, arms)
            if all(isinstance(each, Drawn) or is_number(each) for each in (yes, no)):
                return self.combined(lambda c, x, y: x if c else y, condition, yes, no)
        return self.read(arms[0] if self.truth(condition) else arms[1])

    # ------------------------------------------------------------------ entries and calls

    @staticmethod
    def _may_raise(node: ast.expr, value: Value) -> bool:  # noqa: ARG004
        """Tell whether an expression may be an error; a path that meets one is not read on."""
        if isinstance(value, BoundMethod):
            return not isinstance(value.owner, Generator | Distribution | Entries | Reference)
        return isinstance(value, int) and abs(value) > NO_DOUBLE

    def cells(self, reference: Reference) -> Contents:
        """Return what a reference refers to; a list of reports is not looked at."""
        self.looked_at.add(reference.address)
        return super().cells(reference)

    def _read_Attribute(self, node: ast.Attribute) -> Value:
        owner = self.read(node.value)
        if isinstance(owner, Reference) and owner.address in self.appended:
            return BoundMethod(owner, node.attr)
        return calls.attribute(self, owner, node.attr)

    def entries_or_none(self, value: Value) -> tuple[Value, ...] | None:
        """Return what a loop over a value goes through; None where it is not known."""
        return value.items if isinstance(value, Entries) else super().entries_or_none(value)

    def entry_of(self, value: Value, node: ast.expr) -> Value:
        """Return an entry of a value."""
        if not isinstance(value, Entries):
            index = None if isinstance(node, ast.Slice | ast.Tuple) else self.read(node)
            if index is None:
                return super().entry_of(value, node)

            def at(place: Value) -> Value:
                return gathering.element(self, value, self.public(place, "an index"))

            return self.combined(at, index) if isinstance(index, Drawn) else at(index)
        index = self.read_index(node)
        if type(plain(index)) not in {int, np.int64} or not 0 <= index < len(value.items):
            raise self.refuse("several entries of an array of draws are taken out")
        return value.items[int(index)]

    def call(self, function: Value, args: list[Value], kw: dict[str, Value]) -> Value:
        """Return the result of a call."""
        if isinstance(function, BoundMethod):
            return self._method(function, args, kw)
        if not is_function(function):
            return super().call(function, args, kw)
        if function in GLOBAL_DRAWS:
            noise_rules.refuse_seeds(self)
            return local_draws.draw(self._reader, GLOBAL_DRAWS[function][1], args, kw)
        if function is print:
            raise self.refuse("something is printed that depends on a value")
        if function is np.where and len(args) == 3 and not kw:
            return self._where(*(self.gathered(each) for each in args))
        found = self._of_one(function, args[0]) if len(args) == 1 and not kw else None
        if found is None and calls.rule_of(function) is not None and not kw:
            found = self._of_draws(function, args)
        return super().call(function, args, kw) if found is None else found

    def _method(self, bound: BoundMethod, args: list[Value], kw: dict[str, Value]) -> Value:
        owner, name = bound.owner, bound.name
        if isinstance(owner, Generator):
            return local_draws.draw(self._reader, name, args, kw)
        if isinstance(owner, Distribution):
            raise self.refuse("a draw whose outcomes are not enumerated")
        if isinstance(owner, Reference) and owner.address in self.appended:
            if name != "append" or len(args) != 1 or kw:
                raise self.refuse("a list from outside of a loop is used in another way")
            self.appended[owner.address] += (args[0],)
            return None
        if isinstance(owner, Entries):
            return self.of_entries(owner, name, args)
        return super().call(bound, args, kw)

    def _of_one(self, function: Value, value: Value) -> Value | None:
        """Return a conversion of a record, of a seed or of an array of draws."""
        if isinstance(value, RecordNumber) and function is float:
            return replace(value, entry_type=PYTHON)
        if isinstance(value, RecordNumber) and function in {int, math.floor}:
            return self._whole_part(value, may_be_negative=function is math.floor)
        if isinstance(value, Seed) and function is int:
            return replace(value, of_numpy=False)
        if function not in {np.array, np.asarray, list}:
            return None
        found = self.gathered(value)
        if not isinstance(found, Entries):
            return None
        return self.listed(found.items) if function is list else found

    def _of_draws(self, function: Value, args: list[Value]) -> Value | None:
        """Return a known function of draws, entry by entry where it is one of arrays."""

        def of(*values: Value) -> Value:
            return self.combined(lambda *known: self._plainly(function, list(known)), *values)

        if isinstance(function, np.ufunc) and any(isinstance(each, Entries) for each in args):
            if len(args) == 1:
                return self.entries_of(tuple(map(of, args[0].items)))
            return self.each(of, *args) if len(args) == 2 else None
        return of(*args) if computable(*args) else None

    def _plainly(self, function: Value, args: list[Value]) -> Value:
        found = calls.function(self, function, args, {})
        if not is_number(found):
            raise self.refuse("a function of a draw that is not followed")
        return found

    def of_entries(self, owner: Entries, name: str, args: list[Value]) -> Value:
        """Return the result of a method of an array of draws."""
        if name == "copy" and not args:
            return owner
        if name == "tolist" and not args:
            return self.listed(
                tuple(self.combined(lambda x: plain(x).item(), e) for e in owner.items)
            )
        if name == "astype" and len(args) == 1 and args[0] in _NUMPYS:
            made = _NUMPYS[args[0]]
            return self.entries_of(
                tuple(self.combined(lambda x: made(plain(x)), e) for e in owner.items)
            )
        raise self.refuse(f"the method {name} of an array of draws is not followed")

    def _where(self, condition: Value, x: Value, y: Value) -> Value:
        """``np.where`` of one dimension, whose two values are of one type."""
        drawn = any(isinstance(each, Entries) for each in (condition, x, y))
        forms = any(is_scalar(each) and form_of(each) is not None for each in (x, y))
        rows = [items_of(each) for each in (condition, x, y)]
        if not drawn and not (forms and rows[0] is not None):
            return calls.function(self, np.where, [condition, x, y], {})
        count = max(len(row) for row in rows if row is not None)
        columns = [
            row if row is not None else (self.as_numpy(each),) * count
            for row, each in zip(rows, (condition, x, y), strict=True)
        ]
        if len(set(map(len, columns))) > 1:
            raise self.refuse("arrays of different lengths")
        self.entries_of((*columns[1], *columns[2]))
        choose = lambda c, a, b: a if c else b  # noqa: E731
        return self.entries_of(
            tuple(self.combined(choose, *each) for each in zip(*columns, strict=True))
        )
