"""Estimates of the privacy loss on a pair that is given, or that a search finds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcp_audit.audits.loss_bracket import (
    LossBracket,
    all_asked,
    allowed,
    asked_of,
    exact_bracket,
    exact_law,
    law_of_paths,
    law_over_partition,
    learn_partition,
    loss_along_outputs,
    pair_of_curve,
    partition_loss,
    transcript_curve,
)
from dpcp_audit.audits.search.pair_race import Bank, PairRace
from dpcp_audit.audits.search.pair_space import pair_as_data
from dpcp_audit.targets.answers import Randomness, require_independent
from dpcp_audit.tracing.pair_traces import trace_target
from dpcp_audit.words.checks import Sampled
from dpcp_audit.words.evidence import decide, exact_power, refutes
from dpcp_audit.words.formatting import interval, number
from dpcp_audit.words.guarantees import ApproxDP
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import (
    Evidence,
    EvidenceKind,
    Outcome,
    Table,
    TableColumn,
)

if TYPE_CHECKING:
    from dpcp_audit.audits.loss_bracket import Asked
    from dpcp_audit.audits.search.pair_space import Candidate, PairSpace, Sampler
    from dpcp_audit.laws.laws import FinitePair
    from dpcp_audit.tracing.pair_traces import PairTrace
    from dpcp_audit.tracing.target_calls import TracedTarget
    from dpcp_audit.words.checks import Context
    from dpcp_audit.words.guarantees import PrivacyGuarantee
    from dpcp_audit.words.results import Estimate, Figure, PlainData
    from dpcp_audit.words.validate import FloatArray


TITLE = "The privacy loss on the pair"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairEstimate:
    """The loss on a pair: as many measures as one asks for, all intervals at one confidence.

    Where outputs alone speak, an interval has a lower end only: no number of outputs bounds the
    loss of the release from above. The upper end of the partition stands beside it.

    Parameters
    ----------
    brackets : tuple of LossBracket
        The release's first, where its upper ends are known; a partition's last.
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
        return next((each for each in found if math.isfinite(each[1].upper)), found[-1])

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
                    "partition_upper": [
                        math.inf if each.partition_upper is None else each.partition_upper
                        for each in found
                    ],
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
            (
                f"partition: {cells} cells chosen by a pilot; lower ends also hold for the "
                "release, whose loss may exceed the partition's upper ends."
            ),
        ]
        if self.unfollowed:
            notes.append(f"The noise cannot be followed: {self.unfollowed}.")
        if len(self.brackets) > 1:
            notes.append("release: upper ends by the trace of the noise, lower ends by outputs.")
        return notes


def exact_estimate(pair: FinitePair) -> PairEstimate:
    """Return the loss of laws that are known."""
    return PairEstimate(brackets=(exact_bracket(pair),), confidence=1.0, figures=(exact_law(pair),))


def estimate_pair(
    pilot: tuple[FloatArray, FloatArray],
    fresh: tuple[FloatArray, FloatArray],
    trace: PairTrace | None,
    *,
    bounds: tuple[float, float] | None = None,
    significance: float,
) -> PairEstimate:
    """Return the loss on a pair; every interval is wrong with probability <= ``significance``.

    Parameters
    ----------
    pilot, fresh : tuple of ndarray, shape (size,) or (size, d)
        Outputs of either input that choose a partition, and others that are counted.
    trace : PairTrace or None
        The trace of the pair; one that could not be followed bounds nothing, and a note says why.
    bounds : tuple of float or None
        The interval that a bisecting target would start from.
    """
    unfollowed = "" if trace is None or trace.followed else str(trace.unfollowed[0])
    trace = None if unfollowed else trace
    curve = None if trace is None else transcript_curve(trace, significance=significance / 2)
    left = significance if curve is None else significance / 2
    partition = learn_partition(*pilot, trials=len(fresh[0]), bounds=bounds)
    found = partition_loss(partition, *fresh, significance=left)
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
    along = loss_along_outputs(pilot, fresh, significance=significance)
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
    ends = {
        "value": estimate.value,
        "lower": estimate.lower,
        "upper": estimate.upper,
        "partition_upper": estimate.partition_upper,
    }
    shown = interval(ends | {"claimed": None}).replace("partition", "part.")  # a narrow column
    return f"{number(estimate.value)} {shown}".rstrip()


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


