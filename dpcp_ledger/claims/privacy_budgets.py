"""Rows for budgets: the shuffle model's bounds, what a threshold leaks, a whole pipeline."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from dpcp_audit.extensions.audits import pipeline_budget
from dpcp_audit.extensions.claims import (
    ApproxDP,
    Computed,
    Relation,
    Row,
    Standing,
    Verdict,
    claims_of,
)
from dpcp_audit.extensions.mechanisms import PCOQS, LDPCPScores
from dpcp_ledger.claims.headings import REAL_NOISE, Heading
from dpcp_ledger.computations.shuffle_bounds import ShuffleTable
from dpcp_ledger.computations.threshold_leak import threshold_leak

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import PlainData


_ldpcp_claim = claims_of("LDP-CP", subject=Heading.SHUFFLED)
_shuffle_claim = claims_of(
    "Feldman, McMillan and Talwar (2021)", subject="Shuffled reports, upper bounds"
)
_pcoqs_claim = claims_of("P-COQS", subject="A pipeline's budget", standing=Standing.PRACTICE)
_BINARY = ShuffleTable(epsilons=(1.0, 4.0), sizes=(100, 316, 1000, 2452, 11_080))
_TEN_LABELS = ShuffleTable(k=10, epsilons=(4.0,), sizes=(100, 300, 1000))
_SCORES = LDPCPScores(alpha=0.1, epsilon=4.0, rounds=10, window_width=0.05)


def _fixed(table: ShuffleTable) -> PlainData:
    return {
        "n": list(table.sizes),
        "epsilon": list(table.epsilons),
        "delta": table.delta,
        "k": table.k,
    }


def rows() -> list[Row]:
    """Return the rows of budgets."""
    return [
        Row(
            claim=_ldpcp_claim(
                "ldpcp.shuffle[table]",
                "Section 4.2 and Table 1",
                Verdict.REFUTED,
                "“The effective privacy loss can be reduced to approximately ε^eff = ε/√n” by "
                "shuffling n reports of ε-RR; no δ is stated, and ours is small.",
                "ε_eff = ε/√n",
                parameters=_fixed(_BINARY),
            ),
            check=Computed(_BINARY.against_claim),
        ),
        *(
            Row(
                claim=_shuffle_claim(
                    f"shuffle.bounds[k={table.k}]",
                    "Theorems 3.1 and 3.2; Balle et al. (2019)",
                    Verdict.CONSISTENT,
                    "The published upper bounds of the shuffle model hold for shuffled k-RR: the "
                    "exact loss of a known pair stays below them.",
                    "exact ε ≤ published ε",
                    parameters=_fixed(table),
                ),
                check=Computed(table.against_bounds),
            )
            for table in (_BINARY, _TEN_LABELS)
        ),
        Row(
            claim=_ldpcp_claim(
                "ldpcp.threshold-leak",
                "Theorem 4 (post-processing)",
                Verdict.PROVED,
                "LDP-CP-S's released threshold alone is ε-DP for every user, in the central view.",
                "log P(q̂ | s)/P(q̂ | s′) ≤ ε",
                subject=Heading.ONE_REPORT,
                parameters={
                    "n": 11_080,
                    "alpha": 0.1,
                    "epsilon": 4.0,
                    "rounds": 10,
                    "window_width": 0.05,
                },
            ),
            check=Computed(partial(threshold_leak, _SCORES, n=11_080)),
        ),
        Row(
            claim=_pcoqs_claim(
                "pipeline.budget",
                "Proposition 1 with Bun and Steinke (2016), Lemmas 2.3 and 3.5",
                Verdict.PROVED,
                "An (ε, δ)-DP classifier followed by thresholds of P-COQS costs no more than the "
                "textbook sum.",
                "ε_f + Tρ + 2√(Tρ·log(1/δ))",
                assumptions=f"the classifier is (ε, δ)-DP as it is said to be; {REAL_NOISE}",
                parameters={
                    "alpha": 0.1,
                    "epsilon": 2.0,
                    "delta": 1e-6,
                    "rho": 0.5,
                    "thresholds": 3,
                    "resolution": 1e-10,
                    "bounds": [0.0, 1.0],
                    "relation": str(Relation.SUBSTITUTION),
                },
            ),
            check=Computed(
                partial(
                    pipeline_budget,
                    ApproxDP(2.0, 1e-6),
                    PCOQS(alpha=0.1, rho=0.5),
                    thresholds=3,
                )
            ),
        ),
    ]
