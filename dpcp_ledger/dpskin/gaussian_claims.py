"""DP-SKIN's claims about one Gaussian release: the classic scale, its proof, Rényi conversion.

Claims about the Rényi divergence of DP-SGD: the subsampled Gaussian step, steps and epochs.

Under Poisson sampling and add/remove neighbours a step's output is dominated by
N(0, σ²) against (1−q)·N(0, σ²) + q·N(1, σ²).
"""

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
    Figure,
    FigureKind,
    ProofMethod,
    Quantity,
    RenyiDP,
    Series,
    Standing,
    Verdict,
    number,
)
from dpcp_audit.extensions.laws import GaussianPair
from dpcp_audit.extensions.mechanisms import Calibration, GaussianMechanism
from dpcp_audit.extensions.statistics import (
    at_most,
    ball,
    ends,
    exact,
    find_root,
    gaussian_delta,
)
from dpcp_ledger.dpskin.training_budgets import THESIS, Training, sampled_renyi
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
    found = Computation(
        quantity=Quantity.DELTA,
        at={"epsilon": 0.0},
        detail="of N(0, Δ²), the largest",
        value=GaussianPair(1.0).delta_at(0.0),
        claimed=compared.right[0],
        witness={"shift": 1.0},
        note=(
            "For σ = 1 alone, as printed. With (σε)² in the exponent, as in the source, the "
            f"formula fails: at σ = 0.1 and ε = 0.5 δ is {small:.4g}, and the formula says "
            f"{0.8 * math.exp(-((0.1 * 0.5) ** 2) / 2):.4g}."
        ),
    )
    return found.between(
        compared,
        method=ProofMethod.CLOSED_FORM,
        argument=(
            "δ(ε) falls in ε, so that δ(0) is the largest; the printed bound falls too, to "
            "4/5·exp(−1/2) at ε = 1."
        ),
        parameters={},
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


sampled = Paper(title="DP-SKIN", subject="DP-SKIN, privacy of training")
_STEP = "One Poisson-subsampled Gaussian step has a Rényi divergence of at most q²α/(2σ²)"
_SECTION = "Section on Rényi DP, D_α of a batch"
_STRONG = Training(n=100, batch_size=1, epochs=1, noise_multiplier=1.0)
_ORDERS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128, 256)
_SIGMAS = (0.5, 1.0, 2.0, 4.0, 8.0)
_RATES = (0.001, 0.002, 0.01, 0.05, 0.1, 0.3, 0.5, 0.9)


def step_divergence(alpha: int, *, q: float, noise_multiplier: float) -> float:
    """Return D_α of the Poisson-subsampled Gaussian step, at a whole order α ≥ 2, from below."""
    return ends(partial(sampled_renyi, q, noise_multiplier, alpha))[0]


def batch_bound(training: Training, *, alpha: int) -> Computation:
    """Compute one step's D_α against the claimed q²α/(2σ²)."""
    q, sigma = training.sampling_rate, training.noise_multiplier
    claimed = q * q * alpha / (2 * sigma**2)
    value = step_divergence(alpha, q=q, noise_multiplier=sigma)
    return Computation(
        quantity=Quantity.RENYI_DIVERGENCE,
        at={"alpha": alpha},
        detail="of one step",
        value=value,
        claimed=claimed,
        witness=training.parameters | {"alpha": alpha, "sampling_rate": q},
        note=(
            f"The true divergence is {value / claimed:.5g} times the claimed one, which is its "
            "limit for small q and large σ."
        ),
    )


for _variant, _training, _order in (
    ("q=20/10015,sigma=8.1,alpha=2", THESIS, 2),
    ("q=0.01,sigma=1,alpha=2", _STRONG, 2),
    ("q=0.01,sigma=1,alpha=16", _STRONG, 16),
):
    sampled.claim(
        f"dpskin.rdp-batch[{_variant}]",
        _SECTION,
        Verdict.REFUTED,
        f"{_STEP}.",
        "D_α ≤ q²α/(2σ²)",
        parameters={
            "sampling_rate": _training.sampling_rate,
            "noise_multiplier": _training.noise_multiplier,
            "order": _order,
        },
        training=_training,
        alpha=_order,
    )(batch_bound)


