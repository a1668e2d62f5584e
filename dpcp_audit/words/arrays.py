"""Array aliases, and the test for an array."""

from __future__ import annotations

from typing import Any, TypeGuard, cast

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


def is_array(value: object) -> TypeGuard[NDArray[Any]]:
    """Tell whether the value is an array."""
    return isinstance(value, np.ndarray)


def is_masked(value: object) -> bool:
    """Tell whether the value is an array of which some numbers are masked."""
    return isinstance(value, np.ma.MaskedArray) and bool(np.any(cast("Any", value).mask))
