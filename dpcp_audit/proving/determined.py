"""A check that a public function depends on its arguments and draws alone, and keeps no state.

A law that was found by running all paths of a function is a proof only then: a branch on the time,
an address, a file or the type of a number shows in no draw. The source is read as for any other
proof, on the values themselves; what is not known there is named with its line.
"""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, Any, cast

from dpcp_audit.proving.distances import Generator, Refusal, Value
from dpcp_audit.proving.interpreter import Reader
from dpcp_audit.proving.paths import Frame
from dpcp_audit.proving.sources import admitted, defaults_of, from_outside, locals_of, source_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


def undetermined(
    function: Any, args: Sequence[Any], kw: Mapping[str, Any], generators: Iterable[str]
) -> Refusal | None:
    """Return what may decide a function's output besides its arguments and its draws; else None.

    Parameters
    ----------
    function : callable
        A function, a bound method, an object that is called, or a partial of these.
    args, kw : sequence and mapping
        Its arguments: public, such as one number of a finite domain.
    generators : iterable of str
        Further arguments, which are the generator that it draws from.

    Examples
    --------
    >>> import time
    >>> undetermined(time.ctime, [0], {}, ()).reason
    'ctime is not known, and has no Python source to read'
    """
    reader = Reader(None)
    try:
        _read(reader, function, list(args), dict(kw), generators)
    except Refusal as refusal:
        refusal.file = refusal.file or reader.file
        return refusal
    except Exception as error:
        says = f"the reading fails here: {type(error).__name__}: {error}"
        return Refusal(reader.line, says, file=reader.file)
    return reader.doubted


def _read(
    reader: Reader, function: Any, args: list[Any], kw: dict[str, Any], generators: Iterable[str]
) -> None:
    """Read the function's body on these arguments."""
    while isinstance(function, functools.partial):
        args, kw = [*function.args, *args], {**function.keywords, **kw}
        function = function.func
    function, owners = _of_owner(function)
    source = source_of(function)
    line = source.node.lineno
    reader.line, reader.file = line, source.file
    reader.path.frames[0] = Frame({}, source, None, locals_of(source.node))
    handed: list[Value] = [from_outside(reader, each) for each in owners]
    handed += [admitted(each, "an argument", line) for each in args]
    named: dict[str, Value] = {name: admitted(each, name, line) for name, each in kw.items()}
    named |= {name: Generator(name) for name in generators}
    held = dict(reader.path.heap)
    defaults = defaults_of(function, line)
    returned = reader.inline(source, source.node, defaults, handed, named)
    reader.public(returned, "what is returned")
    if any(reader.path.heap[address] is not cells for address, cells in held.items()):
        raise Refusal(line, "the target keeps a state between its calls")


def _of_owner(function: Any) -> tuple[Any, list[Any]]:
    """Return a method's function and its object; of an object that is called its method."""
    if isinstance(function, types.MethodType):
        return function.__func__, [function.__self__]
    plain = isinstance(function, types.FunctionType | types.BuiltinFunctionType | type)
    called = None if plain else getattr(cast("Any", type(function)), "__call__", None)  # noqa: B004
    return (called, [function]) if isinstance(called, types.FunctionType) else (function, [])
