"""Audit a private quantile of one's own as a black box, and look at a correct one beside it.

Run: python examples/audit_my_quantile.py
"""

from __future__ import annotations

import numpy as np

from dpcp_audit import ZCDP, Neighbours
from dpcp_audit.extensions.audits import BlackBoxPrivacy, FixedPairs
from dpcp_audit.extensions.claims import Context, Relation
from dpcp_audit.extensions.mechanisms import PCOQS


def quantile_with_one_budget_for_all_rounds(
    scores: np.ndarray, size: int, *, rng: np.random.Generator
) -> np.ndarray:
    """Search for the 0.9-quantile with noisy counts, but do not split ρ = 0.5 over the rounds."""
    left, right = np.zeros(size), np.ones(size)
    rank = np.ceil(0.9 * (len(scores) + 1))
    for _ in range(20):
        middle = (left + right) / 2
        count = np.searchsorted(np.sort(scores), middle, side="right")
        below = count + rng.normal(scale=1.0, size=size) < rank  # ρ = 0.5 a round, 10 in all
        left, right = np.where(below, middle, left), np.where(below, right, middle)
    return (left + right) / 2


def main() -> None:
    """Audit the broken quantile and P-COQS against the same claim, 0.5-zCDP."""
    correct = PCOQS(alpha=0.1, rho=0.5)
    scores, neighbour_scores = correct.worst_pair(100)
    neighbours = Neighbours(
        relation=Relation.SUBSTITUTION, value=scores, neighbour=neighbour_scores
    )
    for name, sample in (
        ("one budget for all rounds", quantile_with_one_budget_for_all_rounds),
        ("P-COQS", correct.sample),
    ):
        pairs = FixedPairs((neighbours,), bounds=(0.0, 1.0))
        audit = BlackBoxPrivacy(sample=sample, guarantee=ZCDP(0.5), pairs=pairs, draws=200_000)
        outcome = audit(Context(seed=0, name=name, significance=1e-4))
        print(f"{name}: {outcome.verdict}. {outcome.note}")


if __name__ == "__main__":
    main()
