"""Reads a function of one user's value along one path, for its law under local privacy.

The value is a known number, or a record's number between two ends, of which comparisons alone can
be made: they divide the path, as a condition on a draw does. Draws are kept as tables of their
outcomes as long as no condition needs them (``drawn_values``). A public random number of many
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

from dpcp_audit.proving import arithmetic, attributes, exact_numbers, gathering, order
from dpcp_audit.proving import known_calls as calls
from dpcp_audit.proving.distances import (
    NUMPY,
    PYTHON,
    BoundMethod,
    Distribution,
    Generator,
    Records,
    Reference,
    Value,
    is_known,
)
from dpcp_audit.proving.draw_outcomes import DrawReader
from dpcp_audit.proving.exact_numbers import (
    form_of,
    is_scalar,
    plain,
    rational_of,
)
from dpcp_audit.proving.expressions import NO_DOUBLE
from dpcp_audit.proving.local_values import (
    Drawn,
    Entries,
    Hashed,
    PathLaw,
    RecordNumber,
    UniformDraw,
    axes_of,
    computable,
    is_whole,
    items_of,
    tabled,
    typed,
)
from dpcp_audit.proving.sources import is_function, is_plain
from dpcp_audit.proving.table import GLOBAL_DRAWS

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from dpcp_audit.proving.paths import Choices, Contents
    from dpcp_audit.proving.statements import Ends

_MOST_PARTS = 64
"""Whole numbers that a record's number is rounded to."""
_BELOW = {"Lt": (True, 0), "LtE": (True, 1), "Gt": (False, 1), "GtE": (False, 0)}
_TYPES: dict[Any, Any] = {
    int: np.int64, "int": np.int64, np.int64: np.int64, float: np.float64, "float": np.float64,
    np.float64: np.float64, bool: np.bool_, np.bool_: np.bool_,
}  # fmt: skip
_COUNTS = {"count", "bit_count", "bit_length"}
"""Methods of Python's whole numbers and texts that are followed of draws."""
Cut = tuple[Fraction, int]
"""A place just below a number (0), or just above it (1)."""
_NO_CUT: Cut = (Fraction(0), 0)


