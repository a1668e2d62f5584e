# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownParameterType=false, reportIncompatibleMethodOverride=false
"""Plain data in place of traced data: numbers in arrays, lists and tuples are found, and read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dpcp_audit._plain_data import is_list
from dpcp_audit.tracing.traced_numbers import Traced

if TYPE_CHECKING:
    from collections.abc import Iterator


def values_of(value: Any) -> Any:
    """Return plain data in place of traced data: the values are read."""
    if isinstance(value, Traced):
        return value.read()
    if isinstance(value, np.ndarray):
        if value.dtype != object:
            return value.view(np.ndarray)
        plain = [values_of(each) for each in value.ravel().tolist()]
        return np.array(plain).reshape(value.shape) if plain else np.zeros(value.shape)
    if is_list(value) or isinstance(value, tuple):
        return type(value)(values_of(each) for each in cast("list[Any]", value))
    return value


def traced_in(value: Any) -> Iterator[Traced]:
    """Yield the traced numbers in arrays, lists and tuples."""
    if isinstance(value, Traced):
        yield value
    elif isinstance(value, np.ndarray):
        if value.dtype == object:
            yield from traced_in(value.ravel().tolist())
    elif isinstance(value, list | tuple):
        for each in cast("list[Any]", value):
            yield from traced_in(each)


def values_in(kwargs: Any) -> dict[str, Any]:
    """Return keyword arguments with the values of those that are traced, read."""
    return {key: values_of(value) for key, value in kwargs.items()}
