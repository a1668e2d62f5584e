"""Statements: assignments, branches and loops, and how the paths through them meet."""

# pyright: reportUnknownArgumentType=false
from __future__ import annotations

import ast
import builtins
import copy
import importlib
import itertools
import sys
import types
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from dpcp_audit.proving import attributes, gaps, gathering, objects
from dpcp_audit.proving.arithmetic import kind
from dpcp_audit.proving.distances import (
    UNKNOWN,
    Leak,
    Lent,
    Noise,
    Noisy,
    Private,
    Public,
    Records,
    Reference,
    Refusal,
    Statistic,
    Value,
    Weights,
    is_data,
    is_iterator,
    is_public,
    shape_of,
)
from dpcp_audit.proving.exact_numbers import is_scalar
from dpcp_audit.proving.list_weights import Weight
from dpcp_audit.proving.loop_forms import shown_counts
from dpcp_audit.proving.paths import (
    Choices,
    Contents,
    End,
    Joining,
    Path,
    holds,
    join_ends,
    join_paths,
)
from dpcp_audit.proving.reading import Interpreter
from dpcp_audit.proving.sources import admitted, assigned_in, names_in
from dpcp_audit.proving.thresholds import Present

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")
_IMPORTED = {"math", "numpy", "random", "torch", "torch.func", "torch.nn.functional"}
_LIBRARIES = {"scipy", "scipy.stats", "scipy.special", "diffprivlib.mechanisms", "opendp.prelude"}
"""Modules that a function may import, beside those above; they are loaded as it would load them."""


_MOST_PATHS, _MOST_ANSWERS = 25, 2_000
"""Paths between the answers of noisy thresholds at one point; and answers, on all paths."""


@dataclass(slots=True)
class Ends:
    """The states in which a block is left: at its end, by break, by continue, by return."""

    after: tuple[Path, ...] = ()
    broken: tuple[Path, ...] = ()
    continued: tuple[Path, ...] = ()
    returned: tuple[End, ...] = ()

    def join(self, *others: Ends, line: int, apart: bool = False) -> Ends:
        """Return the ends of any of several branches."""
        every = (self, *others)
        return Ends(
            join_paths(tuple(path for each in every for path in each.after), line, apart=apart),
            join_paths(tuple(path for each in every for path in each.broken), line, apart=apart),
            join_paths(tuple(path for each in every for path in each.continued), line, apart=apart),
            join_ends(tuple(end for each in every for end in each.returned), line, apart=apart),
        )


