"""The input on which a target is timed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.target_checks.units import COVERAGE_SIZE
from dpcp_audit.targets import Takes
from dpcp_audit.targets.score_bounds import tried

if TYPE_CHECKING:
    from dpcp_audit.target_checks.check_spec import CheckSpec

_CLASSES = 10


def typical(spec: CheckSpec) -> Any:
    """Return an input of the largest size that will be tried, as the target takes it."""
    if spec.pair is not None:
        return spec.pair.value
    takes = spec.target.kind.takes
    if takes is Takes.VALUE:
        return 0 if spec.target.domain is not None else tried(spec.target.bounds)[0]
    if takes in {Takes.ROWS, Takes.CLIENTS}:
        from dpcp_audit.target_checks.target_pairs import pair_space  # noqa: PLC0415  (slow)

        return pair_space(spec).candidates()[0].inputs[0]
    n = max(spec.n or (COVERAGE_SIZE,))
    grid = (np.arange(n) + 0.5) / n
    if takes is Takes.SCORES:
        low, high = tried(spec.target.bounds)
        return low + (high - low) * grid
    classes = spec.target.domain or _CLASSES
    rest = (1 - grid) / (classes - 1)
    probabilities = np.repeat(rest[:, None], classes, axis=1)
    probabilities[:, 0] = grid
    return probabilities, np.zeros(n, dtype=np.int64)
