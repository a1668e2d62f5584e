"""Time ExponQ's search for (m, γ) over runs of edges against a search over all edges.

    python benchmarks/reproduce.py [--check]

Both sides run in one process, in turns, on the same draws; ``--check`` exits with 1 when the
target is missed or the two settle on different pairs.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.mechanisms.quantiles import ExponQ, Normaliser
from dpcp_ledger.mechanisms import published_variants
from dpcp_ledger.mechanisms.histlap import HistLap
from dpcp_ledger.mechanisms.published_variants import ExponQSearch, Tuning

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.words.validate import FloatArray

N = 2400
REPEATS = 5
TARGET = 40.0


def over_all_edges(search: ExponQSearch, scores: FloatArray, draws: FloatArray) -> Tuning:
    """Search as the published code does: the mass of every edge, for each (m, γ)."""
    best, lowest = Tuning(int(1 / search.alpha), 1.0), 1.0
    for place, m in enumerate(search.grid):
        for which, gamma in enumerate(search.gammas(scores.size)):
            mechanism = ExponQ(
                alpha=search.alpha,
                epsilon=search.epsilon,
                n_candidates=m,
                gamma=gamma,
                normaliser=Normaliser.PUBLISHED,
            )
            cumulative = np.cumsum(np.exp(mechanism.laws(scores)[0].log_mass))
            drawn = float(draws[2 * place + which] * cumulative[-1])
            at = int(np.searchsorted(cumulative, drawn, "right"))
            released = at / (m - 1)
            if released < lowest:
                best, lowest = Tuning(m, gamma), released
    return best


def seconds(work: Callable[[], object], *, repeats: int = REPEATS) -> float:
    """Return the best time of several."""
    times: list[float] = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def search_ratio(epsilon: float, rng: np.random.Generator) -> tuple[float, bool]:
    """Print both times at one ε; return their ratio and whether both find the same pair."""
    search = published_variants.exponq_search(alpha=0.1, epsilon=epsilon)
    scores, draws = rng.random(N), rng.random(search.n_draws)
    same = over_all_edges(search, scores, draws) == search.tune(scores, draws)
    slow = seconds(lambda: over_all_edges(search, scores, draws), repeats=2)
    fast = seconds(lambda: search.tune(scores, draws))
    print(
        f"ε = {epsilon:<4g} all edges {slow:7.3f} s   runs of edges {fast * 1e3:7.2f} ms   "
        f"ratio {slow / fast:6.0f}   same pair: {'yes' if same else 'NO'}"
    )
    return slow / fast, same


def quantile_times(rng: np.random.Generator) -> None:
    """Print the time of one private quantile of each method (Tables 4 and 10)."""
    scores = np.sort(rng.beta(0.4, 1.0, size=N))
    search = ExponQSearch(alpha=0.1, epsilon=1.0)
    uniform, draws = rng.random(N), rng.random(search.n_draws)
    work: dict[str, Callable[[], object]] = {
        "standard": lambda: published_variants.standard_threshold(scores, alpha=0.1),
        "ExponQ": lambda: search.release(scores, search.tune(uniform, draws), 0.5),
        "HistLap": lambda: HistLap(alpha=0.1, epsilon=1.0).sample(scores, 1, rng=rng),
        "P-COQS": lambda: PCOQS(alpha=0.1, rho=0.5).sample(scores, 1, rng=rng),
    }
    for name, calibrate in work.items():
        print(f"one quantile, {name:<9} {seconds(calibrate) * 1e3:8.3f} ms")


def main() -> int:
    """Measure, print, and check where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    found = [search_ratio(epsilon, rng) for epsilon in (0.1, 1.0, 10.0)]
    quantile_times(rng)
    worst = min(ratio for ratio, _ in found)
    met = worst >= TARGET and all(same for _, same in found)
    print(f"smallest ratio {worst:.0f} >= {TARGET:g} {'met' if met else 'MISSED'}")
    return 1 if options.check and not met else 0


if __name__ == "__main__":
    sys.exit(main())
