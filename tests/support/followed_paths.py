"""A path of a function, followed on one input and replayed on another, with its output."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcp_audit.tracing.outputs import pair_of, without_marks
from dpcp_audit.tracing.pair_traces import trace_target
from dpcp_audit.tracing.path_likelihood import log_likelihoods
from dpcp_audit.tracing.path_losses import require_replay
from dpcp_audit.tracing.path_runs import SampledRun
from dpcp_audit.tracing.path_tree import ForcedRun, release_law
from dpcp_audit.tracing.target_calls import TracedTarget, put_back


def followed(function, x, neighbour, *, seed=0, values=False, **options: Any) -> Any:
    """Return the output on ``x``, that of the replay, and the path's loss."""
    target = TracedTarget.of(function, options)
    path = SampledRun(values=values)
    output = target.outputs(x, path, np.random.default_rng(seed))
    replay = ForcedRun(path.seen, values=values)
    other = target.outputs(neighbour, replay, np.random.default_rng(seed + 1))
    output, other = without_marks(output), without_marks(other)
    return output, other, float(log_likelihoods(path).sum() - log_likelihoods(replay).sum())


def trace_pair(function, x, neighbour, *, draws=1000, rng=0, options=None, **rest: Any) -> Any:
    """Return the trace of a function on two inputs."""
    target = TracedTarget.of(function, options or {})
    return trace_target(target, x, neighbour, draws=draws, rng=rng, **rest)


def enumerated(function, x, neighbour, *, most=20_000, **options: Any) -> Any:
    """Return the exact laws of a function's output on two inputs."""
    target = TracedTarget.of(function, options)
    with put_back(target.written):
        for each in (x, neighbour):
            require_replay(target, each, 0)
        return pair_of(*(release_law(target, each, most=most) for each in (x, neighbour)))
