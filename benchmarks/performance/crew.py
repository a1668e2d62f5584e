"""How long a run takes with any number of workers, by simulation of the scheduler.

Workers take the next chunk as they come free, and the scheduler hands out one at a time, each at
its own cost. The chunks are those of a run that was measured.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

LOCAL, DASK = 0.25e-3, 4.9e-3
"""Seconds of the scheduler for a chunk: on one machine, and Dask's."""


def makespan(chunks: Sequence[float], workers: int, *, dispatch: float) -> float:
    """Return the seconds until the last of the chunks is done.

    Parameters
    ----------
    chunks : sequence of float
        Seconds of each, in the order in which they are handed out.
    dispatch : float
        Seconds of the scheduler for each.

    Examples
    --------
    >>> makespan([1.0, 1.0, 2.0], 2, dispatch=0.0)
    3.0
    >>> makespan([2.0, 1.0, 1.0], 2, dispatch=0.0)
    2.0
    """
    free, clock, ends = [0.0] * workers, 0.0, 0.0
    for seconds in chunks:
        clock = max(clock + dispatch, free[0])
        heapq.heapreplace(free, clock + seconds)
        ends = max(ends, clock + seconds)
    return ends
