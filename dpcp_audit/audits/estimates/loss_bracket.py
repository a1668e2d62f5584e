"""A bracket of a pair's loss: two pairs of laws, between which every measure of the truth lies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.audits.estimates.loss_measures import asked_of, measured, pair_of_curve
from dpcp_audit.audits.estimates.output_partition import learn_partition
from dpcp_audit.quantities import Quantity
from dpcp_audit.results import ROUNDING, Estimate
from dpcp_audit.stats.roc_band import roc_band

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray
    from dpcp_audit.audits.estimates.loss_measures import Asked
    from dpcp_audit.audits.estimates.output_partition import OutputPartition
    from dpcp_audit.audits.search.features import Feature
    from dpcp_audit.guarantees import PrivacyGuarantee
    from dpcp_audit.mechanisms.laws import FinitePair


_LARGEST: dict[Quantity, float] = dict.fromkeys(
    (
        Quantity.DELTA,
        Quantity.TOTAL_VARIATION,
        Quantity.ADVANTAGE,
        Quantity.TRUE_POSITIVE_RATE,
    ),
    1.0,
)
"""Measures that are probabilities."""


class CrossedBracketError(RuntimeError):
    """Outputs lose more than a trace allows: not all randomness was followed."""


SIGNIFICANCE = 0.05
"""Of the intervals that a finding shows beside its verdict."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LossBracket:
    """Laws that are harder, and laws that are easier to tell apart than the true ones.

    As the bracket holds for the whole ROC curve at once, so do the intervals of as many measures
    of it as one asks for, all with one confidence.

    Parameters
    ----------
    least, found, most : FinitePair
        With a lower, an estimated and an upper ROC curve.
    confidence : float
        The probability that the true curve lies between them; 1 where it was computed.
    cells : int
        Of the partition whose loss it is; 0 of the release.
    """

    least: FinitePair
    found: FinitePair
    most: FinitePair
    confidence: float
    cells: int = 0

    @property
    def scope(self) -> str:
        """Whose loss it is, in words."""
        if not self.cells:
            return "of the release"
        cells = "1 cell" if self.cells == 1 else f"{self.cells} cells"
        return f"over a partition into {cells} (the whole loss may be larger)"

    def estimate(self, asked: Asked) -> Estimate:
        """Return the estimate of a measure with its two-sided interval.

        Raises
        ------
        CrossedBracketError
            If the lower end lies above the upper one.
        """
        low, value, high = (measured(asked, each) for each in (self.least, self.found, self.most))
        low = max(0.0, low - _room(low))
        high = min(high + _room(high), _LARGEST.get(asked.quantity, math.inf))
        if self.cells:  # both ends are of one band: they cross by no more than rounding
            low = min(low, high)
        if low > high:
            raise CrossedBracketError(
                f"the outputs lose more than the trace allows: {asked.quantity.described(asked.at)}"
                f" at least {low:.4g}, and at most {high:.4g}; there is randomness that was not "
                "followed"
            )
        return Estimate(
            quantity=asked.quantity,
            value=min(max(value, low), high),
            lower=low,
            upper=high,
            confidence=self.confidence,
            at=asked.at,
            detail=self.scope,
        )


def _room(value: float) -> float:
    """Return how much a computed number may be off by its rounding."""
    return ROUNDING * max(1.0, value) if math.isfinite(value) else 0.0


def exact_bracket(pair: FinitePair) -> LossBracket:
    """Return the bracket of laws that are known."""
    return LossBracket(least=pair, found=pair, most=pair, confidence=1.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartitionLoss:
    """The loss over a partition that was chosen beforehand, from fresh outputs.

    Parameters
    ----------
    partition : OutputPartition
    bracket : LossBracket
        Of the laws of the cell that an output lies in.
    ratios : ndarray, shape (3, m)
        log(P/Q) of each cell: estimate, lower and upper limit.
    shares : ndarray, shape (2, m)
        The cells' shares of the outputs of either input.
    """

    partition: OutputPartition
    bracket: LossBracket
    ratios: FloatArray
    shares: FloatArray


def partition_loss(
    partition: OutputPartition,
    outputs: FloatArray,
    neighbour_outputs: FloatArray,
    *,
    significance: float,
) -> PartitionLoss:
    """Return the loss over a partition, from outputs that were drawn after it was chosen.

    The cell of an output is post-processing, so that the lower ends are valid for the release
    itself; the upper ends are of the partition alone.
    """
    first, second = partition.counts(outputs), partition.counts(neighbour_outputs)
    band = roc_band(first, second, significance=significance)
    least, found, most = map(pair_of_curve, (band.least, band.found, band.most))
    bracket = LossBracket(
        least=least,
        found=found,
        most=most,
        confidence=1 - significance,
        cells=partition.size,
    )
    shares = np.stack([first / first.sum(), second / second.sum()])
    return PartitionLoss(partition=partition, bracket=bracket, ratios=band.ratios, shares=shares)


def claimed_loss(
    guarantee: PrivacyGuarantee,
    pilot: tuple[FloatArray, FloatArray],
    fresh: tuple[FloatArray, FloatArray],
    *,
    bounds: tuple[float, float] | None = None,
    feature: Feature | None = None,
    significance: float = SIGNIFICANCE,
) -> tuple[Estimate, ...]:
    """Return the loss in a claim's unit, over a partition that a pilot chooses.

    Parameters
    ----------
    pilot, fresh : tuple of ndarray
        Outputs of either input, independent of each other.
    bounds, feature
        As ``learn_partition`` has them.
    """
    partition = learn_partition(*pilot, trials=len(fresh[0]), bounds=bounds, feature=feature)
    found = partition_loss(partition, *fresh, significance=significance)
    return (found.bracket.estimate(asked_of(guarantee)),)
