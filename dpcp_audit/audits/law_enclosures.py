"""What a guarantee bounds, on a pair of laws, as an exact number or in balls.

The shifts of ``GaussianPair`` and ``LaplacePair`` are exact doubles. The masses of a ``FinitePair``
are a table of rounded numbers: each is a ball of a few units in its last place, so that a claim
which only that rounding decides stays open.
"""

from __future__ import annotations

import math
from functools import partial, singledispatch
from typing import TYPE_CHECKING

import numpy as np
from flint import arb, ctx, fmpq

from dpcp_audit.guarantees import ZCDP, ApproxDP, PureDP, RenyiDP
from dpcp_audit.mechanisms.laws import FinitePair, GaussianPair, LaplacePair
from dpcp_audit.stats.ball_functions import gaussian_delta, laplace_delta, laplace_renyi
from dpcp_audit.stats.enclosures import all_at_most, ball, exact, upper

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpcp_audit._types import FloatArray
    from dpcp_audit.guarantees import PrivacyGuarantee
    from dpcp_audit.mechanisms.laws import FiniteLaw, LawPair
    from dpcp_audit.proofs import Premise
    from dpcp_audit.stats.enclosures import Exact, Side

TABLE_ROUNDING = 2.0**-50
"""Relative error that a tabulated double may carry: eight units of rounding."""
_TABLE_BITS = 128
_MOST_OUTCOMES = 2**14
_MOST_STEPS = 400
_BEYOND = fmpq(2**40 + 1, 2**40)
"""So far beyond c that D_∞/c is less than the claim by more than rounding."""


@singledispatch
def enclosed(pair: LawPair, guarantee: PrivacyGuarantee) -> Side | None:  # noqa: ARG001
    """Return what the guarantee bounds, for (P, Q) in this direction; None where nothing can."""
    return None


@enclosed.register(GaussianPair)
def _(pair: GaussianPair, guarantee: PrivacyGuarantee) -> Side | None:
    half = exact(pair.shift) ** 2 / 2
    if isinstance(guarantee, ApproxDP):
        return partial(gaussian_delta, pair.shift, guarantee.epsilon)
    if isinstance(guarantee, PureDP):
        return math.inf
    if isinstance(guarantee, ZCDP):
        return half
    return exact(guarantee.alpha) * half if isinstance(guarantee, RenyiDP) else None


@enclosed.register(LaplacePair)
def _(pair: LaplacePair, guarantee: PrivacyGuarantee) -> Side | None:
    largest = sum((exact(shift) for shift in pair.shifts), fmpq(0))
    if isinstance(guarantee, ApproxDP):
        return partial(laplace_delta, pair.shifts, guarantee.epsilon)
    if isinstance(guarantee, PureDP):
        return largest
    divergence = partial(laplace_renyi, pair.shifts)
    if isinstance(guarantee, ZCDP):
        with ctx.workprec(_TABLE_BITS):
            return rho_bound(divergence, ball(largest), guarantee.rho)
    return partial(divergence, exact(guarantee.alpha)) if isinstance(guarantee, RenyiDP) else None


@enclosed.register(FinitePair)
def _(pair: FinitePair, guarantee: PrivacyGuarantee) -> Side | None:
    if pair.law.log_mass.size > _MOST_OUTCOMES:
        return None
    with ctx.workprec(_TABLE_BITS):
        return _of_table(_Table(pair), pair.slack, guarantee)


def _of_table(table: _Table, slack: float, guarantee: PrivacyGuarantee) -> arb | None:
    """Return the quantity in a ball; pruned mass bounds δ alone."""
    if isinstance(guarantee, ApproxDP):
        return table.delta(guarantee.epsilon) + arb(0.5, 0.5) * ball(slack)
    if slack:
        return None
    if isinstance(guarantee, PureDP):
        return table.max_divergence()
    if isinstance(guarantee, ZCDP):
        return rho_bound(table.renyi, table.max_divergence(), guarantee.rho)
    return table.renyi(exact(guarantee.alpha)) if isinstance(guarantee, RenyiDP) else None


class _Table:
    """The log-masses of the outcomes that P can produce, in balls; None where Q cannot."""

    def __init__(self, pair: FinitePair) -> None:
        first, second = pair.law.log_mass, pair.neighbour_law.log_mass
        live = ~np.isneginf(first)
        self._cells = [
            (_rounded(p), None if q == -math.inf else _rounded(q))
            for p, q in zip(first[live].tolist(), second[live].tolist(), strict=True)
        ]

    def delta(self, epsilon: float) -> arb:
        """Return Σ max(0, p − e^ε·q)."""
        factor, total = ball(epsilon).exp(), arb(0)
        for p, q in self._cells:
            gap = p.exp() if q is None else p.exp() - factor * q.exp()
            total += gap.max(arb(0))
        return total

    def max_divergence(self) -> arb:
        """Return the largest log(p/q)."""
        largest = arb(-math.inf)
        for p, q in self._cells:
            largest = largest.max(arb(math.inf) if q is None else p - q)
        return largest

    def renyi(self, order: fmpq) -> arb:
        """Return D_α = log(Σ p^α·q^(1−α))/(α − 1)."""
        if any(q is None for _, q in self._cells):
            return arb(math.inf)
        alpha = ball(order)
        total = sum(
            ((alpha * p + (1 - alpha) * q).exp() for p, q in self._cells if q is not None), arb(0)
        )
        return total.log() / (alpha - 1)


def channel_ratio(channel: FloatArray) -> arb:
    """Return the largest log P(y|x)/P(y|x′) of a table of doubles, shape (k, m)."""
    high, low = channel.max(axis=0).tolist(), channel.min(axis=0).tolist()
    with ctx.workprec(_TABLE_BITS):
        largest = arb(0)
        for most, least in zip(high, low, strict=True):
            if most > 0:
                ratio = (_near(most) / _near(least)).log() if least > 0 else arb(math.inf)
                largest = largest.max(ratio)
        return largest


def laws_add_up(pairs: Sequence[LawPair]) -> tuple[Premise, ...]:
    """Return the premise that each table is of a law, up to the rounding of its log-masses.

    No premise where no pair is a table.
    """
    tables = [pair for pair in pairs if isinstance(pair, FinitePair)]
    laws = [law for pair in tables for law in (pair.law, pair.neighbour_law)]
    return (_whole([_missing(law) for law in laws]),) if laws else ()


def rows_add_up(channel: FloatArray) -> Premise:
    """Return the premise that each row of a table of doubles is a law, up to their rounding."""
    with ctx.workprec(_TABLE_BITS):
        sums = [sum(map(exact, row), fmpq(0)) for row in channel.tolist()]
        return _whole([abs(ball(s) - 1) - TABLE_ROUNDING * ball(s) for s in sums])


def _whole(missing: Sequence[arb]) -> Premise:
    return all_at_most("|total mass − 1| − (rounding + pruned mass) ≤ 0, of each law", missing, 0)


def _missing(law: FiniteLaw) -> arb:
    """Return by how much more than rounding and pruned mass the total mass is off 1."""
    with ctx.workprec(_TABLE_BITS):
        total = room = arb(0)
        for log_mass in law.log_mass[~np.isneginf(law.log_mass)].tolist():
            mass = ball(log_mass).exp()
            total += mass
            room += mass * ball(1 + abs(log_mass))
        return abs(total - 1) - TABLE_ROUNDING * room - ball(law.slack)


def _near(mass: float) -> arb:
    return arb(mass, TABLE_ROUNDING * mass)


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