class Statements(Interpreter):
    """The part of the interpreter that reads statements."""

    ends_in_errors: bool
    read_index: Any
    truth: Any
    closure: Any
    made_at: Any
    taken_at: Any

    def body(self, node: ast.FunctionDef) -> Value:
        """Read a function's body; the state is then that of all its ends."""
        ends = self.block(node.body)
        if ends.broken or ends.continued:
            raise self.refuse("break or continue outside of a loop")
        apart = self.answers.apart and self.depth > 1
        fallen: Iterator[End] = ((each, None) for each in ends.after)
        found = join_ends((*ends.returned, *fallen), self.line, apart=apart)
        if not found:
            raise AssertionError("a path has an end")
        several = len(found) > 1
        self.path, value = found[self.answers.choices.choose(len(found)) if several else 0]
        return value

    def block(self, body: list[ast.stmt]) -> Ends:
        """Read statements one after the other."""
        ends = Ends((self.path,))
        for place, given in enumerate(body):
            node = _going_on(given, body[place + 1 :])
            starts, ends.after = ends.after, ()
            self._require_few(len(starts))
            read = partial(self._statement, node)
            found = [each for path in starts for each in self.ways(path, node.lineno, read)]
            ends = ends.join(*found, line=node.lineno, apart=self.answers.apart)
        return ends

    def ways(self, path: Path, line: int, read: Callable[[], T]) -> Iterator[T]:
        """Yield what is read from a state, for each sequence of answers of noisy thresholds."""
        outer, given = self.answers.choices, cast("tuple[int, ...] | None", ())
        for read_before in itertools.count():
            if given is None:
                return
            self._require_few(read_before)
            self.answers.choices = Choices(given)
            self.line, self.path = line, path.fork() if self.answers.apart else path
            found, given = read(), self.answers.choices.following()
            self.answers.choices = outer
            yield found

    def _require_few(self, paths: int) -> None:
        """Refuse answers of noisy thresholds that have too many paths, as it would take long."""
        if paths >= _MOST_PATHS or self.answers.read > _MOST_ANSWERS:
            self.answers.too_many = True
            raise self.refuse(
                "the answers of noisy thresholds take more paths than are read",
                "count those beyond the threshold, and stop after a fixed number: if found == c",
            )

    def _statement(self, node: ast.stmt) -> Ends:
        """Read one statement."""
        reader = getattr(self, "_do_" + type(node).__name__, None)
        if reader is None:
            raise self.refuse(f"{type(node).__name__} is not followed")
        return reader(node) or Ends((self.path,))

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

    def _do_Expr(self, node: ast.Expr) -> None:
        self.read(node.value)

    def _do_Pass(self, node: ast.Pass) -> None:
        """Nothing happens."""

    def _do_Assign(self, node: ast.Assign) -> None:
        value = self.read(node.value)
        made, taken = self.made_at(node.value) or node.lineno, self.taken_at(node.value)
        for target in node.targets:
            self.bind(target, value)
            names = names_in(target)
            bare = is_data(value) and not isinstance(value, Records)
            self.made |= {(self.frame, name): made if bare else 0 for name in names}
            self.taken |= {(self.frame, name): taken if bare else 0 for name in names}

    def _do_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.bind(node.target, self.read(node.value))
        elif not isinstance(node.target, ast.Name):
            raise self.refuse("an annotation without a value is on something other than a name")

    def _do_AugAssign(self, node: ast.AugAssign) -> None:
        name = type(node.op).__name__
        if isinstance(node.target, ast.Subscript):
            owner = self.read(node.target.value)
            index = self.read_index(node.target.slice)
            old = gathering.element(self, owner, index)
            if isinstance(old, Reference):
                raise self.refuse("a list that is an entry is changed in place")
            new = self.operate(name, old, self.read(node.value))
            self._check_in_place(old)
            gathering.store(self, owner, index, new)
            return
        place: Value = None
        if isinstance(node.target, ast.Name):
            old = self.read(ast.copy_location(ast.Name(node.target.id, ast.Load()), node))
        else:
            place = self.read(node.target.value)
            old = attributes.attribute(self, place, node.target.attr)
        given = self.read(node.value)
        if isinstance(old, Reference):
            self._change_in_place(old, name, given)
            return
        new = self.operate(name, old, given)
        if not self._is_changed_alone(node, old, new):
            self._check_in_place(old)
        if isinstance(node.target, ast.Name):
            self.bind(node.target, new)
        else:
            objects.set_attribute(self, place, node.target.attr, new)

    def _change_in_place(self, old: Reference, name: str, given: Value) -> None:
        """Change a list, or an array that is filled, under all of its names."""
        cells = gathering.changeable(self, old)
        if cells.kind == "array" and cells.of == "float" and not self.each_record:
            self._change_entries(old, name, given)
            return
        if cells.kind != "list" or name != "Add" or self.each_record:
            raise self.refuse(f"{name} changes an array in place", "write x = x + ... instead")
        items = (*cells.items, *self.entries(given, "a list"))
        self.path.heap[old.address] = type(cells)("list", items)

    def _change_entries(self, old: Reference, name: str, given: Value) -> None:
        """Change each entry of an array of doubles by one of another array, or by one number."""
        given = self.release(self.gathered(given))
        cells = self.cells(old)
        if shape_of(given) not in {(), (len(cells.items),)}:
            raise self.refuse("an array is changed in place by one of another shape, perhaps")
        others = self.entries(given, "an array") if shape_of(given) else (given,) * len(cells.items)
        items = tuple(
            gathering.storable(self, cells, self.operate(name, item, other))
            for item, other in zip(cells.items, others, strict=True)
        )
        self.path.heap[old.address] = replace(cells, items=items)

    def _check_in_place(self, old: Value) -> None:
        """Refuse to change an array, which may have other names, or slices, or be in use."""
        number = is_scalar(old) or isinstance(old, str | tuple | Weight | None)
        number = number or shape_of(old) == ()
        if not number and not (isinstance(old, Records) and old.single):
            raise self.refuse(
                f"{kind(old)} is changed in place, under more than one name perhaps",
                "write x = x + ... instead of x += ...",
            )

    def _is_changed_alone(self, node: ast.AugAssign, old: Value, new: Value) -> bool:
        """Return True if a statement changes an array from which nothing else was made before.

        It has one name. Since a statement that always comes before, or in all of the function, that
        name is assigned new arrays alone (see ``_is_new``), and read as an operand, for a copy, or
        for its sum, its smallest or its largest entry. No loop leads back.
        """
        function = self.path.frames[self.frame].source.node
        above = _parents(function)
        if not isinstance(node.target, ast.Name) or node not in above or shape_of(old) == ():
            return False
        frame = self.path.frames[self.frame]
        if node.target.id in frame.lent | frame.of_others:
            return False
        if not isinstance(old, Statistic | Noise | Noisy | Weights | gaps.Gaps):
            return False
        doubles = isinstance(new, Statistic) and not new.floats
        if isinstance(old, Statistic) and not (old.floats or doubles):
            raise self.refuse("doubles are stored in an array of whole numbers, perhaps")
        high: ast.AST | None = node
        while high is not None:
            if isinstance(high, ast.For | ast.While):
                return False
            high = above.get(high)
        given = {each.arg for each in above if isinstance(each, ast.arg)}
        own, name = given | names_in(function, use=ast.Store), node.target.id
        made = [each for each in _before(node, above) if self._makes(each, name, own)]
        start = _end(made[0]) if made else (0, 0)
        return (bool(made) or name not in given) and all(
            self._leaves_alone(each, above, own)
            for each in above
            if isinstance(each, ast.Name) and each.id == name
            if (each.lineno, each.col_offset) < _end(node)
            if (each.lineno, each.col_offset) > start or _is_within(each, above, function)
        )

    def _makes(self, node: ast.stmt, name: str, own: set[str]) -> bool:
        """Return True if a statement gives a new array this name alone."""
        if not isinstance(node, ast.Assign) or not self._is_new(node.value, own):
            return False
        (target, *others) = node.targets
        return not others and isinstance(target, ast.Name) and target.id == name

    def _is_new(self, made: ast.expr, own: set[str]) -> bool:
        """Return True of a result of an operator, of a copy, np.array, np.copy and np.exp."""
        if not isinstance(made, ast.Call) or made in self.copies:
            return isinstance(made, ast.BinOp) or self.copies.get(made, False)
        root = made.func.value if isinstance(made.func, ast.Attribute) else None
        outside = isinstance(root, ast.Name) and root.id not in own
        plainly = len(made.args) == 1 and all(each.arg == "dtype" for each in made.keywords)
        return outside and plainly and self.read(made.func) in (np.array, np.copy, np.exp)

    def _leaves_alone(self, use: ast.Name, above: dict[ast.AST, ast.AST], own: set[str]) -> bool:
        """Return True if a use of an array's name leaves it the only one."""
        high = above[use]
        if isinstance(high, ast.Assign):
            return high.targets == [use] and self._is_new(high.value, own)
        if isinstance(high, ast.Attribute):
            call = above[high]
            if not isinstance(call, ast.Call) or call.func is not high:
                return False
            plainly = high.attr in {"sum", "min", "max"} and not (call.args or call.keywords)
            return plainly or self.copies.get(call, False)
        operand = isinstance(high, ast.BinOp | ast.UnaryOp | ast.Compare)
        operand = operand or (isinstance(high, ast.Call) and self._is_new(high, own))
        function = self.path.frames[self.frame].source.node
        if isinstance(high, ast.Return):  # of another branch
            return not _is_within(use, above, function)
        return operand or (isinstance(high, ast.AugAssign) and high.target is use)

    def bind(self, target: ast.expr, value: Value) -> None:
        """Assign a value to a name, several names, or a place."""
        if is_iterator(value) and not isinstance(target, ast.Tuple | ast.List):
            raise self.refuse("an iterator is kept")
        if isinstance(target, ast.Name):
            self.assign(target.id, value)
        elif isinstance(target, ast.Tuple | ast.List):
            items = self._unpacked(value, target.elts)
            for each, item in zip(target.elts, items, strict=True):
                self.bind(each.value if isinstance(each, ast.Starred) else each, item)
        elif isinstance(target, ast.Subscript):
            owner = self.read(target.value)
            if self.each_record:
                raise self.refuse("something is stored for each record")
            gathering.store(self, owner, self.read_index(target.slice), value)
        elif isinstance(target, ast.Attribute):
            objects.set_attribute(self, self.read(target.value), target.attr, value)
        else:
            raise self.refuse("a starred assignment")

    def assign(self, name: str, value: Value) -> None:
        """Give a variable a value, in memory where functions within its own one assign it."""
        frame = self.path.frames[self.frame]
        if name not in frame.lent | frame.of_others:
            frame.variables[name] = value
            return
        while name in frame.of_others and frame.parent is not None:
            frame = self.path.frames[frame.parent]
        held = frame.variables.get(name)
        if held is None and name in frame.lent and frame is self.path.frames[self.frame]:
            held = Lent(self.path.store(Contents("variable", ())))
            frame.variables[name] = held
        if not isinstance(held, Lent):
            raise self.refuse(f"{name} of another function is assigned, before it has a value")
        self.path.heap[held.place.address] = Contents("variable", (value,))

    def _do_Nonlocal(self, node: ast.Nonlocal) -> None:
        """Nothing happens: see ``assign``."""

    def _unpacked(self, value: Value, targets: list[ast.expr]) -> tuple[Value, ...]:
        """Return a value for each target; a starred one takes a list of what others leave."""
        starred = [at for at, each in enumerate(targets) if isinstance(each, ast.Starred)]
        if isinstance(value, Public) and value.shape is None and not starred:
            return (UNKNOWN,) * len(targets)
        items: tuple[Value, ...] = self.entries(value, "an unpacked value")
        more = len(items) - len(targets)
        if more < -len(starred) or (more and not starred):
            raise self.refuse("raises ValueError: a wrong number of values to unpack")
        if not starred:
            return items
        start, end = starred[0], starred[0] + more + 1
        return (*items[:start], self.listed(items[start:end]), *items[end:])

    def _do_Delete(self, node: ast.Delete) -> None:
        variables = self.path.frames[self.frame].variables
        for each in node.targets:
            if not isinstance(each, ast.Name) or each.id not in variables:
                raise self.refuse("del is used on something other than a variable of this function")
            del variables[each.id]

    def _do_Return(self, node: ast.Return) -> Ends:
        value = None if node.value is None else self.read(node.value)
        if self.depth == 1 and self.answers.apart:
            self.depth = 0  # an object that is returned is what it holds
            self.public(value, "what is returned")
            self.depth = 1
            frame, value = self.path.frames[self.frame], None
            others = {name: frame.variables[name] for name in frame.variables.keys() - frame.local}
            self.path.frames = {self.frame: replace(frame, variables=others)}
            self.path.heap = {}  # nothing is done any more with what its names stand for
        elif self.depth == 1 and self.ends_in_errors and isinstance(value, Noise | Noisy):
            value = self.release(value)  # now, as another branch may end in an error
        if self.depth == 1 and not is_public(value):
            self.returning = node.lineno
            self.shown = self.shown or self._without_noise(node, value)
        return Ends(returned=((self.path, value),))

    def _without_noise(self, node: ast.Return, value: Value) -> Refusal | None:
        """Return the refusal of data that the function returns, at the line to blame if known.

        That is this line, or an earlier one (see ``taken_at``). Of a list it is not known.
        """
        bare = next(filter(is_data, value if isinstance(value, tuple) else (value,)), None)
        if bare is None:
            return None
        try:
            self.public(bare, "what is returned")
        except Leak as leak:
            held = self.path.frames[self.frame].variables
            taken = self.taken_at(node)
            if holds(node, held, Reference) or taken < 0:
                return leak.unblamed()
            return leak.made_at(taken) if taken not in {0, node.lineno} else leak
        except Refusal as refusal:
            return refusal
        return None

    def _do_Break(self, node: ast.Break) -> Ends:
        return Ends(broken=(self.path,))

    def _do_Continue(self, node: ast.Continue) -> Ends:
        return Ends(continued=(self.path,))

    def _do_Try(self, node: ast.Try) -> Ends:
        """Read ``try``, whose handlers may be reached from any point of its body.

        Errors come from public values: where they are caught, all that was spent until then is
        spent, and what the body assigns, or changes in memory, is not known.
        """
        if self.each_record or node.finalbody:
            raise self.refuse("errors are caught for each record, or with finally")
        self.doubt("errors are caught")
        self.tried += 1
        ends = self._tried(node)
        self.tried -= 1
        return ends

    def _tried(self, node: ast.Try) -> Ends:
        answered, start = self.answers.read, self.path.fork()
        ends = self.block(node.body)
        if self.answers.read != answered:
            raise self.refuse("errors are caught where noisy thresholds are compared")
        caught = self._caught(node, start, ends)
        found = Ends((), ends.broken, ends.continued, ends.returned)
        for each in ends.after:
            found = found.join(self.branch(each, node.orelse), line=node.lineno)
        others = set[str]().union(*(assigned_in(each.body) for each in node.handlers))
        for path in found.after:  # noise on data is paid for where a name may hold other things
            self.path, variables = path, path.frames[self.frame].variables
            for name in sorted(others & variables.keys()):
                if isinstance(variables[name], Noisy):
                    variables[name] = self.release(variables[name])
        for handler in node.handlers:
            types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
            if not all(one is None or isinstance(one, ast.Name) for one in types):
                raise self.refuse("the type of an error that is caught is not a name")
            path = caught.fork()
            if handler.name is not None:
                held = Private(handler.lineno, "an error is used, whose text may show data")
                path.frames[self.frame].variables[handler.name] = held
            found = found.join(self.branch(path, handler.body), line=node.lineno)
        return found

    def _caught(self, node: ast.Try, start: Path, ends: Ends) -> Path:
        """Return the state in which an error of a body is caught."""
        lost = Private(node.lineno, "what it holds is not known where an error is caught")
        returned = (path for path, _ in ends.returned)
        caught = start.fork()
        for each in (*ends.after, *ends.broken, *ends.continued, *returned):
            for address, cells in start.heap.items():
                if each.heap.get(address) is not cells:
                    caught.heap[address] = Contents("lost", (lost,))
            used, unsure = Joining(caught, each, node.lineno).used()
            caught.ledger = caught.ledger.join(each.ledger)
            caught = Path(caught.frames, caught.heap, caught.ledger, used, unsure)
        caught.frames[self.frame].variables |= dict.fromkeys(assigned_in(node.body), lost)
        return caught

    def _do_Raise(self, node: ast.Raise) -> Ends:
        """Read a built-in error that nothing catches: an output, made of its type and its text."""
        call, refusal = node.exc, self.refuse("an exception is raised here")
        caught = self.tried or self.depth != 1 or self.each_record or not self.ends_in_errors
        if caught or node.cause is not None or not isinstance(call, ast.Call):
            raise refusal
        name = call.func
        if not isinstance(name, ast.Name) or call.keywords:
            raise refusal
        error: Any = self.read(name)
        own = vars(builtins).get(name.id) is error and isinstance(error, type)
        starred = any(isinstance(each, ast.Starred) for each in call.args)
        if not own or not issubclass(error, Exception) or starred:
            raise refusal
        says = [self.public(self.read(each), "the text of an error") for each in call.args]
        return Ends(returned=((self.path, ("raises", name.id, *says)),))

    def _do_Assert(self, node: ast.Assert) -> None:
        if not __debug__:
            return  # Python leaves assertions out
        try:
            known = self.truth(self.read(node.test))
        except Leak as leak:
            raise leak.unblamed() from None
        if known is not True:
            raise self.refuse("an assertion that may fail")

    def _do_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.decorator_list:
            raise self.refuse("a decorated function in a function")
        self._check_annotations(node)
        generates = any(isinstance(each, ast.Yield | ast.YieldFrom) for each in ast.walk(node))
        if generates:
            raise self.refuse("a generator is defined")
        self.bind(ast.Name(node.name, ast.Store()), self.closure(node))

    def defaults(self, args: ast.arguments) -> tuple[tuple[str, Value], ...]:
        """Return the defaults of a function that is defined here."""
        names = [each.arg for each in (*args.posonlyargs, *args.args)]
        given = args.defaults
        pairs = [
            (name, self.read(each))
            for name, each in zip(names[len(names) - len(given) :], given, strict=True)
        ]
        pairs += [
            (arg.arg, self.read(each))
            for arg, each in zip(args.kwonlyargs, args.kw_defaults, strict=True)
            if each is not None
        ]
        if any(isinstance(value, Reference) or is_iterator(value) for _, value in pairs):
            raise self.refuse("a default that can change")
        return tuple(pairs)

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
            module = _loaded(each.name)
            if module is None:
                raise self.refuse(f"an import of {each.name} inside the function")
            self.bind(ast.Name(each.asname or each.name, ast.Store()), module)

    def _do_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = None if node.level else _loaded(node.module or "")
        held: dict[str, Any] = {} if module is None else vars(module)
        for each in node.names:
            if each.name not in held:
                raise self.refuse(f"an import of {each.name} inside the function")
            value = admitted(held[each.name], each.name, self.line)
            self.bind(ast.Name(each.asname or each.name, ast.Store()), value)

    # ------------------------------------------------------------------ branches

    def _do_If(self, node: ast.If) -> Ends:
        try:
            test = self.read(node.test)
            shown = shown_counts(self, node, test) if isinstance(test, Present) else None
            known = None if shown is not None else self.truth(test)
        except Leak as leak:
            if isinstance(node.body[-1], ast.Raise):
                raise leak.unblamed() from None
            raise
        if shown is not None:
            return self.branch(self.path, shown[1]).join(Ends((shown[0],)), line=node.lineno)
        if known is not None:
            return self.block(node.body if known else node.orelse)
        start = self.path
        other = start.fork()
        found = self.branch(start, node.body)
        return found.join(self.branch(other, node.orelse), line=node.lineno)

    def _do_Match(self, node: ast.Match) -> Ends:
        """Read ``match`` by values as the ``if`` and ``elif`` that it stands for."""
        subject = ast.Name(f"what line {node.lineno} matches", ast.Load())
        value = self.read(node.subject)
        if isinstance(value, Reference | tuple):
            raise self.refuse("a list, a tuple or an object is matched")
        self.bind(subject, self.public(value, "what is matched"))
        rest: list[ast.stmt] = []
        for each in reversed(node.cases):
            tests = _tests(each.pattern, subject)
            if tests is None:
                raise self.refuse("a pattern that is no value", "match by values alone")
            parts: list[ast.expr] = [ast.BoolOp(ast.Or(), tests)] if tests else []
            parts += [] if each.guard is None else [each.guard]
            test = ast.BoolOp(ast.And(), parts) if parts else ast.Constant(True)
            one = ast.If(test, each.body, rest)
            rest = [ast.fix_missing_locations(ast.copy_location(one, each.pattern))]
        return self.block(rest)


