"""What it costs to follow the noise: a run of a target with and without a trace.

Both sides of a ratio run in one process; each time is the processor's, the best of several. With
``--check`` the exit code is 1 where a target is missed.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.tracing.path_losses import path_loss
from dpcp_audit.tracing.path_runs import SampledRun
from dpcp_audit.tracing.target_calls import TracedTarget

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.words.validate import FloatArray

_SCORES = np.linspace(0.01, 0.99, 100)
_NEIGHBOUR = np.append(_SCORES[1:], 1.0)
_ROUNDS, _BINS = 34, 1000


def noisy_search(scores: FloatArray, *, rng: np.random.Generator) -> float:
    """Bisect by noisy counts, 34 rounds."""
    sigma, left, right = math.sqrt(_ROUNDS), 0.0, 1.0
    for _ in range(_ROUNDS):
        middle = (left + right) / 2
        if (scores <= middle).sum() + rng.normal(scale=sigma) < 90:
            left = middle
        else:
            right = middle
    return right


def noisy_histogram(scores: FloatArray, *, rng: np.random.Generator) -> FloatArray:
    """Add noise to 1,000 counts and keep them positive."""
    counts, _ = np.histogram(scores, bins=_BINS, range=(0, 1))
    return np.maximum(counts + rng.laplace(scale=2.0, size=_BINS), 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    function: Callable[..., Any]
    most: float
    """Untraced calls that a traced run costs at most."""


_CASES = (_Case(function=noisy_search, most=20), _Case(function=noisy_histogram, most=30))


def _best(call: Callable[[], object], repeats: int) -> float:
    times: list[float] = []
    for _ in range(repeats):
        begun = time.process_time()
        call()
        times.append(time.process_time() - begun)
    return min(times)


def _calls(function: Callable[..., Any]) -> list[Callable[[], object]]:
    """Return an untraced run, a traced one, and the loss of a path."""
    target, rng = TracedTarget.of(function, {}), np.random.default_rng(0)
    return [
        lambda: function(_SCORES, rng=rng),
        lambda: target.outputs(_SCORES, SampledRun(), rng),
        lambda: path_loss(target, _SCORES, _NEIGHBOUR, rng, values=False),
    ]


def main() -> int:
    """Time all cases; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--check", action="store_true", help="exit with 1 when a target is missed")
    options = parser.parse_args()
    print("| target | untraced, ms | traced run, ms | ratio | loss of a path, ms |")
    print("|---|---|---|---|---|")
    missed = False
    for case in _CASES:
        calls = _calls(case.function)
        plain, run, loss = (_best(call, options.repeats) for call in calls)
        missed |= run > case.most * plain
        print(
            f"| `{case.function.__name__}` | {1e3 * plain:.2f} | {1e3 * run:.2f} | "
            f"{run / plain:.0f} | {1e3 * loss:.2f} |"
        )
    return int(options.check and missed)


if __name__ == "__main__":
    raise SystemExit(main())
