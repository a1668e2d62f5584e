"""The steps on the way to DP-SKIN's Theorem 2, and what it says of its lots."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

from scipy.special import log_ndtr

from dpcp_audit.extensions.claims import Computation, ProofMethod, Quantity, Standing, Verdict
from dpcp_audit.extensions.laws import GaussianPair
from dpcp_audit.extensions.statistics import all_at_most, at_most
from dpcp_ledger.mechanisms.releases import Point, identity, largest_difference
from dpcp_ledger.paper import Paper

if TYPE_CHECKING:
    from collections.abc import Sequence


paper = Paper(title="DP-SKIN", subject="DP-SKIN, the Gaussian mechanism")
_TAIL: dict[str, Any] = {"shift": 1.0, "epsilon": 2.0, "order": 3.5}


@paper.claim(
    "dpskin.theorem-2[step=loss-law]",
    "Theorem 2, single-step updates",
    Verdict.PROVED,
    "The privacy loss of one Gaussian release is normal, of mean d²/(2σ²) and variance d²/σ².",
    "L ~ N(d²/(2σ²), d²/σ²)",
)
def loss_law() -> Computation:
    """Compare 2σ²·L(μ+z), as the densities give it, with d² − 2zd (Theorem 2, one step)."""
    return identity(
        largest_difference(_loss_of_densities, _printed_loss, variables=3),
        "2σ²·L(μ+z) − (d² − 2zd)",
        "With d = μ′−μ the loss at μ+z is d²/(2σ²) − zd/σ², for every σ: linear in z ~ N(0, σ²), "
        "it is normal with mean d²/(2σ²) and variance d²/σ². Both sides are of degree 2 at most "
        "in z, μ and μ′, and agree at three values of each.",
    )


def _loss_of_densities(at: Point) -> int:
    z, mean, other = at
    return (mean + z - other) ** 2 - z**2


def _printed_loss(at: Point) -> int:
    z, mean, other = at
    return (other - mean) ** 2 - 2 * z * (other - mean)


@paper.claim(
    "dpskin.theorem-2[step=divergence]",
    "Theorem 2, multi-step updates",
    Verdict.PROVED,
    "Two normal laws of one variance at distance Δ have the Rényi divergence αΔ²/(2σ²).",
    "D_α(P‖Q) = αΔ²/(2σ²)",
)
def gaussian_divergence() -> Computation:
    """Compare the exponent of p^α·q^{1−α} with a completed square (Theorem 2, Rényi)."""
    return identity(
        largest_difference(_exponent, _completed_square, variables=4),
        "α(x−μ₁)² + (1−α)(x−μ₂)² − (x−m)² − α(1−α)(μ₁−μ₂)²",
        "With m = αμ₁ + (1−α)μ₂ the integral of p^α·q^{1−α} is exp(−α(1−α)Δ²/(2σ²)), since "
        "exp(−(x−m)²/(2σ²))/√(2πσ²) integrates to 1: its logarithm over α−1 is αΔ²/(2σ²), for "
        "every α > 1 and σ. Both sides are of degree 2 at most in x, α, μ₁ and μ₂, and agree at "
        "three values of each.",
    )


def _exponent(at: Point) -> int:
    x, order, first, other = at
    return order * (x - first) ** 2 + (1 - order) * (x - other) ** 2


def _completed_square(at: Point) -> int:
    x, order, first, other = at
    mean = order * first + (1 - order) * other
    return (x - mean) ** 2 + order * (1 - order) * (first - other) ** 2


@paper.claim(
    "dpskin.theorem-2[step=markov]",
    "Theorem 2, multi-step updates",
    Verdict.REFUTED,
    "By Markov's inequality the loss exceeds ε with probability at most E[e^((α−1)L)]/e^((α−1)ε), "
    "with the mean over outputs of the neighbour, o ∼ Q.",
    "Pr[L ≥ ε] ≤ E_{o∼Q}[e^((α−1)L)]/e^((α−1)ε)",
    standing=Standing.ERRATUM,
    **_TAIL,
)
@paper.claim(
    "dpskin.theorem-2[step=markov,outputs=own]",
    "Theorem 2, multi-step updates",
    Verdict.CONSISTENT,
    "By Markov's inequality the loss exceeds ε with probability at most E[e^((α−1)L)]/e^((α−1)ε), "
    "with the mean over the mechanism's own outputs, o ∼ P.",
    "Pr[L ≥ ε] ≤ E_{o∼P}[e^((α−1)L)]/e^((α−1)ε)",
    standing=Standing.CORRECTED,
    parameters=_TAIL,
    own=True,
    **_TAIL,
)
def markov_step(*, shift: float, epsilon: float, order: float, own: bool = False) -> Computation:
    """Compute Pr[L ≥ ε] on outputs of P, against the moment bound that the proof has for it.

    Parameters
    ----------
    shift : float
        Δ/σ of the Gaussian pair.
    order : float
        α; the moment is that of λ = α−1.
    own : bool
        True if the moment is taken over outputs of P as well; as printed it is over those of Q.
    """
    moment = (order - 1) * (order if own else order - 2) * shift**2 / 2
    bound = math.exp(moment - (order - 1) * epsilon)
    tail = math.exp(float(log_ndtr(shift / 2 - epsilon / shift)))
    there = math.exp(float(log_ndtr(-shift / 2 - epsilon / shift)))
    return Computation(
        quantity=Quantity.PROBABILITY,
        detail="Pr[L ≥ ε] on outputs of P",
        value=tail,
        claimed=min(1.0, bound),
        witness={"shift": shift, "epsilon": epsilon, "order": order, "tail_on_neighbour": there},
        note=(
            f"On outputs of the neighbour Q the tail is {there:.3g}, below {bound:.3g}; Markov's "
            "inequality bounds the tail under the law of the moment, and (ε, δ)-DP needs that of "
            "P."
        ),
    )


@paper.claim(
    "dpskin.lots[clipping=none]",
    "Section 3.3, Lots",
    Verdict.PROVED,
    "“This averaged gradient serves as an unbiased estimator” of the gradient: that of a lot of "
    "unclipped gradients.",
    "E[(1/L)·Σ g(xᵢ)] = (1/N)·Σ g(xᵢ)",
    parameters={"lot": 2},
    gradients=(5, 2, -1, -3),
    lot=2,
    clip=None,
)
@paper.claim(
    "dpskin.lots[clipping=1]",
    "Section 3.3, Lots, with Algorithms 1 and 2",
    Verdict.REFUTED,
    "The averaged gradient that Algorithms 1 and 2 take, of clipped gradients, is an unbiased "
    "estimator of the gradient.",
    "E[(1/L)·Σ ḡ(xᵢ)] = (1/N)·Σ g(xᵢ)",
    standing=Standing.READING,
    parameters={"lot": 2, "clip": 1},
    gradients=(3, -1, -1, -1),
    lot=2,
    clip=1,
)
def lot_bias(gradients: Sequence[int], *, lot: int, clip: int | None) -> Computation:
    """Compute how far a lot's averaged gradient is from the gradient, in the mean over all lots.

    Every example is in the lot with probability L/N by itself, and the sum is divided by L, as
    in Algorithms 1 and 2 without their noise, whose mean is 0.
    """
    used = [g if clip is None else max(-clip, min(clip, g)) for g in gradients]
    weights = _lot_weights(len(gradients), lot)
    mean = sum((w * g for w, g in zip(weights, used, strict=True)), Fraction(0))
    full = Fraction(sum(gradients), len(gradients))
    found = Computation(
        quantity=Quantity.DIFFERENCE,
        detail="|E[averaged gradient] − gradient|",
        value=float(abs(mean - full)),
        claimed=0.0,
        error=0.0,
        witness={"gradients": list(gradients), "lot": lot, "clip": clip or "none"},
        note=f"The gradient is {full}, and the mean of the averaged one over all lots {mean}.",
    )
    if clip is not None:
        return found
    return found.between(
        all_at_most(
            "|weight of an example − 1/N| ≤ 0",
            [abs(weight - Fraction(1, len(gradients))) for weight in weights],
            0,
        ),
        at_most("|E[averaged gradient] − gradient| ≤ 0", abs(mean - full), 0),
        method=ProofMethod.CLOSED_FORM,
        argument=(
            "The mean over all lots is linear in the gradients, each with weight (L/N)/L = 1/N, "
            "whatever they are. The weights are summed here over every lot of some examples."
        ),
        parameters={"lot": lot},
    )


def _lot_weights(examples: int, lot: int) -> list[Fraction]:
    """Return the weight of each example in the mean over all lots, lot by lot."""
    rate = Fraction(lot, examples)
    weights = [Fraction(0)] * examples
    for members in product((False, True), repeat=examples):
        chance = rate ** sum(members) * (1 - rate) ** (examples - sum(members))
        for place in (i for i, chosen in enumerate(members) if chosen):
            weights[place] += chance / lot
    return weights


@paper.claim(
    "dpskin.clipping[per-layer]",
    "Section 3.3, Per-layer and time-dependent parameters",
    Verdict.REFUTED,
    "Each of the layers clipped to C by itself, with the noise σC of Algorithm 1, a step has the "
    "sensitivity, and so the privacy, of Algorithm 1.",
    "‖Σ over layers‖ ≤ C",
    standing=Standing.PRACTICE,
    layers=18,
)
def layer_sensitivity(*, layers: int) -> Computation:
    """Compute what one example moves at most where each layer is clipped to C, in units of C.

    The worst example has a gradient of norm C in every layer.
    """
    worst = math.hypot(*[1.0] * layers)
    return Computation(
        quantity=Quantity.RATIO,
        detail="largest norm of a clipped gradient over C",
        value=worst,
        claimed=1.0,
        witness={"layers": layers},
        note=(
            "The thesis lets C and σ differ between layers, leaves their sum to an accountant and "
            f"states no privacy for it. With one C and σ, √{layers} times the noise is needed, or "
            f"a layer's bound of C/√{layers}."
        ),
    )


@paper.claim(
    "dpskin.clipping[after-averaging]",
    "Section 3.3, Norm Clipping",
    Verdict.REFUTED,
    "A training that clips after averaging, tensor by tensor, and adds noise of σ = 8.1 to the "
    "mean of a batch has the ε that Chapter 4 prints for that σ.",
    "ε = √(2·log(1.25/δ))/σ",
    standing=Standing.PRACTICE,
    parameters={"epochs": [9, 20, 10, 7], "noise": 8.1, "tensors": 66, "delta": 1e-5},
    epochs=(9, 20, 10, 7),
    noise=8.1,
    tensors=66,
    delta=1e-5,
    claimed=0.59812,
)
def clipped_mean_budget(
    epochs: Sequence[int], *, noise: float, tensors: int, delta: float, claimed: float
) -> Computation:
    """Compute ε where the mean gradient of a batch is clipped to 1 and noised, from below.

    A person's gradient is not bounded, and can turn the mean around: the clipped mean moves by 2
    in a tensor, once an epoch. Gaussian releases at distance 2/σ compose to one at distance
    2√(epochs)/σ for one tensor, and 2√(tensors·epochs)/σ where every tensor moves.
    """

    def spent(passes: int, moved: int) -> float:
        return GaussianPair(2 * math.sqrt(moved * passes) / noise).epsilon_at(delta)

    least = min(epochs)
    one = ", ".join(f"{spent(passes, 1):.3g} ({passes} epochs)" for passes in epochs)
    every = ", ".join(f"{spent(passes, tensors):.3g}" for passes in epochs)
    return Computation(
        quantity=Quantity.EPSILON,
        at={"delta": delta},
        detail="where one tensor of the network moves",
        value=spent(least, 1),
        claimed=claimed,
        upper=math.inf,
        witness={"epochs": least, "noise": noise, "shift": 2 / noise, "tensors": 1},
        note=(
            f"With one tensor: {one}. With {tensors} tensors that all move: {every}. Without "
            "per-example clipping the noise is that of a mean, not divided by the batch, and q "
            "plays no part: the batches are slices in a fixed order."
        ),
    )
