"""Sampled privacy audits of any callable: pilot samples choose an event, fresh ones certify it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy.special import expit

from dpcp_audit import _validate
from dpcp_audit.audits.evidence import Evidence, EvidenceKind, Outcome, PlainData, Verdict
from dpcp_audit.audits.statistics import clopper_pearson
from dpcp_audit.mechanisms.guarantees import PureDP

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from dpcp_audit._types import BoolArray, FloatArray
    from dpcp_audit.audits.check import Context
    from dpcp_audit.mechanisms.guarantees import PrivacyGuarantee
    from dpcp_audit.mechanisms.neighbours import Neighbours

_CELLS = 64
_QUANTITY = "log-ratio of the event's probabilities"


class Sampler(Protocol):
    """Draws ``size`` independent scalar outputs of a mechanism on one input."""

    def __call__(self, value: Any, size: int, /, *, rng: np.random.Generator) -> ArrayLike:
        """Return an array of shape (size,)."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """A set of outputs: the chosen cells of a partition of the line, (−∞, c₁], (c₁, c₂], … .

    Parameters
    ----------
    cuts : ndarray, shape (m,)
        Increasing right ends of the first m cells.
    inside : ndarray, shape (m+1,)
        Which cells belong to the event.
    """

    cuts: FloatArray
    inside: BoolArray

    def contains(self, outputs: FloatArray) -> BoolArray:
        """Tell which outputs lie in the event."""
        return self.inside[np.searchsorted(self.cuts, outputs, side="left")]

    def as_intervals(self) -> list[list[float]]:
        """Return the event as half-open intervals (low, high], neighbours merged."""
        edges = np.concatenate([[-np.inf], self.cuts, [np.inf]])
        steps = np.diff(np.concatenate([[0], self.inside.astype(int), [0]]))
        starts, ends = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1)
        return [[float(edges[a]), float(edges[b])] for a, b in zip(starts, ends, strict=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledPrivacy:
    """Hold a guarantee against samples of a mechanism on two neighbours.

    Half of the samples, the pilot, choose an event and a direction; the other half certify
    the event's two probabilities by Clopper–Pearson limits, each at half the significance.
    The claim is refuted when the certified probabilities lie outside of what the guarantee
    allows, so a true claim is refuted with probability at most the check's significance.
    It is INCONCLUSIVE only where no outcome of so few samples could have refuted the claim.
    Against ``PureDP`` the evidence is the larger certified log-ratio of the event and of its
    complement, which exceeds ε exactly where the claim is refuted.

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
    witness : dict
        Parameters of the mechanism, as plain data.
    """

    sample: Sampler
    guarantee: PrivacyGuarantee
    neighbours: Neighbours[Any]
    n_samples: int = 20_000
    witness: PlainData = field(default_factory=dict)

    def __post_init__(self) -> None:
        _validate.integer(n_samples=self.n_samples, at_least=200)

    @property
    def sampled(self) -> bool:
        """The verdict takes from the error budget."""
        return True

    def __call__(self, context: Context) -> Outcome:
        """Choose an event on pilot samples and certify it on fresh ones."""
        half = context.samples(self.n_samples) // 2
        inputs = (self.neighbours.value, self.neighbours.neighbour)
        pilot = [self._draw(x, half, context.rng(i)) for i, x in enumerate(inputs)]
        event, swapped = choose_event(self.guarantee, *pilot)
        ordered = inputs[::-1] if swapped else inputs
        hits = [
            int(event.contains(self._draw(x, half, context.rng(2 + i))).sum())
            for i, x in enumerate(ordered)
        ]
        return self._judge(event, hits, half, swapped=swapped, context=context)

    def _draw(self, value: object, size: int, rng: np.random.Generator) -> FloatArray:
        drawn = self.sample(value, size, rng=rng)
        try:
            outputs = np.asarray(drawn, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"sample must return an array of numbers, got {type(drawn).__name__}"
            ) from None
        if outputs.shape != (size,):
            raise ValueError(f"sample must return shape ({size},), got shape {outputs.shape}")
        if np.isnan(outputs).any():
            raise ValueError("sample must return numbers, got NaN")
        return outputs

    def _judge(
        self, event: Event, hits: list[int], trials: int, *, swapped: bool, context: Context
    ) -> Outcome:
        p_low, p_high = clopper_pearson(hits[0], trials, significance=context.significance)
        _, q_high = clopper_pearson(hits[1], trials, significance=context.significance)
        allowed = float(self.guarantee.power(q_high))
        if p_low > allowed:
            verdict = Verdict.REFUTED
        elif self._could_refute(trials, context.significance):
            verdict = Verdict.CONSISTENT
        else:
            verdict = Verdict.INCONCLUSIVE
        return Outcome(
            verdict=verdict,
            evidence=self._evidence(hits, trials, (p_low, p_high, q_high), context),
            witness=self.witness
            | {
                "guarantee": str(self.guarantee),
                "relation": str(self.neighbours.relation),
                "value": np.asarray(self.neighbours.value).tolist(),
                "neighbour": np.asarray(self.neighbours.neighbour).tolist(),
                "swapped": swapped,
                "event": event.as_intervals(),
                "seed": context.seed,
            },
            note=(
                f"The event has probability {hits[0] / trials:.4g} on one input and "
                f"{hits[1] / trials:.4g} on its neighbour ({trials} fresh samples each); the "
                f"claim allows at most {allowed:.4g} where the neighbour has {q_high:.4g}."
            ),
        )

    def _could_refute(self, trials: int, significance: float) -> bool:
        """Tell whether an event that one input always gives, and the other never, would refute."""
        never = clopper_pearson(0, trials, significance=significance)[1]
        always = clopper_pearson(trials, trials, significance=significance)[0]
        return always > float(self.guarantee.power(never))

    def _evidence(
        self, hits: list[int], trials: int, limits: tuple[float, float, float], context: Context
    ) -> Evidence:
        p_low, p_high, q_high = limits
        p, q = hits[0] / trials, hits[1] / trials
        quantity, value, lower, upper = "probability of the event", p, p_low, p_high
        claimed = float(self.guarantee.power(q_high))
        if isinstance(self.guarantee, PureDP):
            claimed, upper = self.guarantee.epsilon, math.inf
            (lower, value), quantity = max(
                ((_log_ratio(p_low, q_high), _log_ratio(p, q)), _QUANTITY),
                (
                    (_log_ratio(1 - q_high, 1 - p_low), _log_ratio(1 - q, 1 - p)),
                    f"{_QUANTITY} (its complement's)",
                ),
            )
        return Evidence(
            kind=EvidenceKind.CERTIFIED,
            quantity=quantity,
            value=value,
            lower=lower,
            upper=upper,
            claimed=claimed,
            confidence=1 - context.significance,
            n_samples=2 * trials,
        )


def choose_event(
    guarantee: PrivacyGuarantee, outputs: FloatArray, neighbour_outputs: FloatArray
) -> tuple[Event, bool]:
    """Choose the event, and the direction, that speaks loudest against the guarantee.

    The line is cut at quantiles of the pooled pilot outputs. Candidates are the half-lines
    and the unions of cells in order of their likelihood ratio; the best has the largest
    excess over the allowed probability, in standard errors.

    Returns
    -------
    event : Event
    swapped : bool
        Whether the event is likelier on the neighbour than the guarantee would allow.
    """
    cuts = _cuts(np.concatenate([outputs, neighbour_outputs]))
    masses = [
        (np.bincount(np.searchsorted(cuts, x, side="left"), minlength=cuts.size + 1) + 0.5)
        / (x.size + 0.5 * (cuts.size + 1))
        for x in (outputs, neighbour_outputs)
    ]
    allowed = _interpolated_power(guarantee)
    best: tuple[float, Event, bool] | None = None
    for swapped, (p, q) in ((False, masses), (True, masses[::-1])):
        for order in (np.argsort(-p / q), np.arange(p.size), np.arange(p.size)[::-1]):
            excess = _excess(
                allowed,
                np.cumsum(p[order], dtype=np.float64),
                np.cumsum(q[order], dtype=np.float64),
                outputs.size,
            )
            taken = int(np.argmax(excess[:-1])) + 1 if p.size > 1 else 1
            if best is None or excess[taken - 1] > best[0]:
                inside = np.zeros(p.size, dtype=bool)
                inside[order[:taken]] = True
                best = (float(excess[taken - 1]), Event(cuts, inside), swapped)
    assert best is not None  # noqa: S101  (the loop ran)
    return best[1], best[2]


def _cuts(pooled: FloatArray) -> FloatArray:
    """Return cut points: every distinct output when there are few, else pooled quantiles."""
    values = np.unique(pooled)
    if values.size > _CELLS:
        values = np.unique(
            np.quantile(pooled, np.linspace(0, 1, _CELLS + 1)[1:], method="inverted_cdf")
        )
    return values[:-1]


def _interpolated_power(guarantee: PrivacyGuarantee) -> Callable[[FloatArray], FloatArray]:
    """Return the guarantee's power, interpolated: good enough to choose an event by, and quick."""
    inner = expit(np.linspace(-10.0, 10.0, 61))
    grid = np.concatenate([[0.0], inner, [1.0]])
    values = guarantee.power(grid)
    return lambda q: np.interp(q, grid, values)


def _excess(
    power: Callable[[FloatArray], FloatArray], p: FloatArray, q: FloatArray, trials: int
) -> FloatArray:
    """Return how far p exceeds what q allows, in standard errors."""
    p, q = np.minimum(p, 1.0), np.minimum(q, 1.0)
    error = np.sqrt(np.maximum(q * (1 - q), 1 / trials) / trials)
    allowed, shifted = power(q), power(np.minimum(1.0, q + error))
    variance = np.maximum(p * (1 - p), 1 / trials) / trials
    return (p - allowed) / np.sqrt(variance + (shifted - allowed) ** 2)


def _log_ratio(p: float, q: float) -> float:
    if p <= 0:
        return -math.inf
    return math.log(p) - math.log(q) if q > 0 else math.inf
