"""The public grid of an audit: outputs are looked at only as finely as ideal numbers would allow.

Floating-point numbers are denser near zero, so the last bits of ``mean + noise`` depend on the mean
although the noise is right. Outputs are therefore rounded before the promise of ideal numbers is
tested. The grid is the same for both inputs; rounding is post-processing, so it adds no loss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpcp_audit.words.results import PlainData
    from dpcp_audit.words.validate import FloatArray

_FINE = -33
"""Power of two of a step, relative to the spread of the outputs."""
_FINEST = -43
"""The same relative to their magnitude: a thousand times the spacing of floating-point numbers."""
_SINGLE_FINEST = -14
"""The same for numbers of single precision."""
_SLACK = 2.0**-8
"""Share of a step by which a number may lie below a multiple and still belong to it."""


@dataclass(frozen=True, slots=True, eq=False)
class PublicGrid:
    """Rounds each coordinate down to multiples of a power of two.

    Parameters
    ----------
    steps : ndarray, shape () or (d,)
        The power of two of each coordinate; 0 leaves it as it is.
    """

    steps: FloatArray

    @classmethod
    def of(cls, outputs: FloatArray) -> PublicGrid | None:
        """Return the grid that some outputs suggest; None if all are zero or infinite.

        Parameters
        ----------
        outputs : ndarray, shape (size,) or (size, d)

        Examples
        --------
        >>> grid = PublicGrid.of(np.array([0.1, 0.2, 0.7]))
        >>> float(grid(np.array([0.1 + 0.2]))[0] - grid(np.array([0.3]))[0])
        0.0
        """
        columns = outputs.reshape(len(outputs), -1).T
        steps = np.array([_step(column) for column in columns])
        if not steps.any():
            return None
        steps[steps == 0] = steps.max()
        return cls(steps.reshape(outputs.shape[1:]))

    def __call__(self, outputs: FloatArray) -> FloatArray:
        """Return the outputs on the grid; infinite ones, and other shapes, as they are."""
        if outputs.shape[1:] != self.steps.shape or not self.steps.all():
            return outputs
        with np.errstate(over="ignore", invalid="ignore"):
            rounded = np.floor(outputs / self.steps + _SLACK) * self.steps
        return np.where(np.isfinite(rounded), rounded, outputs)

    def as_data(self) -> PlainData | list[float] | float:
        """Return the steps as plain data."""
        steps: list[float] | float = self.steps.tolist()
        return steps


def _step(values: FloatArray) -> float:
    """Return the step for a coordinate's values; 0 where they say nothing."""
    distinct = np.unique(values[np.isfinite(values)])
    if not distinct.any():
        return 0.0
    low, high = np.quantile(distinct, [0.25, 0.75])
    magnitude = float(np.quantile(np.abs(distinct[distinct != 0]), 0.75))
    finest = _SINGLE_FINEST if _is_single(distinct) else _FINEST
    spread = float(high - low)
    if not np.isfinite(spread) or spread <= 0:
        spread = magnitude
    step = max(math.ldexp(spread, _FINE), math.ldexp(magnitude, finest))
    if bool((distinct == np.rint(distinct)).all()):
        step = min(step, 1.0)
    return 2.0 ** max(-1000, math.floor(math.log2(step))) if step > 0 else 0.0


def _is_single(distinct: FloatArray) -> bool:
    """Tell whether numbers are of single precision, and not those of a fixed binary grid."""
    with np.errstate(over="ignore"):
        single = bool((distinct == distinct.astype(np.float32)).all())
    spacing = float(np.spacing(np.float32(np.abs(distinct).max()))) if single else 1.0
    return single and not bool((distinct / spacing == np.rint(distinct / spacing)).all())
