"""The suite of tables: the papers', reproduced, and their calibrators at equal privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcp_audit.extensions.claims import Suite
from dpcp_ledger.claims import compared_calibrators, reproduced_tables
from dpcp_ledger.claims.papers_suite import with_statements

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.extensions.claims import Row


def rows(pools: Sequence[str] = ()) -> list[Row]:
    """Return a row or two a table or figure, and a row a subject of the comparison.

    Parameters
    ----------
    pools : sequence of str
        Files of saved pools: further subjects of the comparison.
    """
    return [*with_statements(reproduced_tables.rows()), *compared_calibrators.rows(pools)]


SUITE = Suite(
    summary="What the papers print, reproduced, and their calibrators compared at equal privacy.",
    rows=rows,
    takes=frozenset({"pools"}),
    overview=reproduced_tables.overview,
    longest=(
        "reproduced.pcoqs-table-5",
        "reproduced.pcoqs-table-13",
        "reproduced.pcoqs-table-12",
        "reproduced.pcoqs-table-6",
        "reproduced.pcoqs-table-4",
    ),
)
