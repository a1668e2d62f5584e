"""Sequential privacy audits: bets on pairs of outputs, stopped as soon as the answer is clear."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit import _validate
from dpcp_audit.audits.certificates import Hits
from dpcp_audit.audits.loss_bounds import log_ratio
from dpcp_audit.audits.sampled import SampledPrivacy
from dpcp_audit.decisions import conclude
from dpcp_audit.evidence import of_loss
from dpcp_audit.guarantees import ApproxDP, PureDP
from dpcp_audit.quantities import Quantity
from dpcp_audit.results import Outcome, PlainData, Power
from dpcp_audit.stats.betting import BettingTest, betting_lower_bound, pair_outcomes
from dpcp_audit.stats.bisection import turn
from dpcp_audit.targets.serial_probe import unprobed

if TYPE_CHECKING:
    from dpcp_audit._types import IntArray
    from dpcp_audit.audits.sampled import Sampler
    from dpcp_audit.audits.search.event_search import Event
    from dpcp_audit.checks import Context
    from dpcp_audit.neighbours import Neighbours

_CHUNK = 1000
_LARGEST_EXCESS = 50.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SequentialPrivacy:
    """Test ε-DP or (ε, δ)-DP against samples, and stop as soon as the answer is clear.

    A pilot chooses the event; then pairs of fresh outputs are bet on, until the capital
    reaches 1/significance (REFUTED) or the budget is spent. A true claim is refuted with
    probability at most the check's significance, wherever one stops.

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
    witness: PlainData = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        _validate.integer(n_pilot=self.n_pilot, n_samples=self.n_samples, at_least=100)
        _validate.instance(PureDP, ApproxDP, guarantee=self.guarantee)
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
        significance = unprobed(context.significance)
        budget, limit, chunk = context.samples(self.n_samples), -math.log(significance), 0
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

    def smallest_violation(self, context: Context) -> Power:
        """Return a true ε of randomised response that the full budget refutes.

        With probability at least 0.95, where the pilot has found the event. Conservative: a
        sufficient ε for one look at the end (``BettingTest.draws_needed``), to which earlier
        looks add. Infinity where no ε suffices. The randomised response is the (ε, δ) one,
        p = e^ε·p′ + δ with p′ = (1 − δ)/(1 + e^ε).
        """
        budget, claimed = context.samples(self.n_samples), self.guarantee.epsilon

        def refuted(epsilon: float) -> bool:
            return self._pairs_needed(epsilon, unprobed(context.significance)) <= budget

        largest = claimed + _LARGEST_EXCESS
        able = refuted(largest)
        return Power(
            quantity=Quantity.EPSILON,
            smallest=turn(refuted, claimed, largest, relative=1e-9).holds if able else math.inf,
            claimed=claimed,
            at=self._at,
            detail="of randomised response, by the full budget",
        )

    def draws_needed(self, violation: float, *, significance: float) -> int:
        """Return an ``n_samples`` that refutes such a randomised response; conservative too.

        At least 100, as the check asks; the pilot is not counted in.
        """
        _validate.finite(violation=violation)
        claimed = self.guarantee.epsilon
        if not violation > claimed:
            raise ValueError(f"violation must exceed {claimed!r}, got {violation!r}")
        needed = self._pairs_needed(violation, unprobed(significance))
        if math.isinf(needed):
            raise ValueError(f"violation is too close to the claim, got {violation!r}")
        return max(100, int(needed))

    def _pairs_needed(self, true_epsilon: float, significance: float) -> float:
        test = BettingTest(epsilon=self.guarantee.epsilon, delta=self._delta)
        p_prime = (1 - self._delta) * math.exp(-true_epsilon) / (1 + math.exp(-true_epsilon))
        return test.draws_needed(1 - p_prime, p_prime, significance=significance)

    @property
    def _at(self) -> dict[str, float]:
        return {"delta": self._delta} if self._delta else {}

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
        pairs = int(counts.sum())
        hits = Hits(int(counts[2] + counts[3]), int(counts[1] + counts[3]), pairs)
        p, q = hits.rates
        evidence = of_loss(
            Quantity.EPSILON,
            log_ratio(p - self._delta, q),
            betting_lower_bound(
                counts, delta=self._delta, significance=unprobed(context.significance)
            ),
            refuted=refuted,
            at=self._at,
            detail="of the event, valid at any time",
            claimed=self.guarantee.epsilon,
            confidence=1 - context.significance,
            n_samples=2 * pairs,
            sample=hits.as_sample(any_time=True),
        )
        return conclude(
            evidence,
            lambda: self.smallest_violation(context),
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
                f"{context.samples(self.n_samples)}: the {'complement of the ' * complement}event "
                f"came up in {hits.successes / pairs:.4g} of one input's outputs and in "
                f"{hits.neighbour_successes / pairs:.4g} of the other's."
            ),
        )
