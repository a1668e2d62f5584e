"""Expressions: what each form of the language gives, with every operand read in its order."""

# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
from __future__ import annotations

import ast
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.proving import (
    arithmetic,
    attributes,
    gaps,
    gathering,
    opendp_measurements,
    order,
    torch_calls,
)
from dpcp_audit.proving import known_calls as calls
from dpcp_audit.proving.class_rows import ClassRows
from dpcp_audit.proving.distances import (
    PYTHON,
    SCALAR,
    UNKNOWN,
    BoundMethod,
    ChosenPlaces,
    Closure,
    Lent,
    Noise,
    Once,
    Public,
    PublicAnswer,
    Records,
    Reference,
    Refusal,
    SampledPlaces,
    Statistic,
    Suspect,
    Value,
    in_both,
    is_count,
    is_data,
    is_iterator,
    is_known,
    is_public,
    one_of,
    shape_of,
)
from dpcp_audit.proving.exact_numbers import OutsideList, is_scalar, plain
from dpcp_audit.proving.loops import MOST_STEPS, Loops
from dpcp_audit.proving.paths import Contents, holds, join_returns
from dpcp_audit.proving.sources import names_in
from dpcp_audit.proving.torch_values import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


NO_DOUBLE = 2**1000
"""Size of a whole number beside which a double's operators raise an error."""


