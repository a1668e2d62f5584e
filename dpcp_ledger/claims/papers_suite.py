"""The suite of the papers' claims, at the parameters that matter most, in the ledger's order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcp_audit.extensions.claims import Overview, Suite, Table, TableColumn
from dpcp_ledger.claims.statement_list import (
    PAPERS,
    StatementVerdict,
    counted,
    found_in,
    summary,
)
from dpcp_ledger.dpskin import (
    gaussian_claims,
    grim,
    printed_accuracies,
    proof_steps,
    subsampled_claims,
    training_budgets,
)
from dpcp_ledger.ldpcp import (
    channels,
    exchangeable_scores,
    ldpcp_theorems,
    printed_algorithms,
    reports,
    score_range,
    shuffle_bounds,
    shuffled,
    table_rows,
    threshold_leak,
    widths,
)
from dpcp_ledger.pcoqs import (
    marginal_grid,
    noise,
    other_quantiles,
    pcoqs_theorems,
    printed_search,
    printed_settings,
    privacy,
    published_tables,
    remarks,
    zcdp,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from dpcp_audit.extensions.claims import Row


_PAPERS = (
    reports.paper,
    ldpcp_theorems.paper,
    exchangeable_scores.paper,
    printed_algorithms.paper,
    score_range.paper,
    widths.paper,
    shuffled.paper,
    shuffle_bounds.paper,
    threshold_leak.paper,
    table_rows.paper,
    channels.paper,
    privacy.paper,
    zcdp.paper,
    noise.paper,
    pcoqs_theorems.ranks,
    pcoqs_theorems.paper,
    marginal_grid.paper,
    remarks.paper,
    printed_search.paper,
    printed_settings.paper,
    published_tables.paper,
    other_quantiles.exponq,
    other_quantiles.histlap,
    other_quantiles.conformal,
    shuffle_bounds.bounds,
    gaussian_claims.paper,
    gaussian_claims.analytic,
    subsampled_claims.paper,
    training_budgets.paper,
    proof_steps.paper,
    printed_accuracies.paper,
    grim.paper,
)
"""The papers' topics, in the order of the reports."""


def rows() -> list[Row]:
    """Return the rows of every paper."""
    return [row for paper in _PAPERS for row in paper.rows]


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
