"""The law of one user's report, path by path: ε of local privacy, and of reports of all records."""

from __future__ import annotations

import ast
import itertools
import types
import warnings
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.proving import gathering
from dpcp_audit.proving import known_calls as calls
from dpcp_audit.proving.arithmetic import LARGEST
from dpcp_audit.proving.charges import Charge
from dpcp_audit.proving.distances import (
    SCALAR,
    UNKNOWN,
    Closure,
    Generator,
    Public,
    Records,
    Reference,
    Refusal,
    SampledPlaces,
    Value,
    is_known,
    tokens,
)
from dpcp_audit.proving.exact_numbers import is_scalar
from dpcp_audit.proving.known_calls import returned_by
from dpcp_audit.proving.local_reader import LocalReader
from dpcp_audit.proving.local_values import (
    ONE,
    Axis,
    Drawn,
    PathLaw,
    RecordNumber,
    TooManyOutcomesError,
    loss,
    telling_line,
    typed,
)
from dpcp_audit.proving.paths import Choices
from dpcp_audit.proving.sources import is_function, names_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dpcp_audit.proving.interpreter import Reader
    from dpcp_audit.proving.local_reader import Cut
    from dpcp_audit.proving.sources import FunctionSource

_MOST_PATHS, _MOST_STEPS = 4_000, 40_000
"""Paths of one report, and expressions that are read on all of them, at most."""
_RULE = "a finite law: Kasiviswanathan and others 2011, Definition 2.2"
_MOST_VALUES = 200
_TOO_MANY = "so many outcomes that the law of one report is not written out"


def _paths(
    make: Callable[[Choices], LocalReader], read: Callable[[LocalReader], Value]
) -> list[tuple[LocalReader, PathLaw]]:
    """Return each path of a reading with the law of its output."""
    found: list[tuple[LocalReader, PathLaw]] = []
    given: tuple[int, ...] | None = ()
    steps = 0
    while given is not None:
        choices = Choices(given)
        reader = make(choices)
        steps -= reader.steps
        try:
            with warnings.catch_warnings(action="error"):  # it would tell of the value
                output = read(reader)
            found.append((reader, reader.law_of(output)))
        except TooManyOutcomesError:
            raise reader.refuse(_TOO_MANY) from None
        steps += reader.steps
        if len(found) == _MOST_PATHS or steps > _MOST_STEPS:
            raise reader.refuse(_TOO_MANY, "draw an array at once: rng.random(k) < p")
        given = choices.following()
    return found


def _by_cell(paths: list[tuple[LocalReader, PathLaw]]) -> list[list[PathLaw]]:
    """Return the paths of each set of inputs that no path tells apart."""
    cuts: list[Cut] = sorted({end for reader, _ in paths for end in reader.cell})
    cells = list(itertools.pairwise(cuts)) or [(cuts[0], cuts[0])]
    found: dict[Any, list[PathLaw]] = defaultdict(list)
    for low, high in cells:
        for reader, law in paths:
            if reader.cell[0] <= low and high <= reader.cell[1]:
                found[low, reader.residues].append(law)
    return list(found.values())


def _epsilon(reader: Reader, inputs: list[list[PathLaw]]) -> Fraction:
    reader.rules.add(_RULE)
    try:
        found = loss(inputs)
    except TooManyOutcomesError:
        raise reader.refuse(_TOO_MANY) from None
    if found is None:
        reader.line = telling_line(inputs) or reader.line
        raise reader.refuse(
            "an output of one value that another value never has, in its type perhaps",
            "return int(...) of each draw: x is of Python's type, and rng.integers(k) of NumPy's",
        )
    return found


def report_loss(
    reader: Reader,
    function: Any,
    source: FunctionSource,
    domain: int,
    options: Mapping[str, Any],
) -> Fraction:
    """Return ε of a function of one value 0, ..., domain - 1, from above.

    Raises
    ------
    Refusal
        If the reading stops, or if ε is infinite.
    """
    reader.line, reader.file = source.node.lineno, source.file
    if domain > _MOST_VALUES:
        raise Refusal(source.node.lineno, "so many values that not every two are compared")
    inputs: list[list[PathLaw]] = []
    for value in range(domain):
        paths = _paths(
            lambda choices: _noted(LocalReader(choices), reader),
            lambda one, value=value: returned_by(one, function, source, value, options),  # type: ignore[misc]
        )
        inputs += _by_cell(paths)
    return _epsilon(reader, inputs)


