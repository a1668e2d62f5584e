"""Print how many samples of each input certify a share of the true ε, at 95 % confidence.

    python benchmarks/auditor_samples.py [--runs 60]

"Known": the best event is given. "Searched": a pilot of a third of the samples finds it, and is
part of the number; bets learn it as they go. A number is the size at which half of the runs
certify; for betting, the mean of the samples at which it stops.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from dpcp_audit.audits.certificates import Certificate
from dpcp_audit.audits.sampled import SampledPrivacy
from dpcp_audit.audits.search.pair_space import FixedPairs
from dpcp_audit.audits.sequential import SequentialPrivacy
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse
from dpcp_audit.stats.betting import GuessBets, levels_of, mixture_wealth
from dpcp_audit.stats.intervals import clopper_pearson
from dpcp_audit.stats.power import draws_needed
from dpcp_audit.words.checks import Context
from dpcp_audit.words.guarantees import Neighbours, PureDP, Relation
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.words.arrays import FloatArray, IntArray

SIGNIFICANCE, BUDGET = 0.05, 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A mechanism that is exactly ε-DP, with its best event's probabilities p and p·e^−ε."""

    name: str
    epsilon: float
    p: float

    @property
    def p_prime(self) -> float:
        """The event's probability on the neighbour."""
        return self.p * math.exp(-self.epsilon)

    def sample(self, value: Any, size: int, /, *, rng: np.random.Generator) -> FloatArray:
        """Draw outputs on the inputs 0 and 1."""
        if self.name == "Laplace":
            return np.asarray(value + rng.laplace(scale=1 / self.epsilon, size=size))
        response = KaryRandomizedResponse(self.epsilon, 10)
        return response.sample(np.full(size, value), rng=rng).astype(np.float64)


TARGETS = (
    Target(name="Laplace", epsilon=1.0, p=0.5),
    Target(name="k-RR", epsilon=2.0, p=KaryRandomizedResponse(2.0, 10).keep_probability),
)


def limits_known(target: Target, claimed: float) -> float:
    """Search the size at which half of the Clopper–Pearson boxes exclude ``claimed``."""
    rng = np.random.default_rng(0)

    def certified(n: int) -> float:
        x: IntArray
        y: IntArray
        x, y = rng.binomial(n, (target.p, target.p_prime), (4000, 2)).T
        low, _ = clopper_pearson(x, n, significance=SIGNIFICANCE)
        _, high = clopper_pearson(y, n, significance=SIGNIFICANCE)
        return float((np.log(low / high) > claimed).mean())

    return half_way(certified)


def score_known(target: Target, claimed: float) -> float:
    """Return the score test's samples, from its exact power."""
    return draws_needed(
        target.p_prime, target.epsilon, epsilon=claimed, significance=SIGNIFICANCE, detection=0.5
    )


def betting_known(target: Target, claimed: float, runs: int) -> float:
    """Return the mean samples of each input at which bets by the best rule stop."""
    bets, rng = GuessBets(epsilon=claimed), np.random.default_rng(1)
    guessed, right = target.p + target.p_prime, expit(target.epsilon)
    times: list[int] = []
    for _ in range(4 * runs):
        levels = levels_of(np.where(rng.random(BUDGET) < guessed, target.epsilon, 0.0))
        wealth = mixture_wealth(bets.log_paths(levels, rng.random(BUDGET) < right))
        times.append(int(np.argmax(wealth >= -math.log(SIGNIFICANCE))) + 1)
    return float(np.mean(times)) / 2


def searched(target: Target, claimed: float, certificate: Certificate, runs: int) -> float:
    """Search the size at which half of the audits, pilot included, refute ``claimed``."""

    def certified(n: int) -> float:
        check = SampledPrivacy(
            sample=target.sample,
            guarantee=PureDP(claimed),
            neighbours=PAIR,
            n_samples=n,
            certificate=certificate,
        )
        return float(np.mean([check(run(i)).verdict is Verdict.REFUTED for i in range(runs)]))

    return half_way(certified)


def betting_searched(target: Target, claimed: float, runs: int) -> float:
    """Return the mean samples of each input at which the sequential audit stops."""
    check = SequentialPrivacy(
        sample=target.sample,
        guarantee=PureDP(claimed),
        pairs=FixedPairs((PAIR,)),
        draws=2 * BUDGET,
    )
    return float(np.mean([(check(run(i)).evidence.n_samples or 0) / 2 for i in range(runs)]))


PAIR: Neighbours[int] = Neighbours(relation=Relation.SUBSTITUTION, value=0, neighbour=1)


def run(seed: int) -> Context:
    """Return the surroundings of one run."""
    return Context(seed=seed, name="samples", significance=SIGNIFICANCE)


def half_way(certified: Callable[[int], float]) -> float:
    """Return where a rising rate crosses a half, by bisection to 3 %; infinity past 60 000."""
    low, high = 200.0, float(BUDGET)
    if certified(BUDGET) < 0.5:
        return math.inf
    while high > 1.03 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if certified(round(middle)) >= 0.5 else (middle, high)
    return high


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Samples that certify a share of ε.")
    parser.add_argument("--runs", type=int, default=60, help="audits behind each searched number")
    parser.add_argument("--known", action="store_true", help="only where the event is known")
    arguments = parser.parse_args()
    print("| target | share of ε | event | Clopper–Pearson | score | betting |")
    print("|---|---|---|---|---|---|")
    for target in TARGETS:
        for share in (0.8, 0.9, 0.95):
            name, claimed = f"{target.name}, ε = {target.epsilon:g}", share * target.epsilon
            known = (
                limits_known(target, claimed),
                score_known(target, claimed),
                betting_known(target, claimed, arguments.runs),
            )
            print(line(name, share, "known", known), flush=True)
            if not arguments.known:
                found = (
                    searched(target, claimed, Certificate.CLOPPER_PEARSON, arguments.runs),
                    searched(target, claimed, Certificate.SCORE, arguments.runs),
                    betting_searched(target, claimed, arguments.runs),
                )
                print(line(name, share, "searched", found), flush=True)


def line(name: str, share: float, event: str, numbers: tuple[float, float, float]) -> str:
    """Return one line of the table."""
    cells = (f"{n:,.0f}" if n < BUDGET else f"> {BUDGET:,}" for n in numbers)
    return f"| {name} | {share:.0%} | {event} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
