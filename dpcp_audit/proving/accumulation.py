"""Loops over records that add to counters: each is a sum over records."""

from __future__ import annotations

import ast
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpcp_audit.proving.distances import (
    Line,
    Private,
    Records,
    Statistic,
    Value,
    is_known,
    number,
    require_of_start,
    require_one,
    shape_of,
)
from dpcp_audit.proving.exact_numbers import exact_of, is_scalar

if TYPE_CHECKING:
    from dpcp_audit.proving.charges import Ledger
    from dpcp_audit.proving.paths import Path


class Accumulation:
    """The part of the interpreter that reads ``for score in scores``."""

    n: int | None
    path: Path
    file: str
    frame: int
    each_record: bool
    for_some: bool
    reports: Any
    quiet: bool
    unbounded: bool
    trying: bool
    ended: Ledger
    begun: dict[str, Value]

    # What the other part has.
    read: Any
    refuse: Any
    truth: Any
    public: Any
    entries: Any
    entries_or_none: Any
    operate: Any
    closure: Any
    cells: Any
    gathered: Any
    read_index: Any
    for_each_record: Any
    single: Any
    one_record: Any
    iterated: list[Value]
    bind: Any
    note: Any
    doubt: Any

    @property
    def line(self) -> int:
        """The line that is read, with its file."""
        return Line(self._line, self.file)

    @line.setter
    def line(self, number: int) -> None:
        self._line = int(number)

    @property
    def _reader(self) -> Any:
        """The whole interpreter, which has all the parts."""
        return self

    def _accumulate(self, node: ast.For, records: Records) -> None:
        """Read ``for score in scores`` that adds to counters: a sum over records."""
        if self.each_record or not isinstance(node.target, ast.Name):
            raise self.refuse("a loop over records in a loop over records")
        changed = {
            each.target.id
            for part in node.body
            for each in ast.walk(part)
            if isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Name)
        }
        read = {
            each.id
            for part in node.body
            for each in ast.walk(part)
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)
        }
        if changed & read or node.target.id in changed:
            raise self.refuse("a loop over records reads what it adds up")
        with self.for_each_record(records):
            self.bind(node.target, self.single(records))
            variables = self.path.frames[self.frame].variables
            before = {name: variables[name] for name in changed & variables.keys()}
            self.begun = before
            variables |= dict.fromkeys(before, Private(self.line, "it is being added up"))
            added = self._added(node.body, records)
            self.path.frames[self.frame].variables.update(before)
        for name, (low, high) in added.items():
            whole = low.denominator == 1 and high.denominator == 1 and self._counts(node)
            moved = records.within(low, high, chosen=records.chosen)
            distance = self.one_record(moved)
            old = self.path.frames[self.frame].variables.get(name)
            if not (is_known(old) or isinstance(old, Statistic)) or shape_of(old) != ():
                raise self.refuse(f"{name}, to which a loop over records adds, is no number")
            self.note(f"sum over records, sensitivity {float(distance):.6g}")
            size = moved.largest_sum(self.n)
            one = number(distance, "a sum over records", integer=whole, size=size)
            new = self.operate("Add", old, one)
            self.path.frames[self.frame].variables[name] = new
        self.path.frames[self.frame].variables.pop(node.target.id, None)

    @staticmethod
    def _counts(node: ast.For) -> bool:
        """Tell whether a loop adds whole numbers that are written in it only."""
        values = [
            each.value
            for part in node.body
            for each in ast.walk(part)
            if isinstance(each, ast.AugAssign)
        ]
        return all(
            isinstance(each, ast.Constant) and isinstance(each.value, int) for each in values
        )

    def _added(
        self, body: list[ast.stmt], records: Records
    ) -> dict[str, tuple[Fraction, Fraction]]:
        """Return the smallest and largest amount that one record adds to each counter."""
        found: dict[str, tuple[Fraction, Fraction]] = {}
        for node in body:
            self.line = node.lineno
            for name, (low, high) in self._added_by(node, records).items():
                before = found.get(name, (Fraction(0), Fraction(0)))
                found[name] = (before[0] + low, before[1] + high)
        return found

    def _added_by(self, node: ast.stmt, records: Records) -> dict[str, tuple[Fraction, Fraction]]:
        if isinstance(node, ast.If):
            return self._added_in_branches(node, records)
        if isinstance(node, ast.Pass):
            return {}
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            value = self.read(node.value)
            require_one(self._reader, value)
            if self.for_some:
                require_of_start(self._reader, value, self.begun.get(node.target.id))
            low, high = self._amount(value)
            if isinstance(node.op, ast.Sub):
                return {node.target.id: (-high, -low)}
            if isinstance(node.op, ast.Add):
                return {node.target.id: (low, high)}
        raise self.refuse(
            "a loop over records does more than add up",
            "use np.count_nonzero or np.sum, or a comprehension",
        )

    def _added_in_branches(
        self, node: ast.If, records: Records
    ) -> dict[str, tuple[Fraction, Fraction]]:
        test, outer = self.read(node.test), self.for_some
        if not (isinstance(test, Records) and test.single and test.boolean):
            self.truth(test)
        self.for_some = outer or isinstance(test, Records)
        one, two = self._added(node.body, records), self._added(node.orelse, records)
        self.for_some = outer
        zero = (Fraction(0), Fraction(0))
        return {
            name: (
                min(one.get(name, zero)[0], two.get(name, zero)[0]),
                max(one.get(name, zero)[1], two.get(name, zero)[1]),
            )
            for name in one.keys() | two.keys()
        }

    def _amount(self, value: Value) -> tuple[Fraction, Fraction]:
        if isinstance(value, Records) and value.single:
            return value.low, value.high
        exact = exact_of(value) if is_scalar(value) else None
        if exact is None or exact.rational is None:
            raise self.refuse("what a record adds is not followed")
        return exact.rational, exact.rational
