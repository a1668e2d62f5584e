"""Print how often the guessing game refutes with the samples that are wanted, at 95 % confidence.

    python -m benchmarks.guessing_samples [--runs 200] [--repetitions 2000] [--known] [--check]

Searched: 15 % of the samples teach the observer and choose the number of guesses, the others are
played; the share of games that refute. Known: the samples at which half of the games refute where
the best rule is given. Limits: of any test, by the Kullback–Leibler divergence, both inputs' events
used. Then the share of refusals where claims hold with equality.
Exits with 1 where one is too high for the level: with probability at most 1e-6, if all levels hold.
With ``--check`` also where a wanted figure is missed by more than so many runs explain.
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed
from scipy.special import expit
from scipy.stats import binom

from benchmarks.peer_samples import LEVEL, Target, searches, targets
from dpcp_audit.audits.guessing_game import choose_game
from dpcp_audit.audits.local import LocalPrivacy
from dpcp_audit.laws.laws import GaussianPair
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse
from dpcp_audit.stats.rates import GuessingTest
from dpcp_audit.stats.roots import fewest
from dpcp_audit.words.checks import Context
from dpcp_audit.words.evidence import refutes
from dpcp_audit.words.guarantees import ApproxDP, GaussianDP, LocalDP, PrivacyGuarantee, PureDP

if TYPE_CHECKING:
    from dpcp_audit.words.validate import FloatArray

FALSE_ALARM, TAUGHT, MISSED = 1e-6, 0.15, 3.0
"""The last: standard errors that a figure may fall short."""


@lru_cache(maxsize=1)
def drawn_from() -> dict[str, Target]:
    """Return the targets of the peers' benchmark by short names."""
    names = "Laplace", "k-RR", "Gaussian", "P-COQS", "Laplace in 20 coordinates", "scattered"
    return dict(zip(names, targets(), strict=False))


def draw(kind: str, value: int, size: int, rng: np.random.Generator) -> FloatArray:
    """Draw outputs of a mechanism on the input 0 or 1."""
    if kind == "response":
        response = KaryRandomizedResponse(2.0, 2)
        return response.sample(np.full(size, value), rng=rng).astype(np.float64)
    return drawn_from()[kind].draw(value, size, rng)


def refuted(kind: str, claim: PrivacyGuarantee, size: int, seed: int) -> bool:
    """Play one game of ``size`` outputs of each input, taught ones among them."""
    rng = np.random.default_rng(seed)
    taught = max(30, round(TAUGHT * size))
    pilot = [draw(kind, value, taught, rng) for value in (0, 1)]
    bounds = None if kind == "response" else drawn_from()[kind].bounds
    game = choose_game(claim, pilot[0], pilot[1], bounds=bounds, seed=seed)
    if game is None:
        return False
    fresh = [draw(kind, value, size - taught, rng) for value in (0, 1)]
    return refutes(game.judge(claim, fresh[0], fresh[1], significance=LEVEL).evidence)


