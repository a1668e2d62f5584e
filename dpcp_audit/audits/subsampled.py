"""Accounting claims about DP-SGD: the subsampled Gaussian step, steps and epochs, whole trainings.

Under Poisson sampling and add/remove neighbours a step's output is dominated by
N(0, σ²) against (1−q)·N(0, σ²) + q·N(1, σ²).
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln, logsumexp

from dpcp_audit import _validate
from dpcp_audit.audits.accounting import Sampling, Training, accounted_epsilon
from dpcp_audit.audits.computed import Computation
from dpcp_audit.audits.evidence import Figure, FigureKind, Series


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
    orders = [2, 3, 4, 6, 8, 12, 16, 24, 32]
    ratios = [
        subsampled_renyi(a, q=q, noise_multiplier=sigma) / (q * q * a / (2 * sigma**2))
        for a in orders
    ]
    claimed = q * q * alpha / (2 * sigma**2)
    value = subsampled_renyi(alpha, q=q, noise_multiplier=sigma)
    return Computation(
        quantity=f"D_α of one step at α = {alpha}",
        value=value,
        claimed=claimed,
        witness=training.parameters | {"alpha": alpha, "sampling_rate": q},
        note=f"The true divergence is {value / claimed:.5g} times the claimed one.",
        figures=(
            Figure(
                kind=FigureKind.LINES,
                title=f"One step's D_α over q²α/(2σ²), q = {q:.3g}, σ = {sigma:g}",
                x_label="order α",
                y_label="true/claimed",
                log_y=True,
                series=[
                    Series(name="claimed: at most", x=[2.0, 32.0], y=[1.0, 1.0]),
                    Series(name="exact", x=[float(a) for a in orders], y=ratios),
                ],
                description="The ratio of the true to the claimed divergence, over the order.",
            ),
        ),
    )


def epochs_for_steps(training: Training, *, alpha: int) -> Computation:
    """Compute the whole training's D_α against the claim that counts epochs as steps."""
    q, sigma = training.sampling_rate, training.noise_multiplier
    claimed = training.epochs * q * q * alpha / (2 * sigma**2)
    value = training.steps * subsampled_renyi(alpha, q=q, noise_multiplier=sigma)
    return Computation(
        quantity=f"D_α of the training at α = {alpha}",
        value=value,
        claimed=claimed,
        witness=training.parameters | {"alpha": alpha, "steps": training.steps},
        note=(
            f"{training.epochs} epochs are {training.steps} steps; the true divergence is "
            f"{value / claimed:.4g} times the claimed one, 1/q being {1 / q:.4g}."
        ),
    )


def training_budget(
    training: Training, *, epsilon: float, delta: float, sampling: Sampling
) -> Computation:
    """Compute the ε of a training at δ, against the ε that the single-release formula gives.

    Under zero-out neighbours, from above, by privacy loss distributions.
    """
    _validate.positive(epsilon=epsilon)
    guarantee = training.guarantee(sampling=sampling)
    value = accounted_epsilon(guarantee, delta=delta)
    return Computation(
        quantity=f"ε of the whole training at δ = {delta:g}",
        value=value,
        claimed=epsilon,
        covers="the pair of laws dominates every pair of neighbouring data sets of its relation.",
        witness=training.parameters
        | {"epsilon": epsilon, "delta": delta, "guarantee": str(guarantee)},
        note=(
            "The claim's σ = √(2·log(1.25/δ))/ε is that of a single Gaussian release, not of a "
            f"training; the training's own ε is {value / epsilon:.3g} times it."
        ),
    )
