"""Sampled privacy audits of any callable: pilot samples choose an event, fresh ones certify it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dpcp_audit.audits import event_power
from dpcp_audit.audits.certificates import Certificate, Hits, certify, prefers_complement
from dpcp_audit.audits.estimates.loss_bracket import claimed_loss
from dpcp_audit.audits.largest_bound import bounding_event
from dpcp_audit.audits.search.event_search import Event
from dpcp_audit.audits.search.feature_cells import Automatic, choose_event
from dpcp_audit.targets.degenerate import (
    Randomness,
    draw,
    probe,
    require_independent,
    require_random,
    unprobed,
)
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.evidence import conclude
from dpcp_audit.words.guarantees import Neighbours, PrivacyGuarantee

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcp_audit.audits.search.event_search import EventSearch
    from dpcp_audit.words.arrays import FloatArray
    from dpcp_audit.words.checks import Context
    from dpcp_audit.words.results import Estimate, Outcome, PlainData, Power

_PROBE_STREAM = 1000
__all__ = ["Event", "SampledPrivacy", "Sampler", "choose_event"]


class Sampler(Protocol):
    """Draws ``size`` independent outputs, numbers or vectors, of a mechanism on one input."""

    def __call__(self, value: Any, size: int, /, *, rng: np.random.Generator) -> ArrayLike:
        """Return an array of shape (size,) or (size, d)."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledPrivacy:
    """Test a guarantee against samples of a mechanism on two neighbours.

    A share of the samples, the pilot, chooses an event and a direction: the one that exceeds the
    claim most or, where a refutation is as good as sure, the one that promises to certify the
    largest loss. Fresh samples certify the event. A claim of ε-DP or (ε, δ)-DP is put to the
    score test of its inequality, for the event or its complement as the pilot says; the evidence
    is a lower confidence bound of ε, which exceeds the claimed one exactly where the claim is
    refuted. Any other guarantee is put to the test of its power curve, and the evidence is the
    largest parameter refuted. A true claim is refuted with probability at most the check's
    significance. A millionth of it probes the pilot for serial dependence
    (``DependentOutputsError``): the outputs must be independent draws.

    Parameters
    ----------
    sample : Sampler
        The mechanism.
    guarantee : PrivacyGuarantee
        The claim.
    neighbours : Neighbours
        The pair of inputs.
    n_samples : int
        Outputs drawn on each input at effort 1, pilot included.
    pilot_share : float
        The share of them that the pilot takes, in (0, 1).
    search : EventSearch
        How the pilot chooses the event.
    certificate : Certificate
        How the counts are judged.
    randomness : Randomness
        Where the mechanism draws its random numbers. A few outputs are held against it first,
        and a target that does otherwise, or that seeds itself or returns one constant, is a
        ``DegenerateTargetError``.
    witness : dict
        Parameters of the mechanism, as plain data.
    """

    sample: Sampler
    guarantee: PrivacyGuarantee
    neighbours: Neighbours[Any]
    n_samples: int = 20_000
    pilot_share: float = 0.33
    search: EventSearch = field(default_factory=Automatic)
    certificate: Certificate = Certificate.SCORE
    randomness: Randomness = Randomness.GENERATOR
    witness: PlainData = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        if not callable(self.sample):
            raise ValueError(  # noqa: TRY004  (as every other bad input)
                f"sample must be callable, got {self.sample!r}"
            )
        _validate.instance(PrivacyGuarantee, guarantee=self.guarantee)
        _validate.instance(Neighbours, neighbours=self.neighbours)
        _validate.integer(n_samples=self.n_samples, at_least=200)
        _validate.open_unit(pilot_share=self.pilot_share)
        _validate.choice(Certificate, certificate=self.certificate)
        _validate.choice(Randomness, randomness=self.randomness)

    @property
    def sampled(self) -> bool:
        """The verdict takes from the error budget."""
        return True

    def __call__(self, context: Context) -> Outcome:
        """Choose an event on pilot samples and certify it on fresh ones."""
        total = context.samples(self.n_samples)
        fresh = total - round(self.pilot_share * total)
        pilot = self._pilot(total - fresh, context)
        event, swapped, complement = self._bounding(pilot, fresh, context) or self._chosen(pilot)
        outputs = self._ordered(fresh, (context.rng(2), context.rng(3)), swapped=swapped)
        return self._judge(
            event,
            [int(event.contains(x).sum()) for x in outputs],
            fresh,
            swapped=swapped,
            context=context,
            complement=complement,
            estimates=claimed_loss(
                self.guarantee,
                (pilot[1], pilot[0]) if swapped else pilot,
                outputs,
                feature=event.feature,
            ),
        )

    def pilot(self, size: int, context: Context) -> tuple[Event, bool, bool]:
        """Choose an event on ``size`` outputs of each input, from the streams 0 and 1.

        Returns
        -------
        event : Event
        swapped : bool
            Whether the event is the likelier one on the neighbour.
        complement : bool
            Whether the event's complement is the stronger test of an (ε, δ) claim.
        """
        return self._chosen(self._pilot(size, context))

    def _pilot(self, size: int, context: Context) -> tuple[FloatArray, FloatArray]:
        inputs = (self.neighbours.value, self.neighbours.neighbour)
        for i, x in enumerate(inputs):
            rng = context.rng(_PROBE_STREAM + i)
            probe(self.sample, x, randomness=self.randomness, rng=rng)
        first, second = (self._draw(x, size, context.rng(i)) for i, x in enumerate(inputs))
        if self.randomness is not Randomness.NONE:
            require_random(first, second)
        require_independent(first, second, significance=context.significance)
        return first, second

    def _bounding(
        self, outputs: tuple[FloatArray, FloatArray], trials: int, context: Context
    ) -> tuple[Event, bool, bool] | None:
        """Return the event that promises the largest bound, if it is as good as sure to refute."""
        best = bounding_event(
            self.guarantee,
            self.search(self.guarantee, *outputs).event,
            outputs,
            trials=trials,
            significance=unprobed(context.significance),
        )
        return (best.event, best.swapped, False) if best is not None and best.refutes else None

    def _chosen(self, outputs: tuple[FloatArray, FloatArray]) -> tuple[Event, bool, bool]:
        event, swapped, _ = self.search(self.guarantee, *outputs)
        ordered = outputs[::-1] if swapped else outputs
        counts = [int(event.contains(x).sum()) for x in ordered]
        hits = Hits(counts[0], counts[1], len(outputs[0]))
        return event, swapped, prefers_complement(self.guarantee, hits)

    def _ordered(
        self,
        size: int,
        rngs: tuple[np.random.Generator, np.random.Generator],
        *,
        swapped: bool,
    ) -> tuple[FloatArray, FloatArray]:
        inputs = (self.neighbours.value, self.neighbours.neighbour)
        first, second = inputs[::-1] if swapped else inputs
        return self._draw(first, size, rngs[0]), self._draw(second, size, rngs[1])

    def _draw(self, value: object, size: int, rng: np.random.Generator) -> FloatArray:
        return draw(self.sample, value, size, rng=rng)

    def _judge(
        self,
        event: Event,
        hits: list[int],
        trials: int,
        *,
        swapped: bool,
        context: Context,
        complement: bool,
        estimates: tuple[Estimate, ...],
    ) -> Outcome:
        judgement = certify(
            self.guarantee,
            Hits(hits[0], hits[1], trials),
            significance=unprobed(context.significance),
            certificate=self.certificate,
            complement=complement,
        )
        return conclude(
            replace(judgement.evidence, confidence=1 - context.significance),
            lambda: self.smallest_violation(context),
            witness=self.witness
            | {
                "guarantee": str(self.guarantee),
                "relation": str(self.neighbours.relation),
                "value": np.asarray(self.neighbours.value).tolist(),
                "neighbour": np.asarray(self.neighbours.neighbour).tolist(),
                "swapped": swapped,
                "event": event.as_data(),
                "seed": context.seed,
            },
            note=(
                f"The event has probability {hits[0] / trials:.4g} on one input and "
                f"{hits[1] / trials:.4g} on its neighbour ({trials} fresh samples each). "
                f"{judgement.note}"
            ).strip(),
            estimates=estimates,
        )

    def smallest_violation(self, context: Context) -> Power:
        """Return the smallest loss that is refuted with probability 0.95 by a well-chosen event."""
        total = context.samples(self.n_samples)
        return event_power.smallest_violation(
            self.guarantee,
            total - round(self.pilot_share * total),
            significance=unprobed(context.significance),
            certificate=self.certificate,
        )

    def draws_needed(self, violation: float, *, significance: float) -> int:
        """Return the ``n_samples``, pilot included, that refute a true loss of ``violation``."""
        fresh = event_power.draws_needed(
            self.guarantee,
            violation,
            significance=unprobed(significance),
            certificate=self.certificate,
        )
        return max(200, math.ceil(fresh / (1 - self.pilot_share)))
