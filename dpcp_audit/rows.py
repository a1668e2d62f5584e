"""A row of the suite: a claim and the check that puts it to the test."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpcp_audit.results import Claim, Source, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.checks import Check, Context
    from dpcp_audit.results import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A claim, as data, with the check that decides it."""

    claim: Claim
    check: Check


@dataclass(frozen=True, slots=True)
class WithoutFigures:
    """A check whose outcome leaves its figures out, for suites of hundreds of rows."""

    check: Check

    @property
    def sampled(self) -> bool:
        """Whether the check itself is sampled."""
        return self.check.sampled

    def __call__(self, context: Context) -> Outcome:
        """Run the check."""
        return replace(self.check(context), figures=())


def claims_of(paper: str) -> Callable[..., Claim]:
    """Return a maker of claims of one paper: (id, section, expected, statement, formula)."""

    def claim(
        id_: str, section: str, expected: Verdict | None, statement: str, formula: str = ""
    ) -> Claim:
        source = Source(paper=paper, section=section)
        return Claim(id=id_, statement=statement, source=source, expected=expected, formula=formula)

    return claim
