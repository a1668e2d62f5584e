"""Rows whose checks compute one number, or raise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from support.unruly import Does, harmless

from dpcp_audit.words.checks import Row
from dpcp_audit.words.evidence import Computation, Computed
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import Claim, Source, Verdict

if TYPE_CHECKING:
    from dpcp_audit.words.checks import Context
    from dpcp_audit.words.results import Outcome


@dataclass(frozen=True)
class Raises:
    """A check that comes to no end."""

    error: str
    sampled: bool = False

    def __call__(self, context: Context) -> Outcome:
        raise {"value": ValueError, "memory": MemoryError, "zero": ZeroDivisionError}[self.error](
            "planted"
        )


def within(value: float) -> Computation:
    return Computation(quantity=Quantity.VALUE, value=value, claimed=1.0)


def holds() -> Computation:
    return within(0.5)


def breaks() -> Computation:
    return within(2.0)


def row(id_: str, check_: Any, expected: Verdict = Verdict.CONSISTENT) -> Row:
    source = Source(paper="P", section="1")
    return Row(claim=Claim(id=id_, statement="s", source=source, expected=expected), check=check_)


HOLDS = row("holds", Computed(holds))
FALSE = row("known-false", Computed(breaks), Verdict.REFUTED)
QUIET = row("quiet", Does(harmless))
