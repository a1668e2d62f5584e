"""The shape of what a generator draws, from its parameters and its size."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpcp_audit.tracing.traced_numbers import is_plain

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownParameterType=false, reportIncompatibleMethodOverride=false


def drawn_shape(parameters: tuple[Any, ...], size: Any) -> tuple[int, ...] | None:
    """Return the shape of what is drawn, None of a number."""
    if size is None and all(is_plain(each) for each in parameters):
        return None
    if size is not None:
        return (int(size),) if np.ndim(size) == 0 else tuple(int(each) for each in size)
    shapes = [np.shape(each) for each in parameters]
    return np.broadcast_shapes(*shapes) if any(shapes) else None


def undrawn(shape: tuple[int, ...] | None) -> Any:
    """Return NaN, of that shape: a replay draws nothing."""
    return math.nan if shape is None else np.full(shape, math.nan)


def listed_values(value: Any, shape: tuple[int, ...] | None) -> list[Any]:
    """Return a parameter for each number of that shape."""
    if shape is None:
        return [value]
    if np.ndim(value) == 0:
        return [value] * math.prod(shape)
    return np.broadcast_to(np.asarray(value), shape).ravel().tolist()
