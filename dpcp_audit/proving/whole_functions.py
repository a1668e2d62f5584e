"""Reads a function from its signature on: records come first, and the generator by its name."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from dpcp_audit.proving.distances import Generator, Records, Refusal, Value, tokens
from dpcp_audit.proving.paths import Frame
from dpcp_audit.proving.sources import FunctionSource, admitted, defaults_of, locals_of
from dpcp_audit.words.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from dpcp_audit.proving.interpreter import Reader


def all_records(bounds: tuple[Fraction, Fraction]) -> Records:
    """Return the records between these bounds, each at its own place."""
    return Records(*bounds, next(tokens), placed=True, itself=True)


GENERATORS = frozenset({"rng", "random_state", "generator", "prng"})
"""Arguments of a function that are read as the generator it draws from."""


def returned_by(
    reader: Reader,
    function: Any,
    source: FunctionSource,
    first: Value,
    options: Mapping[str, Any],
) -> Value:
    """Read the function's body on this first argument, and return its value."""
    node = source.node
    reader.line, reader.file = node.lineno, source.file
    given = dict(defaults_of(function, node.lineno))
    given |= {name: admitted(value, name, node.lineno) for name, value in options.items()}
    signature = inspect.signature(function, follow_wrapped=False)
    unknown = options.keys() - signature.parameters.keys()
    if unknown:
        known = ", ".join(signature.parameters) or "nothing"
        raise UsageError(
            f"options must be arguments of the function, got {sorted(unknown)}",
            hint=f"it takes {known}",
        )
    if len((GENERATORS - options.keys()) & signature.parameters.keys()) > 1:
        raise Refusal(node.lineno, "more than one argument may be the generator")
    args: list[Value] = []
    kw: dict[str, Value] = {}
    for position, (name, parameter) in enumerate(signature.parameters.items()):
        value = given.get(name)
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD} and (
            position == 0 or name in GENERATORS or parameter.kind is parameter.VAR_KEYWORD
        ):
            raise Refusal(node.lineno, f"the records or the generator may be in {name}")
        if position == 0:
            value = first
        elif name in GENERATORS and name not in options:
            value = Generator(name)
        elif name not in given:
            continue
        if parameter.kind is parameter.KEYWORD_ONLY:
            kw[name] = value
        elif parameter.kind in {parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD}:
            args.append(value) if len(args) == position else kw.update({name: value})
    reader.path.frames[0] = Frame({}, source, None, locals_of(node))
    returned = reader.inline(source, node, (), args, kw)
    reader.line = node.lineno
    return returned
