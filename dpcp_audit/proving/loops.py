"""Loops: through known entries, over records, and while a condition holds.

A loop over records that adds to counters is a sum for each.
"""

# pyright: reportUnknownArgumentType=false
from __future__ import annotations

import ast
import copy
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias

from dpcp_audit.proving import gathering, loop_forms, rejection, torch_loops
from dpcp_audit.proving.arithmetic import kind
from dpcp_audit.proving.distances import (
    MOST_RECORDS,
    Part,
    Private,
    Public,
    Records,
    Reference,
    Refusal,
    Statistic,
    Together,
    Value,
    in_both,
    is_known,
    is_whole,
    number,
    require_of_start,
    require_one,
    sources_of,
    tokens,
)
from dpcp_audit.proving.exact_numbers import is_scalar, plain, rational_of
from dpcp_audit.proving.paths import Contents, Path, join_paths
from dpcp_audit.proving.sources import names_in
from dpcp_audit.proving.statements import Ends, Statements

if TYPE_CHECKING:
    from dpcp_audit.proving.charges import Ledger
    from dpcp_audit.proving.distances import Cell

_Amounts: TypeAlias = dict[str | int, tuple[Fraction, Fraction]]
MOST_STEPS = 200_000
"""Expressions that are read at most."""
_MOST_ROUNDS = 5_000
"""Rounds of a loop by ``while``."""
_RANGE, _LEN = ast.Name("range", ast.Load()), ast.Name("len", ast.Load())
_MOST_EXITS = 500
"""Rounds of a loop that each may be the last, as far as is known: each has paths of its own."""


