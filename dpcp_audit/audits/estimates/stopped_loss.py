"""The loss on a pair that was bet on: two sides, from samples whose size no bet has decided.

Bets stop in view of what they have seen, so that an interval for a sample of fixed size does not
hold for the rounds of a run that was stopped. Two kinds of samples have a size that was fixed:

- After a refutation, fresh outputs: their number and the partition that they are counted in are
  functions of the past, and they are independent of it.
- Without one, those of a stage: it ran as long as planned. A quarter chooses the partition, the
  rest is counted. The interval of the stage as it was planned errs as often as stated, and where
  the bets have stopped it before its end it is not shown.

Which kind will be shown, and of which stage, is not known beforehand: the kinds have half of the
error each, and the stages share theirs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpcp_audit.audits.estimates.attack_loss import from_below
from dpcp_audit.audits.estimates.loss_bracket import SIGNIFICANCE, claimed_loss

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray
    from dpcp_audit.audits.search.pair_race import Bank
    from dpcp_audit.audits.search.pair_space import Candidate
    from dpcp_audit.guarantees import PrivacyGuarantee
    from dpcp_audit.results import Estimate, Evidence

KINDS = 2
_LEAST, _AGAIN = 600, 2
"""Outputs that measure a loss that was refuted: so many, or half as many as it took."""
_FEWEST = 100
_TAUGHT = 4
"""A quarter of a stage's outputs choose the partition that its others are counted in."""
_NO_UPPER_END = "no outputs are left for an upper end"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppedLoss:
    """How the loss in a claim's unit is measured beside bets, at 95 %.

    Parameters
    ----------
    guarantee : PrivacyGuarantee
        The claim.
    bounds : tuple of float or None
        The interval of a bisecting target.
    stages : int
        That were planned.
    """

    guarantee: PrivacyGuarantee
    bounds: tuple[float, float] | None
    stages: int

    def of_stage(self, outputs: tuple[FloatArray, FloatArray]) -> tuple[Estimate, ...]:
        """Return the loss of the outputs of either input in a stage that ran to its end."""
        sizes = [len(each) // _TAUGHT for each in outputs]
        if min(sizes) < _FEWEST // _TAUGHT:
            return ()
        pilot, counted = (
            (outputs[0][first], outputs[1][second])
            for first, second in (
                [slice(0, size) for size in sizes],
                [slice(size, None) for size in sizes],
            )
        )
        return self._two_sided(pilot, counted, SIGNIFICANCE / KINDS / self.stages)

    def of_refuted(
        self, bank: Bank, candidate: Candidate, *, draws: int, evidence: Evidence
    ) -> tuple[Estimate, ...]:
        """Return the loss of fresh outputs, within ``draws`` in all.

        Where too few are left it is that of the evidence, which has no upper end.
        """
        size = min(draws - bank.spent, max(_LEAST, bank.spent // _AGAIN)) // 2
        if size < _FEWEST:
            return (from_below(evidence, why=_NO_UPPER_END),)
        pilot = bank.pilot(candidate)
        first, second = (bank.fresh(value, size) for value in candidate.inputs)
        return self._two_sided(pilot, (first, second), SIGNIFICANCE / KINDS)

    def _two_sided(
        self,
        pilot: tuple[FloatArray, FloatArray],
        counted: tuple[FloatArray, FloatArray],
        significance: float,
    ) -> tuple[Estimate, ...]:
        found = claimed_loss(
            self.guarantee, pilot, counted, bounds=self.bounds, significance=significance
        )
        return tuple(replace(each, confidence=1 - SIGNIFICANCE) for each in found)