def _noted(one: LocalReader, outer: Reader) -> LocalReader:
    """Return a reader whose remarks are those of another one."""
    one.notes, one.rules = outer.notes, outer.rules
    return one


class RecordReports:
    """A report of each record by draws of its own: a comprehension, or a loop that appends.

    Parameters
    ----------
    records : Records
        All at their own places, as otherwise one person moves the places of others' reports.

    Raises
    ------
    Refusal
        If they are not, or their number is not known.
    """

    def __init__(self, reader: Reader, records: Records, target: ast.expr) -> None:
        n = reader.n if records.count is None else records.count
        plainly = records.placed and records.floats and records.sample is None
        if n is None or not plainly or records.chosen or records.single or reader.each_record:
            raise reader.refuse(
                "reports of records that are not each at their own place, their number known"
            )
        self.reader, self.records, self.target, self.n = reader, records, target, n
        self.start = reader.path

    def comprehension(self, node: ast.expr) -> tuple[Value, ...]:
        """Charge for the reports that an expression gives, and return them."""
        values: list[Value] = []

        def read(one: LocalReader) -> Value:
            values.append(one.read(node))
            return values[-1]

        self._charge(read)
        return (_public(values),) * self.n

    def loop(self, node: ast.For) -> None:
        """Charge for the reports that a loop appends to lists, and append public ones."""
        heap = self.start.heap
        lists = [address for address in sorted(heap) if heap[address].kind == "list"]
        values: dict[int, list[Value]] = {address: [] for address in lists}
        looked_at: set[int] = set()

        def read(one: LocalReader) -> Value:
            one.appended = dict.fromkeys(lists, ())
            ends = one.block(node.body)
            live = ends.after or ends.continued
            if not live:
                raise one.refuse("a loop over records is left before its end")
            (one.path,) = live
            made, frame = one.path.frames[one.frame].variables, one.path.frames[self.reader.frame]
            if made.keys() & (frame.variables.keys() | frame.of_others):
                raise one.refuse("something is kept from one record to the next")
            for address, items in one.appended.items():
                values[address] += items if len(items) == 1 else [None] * len(items)
            looked_at.update(one.looked_at)
            return tuple(one.appended.values())

        paths = self._charge(read)
        for address in (each for each in lists if values[each]):
            gathering.changeable(self.reader, Reference(address))
            if address in looked_at or len(values[address]) != paths or None in values[address]:
                raise self.reader.refuse("a list of reports is read, or has not one of each record")
            items = (*heap[address].items, *(_public(values[address]),) * self.n)
            self.reader.path.heap[address] = replace(heap[address], items=items)

    def _charge(self, read: Callable[[LocalReader], Value]) -> int:
        """Charge for the reports of all records, and return the number of paths of one."""
        paths = _paths(self._new, lambda one: self._output(one, read))
        if len(set[Any]().union(*(one.compared for one, _ in paths))) > 1:
            raise self.reader.refuse(
                "two numbers that are computed of one record are compared, which doubles round",
                "compute one number, and compare it",
            )
        epsilon = _epsilon(self.reader, _by_cell(paths))
        self.reader.note(
            f"randomised response of each record, ε = {float(epsilon):.6g}", noise=True
        )
        where, line = self.records.where, self.reader.line
        self.reader.charge(Charge("pure", epsilon, line, where=where))
        return len(paths)

    def _new(self, choices: Choices) -> LocalReader:
        low, high = (Fraction(float(each)) for each in (self.records.low, self.records.high))
        cell = (low, 0), (high, 1)
        outer, one = self.reader, _noted(LocalReader(choices, cell), self.reader)
        one.n, one.replaced, one.frame = outer.n, outer.replaced, outer.frame
        one.line, one.file = outer.line, outer.file
        one.depth, one.steps, one.path = outer.depth, outer.steps, self.start.fork()
        return one

    def _number(self) -> RecordNumber:
        """Return the record's number, which may be rounded unless it is the record itself."""
        records = self.records
        size = max(abs(records.low), abs(records.high))
        error = Fraction(0) if records.itself else size / 2**30
        added = not records.itself
        return RecordNumber(Fraction(1), Fraction(0), records.entry_type, error, added)

    def _output(self, one: LocalReader, read: Callable[[LocalReader], Value]) -> Value:
        start = self.start
        with one.scope():
            one.bind(self.target, self._number())
            value = read(one)
        kept = all(one.path.heap.get(name) is cells for name, cells in start.heap.items())
        if not kept or one.path.ledger != start.ledger or one.path.used != start.used:
            raise one.refuse("a loop over records draws, releases or stores")
        self.reader.steps = one.steps
        return value


