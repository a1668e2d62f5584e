"""Betting against p ≤ e^ε·p′ + δ: a test that may stop at any time.

Each step draws one output of both inputs. With R = e^ε, Z = 1{X ∈ E} − R·1{Y ∈ E} − δ has mean
p − R·p′ − δ <= 0 under the claim, and Z >= −(R + δ), so that for a bet 0 <= f < 1 the capital
∏(1 + f·Z/(R + δ)) is a non-negative supermartingale that starts at 1, and so is any mixture of
such capitals. By Ville's inequality it ever reaches 1/significance with at most the probability
``significance`` (Waudby-Smith and Ramdas 2024).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logsumexp

from dpcp_audit import _validate
from dpcp_audit.audits.box_power import smallest_epsilon
from dpcp_audit.audits.certificates import Hits
from dpcp_audit.audits.evidence import Evidence, EvidenceKind, Outcome, PlainData, Verdict
from dpcp_audit.audits.sampled import SampledPrivacy
from dpcp_audit.mechanisms.guarantees import ApproxDP, PureDP

if TYPE_CHECKING:
    from dpcp_audit._types import BoolArray, FloatArray, IntArray
    from dpcp_audit.audits.check import Context
    from dpcp_audit.audits.events import Event
    from dpcp_audit.audits.sampled import Sampler
    from dpcp_audit.mechanisms.neighbours import Neighbours

_BETS = (0.5, 0.25, 0.125, 0.0625, 0.03125)
_CHUNK = 1000
_RESOLUTION = 1e-4
_LARGEST_EPSILON = 50.0
_DETECTION = 0.95
_TILTS = np.geomspace(1e-3, 1e2, 200)


@dataclass(frozen=True, slots=True, kw_only=True)
class BettingTest:
    """A mixture of capitals against p ≤ e^ε·p′ + δ.

    Parameters
    ----------
    epsilon, delta : float
        The claim, ε >= 0 and δ in [0, 1).
    bets : ndarray, shape (k,)
        Fractions of the largest bet that cannot lose everything, in (0, 1), mixed evenly.
    """

    epsilon: float
    delta: float = 0.0
    bets: FloatArray = field(default_factory=lambda: np.array(_BETS))

    def __post_init__(self) -> None:
        _validate.non_negative(epsilon=self.epsilon)
        _validate.closed_unit(delta=self.delta)
        bets = _validate.array(self.bets, name="bets", ndim=1)
        if not ((bets > 0) & (bets < 1)).all():
            raise ValueError(f"bets must lie in (0, 1), got {bets[:3]}")

    def log_factors(self) -> FloatArray:
        """Return log(1 + f·z/(R + δ)), shape (k, 4), for the outcomes (X, Y) = 00, 01, 10, 11."""
        ratio = math.exp(self.epsilon)
        z = np.array([0.0, -ratio, 1.0, 1 - ratio]) - self.delta
        return np.asarray(np.log1p(self.bets[:, None] * z / (ratio + self.delta)))

    def log_capital(self, counts: IntArray) -> FloatArray:
        """Return the log of the mixture's capital.

        Parameters
        ----------
        counts : ndarray, shape (..., 4)
            How often each outcome (X, Y) = 00, 01, 10, 11 has occurred.
        """
        capitals = np.asarray(counts, dtype=np.float64) @ self.log_factors().T
        return np.asarray(logsumexp(capitals, axis=-1)) - math.log(self.bets.size)

    def stopping_time(
        self, inside: BoolArray, neighbour_inside: BoolArray, *, significance: float
    ) -> IntArray:
        """Return after how many pairs the capital first reaches 1/significance.

        Parameters
        ----------
        inside, neighbour_inside : ndarray of bool, shape (..., n)
            Whether each output lies in the event; runs along the last axis.

        Returns
        -------
        ndarray of int, shape (...)
            n + 1 where it never does.
        """
        _validate.open_unit(significance=significance)
        paths = np.cumsum(_outcomes(inside, neighbour_inside), axis=-2)
        reached = self.log_capital(paths) >= -math.log(significance)
        never = ~reached.any(axis=-1)
        return np.asarray(np.where(never, reached.shape[-1] + 1, reached.argmax(axis=-1) + 1))

    def trials_needed(
        self, p: float, p_prime: float, *, significance: float, detection: float = _DETECTION
    ) -> float:
        """Return after how many pairs the capital has reached 1/significance.

        With probability at least ``detection`` at one look then; earlier looks only add.
        Infinity where no bet grows.

        Parameters
        ----------
        p, p_prime : float
            The event's true probabilities.

        Notes
        -----
        A sufficient number: the mixture is at least any one of its k capitals over k, and
        with c the log-factor of a pair, Chernoff's bound on that capital's log S is
        P(S < s) ≤ exp(λs)·(E exp(−λc))ⁿ for every λ > 0, here the best of a grid.
        Where it was measured, about 0.8 times as many sufficed.
        """
        _validate.closed_unit(p=p, p_prime=p_prime)
        _validate.open_unit(significance=significance, detection=detection)
        law = np.outer([1 - p, p], [1 - p_prime, p_prime]).ravel()
        decay = -np.log(np.exp(-_TILTS[:, None, None] * self.log_factors()) @ law)
        target = math.log(self.bets.size / significance)
        exponent = _TILTS * target - math.log1p(-detection)
        best = decay.max(axis=1)  # the best bet at each tilt
        pairs = exponent[best > 0] / best[best > 0]
        return float(np.ceil(pairs.min(initial=math.inf)))


def betting_lower_bound(counts: IntArray, *, delta: float = 0.0, significance: float) -> float:
    """Return a lower bound of ε = log((p − δ)/p′) that holds whenever one stops.

    The largest ε whose capital has reached 1/significance, by bisection to 1e-4; the capital
    falls as ε grows where δ = 0. −∞ where not even ε = 0 is refuted.

    Parameters
    ----------
    counts : ndarray of int, shape (4,)
        How often (X, Y) = 00, 01, 10, 11 has occurred.
    """
    _validate.open_unit(significance=significance)

    def refuted(epsilon: float) -> bool:
        test = BettingTest(epsilon=epsilon, delta=delta)
        return float(test.log_capital(counts)) >= -math.log(significance)

    if not refuted(0.0):
        return -math.inf
    low, high = 0.0, _LARGEST_EPSILON
    while high - low > _RESOLUTION:
        middle = (low + high) / 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low


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
            paths = counts + np.cumsum(_outcomes(*inside), axis=0)
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
                quantity=f"log((p − δ)/p′) at δ = {self._delta:.4g}, valid at any time",
                value=_log_excess(float(p) - self._delta, float(q)),
                lower=max(bound, beyond) if refuted else min(bound, claimed),
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


def _outcomes(inside: BoolArray, neighbour_inside: BoolArray) -> IntArray:
    """Return one-hot outcomes, shape (..., n, 4)."""
    index = 2 * np.asarray(inside, dtype=np.int64) + np.asarray(neighbour_inside, dtype=np.int64)
    return np.eye(4, dtype=np.int64)[index]


def _log_excess(p: float, q: float) -> float:
    if p <= 0:
        return -math.inf
    return math.log(p / q) if q > 0 else math.inf
