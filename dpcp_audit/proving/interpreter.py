"""The interpreter: expressions, calls and what a call observes.

``Reader`` walks the source once. Branches on public values of unknown outcome are both followed
and joined; anything that is not known here stops the reading, with its line.
"""

# pyright: reportUnknownVariableType=false

from __future__ import annotations

import ast
import warnings
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpcp_audit.proving import (
    arithmetic,
    attributes,
    gathering,
    noise_rules,
    objects,
    opendp_measurements,
    torch_calls,
    torch_loops,
    torch_values,
)
from dpcp_audit.proving import known_calls as calls
from dpcp_audit.proving.class_rows import ClassRows
from dpcp_audit.proving.distances import (
    UNKNOWN,
    WHOLE,
    BoundMethod,
    Closure,
    Inverse,
    Noise,
    Noisy,
    Once,
    Private,
    Public,
    PublicAnswer,
    Records,
    Reference,
    Refusal,
    SampledPlaces,
    Together,
    Value,
    in_both,
    is_data,
    is_iterator,
    is_known,
    is_public,
    sources_of,
    tokens,
    type_of,
)
from dpcp_audit.proving.exact_numbers import is_scalar, rational_of
from dpcp_audit.proving.expressions import Expressions
from dpcp_audit.proving.paths import ITSELF, Contents, Frame
from dpcp_audit.proving.sources import locals_of, names_lent, names_of_others
from dpcp_audit.proving.thresholds import Difference, compared, released

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcp_audit.proving.distances import Cell
    from dpcp_audit.proving.sources import FunctionSource


_DEEPEST = 40


