"""Print how many outputs black-box audits draw until they refute planted bugs, at 1e-4.

    python benchmarks/blackbox.py [--runs 5] [--only NAME] [--correct]

"Refuted" says in how many of the runs, each on a seed of its own and at most ``--draws`` outputs;
"median" and "most" are the outputs drawn until the refutation, pilots and probes included, before
the witness is shrunk. The correct twins are audited with ``--correct``; none should be refuted.
"""

from __future__ import annotations

import argparse
import math
import re
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.audits.blackbox import BlackBoxPrivacy
from dpcp_audit.audits.search.record_pairs import ValuePairs
from dpcp_audit.audits.search.score_pairs import ScorePairs
from dpcp_audit.engine.suites import matching
from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.mechanisms.quantiles import ExponQ, Normaliser
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse
from dpcp_audit.words.checks import Context
from dpcp_audit.words.guarantees import ZCDP, LocalDP, PureDP, Relation
from dpcp_audit.words.results import Verdict
from dpcp_ledger.mechanisms.histlap import HistLap

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.audits.search.pair_space import PairSpace, Sampler
    from dpcp_audit.words.guarantees import PrivacyGuarantee
    from dpcp_audit.words.validate import FloatArray

SIGNIFICANCE = 1e-4
FIXED = ScorePairs(sizes=(100, 1, 2, 3, 5, 10, 20))


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A target, its claim, and whether the claim is true."""

    name: str
    sample: Sampler
    guarantee: PrivacyGuarantee
    pairs: PairSpace = FIXED
    correct: bool = False


def laplace_mean(
    scale: float, scores: FloatArray, size: int, /, *, rng: np.random.Generator
) -> FloatArray:
    """Return the mean with Laplace noise; 1-DP at a scale of 1."""
    return np.asarray(scores.mean() + rng.laplace(scale=scale / len(scores), size=size))


def gaussian_mean(
    scale: float, scores: FloatArray, size: int, /, *, rng: np.random.Generator
) -> FloatArray:
    """Return the mean with Gaussian noise; 0.5-zCDP at a scale of 1."""
    return np.asarray(scores.mean() + rng.normal(scale=scale / len(scores), size=size))


def falls_back(
    least: int, scores: FloatArray, size: int, /, *, rng: np.random.Generator
) -> FloatArray:
    """Return the plain quantile of fewer than ``least`` scores, and P-COQS's of others."""
    if len(scores) < least:
        return np.full(size, np.quantile(scores, 0.9))
    return PCOQS(alpha=0.1, rho=0.5).sample(scores, size, rng=rng)


def own_bounds(scores: FloatArray, size: int, /, *, rng: np.random.Generator) -> FloatArray:
    """Search between the least and the largest score instead of between public bounds."""
    low, high = float(np.min(scores)), float(np.max(scores))
    if not high - low > 1e-6:
        return np.full(size, low)
    search = PCOQS(alpha=0.1, rho=0.5, bounds=(low, high), resolution=(high - low) * 1e-6)
    return search.sample(scores, size, rng=rng)


def rounded(scores: FloatArray, size: int, /, *, rng: np.random.Generator) -> FloatArray:
    """Round P-COQS's threshold to two decimals, which loses coverage and no privacy."""
    return np.asarray(np.round(PCOQS(alpha=0.1, rho=0.5).sample(scores, size, rng=rng), 2))


def response(
    epsilon: float, k: int, value: Any, size: int, /, *, rng: np.random.Generator
) -> FloatArray:
    """Respond among ten values with the keep probability of k."""
    keep = math.exp(epsilon) / (math.exp(epsilon) + k - 1)
    other = (value + rng.integers(1, 10, size)) % 10
    return np.asarray(np.where(rng.random(size) < keep, value, other), dtype=np.float64)


def own_response(value: Any, size: int, /, *, rng: np.random.Generator) -> FloatArray:
    """Respond among ten values at ε = 1."""
    right = KaryRandomizedResponse(1.0, 10)
    return right.sample(np.full(size, value), rng=rng).astype(np.float64)


def pcoqs(factor: float) -> Sampler:
    """Return P-COQS at ρ = 0.5 with its noise times ``factor``."""
    right = PCOQS(alpha=0.1, rho=0.5)
    return replace(right, rho=right.rho / factor**2).sample


def scaled(sample: Callable[..., FloatArray], factor: float) -> Sampler:
    """Return a sampler with its noise times ``factor``."""
    return partial(sample, factor)


