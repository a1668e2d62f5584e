"""Statements: assignments, branches and loops, and how the paths through them meet."""

# pyright: reportUnknownArgumentType=false
from __future__ import annotations

import ast
import sys
import types
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcp_audit.proving import attributes, gaps, gathering, objects
from dpcp_audit.proving.arithmetic import kind
from dpcp_audit.proving.distances import (
    UNKNOWN,
    Noise,
    Noisy,
    Private,
    Public,
    Records,
    Reference,
    Statistic,
    Value,
    Weights,
    is_iterator,
    same,
    shape_of,
)
from dpcp_audit.proving.loop_forms import Accumulation
from dpcp_audit.proving.paths import Contents, Path, join_paths, join_returns
from dpcp_audit.proving.sources import OF_EVERY_CLASS


@dataclass(slots=True)
class Ends:
    """The states in which a block is left: at its end, by break, by continue, by return."""

    after: Path | None = None
    broken: Path | None = None
    continued: Path | None = None
    returned: tuple[Path, Value] | None = None

    def join(self, other: Ends, line: int) -> Ends:
        """Return the ends of either of two branches."""
        return Ends(
            join_paths(self.after, other.after, line),
            join_paths(self.broken, other.broken, line),
            join_paths(self.continued, other.continued, line),
            join_returns(self.returned, other.returned, line),
        )


