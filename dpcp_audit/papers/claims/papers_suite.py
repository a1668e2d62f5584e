"""The suite of the papers' claims, at the parameters that matter most, in the ledger's order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcp_audit.papers.claims import (
    dpskin_accounting,
    dpskin_accuracies,
    dpskin_proof,
    ldpcp_reports,
    ldpcp_sections,
    ldpcp_theorems,
    other_quantiles,
    pcoqs_privacy,
    pcoqs_sections,
    pcoqs_theorems,
    printed_tables,
    privacy_budgets,
    release_attacks,
)
from dpcp_audit.suite import Suite

if TYPE_CHECKING:
    from dpcp_audit.rows import Row


def rows() -> list[Row]:
    """Return the rows of every paper."""
    return [
        *ldpcp_reports.rows(),
        *ldpcp_theorems.rows(),
        *ldpcp_sections.rows(),
        *pcoqs_privacy.rows(),
        *pcoqs_theorems.rows(),
        *pcoqs_sections.rows(),
        *other_quantiles.rows(),
        *printed_tables.rows(),
        *release_attacks.rows(),
        *privacy_budgets.rows(),
        *dpskin_accounting.rows(),
        *dpskin_proof.rows(),
        *dpskin_accuracies.rows(),
    ]


SUITE = Suite(
    summary="What the papers claim, at the parameters that matter most.",
    rows=rows,
    longest=(
        "ldpcp.theorem-4[scores=searched,admissible]",
        "ldpcp.theorem-4[scores=searched,on-miss=upper-end]",
        "pcoqs.theorem-1[coverage=marginal,scores=digits-logistic]",
        "ldpcp.theorem-1[event=uniform,sides=2]",
        "ldpcp.theorem-1[event=uniform]",
        "pcoqs.proposition-1.zcdp[neighbours=searched]",
        "pcoqs.epsilon-equivalence[audit=sampled]",
        "pipeline.budget",
        "pcoqs.table-10[model=naive-bayes]",
        "dpskin.rdp-total[epsilon]",
        "pcoqs.remark-5[attack=threshold]",
        "histlap.privacy[scale=1/epsilon,release=quantile]",
        "shuffle.bounds[k=10]",
        "dpskin.epsilon-table[formula]",
    ),
)
