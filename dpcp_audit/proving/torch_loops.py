"""Loops over records that compute a clipped gradient for each, and add it up."""

# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import ast
import types
from typing import TYPE_CHECKING, Any

from dpcp_audit.proving.distances import (
    Private,
    Records,
    Reference,
    Together,
    Value,
    sources_of,
)
from dpcp_audit.proving.exact_numbers import is_scalar
from dpcp_audit.proving.paths import Contents
from dpcp_audit.proving.sources import names_in
from dpcp_audit.proving.torch_calls import rule_of
from dpcp_audit.proving.torch_gradients import Transform
from dpcp_audit.proving.torch_values import Each, Tensor, each_of, listed, records_of, summed

if TYPE_CHECKING:
    from collections.abc import Iterator


def is_of_tensors(reader: Any, iterable: Value, *nodes: ast.AST) -> bool:
    """Return True if a loop goes through a tensor, or through records and names tensors."""
    if not isinstance(iterable, Records | Together):
        return isinstance(iterable, Each)
    for value in reader.named(*nodes):
        module = isinstance(value, types.ModuleType) and value.__name__.startswith("torch")
        if module or isinstance(value, Tensor | Transform) or rule_of(value) is not None:
            return True
    return False


def read(reader: Any, node: ast.For, iterable: Records | Together | Each) -> None:
    """Read for one record a loop over all, which names values and adds some of them up."""
    records = records_of(reader, iterable)
    if reader.each_record:
        raise reader.refuse("a loop over records in a loop over records")
    others = [node.target, *(each for each in node.body if _sum(each) is None)]
    named = names_in(*others, use=ast.Store)
    appended = [each[0] for each in map(_appended, node.body) if each is not None]
    if named & set(appended) or len(set(appended)) < len(appended):
        raise reader.refuse("a list is filled in a loop over records that changes it otherwise")
    sums = {name for name, _, _ in filter(None, map(_sum, node.body))} - named - set(appended)
    variables = reader.path.frames[reader.frame].variables
    before = {name: variables[name] for name in sums & variables.keys()}
    hidden = Private(reader.line, "what an earlier record left is read in a loop over records")
    named |= set(appended)
    for name in appended:
        _take_away(reader, variables.get(name), hidden)
    variables |= dict.fromkeys(named | before.keys(), hidden)
    reader.iterated += sources_of(iterable)
    with reader.for_each_record(records):
        reader.bind(node.target, reader.single(iterable))
        added = list(_added(reader, node.body, sums))
    del reader.iterated[-len(sources_of(iterable)) :]
    variables = reader.path.frames[reader.frame].variables
    variables |= before
    after = Private(node.lineno, "what the last record left is read after a loop over records")
    variables |= dict.fromkeys(named, after)
    for name, in_place, value in added:
        if name in named:
            variables[name] = listed(reader, value, some=records.chosen)
        else:
            variables[name] = _with(reader, variables.get(name), value, in_place=in_place)


def _take_away(reader: Any, old: Value, hidden: Private) -> None:
    """Refuse to read an empty list under any name, to which the loop appends."""
    if not isinstance(old, Reference) or reader.cells(old) != Contents("list", ()):
        raise reader.refuse("a loop over records appends to what is not an empty list")
    reader.path.heap[old.address] = Contents("lost", (hidden,))


def _appended(node: ast.stmt) -> tuple[str, bool, ast.expr] | None:
    """Return the name of a list, and what is appended to it."""
    call = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    name, plainly = call.func.value, len(call.args) == 1 and not call.keywords
    if call.func.attr != "append" or not isinstance(name, ast.Name) or not plainly:
        return None
    return name.id, False, call.args[0]


def _sum(node: ast.stmt) -> tuple[str, bool, ast.expr] | None:
    """Return the name, if it is changed in place, and what is added, of ``total += g``."""
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        return (node.target.id, True, node.value) if isinstance(node.op, ast.Add) else None
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return None
    target, value = node.targets[0], node.value
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
        return None
    if not isinstance(target, ast.Name) or not isinstance(value.left, ast.Name):
        return None
    return (target.id, False, value.right) if value.left.id == target.id else None


def _added(reader: Any, body: list[ast.stmt], sums: set[str]) -> Iterator[tuple[str, bool, Each]]:
    """Yield what a record adds to each sum, its other statements read one after the other."""
    for node in body:
        reader.line = node.lineno
        found = _appended(node) or _sum(node)
        if found is not None and (found[0] in sums or isinstance(node, ast.Expr)):
            yield found[0], found[1], each_of(reader, reader.read(found[2]))
        elif isinstance(node, ast.Assign):
            value = reader.read(node.value)
            for target in node.targets:
                if not all(isinstance(each, _NAMES) for each in ast.walk(target)):
                    raise reader.refuse("something is stored for each record")
                reader.bind(target, value)
        elif not isinstance(node, ast.Pass):
            if isinstance(node, ast.Expr):
                reader.read(node.value)  # which may be refused for a reason of its own
            raise reader.refuse(
                "a loop over records does more than add up",
                "use np.count_nonzero or np.sum, or a comprehension",
            )


_NAMES = (ast.Name, ast.Tuple, ast.Store)


def _with(reader: Any, old: Value, each: Each, *, in_place: bool) -> Value:
    """Return a sum with what all records add to it."""
    if each.batched or each.records is None:
        raise reader.refuse("what a record adds is not followed")
    found = summed(reader, each)
    if not is_scalar(old) or each.records.chosen:
        if not isinstance(old, Tensor) or old.leaf or old.single is not found.single:
            raise reader.refuse("a loop over records adds to what is not a tensor of its type")
        if in_place:
            require_alone(reader, old)
    total: Value = reader.operate("Add", old, found)
    return total


def require_alone(reader: Any, old: Tensor) -> None:
    """Refuse to change a tensor that has another name, or that shares its memory."""
    names = [each for each in reader.path.bindings() if _shares(each, old)]
    if not old.storage or len(names) > 1 or not reader.path.is_fresh((old.storage,)):
        raise reader.refuse(
            "a tensor is changed in place, under more than one name perhaps",
            "write x = x + ... instead of x += ...",
        )


def _shares(value: Value, old: Tensor) -> bool:
    return isinstance(value, Tensor) and value.storage == old.storage