class Statements(Accumulation):
    """The part of the interpreter that reads statements."""

    reports: Any

    def body(self, node: ast.FunctionDef) -> Value:
        """Read a function's body; the state is then that of all its ends."""
        ends = self.block(node.body)
        if ends.broken or ends.continued:
            raise self.refuse("break or continue outside of a loop")
        fallen = None if ends.after is None else (ends.after, None)
        found = join_returns(ends.returned, fallen, self.line)
        if found is None:
            raise self.refuse("every path raises an exception")
        self.path = found[0]
        return found[1]

    def block(self, body: list[ast.stmt]) -> Ends:
        """Read statements one after the other."""
        ends = Ends(self.path)
        for node in body:
            if ends.after is None:
                break
            self.path = ends.after
            self.line = node.lineno
            reader = getattr(self, "_do_" + type(node).__name__, None)
            if reader is None:
                raise self.refuse(f"{type(node).__name__} is not followed")
            found = reader(node) or Ends(self.path)
            ends.after = None
            ends = ends.join(found, node.lineno)
        return ends

    def branch(self, path: Path, body: list[ast.stmt]) -> Ends:
        """Read a block from a state of its own."""
        self.path = path
        return self.block(body)

    # ------------------------------------------------------------------ simple statements

    def _do_With(self, node: ast.With) -> Ends:
        """Read ``with np.errstate(...="ignore")``, which keeps NumPy from warning."""
        before = self.quiet
        for each in node.items:
            call = each.context_expr
            named = each.optional_vars is not None
            if named or not isinstance(call, ast.Call) or self.read(call.func) is not np.errstate:
                raise self.refuse("a context that is not followed")
            settings = {one.arg: self.read(one.value) for one in call.keywords}
            if call.args or set(settings.values()) != {"ignore"}:
                raise self.refuse("NumPy's warnings are made errors, or stay")
            self.quiet = self.quiet or bool(settings.keys() & {"all", "divide"})
        ends = self.block(node.body)
        self.quiet = before
        return ends

    def _do_Try(self, node: ast.Try) -> Ends:
        """Read a body that may be left by an exception, and what is done then.

        Nothing that is followed raises by the data. What the body assigns or stores is not known
        where it was left.
        """
        self.doubt("errors are caught")
        start, outer = self.path.fork(), self.trying
        self.trying = True
        ends = self.block(node.body)
        self.trying = outer
        done = [ends.after, ends.broken, ends.continued, ends.returned and ends.returned[0]]
        left = start
        for path in done:
            left = join_paths(left, None if path is None else path.fork(), node.lineno) or left
        left = interrupted(start, left, node)
        if ends.after is not None:
            found = self.branch(ends.after, node.orelse)
            ends = found.join(Ends(None, ends.broken, ends.continued, ends.returned), node.lineno)
        for handler in node.handlers:
            if handler.name is not None:
                raise self.refuse("an exception is looked at")
            if not all(map(self._is_exception, _handled(handler.type))):
                raise self.refuse("what is caught is no exception that is followed")
            ends = ends.join(self.branch(left.fork(), handler.body), node.lineno)
        if node.finalbody:
            raise self.refuse("finally is not followed")
        return ends

    def _is_exception(self, node: ast.expr) -> bool:
        """Tell whether an expression names a class of exceptions, and does nothing."""
        if not isinstance(node, ast.Name):
            return False
        found = self.read(node)
        if type(found) is not type or not issubclass(found, BaseException):
            return False
        own = [each for each in found.__mro__ if each.__module__ != "builtins"]
        return all(vars(each).keys() <= OF_EVERY_CLASS for each in own)

    def _do_Expr(self, node: ast.Expr) -> None:
        self.read(node.value)

    def _do_Pass(self, node: ast.Pass) -> None:
        """Nothing happens."""

    def _do_Assign(self, node: ast.Assign) -> None:
        value = self.read(node.value)
        for target in node.targets:
            self.bind(target, value)

    def _do_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.bind(node.target, self.read(node.value))
        elif not isinstance(node.target, ast.Name):
            raise self.refuse("what is annotated is computed, and not assigned")

    def _do_AugAssign(self, node: ast.AugAssign) -> None:
        name = type(node.op).__name__
        if isinstance(node.target, ast.Subscript):
            owner = self.read(node.target.value)
            index = self.read_index(node.target.slice)
            old = gathering.element(self._reader, owner, index)
            if isinstance(old, Reference):
                raise self.refuse("a list that is an entry is changed in place")
            new = self.operate(name, old, self.read(node.value))
            self._check_in_place(old, new)
            gathering.store(self._reader, owner, index, new)
            return
        place: Value = None
        if isinstance(node.target, ast.Name):
            old = self.read(ast.copy_location(ast.Name(node.target.id, ast.Load()), node))
        else:
            place = self.read(node.target.value)
            old = attributes.attribute(self._reader, place, node.target.attr)
        given = self.read(node.value)
        if isinstance(old, Reference):
            self._change_in_place(old, name, given)
            return
        new = self.operate(name, old, given)
        self._check_in_place(old, new)
        if isinstance(node.target, ast.Name):
            self.bind(node.target, new)
        else:
            objects.set_attribute(self._reader, place, node.target.attr, new)

    def _change_in_place(self, old: Reference, name: str, given: Value) -> None:
        """Change a list under all of its names."""
        cells = gathering.changeable(self._reader, old)
        if cells.kind != "list" or name != "Add" or self.each_record:
            raise self.refuse(f"{name} changes an array in place", "write x = x + ... instead")
        items = (*cells.items, *self.entries(given, "a list"))
        self.path.heap[old.address] = type(cells)("list", items)

    def _check_in_place(self, old: Value, new: Value) -> None:
        """Refuse to change an array that has another name, too, as its copy here would not."""
        shape = shape_of(old)
        one = shape == () or isinstance(old, str | tuple | type(None))
        if not isinstance(old, np.ndarray) and (one or (isinstance(old, Records) and old.single)):
            return
        if isinstance(old, Statistic) and not (
            old.floats or (isinstance(new, Statistic) and not new.floats)
        ):
            raise self.refuse("doubles are stored in an array of whole numbers, perhaps")
        names = sum(_shares(old, each) for each in (*self.path.bindings(), *self.iterated))
        if names != 1 or not isinstance(old, Statistic | Noise | Noisy | Weights | gaps.Gaps):
            raise self.refuse(
                f"{kind(old)} is changed in place, under more than one name perhaps",
                "write x = x + ... instead of x += ...",
            )

    def bind(self, target: ast.expr, value: Value) -> None:
        """Assign a value to a name, several names, or a place."""
        if is_iterator(value) and not isinstance(target, ast.Tuple | ast.List):
            raise self.refuse("an iterator is kept")
        if isinstance(target, ast.Name):
            self.path.frames[self.frame].variables[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            if any(isinstance(each, ast.Starred) for each in target.elts):
                raise self.refuse("a starred assignment")
            items = self._unpacked(value, len(target.elts))
            for each, item in zip(target.elts, items, strict=True):
                self.bind(each, item)
        elif isinstance(target, ast.Subscript):
            owner = self.read(target.value)
            if self.each_record:
                raise self.refuse("something is stored for each record")
            gathering.store(self._reader, owner, self.read_index(target.slice), value)
        elif isinstance(target, ast.Attribute):
            objects.set_attribute(self._reader, self.read(target.value), target.attr, value)
        else:
            raise self.refuse("a starred assignment")

    def _unpacked(self, value: Value, count: int) -> tuple[Value, ...]:
        if isinstance(value, Public) and value.shape is None:
            return (UNKNOWN,) * count
        items: tuple[Value, ...] = self.entries(value, "an unpacked value")
        if len(items) != count:
            raise self.refuse("raises ValueError: a wrong number of values to unpack")
        return items

    def _do_Return(self, node: ast.Return) -> Ends:
        value = None if node.value is None else self.read(node.value)
        return Ends(returned=(self.path, value))

    def _do_Break(self, node: ast.Break) -> Ends:
        return Ends(broken=self.path)

    def _do_Continue(self, node: ast.Continue) -> Ends:
        return Ends(continued=self.path)

    def _do_Raise(self, node: ast.Raise) -> Ends:
        for each in (node.exc, node.cause):
            raised = each.func if isinstance(each, ast.Call) else each
            if isinstance(each, ast.Call):
                for value in (*each.args, *(one.value for one in each.keywords)):
                    self.public(self.read(value), "an exception's text")
            if raised is not None and not self._is_exception(raised):
                raise self.refuse("an exception that is not followed")
        if self.trying:
            raise self.refuse("an exception is raised and caught")
        self.ended = self.ended.join(self.path.ledger)
        return Ends()

    def _do_Assert(self, node: ast.Assert) -> None:
        if self.trying:
            raise self.refuse("an assertion whose failure is caught")
        if not __debug__:
            return  # Python leaves assertions out
        known = self.truth(self.read(node.test))
        if node.msg is not None and known is not True:
            going, self.path = self.path, self.path.fork()
            self.public(self.read(node.msg), "an exception's text")
            self.ended = self.ended.join(self.path.ledger)
            self.path = going

    def _do_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.decorator_list:
            raise self.refuse("a decorated function in a function")
        self._check_annotations(node)
        generates = any(isinstance(each, ast.Yield | ast.YieldFrom) for each in ast.walk(node))
        if generates:
            raise self.refuse("a generator is defined")
        names = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
        given = node.args.defaults
        pairs = [
            (name, self.read(each))
            for name, each in zip(names[len(names) - len(given) :], given, strict=True)
        ]
        pairs += [
            (arg.arg, self.read(each))
            for arg, each in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            if each is not None
        ]
        if any(isinstance(value, Reference) for _, value in pairs):
            raise self.refuse("a default that can change")
        self.bind(ast.Name(node.name, ast.Store()), self.closure(node, tuple(pairs)))

    def _check_annotations(self, node: ast.FunctionDef) -> None:
        """Refuse annotations that may act: Python computes them where the function is defined."""
        args = [each for each in ast.walk(node.args) if isinstance(each, ast.arg)]
        for each in (node.returns, *(one.annotation for one in args)):
            plain = each is None or isinstance(each, ast.Name | ast.Constant)
            of_module = (
                isinstance(each, ast.Attribute)
                and isinstance(each.value, ast.Name)
                and isinstance(self.read(each.value), types.ModuleType)
            )
            if not plain and not of_module:
                raise self.refuse("an annotation of a function in a function is not followed")

    def _do_Import(self, node: ast.Import) -> None:
        for each in node.names:
            if each.name not in {"math", "numpy", "random"} or each.name not in sys.modules:
                raise self.refuse(f"an import of {each.name} inside the function")
            self.bind(ast.Name(each.asname or each.name, ast.Store()), sys.modules[each.name])

    # ------------------------------------------------------------------ branches

    def _do_If(self, node: ast.If) -> Ends:
        known = self.truth(self.read(node.test))
        if known is not None:
            return self.block(node.body if known else node.orelse)
        start = self.path
        other = start.fork()
        return self.branch(start, node.body).join(self.branch(other, node.orelse), node.lineno)


def _handled(node: ast.expr | None) -> list[ast.expr]:
    """Return the classes of exceptions that a handler names."""
    if node is None:
        return []
    return list(node.elts) if isinstance(node, ast.Tuple) else [node]


def interrupted(before: Path, after: Path, node: ast.Try) -> Path:
    """Return the state in which a body may be left at any place: what it changes is lost."""
    reason = "it is assigned where an exception may have come before"
    names = {each.id for part in node.body for each in ast.walk(part) if isinstance(each, ast.Name)}
    assigned = {
        each.id
        for part in node.body
        for each in ast.walk(part)
        if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load)
    }
    for name, frame in after.frames.items():
        old = before.frames[name].variables if name in before.frames else {}
        for each in names & frame.variables.keys():
            if each in assigned or not same(old.get(each), frame.variables[each]):
                frame.variables[each] = Private(node.lineno, reason)
    for address, cells in after.heap.items():
        if before.heap.get(address) is not cells:
            after.heap[address] = Contents("lost", (Private(node.lineno, reason),))
    return after


def _shares(a: Value, b: Value) -> bool:
    """Tell whether two values are, or may be, the same memory."""
    if a is b:
        return True
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return np.may_share_memory(a, b)
    if isinstance(a, Statistic) and isinstance(b, Statistic):
        return bool(a.memory & b.memory)
    if isinstance(a, Noise) and isinstance(b, Noise):
        shorter = min(len(a.draw), len(b.draw))
        return a.draw[:shorter] == b.draw[:shorter]
    return False
