"""Time P-COQS's trials and exact law, side by side in one process.

    python benchmarks/pcoqs_trials.py [--check]

Prints three figures with their targets; ``--check`` exits with 1 when one is missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.laws.populations import Uniform
from dpcp_audit.mechanisms.pcoqs import PCOQS

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.words.validate import BoolArray

REPEATS = 7
TRIALS = 8192
RECOUNTS = 200
MECHANISM = PCOQS(alpha=0.1, rho=0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A measured number and the target that it must keep."""

    name: str
    value: float
    target: float
    at_least: bool
    detail: str

    @property
    def met(self) -> bool:
        """Whether the target is kept."""
        return self.value >= self.target if self.at_least else self.value <= self.target

    def __str__(self) -> str:
        sign = ">=" if self.at_least else "<="
        state = "met" if self.met else "MISSED"
        return (
            f"{self.name:<44} {self.value:8.3f} {sign} {self.target:<5g} {state:<7} {self.detail}"
        )


def sum_count(below: BoolArray) -> int:
    """Count as published simulations do."""
    return int(np.sum(below))


def fast_count(below: BoolArray) -> int:
    """Count by NumPy's quickest way."""
    return int(np.count_nonzero(below))


def recount(n: int, rng: np.random.Generator, count: Callable[[BoolArray], int]) -> float:
    """Run one trial as it is usually simulated: draw n scores, count them in every round."""
    scores, rank = rng.random(n), MECHANISM.rank(n)
    left, right = MECHANISM.bounds
    for draw in MECHANISM.noise_scale * rng.standard_normal(MECHANISM.rounds):
        mid = (left + right) / 2
        if count(scores <= mid) + draw < rank:
            left = mid + MECHANISM.resolution
        else:
            right = mid
    return abs(count(scores <= (left + right) / 2) - rank)


def fastest(*work: Callable[[], object]) -> list[float]:
    """Return each callable's best time in seconds, taking turns so that all share the weather."""
    times = np.empty((REPEATS, len(work)))
    for row in times:
        for i, call in enumerate(work):
            start = time.perf_counter()
            call()
            row[i] = time.perf_counter() - start
    return [float(best) for best in times.min(axis=0)]


def trial_figures() -> list[Figure]:
    """Compare the trials with a recount at n = 2400, and n = 10^12 with n = 10^3."""
    rng = np.random.default_rng(0)

    def trials(n: int) -> Callable[[], object]:
        return lambda: MECHANISM.trials(Uniform(), n=n, trials=TRIALS, rng=rng)

    def recounts(count: Callable[[BoolArray], int]) -> Callable[[], object]:
        return lambda: [recount(2400, rng, count) for _ in range(RECOUNTS)]

    work = (recounts(sum_count), recounts(fast_count), trials(2400), trials(10**3), trials(10**12))
    plain, counted, fast, small, huge = np.array(fastest(*work)) / (
        RECOUNTS,
        RECOUNTS,
        TRIALS,
        TRIALS,
        TRIALS,
    )
    return [
        Figure(
            name="trial: NumPy recount / ours, n = 2400",
            value=plain / fast,
            target=40,
            at_least=True,
            detail=f"{plain * 1e6:.1f} us / {fast * 1e6:.2f} us; "
            f"{counted / fast:.1f} where count_nonzero replaces sum",
        ),
        Figure(
            name="trial: n = 10^12 / n = 10^3",
            value=huge / small,
            target=1.5,
            at_least=False,
            detail=f"{huge * 1e6:.2f} us / {small * 1e6:.2f} us",
        ),
    ]


def law_figure() -> Figure:
    """Time the enumeration of the exact law at n = 10^5."""
    scores = np.random.default_rng(1).random(100_000)
    (seconds,) = fastest(lambda: MECHANISM.laws(scores))
    return Figure(
        name="exact law, n = 10^5 (seconds)",
        value=seconds,
        target=0.3,
        at_least=False,
        detail=f"best of {REPEATS}",
    )


def main() -> int:
    """Print the figures; return 1 where ``--check`` is given and a target is missed."""
    parser = argparse.ArgumentParser(description="Time P-COQS's trials and exact law.")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a target is missed")
    check = parser.parse_args().check
    figures = [*trial_figures(), law_figure()]
    for figure in figures:
        print(figure)
    return int(check and not all(figure.met for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
