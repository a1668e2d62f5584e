"""A probe of serial dependence: outputs that come in a row must be independent draws.

Every sampled test rests on that. Code whose every single output keeps its promise, but which
reuses one draw for several outputs in a row, would be refuted far more often than stated. The
probe has a thousandth of a check's significance, which is taken off the significance of its tests.

What it cannot see: outputs of one batch that depend on those of another, and the dependence
between outputs of a target whose every call is a process of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcp_audit import _validate
from dpcp_audit.stats.serial_dependence import serial_dependence
from dpcp_audit.targets.degenerate import DegenerateTargetError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

PROBED = 1e-3
"""The share of a check's significance that the probe of independence has."""


class DependentOutputsError(DegenerateTargetError):
    """Outputs in a row depend on each other, so that no test of a claim on them is valid."""


def unprobed(significance: float) -> float:
    """Return what the probe leaves of a check's significance to its tests."""
    _validate.open_unit(significance=significance)
    return (1 - PROBED) * significance


def require_independent(*batches: ArrayLike, significance: float) -> None:
    """Refuse outputs that depend on each other in the order in which they came.

    Outputs that are independent draws of one law are refused with probability at most 1e-3 of
    ``significance``, whatever the law.

    Parameters
    ----------
    *batches : array_like, shape (size,) or (size, d)
        Outputs of one input each, in order.
    significance : float
        The significance of the whole check.

    Raises
    ------
    DependentOutputsError
        With the lag and the statistic.
    """
    for batch in batches:
        found = serial_dependence(batch)
        if found is not None and found.p_value <= PROBED * significance / len(batches):
            raise DependentOutputsError(
                f"sample's outputs depend on each other: {found}. Every output must be a draw of "
                "its own: draw anew for each, or let one call return one output"
            )
