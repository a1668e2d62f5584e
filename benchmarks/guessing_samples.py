"""Print how many samples of each input the guessing game needs, at 95 % confidence.

    python benchmarks/guessing_samples.py [--runs 200] [--repetitions 2000] [--known]

Searched: 15 % of the samples teach the observer and choose the number of guesses, the others are
played; a number is the size at which half of the games refute a share of the true ε. Known: the
best rule is given. Limits: of any test, by the Kullback–Leibler divergence, both inputs' events
used. Then the share of refusals where claims hold with equality; exits with 1 where one is too high
for the level: with probability at most 1e-6, if all levels hold.
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import binom

from dpcp_audit.audits.guessing.game_test import choose_game
from dpcp_audit.decisions import refutes
from dpcp_audit.guarantees import ApproxDP, GaussianDP, PrivacyGuarantee, PureDP
from dpcp_audit.mechanisms.laws import GaussianPair
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse
from dpcp_audit.stats.guessing_test import guesses_needed

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray

LEVEL, FALSE_ALARM, TAUGHT = 0.05, 1e-6, 0.15
OUTCOMES = np.random.default_rng(1).permutation(10_000).astype(np.float64)


def draw(kind: str, value: int, size: int, rng: np.random.Generator) -> FloatArray:
    """Draw outputs of a mechanism on the input 0 or 1."""
    match kind:
        case "Laplace":
            return np.asarray(value + rng.laplace(size=size))
        case "Gaussian":
            return np.asarray(value + rng.normal(size=size))
        case "scattered":
            side = (rng.random(size) < 1 / (1 + math.exp(-1))) ^ (value == 1)
            return np.asarray(OUTCOMES[5000 * side + rng.integers(5000, size=size)])
        case _:
            values = 10 if kind == "k-RR" else 2
            response = KaryRandomizedResponse(2.0, values)
            return response.sample(np.full(size, value), rng=rng).astype(np.float64)


def refuted(kind: str, claim: PrivacyGuarantee, size: int, seed: int) -> bool:
    """Play one game of ``size`` outputs of each input, taught ones among them."""
    rng = np.random.default_rng(seed)
    taught = max(30, round(TAUGHT * size))
    pilot = [draw(kind, value, taught, rng) for value in (0, 1)]
    game = choose_game(claim, pilot[0], pilot[1], bounds=None, seed=seed)
    if game is None:
        return False
    fresh = [draw(kind, value, size - taught, rng) for value in (0, 1)]
    return refutes(game.judge(claim, fresh[0], fresh[1], significance=LEVEL).evidence)


def rate(kind: str, claim: PrivacyGuarantee, size: int, runs: int, jobs: int) -> float:
    """Return the share of games that refute."""
    games = (delayed(refuted)(kind, claim, size, seed) for seed in range(runs))
    return float(np.mean(Parallel(n_jobs=jobs)(games)))


def half_way(kind: str, claim: PrivacyGuarantee, runs: int, jobs: int) -> float:
    """Return the size at which half of the games refute, by bisection to 4 %."""
    low, high = 200.0, 20_000.0
    while high > 1.04 * low:
        middle = math.sqrt(low * high)
        enough = rate(kind, claim, round(middle), runs, jobs) >= 0.5
        low, high = (low, middle) if enough else (middle, high)
    return high


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A mechanism with a claim, the share of rounds that the best rule guesses, and the limit.

    A limit of 0 is not known.
    """

    kind: str
    claimed: float
    true: float
    guessed: float
    limit: float

    def known(self) -> float:
        """Return the samples of each input where the best rule is given."""
        guesses = guesses_needed(self.claimed, self.true, significance=LEVEL, detection=0.5)
        return guesses / self.guessed / 2


CASES = (
    Case(kind="Laplace", claimed=0.9, true=1, guessed=(1 + math.exp(-1)) / 2, limit=976),
    Case(
        kind="k-RR",
        claimed=1.8,
        true=2,
        guessed=(math.exp(2) + 1) / (math.exp(2) + 9),
        limit=598,
    ),
    Case(kind="scattered", claimed=0.2, true=1, guessed=1.0, limit=0.0),
)
EQUAL: tuple[tuple[str, PrivacyGuarantee], ...] = (
    ("response", PureDP(2.0)),
    ("k-RR", PureDP(2.0)),
    ("Laplace", PureDP(1.0)),
    ("Gaussian", ApproxDP(1.0, GaussianPair(1.0).delta_at(1.0))),
    ("Gaussian", GaussianDP(1.0)),
    ("scattered", PureDP(1.0)),
)
BEYOND: tuple[tuple[str, PrivacyGuarantee, int], ...] = (
    ("Gaussian", ApproxDP(1.0, 0.7 * GaussianPair(1.0).delta_at(1.0)), 2000),
    ("scattered", PureDP(0.2), 3000),
)
"""Claims that are exceeded, and outputs of each input."""


def main() -> int:
    """Print the tables; return 1 where a level does not hold."""
    parser = argparse.ArgumentParser(description="Samples and levels of the guessing game.")
    parser.add_argument("--runs", type=int, default=200, help="games behind each size")
    parser.add_argument("--repetitions", type=int, default=2000, help="games at equality")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--known", action="store_true", help="only where the rule is known")
    arguments: Any = parser.parse_args()
    print("| target | claimed ε, true ε | known (of the limit) | searched (of the limit) |")
    print("|---|---|---|---|")
    for case in CASES:
        cells = [case.known()]
        if not arguments.known:
            stated = PureDP(case.claimed)
            cells.append(half_way(case.kind, stated, arguments.runs, arguments.jobs))
        shown = (f"{size:,.0f} ({size / case.limit:.2f})" for size in cells)
        print(
            f"| {case.kind} | {case.claimed:g}, {case.true:g} | {' | '.join(shown)} |", flush=True
        )
    if arguments.known:
        return 0
    for kind, exceeded, size in BEYOND:
        share = rate(kind, exceeded, size, arguments.runs, arguments.jobs)
        print(f"{kind}, {exceeded}, {size:,} of each input: {share:.2f} refuted", flush=True)
    held = True
    for kind, tight in EQUAL:
        share = rate(kind, tight, 500, arguments.repetitions, arguments.jobs)
        most = binom.isf(FALSE_ALARM / len(EQUAL), arguments.repetitions, LEVEL)
        holds = bool(share * arguments.repetitions <= most)
        held = held and holds
        print(f"{kind}, {tight}: {share:.3f}{'' if holds else ' LEVEL BROKEN'}", flush=True)
    return int(not held)


if __name__ == "__main__":
    sys.exit(main())
