"""Claims about one Gaussian release: the classic scale, its proof, and Rényi conversion."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import log_ndtr

from dpcp_audit.extensions.claims import (
    Computation,
    Figure,
    FigureKind,
    Proof,
    ProofMethod,
    Quantity,
    RenyiDP,
    Series,
    number,
)
from dpcp_audit.extensions.claims import brent as _brent
from dpcp_audit.extensions.claims import validate as _validate
from dpcp_audit.extensions.laws import GaussianPair
from dpcp_audit.extensions.mechanisms import Calibration, GaussianMechanism
from dpcp_audit.extensions.statistics import at_most, ball, gaussian_delta

if TYPE_CHECKING:
    from flint import arb

    from dpcp_audit.extensions.claims import FloatArray


_DELTAS = (1e-2, 1e-5, 1e-8)


def classic_over(low: float, high: float) -> Computation:
    """Compute the exact δ over the claimed one, with the classic scale, for ε in a range.

    The largest over 25 values of ε, for δ = 1e-2, 1e-5 and 1e-8; the figures show the ratios
    and how much more noise the classic scale has than the least that is enough.
    """
    _validate.positive(low=low, high=high)
    epsilons = np.geomspace(low, high, 25)
    ratios = {delta: [_excess(e, delta) for e in epsilons] for delta in _DELTAS}
    value, epsilon, delta = max(
        (ratio, float(e), delta)
        for delta in _DELTAS
        for e, ratio in zip(epsilons, ratios[delta], strict=True)
    )
    return Computation(
        quantity=Quantity.LOSS_RATIO,
        detail="largest exact δ(ε) over the claimed δ",
        value=value,
        claimed=1.0,
        witness={"epsilon": epsilon, "delta": delta, "calibration": str(Calibration.CLASSIC)},
        note=_where(value, epsilon, delta),
        figures=_classic_figures(),
    )


def _where(value: float, epsilon: float, delta: float) -> str:
    limits = ", ".join(f"{_limit(d):.3g} (δ = {number(d)})" for d in _DELTAS)
    return (
        f"At ε = {epsilon:.3g} and δ = {number(delta)} the exact δ is {value:.4g} times the "
        f"claimed one. The classic scale is enough up to ε = {limits}."
    )


def _mechanism(epsilon: float, delta: float, calibration: Calibration) -> GaussianMechanism:
    return GaussianMechanism(epsilon=epsilon, delta=delta, sensitivity=1.0, calibration=calibration)


def _excess(epsilon: float, delta: float) -> float:
    return _mechanism(epsilon, delta, Calibration.CLASSIC).pair().delta_at(epsilon) / delta


def _limit(delta: float) -> float:
    """Return the ε up to which the classic scale is (ε, δ)-DP."""
    return _brent.root(lambda e: math.log(_excess(e, delta)), 1e-3, 50.0)


def _classic_figures() -> tuple[Figure, Figure]:
    epsilons = np.geomspace(0.05, 20.0, 61)
    return (
        _over_epsilon(
            "Classic Gaussian noise: exact δ over claimed δ",
            "exact δ(ε)/δ",
            {d: [_excess(e, d) for e in epsilons] for d in _DELTAS},
            epsilons,
            "How much of the claimed δ the Gaussian mechanism of the classic scale really needs. "
            "Above 1 the claim is broken.",
        ),
        _over_epsilon(
            "Classic over analytic noise",
            "σ classic/σ analytic",
            {
                d: [
                    _mechanism(e, d, Calibration.CLASSIC).noise_scale
                    / _mechanism(e, d, Calibration.ANALYTIC).noise_scale
                    for e in epsilons
                ]
                for d in _DELTAS
            },
            epsilons,
            "The classic noise scale over the least that is (ε, δ)-DP (Balle and Wang 2018). "
            "Above 1 noise is wasted, below 1 there is too little.",
        ),
    )


def _over_epsilon(
    title: str,
    label: str,
    curves: dict[float, list[float]],
    epsilons: FloatArray,
    description: str,
) -> Figure:
    ends = [float(epsilons[0]), float(epsilons[-1])]
    return Figure(
        kind=FigureKind.LINES,
        title=title,
        x_label="ε",
        y_label=label,
        series=[
            Series(name="enough: exactly", x=ends, y=[1.0, 1.0]),
            *(Series(name=f"δ = {number(d)}", x=epsilons.tolist(), y=y) for d, y in curves.items()),
        ],
        marks={"Theorem 1 ends at ε": 1.0},
        log_x=True,
        log_y=True,
        description=description,
    )


def tail_step(epsilon: float, delta: float) -> Computation:
    """Compute the proof's bound exp(−z²/2) of Pr[L ≥ ε] at the scale that the proof ends with.

    z = εσ − 1/(2σ). The proof asks for exp(−z²/2) ≤ δ, drops the second term of z, and puts
    δ/1.25 in the place of δ: only for ε below about 0.45 does that make up for the term.
    """
    sigma = _mechanism(epsilon, delta, Calibration.CLASSIC).noise_scale
    z = epsilon * sigma - 1 / (2 * sigma)
    bound, tail = math.exp(-(z**2) / 2), math.exp(float(log_ndtr(-z)))
    return Computation(
        quantity=Quantity.VALUE,
        detail="exp(−z²/2) at z = εσ − 1/(2σ)",
        value=bound,
        claimed=delta,
        witness={"epsilon": epsilon, "delta": delta, "noise_scale": sigma, "z": z},
        note=(
            f"The bound that the proof asks to be at most δ is {bound / delta:.4g}·δ at the "
            f"noise that it arrives at. The mechanism is private there all the same: Pr[L ≥ ε] is "
            f"{tail:.3g}, and its δ(ε) is {GaussianPair(1 / sigma).delta_at(epsilon):.3g}."
        ),
    )


def printed_mechanism() -> Computation:
    """Compute δ(ε) of noise N(0, Δ²) for ε in (0, 1), against the printed 4/5·exp(−ε²/2).

    Abadi et al. (2016) print the same with (σε)² for any σ, which is false: it inverts the
    5/4 of Dwork and Roth (2014, Theorem 3.22).
    """
    compared = at_most("δ(0) ≤ 4/5·exp(−1/2)", partial(gaussian_delta, 1, 0), _least_printed)
    small = GaussianPair(10.0).delta_at(0.5)
    return Computation(
        quantity=Quantity.DELTA,
        at={"epsilon": 0.0},
        detail="of N(0, Δ²), the largest",
        value=GaussianPair(1.0).delta_at(0.0),
        lower=compared.left[0],
        upper=compared.left[1],
        claimed=compared.right[0],
        proof=Proof(
            method=ProofMethod.CLOSED_FORM,
            argument=(
                "δ(ε) falls in ε, so that δ(0) is the largest; the printed bound falls too, to "
                "4/5·exp(−1/2) at ε = 1."
            ),
            premises=(compared,),
        ),
        witness={"shift": 1.0},
        note=(
            "For σ = 1 alone, as printed. With (σε)² in the exponent, as in the source, the "
            f"formula fails: at σ = 0.1 and ε = 0.5 δ is {small:.4g}, and the formula says "
            f"{0.8 * math.exp(-((0.1 * 0.5) ** 2) / 2):.4g}."
        ),
    )


def _least_printed() -> arb:
    """Return 4/5·exp(−ε²/2) at ε = 1."""
    return ball(Fraction(4, 5)) * ball(Fraction(-1, 2)).exp()


def conversion(delta: float) -> Computation:
    """Compute ε(δ) that D_α ≤ D allows at most, over D + log(1/δ)/(α−1), for several α and D."""
    cases = [(2.0, 0.1), (8.0, 1.0), (32.0, 5.0)]
    shares = [
        RenyiDP(alpha, limit).epsilon_at(delta) / (limit + math.log(1 / delta) / (alpha - 1))
        for alpha, limit in cases
    ]
    worst = int(np.argmax(shares))
    alpha, limit = cases[worst]
    return Computation(
        quantity=Quantity.LOSS_RATIO,
        detail="largest ε(δ) that D_α allows, over the claimed ε",
        value=shares[worst],
        claimed=1.0,
        witness={"alpha": alpha, "divergence": limit, "delta": delta},
        note=(
            f"Between {min(shares):.3g} and {max(shares):.3g} of the claimed ε is needed, over "
            f"{len(cases)} cases. The printed moment bound is of outputs drawn on the neighbour "
            "(o ∼ Q), and true; what the conversion needs is the one for o ∼ P."
        ),
    )
