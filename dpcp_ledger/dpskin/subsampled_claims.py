"""Claims about the Rényi divergence of DP-SGD: the subsampled Gaussian step, steps and epochs.

Under Poisson sampling and add/remove neighbours a step's output is dominated by
N(0, σ²) against (1−q)·N(0, σ²) + q·N(1, σ²).
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln, logsumexp

from dpcp_audit.extensions.claims import (
    Computation,
    Figure,
    FigureKind,
    Quantity,
    Series,
    Standing,
    Verdict,
)
from dpcp_audit.extensions.claims import validate as _validate
from dpcp_ledger.dpskin.training_budgets import THESIS, Training, fixed
from dpcp_ledger.paper import Paper

paper = Paper(title="DP-SKIN", subject="DP-SKIN, privacy of training")
_STEP = "One Poisson-subsampled Gaussian step has a Rényi divergence of at most q²α/(2σ²)"
_SECTION = "Section on Rényi DP, D_α of a batch"
_STRONG = Training(n=100, batch_size=1, epochs=1, noise_multiplier=1.0)
_ORDERS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128, 256)
_SIGMAS = (0.5, 1.0, 2.0, 4.0, 8.0)
_RATES = (0.001, 0.002, 0.01, 0.05, 0.1, 0.3, 0.5, 0.9)


def subsampled_renyi(alpha: int, *, q: float, noise_multiplier: float) -> float:
    """Return D_α of the Poisson-subsampled Gaussian step, at a whole order α ≥ 2.

    log(Σ_k C(α,k)(1−q)^(α−k) q^k e^(k(k−1)/(2σ²)))/(α−1), exact in the direction of the
    mixture against the Gaussian (Mironov, Talwar and Zhang 2019, Section 3.3).
    """
    _validate.integer(alpha=alpha, at_least=2)
    _validate.open_unit(q=q)
    _validate.positive(noise_multiplier=noise_multiplier)
    k = np.arange(alpha + 1)
    log_choose = gammaln(alpha + 1) - gammaln(k + 1) - gammaln(alpha - k + 1)
    terms = (
        log_choose
        + (alpha - k) * math.log1p(-q)
        + k * math.log(q)
        + k * (k - 1) / (2 * noise_multiplier**2)
    )
    return float(logsumexp(terms)) / (alpha - 1)


def batch_bound(training: Training, *, alpha: int) -> Computation:
    """Compute one step's D_α against the claimed q²α/(2σ²)."""
    q, sigma = training.sampling_rate, training.noise_multiplier
    claimed = q * q * alpha / (2 * sigma**2)
    value = subsampled_renyi(alpha, q=q, noise_multiplier=sigma)
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
    paper.claim(
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


@paper.claim(
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
        (alpha, sigma, q): subsampled_renyi(alpha, q=q, noise_multiplier=sigma)
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


@paper.claim(
    "dpskin.rdp-total",
    "Equation (1)",
    Verdict.REFUTED,
    "“For training over T epochs, the total Rényi divergence accumulates additively”, to "
    "T·q²α/(2σ²) at most, with T the number of epochs.",
    "D_α ≤ T·q²α/(2σ²)",
    parameters=fixed(THESIS) | {"order": 2},
    training=THESIS,
    alpha=2,
)
def epochs_for_steps(training: Training, *, alpha: int) -> Computation:
    """Compute the whole training's D_α against the claim that counts epochs as steps."""
    q, sigma = training.sampling_rate, training.noise_multiplier
    claimed = training.epochs * q * q * alpha / (2 * sigma**2)
    value = training.steps * subsampled_renyi(alpha, q=q, noise_multiplier=sigma)
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
