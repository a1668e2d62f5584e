"""The quantity that a guarantee bounds, on a pair of laws, as an exact number or in balls.

The shifts of ``GaussianPair`` and ``LaplacePair`` are exact doubles. The masses of a ``FinitePair``
are a table of rounded numbers: each is a ball of a few units in its last place, so that a claim
which only that rounding decides stays open.
"""

from __future__ import annotations

import math
from functools import partial, singledispatch
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from flint import arb, ctx, fmpq

from dpcp_audit.laws.laws import FinitePair, GaussianPair, LaplacePair
from dpcp_audit.laws.losses import loss_of
from dpcp_audit.stats.enclosures import (
    all_at_most,
    ball,
    exact,
    gaussian_delta,
    laplace_delta,
    laplace_renyi,
    upper,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpcp_audit.laws.laws import FiniteLaw, LawPair
    from dpcp_audit.laws.losses import Divergences
    from dpcp_audit.stats.enclosures import Exact, Side
    from dpcp_audit.words.guarantees import PrivacyGuarantee
    from dpcp_audit.words.results import Premise


TABLE_ROUNDING = 2.0**-50
"""Relative error that a tabulated double may carry: eight units of rounding."""
_TABLE_BITS = 128
_MOST_OUTCOMES = 2**14
_MOST_STEPS = 400
_BEYOND = fmpq(2**40 + 1, 2**40)
"""So far beyond c that D_∞/c is less than the claim by more than rounding."""


def enclosed(pair: LawPair, guarantee: PrivacyGuarantee) -> Side | None:
    """Return what the guarantee bounds, for (P, Q) in this direction; None where nothing can."""
    loss = loss_of(guarantee)
    laws = _enclosed(pair, loss.claimed)
    if laws is None or not loss.by_laws:
        return None
    with ctx.workprec(_TABLE_BITS):
        return loss.decisive(laws)


@singledispatch
def _enclosed(pair: LawPair, claimed: float) -> Divergences[Side | None] | None:  # noqa: ARG001
    """Return the divergences of a pair in balls; ρ is sought up to ``claimed`` alone."""
    return None


@_enclosed.register(GaussianPair)
def _(pair: GaussianPair, claimed: float) -> Divergences[Side | None]:  # noqa: ARG001
    return _EnclosedGaussian(pair.shift)


@_enclosed.register(LaplacePair)
def _(pair: LaplacePair, claimed: float) -> Divergences[Side | None]:
    return _EnclosedLaplace(pair.shifts, claimed)


@_enclosed.register(FinitePair)
def _(pair: FinitePair, claimed: float) -> Divergences[Side | None] | None:
    return _Table(pair, claimed) if pair.law.log_mass.size <= _MOST_OUTCOMES else None


class _EnclosedGaussian(NamedTuple):
    shift: float

    def delta_at(self, epsilon: float) -> Side:
        return partial(gaussian_delta, self.shift, epsilon)

    def max_divergence(self) -> Side:
        return math.inf

    def renyi(self, alpha: float) -> fmpq:
        return exact(alpha) * self.rho()

    def rho(self) -> fmpq:
        return exact(self.shift) ** 2 / 2


class _EnclosedLaplace(NamedTuple):
    shifts: Sequence[float]
    claimed: float

    def delta_at(self, epsilon: float) -> Side:
        return partial(laplace_delta, self.shifts, epsilon)

    def max_divergence(self) -> fmpq:
        return sum((exact(shift) for shift in self.shifts), fmpq(0))

    def renyi(self, alpha: float) -> Side:
        return partial(laplace_renyi, self.shifts, exact(alpha))

    def rho(self) -> arb:
        divergence = partial(laplace_renyi, self.shifts)
        return rho_bound(divergence, ball(self.max_divergence()), self.claimed)


class _Table:
    """The log-masses of the outcomes that P can produce, in balls; None where Q cannot.

    Mass that was pruned bounds δ alone.
    """

    def __init__(self, pair: FinitePair, claimed: float) -> None:
        self._slack, self._claimed = pair.slack, claimed
        first, second = pair.law.log_mass, pair.neighbour_law.log_mass
        live = ~np.isneginf(first)
        self._cells = [
            (_rounded(p), None if q == -math.inf else _rounded(q))
            for p, q in zip(first[live].tolist(), second[live].tolist(), strict=True)
        ]

    def delta_at(self, epsilon: float) -> arb:
        """Return Σ max(0, p − e^ε·q), up to the pruned mass."""
        factor, total = ball(epsilon).exp(), arb(0)
        for p, q in self._cells:
            gap = p.exp() if q is None else p.exp() - factor * q.exp()
            total += gap.max(arb(0))
        return total + arb(0.5, 0.5) * ball(self._slack)

    def max_divergence(self) -> arb | None:
        """Return the largest log(p/q)."""
        return None if self._slack else self._largest()

    def renyi(self, alpha: float) -> arb | None:
        """Return D_α."""
        return None if self._slack else self._divergence(exact(alpha))

    def rho(self) -> arb | None:
        """Return an upper bound of the largest D_α/α, over α > 1."""
        if self._slack:
            return None
        return rho_bound(self._divergence, self._largest(), self._claimed)

    def _largest(self) -> arb:
        largest = arb(-math.inf)
        for p, q in self._cells:
            largest = largest.max(arb(math.inf) if q is None else p - q)
        return largest

    def _divergence(self, order: fmpq) -> arb:
        """Return log(Σ p^α·q^(1−α))/(α − 1)."""
        if any(q is None for _, q in self._cells):
            return arb(math.inf)
        alpha = ball(order)
        total = sum(
            ((alpha * p + (1 - alpha) * q).exp() for p, q in self._cells if q is not None), arb(0)
        )
        return total.log() / (alpha - 1)


def laws_add_up(pairs: Sequence[LawPair]) -> tuple[Premise, ...]:
    """Return the premise that each table is of a law, up to the rounding of its log-masses.

    No premise where no pair is a table.
    """
    tables = [pair for pair in pairs if isinstance(pair, FinitePair)]
    laws = [law for pair in tables for law in (pair.law, pair.neighbour_law)]
    if not laws:
        return ()
    says = "|total mass − 1| − (rounding + pruned mass) ≤ 0, of each law"
    return (all_at_most(says, [_missing(law) for law in laws], 0),)


def _missing(law: FiniteLaw) -> arb:
    """Return by how much more than rounding and pruned mass the total mass is off 1."""
    with ctx.workprec(_TABLE_BITS):
        total = room = arb(0)
        for log_mass in law.log_mass[~np.isneginf(law.log_mass)].tolist():
            mass = ball(log_mass).exp()
            total += mass
            room += mass * ball(1 + abs(log_mass))
        return abs(total - 1) - TABLE_ROUNDING * room - ball(law.slack)


def _rounded(log_mass: float) -> arb:
    return arb(log_mass, TABLE_ROUNDING * (1 + abs(log_mass)))


def rho_bound(divergence: Callable[[fmpq], arb], largest: arb, claimed: Exact) -> arb:
    """Return an upper bound of sup D_α/α over α > 1, at most ``claimed`` where that is found.

    D_α grows with α and is at most D_∞: on [a, b] the ratio is at most D_b/a, beyond c at most
    D_∞/c. Steps from 1 on are halved until D_b/a is at most ``claimed``; where 400 do not reach
    c = D_∞/``claimed``, the bound is infinite.
    """
    limit, top = exact(claimed), upper(largest)
    if not math.isfinite(top) or limit <= 0:
        return arb(math.inf)
    end = max(_BEYOND * exact(top) / limit, fmpq(1))
    low, step, worst = fmpq(1), fmpq(1), arb(0)
    for _ in range(_MOST_STEPS):
        if low >= end:
            return worst.max(largest / ball(end))
        ratio = divergence(low + step) / ball(low)
        if ratio <= ball(limit):
            worst, low, step = worst.max(ratio), low + step, 2 * step
        else:
            step /= 2
    return arb(math.inf)