_NOTHING_CLAIMED = ApproxDP(0.0, 0.0)
"""The claim to race pairs against where nothing is claimed: any difference of the laws counts."""
_SEARCHED, _MOST_SEARCHED = 0.4, 200_000
_SEARCH_STREAM, _TRACE_STREAM = 10**6, 10**6 + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LossEstimation(Sampled):
    """Estimate the loss on a pair, and compare it with a claim where there is one.

    A share of the outputs searches for the pair and learns a partition of its outputs; fresh ones
    are counted. Where the noise can be followed, traces bound the loss from above, or enumerate it.

    :Null hypothesis: The guarantee, on the pair that the search chose. Without a guarantee nothing
        is tested: the numbers are estimates.
    :Statistic: The claim's own loss, read off a confidence band of the ROC curve of the two laws:
        over a partition of the outputs that other outputs chose, or of the whole law where all
        paths were enumerated.
    :Level: At most the significance: with at least the confidence 1 − significance the band holds
        the whole curve. No false alarms where the law is enumerated.
    :Power: The claim moved by the width of the interval.
    :Reference: Clopper and Pearson (1934); Neyman and Pearson (1933).

    Parameters
    ----------
    sample : Sampler
        The target.
    pairs : PairSpace
        The neighbours to search.
    guarantee : PrivacyGuarantee or None
        The claim: what pairs are searched for, and what the table shows beside the estimates.
    draws : int
        Outputs to draw in all.
    randomness : Randomness
        The source of the target's random numbers.
    traced : TracedTarget or None
        The target as a function of a recording generator.
    paths : int
        Paths to trace in either direction; 0 traces nothing.
    """

    sample: Sampler
    pairs: PairSpace
    guarantee: PrivacyGuarantee | None = None
    draws: int = 20_000
    randomness: Randomness = Randomness.GENERATOR
    traced: TracedTarget | None = None
    paths: int = 1000

    def __call__(self, context: Context) -> Outcome:
        """Find a pair, estimate the loss on it and compare it with the claim."""
        found, witness = self.found(context)
        return outcome_of(found, self.guarantee, witness)

    def found(self, context: Context) -> tuple[PairEstimate, PlainData]:
        """Return the estimates, and the pair that they are of as plain data.

        Raises
        ------
        DegenerateTargetError
            If the target returns the same value on all inputs tried, seeds itself, or raises.
        """
        bank = Bank(sample=self.sample, context=context)
        race = PairRace(
            bank=bank,
            guarantee=self.guarantee or _NOTHING_CLAIMED,
            pairs=self.pairs,
            randomness=self.randomness,
        )
        searched = min(_MOST_SEARCHED, round(_SEARCHED * self.draws))
        arm = race.round(searched, context.rng(_SEARCH_STREAM))
        race.require_varied()
        bank.probed(race.random_input(arm), self.randomness)
        trace = self._trace(arm.candidate, context)
        witness = self._witness(arm.candidate, context)
        if trace is not None and trace.exact is not None:
            return exact_estimate(trace.exact), witness
        return self._of_outputs(bank, arm.candidate, trace, context), witness

    def _of_outputs(
        self, bank: Bank, candidate: Candidate, trace: PairTrace | None, context: Context
    ) -> PairEstimate:
        pilot = bank.pilot(candidate)
        size = max(100, (self.draws - bank.spent) // 2)
        first, second = (bank.fresh(value, size) for value in candidate.inputs)
        if self.randomness is not Randomness.NONE:
            require_independent(first, second, significance=context.significance)
        return estimate_pair(
            pilot,
            (first, second),
            trace,
            bounds=self.pairs.bounds,
            significance=context.significance,
        )

    def _trace(self, candidate: Candidate, context: Context) -> PairTrace | None:
        if self.traced is None or not self.paths:
            return None
        rng = context.rng(_TRACE_STREAM)
        return trace_target(self.traced, *candidate.inputs, draws=self.paths, rng=rng)

    def _witness(self, candidate: Candidate, context: Context) -> PlainData:
        return pair_as_data(candidate.neighbours) | {
            "family": candidate.family,
            "draws": self.draws,
            "paths": self.paths,
            "seed": context.seed,
        }


def outcome_of(
    found: PairEstimate, guarantee: PrivacyGuarantee | None, witness: PlainData
) -> Outcome:
    """Return estimates as an outcome: the claim's own measure decides, where there is a claim."""
    asked = asked_of(guarantee)
    shown = found.estimate(asked)
    evidence = Evidence(
        kind=EvidenceKind.EXACT if found.confidence == 1 else EvidenceKind.CERTIFIED,
        quantity=shown.quantity,
        value=shown.value,
        lower=shown.lower,
        upper=shown.upper,
        confidence=found.confidence,
        at=shown.at,
        detail=shown.detail,
        partition_upper=shown.partition_upper,
        claimed=None if guarantee is None else allowed(asked, guarantee),
    )
    power = exact_power(evidence)
    return Outcome(
        verdict=decide(evidence, power=power),
        power=None if refutes(evidence) else power,
        evidence=evidence,
        witness=witness,
        note="Nothing is claimed: an estimate." if guarantee is None else "",
        figures=found.figures,
        tables=(found.table(guarantee),),
    )
