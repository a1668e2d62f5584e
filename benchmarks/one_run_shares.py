"""What share of ε one run with many canaries certifies, under each assumption.

Prints the table of docs/explanation/one_run.md: medians over runs of a Gaussian mechanism, each
canary with a noise of its own, and of binary randomised response. About four minutes.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from dpcp_audit.audits.training.canary_games import (
    epsilon_lower_bound,
    top_guesses,
    trade_off_bound,
)
from dpcp_audit.words.guarantees import GaussianDP, PureDP
from dpcp_audit.words.results import Assumption

if TYPE_CHECKING:
    from dpcp_audit.words.validate import BoolArray, FloatArray

_DELTA, _SIGNIFICANCE = 1e-5, 0.05
_MOST_GUESSES = 10_000
_RUNS = {1000: 200, 10_000: 40, 100_000: 5}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A mechanism, and one run of it after another."""

    name: str
    claim: GaussianDP | PureDP

    def play(self, canaries: int, rng: np.random.Generator) -> tuple[FloatArray, BoolArray]:
        """Return the log-odds of being in, and the coins."""
        coins = rng.random(canaries) < 0.5
        if isinstance(self.claim, GaussianDP):
            mu = self.claim.mu
            return mu * (rng.standard_normal(canaries) + mu * (coins - 0.5)), coins
        kept = rng.random(canaries) < expit(self.claim.epsilon)
        return np.where(coins == kept, 1.0, -1.0) * self.claim.epsilon, coins

    def guesses(self, assumption: Assumption, canaries: int) -> int:
        """Return how many canaries are guessed, which is fixed in view of nothing but the claim."""
        if isinstance(self.claim, PureDP):
            return min(canaries, _MOST_GUESSES)
        return round((2 if assumption is Assumption.NONE else 3) * math.sqrt(canaries))

    def share(self, assumption: Assumption, canaries: int, rng: np.random.Generator) -> float:
        """Return the certified share of ε(δ) of one run."""
        log_odds, coins = self.play(canaries, rng)
        at = {"delta": _DELTA, "significance": _SIGNIFICANCE}
        whole = self.claim.epsilon_at(_DELTA)
        made = self.guesses(assumption, canaries)
        seen = top_guesses(np.abs(log_odds), (log_odds > 0) == coins, guesses=made)
        if assumption is Assumption.NONE:
            return epsilon_lower_bound(seen, **at) / whole
        return trade_off_bound(self.claim, seen, **at) / whole


COLUMNS = (
    Column(name="Gaussian, μ = 1", claim=GaussianDP(1.0)),
    Column(name="randomised response, ε = 1", claim=PureDP(1.0)),
)


def cell(column: Column, assumption: Assumption, canaries: int, runs: int) -> str:
    """Return a median share."""
    rng = np.random.default_rng([canaries, list(Assumption).index(assumption)])
    shares = [column.share(assumption, canaries, rng) for _ in range(runs)]
    return f"{np.median(shares):.2f}"


def main() -> int:
    """Print the table; return 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=float, default=1.0, help="times as many runs")
    options = parser.parse_args()
    heads = [f"{column.name}: {m:,}" for column in COLUMNS for m in _RUNS]
    print(f"| assumption | {' | '.join(heads)} |")
    print("|---" * (len(heads) + 1) + "|")
    for assumption in Assumption:
        cells = [
            cell(column, assumption, canaries, max(1, round(runs * options.runs)))
            for column in COLUMNS
            for canaries, runs in _RUNS.items()
        ]
        print(f"| {assumption} | {' | '.join(cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
