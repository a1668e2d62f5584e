"""From a budget in seconds to numbers of calls: what a run needs to be repeatable."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.audits.targets import TargetError
from dpcp_audit.reports.checks.inputs import pair_space, typical
from dpcp_audit.reports.errors import IncompleteError, UsageError

if TYPE_CHECKING:
    from dpcp_audit.audits.targets import SourceLocation
    from dpcp_audit.reports.checks.spec import CheckSpec

FEWEST, MOST = 2**10, 2**24
_SHARE = 0.7
"""Of the budget; the rest is for the audit's own work."""
_TIMING_SECONDS = 1.0


def plan(spec: CheckSpec) -> CheckSpec:
    """Return the check with the calls that its budget allows for each claim.

    The target is opened and timed. The number is a power of two from 2¹⁰ to 2²⁴, so that
    the same machine mostly plans the same; with ``draws`` given it stays as it is.

    Raises
    ------
    UsageError
        If there is no such target, or it cannot be called as its kind is.
    IncompleteError
        If the target fails on a typical input.
    """
    pair_space(spec)
    seconds, location = timed(spec)
    draws = spec.draws
    if draws is None:
        affordable = _SHARE * spec.seconds / spec.claims / max(seconds, 1e-9)
        draws = 2 ** int(math.log2(min(max(affordable, FEWEST), MOST)))
    return replace(spec, draws=draws, location=location)


def timed(spec: CheckSpec) -> tuple[float, SourceLocation | None]:
    """Return the seconds that one call takes on a typical input, and where the target is.

    Nothing is timed where the number of calls is given.
    """
    try:
        opened = spec.target.open()
    except TargetError as error:
        raise UsageError(str(error)) from error
    with opened as target:
        if spec.draws is not None:
            return 0.0, target.source
        try:
            seconds = target.seconds_per_draw(
                typical(spec), np.random.default_rng(0), at_most_seconds=_TIMING_SECONDS
            )
        except TargetError as error:
            raise IncompleteError(str(error)) from error
        return seconds, target.source
