"""The suite of the papers' claims, at the parameters that matter most, in the ledger's order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcp_audit.extensions.claims import Overview, Suite, Table, TableColumn
from dpcp_ledger.claims import (
    dpskin_accounting,
    dpskin_accuracies,
    dpskin_proof,
    ldpcp_reports,
    ldpcp_sections,
    ldpcp_theorems,
    other_quantiles,
    overlooked_sentences,
    pcoqs_privacy,
    pcoqs_sections,
    pcoqs_theorems,
    printed_tables,
    privacy_budgets,
    release_attacks,
)
from dpcp_ledger.claims.statement_list import (
    PAPERS,
    StatementVerdict,
    counted,
    found_in,
    summary,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from dpcp_audit.extensions.claims import Row


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
        *overlooked_sentences.rows(),
        *release_attacks.rows(),
        *privacy_budgets.rows(),
        *dpskin_accounting.rows(),
        *dpskin_proof.rows(),
        *dpskin_accuracies.rows(),
    ]


def overview(document: Mapping[str, Any]) -> Overview:
    """Return how many statements of each paper have which verdict, each statement counted once."""
    found = found_in(document)
    counts = {paper: counted(found, paper) for paper in PAPERS}
    table = Table(
        title="Statements of the papers, each counted once",
        columns=[
            TableColumn(name="paper", texts=[*PAPERS]),
            *(
                TableColumn(name=str(verdict), values=[counts[paper][verdict] for paper in PAPERS])
                for verdict in StatementVerdict
                if any(counts[paper][verdict] for paper in PAPERS)
            ),
        ],
    )
    return Overview(tables=(table,), summary=summary(found))


SUITE = Suite(
    summary="What the papers claim, at the parameters that matter most.",
    rows=rows,
    overview=overview,
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