class Loops(Statements):
    """The part of the interpreter that reads loops."""

    begun: dict[str, Value]
    cells_of: dict[str, set[Cell | None]]
    condition: Cell | None
    filled: dict[int, Contents]
    single: Any

    def through_entries(self, node: ast.For | ast.comprehension, *parts: ast.AST) -> Any:
        """Return a loop through the places of records as one through these; None of any other.

        After it the place has a value that is not known here.
        """
        found = over_entries(node, *parts)
        if found is None or self.read(ast.copy_location(_RANGE, node.target)) is not range:
            return None
        plainly = self.read(ast.copy_location(_LEN, node.target)) is len
        return found if plainly and isinstance(self.read(found[0].iter), Records) else None

    def _do_For(self, node: ast.For) -> Ends:
        frame, places = self.path.frames[self.frame], names_in(node.target)
        found = None if places & frame.of_others else self.through_entries(node)
        if found is not None:
            for each in places & frame.variables.keys():
                del frame.variables[each]
            (node,) = found
        chosen = loop_forms.permute_and_flip(self, node)
        if chosen is not None:
            says = "permute-and-flip goes on after a coin shows heads"
            return self._chosen_once(chosen, node, says)
        iterable = self.read(node.iter)
        if torch_loops.is_of_tensors(self, iterable, *node.body):
            torch_loops.read(self, node, iterable)
            return self.block(node.orelse)
        if isinstance(iterable, Records | Together):
            reports = self.reports if isinstance(iterable, Records) else None
            if reports is not None and reports.draws(self, *node.body):
                self.reports.RecordReports(self, iterable, node.target).loop(node)
            else:
                self._accumulate(node, iterable)
            return self.block(node.orelse)
        if isinstance(iterable, range) and len(iterable) * _least_steps(node) > MOST_STEPS:
            raise self.too_long()
        items = self.entries_or_none(iterable)
        if items is None and isinstance(iterable, Public):
            raise self._unknown_length()
        if items is None:
            raise self.refuse(f"a loop goes through {kind(iterable)}")
        before = len(self.iterated)
        self.iterated += sources_of(iterable)
        kept = loop_forms.running_maximum(self, node, items)
        ends = Ends((self.path,)) if kept else self._rounds_of(node, items)
        del self.iterated[before:]
        return ends

    # ------------------------------------------------------------------ sums over records

    def _accumulate(self, node: ast.For, iterable: Records | Together) -> None:
        """Read ``for score in scores`` that adds to counters: a sum over records."""
        records = iterable.records if isinstance(iterable, Together) else iterable
        if self.each_record:
            raise self.refuse("a loop over records in a loop over records")
        steps = {
            each for part in node.body if isinstance(part, ast.Assign) for each in part.targets
        }
        targets = names_in(node.target, *steps)
        read = names_in(*node.body, use=ast.Load)
        kinds = (ast.Name, ast.Tuple, ast.Store)
        bound = [each for one in (node.target, *steps) for each in ast.walk(one)]
        if not all(isinstance(each, kinds) for each in bound):
            raise self.refuse("a loop over records binds something other than names")
        changed = {
            each.target.id
            for part in node.body
            for each in ast.walk(part)
            if isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Name)
        }
        if changed & read or targets & changed:
            raise self.refuse("a loop over records reads its own running sum")
        self.iterated += sources_of(iterable)
        self.filled = self.hidden(node)
        del self.iterated[-len(sources_of(iterable)) :]
        with self.for_each_record(records):
            variables = self.path.frames[self.frame].variables
            for each in targets & variables.keys():  # else the first record alone would find them
                del variables[each]
            self.bind(node.target, self.single(iterable))
            before = {name: variables[name] for name in changed & variables.keys()}
            self.begun, self.cells_of = before, {}
            self.condition = records.cell if records.chosen else None
            variables |= dict.fromkeys(before, Private(self.line, "it is being added up"))
            added = self._added(node.body, records, named=True)
            self.path.frames[self.frame].variables.update(before)
        self.path.heap |= self.filled
        for name, (low, high) in added.items():
            whole = low.denominator == 1 and high.denominator == 1 and self._counts(node)
            if isinstance(name, int):
                self.fill(name, records, (low, high), whole=whole)
                continue
            moved = records.within(low, high, chosen=records.chosen)
            distance = self.one_record(moved)
            old = self.path.frames[self.frame].variables.get(name)
            if not (is_scalar(old) or (isinstance(old, Statistic) and old.shape == ())):
                raise self.refuse(f"a loop over records adds to {name}, which is not a number")
            self.note("sum over records", distance)
            size = moved.largest_sum(self.n)
            one = number(distance, "a sum over records", integer=whole, size=size)
            cells = self.cells_of.get(name, set())
            cell = next(iter(cells)) if len(cells) == 1 else None
            one = replace(one, cell=cell, rise=records.rise)
            new = self.operate("Add", old, one)
            self.path.frames[self.frame].variables[name] = new
        for name in targets:
            self.path.frames[self.frame].variables.pop(name, None)

    @staticmethod
    def _counts(node: ast.For) -> bool:
        """Return True if a loop adds whole numbers that are written in it only."""
        values = [
            each.value
            for part in node.body
            for each in ast.walk(part)
            if isinstance(each, ast.AugAssign)
        ]
        return all(
            isinstance(each, ast.Constant) and isinstance(each.value, int) for each in values
        )

    def _added(self, body: list[ast.stmt], records: Records, *, named: bool = False) -> _Amounts:
        """Return the smallest and largest amount that one record adds to each counter.

        Of a list or array it is the sum of what is added to its entries, by its address. Where
        values may be ``named``, each name holds what this record has given it, before it is read.
        """
        found: _Amounts = {}
        for node in body:
            self.line = node.lineno
            if named and isinstance(node, ast.Assign):
                self._do_Assign(node)
                continue
            for name, (low, high) in self._added_by(node, records).items():
                before = found.get(name, (Fraction(0), Fraction(0)))
                found[name] = (before[0] + low, before[1] + high)
        return found

    def _added_by(self, node: ast.stmt, records: Records) -> _Amounts:
        if isinstance(node, ast.If):
            return self._added_in_branches(node, records)
        if isinstance(node, ast.Pass):
            return {}
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Subscript):
            return self.added_at(node, node.target)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            self.cells_of.setdefault(node.target.id, set()).add(self.condition)
            value = self.read(node.value)
            require_one(self, value)
            if self.for_some:
                require_of_start(self, value, self.begun.get(node.target.id))
            low, high = self.amount(value)
            if isinstance(node.op, ast.Sub):
                return {node.target.id: (-high, -low)}
            if isinstance(node.op, ast.Add):
                return {node.target.id: (low, high)}
        raise self.refuse(
            "a loop over records does more than add up",
            "use np.count_nonzero or np.sum, or a comprehension",
        )

    def _added_in_branches(self, node: ast.If, records: Records) -> _Amounts:
        test, outer = self.read(node.test), self.for_some
        if not (isinstance(test, Records) and test.single and test.boolean):
            self.truth(test)
        self.for_some = outer or isinstance(test, Records)
        before = self.condition
        if isinstance(test, Records) and not records.chosen:
            self.condition = in_both(before, test.cell)
        one = self._added(node.body, records)
        self.condition = before
        two = self._added(node.orelse, records)
        self.for_some = outer
        zero = (Fraction(0), Fraction(0))
        return {
            name: (
                min(one.get(name, zero)[0], two.get(name, zero)[0]),
                max(one.get(name, zero)[1], two.get(name, zero)[1]),
            )
            for name in one.keys() | two.keys()
        }

    def amount(self, value: Value) -> tuple[Fraction, Fraction]:
        """Return the smallest and the largest amount that a record adds."""
        if isinstance(value, Records) and value.single:
            return value.low, value.high
        number = rational_of(value)
        if number is None:
            raise self.refuse("what a record adds is not followed")
        return number, number

    # ------------------------------------------------------------------ h[bin(x)] += 1

    def hidden(self, node: ast.For) -> dict[int, Contents]:
        """Hide the lists and arrays to whose entries a loop over records adds, and return them."""
        found: dict[int, Contents] = {}
        for each in (each for part in node.body for each in ast.walk(part)):
            place = each.target if isinstance(each, ast.AugAssign) else None
            if isinstance(place, ast.Subscript) and isinstance(place.value, ast.Name):
                owner = self.read(place.value)
                if isinstance(owner, Reference) and owner.address not in found:
                    found[owner.address] = gathering.changeable(self, owner)
        hidden = Contents("lost", (Private(self.line, "it is being added up"),))
        self.path.heap |= dict.fromkeys(found, hidden)
        return found

    def added_at(self, node: ast.AugAssign, target: ast.Subscript) -> _Amounts:
        """Return what a record adds to an entry of a list or array, by its address, and 0."""
        owner = self.read(target.value) if isinstance(target.value, ast.Name) else None
        if owner is None or not isinstance(node.op, ast.Add):
            raise self.refuse("a loop over records changes an entry in a way that is not followed")
        return self._added_to(owner, self.read(target.slice), self.read(node.value))

    def add_at(self, owner: Value, places: Value, value: Value) -> None:
        """``np.add.at``: all records add to the entries of an array, each at its own place."""
        self.require_once("something is stored for each record")
        records = isinstance(places, Records) and not (places.single or places.listed)
        beside = isinstance(value, Records) and places.goes_with(value) if records else False
        array = isinstance(owner, Reference) and self.cells(owner).kind == "array"
        if not records or not array or not (beside or is_known(value)):
            raise self.refuse("np.add.at of values that are not followed", "use np.bincount")
        self.filled = {owner.address: gathering.changeable(self, owner)}
        added = self._added_to(owner, self.single(places), self.single(value))
        whole = isinstance(value, int)
        self.fill(owner.address, places, added[owner.address], whole=whole)

    def _added_to(self, owner: Value, place: Value, value: Value) -> _Amounts:
        """Return what one record adds to an entry, by the address, and 0."""
        cells = self.filled.get(owner.address) if isinstance(owner, Reference) else None
        if cells is None or cells.kind not in {"list", "array", "dict"}:
            raise self.refuse("a loop over records changes an entry in a way that is not followed")
        of_one = isinstance(place, Records) and place.single and place.whole
        at: Any = (place.low, place.high) if of_one else None
        at = (place, place) if is_whole(place) and is_known(place) else at
        if at is None or not _has_places(cells, int(at[0]), int(at[1])):
            raise self.refuse(
                "an entry at a place that is not known to be in range: some data raise IndexError",
                "keep it in range: h[min(max(int(...), 0), k - 1)] += 1",
            )
        if not _keeps_type(cells, value):
            raise self.refuse(
                "what is added to an entry may change its type, and so show which entries changed",
                "begin with np.zeros(k)",
            )
        low, high = self.amount(value)
        return {owner.address: (min(low, Fraction(0)), max(high, Fraction(0)))}

    def fill(
        self, address: int, records: Records, added: tuple[Fraction, Fraction], *, whole: bool
    ) -> None:
        """Add to a list or array what all records add to its entries."""
        low, high = added
        most, one_sign = high - low, not (low and high)
        pair = 2 if self.replaced else 1
        l1, l2_squared = pair * most, pair * most * most * (1 if one_sign else pair)
        linf = most if one_sign else pair * most
        cells, name = self.filled[address], next(tokens)
        self.note("a histogram in l1", l1)
        size = (records.count or self.n or MOST_RECORDS) * most
        given = {"integer": whole, "size": size, "floats": cells.of == "float"}
        items: list[Value] = []
        for at, old in enumerate(cells.items):
            one = number(linf, "sums over records of each bin", **given)
            part = Part(name, l1, l2_squared, (at,), Fraction(1))
            items.append(self.operate("Add", old, replace(one, part=part)))
        self.path.heap[address] = replace(cells, items=tuple(items))

    def too_long(self) -> Refusal:
        """Return the refusal of a program that takes too many steps to be read."""
        return self.refuse(
            "the program takes too many steps to be read",
            "bound its rounds, or draw all noise at once: size=...",
        )

    def _chosen_once(self, body: list[ast.stmt], node: ast.For | ast.While, goes_on: str) -> Ends:
        """Read what is done once where a loop ends, with what its mechanism has chosen."""
        ends = self.block(body)
        if ends.after or ends.continued:
            raise self.refuse(goes_on)
        return self._left(ends, (), node)

    def _rounds_of(self, node: ast.For, items: tuple[Value, ...]) -> Ends:
        """Read the rounds of a loop through known entries, one after the other."""
        left, live = Ends(), Ends((self.path,)).after
        for item in items:
            for self.path in live:
                self.bind(node.target, item)
            live, found = self._round(node, live)
            left = left.join(found, line=node.lineno, apart=self.answers.apart)
        return self._left(left, live, node)

    def _round(
        self, node: ast.For | ast.While, live: tuple[Path, ...]
    ) -> tuple[tuple[Path, ...], Ends]:
        """Read a round of a loop in each state; return those after it, and those that leave."""
        apart, ends = self.answers.apart, [self.branch(path, node.body) for path in live]
        found = Ends().join(*ends, line=node.lineno, apart=apart)
        live = join_paths((*found.after, *found.continued), node.lineno, apart=apart)
        return live, Ends((), found.broken, (), found.returned)

    def _left(self, left: Ends, ended: tuple[Path, ...], node: ast.For | ast.While) -> Ends:
        """Return the ends of a loop: by break, by return, or at its end by way of ``else``."""
        done, apart = Ends(left.broken, (), (), left.returned), self.answers.apart
        for each in ended:
            ends = self.branch(each, node.orelse)
            done = ends.join(done, line=node.lineno, apart=apart)
        return done

    def _do_While(self, node: ast.While) -> Ends:
        chosen = rejection.accepted(self, node)
        if chosen is not None:
            return self._chosen_once(chosen, node, "a loop goes on after a draw is accepted")
        left, ended, live = Ends(), Ends(), Ends((self.path,)).after
        test, apart = partial(self._test, node, self.path.ledger), self.answers.apart
        before, exits = self.path.ledger, 0
        for _ in range(_MOST_ROUNDS):
            tested = [each for path in live for each in self.ways(path, node.lineno, test)]
            done = Ends(tuple(path for path, holds in tested if not holds))
            ended = ended.join(done, line=node.lineno, apart=apart)
            live = tuple(path for path, holds in tested if holds)
            start = [each.fork() for each in live]
            live, found = self._round(node, live)
            left = left.join(found, line=node.lineno, apart=apart)
            if not live:
                return self._left(left, ended.after, node)
            exits += bool(found.broken or found.returned)
            stands = exits > 0 and len(live) == len(start)
            stands = stands and all(map(Path.stands_still, live, start))
            if stands or exits == _MOST_EXITS:
                break
        stop = self.refuse("a loop is not seen to end", "bound its rounds: for _ in range(k)")
        raise (self._redrawn(node, before) if exits else None) or stop

    def _test(self, node: ast.While, before: Ledger) -> tuple[Path, bool]:
        """Return the state after a loop's condition, and whether the loop goes on."""
        known = self.truth(self.read(node.test))
        if known is None:
            self.block(node.body)
            self.truth(self.read(node.test))
            raise self._redrawn(node, before) or self._unknown_length()
        return self.path, known

    def _redrawn(self, node: ast.While, before: Ledger) -> Refusal | None:
        """Return the refusal of a loop whose rounds use noise on data, and are all alike."""
        if self.path.ledger.paths == before.paths or _carries(node):
            return None
        return Refusal(
            node.lineno,
            "noise on data is drawn again until the result is accepted: on some data more often",
            "clip what the noise gives: np.clip(x, low, high)",
            self.file,
            unpaid=True,
        )

    def _unknown_length(self) -> Refusal:
        return self.refuse(
            "a loop whose length is not known beforehand",
            "bound the number of rounds: for _ in range(k)",
        )


