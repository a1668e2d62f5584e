"""Compare the test of one pair with peers, on the same samples: how many refute a claim.

    python benchmarks/peer_samples.py [--runs 40] [--only Laplace] [--check]

A number is the samples of each input with which half of the runs refute a claim at 95 %.

- ours: what the black box does on a pair: a pilot of a quarter of the samples chooses an event or a
  guessing game, and the others decide.
- ours, score given: the same, of the true log-ratio in place of the outputs.
- kernel bets: the any-time test of arXiv 2509.07055, written anew from the paper; the median of
  the samples after which it stops. A witness f in the unit ball of a Gaussian kernel's space climbs
  f(x) − f(y), and a stake follows by online Newton steps. Against √2 times the total variation
  that the claim allows.
- jax_privacy: Clopper–Pearson limits of its CanaryScoreAuditor, of the larger of its bounds by a
  split and by Bonferroni, where the *true* log-ratio is given as the score.
  ``pip install jax-privacy``.

With ``--check`` exits with 1 where ours with the score need more than 1.5 times the samples of
jax_privacy, which is given it too, or ours without it, of kernel bets.
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, ndtr
from scipy.stats import binom

from dpcp_audit.audits.search.event_search import Ones
from dpcp_audit.audits.search.pilot_hypotheses import choose_pair_test
from dpcp_audit.engine.suites import matching
from dpcp_audit.laws.laws import FiniteLaw, FinitePair, GaussianPair
from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse
from dpcp_audit.words.guarantees import ApproxDP, Neighbours, PrivacyGuarantee, PureDP, Relation

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.words.validate import FloatArray

LEVEL, MOST, KERNEL_MOST, TOLERATED = 0.05, 20_000, 2000, 1.5
MOSTS = MOST, MOST, KERNEL_MOST, MOST
TAUGHT = 1 / 4
"""The share of the samples that the pilot has."""
SIZES = np.unique(np.geomspace(20, MOST, 50).astype(int))
PAIR: Neighbours[int] = Neighbours(relation=Relation.SUBSTITUTION, value=0, neighbour=1)
ORDER = np.random.default_rng(1).permutation(10_000).astype(np.float64)
RESPONSE = KaryRandomizedResponse(2.0, 10)
SEARCH = PCOQS(alpha=0.1, rho=0.5)
MIDDLE = SEARCH.rounds * (0.5 + float(ndtr(1 / SEARCH.noise_scale))) / 2
"""Ones between what the two inputs of its pair give on average."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A mechanism on the inputs 0 and 1, with a claim that it exceeds.

    Parameters
    ----------
    draw : callable
        Returns so many outputs on an input.
    loss : callable
        The true log-ratio of the laws on 0 and 1 at outputs; peers are given it.
    claim : ApproxDP
    bounds : tuple of float or None
        The interval that a bisecting target starts from.
    """

    name: str
    draw: Callable[[int, int, np.random.Generator], FloatArray]
    loss: Callable[[FloatArray], FloatArray]
    claim: ApproxDP
    bounds: tuple[float, float] | None = None

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """The claim; pure where δ = 0."""
        return self.claim if self.claim.delta else PureDP(self.claim.epsilon)

    def samples(self, seed: int) -> tuple[FloatArray, FloatArray]:
        """Return the outputs on 0 and on 1 that every contestant reads from."""
        rng = np.random.default_rng([seed, 7])
        return self.draw(0, MOST, rng), self.draw(1, MOST, rng)


def refuted(target: Target, pools: tuple[FloatArray, FloatArray], size: int, seed: int) -> bool:
    """Return True if the first samples of either input refute the claim, a pilot among them."""
    taught = round(TAUGHT * size)
    pilot, fresh = [x[:taught] for x in pools], [x[taught:size] for x in pools]
    test = choose_pair_test(target.guarantee, pilot[0], pilot[1], bounds=target.bounds, seed=seed)
    return test.judge(target.guarantee, fresh[0], fresh[1], significance=LEVEL).refuted


def ours(target: Target, seeds: range, *, score_given: bool) -> float:
    """Return the least size at which half of our tests of the pair refute."""
    pools = [target.samples(seed) for seed in seeds]
    if score_given:
        pools = [(target.loss(first), target.loss(second)) for first, second in pools]

    def rate(size: int) -> float:
        found = [refuted(target, pair, size, seed) for pair, seed in zip(pools, seeds, strict=True)]
        return float(np.mean(found))

    return least_size(rate)


def least_size(rate: Callable[[int], float]) -> float:
    """Return the least of the sizes at which a rising rate is at least a half; maybe infinity."""
    low, high = 0, len(SIZES)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if rate(int(SIZES[middle])) >= 1 / 2 else (middle + 1, high)
    return float(SIZES[low]) if low < len(SIZES) else math.inf


def kernel_bets(target: Target, seed: int) -> float:
    """Return after how many samples of each input the kernel bets stop, pair by pair."""
    first, second = (np.atleast_2d(x[:KERNEL_MOST].T).T for x in target.samples(seed))
    scale = np.median(np.abs(first[:50] - second[:50]).sum(axis=1)) or 1.0
    ratio = math.exp(target.claim.epsilon)
    allowed = math.sqrt(2) * (ratio - 1 + 2 * target.claim.delta) / (ratio + 1)
    most = 1 / (2 * (math.sqrt(2) + allowed))
    points, weights = np.empty((2 * KERNEL_MOST, first.shape[1])), np.zeros(2 * KERNEL_MOST)
    stake, log_wealth, curvature, norm = 0.0, 0.0, 1.0, 0.0
    for t, pair in enumerate(np.stack([first, second], axis=1)):
        known = points[: 2 * t]
        squares = ((known[:, None, :] - pair) ** 2).sum(axis=2) / (2 * scale**2)
        at = weights[: 2 * t] @ np.exp(-squares)  # f at the two outputs
        gain = float(at[0] - at[1]) - allowed
        log_wealth += math.log1p(stake * gain)
        if log_wealth >= -math.log(LEVEL):
            return t + 1.0
        slope = gain / (1 + stake * gain)
        curvature += slope**2
        stake = min(most, max(0.0, stake + 2 / (2 - math.log(3)) * slope / curvature))
        step = math.sqrt(2 / (t + 1))
        apart = 2 - 2 * math.exp(-float(((pair[0] - pair[1]) ** 2).sum()) / (2 * scale**2))
        norm = norm + 2 * step * float(at[0] - at[1]) + step**2 * apart
        points[2 * t : 2 * t + 2], weights[2 * t : 2 * t + 2] = pair, (step, -step)
        if norm > 1:  # back into the unit ball
            weights[: 2 * t + 2] /= math.sqrt(norm)
            norm = 1.0
    return math.inf


def jax_privacy(target: Target, seeds: range) -> float:
    """Return the least size at which half of the runs refute; NaN where it is not installed."""
    try:
        auditing: Any = import_module("jax_privacy.auditing")  # an optional peer
    except ImportError:
        return math.nan
    scores = [tuple(map(target.loss, target.samples(seed))) for seed in seeds]

    def refutes(pair: Any, size: int, strategy: Any) -> bool:
        auditor = auditing.CanaryScoreAuditor(pair[0][:size], pair[1][:size])
        bound = auditor.epsilon_clopper_pearson(
            LEVEL, target.claim.delta, one_sided=False, threshold_strategy=strategy
        )
        return bool(bound > target.claim.epsilon)

    def half(strategy: Any) -> float:
        return least_size(
            lambda size: float(np.mean([refutes(pair, size, strategy) for pair in scores]))
        )

    return min(half(auditing.Split(seed=0)), half(auditing.Bonferroni()))


def laplace(scale: float, *, d: int = 1) -> Target:
    """Return Laplace noise in ``d`` coordinates, of which the first moves by 1."""

    def draw(value: int, size: int, rng: np.random.Generator) -> FloatArray:
        outputs = rng.laplace(scale=scale, size=(size, d))
        outputs[:, 0] += value
        return outputs if d > 1 else outputs[:, 0]

    def loss(outputs: FloatArray) -> FloatArray:
        moved = outputs[:, 0] if d > 1 else outputs
        return np.clip(1 - 2 * moved, -1.0, 1.0) / scale  # exact: roundings would tell the input

    true = 1 / scale
    claim = ApproxDP(0.9 * true if scale == 1 else 1.0, 0.0)
    many = f", {d} coordinates" if d > 1 else ""
    return Target(name=f"Laplace ε = {true:g}{many}", draw=draw, loss=loss, claim=claim)


def searches() -> Target:
    """Return P-COQS at ρ = 1/2 on its worst pair, with half of its ε as the claim."""
    bits = Ones(bounds=SEARCH.bounds, rounds=SEARCH.rounds, resolution=SEARCH.resolution)
    chances = 0.5, float(ndtr(1 / SEARCH.noise_scale))
    counts = np.arange(SEARCH.rounds + 1)
    pair = FinitePair(*(FiniteLaw.from_mass(binom.pmf(counts, SEARCH.rounds, p)) for p in chances))
    scores = SEARCH.worst_pair(20)
    sign = 1 if bits(SEARCH.sample(scores[0], 4000, rng=0)).mean() < MIDDLE else -1
    return Target(
        name="P-COQS ρ = 1/2, δ = 0.05",
        draw=lambda value, size, rng: SEARCH.sample(scores[value], size, rng=rng),
        loss=lambda outputs: sign * pair.loss[bits(outputs).astype(np.int64)],
        claim=ApproxDP(0.5 * pair.epsilon_at(0.05), 0.05),
        bounds=SEARCH.bounds,
    )


def targets() -> list[Target]:
    """Return the targets; the first three claim nine tenths of the ε that is tight at their δ."""
    gaussian = GaussianPair(1.0)
    return [
        laplace(1.0),
        Target(
            name="k-RR ε = 2, k = 10",
            draw=lambda value, size, rng: RESPONSE.sample(np.full(size, value), rng=rng).astype(
                np.float64
            ),
            loss=lambda outputs: 2.0 * (outputs == 0) - 2.0 * (outputs == 1),
            claim=ApproxDP(1.8, 0.0),
        ),
        Target(
            name="Gaussian μ = 1, δ = δ(1)",
            draw=lambda value, size, rng: np.asarray(value + rng.normal(size=size)),
            loss=lambda outputs: 0.5 - outputs,
            claim=ApproxDP(0.9, gaussian.delta_at(1.0)),
        ),
        searches(),
        laplace(1.0, d=20),
        Target(
            name="10⁴ scattered outcomes, ε = 1 for 0.2",
            draw=scattered,
            loss=lambda outputs: np.where(np.isin(outputs, ORDER[:5000]), 1.0, -1.0),
            claim=ApproxDP(0.2, 0.0),
        ),
        laplace(0.5),
        laplace(0.25),
    ]


def scattered(value: int, size: int, rng: np.random.Generator) -> FloatArray:
    """Draw one of the first or the last 5,000 of some values in no order; e times as likely."""
    side = (rng.random(size) > expit(1.0)) ^ (value == 1)
    return np.asarray(ORDER[5000 * side + rng.integers(5000, size=size)])


def main() -> int:
    """Print the table; return 1 where a peer does much better."""
    parser = argparse.ArgumentParser(description="Our test of a pair beside its peers.")
    parser.add_argument("--runs", type=int, default=40, help="behind each median")
    parser.add_argument("--only", action="append", default=[], metavar="GLOB", help="targets")
    parser.add_argument("--check", action="store_true", help="fail where peers need much fewer")
    options = parser.parse_args()
    chosen = matching(options.only, [target.name for target in targets()], what="target")
    print("| target | claimed ε | ours, score given | ours | kernel bets | jax_privacy |")
    print("|---|---|---|---|---|---|")
    held, seeds = True, range(options.runs)
    for target in targets():
        if target.name not in chosen:
            continue
        given, learned = (ours(target, seeds, score_given=given) for given in (True, False))
        kernel = float(np.median([kernel_bets(target, seed) for seed in seeds]))
        peer = jax_privacy(target, seeds)
        held = held and given <= TOLERATED * (peer if peer > 0 else math.inf)
        held = held and learned <= TOLERATED * kernel
        cells = " | ".join(map(shown, (given, learned, kernel, peer), MOSTS))
        print(f"| {target.name} | {target.claim.epsilon:.3g} | {cells} |", flush=True)
    return int(options.check and not held)


def shown(size: float, most: int) -> str:
    """Return a median in words; of more than were drawn where it is infinite."""
    if math.isnan(size):
        return "not installed"
    return f"{size:,.0f}" if math.isfinite(size) else f"> {most:,}"


if __name__ == "__main__":
    sys.exit(main())
