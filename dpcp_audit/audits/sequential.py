"""Sequential privacy audits: bets on pairs of outputs, stopped as soon as the answer is clear."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit import _validate
from dpcp_audit.audits.certificates import Hits
from dpcp_audit.audits.sampled import SampledPrivacy
from dpcp_audit.guarantees import ApproxDP, PureDP
from dpcp_audit.quantities import Quantity
from dpcp_audit.results import Evidence, EvidenceKind, Outcome, PlainData, Verdict
from dpcp_audit.stats.betting import BettingTest, betting_lower_bound, pair_outcomes
from dpcp_audit.stats.interval_power import smallest_epsilon

if TYPE_CHECKING:
    from dpcp_audit._types import IntArray
    from dpcp_audit.audits.sampled import Sampler
    from dpcp_audit.audits.search.event_search import Event
    from dpcp_audit.checks import Context
    from dpcp_audit.neighbours import Neighbours

_CHUNK = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class SequentialPrivacy:
    """Hold ε-DP or (ε, δ)-DP against samples, and stop as soon as the answer is clear.

    A pilot chooses the event; then pairs of fresh outputs are bet on, until the capital
    reaches 1/significance (REFUTED) or the budget is spent. A true claim is refuted with
    probability at most the check's significance, wherever one stops. It is INCONCLUSIVE only
    where no outcome of so few pairs could have refuted the claim.

    Parameters
    ----------
    sample : Sampler
        The mechanism.
    guarantee : PureDP or ApproxDP
        The claim.
    neighbours : Neighbours
        The pair of inputs.
    n_pilot, n_samples : int
        Outputs of each input at effort 1: of the pilot, and at most after it.
    witness : dict
        Parameters of the mechanism, as plain data.
    """

    sample: Sampler
    guarantee: PureDP | ApproxDP
    neighbours: Neighbours[Any]
    n_pilot: int = 2000
    n_samples: int = 20_000
    witness: PlainData = field(default_factory=dict)

    def __post_init__(self) -> None:
        _validate.integer(n_pilot=self.n_pilot, n_samples=self.n_samples, at_least=100)
        if not isinstance(self.guarantee, PureDP | ApproxDP):
            raise ValueError(  # noqa: TRY004  (as every other bad input)
                f"guarantee must be PureDP or ApproxDP, got {self.guarantee}"
            )
        if self._delta == 1:
            raise ValueError(f"guarantee must have delta < 1, got {self.guarantee}")

    @property
    def sampled(self) -> bool:
        """The verdict takes from the error budget."""
        return True

    def __call__(self, context: Context) -> Outcome:
        """Choose an event, then bet on fresh pairs until the capital or the budget says stop."""
        source = SampledPrivacy(
            sample=self.sample, guarantee=self.guarantee, neighbours=self.neighbours
        )
        event, swapped, complement = source.pilot(context.samples(self.n_pilot), context)
        counts = np.zeros(4, dtype=np.int64)
        test = BettingTest(epsilon=self.guarantee.epsilon, delta=self._delta)
        budget, limit, chunk = context.samples(self.n_samples), -math.log(context.significance), 0
        refuted = False
        while not refuted and (left := budget - int(counts.sum())) > 0:
            rngs = context.rng(2 + 2 * chunk), context.rng(3 + 2 * chunk)
            inside = source.draw_inside(event, min(_CHUNK, left), rngs, swapped=swapped)
            if complement:
                inside = ~inside[1], ~inside[0]
            paths = counts + np.cumsum(pair_outcomes(*inside), axis=0)
            reached = test.log_capital(paths) >= limit
            refuted = bool(reached.any())
            counts = paths[int(reached.argmax()) if refuted else -1]
            chunk += 1
        return self._outcome(
            counts, context, event, refuted=refuted, swapped=swapped, complement=complement
        )

    def detectable(self, context: Context) -> float:
        """Return a true ε of randomised response that the full budget refutes.

        With probability at least 0.95, where the pilot has found the event. Conservative: a
        sufficient ε for one look at the end (``BettingTest.trials_needed``), to which earlier
        looks add. Infinity where no ε suffices. The randomised response is the (ε, δ) one,
        p = e^ε·p′ + δ with p′ = (1 − δ)/(1 + e^ε).
        """
        budget = context.samples(self.n_samples)
        return smallest_epsilon(
            lambda epsilon: self._pairs_needed(epsilon, context.significance) <= budget,
            claimed=self.guarantee.epsilon,
        )

    def samples_needed(self, true_epsilon: float, *, significance: float) -> int:
        """Return an ``n_samples`` that refutes such a randomised response; conservative too.

        At least 100, as the check asks; the pilot is not counted in.
        """
        _validate.finite(true_epsilon=true_epsilon)
        claimed = self.guarantee.epsilon
        if not true_epsilon > claimed:
            raise ValueError(f"true_epsilon must exceed {claimed!r}, got {true_epsilon!r}")
        needed = self._pairs_needed(true_epsilon, significance)
        if math.isinf(needed):
            raise ValueError(f"true_epsilon is too close to the claim, got {true_epsilon!r}")
        return max(100, int(needed))

    def _pairs_needed(self, true_epsilon: float, significance: float) -> float:
        test = BettingTest(epsilon=self.guarantee.epsilon, delta=self._delta)
        p_prime = (1 - self._delta) * math.exp(-true_epsilon) / (1 + math.exp(-true_epsilon))
        return test.trials_needed(1 - p_prime, p_prime, significance=significance)

    @property
    def _delta(self) -> float:
        return self.guarantee.delta if isinstance(self.guarantee, ApproxDP) else 0.0

    def _outcome(
        self,
        counts: IntArray,
        context: Context,
        event: Event,
        *,
        refuted: bool,
        swapped: bool,
        complement: bool,
    ) -> Outcome:
        budget = context.samples(self.n_samples)
        claimed = self.guarantee.epsilon
        test = BettingTest(epsilon=claimed, delta=self._delta)
        best = float(test.log_capital(np.array([0, 0, budget, 0])))
        verdict = (
            Verdict.CONSISTENT
            if best >= -math.log(context.significance)
            else (Verdict.INCONCLUSIVE)
        )
        pairs = int(counts.sum())
        p, q = (counts[2] + counts[3]) / pairs, (counts[1] + counts[3]) / pairs
        bound = betting_lower_bound(counts, delta=self._delta, significance=context.significance)
        beyond = math.nextafter(claimed, math.inf)
        return Outcome(
            verdict=Verdict.REFUTED if refuted else verdict,
            evidence=Evidence(
                kind=EvidenceKind.CERTIFIED,
                quantity=Quantity.EPSILON,
                at={"delta": self._delta} if self._delta else {},
                detail="of the event, valid at any time",
                value=max(0.0, _log_excess(float(p) - self._delta, float(q))),
                lower=max(bound, beyond) if refuted else min(max(0.0, bound), claimed),
                upper=math.inf,
                claimed=claimed,
                confidence=1 - context.significance,
                n_samples=2 * pairs,
                sample=Hits(
                    int(counts[2] + counts[3]), int(counts[1] + counts[3]), pairs
                ).as_sample(any_time=True),
            ),
            witness=self.witness
            | {
                "guarantee": str(self.guarantee),
                "relation": str(self.neighbours.relation),
                "value": np.asarray(self.neighbours.value).tolist(),
                "neighbour": np.asarray(self.neighbours.neighbour).tolist(),
                "swapped": swapped,
                "complement": complement,
                "event": event.as_data(),
                "seed": context.seed,
            },
            note=(
                f"{'Stopped after' if refuted else 'Not refuted by'} {pairs} pairs of at most "
                f"{budget}: the {'complement of the ' if complement else ''}event came up in "
                f"{p:.4g} of one input's outputs and in {q:.4g} of the other's."
                f"{self._power_note(self.detectable(context))}"
            ),
        )

    def _power_note(self, smallest: float) -> str:
        if math.isinf(smallest):
            return ""
        return (
            f" Randomised response of a true ε of {smallest:.4g} is refuted by that budget with "
            "probability at least 0.95."
        )


def _log_excess(p: float, q: float) -> float:
    if p <= 0:
        return -math.inf
    return math.log(p / q) if q > 0 else math.inf