def _tests(pattern: ast.pattern, subject: ast.Name) -> list[ast.expr] | None:
    """Return the comparisons of which one holds where a pattern matches; none if it always does.

    None of another form of a pattern, and of one that names a part of the subject.
    """
    if isinstance(pattern, ast.MatchAs) and pattern.pattern is None and pattern.name is None:
        return []
    if isinstance(pattern, ast.MatchValue):
        return [ast.Compare(subject, [ast.Eq()], [pattern.value])]
    if isinstance(pattern, ast.MatchSingleton):
        return [ast.Compare(subject, [ast.Is()], [ast.Constant(pattern.value)])]
    tests: list[ast.expr] = []
    for each in pattern.patterns if isinstance(pattern, ast.MatchOr) else [pattern]:
        plainly = isinstance(each, ast.MatchValue | ast.MatchSingleton)
        found = _tests(each, subject) if plainly else None
        if found is None:
            return None
        tests += found
    return tests


def _going_on(node: ast.stmt, rest: list[ast.stmt]) -> ast.stmt:
    """Return a loop whose breaks are replaced by what comes after it, where it fills a list.

    Each break then goes on with a list of known length. Other statements are returned as they are,
    and so is a loop after which the block may go on beyond ``rest``.
    """
    fills = any(
        isinstance(each, ast.Call) and getattr(each.func, "attr", "") in {"append", "extend"}
        for each in ast.walk(node)
    )
    ended = bool(rest) and isinstance(rest[-1], ast.Return)
    if not (ended and fills and isinstance(node, ast.For | ast.While)):
        return node
    found: ast.stmt = _with_body(node, _in_place_of_breaks(node.body, rest), node.orelse)
    return found


