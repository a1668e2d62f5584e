"""A path of a function, followed on one input and replayed on another, with its output."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcp_audit.tracing.forced_runs import ForcedRun
from dpcp_audit.tracing.outputs import without_marks
from dpcp_audit.tracing.path_likelihood import log_likelihoods
from dpcp_audit.tracing.path_runs import SampledRun
from dpcp_audit.tracing.target_calls import TracedTarget


def followed(function, x, neighbour, *, seed=0, values=False, **options: Any) -> Any:
    """Return the output on ``x``, that of the replay, and the path's loss."""
    target = TracedTarget.of(function, options)
    path = SampledRun(values=values)
    output = target.outputs(x, path, np.random.default_rng(seed))
    replay = ForcedRun(path.seen, values=values)
    other = target.outputs(neighbour, replay, np.random.default_rng(seed + 1))
    output, other = without_marks(output), without_marks(other)
    return output, other, float(log_likelihoods(path).sum() - log_likelihoods(replay).sum())