def rate(kind: str, claim: PrivacyGuarantee, size: int, runs: int, jobs: int) -> float:
    """Return the share of games that refute."""
    games = (delayed(refuted)(kind, claim, size, seed) for seed in range(runs))
    return float(np.mean(Parallel(n_jobs=jobs)(games)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A mechanism with a claim, the share of rounds that the best rule guesses, and what is wanted.

    Parameters
    ----------
    epsilon, p : float
        The true ε, and the probability of the event on which the best rule guesses.
    limit : float
        Samples of each input that any test needs.
    known, searched : float
        The most samples of each input with which half of the games are to refute; the rule given,
        or learned.
    """

    kind: str
    claimed: float
    epsilon: float
    p: float
    limit: float
    known: float
    searched: int

    def known_samples(self) -> float:
        """Return the samples of each input where the best rule is given."""
        guessed = self.p * (1 + math.exp(-self.epsilon))

        def enough(guesses: int) -> bool:
            test = GuessingTest(rounds=guesses, guesses=guesses, epsilon=self.claimed)
            return test.power(float(expit(self.epsilon)), significance=LEVEL) >= 0.5

        guesses = fewest(enough, share=500, most=2**20)
        assert guesses is not None  # noqa: S101  (both ε differ)
        return guesses / guessed / 2


WANTED = (
    Wanted(
        kind="Laplace",
        claimed=0.9,
        epsilon=1.0,
        p=0.5,
        limit=976,
        known=1060,
        searched=1800,
    ),
    Wanted(
        kind="k-RR",
        claimed=1.8,
        epsilon=2.0,
        p=KaryRandomizedResponse(2.0, 10).keep_probability,
        limit=598,
        known=640,
        searched=1100,
    ),
)
DELTA = GaussianPair(1.0).delta_at(1.0)
EQUAL: tuple[tuple[str, PrivacyGuarantee], ...] = (
    ("response", PureDP(2.0)),
    ("k-RR", PureDP(2.0)),
    ("Laplace", PureDP(1.0)),
    ("Laplace in 20 coordinates", PureDP(1.0)),
    ("Gaussian", ApproxDP(1.0, DELTA)),
    ("Gaussian", GaussianDP(1.0)),
    ("scattered", PureDP(1.0)),
    ("P-COQS", ApproxDP(2 * searches().claim.epsilon, searches().claim.delta)),
)
BEYOND: tuple[tuple[str, PrivacyGuarantee, int, float], ...] = (
    ("Gaussian", ApproxDP(1.0, 0.7 * DELTA), 2000, 0.5),
    ("Laplace in 20 coordinates", PureDP(0.9), 3000, 0.5),
    ("P-COQS", searches().claim, 3000, 0.5),
    ("scattered", PureDP(0.2), 10_000, 0.95),
)
"""Claims that are exceeded, outputs of each input, and the share of games that is to refute."""


LOCAL_POWER = 0.95
LOCAL = LocalPrivacy(
    randomizer=KaryRandomizedResponse(2.0, 10).sample,
    guarantee=LocalDP(1.8),
    n_inputs=10,
    n_outputs=10,
    n_samples=3500,
)
"""All inputs at once: nine tenths of the true ε is claimed."""


def local_rate(runs: int) -> float:
    """Return the share of local audits that refute."""
    contexts = (Context(seed=seed, name="local", significance=LEVEL) for seed in range(runs))
    return float(np.mean([refutes(LOCAL(context).evidence) for context in contexts]))


def falls_short(share: float, wanted: float, runs: int) -> bool:
    """Return True if a share of runs lies farther below what is wanted than chance explains."""
    return share < wanted - MISSED * math.sqrt(max(wanted * (1 - wanted), 1 / runs) / runs)


def known_table() -> bool:
    """Print what needs no search; return whether all that is wanted is met."""
    print("| target | claimed ε | rule known (of the limit), wanted |")
    print("|---|---|---|")
    met = True
    for row in WANTED:
        size = row.known_samples()
        met = met and size <= row.known
        print(
            f"| {row.kind} | {row.claimed:g} | {size:,.0f} ({size / row.limit:.2f}), "
            f"{row.known:,.0f} |",
            flush=True,
        )
    return met


def searched_table(runs: int, jobs: int) -> bool:
    """Print what is searched; return whether all that is wanted is met."""
    met = True
    searched = [(row.kind, PureDP(row.claimed), row.searched, 0.5) for row in WANTED]
    for kind, claim, size, wanted in (*searched, *BEYOND):
        share = rate(kind, claim, size, runs, jobs)
        met = met and not falls_short(share, wanted, runs)
        print(
            f"{kind}, {claim}, {size:,} of each input: {share:.2f} of {runs} refuted, "
            f"wanted {wanted:g}",
            flush=True,
        )
    share = local_rate(runs)
    met = met and not falls_short(share, LOCAL_POWER, runs)
    print(
        f"k-RR, {LOCAL.guarantee}, local, {LOCAL.n_samples:,} of each input: {share:.2f} of {runs} "
        f"refuted, wanted {LOCAL_POWER:g}",
        flush=True,
    )
    return met


def levels_hold(repetitions: int, jobs: int) -> bool:
    """Print the share of refusals at equality; return whether all levels hold."""
    held = True
    for kind, tight in EQUAL:
        share = rate(kind, tight, 500, repetitions, jobs)
        most = binom.isf(FALSE_ALARM / len(EQUAL), repetitions, LEVEL)
        holds = bool(share * repetitions <= most)
        held = held and holds
        print(f"{kind}, {tight}: {share:.3f}{'' if holds else ' LEVEL BROKEN'}", flush=True)
    return held


def main() -> int:
    """Print the tables; return 1 where a level does not hold, or a figure is missed."""
    parser = argparse.ArgumentParser(description="Samples and levels of the guessing game.")
    parser.add_argument("--runs", type=int, default=200, help="games behind each share")
    parser.add_argument("--repetitions", type=int, default=2000, help="games at equality")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--known", action="store_true", help="only where the rule is known")
    parser.add_argument("--check", action="store_true", help="fail where a figure is missed")
    arguments: Any = parser.parse_args()
    met, held = known_table(), True
    if not arguments.known:
        met = searched_table(arguments.runs, arguments.jobs) and met
        held = levels_hold(arguments.repetitions, arguments.jobs)
    return int(not held or (arguments.check and not met))


if __name__ == "__main__":
    sys.exit(main())