def targets() -> list[Target]:
    """Return the planted bugs and the correct twins."""
    zcdp, pure = ZCDP(0.5), PureDP(1.0)
    exponq = ExponQ(alpha=0.1, epsilon=1.0, n_candidates=10_000, gamma=0.01)
    histlap = partial(HistLap, alpha=0.1, epsilon=1.0)
    ten = ValuePairs(n_values=10)
    rows = [
        *(
            Target(
                name=f"{name} x {factor:g}",
                sample=sample(factor),
                guarantee=guarantee,
                correct=factor == 1,
            )
            for name, sample, guarantee in (
                ("Laplace noise", partial(scaled, laplace_mean), pure),
                ("Gaussian noise", partial(scaled, gaussian_mean), zcdp),
                ("P-COQS noise", pcoqs, zcdp),
            )
            for factor in (0.5, 0.7, 0.8, 0.9, 1.0)
        ),
        Target(
            name="ExponQ, published normaliser",
            sample=replace(exponq, normaliser=Normaliser.PUBLISHED).sample,
            guarantee=pure,
        ),
        Target(
            name="ExponQ, corrected",
            sample=exponq.sample,
            guarantee=pure,
            pairs=ScorePairs(sizes=(1000, 1, 5)),  # on fewer than 330 scores it is constant
            correct=True,
        ),
        Target(
            name="HistLap, scale 1/ε, 50 bins",
            sample=histlap(noise=Relation.ADD_REMOVE).sample,
            guarantee=pure,
        ),
        Target(
            name="HistLap, scale 1/ε, 10 bins",
            sample=histlap(noise=Relation.ADD_REMOVE, n_bins=10).sample,
            guarantee=pure,
        ),
        Target(
            name="HistLap, scale 1/ε, 2 bins",
            sample=histlap(noise=Relation.ADD_REMOVE, n_bins=2).sample,
            guarantee=pure,
        ),
        Target(name="HistLap, scale 2/ε", sample=histlap().sample, guarantee=pure, correct=True),
        Target(
            name="HistLap, add/remove",
            sample=histlap(noise=Relation.ADD_REMOVE).sample,
            guarantee=pure,
            pairs=ScorePairs(sizes=(100, 2, 5, 20), relation=Relation.ADD_REMOVE),
            correct=True,
        ),
        Target(
            name="k-RR, keep probability of k = 9",
            sample=partial(response, 1.0, 9),
            guarantee=LocalDP(1.0),
            pairs=ten,
        ),
        Target(
            name="k-RR, keep probability of k = 2",
            sample=partial(response, 1.0, 2),
            guarantee=LocalDP(1.0),
            pairs=ten,
        ),
        Target(name="k-RR", sample=own_response, guarantee=LocalDP(1.0), pairs=ten, correct=True),
        Target(name="plain quantile for n < 20", sample=partial(falls_back, 20), guarantee=zcdp),
        Target(name="bounds taken from the data", sample=own_bounds, guarantee=zcdp),
        Target(name="P-COQS rounded", sample=rounded, guarantee=zcdp, correct=True),
    ]
    return sorted(rows, key=lambda row: row.correct)


def main() -> None:
    """Print a row a target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--draws", type=int, default=200_000)
    parser.add_argument("--only", action="append", default=[], metavar="GLOB")
    parser.add_argument("--correct", action="store_true")
    arguments = parser.parse_args()
    chosen = matching(arguments.only, [target.name for target in targets()], what="target")
    print(f"{'target':34} refuted  median      most   seconds  worst pair of the first run")
    for target in targets():
        if target.correct != arguments.correct or target.name not in chosen:
            continue
        spent: list[int] = []
        families: list[str] = []
        start = perf_counter()
        for seed in range(arguments.runs):
            outcome = BlackBoxPrivacy(
                sample=target.sample,
                guarantee=target.guarantee,
                pairs=target.pairs,
                draws=arguments.draws,
            )(Context(seed=seed, name=target.name, significance=SIGNIFICANCE))
            families.append(outcome.witness["family"])
            if outcome.verdict is Verdict.REFUTED:
                drawn = re.search(r"after (\d+) outputs", outcome.figures[0].description)
                spent.append(int(drawn[1]) if drawn else 0)
        seconds = (perf_counter() - start) / arguments.runs
        numbers = f"{np.median(spent):8.0f}  {max(spent):8d}" if spent else f"{'-':>8}  {'-':>8}"
        print(
            f"{target.name:34} {len(spent):3d}/{arguments.runs:<3d} {numbers}  {seconds:8.2f}"
            f"  {families[0]}",
            flush=True,
        )


if __name__ == "__main__":
    main()
