"""What is known of the loss on a pair: brackets from samples, traces and exact laws, joined."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcp_audit._format import interval, number
from dpcp_audit.audits.estimates.loss_bracket import LossBracket, exact_bracket, partition_loss
from dpcp_audit.audits.estimates.loss_figures import (
    exact_law,
    law_of_paths,
    law_over_partition,
    loss_along_outputs,
)
from dpcp_audit.audits.estimates.loss_measures import all_asked, allowed, pair_of_curve
from dpcp_audit.audits.estimates.output_partition import learn_partition
from dpcp_audit.audits.estimates.transcript_loss import transcript_curve
from dpcp_audit.outcome_tables import Table, TableColumn
from dpcp_audit.quantities import Quantity

if TYPE_CHECKING:
    from dpcp_audit._types import FloatArray
    from dpcp_audit.audits.estimates.loss_measures import Asked
    from dpcp_audit.figures import Figure
    from dpcp_audit.guarantees import PrivacyGuarantee
    from dpcp_audit.results import Estimate
    from dpcp_audit.tracing.pair_traces import PairTrace

TITLE = "The privacy loss on the pair"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairOutputs:
    """Outputs of either input of a pair.

    Parameters
    ----------
    pilot, fresh : tuple of ndarray, shape (size,) or (size, d)
        Those that choose a partition, and others that are counted.
    bounds : tuple of float or None
        The interval that a bisecting target would start from.
    """

    pilot: tuple[FloatArray, FloatArray]
    fresh: tuple[FloatArray, FloatArray]
    bounds: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairEstimate:
    """The loss on a pair: as many measures as one asks for, all intervals at one confidence.

    Parameters
    ----------
    brackets : tuple of LossBracket
        Of the release first, where its upper ends are known; of a partition last.
    confidence : float
        The probability that all intervals hold at once.
    figures : tuple of Figure
        The privacy-loss figures.
    unfollowed : str
        Why the trace bounds nothing, with the line.
    """

    brackets: tuple[LossBracket, ...]
    confidence: float
    figures: tuple[Figure, ...]
    unfollowed: str = ""

    def estimate(self, asked: Asked) -> Estimate:
        """Return the estimate of a measure, of the release where its upper end is finite."""
        return self._chosen(asked)[1]

    def _chosen(self, asked: Asked) -> tuple[LossBracket, Estimate]:
        found = [(bracket, bracket.estimate(asked)) for bracket in self.brackets]
        return next((each for each in found if math.isfinite(each[1].upper)), found[0])

    def table(self, guarantee: PrivacyGuarantee | None = None) -> Table:
        """Return a table of measures, beside what a guarantee allows."""
        rows = all_asked(guarantee)
        chosen = [self._chosen(asked) for asked in rows]
        found = [each for _, each in chosen]
        columns = [
            TableColumn(name="measure", texts=[_named(each) for each in found]),
            TableColumn(name="of", texts=[_whose(bracket) for bracket, _ in chosen]),
            TableColumn(
                name="estimate",
                texts=[_ends(each) for each in found],
                values=[each.value for each in found],
                details={
                    "lower": [each.lower for each in found],
                    "upper": [each.upper for each in found],
                },
            ),
        ]
        if guarantee is not None:
            columns.append(_claimed(guarantee, rows, found))
        return Table(title=TITLE, columns=columns, notes=self._notes())

    def _notes(self) -> list[str]:
        if self.confidence == 1:
            return ["The laws of the output are known: every path was run."]
        cells = self.brackets[-1].cells
        notes = [
            f"All intervals hold at once with probability {self.confidence:g}.",
            f"partition: {cells} cells chosen by a pilot; the loss of the release may be larger.",
        ]
        if self.unfollowed:
            notes.append(f"The noise cannot be followed: {self.unfollowed}.")
        if len(self.brackets) > 1:
            notes.append("release: upper ends by the trace of the noise, lower ends by outputs.")
        return notes


def estimate_pair(
    outputs: PairOutputs | None, trace: PairTrace | None, *, significance: float
) -> PairEstimate:
    """Return the loss on a pair; every interval is wrong with probability <= ``significance``.

    Parameters
    ----------
    outputs : PairOutputs or None
        Of either input; None is enough where the trace has the exact laws.
    trace : PairTrace or None
        Of the pair; one that could not be followed bounds nothing, and a note says why.
    """
    unfollowed = "" if trace is None or trace.followed else str(trace.unfollowed[0])
    trace = None if unfollowed else trace
    if trace is not None and trace.exact is not None:
        exact = exact_bracket(trace.exact)
        return PairEstimate(brackets=(exact,), confidence=1.0, figures=(exact_law(trace.exact),))
    if outputs is None:
        raise ValueError("outputs must be given where no exact law is known, got None")
    curve = None if trace is None else transcript_curve(trace, significance=significance / 2)
    left = significance if curve is None else significance / 2
    partition = learn_partition(*outputs.pilot, trials=len(outputs.fresh[0]), bounds=outputs.bounds)
    found = partition_loss(partition, *outputs.fresh, significance=left)
    brackets = [found.bracket]
    if curve is not None:
        release = LossBracket(
            least=found.bracket.least,
            found=found.bracket.found,
            most=pair_of_curve(curve),
            confidence=1 - significance,
        )
        brackets.insert(0, release)
    law = law_over_partition(found) if trace is None or curve is None else law_of_paths(trace)
    along = loss_along_outputs(outputs.pilot, outputs.fresh, significance=significance)
    return PairEstimate(
        brackets=tuple(brackets),
        confidence=1 - significance,
        figures=(law,) if along is None else (law, along),
        unfollowed=unfollowed,
    )


def _named(estimate: Estimate) -> str:
    quantity = estimate.quantity
    if quantity is Quantity.TRUE_POSITIVE_RATE:  # in few letters: the table is to fit a screen
        return f"{quantity.unit} at FPR = {number(estimate.at['fpr'])}"
    return quantity.described(estimate.at)


def _ends(estimate: Estimate) -> str:
    if estimate.confidence == 1:
        return number(estimate.value)
    ends = {"value": estimate.value, "lower": estimate.lower, "upper": estimate.upper}
    return f"{number(estimate.value)} {interval(ends | {'claimed': None})}".rstrip()


def _whose(bracket: LossBracket) -> str:
    if bracket.confidence == 1:
        return "exact"
    return "partition" if bracket.cells else "release"


def _claimed(guarantee: PrivacyGuarantee, rows: list[Asked], found: list[Estimate]) -> TableColumn:
    values = [allowed(asked, guarantee) for asked in rows]
    plain = [math.nan if each is None else each for each in values]
    return TableColumn(
        name="claimed",
        texts=["" if each is None else number(each) for each in values],
        values=plain,
        marked=[
            place
            for place, (limit, each) in enumerate(zip(plain, found, strict=True))
            if each.lower > limit
        ],
    )
