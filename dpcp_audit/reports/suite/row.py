"""A row of the suite: a claim and the check that puts it to the test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpcp_audit.audits.check import Check
    from dpcp_audit.audits.evidence import Claim


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A claim, as data, with the check that decides it."""

    claim: Claim
    check: Check
