"""Print the loss that 5,000 outputs of each input certify on one pair, ours beside jax_privacy's.

    python -m benchmarks.certified_bounds [--runs 30] [--only Laplace*] [--check]

Means over runs of lower bounds of ε at 95 %, in one process and on the same outputs. Claimed is
ε = 0.2, which all exceed: what follows after the refutation is the bound.

- outputs: ``SampledPrivacy`` on the outputs as they are; a pilot, which is a part of them, finds
  the event.
- score: the same on the score, a number whose half-lines are the best events.
- search: ``BlackBoxPrivacy``, told of the pair, with as many outputs, and the share of them that
  it drew: it does not stop where the claim is refuted.
- jax_privacy: Clopper–Pearson limits of its CanaryScoreAuditor on the score, which it cannot do
  without; by a split or by Bonferroni, one-sided or not, whichever is best of the target.
  ``pip install jax-privacy``.

With ``--check`` exits with 1 where the bound on the score is below that of jax_privacy.
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

from benchmarks.peer_samples import LEVEL, PAIR, Replay
from dpcp_audit.audits.blackbox import BlackBoxPrivacy
from dpcp_audit.audits.sampled import SampledPrivacy
from dpcp_audit.audits.search.pair_space import FixedPairs
from dpcp_audit.engine.suites import matching
from dpcp_audit.targets.degenerate import Randomness
from dpcp_audit.words.checks import Context
from dpcp_audit.words.guarantees import PureDP

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.words.arrays import FloatArray
    from dpcp_audit.words.checks import Check

SIDE, PROBED = 5000, 200
"""Outputs of each input; so many of them go into the probes for degenerate outputs."""
CLAIM = PureDP(0.2)
NODES, QUERIES = 4, 20
THRESHOLD = 2.0


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


class Bounds(NamedTuple):
    """Lower bounds of ε of one run, and the share of the outputs that the search drew."""

    outputs: float
    score: float
    search: float
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

    def lower(check: Check) -> float:
        return check(context).evidence.lower

    found = Replay(pools, [0, 0])
    searched = BlackBoxPrivacy(
        sample=found,
        guarantee=CLAIM,
        pairs=FixedPairs((PAIR,)),
        draws=2 * (SIDE - 2 * PROBED),
        randomness=Randomness.EXTERNAL,
    )
    return Bounds(
        outputs=lower(_sampled(pools)),
        score=lower(_sampled(scores)),
        search=lower(searched),
        drawn=sum(found.used) / (2 * SIDE),
    )


def _sampled(pools: tuple[FloatArray, FloatArray]) -> SampledPrivacy:
    return SampledPrivacy(
        sample=Replay(pools, [0, 0]),
        guarantee=CLAIM,
        neighbours=PAIR,
        n_samples=SIDE - PROBED,
        randomness=Randomness.EXTERNAL,
    )


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
    print("| target | outputs | score | search (outputs drawn) | jax_privacy, score given |")
    print("|---|---|---|---|---|")
    held = True
    for target in TARGETS:
        if target.name not in chosen:
            continue
        seeds = range(options.runs)
        found = Bounds(*np.mean([bounds(target, seed) for seed in seeds], axis=0).tolist())
        peers = jax_privacy(target, seeds)
        held = held and not found.score < peers  # nothing is below NaN
        peer = "not installed" if math.isnan(peers) else f"{peers:.2f}"
        print(
            f"| {target.name} | {found.outputs:.2f} | {found.score:.2f} | {found.search:.2f} "
            f"({found.drawn:.0%}) | {peer} |",
            flush=True,
        )
    return int(options.check and not held)


if __name__ == "__main__":
    sys.exit(main())
