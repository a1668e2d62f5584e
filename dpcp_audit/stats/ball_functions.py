"""Functions of balls that privacy needs: the normal law's tails, and δ(ε) in closed form.

Each computes at FLINT's current precision; hand them to ``enclosures.at_most`` or ``ends`` as a
function without arguments, so that the precision can be raised.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from flint import arb, fmpq

from dpcp_audit.stats.enclosures import ball, exact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcp_audit.stats.enclosures import Exact


def normal_cdf(x: arb) -> arb:
    """Return Φ(x), to full relative accuracy in both tails.

    Examples
    --------
    >>> print(normal_cdf(arb(-40)).str(5))
    [3.6559e-350 +/- 6.47e-356]
    """
    return (-x / arb(2).sqrt()).erfc() / 2


def gaussian_delta(shift: Exact | arb, epsilon: Exact | arb) -> arb:
    """Return δ(ε) of N(0, 1) against N(μ, 1), for μ > 0 and any real ε.

    Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ) (Balle and Wang 2018, Theorem 8).

    Examples
    --------
    >>> print(gaussian_delta(1, 2.58).str(5))
    [0.0051037 +/- 1.09e-8]
    """
    mu, at = (x if isinstance(x, arb) else ball(x) for x in (shift, epsilon))
    first = normal_cdf(mu / 2 - at / mu)
    difference = first - at.exp() * normal_cdf(-mu / 2 - at / mu)
    return difference if difference.is_finite() else first * _UNIT


_UNIT = arb(0.5, 0.5)
"""All of [0, 1]."""


def laplace_delta(shifts: Sequence[Exact], epsilon: Exact) -> arb:
    """Return δ(ε) of one or two coordinates of Laplace noise, moved by ``shifts`` noise scales.

    Of two, δ is the mean of the second coordinate's δ(ε − L) over the loss L of the first: an
    atom 1/2 at a and one of e^(−a)/2 at −a, and the density e^((x−a)/2)/4 between them.
    """
    first, *rest = map(exact, shifts)
    at = exact(epsilon)
    if not rest:
        return _one_laplace(at, first)
    (second,) = rest
    atoms = _one_laplace(at - first, second) + _exp(-first) * _one_laplace(at + first, second)
    kinks = sorted(min(max(at + s, -first), first) for s in (-second, second))
    between = sum(
        (_stretch(low, high, at, second) for low, high in pairwise([-first, *kinks, first])), arb(0)
    )
    return atoms / 2 + _exp(-first / 2) * between / 4


def _exp(x: fmpq) -> arb:
    return ball(x).exp()


def _one_laplace(epsilon: fmpq, shift: fmpq) -> arb:
    """Return δ(ε) of one coordinate, for any real ε."""
    if epsilon >= shift:
        return arb(0)
    return -ball(epsilon if epsilon <= -shift else (epsilon - shift) / 2).expm1()


def _stretch(low: fmpq, high: fmpq, epsilon: fmpq, shift: fmpq) -> arb:
    """Integrate e^(x/2)·δ(ε − x) of the second coordinate where one of its formulas holds."""
    middle = (low + high) / 2
    if high <= low or epsilon - middle >= shift:
        return arb(0)
    grown = 2 * (_exp(high / 2) - _exp(low / 2))
    if epsilon - middle <= -shift:
        return grown - 2 * _exp(epsilon) * (_exp(-low / 2) - _exp(-high / 2))
    return grown - _exp((epsilon - shift) / 2) * ball(high - low)


def composed_delta(shift: arb, epsilon: Exact | arb, *, promised: Exact, told: Exact = 0) -> arb:
    """Return δ(ε) of an (ε₀, δ₀)-DP release composed with N(0, 1) against N(μ, 1).

    The worst release of such a promise tells everything with probability δ₀, and is randomised
    response with e^ε₀ otherwise (Kairouz, Oh and Viswanath 2015), so that ε − L is ε − ε₀ with
    probability p = e^ε₀/(1 + e^ε₀), else ε + ε₀.
    """
    at = epsilon if isinstance(epsilon, arb) else ball(epsilon)
    own = ball(promised)
    kept = 1 / (1 + (-own).exp())
    rest = kept * gaussian_delta(shift, at - own) + (1 - kept) * gaussian_delta(shift, at + own)
    return ball(told) + (1 - ball(told)) * rest


def response_keep(epsilon: Exact, k: int) -> arb:
    """Return e^ε/(e^ε + k − 1), the probability that k-ary randomised response keeps a label."""
    return 1 / (1 + (k - 1) * _exp(-exact(epsilon)))


def response_move(epsilon: Exact, k: int) -> arb:
    """Return (k − 1)/(e^ε + k − 1), the probability that k-ary randomised response moves a label.

    To full relative accuracy, also where it is tiny.
    """
    return (k - 1) / (_exp(exact(epsilon)) + (k - 1))


def response_delta(epsilon: Exact, k: int, at: Exact) -> arb:
    """Return δ(ε′) of k-ary randomised response with parameter ε, for ε′ ≥ 0.

    Only the report that keeps the one label is likelier on it, by the factor e^ε.
    """
    own, promised = exact(epsilon), exact(at)
    if promised >= own:
        return arb(0)
    return -response_keep(own, k) * ball(promised - own).expm1()


def laplace_renyi(shifts: Sequence[Exact], order: Exact) -> arb:
    """Return D_α of coordinates of Laplace noise, for α > 1 (Mironov 2017, Proposition 6)."""
    alpha = exact(order)
    weight = alpha / (2 * alpha - 1)
    total = arb(0)
    for shift in map(exact, shifts):
        near, far = _exp((alpha - 1) * shift), _exp(-alpha * shift)
        total += (ball(weight) * near + ball(1 - weight) * far).log()
    return total / ball(alpha - 1)
