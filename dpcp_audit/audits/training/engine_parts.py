"""A step of a user's training, with a record and without: what it moves by, and its noise.

The same seed gives a batch and its neighbour the same noise, so that their noisy gradients differ
by the record alone. The batch with the largest difference is then traced: the law and the scale of
the noise, and the shift μ between the two, are read off the draws themselves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from dpcp_audit.tracing.pair_traces import trace_target
from dpcp_audit.tracing.target_calls import TracedTarget

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpcp_audit.audits.training.engine_training import EngineTraining
    from dpcp_audit.tracing.pair_traces import PairTrace
    from dpcp_audit.words.results import SourceLocation


# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false


_BASE, _CANDIDATES = 8, 12
_OUTLYING = 1e3
"""By which the features of an outlier are multiplied."""
_PATHS, _REPLAYS = 2, 2
_GAUSSIAN = frozenset({"normal", "torch.normal"})


@dataclass(frozen=True, slots=True, kw_only=True)
class StepMeasurement:
    """The measured properties of a training step.

    Parameters
    ----------
    largest : float
        The norm of the largest record's part of the summed gradient.
    records : int
        How many were left out, one after the other.
    mu : float
        The shift between a batch and its neighbour over the standard deviation of the noise;
        infinite without noise, NaN where the noise cannot be followed or is not Gaussian.
    law : str
        Of the noise, as its generator's method is called; empty for none.
    noise : float
        Its standard deviation, in the summed gradient.
    location : SourceLocation or None
        The line that draws it.
    unknown : str
        Why it cannot be told, where it cannot.
    """

    largest: float
    records: int
    mu: float
    law: str
    noise: float
    location: SourceLocation | None
    unknown: str = ""


def measured_step(training: EngineTraining, *, seed: int) -> StepMeasurement:
    """Measure the step that the training takes on a batch with a record and without it."""
    data = training.loader.dataset
    items = [data[i] for i in range(min(len(data), _BASE + _CANDIDATES))]
    few = min(_BASE, len(items) - 1)
    base, others = items[:few], items[few:]
    candidates = [*others, *(each for one in others if (each := _outlier(one)) is not None)]
    with training.untouched():
        plain = _summed(training, base, seed)
        norms = [
            float((_summed(training, [*base, one], seed) - plain).norm()) for one in candidates
        ]
        if math.isnan(sum(norms)):
            raise ValueError("loader must hold records of finite gradients, got one of NaN")
        worst = max(range(len(norms)), key=norms.__getitem__)
        trace = _trace(training, [*base, candidates[worst]], base, seed)
    mu, unknown = _shift(trace, norms[worst])
    line = trace.lines[0] if trace.lines else None
    return StepMeasurement(
        largest=norms[worst],
        records=len(norms),
        mu=mu,
        law="" if line is None else line.law,
        noise=0.0 if line is None else line.scale * training.optimizer.expected_batch_size,
        location=None if line is None else line.location,
        unknown=unknown,
    )


def _summed(training: EngineTraining, items: Sequence[Any], seed: int) -> Any:
    """Return the noisy sum of gradients, flat, with the noise of a seed."""
    torch.manual_seed(seed)
    if training.optimizer.generator is not None:
        training.optimizer.generator.manual_seed(seed)
    parts = [each.detach().reshape(-1).double() for each in training.gradients(items)]
    return torch.cat(parts) * training.optimizer.expected_batch_size


def _outlier(item: Any) -> Any:
    """Return a record far from the data; None where its features are no real numbers."""
    features = item[0]
    if not isinstance(features, torch.Tensor) or not features.is_floating_point():
        return None
    return (features * _OUTLYING, *item[1:])


def _trace(
    training: EngineTraining, batch: Sequence[Any], neighbour: Sequence[Any], seed: int
) -> PairTrace:
    training.optimizer.generator = None  # its law is that of the global one, which is followed

    def step(items: Any) -> Any:
        return training.gradients(items)

    function: Callable[..., Any] = step
    return trace_target(
        TracedTarget.of(function, {}),
        list(batch),
        list(neighbour),
        draws=_PATHS,
        rng=seed,
        replays=_REPLAYS,
        tree=1,
    )


def _shift(trace: PairTrace, moved: float) -> tuple[float, str]:
    """Return μ, or NaN and why there is none."""
    if not trace.followed:
        return math.nan, f"the noise cannot be followed: {trace.unfollowed[0]}"
    if moved == 0:
        return 0.0, ""
    if not trace.drawn or trace.leaks or trace.exact is not None:
        return math.inf, ""
    laws = {line.law for line in trace.lines}
    if laws - _GAUSSIAN:
        return math.nan, f"the noise is not Gaussian: {', '.join(sorted(laws))}"
    return max(each.gaussian for each in trace.composed), ""
