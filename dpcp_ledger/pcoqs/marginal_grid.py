"""Theorem 1 and Corollary 1 of P-COQS, marginally and exactly, over n, α, β, ρ and ties."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.extensions.claims import Computation, Quantity, Verdict
from dpcp_audit.extensions.mechanisms import PCOQS
from dpcp_audit.extensions.theorems import CoverageTheorem
from dpcp_ledger.headings import Heading
from dpcp_ledger.paper import Paper
from dpcp_ledger.pcoqs.pcoqs_exchangeable import FiniteCoverage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcp_audit.extensions.claims import FloatArray, PlainData


paper = Paper(title="P-COQS", subject=Heading.SEARCH_COVERAGE)
_ERROR = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginalGrid:
    """Cases of a theorem whose failure probability over the noise is computed.

    The n + 1 scores are a finite population in random order: exchangeable, not independent.

    Parameters
    ----------
    levels : int or None
        Number of distinct scores; None where all are.
    corrected : bool
        Whether the theorem is Corollary 1, run at α*.
    clamped : bool
        Whether cases count where α < τ/(n+1), which Corollary 1 runs at α* = 0.
    """

    sizes: tuple[int, ...] = (20, 60, 200, 500)
    alphas: tuple[float, ...] = (0.02, 0.1, 0.3)
    betas: tuple[float, ...] = (0.01, 0.1, 0.4)
    rhos: tuple[float, ...] = (0.05, 0.5, 5.0)
    levels: int | None = None
    corrected: bool = False
    clamped: bool = True

    @property
    def parameters(self) -> PlainData:
        """The grid, as plain data."""
        return {
            "n": list(self.sizes),
            "alpha": list(self.alphas),
            "beta": list(self.betas),
            "rho": list(self.rhos),
        } | ({} if self.levels is None else {"levels": self.levels})

    def cases(self) -> Iterator[FiniteCoverage]:
        """Yield the theorem in every case; M(Δ) is that of the scores, ties included."""
        for n, alpha, beta, rho in product(self.sizes, self.alphas, self.betas, self.rhos):
            scores = self.scores(n)
            theorem = CoverageTheorem(
                mechanism=PCOQS(alpha=alpha, rho=rho),
                n=n,
                beta=beta,
                corrected=self.corrected,
                window_count=int(np.unique(scores, return_counts=True)[1].max()),
            )
            if self.clamped or theorem.calibrator.alpha > 0:
                yield FiniteCoverage(theorem=theorem, scores=scores)

    def scores(self, n: int) -> FloatArray:
        """Return n + 1 evenly spaced scores, or that many on so many levels."""
        count = n + 1 if self.levels is None else self.levels
        return np.sort((np.arange(n + 1) % count + 0.5) / count)

    def worst(self) -> Computation:
        """Compute the largest failure probability over β in the grid."""
        found = [(case.failure_probability() / case.theorem.beta, case) for case in self.cases()]
        value, case = max(found, key=lambda pair: pair[0])
        theorem = case.theorem
        failing = sum(share > 1 for share, _ in found)
        aside = self._aside([case for share, case in found if share > 1], [c for _, c in found])
        return Computation(
            quantity=Quantity.RATIO,
            detail=f"largest failure probability over β, of {len(found)} cases",
            value=value,
            claimed=1.0,
            error=_ERROR,
            witness={
                "n": theorem.n,
                "alpha": theorem.mechanism.alpha,
                "beta": theorem.beta,
                "rho": theorem.mechanism.rho,
                "tau": theorem.rank_error,
                "run_at": theorem.calibrator.alpha,
                "failing": failing,
            },
            note=(
                f"The theorem fails in {failing} of {len(found)} cases{aside}. Given the noise, "
                "the coverage is averaged over the order of the scores; over the noise its law is "
                "computed."
            ),
        )

    def _aside(self, failing: list[FiniteCoverage], every: list[FiniteCoverage]) -> str:
        """Say where the failures are, or how many cases no coverage could make fail."""
        if self.corrected:
            clamped = sum(case.calibrator.alpha == 0 for case in failing)
            return f", {clamped} of them at α* = 0, where q = b would cover" if failing else ""
        empty = sum(
            case.bounds["lower bound"] <= 0 and case.bounds["upper bound"] >= 1 for case in every
        )
        return f"; in {empty} its bounds are below 0 and above 1, and nothing could fail"


_WORDS = "With probability at least 1−β over the noise the coverage"
_THEOREM = f"{_WORDS} lies within τ/(n+1) of 1−α, over calibration and test data"
_COROLLARY = f"Run at α*, {_WORDS[0].lower()}{_WORDS[1:]} is at least 1−α"
_BOUNDS, _CORRECTION = "1−α−τ/(n+1) ≤ P(Y ∈ C) ≤ 1−α+(τ+1)/(n+1)", "α* = max(0, α − τ/(n+1))"
for _name, _words, _kind, _grid, _expected in (
    ("Theorem 1", _THEOREM, "distinct", MarginalGrid(), Verdict.CONSISTENT),
    (
        "Theorem 1",
        f"{_THEOREM}, with ties, for which the theorem allows one rank more below",
        "tied",
        MarginalGrid(levels=10),
        Verdict.CONSISTENT,
    ),
    (
        "Corollary 1",
        f"{_COROLLARY}, where α ≥ τ/(n+1)",
        "unclamped",
        MarginalGrid(corrected=True, clamped=False),
        Verdict.CONSISTENT,
    ),
    (
        "Corollary 1",
        f"{_COROLLARY}, also where α < τ/(n+1) and so α* = 0",
        "clamped",
        MarginalGrid(corrected=True),
        Verdict.REFUTED,
    ),
):
    paper.claim(
        f"pcoqs.{_name.lower().replace(' ', '-')}[coverage=marginal,grid={_kind}]",
        _name,
        _expected,
        f"{_words}.",
        _CORRECTION if _grid.corrected else _BOUNDS,
        parameters=_grid.parameters | {"grid": _kind},
    )(_grid.worst)
