"""DP-SKIN's claims about one Gaussian release: the classic scale, its proof, Rényi conversion."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import log_ndtr

from dpcp_audit.extensions.audits import exact_outcome
from dpcp_audit.extensions.claims import (
    Computation,
    Proof,
    ProofMethod,
    Quantity,
    RenyiDP,
    Standing,
    Verdict,
    number,
)
from dpcp_audit.extensions.claims import validate as _validate
from dpcp_audit.extensions.laws import GaussianPair
from dpcp_audit.extensions.mechanisms import Calibration, GaussianMechanism
from dpcp_audit.extensions.statistics import at_most, ball, exact, find_root, gaussian_delta
from dpcp_ledger.paper import REAL_NOISE, Paper

if TYPE_CHECKING:
    from flint import arb


paper = Paper(title="DP-SKIN", subject="DP-SKIN, the Gaussian mechanism")
analytic = Paper(title="Balle and Wang (2018)", subject="DP-SKIN, the Gaussian mechanism")
_DELTA, _RANGE = 1e-5, "ε in (0, 1)"
_CLASSIC = "Gaussian noise of the classic scale is (ε, δ)-DP"
_FORMULA = "σ = Δ₂·√(2·log(1.25/δ))/ε"
_DELTAS = (1e-2, 1e-5, 1e-8)


def release_loss(epsilon: float, delta: float, calibration: Calibration) -> Computation:
    """Compute the exact δ(ε) of the Gaussian mechanism, against the δ that it is calibrated to."""
    mechanism = _mechanism(epsilon, delta, calibration)
    shift = math.nextafter(mechanism.pair().shift, math.inf)
    ratio = exact(mechanism.sensitivity) / exact(mechanism.noise_scale)
    return exact_outcome(
        mechanism.guarantee,
        [GaussianPair(shift)],
        argument=(
            "Outputs at distance Δ₂ are the worst, and δ(ε) of a Gaussian pair grows with its "
            "shift: that of N(0, 1) against N(μ, 1) for a μ ≥ Δ₂/σ bounds every other."
        ),
        premises=(at_most("Δ₂/σ ≤ μ", ratio, shift),),
        parameters={"sensitivity": mechanism.sensitivity},
        witness={
            "epsilon": epsilon,
            "delta": delta,
            "sensitivity": 1.0,
            "calibration": str(calibration),
            "noise_scale": mechanism.noise_scale,
        },
    )


for _epsilon, _delta, _standing, _expected in (
    (0.5, 1e-5, Standing.PAPER, Verdict.PROVED),
    (8.0, 0.01, Standing.OUTSIDE_HYPOTHESIS, Verdict.REFUTED),
):
    _case: dict[str, Any] = {"epsilon": _epsilon, "delta": _delta}
    paper.claim(
        f"dpskin.gaussian-classic[epsilon={_epsilon:g}]",
        "Theorem 1",
        _expected,
        f"{_CLASSIC}.",
        _FORMULA,
        standing=_standing,
        assumptions=_RANGE,
        parameters=_case | {"sensitivity": 1.0},
        calibration=Calibration.CLASSIC,
        **_case,
    )(release_loss)
    analytic.claim(
        f"dpskin.gaussian-analytic[epsilon={_epsilon:g}]",
        "Theorem 8",
        Verdict.PROVED,
        "Gaussian noise of the analytic scale is (ε, δ)-DP.",
        assumptions=REAL_NOISE,
        parameters=_case | {"sensitivity": 1.0},
        calibration=Calibration.ANALYTIC,
        **_case,
    )(release_loss)


def classic_over(low: float, high: float) -> Computation:
    """Compute the exact δ over the claimed one, with the classic scale, for ε in a range.

    The largest over 25 values of ε, for δ = 1e-2, 1e-5 and 1e-8.
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
    return find_root(lambda e: math.log(_excess(e, delta)), 1e-3, 50.0)


for _low, _high, _standing, _expected in (
    (0.01, 1.0, Standing.PAPER, Verdict.CONSISTENT),
    (1.0, 20.0, Standing.OUTSIDE_HYPOTHESIS, Verdict.REFUTED),
):
    paper.claim(
        f"dpskin.gaussian-classic[epsilon={_low:g}..{_high:g}]",
        "Theorem 1",
        _expected,
        f"{_CLASSIC}, for every ε of an interval.",
        _FORMULA,
        standing=_standing,
        assumptions=_RANGE,
        parameters={"epsilon": [_low, _high], "delta": list(_DELTAS), "sensitivity": 1.0},
        low=_low,
        high=_high,
    )(classic_over)


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


for _epsilon, _standing, _expected in (
    (0.4, Standing.PAPER, Verdict.CONSISTENT),
    (0.59812, Standing.ERRATUM, Verdict.REFUTED),
):
    paper.claim(
        f"dpskin.theorem-2[step=tail,epsilon={_epsilon:g}]",
        "Theorem 2, single-step updates",
        _expected,
        "At the scale that the proof ends with, its bound exp(−z²/2) of Pr[L ≥ ε] is "
        "at most δ: the 1.25 makes up for the term that it drops.",
        "exp(−z²/2) ≤ δ, z = εσ/d − d/(2σ)",
        standing=_standing,
        parameters={"epsilon": _epsilon, "delta": _DELTA, "step": "tail"},
        epsilon=_epsilon,
        delta=_DELTA,
    )(tail_step)


@paper.claim(
    "dpskin.gaussian-printed",
    "Section on the Gaussian mechanism",
    Verdict.PROVED,
    "Noise N(0, Δ₂²) is (ε, δ)-DP with δ = 4/5·exp(−ε²/2) for every ε in (0, 1).",
    "δ ≥ 4/5·exp(−ε²/2)",
    assumptions="ε in (0, 1)",
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


@paper.claim(
    "dpskin.theorem-2[step=conversion]",
    "Theorem 2, Equation (2)",
    Verdict.CONSISTENT,
    "A mechanism with D_α ≤ D is (D + log(1/δ)/(α−1), δ)-DP.",
    "ε = D_α + log(1/δ)/(α−1)",
    parameters={"delta": _DELTA, "step": "conversion"},
    delta=_DELTA,
)
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