class Reader(Expressions):
    """Reads one function on records of a stated size, range and neighbour relation."""

    ends_in_errors = True
    """True where an uncaught error counts as an output: for privacy, but not for coverage."""

    # ------------------------------------------------------------------ what is observed

    def decided(self, name: str, a: Value, b: Value) -> Value | None:
        """Return the answer of a noisy threshold on this path; None of any other comparison."""
        answer = compared(self, name, a, b)
        return None if answer is None else PublicAnswer((), answer)

    def release(self, value: Value) -> Value:
        """Observe a value: charge for its noise, and return what is public then."""
        if isinstance(value, Noise):
            self.use(value.draw, ITSELF)
            plainly = value.whole and value.shape == () and not value.moved
            return WHOLE if plainly else value.released
        if isinstance(value, Inverse):
            self.use(value.draw, ITSELF)
            return value.released
        if isinstance(value, Noisy):
            vector = self._vector_of(value)
            if vector is not None:
                self.release(vector)
            elif self._takes_back(value) or not self.use(value.noise.draw, value.token):
                self.charge(noise_rules.charge_of(self, value))
            return noise_rules.released(value)
        if isinstance(value, torch_values.Tensor):
            return torch_values.released(self, value)
        if isinstance(value, Difference):
            if not released(self, value):
                raise self.refuse("a gap to a noisy threshold is used that was not found beyond it")
            return Public(())
        if isinstance(value, tuple) and not is_known(value):
            return tuple(self.release(each) for each in value)
        return value

    def _takes_back(self, value: Noisy) -> bool:
        """Return True if the place of the largest was shown before: it follows from the values."""
        draw, path = value.noise.draw, self.path
        token, charge = self.maxima.get(path.used.get(draw, 0), (0, None))
        if charge is None or token != value.token or draw in path.unsure:
            return False
        path.used[draw] = token
        path.ledger = path.ledger.without(charge)
        return True

    def _vector_of(self, value: Noisy) -> Noisy | None:
        """Return the vector that a noisy number was made a part of on this path, or None."""
        moved = self.path.used.get(value.noise.draw)
        for key, (token, vector) in self.vectors.items():
            if token == moved and any(each == value.token for each, *_ in key):
                return vector
        return None

    def public(self, value: Value, what: str, hint: str = "") -> Value:
        """Observe a value that must be public: of a condition, an index, a result."""
        value = self.release(self.opened(value))
        if isinstance(value, tuple) and not is_known(value):
            return tuple(self.public(each, what, hint) for each in value)
        if isinstance(value, Private) and not value.bare:
            raise Refusal(value.line or self.line, value.reason, value.hint, self.file)
        if is_data(value):
            raise self.leak(
                f"{what} depends on {arithmetic.kind(value)} without noise",
                hint or arithmetic.remedy(self, value),
            )
        if not is_public(value):
            raise self.refuse(f"{what} is {arithmetic.kind(value)}, which is not followed")
        return value

    # ------------------------------------------------------------------ lists and arrays

    def opened(self, value: Value) -> Value:
        """Return the contents of a list, in depth; other values as they are."""
        if isinstance(value, Reference):
            if gathering.is_shown(self, value):
                return UNKNOWN
            if self.cells(value).kind == "object" and self.depth:
                raise self.refuse("an object is taken as text or as a number")
            return tuple(self.opened(each) for each in self.cells(value).items)
        if isinstance(value, Once):
            return tuple(self.opened(each) for each in value.items)
        if isinstance(value, tuple) and not is_known(value):
            return tuple(self.opened(each) for each in value)
        return value

    def gathered(self, value: Value) -> Value:
        """Return a list of numbers as one array."""
        return gathering.gathered(self, value)

    def entries_or_none(self, value: Value) -> tuple[Value, ...] | None:
        """Return the items of a loop over a value; None where they are not known."""
        return gathering.entries(self, value)

    # ------------------------------------------------------------------ comprehensions

    def _read_ListComp(self, node: ast.ListComp) -> Value:
        found = self.comprehension(node)
        of_each = isinstance(found, Records | torch_values.Each)
        return replace(found, listed=True) if of_each else self.listed(found)

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp) -> Value:
        """Return the entries of a comprehension, or one value that stands for each record's."""
        if any(each.is_async for each in node.generators):
            raise self.refuse("an asynchronous comprehension")
        found_entries = self.through_entries(node.generators[0], node.elt)
        if found_entries is not None and len(node.generators) == 1:
            generator, elt = found_entries
            node = ast.copy_location(type(node)(elt, [generator]), node)
        with self.scope():
            first = self.read(node.generators[0].iter)
            if isinstance(first, Records | Together | torch_values.Each):
                return self._over_records(node, first)
            found: list[Value] = []
            self._rounds(node, 0, first, found)
        return tuple(found)

    @contextmanager  # pyright: ignore[reportDeprecated]
    def scope(self) -> Iterator[None]:
        """Open a scope for the variables of a comprehension."""
        outer, name = self.frame, next(tokens)
        self.path.frames[name] = Frame({}, self.path.frames[outer].source, outer)
        self.frame = name
        yield
        self.frame = outer
        if name not in self._captured:
            self.path.frames.pop(name, None)

    def _rounds(self, node: Any, depth: int, iterable: Value, found: list[Value]) -> None:
        generator = node.generators[depth]
        before = len(self.iterated)
        self.iterated += sources_of(iterable)
        for item in self.entries(iterable, "a loop"):
            self.bind(generator.target, item)
            if not all(map(self._is_kept, generator.ifs)):  # the first that fails is the last read
                continue
            if depth + 1 < len(node.generators):
                inner = self.read(node.generators[depth + 1].iter)
                self._rounds(node, depth + 1, inner, found)
            else:
                found.append(self.read(node.elt))
        del self.iterated[before:]

    def _is_kept(self, test: ast.expr) -> bool:
        """Return True if a condition of a comprehension holds."""
        known: bool | None = self.truth(self.read(test))
        if known is None:
            raise self.refuse("the length of a list depends on a released value")
        return known

    def _over_records(self, node: Any, iterable: Records | Together | torch_values.Each) -> Value:
        records = torch_values.records_of(self, iterable)
        if len(node.generators) > 1 or self.each_record:
            raise self.refuse("a loop over records in a loop over records")
        generator = node.generators[0]
        reports = None if torch_loops.is_of_tensors(self, iterable, node.elt) else self.reports
        if reports is not None and reports.draws(self, node.elt):
            if generator.ifs or iterable is not records:
                raise self.refuse("reports of the records that meet a condition, or beside others")
            return reports.RecordReports(self, records, generator.target).comprehension(node.elt)
        with self.for_each_record(records):
            self.bind(generator.target, self.single(iterable))
            tests: list[Value] = []
            for each in generator.ifs:
                tests.append(self.read(each))
                self.for_some = True
            value = self.read(node.elt)
        for test in tests:
            if not (isinstance(test, Records) and test.boolean and test.single):
                raise self.refuse(
                    "records are chosen by something other than a condition on each record"
                )
        if is_scalar(value):
            number = rational_of(value)
            if number is None:
                raise self.refuse("a number for each record that is not known exactly")
            given = {"floats": isinstance(value, float), "entry_type": type_of(value)}
            value = records.within(number, number, single=True, **given)
        if not isinstance(value, Records) or not value.single:
            return torch_values.listed(self, value, some=bool(tests))
        return value.within(
            value.low,
            value.high,
            single=False,
            boolean=value.boolean,
            floats=value.floats,
            whole=value.whole,
            ends=value.ends,
            order=next(tokens) if tests else records.order,
            chosen=records.chosen or bool(tests),
            cell=_cell_of(records, tests) if records.chosen or tests else value.cell,
            listed=True,
        )

    @contextmanager  # pyright: ignore[reportDeprecated]
    def for_each_record(self, records: Records) -> Iterator[None]:
        """Read for one record what is done for each: nothing may be drawn, used or stored."""
        heap, ledger, used = dict(self.path.heap), self.path.ledger, dict(self.path.used)
        self.each_record, self.for_some = True, records.chosen
        with warnings.catch_warnings(action="error"):  # a warning for each record, or for some
            yield
        self.each_record, self.for_some = False, False
        stored = any(self.path.heap.get(name) is not cells for name, cells in heap.items())
        if stored or self.path.ledger != ledger or self.path.used != used:
            raise self.refuse("a loop over records draws, releases or stores")

    @classmethod
    def single(cls, records: Value) -> Value:
        """Return the entry of one record; of what is taken together a tuple."""
        if isinstance(records, Together):
            return tuple(map(cls.single, records.items))
        if isinstance(records, ClassRows):
            return replace(records, records=cls.single(records.records))
        if isinstance(records, torch_values.Each):
            return replace(records, batched=False, token=next(tokens))
        plainly = isinstance(records, Records)
        return replace(records, ordered=False, single=True, listed=False) if plainly else records

    # ------------------------------------------------------------------ calls

    def _read_Call(self, node: ast.Call) -> Value:
        function = self.read(node.func)
        if function is next and isinstance(node.args[0], ast.GeneratorExp):
            return self._first(node, node.args[0])
        args: list[Value] = []
        waiting: dict[int, Contents] = {}
        for each in node.args:
            if isinstance(each, ast.Starred):
                args.extend(self.entries(self.read(each.value), "an unpacked argument"))
            elif (generator := self._generator(each)) is not None:
                args.append(self._generated(function, node, generator))
            else:
                args.append(self.read(each))
            if len(args) == 1 and isinstance(args[0], SampledPlaces) and self.reports is not None:
                reports = self.reports.chosen_by_coins(self, function, args[0], node)
                if reports is not None:
                    return reports
            if isinstance(args and args[-1], Once | Together):
                waiting = waiting or dict(self.path.heap)
        kw = self._named(node.keywords)
        self.line = node.lineno
        if self._has_changed(waiting):
            raise self.refuse("something is changed while an iterator waits")
        kept = any(map(is_iterator, (*args, *kw.values())))
        if kept and not calls.consumes(self, function):
            raise self.refuse("an iterator is kept")
        self._keep_copies(node, function)
        return self.call(function, args, kw)

    def _named(self, nodes: list[ast.keyword]) -> dict[str, Value]:
        """Return keyword arguments, and those of dictionaries that are unpacked."""
        found: dict[str, Value] = {}
        for node in nodes:
            value = self.read(node.value)
            given = {node.arg: value} if node.arg is not None else self._unpacked_dict(value)
            if given.keys() & found.keys():
                raise self.refuse("raises TypeError: an argument is given twice")
            found |= given
        return found

    def _unpacked_dict(self, value: Value) -> dict[str, Value]:
        cells = self.cells(value) if isinstance(value, Reference) else None
        if cells is None or cells.kind != "dict" or not all(type(k) is str for k in cells.keys):
            raise self.refuse("keyword arguments are unpacked from what is no dictionary")
        return dict(zip(cells.keys, cells.items, strict=True))

    def _keep_copies(self, node: ast.Call, method: Value) -> None:
        """Keep whether a call is of a method of an array that gives a copy of it, each time."""
        given = {"astype": 1, "copy": 0}
        if not isinstance(method, BoundMethod) or method.name not in given:
            self.copies.pop(node, None)
            return
        owner = method.owner
        arrays = not isinstance(owner, Reference) or self.cells(owner).kind == "array"
        copies = arrays and len(node.args) == given[method.name] and not node.keywords
        self.copies[node] = copies and self.copies.get(node, True)

    def _generator(self, node: ast.expr) -> ast.GeneratorExp | None:
        """Return a generator, also as ``map(f, values)`` or ``filter(f, values)``; else None."""
        if isinstance(node, ast.GeneratorExp):
            return node
        called = isinstance(node, ast.Call) and len(node.args) == 2 and not node.keywords
        if not isinstance(node, ast.Call) or not called or not isinstance(node.func, ast.Name):
            return None
        of, (given, values) = self.read(node.func), node.args
        if (of is not map and of is not filter) or isinstance(values, ast.Starred):
            return None
        name = f"what is applied at {node.lineno}:{node.col_offset}"
        item = ast.Name("an item", ast.Load())
        self.bind(ast.Name(name, ast.Store()), self.read(given))
        result = ast.Call(ast.Name(name, ast.Load()), [item], [])
        tests: list[ast.expr] = [] if of is map else [result]
        each = ast.comprehension(ast.Name(item.id, ast.Store()), values, tests, is_async=0)
        found = ast.GeneratorExp(result if of is map else item, [each])
        return ast.fix_missing_locations(ast.copy_location(found, node))

    def _first(self, node: ast.Call, generator: ast.GeneratorExp) -> Value:
        """Read ``next((x for item in items if test), value)`` as the loop that it stands for."""
        one, default = generator.generators[0], node.args[-1]
        acts = any(isinstance(each, ast.NamedExpr) for each in ast.walk(node))
        if acts or not isinstance(default, ast.Constant | ast.Name):
            raise self.refuse("next() without a plain default, or that names something")
        if len(generator.generators) > 1 or len(node.args) > 2 or node.keywords:
            raise self.refuse("next() of a generator of two loops, or with a third argument")
        otherwise = ast.arg("the default")
        body: list[ast.stmt] = [ast.Return(generator.elt)]
        for test in reversed(one.ifs):
            body = [ast.If(test, body, [])]
        body = [
            ast.For(one.target, one.iter, body, []),
            ast.Return(ast.Name(otherwise.arg, ast.Load())),
        ]
        arguments = ast.arguments([], [otherwise], None, [], [], None, [])
        made = ast.FunctionDef("first", arguments, body, [])
        made = ast.fix_missing_locations(ast.copy_location(made, node))
        source = self.path.frames[self.frame].source
        return self.inline(source, made, (), [self.read(default)], {}, parent=self.frame)

    def _generated(self, function: Value, node: ast.Call, each: ast.GeneratorExp) -> Value:
        """Return the entries of a generator, which the called function goes through at once."""
        if not calls.exhausts(function) or len(node.args) > 1 or node.keywords:
            raise self.refuse("a generator is kept")
        heap = dict(self.path.heap)
        found = self.comprehension(each)
        if function in (any, all) and self._has_changed(heap):
            raise self.refuse("any() and all() stop early, and their argument changes something")
        return found if isinstance(found, Records | torch_values.Each) else Once(found)

    def _has_changed(self, heap: dict[int, Contents]) -> bool:
        return any(self.path.heap.get(name) is not cells for name, cells in heap.items())

    def call(self, function: Value, args: list[Value], kw: dict[str, Value]) -> Value:
        """Return the result of a call."""
        if isinstance(function, Closure):
            return self.inline(
                function.source, function.node, function.defaults, args, kw, parent=function.frame
            )
        if isinstance(function, BoundMethod):
            home = torch_calls if torch_calls.is_own(function.owner) else attributes
            return home.method(self, function.owner, function.name, args, kw)
        if isinstance(function, opendp_measurements.Handle):
            return opendp_measurements.measured(self, function, args, kw)
        if isinstance(function, Reference) and self.cells(function).kind == "object":
            return objects.method(self, function, "__call__", args, kw)
        of_torch = torch_calls.rule_of(function)
        if of_torch is not None:
            return torch_calls.called(self, of_torch, args, kw)
        return calls.function(self, function, args, kw)

    def inline(
        self,
        source: FunctionSource,
        node: Any,
        defaults: tuple[tuple[str, Value], ...],
        args: list[Value],
        kw: dict[str, Value],
        *,
        parent: int | None = None,
    ) -> Value:
        """Read a function's body with these arguments, and return its value."""
        if self.depth >= _DEEPEST:
            raise self.refuse("functions call each other too deeply")
        if self.each_record and not _is_straight(node):
            raise self.refuse("a function is called for each record")
        line, file, frame = self.line, self.file, self.frame
        variables = calls.bound_arguments(self, node.args, dict(defaults), args, kw)
        name = next(tokens)
        lent, of_others = names_lent(node), names_of_others(node)
        self.path.frames[name] = Frame({}, source, parent, locals_of(node), lent, of_others)
        self.frame, self.file, self.depth = name, source.file, self.depth + 1
        for each, given in variables.items():
            self.assign(each, given)
        value = self.read(node.body) if isinstance(node, ast.Lambda) else self.body(node)
        self.line, self.file, self.frame, self.depth = line, file, frame, self.depth - 1
        if of_others & self.path.frames[name].variables.keys():
            raise self.refuse(
                "a name of another function is assigned in a way that is not followed"
            )
        if name not in self._captured:
            self.path.frames.pop(name, None)
        return value


def _cell_of(records: Records, tests: list[Value]) -> Cell | None:
    """Return the cell of the records of a comprehension that are chosen; None where all are."""
    if records.chosen:
        return records.cell
    cell = None
    for test in tests:
        cell = in_both(cell, test.cell)
    return cell


def _is_straight(node: ast.FunctionDef | ast.Lambda) -> bool:
    """Return True of a function that names values, and returns one at its end alone."""
    if isinstance(node, ast.Lambda):
        return True
    *body, last = [each for each in node.body if not _is_text(each)] or [ast.Pass()]
    named = all(
        isinstance(each, ast.Assign) and all(isinstance(one, ast.Name) for one in each.targets)
        for each in body
    )
    return named and isinstance(last, ast.Return)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
