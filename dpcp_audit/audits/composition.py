"""What releases on the same people cost together: noises from below, a pipeline in closed form."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dpcp_audit.laws.laws import GaussianPair, LaplacePair
from dpcp_audit.laws.loss_distributions import gaussian_step
from dpcp_audit.stats.enclosures import at_most, ball, composed_delta, exact, upper
from dpcp_audit.stats.roots import turn
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.computed import Computation
from dpcp_audit.words.guarantees import ApproxDP, PureDP, Relation
from dpcp_audit.words.proofs import Proof, ProofMethod
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import ROUNDING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flint import arb

    from dpcp_audit.laws.laws import LawPair
    from dpcp_audit.mechanisms.pcoqs.release import PCOQS

_INTERVAL = 1e-4
"""The grid of losses, in nats, to which each noise's are rounded down."""


def composed_delta_below(pairs: Sequence[LawPair], epsilon: float) -> float:
    """Return δ(ε) of noises that see the same two inputs, from below, through dp-accounting.

    (The convolutions are fast Fourier transforms in doubles; the mass that dp-accounting cuts off,
    at most 1e-15 a step, is dropped.)

    Parameters
    ----------
    pairs : sequence of GaussianPair or LaplacePair
        At least one; the first law of every pair belongs to the same input.
    """
    if not pairs:
        raise ValueError("pairs must hold at least one pair, got none")
    first, *rest = map(_loss, pairs)
    for each in rest:
        first = first.compose(each)
    return float(first.get_delta_for_epsilon(epsilon))


def _loss(pair: LawPair) -> Any:
    """Return dp-accounting's distribution of the loss of both directions."""
    from dp_accounting.pld import (  # noqa: PLC0415  (slow to import)
        privacy_loss_distribution as pld,
    )

    if isinstance(pair, GaussianPair):
        return gaussian_step(1 / pair.shift, 1.0, interval=_INTERVAL, pessimistic=False)
    if not isinstance(pair, LaplacePair):
        raise ValueError(  # noqa: TRY004  (as every other bad input)
            f"pairs must hold GaussianPair or LaplacePair, got {pair!r}"
        )
    first, *rest = (
        pld.from_laplace_mechanism(
            1 / shift,
            pessimistic_estimate=False,
            value_discretization_interval=_INTERVAL,
            use_connect_dots=False,
        )
        for shift in pair.shifts
    )
    return first.compose(rest[0]) if rest else first


def pipeline_budget(
    classifier: PureDP | ApproxDP, calibration: PCOQS, *, thresholds: int, delta: float = 1e-6
) -> Computation:
    """Compute ε of a private classifier and several P-COQS thresholds on the same people.

    Held against the textbook sum ε_f + Tρ + 2·sqrt(Tρ·log(1/δ)) at δ_f + δ (P-COQS paper,
    Proposition 1; Bun and Steinke 2016, Lemmas 2.3 and 3.5; basic composition).

    Parameters
    ----------
    classifier : PureDP or ApproxDP
        What the classifier's training promises.
    calibration : PCOQS
        The mechanism of every threshold.
    thresholds : int
        How many thresholds are released, T.
    delta : float
        What the thresholds may add to the classifier's δ_f.
    """
    _validate.integer(thresholds=thresholds, at_least=1)
    _validate.open_unit(delta=delta)
    told = classifier.parameters.get("delta", 0.0)
    rho = thresholds * calibration.rho
    claimed = classifier.epsilon + rho + 2 * math.sqrt(rho * math.log(1 / delta))
    shift = ball(thresholds * calibration.rounds / exact(calibration.noise_scale) ** 2).sqrt()

    def enough(epsilon: float) -> bool:
        spent = composed_delta(shift, epsilon, promised=classifier.epsilon, told=told)
        return upper(spent) <= told + delta

    value = turn(enough, 0.0, 2 * claimed, relative=ROUNDING).holds
    proof = _pipeline_proof(classifier, calibration, thresholds, delta, value)
    return Computation(
        quantity=Quantity.EPSILON,
        at={"delta": told + delta},
        detail="of the pipeline",
        value=value,
        lower=value * (1 - 2 * ROUNDING),
        upper=proof.premises[-1].left[1],
        claimed=claimed,
        proof=proof,
        witness={
            "classifier": str(classifier),
            "rho": calibration.rho,
            "thresholds": thresholds,
            "delta": told + delta,
        },
        note=f"The pipeline spends {value / claimed:.4g} times the textbook sum.",
    )


def _pipeline_proof(
    classifier: PureDP | ApproxDP,
    calibration: PCOQS,
    thresholds: int,
    delta: float,
    found: float,
) -> Proof:
    """Return the proof that the textbook sum is enough, by the composed δ in closed form.

    A little above the ε that was found δ(ε) is small enough, and that ε is at most the sum.
    """
    told = classifier.parameters.get("delta", 0.0)
    enough = found * (1 + ROUNDING)
    squared = thresholds * calibration.rounds / exact(calibration.noise_scale) ** 2

    def composed() -> arb:
        shift = ball(squared).sqrt()
        return composed_delta(shift, enough, promised=classifier.epsilon, told=told)

    def textbook() -> arb:
        rho = thresholds * exact(calibration.rho)
        return ball(exact(classifier.epsilon) + rho) + 2 * (-ball(rho) * ball(delta).log()).sqrt()

    return Proof(
        method=ProofMethod.CLOSED_FORM,
        argument=(
            "Randomised response that tells everything with probability δ_f dominates every "
            "classifier of this promise, and a Gaussian pair with μ² = T·N/σ² the noisy counts of "
            "all thresholds, also chosen in the light of earlier ones. Their composition has "
            "δ(ε) = δ_f + (1−δ_f)(p·δ_G(ε−ε_f) + (1−p)·δ_G(ε+ε_f)), p = e^ε_f/(1+e^ε_f)."
        ),
        premises=(
            at_most(f"δ({enough:.6g}) ≤ δ_f + δ", composed, exact(told) + exact(delta)),
            at_most("that ε ≤ ε_f + Tρ + 2√(Tρ·log(1/δ))", enough, textbook),
        ),
        parameters={
            "epsilon": classifier.epsilon,
            "delta": delta,
            "rho": calibration.rho,
            "thresholds": thresholds,
            "resolution": calibration.resolution,
            "bounds": list(calibration.bounds),
            "relation": str(Relation.SUBSTITUTION),
        },
    )
