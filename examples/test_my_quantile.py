"""A private quantile of one's own, held to its promises by pytest.

Run: pytest examples/test_my_quantile.py
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcp_audit import ZCDP, LocalDP

AIM, RHO, ROUNDS = 0.93, 0.5, 10


def private_quantile(scores: np.ndarray, *, rng: np.random.Generator, noise: float = 1.0) -> float:
    """Search for the 0.93-quantile on [0, 1] with noisy counts; rho is split over the rounds."""
    ordered = np.sort(scores)
    rank = math.ceil(AIM * (len(scores) + 1))
    scale = noise * math.sqrt(ROUNDS / (2 * RHO))
    low, high = 0.0, 1.0
    for _ in range(ROUNDS):
        middle = (low + high) / 2
        count = np.searchsorted(ordered, middle, side="right") + rng.normal(scale=scale)
        low, high = (middle, high) if count < rank else (low, middle)
    return high


def randomized_response(value: int, *, rng: np.random.Generator) -> int:
    """Report one of ten values: the true one with the probability that 2-LDP allows."""
    keep = math.exp(2) / (math.exp(2) + 9)
    other = int(rng.integers(9))
    return value if rng.random() < keep else other + (other >= value)


def test_quantile_is_private(dp_audit) -> None:
    dp_audit.private(private_quantile, ZCDP(RHO), n=500, alpha=1 - AIM)


def test_quantile_covers(dp_audit) -> None:
    dp_audit.covers(private_quantile, at_least=0.9, n=500)


def test_response_is_locally_private(dp_audit) -> None:
    dp_audit.local(randomized_response, LocalDP(2.0), domain=10)


@pytest.mark.xfail(raises=pytest.fail.Exception, strict=True, reason="half of the noise")
def test_halved_noise_is_refuted(dp_audit) -> None:
    dp_audit.private(private_quantile, ZCDP(RHO), n=500, alpha=1 - AIM, options={"noise": 0.5})