class LocalReader(DrawReader):
    """Reads a function of one value along one path.

    Parameters
    ----------
    choices : Choices
        The ways that are taken where the path divides.
    cell : pair of Cut
        The ends of a record's number; on the path they move together.
    """

    def __init__(self, choices: Choices, cell: tuple[Cut, Cut] = (_NO_CUT, _NO_CUT)) -> None:
        super().__init__(None, choices)
        self.cell = cell
        self.whole, self.compared = cell, set[Any]()
        self.for_some = True  # NumPy's warnings are seen, and depend on the value
        self.residues: tuple[int, ...] = ()
        self._seeds = 0
        self.appended: dict[int, tuple[Value, ...]] = {}
        self.looked_at: set[int] = set()

    def _read_NamedExpr(self, node: ast.NamedExpr) -> Value:
        raise self.refuse("a value is named within an expression of one report")

    def _do_ImportFrom(self, node: ast.ImportFrom) -> None:
        raise self.refuse("an import inside the code that makes one report")

    # ------------------------------------------------------------------ the output

    def law_of(self, output: Value) -> PathLaw:
        """Return the law of an output on this path."""
        parts: list[Drawn] = []
        self._places: dict[int, int] = {}  # of lists, that one may be there twice
        self._arrays: list[Value] = []
        frame = self._shown(output, parts)
        return replace(
            PathLaw.of(self.chance, frame, parts, self.fixed, typed), line=self.returning
        )

    def _do_Return(self, node: ast.Return) -> Ends:
        if self.depth == 1:
            self.returning = node.lineno
        return super()._do_Return(node)

    def _shown(self, value: Value, parts: list[Drawn]) -> Hashable:
        """Return an output's form: what is known of it, and places for what is drawn."""
        if isinstance(value, Drawn):
            parts.append(value)
            return "drawn", len(parts) - 1
        if isinstance(value, Hashed) and value.seed:
            return "seed", value.seed, value.of_numpy
        if isinstance(value, np.ndarray | Entries):
            if any(each is value for each in self._arrays):
                raise self.refuse("one array is returned twice")
            self._arrays.append(value)
        name: str = type(value).__name__
        items: Value = value
        if isinstance(value, Reference):
            cells = self.cells(value)
            place = self._places.setdefault(value.address, len(self._places))
            name, items = f"{cells.kind} {cells.of} {cells.keys!r} {place}", cells.items
        elif isinstance(value, Entries):
            items = value.items
        if type(items) in {tuple, list} and not name.startswith("object"):
            return (name, *(self._shown(each, parts) for each in items))
        if not is_known(value) or not (isinstance(value, np.ndarray) or is_plain(plain(value))):
            raise self.refuse(
                f"the returned value is {arithmetic.kind(value)}, whose law is not known"
            )
        return typed(value)

    # ------------------------------------------------------------------ where paths divide

    def for_each_record(self, records: Records) -> Any:
        """Refuse a loop over all records in a report of one."""
        raise self.refuse("a loop over records in a report of one record")

    def residue(self, modulus: int) -> int:
        """Return the hash of a value on this path: any whole number below the modulus."""
        if self.fixed or self._levels:
            raise self.refuse("a value is hashed after a draw decides", "hash it first")
        self.residues += (self.choices.choose(modulus),)
        return self.residues[-1]

    def seed(self, values: range, *, of_numpy: bool, single: bool) -> Hashed:
        """Return a further public random number."""
        if not single:
            raise self.refuse("an array of public random numbers")
        self._seeds += 1
        size = max(abs(values[0]), abs(values[-1]))
        return Hashed(size, of_numpy, (self._seeds, values.start, values.stop))

    def decided(self, name: str, a: Value, b: Value) -> Value | None:
        """Return a comparison of what is drawn, or of a record; None of any other."""
        if isinstance(a, Entries) or isinstance(b, Entries):
            return self.lift(lambda x, y: order.compare(self, name, x, y), a, b)
        for x, y, first in ((a, b, True), (b, a, False)):
            if isinstance(x, RecordNumber) and name in _BELOW:
                less, cut = _BELOW[name]
                return self._record_compared(x, y, less is first, cut if first else 1 - cut)
        if computable(a, b):
            return self.lift(lambda x, y: order.known_compare(self, name, x, y), a, b)
        return super().decided(name, a, b)

    def _record_compared(self, record: RecordNumber, level: Value, less: bool, cut: int) -> Value:  # noqa: FBT001
        """Return the answer whether a record's number is below a cut at a level, or is not."""
        number = rational_of(level)
        if number is None or record.entry_type not in {NUMPY, PYTHON}:
            raise self.refuse(
                "a record of unknown type, or a value that is not a known number, is compared"
            )
        whole = isinstance(plain(level), int | np.integer)
        if abs(number) > NO_DOUBLE or (whole and float(plain(level)) != number):
            raise self.refuse(
                "a record is compared with a number that a double does not represent exactly"
            )
        place = (Fraction(float(plain(level))) - record.offset) / record.factor
        rises = record.factor > 0
        where = place, cut if rises else 1 - cut
        low, high = self.whole
        end = low[0] if where <= low else high[0] if where >= high else None
        if end is not None and abs(end - place) < record.error_at(end) / abs(record.factor):
            raise self.refuse("rounding decides whether a record passes a level at its ends")
        self.compared.add(record.steps)
        answer = self._lies_below(where) is (less is rises)
        of_numpy = record.entry_type == NUMPY or isinstance(plain(level), np.generic)
        return np.bool_(answer) if of_numpy else answer

    def _lies_below(self, cut: Cut) -> bool:
        """Return True if the record's number is below a cut on this path."""
        low, high = self.cell
        if cut <= low or cut >= high:
            return cut >= high
        below = self.choices.choose(2) == 0
        self.cell = (low, cut) if below else (cut, high)
        return below

    def _whole_part(self, record: RecordNumber, *, may_be_negative: bool) -> int:
        """Return the largest whole number at or below a record's number, on this path."""
        ends = sorted(
            (end * record.factor + record.offset, record.error_at(end)) for end, _ in self.cell
        )
        low, high = math.floor(ends[0][0] - ends[0][1]), math.floor(ends[1][0] + ends[1][1])
        if high - low > _MOST_PARTS or (low < 0 and not may_be_negative):
            raise self.refuse("a record is rounded to many whole numbers, or may be below 0")
        above = (m for m in range(low, high) if not self._record_compared(record, m + 1, False, 0))
        return next(above, high)

    # ------------------------------------------------------------------ functions of draws

    def lift(self, of: Callable[..., Value], *values: Value) -> Value:
        """Return a function of numbers for draws, and entry by entry for arrays."""
        rows = [items_of(each) for each in values]
        if any(row is not None for row in rows):
            counts = {len(row) for row in rows if row is not None}
            if len(counts) > 1:
                raise self.refuse("arrays of different lengths")
            pairs = list(zip(rows, values, strict=True))
            columns = [
                (self.as_numpy(x),) * max(counts) if row is None else row for row, x in pairs
            ]
            return self.array(tuple(self.lift(of, *each) for each in zip(*columns, strict=True)))
        open_axes = any(axis.token not in self.fixed for axis in axes_of(values))
        if not open_axes or any(isinstance(each, UniformDraw) for each in values):
            return of(*values) if open_axes else of(*map(self.settled, values))
        found = tabled(of, *values)
        if not all(map(is_known, found.values)):
            raise self.refuse("a draw decides between values that are not known")
        return found

    def array(self, items: tuple[Value, ...]) -> Entries:
        """Return an array of these entries, which must all be of one of NumPy's types."""
        given = [each.values if isinstance(each, Drawn) else (each,) for each in items]
        kinds = {type(plain(x)) for each in given for x in each}
        if len(kinds) != 1 or not kinds <= {np.bool_, np.int64, np.float64, UniformDraw}:
            raise self.refuse("an array whose entries are not known to be of one type")
        return Entries(items)

    def as_numpy(self, value: Value) -> Value:
        """Return a number as an array holds it."""
        if not computable(value, Drawn((), (0,))):
            raise self.refuse("an array holds values that are not numbers")
        return self.lift(exact_numbers.as_numpy, value)

    def gathered(self, value: Value) -> Value:
        """Return a list as an array, which may hold draws."""
        if isinstance(value, Reference | tuple) and not is_known(value):
            items = self.entries_or_none(value)
            if items is not None and any(isinstance(each, Drawn) for each in items):
                return self.array(tuple(map(self.as_numpy, items)))
        return super().gathered(value)

    def operate(self, name: str, a: Value, b: Value) -> Value:
        """Return the result of an operator."""
        for each in (a, b):
            if isinstance(each, RecordNumber | Hashed):
                return each.moved(self, name, a, b)
        if isinstance(a, Entries) or isinstance(b, Entries):
            a, b = self.gathered(a), self.gathered(b)
        elif not computable(a, b):
            return super().operate(name, a, b)
        return self.lift(lambda x, y: arithmetic.binary(self, name, x, y), a, b)

    def _check_in_place(self, old: Value) -> None:
        for each in old.values if isinstance(old, Drawn) else (old,):
            super()._check_in_place(each)

    def _read_IfExp(self, node: ast.IfExp) -> Value:
        condition, arms = self.read(node.test), (node.body, node.orelse)
        acts = [ast.Attribute, ast.Call, ast.NamedExpr, ast.Subscript]
        plainly = not any(type(x) in acts for arm in arms for x in ast.walk(arm))
        if isinstance(condition, Drawn) and plainly:
            values = [self.read(each) for each in arms]
            if all(computable(condition, each) for each in values):
                return self.lift(lambda c, x, y: x if c else y, condition, *values)
        return self.read(arms[0] if self.truth(condition) else arms[1])

    # ------------------------------------------------------------------ entries and calls

    @staticmethod
    def _may_raise(node: ast.expr, value: Value) -> bool:  # noqa: ARG004
        """Return True if an expression may be an error; a path that meets one is not read on."""
        if isinstance(value, BoundMethod):
            return not isinstance(
                value.owner, Generator | Distribution | Drawn | Entries | Reference
            )
        return isinstance(value, int) and abs(value) > NO_DOUBLE

    def cells(self, reference: Reference) -> Contents:
        """Return the value that a reference refers to; a list of reports is not looked at."""
        self.looked_at.add(reference.address)
        return super().cells(reference)

    def _read_Attribute(self, node: ast.Attribute) -> Value:
        owner = self.read(node.value)
        if isinstance(owner, Reference) and owner.address in self.appended:
            return BoundMethod(owner, node.attr)
        found = attributes.attribute(self, owner, node.attr)
        if isinstance(found, BoundMethod) and not self._has(owner, node.attr):
            raise self.refuse(f"there is no attribute {node.attr}, perhaps")
        return found

    def _has(self, owner: Value, name: str) -> bool:
        """Return True if a value has an attribute: of a draw it is not known."""
        if isinstance(owner, Generator):
            return hasattr(np.random.Generator, name)
        if isinstance(owner, Drawn):
            plainly = {type(plain(each)) for each in owner.values} <= {int, str}
            return plainly and name in _COUNTS and all(hasattr(each, name) for each in owner.values)
        return isinstance(owner, Reference | Entries) or hasattr(plain(owner), name)

    def entries_or_none(self, value: Value) -> tuple[Value, ...] | None:
        """Return the items of a loop over a value; None where they are not known."""
        return value.items if isinstance(value, Entries) else super().entries_or_none(value)

    def entry_of(self, value: Value, node: ast.expr) -> Value:
        """Return an entry of a value."""
        if isinstance(node, ast.Slice | ast.Tuple):
            return super().entry_of(value, node)
        index = self.read(node)
        if isinstance(value, Entries):
            if not is_whole(index):
                raise self.refuse("several entries of an array of draws are taken out")
            value = value.items
        if isinstance(index, Drawn):
            return self.lift(lambda place: gathering.element(self, value, place), index)
        return gathering.element(self, value, self.public(index, "an index"))

    def call(self, function: Value, args: list[Value], kw: dict[str, Value]) -> Value:
        """Return the result of a call."""
        if isinstance(function, BoundMethod):
            return self._method(function, args, kw)
        if function is print:
            raise self.refuse("something is printed that depends on a value")
        known = is_function(function) and function not in GLOBAL_DRAWS
        found = self._of_draws(function, args) if known and args and not kw else None
        return super().call(function, args, kw) if found is None else found

    def _method(self, bound: BoundMethod, args: list[Value], kw: dict[str, Value]) -> Value:
        owner, name = bound.owner, bound.name
        if isinstance(owner, Reference) and owner.address in self.appended:
            if name != "append" or len(args) != 1 or kw:
                raise self.refuse("a list from outside of a loop is used in another way")
            self.appended[owner.address] += (args[0],)
            return None
        if isinstance(owner, Drawn) and name in _COUNTS and all(map(is_known, args)) and not kw:
            return self.lift(lambda x: getattr(plain(x), name)(*map(plain, args)), owner)
        if not isinstance(owner, Entries):
            return super().call(bound, args, kw)
        if name == "astype" and len(args) == 1 and args[0] in _TYPES:
            return self.lift(lambda x: _TYPES[args[0]](plain(x)), owner)
        if name != "tolist" or args:
            raise self.refuse(f"the method {name} of an array of draws is not followed")
        return self.listed([self.lift(lambda x: plain(x).item(), each) for each in owner.items])

    def _of_draws(self, function: Value, args: list[Value]) -> Value | None:
        """Return a known function of draws, of a record, or of a public random number."""
        value, rule = args[0], calls.rule_of(function)
        name = "" if rule is None else rule.name
        if len(args) == 1 and isinstance(value, RecordNumber | Hashed):
            if name == "float" and isinstance(value, RecordNumber):
                return replace(value, entry_type=PYTHON)
            if name == "int" and isinstance(value, Hashed):
                return replace(value, of_numpy=False)
            if name in {"int", "math.floor"} and isinstance(value, RecordNumber):
                return self._whole_part(value, may_be_negative=name == "math.floor")
        rows = [self.gathered(each) for each in args]
        drawn = any(isinstance(each, Entries) for each in rows)
        if name == "np.where" and len(args) == 3:
            forms = any(is_scalar(each) and form_of(each) is not None for each in rows)
            if drawn or (forms and items_of(rows[0]) is not None):
                return self.lift(lambda c, x, y: x if c else y, *rows)
        if name in {"np.array", "np.asarray"} and drawn and len(args) == 1:
            return rows[0]
        if name and (computable(*args) or (drawn and isinstance(function, np.ufunc))):
            return self.lift(lambda *x: calls.function(self, function, list(x), {}), *rows)
        return None
