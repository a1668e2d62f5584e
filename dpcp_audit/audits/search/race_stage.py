"""A stage of a search: a pair of neighbours, judged on fresh outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpcp_audit.audits.certificates import Judgement
    from dpcp_audit.audits.search.pair_space import Candidate
    from dpcp_audit.audits.search.pilot_hypotheses import PairTest
    from dpcp_audit.guarantees import PrivacyGuarantee
    from dpcp_audit.results import Power


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A pair and the test chosen for it, judged on fresh outputs of its own."""

    number: int
    candidate: Candidate
    pair_test: PairTest
    judgement: Judgement
    size: int
    spent: int
    significance: float

    def smallest_violation(self, guarantee: PrivacyGuarantee) -> Power:
        """Return the smallest loss that the stage refutes with probability 0.95."""
        return self.pair_test.smallest_violation(
            guarantee, self.size, significance=self.significance
        )
