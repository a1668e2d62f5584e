"""P-COQS's noise bound τ*: Proposition 1 and Remark 3 at any β, and Remark 4, exactly."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from scipy.special import log_ndtr

from dpcp_audit.extensions.claims import (
    ROUNDING,
    Computation,
    Figure,
    FigureKind,
    Proof,
    ProofMethod,
    Quantity,
    Series,
    Verdict,
    number,
)
from dpcp_audit.extensions.mechanisms import PCOQS
from dpcp_audit.extensions.statistics import at_most, ball, exact, normal_cdf
from dpcp_audit.extensions.theorems import NoiseBound, noise_rank_error
from dpcp_ledger.paper import REAL_NOISE, Heading, Paper

if TYPE_CHECKING:
    from flint import arb, fmpq


paper = Paper(title="P-COQS", subject=Heading.SEARCH_RANK)
_DEFAULT = PCOQS(alpha=0.1, rho=0.5)


def noise_exceeds(mechanism: PCOQS, *, beta: float, bound: NoiseBound) -> Computation:
    """Compute P(some round's noise exceeds τ*), the event that Proposition 1's proof bounds by β.

    The rounds' noise is independent, so the probability is 1 − (1 − 2Φ(−τ*/σ))^N exactly, at
    any β however small; a rank error above τ* + M(Δ) needs this event where scores lie
    further apart than 3Δ/2.
    """
    tau = noise_rank_error(mechanism, beta=beta, bound=bound)
    log_tail = math.log(2) + float(log_ndtr(-tau / mechanism.noise_scale))
    probability = -math.expm1(mechanism.rounds * math.log1p(-math.exp(log_tail)))
    compared = at_most(
        "P(max |Wᵢ| > τ*) ≤ β",
        partial(_exceeds, mechanism.rounds, exact(tau) / exact(mechanism.noise_scale)),
        beta,
    )
    return Computation(
        quantity=Quantity.FAILURE,
        detail="P(max |Wᵢ| > τ*)",
        value=probability,
        lower=min(compared.left[0], probability * (1 - ROUNDING)),  # τ* is rounded
        upper=compared.left[1],
        claimed=beta,
        proof=Proof(
            method=ProofMethod.CLOSED_FORM,
            argument=(
                "The noise does not depend on the scores, and that of the N rounds is "
                "independent: P(max |Wᵢ| > τ*) = 1 − (1 − 2Φ(−τ*/σ))^N, with τ* and σ as used."
            ),
            premises=(compared,),
            parameters={
                "rho": mechanism.rho,
                "resolution": mechanism.resolution,
                "bounds": list(mechanism.bounds),
                "beta": beta,
                "noise_bound": str(bound),
            },
        ),
        witness={
            "rho": mechanism.rho,
            "rounds": mechanism.rounds,
            "beta": beta,
            "noise_bound": str(bound),
            "tau": tau,
        },
        note=f"τ* is {tau:.4g} ranks; the event is {beta / probability:.3g} times rarer than β.",
    )


def _exceeds(rounds: int, deviations: fmpq) -> arb:
    """Return the probability that one of ``rounds`` normal numbers is beyond ±``deviations``."""
    inside = 1 - 2 * normal_cdf(ball(-deviations))
    return 1 - inside**rounds


for _id, _section, _formula, _bound in (
    (
        "proposition-1.rank",
        "Proposition 1, proof",
        "τ* = √((N/ρ)·log(2N/β))",
        NoiseBound.UNION,
    ),
    ("remark-3", "Remark 3", "τ* = σ·Φ⁻¹(1 − β/(2N))", NoiseBound.GAUSSIAN),
):
    paper.claim(
        f"pcoqs.{_id}[beta=1e-6,event=noise]",
        _section,
        Verdict.PROVED,
        "No round's noise exceeds τ*, with probability at least 1−β.",
        _formula,
        assumptions=REAL_NOISE,
        parameters={
            "rho": _DEFAULT.rho,
            "resolution": _DEFAULT.resolution,
            "bounds": list(_DEFAULT.bounds),
            "beta": 1e-6,
            "noise_bound": str(_bound),
            "event": "noise",
        },
        mechanism=_DEFAULT,
        beta=1e-6,
        bound=_bound,
    )(noise_exceeds)


@paper.claim(
    "pcoqs.remark-4",
    "Remark 4",
    Verdict.CONSISTENT,
    "τ* is at most the bound with log2 u + 1 for ⌈log2 u⌉, and grows like √(log u·log log u).",
    "τ* ≤ √((log2 u + 1)/ρ·log(2(log2 u + 1)/β))",
    parameters={"rho": _DEFAULT.rho, "beta": 0.01},
    mechanism=_DEFAULT,
    beta=0.01,
)
def noise_bound_growth(mechanism: PCOQS, *, beta: float) -> Computation:
    """Compute the growth of τ* in log u, against Remark 4's bound and its Θ.

    Remark 4 replaces ⌈log2 u⌉ by log2 u + 1; τ*²·ρ/(log u·log log u) must then stay bounded
    as u = (b−a)/Δ grows. The bound is closest where log2 u is just above a whole number.
    """
    exponents = [2.0**power + 1e-6 for power in range(1, 11)]  # log2 u
    shares: list[float] = []
    ratios: list[float] = []
    for log2_u in exponents:
        tau_sq = _tau_squared(log2_u, beta)
        shares.append(math.sqrt(tau_sq / ((log2_u + 1) * math.log(2 * (log2_u + 1) / beta))))
        log_u = log2_u * math.log(2)
        ratios.append(math.sqrt(tau_sq * math.log(2) / (log_u * math.log(log_u))))
    return Computation(
        quantity=Quantity.RATIO,
        detail="largest τ*/(Remark 4's bound)",
        value=max(shares),
        claimed=1.0,
        witness={"rho": mechanism.rho, "beta": beta, "log2_u": exponents},
        note=(
            "τ*·√(ρ·log 2/(log u·log log u)) falls from "
            f"{ratios[1]:.3g} at log2 u = {exponents[1]:g} to {ratios[-1]:.3g} at "
            f"{exponents[-1]:g}: the order of growth is as stated, the constant is approached "
            "slowly."
        ),
        figures=(
            informative_region(mechanism, beta=beta),
            Figure(
                kind=FigureKind.LINES,
                title="Growth of τ* with the number of rounds",
                x_label="log2 u",
                y_label="τ*·√(ρ·log 2/(log u·log log u))",
                log_x=True,
                series=[Series(name="exact", x=exponents[1:], y=ratios[1:])],
                description="The ratio of τ* to its stated order of growth levels off.",
            ),
        ),
    )


def informative_region(mechanism: PCOQS, *, beta: float) -> Figure:
    """Return the smallest n at which Theorem 1's τ/(n+1) falls below α, against ρ.

    For three resolutions Δ, with M(Δ) taken as 1.
    """
    rhos = [10.0**exponent for exponent in (-3, -2.5, -2, -1.5, -1, -0.5, 0, 0.5, 1)]
    series: list[Series] = []
    for resolution in (1e-3, 1e-6, 1e-10):
        cases = [replace(mechanism, rho=rho, resolution=resolution) for rho in rhos]
        taus = [noise_rank_error(case, beta=beta) + 1 for case in cases]
        sizes = [tau / mechanism.alpha - 1 for tau in taus]
        series.append(Series(name=f"Δ = {number(resolution)}", x=rhos, y=sizes))
    return Figure(
        kind=FigureKind.LINES,
        title=f"Smallest n at which τ/(n+1) < α = {mechanism.alpha:g}",
        x_label="ρ",
        y_label="n",
        log_x=True,
        log_y=True,
        series=series,
        description=(
            "Above its curve the bound of Theorem 1 is informative, and α* of Corollary 1 is "
            "above 0; it falls like 1/√ρ and hardly depends on the resolution."
        ),
    )


def _tau_squared(log2_u: float, beta: float) -> float:
    """Return ρτ*² = N·log(2N/β) for N = ⌈log2 u⌉."""
    rounds = math.ceil(log2_u)
    return rounds * math.log(2 * rounds / beta)
