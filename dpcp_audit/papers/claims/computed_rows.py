"""Rows whose checks compute a number: what the claims of a module have in common, once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dpcp_audit.computed import Computed
from dpcp_audit.rows import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dpcp_audit.computed import Computation
    from dpcp_audit.results import PlainData, Standing, Verdict
    from dpcp_audit.rows import ClaimMaker


class ComputedCase(NamedTuple):
    """A statement, where it stands, the verdict to expect, and the computation that decides it.

    ``subject`` is the heading, that of the claims' maker by default.
    """

    id: str
    section: str
    standing: Standing
    expected: Verdict
    statement: str
    parameters: PlainData
    compute: Callable[[], Computation]
    formula: str = ""
    subject: str = ""


def computed_rows(claim: ClaimMaker, cases: Iterable[ComputedCase]) -> list[Row]:
    """Return a row of each case, its claim made by ``claim`` (see ``claims_of``)."""
    return [
        Row(
            claim=claim(
                case.id,
                case.section,
                case.expected,
                case.statement,
                case.formula,
                subject=case.subject,
                standing=case.standing,
                parameters=case.parameters,
            ),
            check=Computed(case.compute),
        )
        for case in cases
    ]
