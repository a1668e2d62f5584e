"""Print the loss that 5,000 outputs of each input certify on one pair, ours beside jax_privacy's.

    python -m benchmarks.certified_bounds [--runs 30] [--only Laplace*] [--check]

Means over runs of lower bounds of ε at 95 %, in one process and on the same outputs. Claimed is
ε = 0.2, which all exceed: what follows after the refutation is the bound.

- outputs: ``BlackBoxPrivacy``, told of the pair, with as many outputs, and the share of them that
  it drew.
- score: the same on the score, a number whose half-lines are the best events.
- jax_privacy: Clopper–Pearson limits of its CanaryScoreAuditor on the score, which it cannot do
  without; by a split or by Bonferroni, one-sided or not, whichever is best of the target.
  ``pip install jax-privacy``.

With ``--check`` exits with 1 where a bound on the outputs is below 0.9 of jax_privacy's.
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import dataclass
from importlib import import_module
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.peer_samples import LEVEL, PAIR
from dpcp_audit.audits.blackbox import BlackBoxPrivacy
from dpcp_audit.audits.search.pair_space import FixedPairs
from dpcp_audit.engine.suites import matching
from dpcp_audit.targets.answers import Randomness
from dpcp_audit.words.checks import Context
from dpcp_audit.words.guarantees import PureDP

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.words.validate import FloatArray

SIDE, PROBED = 5000, 200
"""Outputs of each input; so many of them go into the probes for degenerate outputs."""
CLAIM = PureDP(0.2)
NODES, QUERIES = 4, 20
THRESHOLD = 2.0
NEARLY = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedTarget:
    """A mechanism on the inputs 0 and 1, and the score that tells them apart.

    Parameters
    ----------
    draw : callable
        Returns so many outputs on an input.
    score : callable
        A number of each output, larger where 0 is the likelier input.
    """

    name: str
    draw: Callable[[int, int, np.random.Generator], FloatArray]
    score: Callable[[FloatArray], FloatArray]


def laplace(value: int, size: int, rng: np.random.Generator) -> FloatArray:
    """Draw 0 or 1 with noise for ε = 3."""
    return np.asarray(value + rng.laplace(scale=1 / 3, size=size))


def tree(value: int, size: int, rng: np.random.Generator) -> FloatArray:
    """Draw the noisy sums over a leaf, of noise for ε = 1 each: the split of ε forgotten."""
    return np.asarray(value + rng.laplace(size=(size, NODES)))


def histogram(value: int, size: int, rng: np.random.Generator) -> FloatArray:
    """Draw two bins, of which one record moves: noise for ε = 1.5 each."""
    return np.asarray(np.array([1 - value, value]) + rng.laplace(scale=2 / 3, size=(size, 2)))


def sparse_vector(value: int, size: int, rng: np.random.Generator) -> FloatArray:
    """Draw which of the queries is first seen above the threshold, whose noise is too small."""
    threshold = THRESHOLD + rng.laplace(scale=0.1, size=(size, 1))
    above = 1.5 - value + rng.laplace(scale=0.5, size=(size, QUERIES)) >= threshold
    return np.where(above.any(axis=1), above.argmax(axis=1), QUERIES).astype(np.float64)


def squashed(outputs: FloatArray, scale: float = 1.0) -> FloatArray:
    """Return the log-ratio of Laplace noise around 0 and around 1."""
    return np.clip(1 - 2 * outputs, -1.0, 1.0) / scale


TARGETS = (
    BoundedTarget(name="Laplace, ε = 3", draw=laplace, score=lambda x: squashed(x, 1 / 3)),
    BoundedTarget(
        name="tree of four levels, ε = 4", draw=tree, score=lambda x: squashed(x).sum(axis=1)
    ),
    BoundedTarget(
        name="histogram, ε = 3",
        draw=histogram,
        score=lambda x: squashed(x[:, 1], 2 / 3) - squashed(x[:, 0], 2 / 3),
    ),
    BoundedTarget(name="sparse vector", draw=sparse_vector, score=lambda x: -x),
)


@dataclass(slots=True, eq=False)
class Replay:
    """Hands out samples that are drawn already, each once, in their order."""

    pools: tuple[FloatArray, FloatArray]
    used: list[int]

    def __call__(self, value: int, size: int, /, *, rng: np.random.Generator) -> FloatArray:
        """Return the next outputs on an input."""
        del rng
        start = self.used[value]
        self.used[value] += size
        return self.pools[value][start : start + size]


class Bounds(NamedTuple):
    """Lower bounds of ε of one run, and the share of the outputs that were drawn."""

    outputs: float
    score: float
    drawn: float


def pools_of(target: BoundedTarget, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return the outputs on 0 and on 1 that all read from."""
    rng = np.random.default_rng([seed, 3])
    return target.draw(0, SIDE, rng), target.draw(1, SIDE, rng)


