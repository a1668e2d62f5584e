"""The training suite: DP-SGD and DP-Adam under attack. Its rows run with the extra ``dpsgd``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcp_audit.extensions.claims import Suite
from dpcp_audit.extensions.mechanisms import require_torch
from dpcp_ledger.claims import (
    training_canaries,
    training_extraction,
    training_membership,
    training_published,
)
from dpcp_ledger.claims.papers_suite import with_statements
from dpcp_ledger.training import network_steps

if TYPE_CHECKING:
    from dpcp_audit.extensions.claims import Row


def rows() -> list[Row]:
    """Return the rows of the training suite; PyTorch is asked for where they run."""
    return with_statements(
        [
            *training_canaries.rows(),
            *training_membership.rows(),
            *training_extraction.rows(),
            *training_published.rows(),
            *network_steps.paper.rows,
        ]
    )


SUITE = Suite(
    summary="DP-SGD and DP-Adam under attack; with the extra 'dpsgd'.",
    rows=rows,
    require=require_torch,
    longest=(
        "dpskin.dp-adam[audit=white-box,clipping=per-layer]",
        "dpskin.dp-sgd[audit=white-box]",
        "dpskin.as-published[seed=fresh,sees=steps]",
        "dpskin.pipeline[model=dp-sgd,attack=lira-online,sees=probabilities]",
        "dpskin.dp-adam[audit=white-box]",
        "dpskin.dp-sgd[audit=one-run]",
        "dpskin.dp-adam[audit=one-run]",
        "dpskin.as-published[seed=fresh,clipping=examples,sees=steps]",
        "dpskin.dp-sgd[audit=black-box,inputs=out-of-distribution]",
        "dpskin.dp-adam[audit=black-box,inputs=mislabelled]",
        "dpskin.dp-sgd[audit=black-box,inputs=mislabelled]",
        "dpskin.dp-adam[audit=black-box,inputs=out-of-distribution]",
        "dpskin.attacks[attack=loss,model=dp-adam,sees=probabilities]",
        "dpskin.attacks[attack=loss,model=dp-sgd,sees=probabilities]",
    ),
)
