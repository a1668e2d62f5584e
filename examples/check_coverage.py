"""Test a calibrator of one's own against its promised coverage, on a population known exactly.

Run: python examples/check_coverage.py
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpcp_audit.extensions.claims import Context
from dpcp_audit.extensions.laws import Beta, Population
from dpcp_audit.extensions.theorems import MarginalCoverage, MeanBound


class Runs(NamedTuple):
    """Coverage of each calibration, shape (trials,)."""

    coverage: np.ndarray


class Quantile:
    """Calibrates by the empirical (1−α)-quantile, without the finite-sample correction."""

    alpha = 0.1

    def trials(
        self,
        population: Population,
        *,
        n: int,
        trials: int,
        rng: np.random.Generator | int | None = None,
    ) -> Runs:
        """Calibrate ``trials`` times on n fresh scores."""
        scores = population.sample((trials, n), rng=rng)
        return Runs(population.cdf(np.quantile(scores, 1 - self.alpha, axis=1)))


def main() -> None:
    """Check that the sets cover at least 0.9 on average, at n = 25."""
    theorem = MarginalCoverage(calibrator=Quantile(), population=Beta(2, 5), n=25)
    check = MeanBound(theorem=theorem, at_least=0.9, n_trials=100_000)
    outcome = check(Context(seed=0, name="quantile", significance=1e-4))
    evidence = outcome.evidence
    print(
        f"{outcome.verdict}: mean coverage {evidence.value:.4f} in "
        f"[{evidence.lower:.4f}, {evidence.upper:.4f}], promised {evidence.claimed}"
    )


if __name__ == "__main__":
    main()
