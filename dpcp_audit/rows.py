"""A row of the suite: a claim and the check that tests it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from dpcp_audit._format import in_setting
from dpcp_audit.results import Claim, Source, Standing, Verdict

if TYPE_CHECKING:
    from dpcp_audit.checks import Check, Context
    from dpcp_audit.results import Outcome, PlainData


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


class ClaimMaker(Protocol):
    """Makes claims of one source."""

    def __call__(
        self,
        id_: str,
        section: str,
        expected: Verdict | None,
        statement: str,
        formula: str = "",
        *,
        subject: str = "",
        standing: Standing | None = None,
        assumptions: str = "",
        parameters: PlainData | None = None,
    ) -> Claim:
        """Return the claim."""
        ...


def claims_of(paper: str, *, subject: str = "", standing: Standing = Standing.PAPER) -> ClaimMaker:
    """Return a maker of claims of one paper.

    Parameters
    ----------
    subject : str
        What its claims are about, unless they say otherwise: the heading that they stand under.
    standing : Standing
        Their standing, unless they say otherwise.

    What the parameters of a claim fix is added to its statement (see ``in_setting``).
    """
    default_subject, default_standing = subject, standing

    def claim(
        id_: str,
        section: str,
        expected: Verdict | None,
        statement: str,
        formula: str = "",
        *,
        subject: str = "",
        standing: Standing | None = None,
        assumptions: str = "",
        parameters: PlainData | None = None,
    ) -> Claim:
        return Claim(
            id=id_,
            statement=in_setting(statement, parameters or {}),
            source=Source(paper=paper, section=section),
            expected=expected,
            formula=formula,
            subject=subject or default_subject,
            standing=standing or default_standing,
            assumptions=assumptions,
            parameters=parameters or {},
        )

    return claim
