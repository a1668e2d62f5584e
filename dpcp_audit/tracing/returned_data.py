"""The line whose value, made of the data alone, a function returns as it is.

Of an output that differs although all noisy values are the same, the line that returns it is no
culprit: a name may be returned there that another line has set.
"""

from __future__ import annotations

import ast
import linecache
import sys
from typing import TYPE_CHECKING, Any

from dpcp_audit.tracing.draws import TraceEnd

if TYPE_CHECKING:
    from types import CodeType, FrameType

    import numpy as np

    from dpcp_audit.tracing.draws import Line
    from dpcp_audit.tracing.path_runs import PathRun
    from dpcp_audit.tracing.target_calls import TracedTarget

_CASTS = {"float", "int"}
_OWNERS = {"self", "cls"}
_LONGEST = 20
"""Names that are followed from the return to where the value is written."""


def line_of_data(
    target: TracedTarget, x: Any, path: PathRun, source: np.random.Generator
) -> Line | None:
    """Run a target and return the line of the data that it returns; None where there is none.

    A value counts that is written of the first argument and of names that are not the function's
    own: then no noise is in it.
    """
    code = target.code
    if code is None:
        return None
    ran = _lines_run(target, code, x, path, source)
    module = _module(code)
    if not ran or module is None:
        return None
    statements, stores = _statements(module), _stores(module)
    names = [name for name in code.co_varnames[: code.co_argcount] if name not in _OWNERS]
    data, own = set(names[:1]), {*code.co_varnames, *code.co_cellvars}
    last = statements.get(ran.pop())
    value = last.value if isinstance(last, ast.Return) else None
    for _ in range(_LONGEST):
        if last is None or value is None:
            return None
        value = _uncast(value)
        read = {each.id for each in ast.walk(value) if isinstance(each, ast.Name)}
        if read & data:
            return (code.co_filename, last.lineno) if read & own <= data else None
        if not isinstance(value, ast.Name):
            return None
        while ran and (ran[-1], value.id) not in stores:
            ran.pop()
        last = statements.get(ran.pop()) if ran else None
        value = last.value if isinstance(last, ast.Assign) and _is_plain(last) else None
    return None


def _lines_run(
    target: TracedTarget, code: CodeType, x: Any, path: PathRun, source: np.random.Generator
) -> list[int]:
    """Return the lines of the function that a call runs, in order; none where it has no end."""
    lines: list[int] = []

    def note(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code is not code:
            return None
        if event in {"line", "return"}:
            lines.append(frame.f_lineno)
        return note

    before = sys.gettrace()
    sys.settrace(note)
    try:
        target.outputs(x, path, source)
    except TraceEnd:
        return []
    finally:
        sys.settrace(before)
    return lines


def _module(code: CodeType) -> ast.Module | None:
    """Return the file of a function, parsed; None if it has no source."""
    try:
        return ast.parse("".join(linecache.getlines(code.co_filename)))
    except SyntaxError:
        return None


def _statements(module: ast.Module) -> dict[int, ast.stmt]:
    """Return the returns and assignments of a file by their lines."""
    plain = (each for each in ast.walk(module) if isinstance(each, ast.Return | ast.Assign))
    return {
        line: each
        for each in plain
        for line in range(each.lineno, (each.end_lineno or each.lineno) + 1)
    }


def _stores(module: ast.Module) -> set[tuple[int, str]]:
    """Return the lines at which names are set, in whatever way."""
    return {
        (each.lineno, each.id)
        for each in ast.walk(module)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }


def _is_plain(statement: ast.Assign) -> bool:
    """Tell whether one name alone is set."""
    return len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name)


def _uncast(value: ast.expr) -> ast.expr:
    """Return what a call of ``float`` or ``int`` is of."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name):
        return value
    cast = value.func.id in _CASTS and len(value.args) == 1
    return value.args[0] if cast else value