def bounds(target: BoundedTarget, seed: int) -> Bounds:
    """Return what our audits certify."""
    pools = pools_of(target, seed)
    scores = target.score(pools[0]), target.score(pools[1])
    context = Context(seed=seed, name="bounds", significance=LEVEL)

    def searched(pools: tuple[FloatArray, FloatArray]) -> tuple[float, float]:
        found = Replay(pools, [0, 0])
        audit = BlackBoxPrivacy(
            sample=found,
            guarantee=CLAIM,
            pairs=FixedPairs((PAIR,)),
            draws=2 * (SIDE - 2 * PROBED),
            randomness=Randomness.EXTERNAL,
        )
        return audit(context).evidence.lower, sum(found.used) / (2 * SIDE)

    (outputs, drawn), (score, _) = searched(pools), searched(scores)
    return Bounds(outputs=outputs, score=score, drawn=drawn)


def jax_privacy(target: BoundedTarget, seeds: range) -> float:
    """Return the mean of its bounds, chosen as is best; NaN where it is not installed."""
    try:
        auditing: Any = import_module("jax_privacy.auditing")  # an optional peer
    except ImportError:
        return math.nan
    strategies = auditing.Split(seed=0), auditing.Bonferroni()

    def found(seed: int) -> list[float]:
        auditor = auditing.CanaryScoreAuditor(*map(target.score, pools_of(target, seed)))
        return [
            float(auditor.epsilon_clopper_pearson(LEVEL, 0.0, sided, threshold_strategy=strategy))
            for sided, strategy in product((True, False), strategies)
        ]

    return float(np.mean([found(seed) for seed in seeds], axis=0).max())


def main() -> int:
    """Print the table; return 1 where a peer certifies more."""
    parser = argparse.ArgumentParser(description="What 5,000 outputs of each input certify.")
    parser.add_argument("--runs", type=int, default=30, help="behind each mean")
    parser.add_argument("--only", action="append", default=[], metavar="GLOB", help="targets")
    parser.add_argument("--check", action="store_true", help="fail where a peer certifies more")
    options = parser.parse_args()
    chosen = matching(options.only, [target.name for target in TARGETS], what="target")
    print("| target | outputs (drawn) | score | jax_privacy, score given |")
    print("|---|---|---|---|")
    held = True
    for target in TARGETS:
        if target.name not in chosen:
            continue
        seeds = range(options.runs)
        found = Bounds(*np.mean([bounds(target, seed) for seed in seeds], axis=0).tolist())
        peers = jax_privacy(target, seeds)
        held = held and not found.outputs < NEARLY * peers  # nothing is below NaN
        peer = "not installed" if math.isnan(peers) else f"{peers:.2f}"
        print(
            f"| {target.name} | {found.outputs:.2f} ({found.drawn:.0%}) | {found.score:.2f} | "
            f"{peer} |",
            flush=True,
        )
    return int(options.check and not held)


if __name__ == "__main__":
    sys.exit(main())
