"""Counts in which one user hides among n−1 others whose reports are independent and alike."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln, xlog1py, xlogy

from dpcp_audit.laws.laws import FiniteLaw
from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from dpcp_audit.words.arrays import FloatArray, IntArray


_MOST_OUTCOMES = 2**23


def hidden_laws(
    n: int, others: ArrayLike, users: Sequence[ArrayLike], *, tail: float = 1e-20
) -> tuple[FiniteLaw, ...]:
    """Return the exact laws of the n users' counts over bins, one for each law of one user.

    With M the multinomial law of n reports of law π, a user's report of law v among n−1
    reports of law π gives the counts h the probability

        M(h)·Σ_j (h_j/n)·(v_j/π_j),

    so that a pair of laws is enumerated in one pass and all its terms are positive.

    Parameters
    ----------
    n : int
        Number of users.
    others : array_like, shape (m,)
        π: the law of each other user's report over the bins.
    users : sequence of array_like, shape (m,)
        The laws v of the one user's report, for example on two labels. They may have mass
        only where π has.
    tail : float
        Each count of the others is followed where both its binomial tails exceed ``tail``;
        what lies beyond goes into one outcome and into the laws' slack.

    Returns
    -------
    tuple of FiniteLaw
        On shared outcomes; log-probabilities carry an absolute rounding error of about
        1e-15·n·log(n).

    Raises
    ------
    ValueError
        Where more than 2^23 outcomes would be enumerated.
    """
    _validate.integer(n=n, at_least=1)
    _validate.closed_unit(tail=tail)
    pi = _law(others, "others")
    laws = [_law(user, f"users[{i}]") for i, user in enumerate(users)]
    for i, law in enumerate(laws):
        if law.shape != pi.shape or (law[pi == 0] > 0).any():
            raise ValueError(f"users[{i}] must have mass only where others has, got {law!r}")
    live = pi > 0
    counts, slack = _counts(n, pi[live], tail)
    log_multinomial = gammaln(n + 1) + (xlogy(counts, pi[live]) - gammaln(counts + 1)).sum(axis=1)
    lumped = math.log(slack) if slack else -math.inf
    return tuple(
        FiniteLaw(
            np.append(log_multinomial + _log_weight(counts, law[live] / pi[live]), lumped),
            np.zeros(len(counts) + 1),
            slack,
        )
        for law in laws
    )


def _log_weight(counts: IntArray, ratios: FloatArray) -> FloatArray:
    """Return log Σ_j (h_j/n)·(v_j/π_j), −∞ where the user cannot have been there."""
    with np.errstate(divide="ignore"):
        return np.log(counts @ ratios) - math.log(counts[0].sum())


def _law(value: ArrayLike, name: str) -> FloatArray:
    law = _validate.array(value, name=name, ndim=1)
    if (law < 0).any() or abs(law.sum() - 1) > 1e-9:
        raise ValueError(f"{name} must be >= 0 and sum to 1, got {value!r}")
    return law


def _counts(n: int, pi: FloatArray, tail: float) -> tuple[IntArray, float]:
    """Return the counts of n users to enumerate, shape (outcomes, m), and the mass left out."""
    windows = [_window(n - 1, float(p), tail) for p in pi]
    widths = [high - low for low, high, _ in windows]
    free: list[int] = np.argsort(widths)[:-1].tolist()  # the widest follows
    ranges = [np.arange(windows[j][0], min(n, windows[j][1] + 1) + 1) for j in free]
    size = math.prod(axis.size for axis in ranges)
    if size > _MOST_OUTCOMES:
        raise ValueError(
            f"n must leave at most {_MOST_OUTCOMES} outcomes to enumerate, got n = {n} with {size}"
        )
    counts = np.zeros((size, pi.size), dtype=np.int64)
    for j, axis in zip(free, np.meshgrid(*ranges, indexing="ij"), strict=True):
        counts[:, j] = axis.ravel()
    last = int(np.setdiff1d(np.arange(pi.size), free)[0])
    counts[:, last] = n - counts.sum(axis=1)
    return counts[counts[:, last] >= 0], float(sum(windows[j][2] for j in free))


def _window(n: int, p: float, tail: float) -> tuple[int, int, float]:
    """Return the range outside which Binomial(n, p) has at most ``tail`` a side, and that mass."""
    k = np.arange(n + 1)
    log_choose = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    mass = np.exp(log_choose + xlogy(k, p) + xlog1py(n - k, -min(p, 1.0)))
    below, above = np.cumsum(mass), np.cumsum(mass[::-1])
    low, cut = (int(np.searchsorted(side, tail, side="right")) for side in (below, above))
    out = (below[low - 1] if low else 0.0) + (above[cut - 1] if cut else 0.0)
    return low, n - cut, float(out)
