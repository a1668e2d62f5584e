"""Tails of the binomial and beta laws, enclosed: balls that hold the true probability.

Each tail is a regularised incomplete beta function, computed at FLINT's current precision.
The smaller of two tails is the one computed and the other is its complement, so that both keep
their relative accuracy at any number of trials.
"""

from __future__ import annotations

from typing import TypeAlias

from flint import arb, fmpq

Number: TypeAlias = fmpq | arb
"""A rational, or a ball that holds a real number."""
UNIT = arb(0.5, 0.5)
"""All of [0, 1]: a probability of which nothing is known."""


def binomial_tails(count: int, trials: int, p: Number) -> tuple[arb, arb]:
    """Enclose P(Binomial(trials, p) < count) and P(Binomial(trials, p) ≥ count).

    Examples
    --------
    >>> below, reached = binomial_tails(2, 2, fmpq(1, 2))
    >>> below.contains(0.75), reached.contains(0.25)
    (True, True)
    """
    if count <= 0:
        return arb(0), arb(1)
    if count > trials:
        return arb(1), arb(0)
    if p * trials > count:
        below = beta_cdf(1 - arb(p), trials - count + 1, count)
        return below, 1 - below
    reached = beta_cdf(p, count, trials - count + 1)
    return 1 - reached, reached


def beta_cdf(x: Number, a: arb | int, b: arb | int) -> arb:
    """Enclose I_x(a, b), the distribution function of the Beta(a, b) law, for x in [0, 1].

    The ball is [0, 1] where the precision does not suffice.
    """
    found = arb(x).beta_lower(a, b, regularized=1)
    if not found.is_finite():
        return UNIT
    return found if 0 <= found <= 1 else found.intersection(UNIT)
