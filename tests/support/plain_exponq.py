"""ExponQ written down as plainly as can be, to compare with."""

from __future__ import annotations

import math

import numpy as np

from dpcp_audit.mechanisms.quantiles import ExponQ, Normaliser


def plain_law(mechanism: ExponQ, scores: np.ndarray) -> np.ndarray:
    """Return the probability of every edge, by loops; both bounds are edges."""
    low, high = mechanism.bounds
    m, n, alpha, gamma = (
        mechanism.n_candidates, len(scores), mechanism.alpha, mechanism.gamma
    )  # fmt: skip
    edges = np.linspace(low, high, m)
    target = (n + 1) * (1 - alpha) / (n * (1 - gamma * alpha))
    target += 2 / (mechanism.epsilon * n) * math.log(m / (gamma * alpha))
    published = mechanism.normaliser is Normaliser.PUBLISHED
    if published:
        target, scale = min(target, 1 - 1e-12), min(alpha, 1 - alpha)
    elif target >= 1:
        return np.eye(m)[-1]
    else:
        scale = min(target, 1 - target)
    rounded = [next((e for e in edges if s < e), high) for s in scores]
    worse = []
    for edge in edges:
        below = sum(s < edge for s in rounded)
        if published and edge == high:
            below = n
        worse.append(max(below / target, sum(s > edge for s in rounded) / (1 - target)))
    weight = np.exp(-mechanism.epsilon / 2 * scale * (np.array(worse) - min(worse)))
    return weight / weight.sum()