def _in_place_of_breaks(body: list[ast.stmt], rest: list[ast.stmt]) -> list[ast.stmt]:
    """Return statements with ``rest`` for each break of the loop that they are the body of."""
    found: list[ast.stmt] = []
    for each in body:
        if isinstance(each, ast.Break):
            found += rest
        elif isinstance(each, ast.If):
            found.append(
                _with_body(
                    each,
                    _in_place_of_breaks(each.body, rest),
                    _in_place_of_breaks(each.orelse, rest),
                )
            )
        else:
            found.append(each)
    return found


def _with_body(node: Any, body: list[ast.stmt], orelse: list[ast.stmt]) -> Any:
    """Return a statement with other blocks; the statement itself where these are its own."""
    if body == node.body and orelse == node.orelse:
        return node
    new = copy.copy(node)
    new.body, new.orelse = body, orelse
    return new


def _end(node: ast.stmt) -> tuple[int, int]:
    return node.end_lineno or 0, node.end_col_offset or 0


def _before(node: ast.stmt, above: dict[ast.AST, ast.AST]) -> Iterator[ast.stmt]:
    """Yield the statements that always come before one, in its function; the last one first."""
    low: ast.AST = node
    while low in above:
        high = above[low]
        for name in ("body", "orelse"):
            block: Any = getattr(high, name, None)
            if block and not isinstance(block, ast.AST) and low in block:
                yield from reversed(block[: block.index(low)])
        if isinstance(high, ast.FunctionDef | ast.Lambda):
            return
        low = high


def _is_within(use: ast.AST, above: dict[ast.AST, ast.AST], function: ast.AST) -> bool:
    """Return True if a use is in a function within the function, which may be called later."""
    while use in above and use is not function:
        use = above[use]
        if isinstance(use, ast.FunctionDef | ast.Lambda) and use is not function:
            return True
    return False


def _loaded(name: str) -> types.ModuleType | None:
    """Return a module that a function may import; None of any other, or where there is none."""
    if name in _LIBRARIES and name not in sys.modules:
        try:
            importlib.import_module(name)
        except ImportError:
            return None
    return sys.modules.get(name) if name in _IMPORTED | _LIBRARIES else None


@lru_cache(maxsize=64)
def _parents(function: ast.AST) -> dict[ast.AST, ast.AST]:
    """Return the node above each node of a function."""
    return {low: high for high in ast.walk(function) for low in ast.iter_child_nodes(high)}
