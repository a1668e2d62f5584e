"""The budget of a pipeline: law pairs composed through dp-accounting.

Losses are rounded to a grid of ``interval``: up for the upper bounds, down for the lower
ones, so that the exact composed δ(ε) of the pairs lies between the two. (The convolutions are
fast Fourier transforms in doubles; dp-accounting moves the mass that it truncates, at most
1e-15 a step, to an infinite loss in the upper bound and drops it in the lower.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.laws.laws import FinitePair, GaussianPair, LaplacePair
from dpcp_audit.laws.loss_distributions import epsilon_of, gaussian_step
from dpcp_audit.laws.losses import guarantee_pair
from dpcp_audit.mechanisms.pcoqs.release import released_pair, transcript_pair
from dpcp_audit.stats.enclosures import at_most, ball, composed_delta, exact
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.computed import Computation
from dpcp_audit.words.figures import Figure, FigureKind, Series
from dpcp_audit.words.guarantees import ApproxDP, PureDP, Relation
from dpcp_audit.words.proofs import Proof, ProofMethod
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import ROUNDING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flint import arb

    from dpcp_audit.laws.laws import LawPair
    from dpcp_audit.mechanisms.pcoqs.release import PCOQS


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Composition:
    """The composed privacy loss of several releases, between an upper and a lower estimate.

    Parameters
    ----------
    upper, lower : PrivacyLossDistribution
        dp-accounting's, with losses rounded up and down.
    slack : float
        Mass that the pairs' enumerations pruned, over all releases. It is added to every
        upper δ, as if it revealed everything.
    pairs, counts : tuple
        What was composed.
    """

    upper: Any
    lower: Any
    slack: float
    pairs: tuple[LawPair, ...]
    counts: tuple[int, ...]

    def delta_at(self, epsilon: float) -> float:
        """Return δ(ε) of both directions, from above."""
        _validate.non_negative(epsilon=epsilon)
        return min(1.0, float(self.upper.get_delta_for_epsilon(epsilon)) + self.slack)

    def delta_below(self, epsilon: float) -> float:
        """Return δ(ε) of the worse direction, from below."""
        _validate.non_negative(epsilon=epsilon)
        return float(self.lower.get_delta_for_epsilon(epsilon))

    def epsilon_at(self, delta: float) -> float:
        """Return ε(δ) of both directions, from above; infinity where no ε is enough."""
        _validate.open_unit(delta=delta)
        if delta <= self.slack:
            return math.inf
        return epsilon_of(self.upper, delta - self.slack)

    def epsilon_below(self, delta: float) -> float:
        """Return ε(δ) of the worse direction, from below."""
        _validate.open_unit(delta=delta)
        return epsilon_of(self.lower, delta)

    def renyi(self, alpha: float) -> float:
        """Return the composed D_α of the worse direction: Rényi divergences add up.

        Exact; a lower bound where there is slack.
        """
        forward = sum(c * p.renyi(alpha) for p, c in zip(self.pairs, self.counts, strict=True))
        backward = sum(
            c * p.reversed().renyi(alpha) for p, c in zip(self.pairs, self.counts, strict=True)
        )
        return float(max(forward, backward))


def compose(
    pairs: Sequence[LawPair], counts: Sequence[int], *, interval: float = 1e-4
) -> Composition:
    """Compose releases that each see the same two neighbouring inputs.

    Parameters
    ----------
    pairs : sequence of LawPair
        The laws of each kind of release; the first law of every pair belongs to the same
        input. Where a pair dominates its release on every input (``transcript_pair``,
        ``guarantee_pair``), the upper bounds also hold for releases chosen in the light of
        earlier ones.
    counts : sequence of int
        How many independent releases of each kind, at least 1.
    interval : float
        Width of the grid of losses, in nats. The upper and lower ε differ by at most about
        2·interval for each release.
    """
    _validate.positive(interval=interval)
    if not pairs or len(pairs) != len(counts):
        raise ValueError(
            f"counts must hold one number for each pair, at least one, got {len(counts)} "
            f"for {len(pairs)} pairs"
        )
    for count in counts:
        _validate.integer(counts=count, at_least=1)
    ways = [_composed(pairs, counts, interval, pessimistic=way) for way in (True, False)]
    return Composition(
        upper=ways[0],
        lower=ways[1],
        slack=float(sum(c * p.slack for p, c in zip(pairs, counts, strict=True))),
        pairs=tuple(pairs),
        counts=tuple(counts),
    )


def _composed(
    pairs: Sequence[LawPair], counts: Sequence[int], interval: float, *, pessimistic: bool
) -> Any:
    result = None
    for pair, count in zip(pairs, counts, strict=True):
        step = _loss(pair, interval, pessimistic)
        many = step.self_compose(count) if count > 1 else step
        result = many if result is None else result.compose(many)
    return result


@singledispatch
def _loss(pair: LawPair, interval: float, pessimistic: bool) -> Any:  # noqa: ARG001, FBT001
    """Return dp-accounting's distribution of the loss of both directions."""
    raise ValueError(f"pairs must hold FinitePair, GaussianPair or LaplacePair, got {pair!r}")


