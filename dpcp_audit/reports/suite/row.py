"""A row of the suite: a claim and the check that puts it to the test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcp_audit.audits.evidence import Claim, Source, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.audits.check import Check


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A claim, as data, with the check that decides it."""

    claim: Claim
    check: Check


def claims_of(paper: str) -> Callable[..., Claim]:
    """Return a maker of claims of one paper: (id, section, expected, statement, formula)."""

    def claim(
        id_: str, section: str, expected: Verdict | None, statement: str, formula: str = ""
    ) -> Claim:
        source = Source(paper=paper, section=section)
        return Claim(id=id_, statement=statement, source=source, expected=expected, formula=formula)

    return claim
