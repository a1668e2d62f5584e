"""Rows whose checks compute a number: what the claims of a module have in common, once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from dpcp_audit.extensions.claims import Computed, Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dpcp_audit.extensions.claims import ClaimMaker, Computation, PlainData, Standing, Verdict


class ComputedCase(NamedTuple):
    """A statement, where it stands, the verdict to expect, and the computation that decides it.

    ``subject`` is the heading, that of the claims' maker by default. ``vacuous`` says why it
    promises nothing, in a sentence that goes before the statement.
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
    vacuous: str = ""


def computed_rows(claim: ClaimMaker, cases: Iterable[ComputedCase]) -> list[Row]:
    """Return a row of each case, its claim made by ``claim`` (see ``claims_of``)."""
    return [
        Row(
            claim=replace(
                claim(
                    case.id,
                    case.section,
                    case.expected,
                    f"{case.vacuous} {case.statement}".lstrip(),
                    case.formula,
                    subject=case.subject,
                    standing=case.standing,
                    parameters=case.parameters,
                ),
                vacuous=case.vacuous,
            ),
            check=Computed(case.compute),
        )
        for case in cases
    ]
