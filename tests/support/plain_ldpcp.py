"""LDP-CP's Algorithms 2 and 3 written down as plainly as can be, to compare with."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from dpcp_audit.mechanisms.local_scores import Blocks, Debiasing, OnMiss, Window

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from dpcp_audit.mechanisms.local_labels import LDPCPLabels
    from dpcp_audit.mechanisms.local_scores import LDPCPScores, WindowSearch

Number = float | Fraction


def plain_limits(search: WindowSearch) -> tuple[Fraction, Fraction]:
    """Return the window's ends in exact arithmetic."""
    target = 1 - Fraction(str(search.alpha))
    delta = Fraction(str(search.window_width))
    if search.starred:
        target += delta
    if search.window is Window.FINAL:
        return target, target + delta
    return target - delta / 2, target + delta / 2


def plain_search(
    search: WindowSearch, estimate: Callable[[int, float], Number]
) -> tuple[float, bool]:
    """Return the threshold and whether the window was missed; rounds are j = 1, ..., T."""
    bottom, top = plain_limits(search)
    s_low, s_high = 0.0, 1.0
    q = math.nan
    for j in range(1, search.rounds + 1):
        q = (s_low + s_high) / 2
        z = estimate(j, q)
        if z > top:
            s_high = q
        elif z < bottom:
            s_low = q
        else:
            return q, False
    return (q if search.on_miss is OnMiss.LAST_MIDPOINT else s_high), True


def plain_blocks(mechanism: LDPCPScores, n: int) -> list[list[int]]:
    """Return the users, numbered from 1, that are asked in each round."""
    rounds, each = mechanism.rounds, n // mechanism.rounds
    if mechanism.blocks is Blocks.PRINTED:
        asked = [range(j * each + 1, (j + 1) * each + 1) for j in range(1, rounds + 1)]
        return [[i for i in block if i <= n] for block in asked]
    users, blocks = list(range(1, n + 1)), []
    for j in range(rounds):
        size = each + 1 if j < n % rounds else each
        blocks.append(users[:size])
        users = users[size:]
    return blocks


def plain_scores(
    mechanism: LDPCPScores, scores: np.ndarray, rng: np.random.Generator | None
) -> float:
    """Run Algorithm 3 report by report; without ``rng``, no report is ever flipped."""
    n, e = scores.size, math.exp(min(mechanism.epsilon, 700))
    blocks = plain_blocks(mechanism, n)

    def estimate(j: int, q: float) -> Number:
        block, total = blocks[j - 1], 0
        for i in block:
            bit = bool(scores[i - 1] < q)
            kept = rng is None or rng.random() < e / (1 + e)
            total += bit if kept else not bit
        divisor = max(len(block), n // mechanism.rounds)
        if mechanism.debiasing is Debiasing.PRINTED:
            divisor = n
        if rng is None:
            return Fraction(total, divisor)
        return (e + 1) / (e - 1) * total / divisor - 1 / (e - 1)

    return plain_search(mechanism, estimate)[0]


def plain_labels(
    mechanism: LDPCPLabels, scores: np.ndarray, noisy: np.ndarray
) -> tuple[float, float]:
    """Run Algorithm 2; return the threshold, and the smallest distance of a Z to the window."""
    n, k = scores.shape
    beta = k / (k - 1 + math.exp(mechanism.epsilon))
    distances = []

    def estimate(_: int, q: float) -> float:
        f_n = sum(1 for i in range(n) if scores[i, noisy[i]] <= q) / n
        f_r = sum(sum(1 for y in range(k) if scores[i, y] <= q) / k for i in range(n)) / n
        z = (f_n - beta * f_r) / (1 - beta)
        distances.append(min(abs(z - float(end)) for end in plain_limits(mechanism)))
        return z

    return plain_search(mechanism, estimate)[0], min(distances)
