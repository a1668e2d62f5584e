"""Estimates the privacy loss on the worst pair that a search finds, or on one that is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcp_audit import _validate
from dpcp_audit.audits.estimates.loss_measures import allowed, asked_of
from dpcp_audit.audits.estimates.pair_estimate import PairOutputs, estimate_pair
from dpcp_audit.audits.search.pair_race import Bank, PairRace
from dpcp_audit.audits.search.pair_space import input_as_data
from dpcp_audit.decisions import decide
from dpcp_audit.guarantees import ApproxDP
from dpcp_audit.results import Evidence, EvidenceKind, Outcome
from dpcp_audit.targets.degenerate import Randomness
from dpcp_audit.targets.serial_probe import require_independent
from dpcp_audit.tracing.pair_traces import trace_target

if TYPE_CHECKING:
    from dpcp_audit.audits.estimates.pair_estimate import PairEstimate
    from dpcp_audit.audits.sampled import Sampler
    from dpcp_audit.audits.search.pair_space import Candidate, PairSpace
    from dpcp_audit.checks import Context
    from dpcp_audit.guarantees import PrivacyGuarantee
    from dpcp_audit.results import PlainData
    from dpcp_audit.tracing.pair_traces import PairTrace
    from dpcp_audit.tracing.target_calls import TracedTarget

_NOTHING_CLAIMED = ApproxDP(0.0, 0.0)
"""What pairs are raced against where nothing is claimed: any difference of the laws counts."""
_SEARCHED, _MOST_SEARCHED = 0.4, 200_000
_SEARCH_STREAM, _TRACE_STREAM = 10**6, 10**6 + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LossEstimation:
    """Estimates the loss on a pair, and compares it with a claim where there is one.

    A share of the outputs searches for the pair and learns a partition of its outputs; fresh ones
    are counted. Where the noise can be followed, traces bound the loss from above, or enumerate it.

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
        Where the target draws its random numbers.
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

    def __post_init__(self) -> None:
        _validate.integer(draws=self.draws, at_least=600)
        _validate.integer(paths=self.paths, at_least=0)
        _validate.choice(Randomness, randomness=self.randomness)

    @property
    def sampled(self) -> bool:
        """The intervals take from the error budget."""
        return True

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
        exact = trace is not None and trace.exact is not None
        outputs = None if exact else self._outputs(bank, arm.candidate, context)
        found = estimate_pair(outputs, trace, significance=context.significance)
        return found, self._witness(arm.candidate, context)

    def _outputs(self, bank: Bank, candidate: Candidate, context: Context) -> PairOutputs:
        pilot = bank.pilot(candidate)
        size = max(100, (self.draws - bank.spent) // 2)
        first, second = (bank.fresh(value, size) for value in candidate.inputs)
        if self.randomness is not Randomness.NONE:
            require_independent(first, second, significance=context.significance)
        return PairOutputs(pilot=pilot, fresh=(first, second), bounds=self.pairs.bounds)

    def _trace(self, candidate: Candidate, context: Context) -> PairTrace | None:
        if self.traced is None or not self.paths:
            return None
        rng = context.rng(_TRACE_STREAM)
        return trace_target(self.traced, *candidate.inputs, draws=self.paths, rng=rng)

    def _witness(self, candidate: Candidate, context: Context) -> PlainData:
        value, neighbour = candidate.inputs
        return {
            "relation": str(candidate.neighbours.relation),
            "value": input_as_data(value),
            "neighbour": input_as_data(neighbour),
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
        claimed=None if guarantee is None else allowed(asked, guarantee),
    )
    return Outcome(
        verdict=decide(evidence),
        evidence=evidence,
        witness=witness,
        note="Nothing is claimed: an estimate." if guarantee is None else "",
        figures=found.figures,
        tables=(found.table(guarantee),),
    )
