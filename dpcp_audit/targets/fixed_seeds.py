"""Find where a function seeds a generator with a fixed number."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import TYPE_CHECKING, Any

from dpcp_audit.targets.loading import code_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import CodeType, FunctionType

_SEEDERS = frozenset(
    {"default_rng", "seed", "set_seed", "manual_seed", "RandomState", "Random", "SeedSequence"}
    | {"PCG64", "MT19937", "Philox", "SFC64", "PRNGKey"}
)
_SEED_KEYWORDS = frozenset({"seed", "random_state"})


def fixed_seed(function: object) -> str | None:
    """Return the call that seeds with a fixed number, and its line; None if there is none to see.

    The function itself is read, and the functions of its own module that it mentions.
    """
    waiting = [_plain(function)]
    seen: set[CodeType] = set()
    while waiting:
        current = waiting.pop()
        if current is None or current.__code__ in seen:
            continue
        seen.add(current.__code__)
        place = _in_source(current)
        if place is not None:
            return place
        waiting += [
            _plain(current.__globals__.get(name))
            for name in current.__code__.co_names
            if getattr(current.__globals__.get(name), "__module__", None) == current.__module__
        ]
    return None


def _plain(function: object) -> FunctionType | None:
    """Return the Python function behind a callable."""
    function = inspect.unwrap(function) if callable(function) else function
    function = getattr(function, "func", getattr(function, "__func__", function))
    if not inspect.isfunction(function):
        function = getattr(type(function), "__call__", None)  # noqa: B004
    return function if inspect.isfunction(function) else None


def _in_source(function: FunctionType) -> str | None:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return None
    code = code_of(function)
    first = 1 if code is None else code.co_firstlineno
    for call in _calls(tree):
        if _seeds(call, function.__globals__):
            return f"{ast.unparse(call)} in line {first + call.lineno - 1}"
    return None


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def _seeds(call: ast.Call, names: Mapping[str, Any]) -> bool:
    called = getattr(call.func, "attr", getattr(call.func, "id", ""))
    by_place = called in _SEEDERS and call.args and _fixed(call.args[0], names)
    by_keyword = any(k.arg in _SEED_KEYWORDS and _fixed(k.value, names) for k in call.keywords)
    return bool(by_place or by_keyword)


def _fixed(node: ast.expr, names: Mapping[str, Any]) -> bool:
    value = node.value if isinstance(node, ast.Constant) else None
    value = names.get(node.id) if isinstance(node, ast.Name) else value
    return isinstance(value, int) and not isinstance(value, bool)