@_loss.register
def _(pair: FinitePair, interval: float, pessimistic: bool) -> Any:  # noqa: FBT001
    from dp_accounting.pld import (  # noqa: PLC0415  (slow to import)
        privacy_loss_distribution as pld,
    )

    p: list[float] = pair.law.log_mass.tolist()
    q: list[float] = pair.neighbour_law.log_mass.tolist()
    return pld.from_two_probability_mass_functions(
        dict(enumerate(q)),
        dict(enumerate(p)),
        pessimistic_estimate=pessimistic,
        value_discretization_interval=interval,
        symmetric=False,
    )


@_loss.register
def _(pair: GaussianPair, interval: float, pessimistic: bool) -> Any:  # noqa: FBT001
    return gaussian_step(1 / pair.shift, 1.0, interval=interval, pessimistic=pessimistic)


@_loss.register
def _(pair: LaplacePair, interval: float, pessimistic: bool) -> Any:  # noqa: FBT001
    from dp_accounting.pld import (  # noqa: PLC0415  (slow to import)
        privacy_loss_distribution as pld,
    )

    coordinates = [
        pld.from_laplace_mechanism(
            1 / shift,
            pessimistic_estimate=pessimistic,
            value_discretization_interval=interval,
            use_connect_dots=pessimistic,
        )
        for shift in pair.shifts
    ]
    first, *rest = coordinates
    return first.compose(rest[0]) if rest else first


def pipeline_budget(
    classifier: PureDP | ApproxDP,
    calibration: PCOQS,
    *,
    thresholds: int,
    delta: float = 1e-6,
    n: int = 100,
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
    n : int
        Scores in the pair whose released thresholds are shown beside the transcripts.
    """
    _validate.integer(thresholds=thresholds, at_least=1)
    _validate.open_unit(delta=delta)
    told = classifier.parameters.get("delta", 0.0)
    rho = thresholds * calibration.rho
    claimed = classifier.epsilon + rho + 2 * math.sqrt(rho * math.log(1 / delta))
    model = guarantee_pair(classifier)
    noisy = compose([model, transcript_pair(calibration)], [1, thresholds])
    released = compose([model, released_pair(calibration, n)], [1, thresholds])
    value = noisy.epsilon_at(told + delta)
    proof = _pipeline_proof(classifier, calibration, thresholds, delta, value)
    return Computation(
        quantity=Quantity.EPSILON,
        at={"delta": told + delta},
        detail="of the pipeline",
        value=value,
        lower=noisy.epsilon_below(told + delta) * (1 - ROUNDING),
        upper=proof.premises[-1].left[1],
        claimed=claimed,
        proof=proof,
        witness={
            "classifier": str(classifier),
            "rho": calibration.rho,
            "thresholds": thresholds,
            "delta": told + delta,
            "epsilon_from_below": noisy.epsilon_below(told + delta),
            "epsilon_of_thresholds_alone": released.epsilon_at(told + delta),
        },
        note=(
            f"The pipeline spends {value / claimed:.4g} times the textbook sum; with the "
            "thresholds alone released, on their known worst neighbours, "
            f"{released.epsilon_at(told + delta) / claimed:.4g} times."
        ),
        figures=(_budget_figure(noisy, released, claimed),),
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


def _budget_figure(noisy: Composition, released: Composition, claimed: float) -> Figure:
    epsilons = np.linspace(0.0, 1.1 * claimed, 41).tolist()
    curves = {"noisy counts": noisy, "thresholds alone, worst known neighbours": released}
    return Figure(
        kind=FigureKind.LINES,
        title="Composed privacy profile of the pipeline",
        x_label="ε",
        y_label="δ(ε)",
        log_y=True,
        series=[
            Series(name=name, x=epsilons, y=[max(c.delta_at(e), 1e-16) for e in epsilons])
            for name, c in curves.items()
        ],
        marks={"textbook sum": claimed},
        description=(
            "δ(ε), from above, of a private classifier followed by all thresholds: with the "
            "noisy counts published, and with nothing but the thresholds."
        ),
    )
