"""The mechanisms of this package, as ``dpcp-audit check`` calls targets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcp_audit.extensions.mechanisms import (
    PCOQS,
    BinaryRandomizedResponse,
    ExponQ,
    HistLap,
    KaryRandomizedResponse,
    Normaliser,
    SplitConformal,
    optimal_gamma,
)

if TYPE_CHECKING:
    import numpy as np

    from dpcp_audit.extensions.claims import FloatArray, IntArray


def pcoqs(
    scores: FloatArray, *, size: int, rng: np.random.Generator, alpha: float, rho: float
) -> FloatArray:
    """Return ``size`` thresholds of P-COQS, at its default resolution."""
    return PCOQS(alpha=alpha, rho=rho).sample(scores, size, rng=rng)


def exponq(
    scores: FloatArray,
    *,
    size: int,
    rng: np.random.Generator,
    alpha: float,
    epsilon: float,
    n_candidates: int,
) -> FloatArray:
    """Return ``size`` thresholds of ExponQ with the corrected normaliser and the best γ."""
    gamma = optimal_gamma(scores.size, alpha=alpha, epsilon=epsilon)
    mechanism = ExponQ(alpha=alpha, epsilon=epsilon, n_candidates=n_candidates, gamma=gamma)
    return mechanism.sample(scores, size, rng=rng)


def exponq_as_published(
    scores: FloatArray,
    *,
    size: int,
    rng: np.random.Generator,
    alpha: float,
    epsilon: float,
    n_candidates: int,
) -> FloatArray:
    """Return ``size`` thresholds of ExponQ with the normaliser of private_prediction_sets."""
    mechanism = ExponQ(
        alpha=alpha,
        epsilon=epsilon,
        n_candidates=n_candidates,
        gamma=optimal_gamma(scores.size, alpha=alpha, epsilon=epsilon),
        normaliser=Normaliser.PUBLISHED,
    )
    return mechanism.sample(scores, size, rng=rng)


def histlap(
    scores: FloatArray,
    *,
    size: int,
    rng: np.random.Generator,
    alpha: float,
    epsilon: float,
    n_bins: int,
) -> FloatArray:
    """Return ``size`` thresholds of HistLap, with the noise that substitution takes."""
    mechanism = HistLap(alpha=alpha, epsilon=epsilon, n_bins=n_bins)
    return mechanism.sample(scores, size, rng=rng)


def ldpcp_label(values: IntArray, *, rng: np.random.Generator, epsilon: float, k: int) -> IntArray:
    """Return what users of LDP-CP-L report of their labels in 0..k−1: k-ary response."""
    return KaryRandomizedResponse(epsilon, k).sample(values, rng=rng)


def ldpcp_score_bit(values: IntArray, *, rng: np.random.Generator, epsilon: float) -> IntArray:
    """Return what users of LDP-CP-S report of whether their score is below the midpoint."""
    return BinaryRandomizedResponse(epsilon).sample(values, rng=rng).astype(int)


def split_conformal(scores: FloatArray, *, alpha: float) -> float:
    """Return the threshold of split conformal prediction, which has no noise."""
    return SplitConformal(alpha=alpha).threshold(scores)
