"""What a mutant changes: one operator, number or call of a module, in its syntax tree."""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_NAMES = {
    "min": "max",
    "max": "min",
    "ceil": "floor",
    "floor": "ceil",
    "minimum": "maximum",
    "maximum": "minimum",
    "any": "all",
    "all": "any",
    "log1p": "expm1",
    "argmin": "argmax",
    "argmax": "argmin",
    "lower": "upper",
    "upper": "lower",
}
_MESSAGES = frozenset({"detail", "note", "statement", "label", "title"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One change of one module.

    Parameters
    ----------
    path : str
        The module's file, relative to the repository.
    place : int
        The number of the node in the walk over the module's tree; of a planted bug -1: then
        ``before`` is a text that the source holds once.
    variant : int
        Which part of the node is changed.
    line : int
        Of the source.
    before, after : str
        The expression, and what it is replaced by.
    """

    path: str
    place: int
    variant: int
    line: int
    before: str
    after: str


def planted(path: str, before: str, after: str) -> Mutant:
    """Return a bug that is named by its text."""
    return Mutant(path=path, place=-1, variant=0, line=0, before=before, after=after)


def mutants_of(path: Path, root: Path) -> Iterator[Mutant]:
    """Yield all mutants of a module; texts, messages and what validates are left alone."""
    tree = ast.parse(path.read_text())
    skipped = set(_skipped(tree))
    for place, node in enumerate(ast.walk(tree)):
        if node in skipped:
            continue
        for variant in range(_variants(node)):
            changed = _changed(copy.deepcopy(node), variant)
            yield Mutant(
                path=path.relative_to(root).as_posix(),
                place=place,
                variant=variant,
                line=getattr(node, "lineno", 0),
                before=ast.unparse(node),
                after=ast.unparse(changed),
            )


def mutated(source: str, mutant: Mutant) -> ast.Module:
    """Return a module's tree with the change."""
    if mutant.place < 0:
        if source.count(mutant.before) != 1:
            raise ValueError(f"{mutant.path} must hold once: {mutant.before}")
        return ast.parse(source.replace(mutant.before, mutant.after))
    tree = ast.parse(source)
    node = list(ast.walk(tree))[mutant.place]
    changed = _changed(node, mutant.variant)
    if changed is not node:
        ast.copy_location(changed, node)
        for parent in ast.walk(tree):
            _replace(parent, node, changed)
    return ast.fix_missing_locations(tree)


def _replace(parent: ast.AST, old: ast.AST, new: ast.AST) -> None:
    for name, value in ast.iter_fields(parent):
        if value is old:
            setattr(parent, name, new)
        elif isinstance(value, list):
            nodes = cast("list[ast.AST]", value)
            nodes[:] = [new if each is old else each for each in nodes]


def _variants(node: ast.AST) -> int:  # noqa: PLR0911  (a table)
    """Return in how many ways a node is changed."""
    if isinstance(node, ast.Compare):
        return sum(type(op) in _COMPARED for op in node.ops[:1])
    if isinstance(node, ast.BinOp):
        return int(type(node.op) in _COMPUTED)
    if isinstance(node, ast.Constant):
        return int(type(node.value) in {int, bool})
    if isinstance(node, ast.UnaryOp):
        return int(isinstance(node.op, ast.Not | ast.USub | ast.Invert))
    if isinstance(node, ast.BoolOp | ast.IfExp):
        return 1
    if isinstance(node, ast.Call):
        return int(_called(node) in _NAMES)
    return 0


def _changed(node: ast.AST, variant: int) -> ast.AST:
    del variant
    match node:
        case ast.Compare():
            node.ops[0] = _COMPARED[type(node.ops[0])]()
        case ast.BinOp():
            node.op = _COMPUTED[type(node.op)]()
        case ast.Constant(value=bool() as value):
            node.value = not value
        case ast.Constant(value=int() as value):
            node.value = value + 1
        case ast.UnaryOp():
            return node.operand
        case ast.BoolOp():
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        case ast.IfExp():
            node.body, node.orelse = node.orelse, node.body
        case ast.Call(func=ast.Name() as name):
            name.id = _NAMES[name.id]
        case ast.Call(func=ast.Attribute() as name):
            name.attr = _NAMES[name.attr]
        case _:
            raise AssertionError(node)
    return node


def _called(node: ast.Call) -> str:
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _skipped(tree: ast.Module) -> Iterator[ast.AST]:  # noqa: C901, PLR0912  (a table)
    """Yield what is no computation: annotations, errors, messages, slices by None, decorators.

    Module-level constants are left alone, too: those are tolerances, grids and step counts.
    """
    for node in ast.walk(tree):
        match node:
            case ast.Raise() | ast.Assert() | ast.JoinedStr() | ast.Import() | ast.ImportFrom():
                yield from ast.walk(node)
            case ast.FunctionDef():
                for each in (*node.decorator_list, *([node.returns] if node.returns else [])):
                    yield from ast.walk(each)
            case ast.ClassDef():
                for each in node.decorator_list:
                    yield from ast.walk(each)
            case ast.arg(annotation=ast.AST() as annotation):
                yield from ast.walk(annotation)
            case ast.AnnAssign(annotation=annotation):
                yield from ast.walk(annotation)
            case ast.keyword(arg=str() as name) if name in _MESSAGES:
                yield from ast.walk(node)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="_validate"))):
                yield from ast.walk(node)
            case ast.Call(func=ast.Name(id="zip")):
                yield from (node.keywords and ast.walk(node.keywords[0])) or ()
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                yield from ast.walk(node)
            case _:
                pass
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.Expr):
            yield from ast.walk(statement)