class Expressions(Loops):
    """The part of the interpreter that reads expressions."""

    comprehension: Any

    def read(self, node: ast.expr) -> Value:
        """Return the value of an expression."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise self.too_long()
        self.line = node.lineno
        reader = getattr(self, "_read_" + type(node).__name__, None)
        if reader is None:
            raise self.refuse(f"{type(node).__name__} is not followed")
        value = reader(node)
        self.line = node.lineno
        if self.for_some and self._may_raise(node, value):
            raise self.refuse("something that may raise an error is computed for some records only")
        if type(value) is OutsideList:
            return self.path.store(Contents("list", tuple(value), of=OutsideList))
        return value

    @staticmethod
    def _may_raise(node: ast.expr, value: Value) -> bool:
        """Return True if an expression may be an error where public values are other ones."""
        if isinstance(value, int):
            return abs(value) > NO_DOUBLE
        if isinstance(value, BoundMethod):
            return not torch_calls.is_own(
                value.owner
            )  # no attribute is looked up here: there may be none
        plain = is_known(value) or isinstance(value, Records | tuple) or torch_calls.is_own(value)
        return not (plain or isinstance(node, ast.Name | ast.Attribute))

    def _read_for_some(self, node: ast.expr) -> Value:
        """Return the value of an expression that a condition on the record leads to."""
        outer, self.for_some = self.for_some, True
        value = self.read(node)
        self.for_some = outer
        return value

    def _read_Constant(self, node: ast.Constant) -> Value:
        return node.value

    def _read_Name(self, node: ast.Name) -> Value:
        frame: int | None = self.frame
        while frame is not None:
            found = self.path.frames[frame]
            if node.id in found.variables:
                held = found.variables[node.id]
                return self.cells(held.place).items[0] if isinstance(held, Lent) else held
            if node.id in found.local:
                raise self.refuse(f"{node.id} has no value yet")
            source, frame = found.source, found.parent
        return source.outside(node.id, self.line)  # pyright: ignore[reportPossiblyUnboundVariable]

    def _read_Tuple(self, node: ast.Tuple) -> Value:
        return tuple(self._elements(node.elts))

    def _read_List(self, node: ast.List) -> Value:
        if len(node.elts) == 3 and isinstance(node.elts[1], ast.Starred):
            low, middle = self.read(node.elts[0]), self.read(node.elts[1].value)
            if isinstance(middle, Records):
                return gaps.between(self, low, middle, self.read(node.elts[2]))
            items = self.entries(middle, "an unpacked value")
            return self.listed((low, *items, self.read(node.elts[2])))
        return self.listed(self._elements(node.elts))

    def _elements(self, nodes: list[ast.expr]) -> Iterator[Value]:
        for node in nodes:
            if isinstance(node, ast.Starred):
                yield from self.entries(self.read(node.value), "an unpacked value")
            else:
                value = self.read(node)
                if is_iterator(value):
                    raise self.refuse("an iterator is kept")
                yield value

    def entries(self, value: Value, what: str) -> tuple[Value, ...]:
        """Return the items of a loop over a value, or refuse."""
        found: tuple[Value, ...] | None = self.entries_or_none(value)
        if found is None:
            raise self.refuse(f"{what} is {arithmetic.kind(value)}, of unknown length")
        return found

    def _read_Dict(self, node: ast.Dict) -> Value:
        if any(key is None for key in node.keys):
            raise self.refuse("a dictionary is unpacked")
        pairs = [
            tuple(self._elements([key, value]))
            for key, value in zip(node.keys, node.values, strict=True)
            if key is not None
        ]
        return self._dictionary(pairs)

    def _read_DictComp(self, node: ast.DictComp) -> Value:
        pair = ast.copy_location(ast.Tuple([node.key, node.value], ast.Load()), node)
        pairs = self.comprehension(ast.copy_location(ast.ListComp(pair, node.generators), node))
        if isinstance(pairs, Records):
            raise self.refuse("a dictionary with an entry for each record")
        return self._dictionary(pairs)

    def _dictionary(self, pairs: Iterable[tuple[Value, ...]]) -> Reference:
        """Return a new dictionary, of keys that are known and differ."""
        keys = tuple(plain(key) for key, _ in pairs)
        if not all(type(key) in {str, int, float} for key in keys) or len(set(keys)) < len(keys):
            raise self.refuse("a key of a dictionary is not known")
        return self.path.store(Contents("dict", tuple(value for _, value in pairs), keys))

    def _read_UnaryOp(self, node: ast.UnaryOp) -> Value:
        value = self.read(node.operand)
        if isinstance(node.op, ast.Not):
            return self._negated(value)
        listed = isinstance(value, Reference) and self.cells(value).kind == "list"
        if listed or isinstance(value, Once | tuple):
            raise self.refuse("a list, a tuple or an iterator does not have this operator")
        if isinstance(value, KINDS) and isinstance(node.op, ast.USub):
            return self.operate("Mult", -1.0, value)
        return order.unary(self, type(node.op).__name__, self.gathered(value))

    def _negated(self, value: Value) -> Value:
        if isinstance(value, Records) and value.single and value.boolean:
            return value.within(Fraction(0), Fraction(1), boolean=True, entry_type=PYTHON)
        known = self.truth(value)
        return SCALAR if known is None else not known

    def _read_BinOp(self, node: ast.BinOp) -> Value:
        left = self.read(node.left)
        return self.operate(type(node.op).__name__, left, self.read(node.right))

    def operate(self, name: str, a: Value, b: Value) -> Value:
        """Return the result of an operator."""
        if opendp_measurements.Handle in {type(a), type(b)}:
            return opendp_measurements.chained(self, name, a, b)
        for x, y in ((a, b), (b, a)):
            if isinstance(x, Once):
                raise self.refuse(f"{name} of an iterator")
            if isinstance(x, Reference) and self.cells(x).kind == "list":
                return self._of_lists(name, x, y, left=a is x)
            if isinstance(x, tuple) and not is_known((a, b)):
                raise self.refuse(f"{name} of a tuple", "make it an array: np.array(...)")
        return arithmetic.binary(self, name, self.gathered(a), self.gathered(b))

    def _of_lists(self, name: str, x: Reference, y: Value, *, left: bool) -> Value:
        items = self.cells(x).items
        if name == "Add" and (isinstance(y, gaps.Ended) or (isinstance(y, Records) and y.listed)):
            return gaps.extended(self, items, y, left=left)
        if name == "Add" and isinstance(y, Reference) and self.cells(y).kind == "list":
            return self.listed((*items, *self.cells(y).items))
        if name == "Mult" and isinstance(y, int) and len(items) * y < MOST_STEPS:
            return self.listed(items * y)
        if isinstance(y, np.ndarray | Statistic | Noise) and shape_of(y) != ():
            a, b = (self.gathered(x), y) if left else (y, self.gathered(x))
            return arithmetic.binary(self, name, a, b)
        raise self.refuse(f"{name} of a list")

    def _read_Compare(self, node: ast.Compare) -> Value:
        left, result = self.read(node.left), True
        for position, (op, other) in enumerate(zip(node.ops, node.comparators, strict=True)):
            if position and not isinstance(result, bool) and calls.may_act(other):
                raise self.refuse("a chain of comparisons with a call or an attribute in it")
            outer, self.for_some = self.for_some, self.for_some or isinstance(result, Records)
            right = self.read(other)
            name = type(op).__name__
            self._check_compared(name, left, right)
            one = right if name in {"Is", "IsNot"} else self.gathered(right)
            if name in {"In", "NotIn"}:
                one = self._looked_through(left, right)
            try:
                found = order.compare(self, name, self.gathered(left), one)
            except Suspect as stop:
                made = self.made_at(node)
                raise stop.made_at(made) if made else stop from None
            self.for_some = outer
            result = self._both(result, found)
            if is_known(found) and not isinstance(found, np.ndarray) and not found:
                return found
            if isinstance(found, PublicAnswer) and not found.holds:
                return found
            left = right
        return result

    def made_at(self, node: ast.expr) -> int:
        """Return the first line that computed data without noise for a name in this; else 0."""
        made = (self.made.get((self.frame, name), 0) for name in names_in(node))
        return min(filter(None, made), default=0)

    def named(self, *nodes: ast.AST) -> Iterator[Value]:
        """Yield the values of the names that are read in nodes, of those that can be read."""
        for each in (one for node in nodes for one in ast.walk(node)):
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load):
                try:
                    yield self.read(each)
                except Refusal:
                    continue

    def taken_at(self, node: ast.expr | ast.stmt) -> int:
        """Return the line that took data bare to which noise is added elsewhere; else 0.

        It is not known, -1, where a public number is beside them, which may be spoilt noise.
        """
        names = [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]
        before = [self.taken.get((self.frame, name), 0) for name in names]
        held = self.path.frames[self.frame].variables
        statistics = (each for each in map(held.get, names) if isinstance(each, Statistic))
        here = node.lineno if any(each.name in self.noised for each in statistics) else 0
        unknown = -1 if -1 in before or holds(node, held, Public) else 0
        return next((each for each in before if each > 0), here or unknown)

    def _looked_through(self, one: Value, value: Value) -> Value:
        """Return the values that ``in`` searches: the items, or the keys of a dictionary."""
        items = value.items if isinstance(value, Once) else value
        if isinstance(value, Reference):
            cells = self.cells(value)
            if cells.kind == "object":
                raise self.refuse("an object is looked through")
            items = cells.keys if cells.kind == "dict" else cells.items
        nested = isinstance(items, tuple) and any(isinstance(each, Reference) for each in items)
        if nested or isinstance(one, Reference):
            raise self.refuse("a list or an object is looked for, or looked through for one")
        return self.opened(value) if items is value else items

    def _check_compared(self, name: str, left: Value, right: Value) -> None:
        """Refuse lists and tuples that are compared as Python does, not as arrays are."""
        for x, y in ((left, right), (right, left)):
            whole = isinstance(x, tuple) and not is_known(x)
            if isinstance(x, Reference):
                whole = self.cells(x).kind == "list"
            if isinstance(x, Once) and (x is left or name not in {"In", "NotIn"}):
                raise self.refuse("an iterator is compared")
            if whole and name not in {"In", "NotIn", "Is", "IsNot"} and not shape_of(y):
                raise self.refuse("a list or a tuple is compared", "compare arrays: np.array(...)")

    def _both(self, first: Value, second: Value, *, all_hold: bool = True) -> Value:
        """Return a conjunction of comparisons, or of records a disjunction."""
        if first is True:
            return second
        if isinstance(first, Records) or isinstance(second, Records):
            single = [each for each in (first, second) if isinstance(each, Records)]
            if not all(each.single for each in single):
                raise self.refuse("a chain of comparisons of arrays")
            if len(single) == 2 and single[0].order != single[1].order:
                raise self.refuse("different records are compared")
            found = one_of(self, single[0], first, second)
            if found.chosen:
                return found
            cell = None
            for each in single if all_hold else ():
                cell = in_both(cell, each.cell)
            return replace(found, cell=cell)
        if is_data(first) or is_data(second):
            raise self.refuse("a chain of comparisons of counts, or of draws for each record")
        if is_known(first) and is_known(second) and is_scalar(first):
            return second if first else first
        return SCALAR if shape_of(first) == shape_of(second) == () else UNKNOWN

    def _read_BoolOp(self, node: ast.BoolOp) -> Value:
        value = self.read(node.values[0])
        for other in node.values[1:]:
            if isinstance(value, Records):
                if not (value.single and value.boolean):
                    raise self.refuse("and/or of arrays of records")
                second = self._read_for_some(other)
                if not (
                    isinstance(second, bool) or (isinstance(second, Records) and second.boolean)
                ):
                    raise self.refuse("a condition on a record and on something else")
                value = self._both(value, second, all_hold=isinstance(node.op, ast.And))
                continue
            known = self.truth(value)
            if known is not None:
                if known is isinstance(node.op, ast.Or):
                    return value
                value = self.read(other)
                continue
            value = self._either(None, other, value if is_public(value) else UNKNOWN)
        return value

    def _either(self, first: ast.expr | None, second: ast.expr, otherwise: Value = None) -> Value:
        """Return the joined value of two expressions, of which a public condition takes one."""
        one, two = self.path.fork(), self.path.fork()
        self.path = one
        a = otherwise if first is None else self.read(first)
        one, self.path = self.path, two
        b = self.read(second)
        if (isinstance(a, Records) and self.each_record) or (
            isinstance(b, Records) and self.each_record
        ):
            raise self.refuse("a public choice between records")
        self.path, value = join_returns((one, a), (self.path, b), self.line)
        return value

    def _read_IfExp(self, node: ast.IfExp) -> Value:
        condition = self.read(node.test)
        if isinstance(condition, Records):
            ends = self._read_for_some(node.body), self._read_for_some(node.orelse)
            return self._chosen(condition, *ends)
        known = self.truth(condition)
        if known is None:
            return self._either(node.body, node.orelse)
        return self.read(node.body if known else node.orelse)

    def _chosen(self, condition: Records, a: Value, b: Value) -> Value:
        """Return one of two values for one record, by a condition on that record."""
        if not (condition.single and condition.boolean):
            raise self.refuse("a condition on an array of records")
        from dpcp_audit.proving.rules import by_condition

        found = by_condition(condition, a, b)
        if found is NotImplemented:
            raise self.refuse(
                "a condition on a record chooses between values that are not followed"
            )
        return one_of(self, found, a, b)

    def truth(self, value: Value) -> bool | None:
        """Return True if a condition holds; None where it is public and its outcome unknown."""
        if isinstance(value, Reference):
            cells = self.cells(value)
            if cells.kind in {"list", "dict"}:
                return bool(cells.items)
            raise self.refuse("the truth of an object or of an array")
        if isinstance(value, Once):
            return True  # an iterator, whatever is left in it
        value = self.public(value, "a condition")
        if isinstance(value, PublicAnswer):
            return value.holds
        if is_count(value):
            return True
        if not is_known(value):
            if self.for_some:
                raise self.refuse("a condition that may be an array is read for some records only")
            return None
        try:
            return bool(value)
        except Exception as error:
            raise self.refuse(f"raises {type(error).__name__}: {error}") from None

    def _read_JoinedStr(self, node: ast.JoinedStr) -> Value:
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                if not is_known(self.public(self.read(part.value), "text")):
                    self.doubt("a value is formatted")
                if part.format_spec is not None:
                    self.read(part.format_spec)
        return UNKNOWN

    def _read_Lambda(self, node: ast.Lambda) -> Value:
        return self.closure(node)

    def closure(self, node: ast.Lambda | ast.FunctionDef) -> Closure:
        """Return a function that is defined here."""
        if self.each_record:
            raise self.refuse("a function is made for each record")
        defaults = self.defaults(node.args)
        self._captured.add(self.frame)
        return Closure(node, self.frame, self.path.frames[self.frame].source, defaults)

    def _read_NamedExpr(self, node: ast.NamedExpr) -> Value:
        value = self.read(node.value)
        if self.each_record or node.target.id not in self.path.frames[self.frame].local:
            raise self.refuse("a value is named for each record, or in a comprehension")
        self.bind(node.target, value)
        return value

    def _read_Attribute(self, node: ast.Attribute) -> Value:
        value = self.read(node.value)
        home = torch_calls if torch_calls.is_own(value) else attributes
        return home.attribute(self, value, node.attr)

    def _read_Subscript(self, node: ast.Subscript) -> Value:
        return self.entry_of(self.read(node.value), node.slice)

    def entry_of(self, value: Value, node: ast.expr) -> Value:
        """Return an entry of a value, at the place that an expression gives."""
        if value is np.r_:
            return self._joined(node)
        if isinstance(value, ClassRows):
            return gathering.element(self, value, self.read(node))
        return gathering.element(self, value, self.read_index(node))

    def _joined(self, node: ast.expr) -> Value:
        """Return ``np.r_`` of the sorted records and two public ends, or of known numbers."""
        items = self.read(node) if isinstance(node, ast.Tuple) else ()
        found = gaps.joined(self, tuple(self.gathered(each) for each in items))
        if found is NotImplemented:
            raise self.refuse("np.r_ of a value that is not followed", "use np.concatenate")
        return found

    def read_index(self, node: ast.expr) -> Value:
        """Return an index, which is public or a condition on each record."""
        return self.as_index(self.read(node))

    def as_index(self, index: Value) -> Value:
        """Return a value as an index."""
        if isinstance(index, Records | SampledPlaces | ChosenPlaces | gaps.Chosen):
            return index
        parts = index if isinstance(index, tuple) else ()
        if isinstance(index, Once) or any(isinstance(each, Reference | Once) for each in parts):
            raise self.refuse("an iterator as an index, or a list within one")
        return self.public(self.gathered(index), "an index")  # a list selects as an array does

    def _read_Slice(self, node: ast.Slice) -> Value:
        ends = [
            None if each is None else self.public(self.read(each), "an index")
            for each in (node.lower, node.upper, node.step)
        ]
        return slice(*ends) if all(map(is_known, ends)) else UNKNOWN