_BINDING = (ast.arg, ast.FunctionDef, ast.ClassDef, ast.Try, ast.alias, ast.match_case)
"""What may give a name a value without being a name in source."""


class _Entries(ast.NodeTransformer):
    """Puts ``item`` in place of ``values[i]``; ``others`` tells of another use of either name."""

    def __init__(self, values: str, place: str, item: str) -> None:
        self.values, self.place, self.item = values, place, item
        self.others = False

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Replace an entry at the place."""
        parts = [each.id if isinstance(each, ast.Name) else "" for each in (node.value, node.slice)]
        if parts == [self.values, self.place] and isinstance(node.ctx, ast.Load):
            return ast.copy_location(ast.Name(self.item, ast.Load()), node)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Keep in mind that the values, or the place, are used otherwise."""
        self.others = self.others or node.id in {self.values, self.place}
        return node


@lru_cache(maxsize=256)
def over_entries(node: ast.For | ast.comprehension, *parts: ast.AST) -> Any:
    """Return ``for i in range(len(values))`` as a loop through the values; None of any other loop.

    The values and the place have no other use in it than ``values[i]``. ``parts`` are read in the
    loop besides; the loop and these are returned.
    """
    match node.target, node.iter:
        case (
            ast.Name(id=place),
            ast.Call(
                func=ast.Name(id="range"),
                args=[ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=values)], keywords=[])],
                keywords=[],
            ),
        ):
            made = _Entries(values, place, f"an entry of {values}")
        case _:
            return None
    if any(isinstance(each, _BINDING) for part in (node, *parts) for each in ast.walk(part)):
        return None
    copies: list[Any] = [copy.deepcopy(each) for each in (node, *parts)]
    loop = copies[0]
    loop.target, loop.iter = ast.Name(made.item, ast.Store()), ast.Constant(None)
    found = [made.visit(each) for each in copies]
    loop.iter = ast.Name(values, ast.Load())
    for each in (loop.target, loop.iter):
        ast.copy_location(each, node.target)
    return None if made.others else found


