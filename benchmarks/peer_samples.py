"""Compare any-time bets with peers, on the same samples: how many refute a claim.

    python benchmarks/peer_samples.py [--runs 40] [--only Laplace] [--check]

A number is the median of the samples of each input after which a claim is refuted at 95 %.

- bets: ``SequentialPrivacy`` on the pair; what to guess is learned as it goes.
- bets, known: the true log-odds are given, against the least loss beyond the claim.
- kernel bets: the test of arXiv 2509.07055, written anew from the paper. A witness f in the unit
  ball of a Gaussian kernel's space climbs f(x) − f(y), and a stake follows by online Newton steps.
  Against √2 times the total variation that the claim allows.
- jax_privacy: Clopper–Pearson limits of its CanaryScoreAuditor, of the larger of its bounds by a
  split and by Bonferroni, where the *true* log-ratio is given as the score. Of a fixed size, the
  size being found beforehand: bets stop by themselves. ``pip install jax-privacy``.

With ``--check`` exits with 1 where bets that are given the log-odds need more than 1.5 times the
samples of jax_privacy, which is given them too, or bets that are not, of kernel bets.
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

from dpcp_audit.audits.search.features import Ones
from dpcp_audit.audits.search.pair_space import FixedPairs
from dpcp_audit.audits.sequential import SequentialPrivacy
from dpcp_audit.engine.suites import matching
from dpcp_audit.laws.laws import FiniteLaw, FinitePair, GaussianPair
from dpcp_audit.mechanisms.pcoqs.release import PCOQS
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse
from dpcp_audit.stats.betting import GuessBets, levels_of, mixture_wealth
from dpcp_audit.targets.degenerate import Randomness
from dpcp_audit.words.checks import Context
from dpcp_audit.words.guarantees import ApproxDP, Neighbours, PrivacyGuarantee, PureDP, Relation
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.words.arrays import FloatArray
    from dpcp_audit.words.results import Outcome

LEVEL, MOST, KERNEL_MOST, TOLERATED = 0.05, 20_000, 2000, 1.5
ROUNDS = 2 * MOST - 2000
"""Of bets at most: either input has its samples, however the coins fall."""
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
        The true log-ratio of the laws on 0 and 1 at outputs; peers and known bets are given it.
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


def bets(target: Target, seed: int) -> float:
    """Return after how many samples of each input the sequential audit stops."""
    pools = target.samples(seed)
    check = SequentialPrivacy(
        sample=Replay(pools, [0, 0]),
        guarantee=target.guarantee,
        pairs=FixedPairs((PAIR,), bounds=target.bounds),
        draws=ROUNDS,
        randomness=Randomness.EXTERNAL,
    )
    outcome = check(Context(seed=seed, name="peers", significance=LEVEL))
    return (outcome.evidence.n_samples or 0) / 2 if refuted(outcome) else math.inf


def known_bets(target: Target, seed: int) -> float:
    """Return the same for bets by the true log-odds."""
    first, second = target.samples(seed)
    coins = np.random.default_rng([seed, 8]).random(ROUNDS) < 1 / 2
    losses = np.where(coins, target.loss(first)[np.cumsum(coins) - 1], 0.0)
    losses[~coins] = target.loss(second)[np.cumsum(~coins) - 1][~coins]
    against = GuessBets(epsilon=target.claim.epsilon, delta=target.claim.delta)
    wealth = mixture_wealth(against.log_paths(levels_of(losses), (losses > 0) == coins))
    reached = wealth >= -math.log(LEVEL)
    return (int(np.argmax(reached)) + 1) / 2 if reached.any() else math.inf


def kernel_bets(target: Target, seed: int) -> float:
    """Return the same for the kernel bets of arXiv 2509.07055, pair by pair."""
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
        low, high = 0, len(SIZES)
        while low < high:
            middle = (low + high) // 2
            rate = np.mean([refutes(pair, int(SIZES[middle]), strategy) for pair in scores])
            low, high = (low, middle) if rate >= 1 / 2 else (middle + 1, high)
        return float(SIZES[low]) if low < len(SIZES) else math.inf

    return min(half(auditing.Split(seed=0)), half(auditing.Bonferroni()))


def refuted(outcome: Outcome) -> bool:
    """Tell whether an audit refutes its claim."""
    return outcome.verdict is Verdict.REFUTED


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
    parser = argparse.ArgumentParser(description="Any-time bets beside their peers.")
    parser.add_argument("--runs", type=int, default=40, help="behind each median")
    parser.add_argument("--only", action="append", default=[], metavar="GLOB", help="targets")
    parser.add_argument("--check", action="store_true", help="fail where peers need much fewer")
    options = parser.parse_args()
    chosen = matching(options.only, [target.name for target in targets()], what="target")
    print("| target | claimed ε | bets, known | bets | kernel bets | jax_privacy |")
    print("|---|---|---|---|---|---|")
    held = True
    for target in targets():
        if target.name not in chosen:
            continue
        ways = known_bets, bets, kernel_bets
        found = [
            float(np.median([way(target, seed) for seed in range(options.runs)])) for way in ways
        ]
        found.append(jax_privacy(target, range(options.runs)))
        held = held and found[0] <= TOLERATED * (found[3] if found[3] > 0 else math.inf)
        held = held and found[1] <= TOLERATED * found[2]
        most = ROUNDS // 2, ROUNDS // 2, KERNEL_MOST, MOST
        cells = " | ".join(map(shown, found, most))
        print(f"| {target.name} | {target.claim.epsilon:.3g} | {cells} |", flush=True)
    return int(options.check and not held)


def shown(size: float, most: int) -> str:
    """Return a median in words; of more than were drawn where it is infinite."""
    if math.isnan(size):
        return "not installed"
    return f"{size:,.0f}" if math.isfinite(size) else f"> {most:,}"


if __name__ == "__main__":
    sys.exit(main())