@sampled.claim(
    "dpskin.rdp-batch[anywhere]",
    "Section on Rényi DP, D_α of a batch",
    Verdict.REFUTED,
    "One Poisson-subsampled Gaussian step has a Rényi divergence of at most q²α/(2σ²), if not "
    "everywhere then in one of 520 cases (q < 1, σ, whole α) at least.",
    "D_α ≤ q²α/(2σ²)",
    standing=Standing.READING,
    parameters={"variant": "anywhere"},
)
def batch_map() -> Computation:
    """Compute one step's D_α over the claimed q²α/(2σ²) for many (q, σ, α): the least ratio.

    Held against 1 from the other side: the claim fails everywhere where even the least ratio
    exceeds 1. It is an equality at q = 1, where every example enters the step.
    """
    ratios = {
        (alpha, sigma, q): step_divergence(alpha, q=q, noise_multiplier=sigma)
        / (q * q * alpha / (2 * sigma**2))
        for alpha in _ORDERS
        for sigma in _SIGMAS
        for q in _RATES
    }
    (alpha, sigma, q), least = min(ratios.items(), key=lambda item: item[1])
    largest = max(ratios, key=lambda case: ratios[case])
    return Computation(
        quantity=Quantity.LOSS_RATIO,
        detail="least true D_α over q²α/(2σ²)",
        value=least,
        claimed=1.0,
        witness={"alpha": alpha, "noise_multiplier": sigma, "sampling_rate": q},
        note=(
            f"In each of {len(ratios)} cases the true divergence is larger than the claimed one: "
            f"at least {least:.5g} times, and {ratios[largest]:.3g} times at α = {largest[0]}, "
            f"σ = {largest[1]:g}, q = {largest[2]:g}. To second order in q it is "
            "q²α(e^(1/σ²) − 1)/2, which exceeds q²α/(2σ²) for every σ; at large orders it nears "
            "α/(2σ²), without any amplification."
        ),
        figures=(_ratio_curves(ratios),),
    )


def _ratio_curves(ratios: dict[tuple[int, float, float], float]) -> Figure:
    orders = [float(alpha) for alpha in _ORDERS]
    cases = ((0.01, 1.0), (0.01, 2.0), (0.1, 2.0), (0.1, 4.0))
    return Figure(
        kind=FigureKind.LINES,
        title="One step's D_α over the claimed q²α/(2σ²), by order",
        x_label="order α",
        y_label="true/claimed",
        log_x=True,
        log_y=True,
        series=[
            Series(name="claimed: at most", x=[orders[0], orders[-1]], y=[1.0, 1.0]),
            *(
                Series(
                    name=f"q = {q:g}, σ = {sigma:g}",
                    x=orders,
                    y=[ratios[alpha, sigma, q] for alpha in _ORDERS],
                )
                for q, sigma in cases
            ),
        ],
        description=(
            "The ratio leaves 1 + 1/(2σ²) where large orders begin to see the one lot that holds "
            "the person, and not the average over lots."
        ),
    )


@sampled.claim(
    "dpskin.rdp-total",
    "Equation (1)",
    Verdict.REFUTED,
    "“For training over T epochs, the total Rényi divergence accumulates additively”, to "
    "T·q²α/(2σ²) at most, with T the number of epochs.",
    "D_α ≤ T·q²α/(2σ²)",
    parameters=THESIS.parameters | {"order": 2},
    training=THESIS,
    alpha=2,
)
def epochs_for_steps(training: Training, *, alpha: int) -> Computation:
    """Compute the whole training's D_α against the claim that counts epochs as steps."""
    q, sigma = training.sampling_rate, training.noise_multiplier
    claimed = training.epochs * q * q * alpha / (2 * sigma**2)
    value = training.steps * step_divergence(alpha, q=q, noise_multiplier=sigma)
    return Computation(
        quantity=Quantity.RENYI_DIVERGENCE,
        at={"alpha": alpha},
        detail="of the training",
        value=value,
        claimed=claimed,
        witness=training.parameters | {"alpha": alpha, "steps": training.steps},
        note=(
            f"{training.epochs} epochs are {training.steps} steps; the true divergence is "
            f"{value / claimed:.4g} times the claimed one, 1/q being {1 / q:.4g}. With the number "
            f"of steps for T it is {value / claimed * training.epochs / training.steps:.4g} times."
        ),
    )
