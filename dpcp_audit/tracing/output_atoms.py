"""What a target returns, taken apart into plain values that two runs can be compared by."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dpcp_audit._plain_data import is_record, is_sequence
from dpcp_audit._types import is_array
from dpcp_audit.tracing.forced_runs import SAME
from dpcp_audit.tracing.step_numbers import StepNumber
from dpcp_audit.tracing.trace_errors import UnfollowableError
from dpcp_audit.tracing.traced_numbers import Traced
from dpcp_audit.tracing.traced_values import values_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcp_audit.tracing.trace_errors import Line

Atom = str | float | int | bool | complex | bytes | None
"""A plain value, comparable."""


_PLAIN = (bool, int, float, complex, str, bytes, np.generic)


def atoms_of(output: Any, line: Line) -> tuple[Atom, ...]:
    """Return the plain values in an output, in their order; noisy numbers are read.

    Raises
    ------
    UnfollowableError
        If it holds an object whose content is not known.
    """
    return tuple(_atoms(output, line, 0))


def _atoms(value: Any, line: Line, depth: int) -> Iterator[Atom]:
    if depth > 50:
        raise UnfollowableError("the output is nested too deeply", line)
    if isinstance(value, Traced):
        yield _plain(value.read())
    elif isinstance(value, StepNumber):
        yield cast("Any", value)
    elif value is None or isinstance(
        value, bool | int | float | complex | str | bytes | np.generic
    ):
        yield _plain(value)
    elif hasattr(value, "detach"):
        yield from _atoms(value.detach().cpu().numpy(), line, depth)
    elif is_array(value):
        yield f"array{value.shape}"
        yield from map(_plain, np.ravel(values_of(value)).tolist())
    else:
        yield from _inside(value, line, depth)


def _inside(value: Any, line: Line, depth: int) -> Iterator[Atom]:
    kind = type(value).__name__
    parts: list[Any]
    if is_record(value):
        parts = [part for pair in value.items() for part in pair]
    elif is_sequence(value):
        parts = list(value)
    elif isinstance(value, set | frozenset):
        parts = sorted(cast("set[Any]", value), key=repr)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = [getattr(value, each.name) for each in dataclasses.fields(value)]
    else:
        raise UnfollowableError(f"the output is a {kind}, whose content is not known", line)
    yield f"{kind}({len(parts)})"
    for part in parts:
        yield from _atoms(part, line, depth + 1)


def _plain(value: Any) -> Any:
    return cast("Any", value).item() if isinstance(value, np.generic) else value


def same_atoms(first: tuple[Atom, ...], second: tuple[Atom, ...], within: float = SAME) -> bool:
    """Tell whether two outputs are the same, but for a relative difference of their numbers."""
    return len(first) == len(second) and all(
        _same(a, b, within) for a, b in zip(first, second, strict=True)
    )


def _same(first: Atom, second: Atom, within: float) -> bool:
    if isinstance(first, float | int) and isinstance(second, float | int):
        both_nan = math.isnan(first) and math.isnan(second)
        rounded = isinstance(first, float) or isinstance(second, float)
        near = rounded and _near(float(first), float(second), within)
        return first == second or both_nan or near
    return type(first) is type(second) and first == second


def _near(first: float, second: float, within: float) -> bool:
    largest = max(abs(first), abs(second))
    return math.isfinite(largest) and abs(first - second) <= within * largest