_ENTRYWISE = (ast.Add, ast.Sub, ast.Mult, ast.BitAnd, ast.BitOr, ast.BitXor)


def chosen_by_coins(
    reader: Reader, function: Value, coins: SampledPlaces, node: ast.Call
) -> Value | None:
    """``np.where(rng.random(n) < p, bits, 1 - bits)``: a report of each record's bit, by its coin.

    None, with no argument read but the first, of any other call.
    """
    rule = calls.rule_of(function) if is_function(function) else None
    if rule is None or rule.name != "np.where" or len(node.args) != 3 or node.keywords:
        return None
    chance, names = coins.chance, names_in(*node.args[1:])
    values = {name: reader.read(ast.copy_location(_loaded(name), node)) for name in names}
    records = [(name, each) for name, each in values.items() if isinstance(each, Records)]
    others = [each for each in values.values() if not isinstance(each, Records)]
    known = all(is_known(each) and is_scalar(each) for each in others)
    if chance is None or len(records) != 1 or not known or not _is_entrywise(node.args[1:]):
        raise reader.refuse(
            "a coin chooses between values that are not computed from one bit of each record"
        )
    ((name, bits),) = records
    whole = bits.placed and bits.count is None and bits.sample is None
    if not whole or bits.single or bits.chosen or bits.listed or not (bits.bit or bits.boolean):
        raise reader.refuse(
            "the reported values are not one bit of each record, in the order of the records"
        )
    reader.use((coins.sample.token,), next(tokens))
    made = np.float64 if bits.floats else np.bool_ if bits.boolean else np.int64
    axis = Axis(next(tokens), (chance, ONE - chance))
    inputs = [
        [PathLaw.of(ONE, ("drawn", 0), [Drawn((axis,), arms)], {}, typed)]
        for arms in (_arms(reader, node, name, made(bit)) for bit in (0, 1))
    ]
    if min(map(float, axis.chances)) < LocalReader.rarest:
        raise reader.refuse("a chance so small that doubles do not show it")
    epsilon = _epsilon(reader, inputs)
    reader.note(f"randomised response of each record, ε = {float(epsilon):.6g}", noise=True)
    line = reader.line
    reader.charge(Charge("pure", epsilon, line, where=bits.where))
    return Public((reader.n or 0,))


def _loaded(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _is_entrywise(nodes: list[ast.expr]) -> bool:
    """Return True if expressions give of an array, entry by entry, what they give of a number."""
    forms = (ast.Name, ast.Constant, ast.Load, ast.BinOp, ast.UnaryOp, ast.Invert, *_ENTRYWISE)
    return all(isinstance(each, forms) for node in nodes for each in ast.walk(node))


def _arms(reader: Reader, node: ast.Call, name: str, bit: Value) -> tuple[Value, ...]:
    """Return the numbers that a coin chooses between, for a record with this bit."""
    with reader.scope():
        reader.bind(_loaded(name), bit)
        arms = tuple(map(reader.read, node.args[1:]))
    if not all(is_known(each) and is_scalar(each) and abs(each) <= LARGEST for each in arms):
        raise reader.refuse("a coin chooses between values that are not known numbers")
    return arms


def _public(values: list[Value]) -> Value:
    possible = [x for each in values for x in (each.values if isinstance(each, Drawn) else [each])]
    numbers = all(isinstance(each, int | float) for each in possible)
    return SCALAR if numbers else UNKNOWN


def draws(reader: Reader, *nodes: ast.AST) -> bool:
    """Return True if expressions or statements name a generator, or a function of the program."""
    parts = (each for node in nodes for each in ast.walk(node))
    if any(isinstance(each, ast.Attribute) and each.attr == "random" for each in parts):
        return True
    for value in reader.named(*nodes):
        own = isinstance(value, types.FunctionType) and calls.rule_of(value) is None
        of_name = isinstance(value, Closure) and isinstance(value.node, ast.FunctionDef)
        if isinstance(value, Generator) or own or of_name:
            return True
    return False
