"""A stage of a search: a pair of neighbours, judged on fresh outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcp_audit.audits.search.moment_test import MomentTest
from dpcp_audit.audits.search.pilot_hypotheses import EventTest

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray
    from dpcp_audit.audits.certificates import Judgement
    from dpcp_audit.audits.search.features import Feature
    from dpcp_audit.audits.search.pair_space import Candidate
    from dpcp_audit.audits.search.pilot_hypotheses import PairTest


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A pair and the test chosen for it, judged on fresh outputs of its own.

    Parameters
    ----------
    pilot, fresh : tuple of ndarray
        Outputs of either input: those known before, and those that it is judged on.
    """

    number: int
    candidate: Candidate
    pair_test: PairTest
    judgement: Judgement
    size: int
    spent: int
    significance: float
    pilot: tuple[FloatArray, FloatArray]
    fresh: tuple[FloatArray, FloatArray]

    @property
    def feature(self) -> Feature | None:
        """The number of an output that the test looks at, where it is a single one."""
        if isinstance(self.pair_test, EventTest):
            return self.pair_test.event.feature
        return self.pair_test.feature if isinstance(self.pair_test, MomentTest) else None
