"""Rows of the training suite: extraction of models and reconstruction of examples."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpcp_audit.reports.suite.row import Row


def rows() -> list[Row]:
    """Return the rows."""
    return []