def _has_places(cells: Contents, first: int, last: int) -> bool:
    """Return True if a list or array has entries at these places, or a dictionary such keys."""
    if cells.kind != "dict":
        return -len(cells.items) <= first <= last < len(cells.items)
    own = {key for key in cells.keys if type(key) is int}
    return last - first < len(own) and own.issuperset(range(first, last + 1))


def _keeps_type(cells: Contents, value: Value) -> bool:
    """Return True if all entries are numbers of one type, which adding a value leaves as it is."""
    if cells.kind == "array" and cells.of == "float":
        numbers = all(is_scalar(each) or isinstance(each, Statistic) for each in cells.items)
        return numbers and (is_scalar(value) or isinstance(value, Records))
    of: set[type] = {int} if cells.kind == "array" else {type(plain(each)) for each in cells.items}
    known = all(is_scalar(each) for each in cells.items) and is_known(value)
    return known and of == {type(plain(value))} and of <= {int, float} and cells.of != "other"


def _carries(node: ast.While) -> bool:
    """Return True if a round of a loop reads what an earlier one has assigned."""
    waiting = names_in(*node.body, use=ast.Store)
    for part in node.body:
        if isinstance(part, ast.AugAssign) or names_in(part, use=ast.Load) & waiting:
            return True
        waiting -= names_in(part, use=ast.Store)
    return False


def _least_steps(node: ast.For) -> int:
    """Return a number of expressions that each round reads; 0 where a round may be the last."""
    ends = (ast.Break, ast.Return, ast.Raise)
    if any(isinstance(each, ends) for part in node.body for each in ast.walk(part)):
        return 0
    return 1 + sum(isinstance(part, ast.Assign | ast.AugAssign) for part in node.body)
