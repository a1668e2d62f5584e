"""Tails of the binomial and beta laws, enclosed: balls that hold the true probability.

Each tail is a regularised incomplete beta function, computed at FLINT's current precision.
The smaller of two tails is the one computed and the other is its complement, so that both keep
their relative accuracy at any number of trials; of what is below the smallest double, only the
bound of Chernoff is computed.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

from flint import arb, ctx, fmpq

Number: TypeAlias = fmpq | arb
"""A rational, or a ball that holds a real number."""
UNIT = arb(0.5, 0.5)
"""All of [0, 1]: a probability of which nothing is known."""
NEGLIGIBLE = arb(2) ** -1100
"""Less than the smallest positive double."""


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
        most = _chernoff(count - 1, trials, p)
        far = most < NEGLIGIBLE
        below = UNIT * most if far else beta_cdf(1 - arb(p), trials - count + 1, count)
        return below, 1 - below
    most = _chernoff(count, trials, p) if p * trials < count else UNIT
    far = most < NEGLIGIBLE
    reached = UNIT * most if far else beta_cdf(p, count, trials - count + 1)
    return 1 - reached, reached


def _chernoff(count: int, trials: int, p: Number) -> arb:
    """Enclose exp(−n·KL(k/n ‖ p)), a bound of the tail that begins at k and leaves the mean out."""
    parts = ((fmpq(count, trials), arb(p)), (fmpq(trials - count, trials), 1 - arb(p)))
    divergence = sum((arb(a) * (a / chance).log() for a, chance in parts if a), arb(0))
    return (-trials * divergence).exp()


def beta_cdf(x: Number, a: arb | int, b: arb | int) -> arb:
    """Enclose I_x(a, b), the distribution function of the Beta(a, b) law, for x in [0, 1].

    The ball is [0, 1] where the precision does not suffice.
    """
    ball = arb(x)
    return _beta_cdf(ball.mid(), ball.rad(), a, b, ctx.prec)


@lru_cache(maxsize=4096)
def _beta_cdf(centre: arb, radius: arb, a: arb | int, b: arb | int, precision: int) -> arb:
    """Enclose I_x(a, b) of a ball, by its exact centre and radius: balls are not equal themselves.

    Variants of one search ask for the same tails, each of which takes milliseconds.
    """
    assert precision == ctx.prec  # noqa: S101  (what is remembered is of this precision)
    found = arb(centre, radius).beta_lower(a, b, regularized=True)
    if not found.is_finite():
        return UNIT
    return found if 0 <= found <= 1 else found.intersection(UNIT)
