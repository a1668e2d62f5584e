"""δ(ε) of an account, by composing the distributions of the privacy losses.

What is released of a sample, which holds a record with probability q, is one mechanism: its
hockey-stick divergence at 1 + q·(α - 1) is at most q times that of the same releases of all records
at α >= 1, in both directions: where neighbours differ in an added record that a Poisson sample has
by a draw of its own, too. That curve is the loss distribution of the sample's releases. Where a
release is not of one known sample, all count in full: it may depend on a sample in another way.

References
----------
Distributions of the loss: Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022, "Connect the dots".
Samples: Balle, Barthe and Gaboardi 2018, "Privacy amplification by subsampling", Theorems 2, 8 and
9; their curves compose: Zhu, Dong and Wang 2022, "Optimal accounting of differential privacy via
characteristic function", Theorem 10. Samples that are used in turn: Vadhan and Zhang 2023,
"Concurrent composition theorems for differential privacy".
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import math
from collections import Counter, defaultdict
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import arb, ctx

from dpcp_audit.proving.charges import BITS, decimal, rational_above, rho
from dpcp_audit.proving.exact_numbers import root_above
from dpcp_audit.stats.enclosures import ball, upper

if TYPE_CHECKING:
    from dpcp_audit.proving.charges import Account
    from dpcp_audit.proving.distances import Subsample


def gaussian_delta_above(squares: Fraction, epsilon: Fraction) -> Fraction:
    """Return Φ(μ/2 - ε/μ) - e^ε·Φ(-μ/2 - ε/μ) (Balle and Wang 2018, Theorem 8), from above."""
    if not squares:
        return Fraction(0)
    mu = root_above(squares)
    with ctx.workprec(BITS):
        shift, half = ball(epsilon) / ball(mu), ball(mu) / 2

        def normal(x: arb) -> arb:
            return (-x / arb(2).sqrt()).erfc() / 2

        delta = normal(half - shift) - ball(epsilon).exp() * normal(-half - shift)
        return max(Fraction(0), Fraction(upper(delta)))


def delta_of_rho(rho: Fraction, epsilon: Fraction) -> Fraction:
    """Return δ at ε of what is ρ-zCDP, from above, at an order α near the best one.

    Of D_α ≤ αρ it is exp((α - 1)(αρ - ε))·(1 - 1/α)^α/(α - 1) (Canonne, Kamath and Steinke 2020,
    Proposition 12).
    """
    if not rho:
        return Fraction(0)

    def logarithm(order: float) -> float:
        above = (order - 1) * (order * float(rho) - float(epsilon))
        return above + order * math.log1p(-1 / order) - math.log(order - 1)

    middle = max(1.0, float(epsilon / rho + 1) / 2)
    orders = [1 + middle * 2 ** (step / 128) for step in range(-640, 256)]
    best = Fraction(min(orders, key=logarithm))

    def delta() -> arb:
        order = ball(best)
        above = (order - 1) * (order * ball(rho) - ball(epsilon))
        return (above + order * (1 - 1 / order).log()).exp() / (order - 1)

    return min(Fraction(1), rational_above(delta))


_GRID = 1e-4
"""Width of the grid of losses on which mechanisms are composed; of samples, which take longer, 5
times as wide."""
_ROUNDING = 1e-12
"""A bound on the rounding error of that composition's transforms, added to δ."""
_FARTHEST = 8.0
"""Loss of a sample's releases beyond which it counts as infinite."""
_RARE = 1e-15
_DEAR = 50
"""ρ of uses of noise beyond ε from which their δ counts as 1 and is not composed.

Of Gaussian and Laplace noise and of randomised response, E[e^(-L/2)] is at most e^(-ρ/4) for the
loss L, and so is the product of several. 1 - δ is at most e^(ε/2) times that: e^(ε/4 - 12.5).
"""

_Uses = frozenset[tuple[str, Fraction, int]]
"""Laws, their sizes, and how often each is used."""
_Block = tuple[Fraction | None, _Uses]
"""The share of a sample, and the uses of noise on it; of all records the share is None."""


def delta_of(account: Account, epsilon: float) -> Fraction:
    """Return δ(ε) of an account without parts, from above."""
    in_full = any(each.sample is None for each in account)
    uses: dict[Subsample | None, Counter[tuple[str, Fraction]]] = defaultdict(Counter)
    spent: dict[Subsample | None, Fraction] = defaultdict(Fraction)
    for charge, count in account.items():
        if charge.size:
            sample = None if in_full else charge.sample
            uses[sample][charge.law, charge.size] += count
            spent[sample] += count * (rho(charge) or Fraction(0))
    if any(each > decimal(epsilon) + _DEAR for each in spent.values()):
        return Fraction(1)
    blocks: Counter[_Block] = Counter()
    for sample, counts in uses.items():
        each = frozenset((law, size, count) for (law, size), count in counts.items())
        blocks[None if sample is None else sample.share, each] += 1
    return _delta_of_blocks(frozenset(blocks.items()), epsilon)


@lru_cache(maxsize=64)
def _delta_of_blocks(blocks: frozenset[tuple[_Block, int]], epsilon: float) -> Fraction:
    grid = _GRID if all(share is None for (share, _), _ in blocks) else 5 * _GRID
    whole: Any = None
    for (share, uses), times in blocks:
        one = _of_uses(uses, grid)
        one = one if share is None else _of_sample(one, float(share), grid)
        composed = one.self_compose(times) if times > 1 else one
        whole = composed if whole is None else whole.compose(composed)
    found = 0.0 if whole is None else float(whole.get_delta_for_epsilon(epsilon))
    return min(Fraction(1), Fraction(found) + Fraction(_ROUNDING))


def _of_uses(uses: _Uses, grid: float) -> Any:
    """Return the loss distribution of several uses of noise, pessimistically rounded."""
    from dp_accounting.pld import privacy_loss_distribution as pld
    from dp_accounting.pld.common import DifferentialPrivacyParameters

    found: list[Any] = []
    squares = sum((size * count for law, size, count in uses if law == "gaussian"), Fraction(0))
    if squares:
        sigma = math.nextafter(1 / float(root_above(squares)), 0)
        found.append(pld.from_gaussian_mechanism(sigma, value_discretization_interval=grid))
    for law, size, count in uses:
        if law == "gaussian":
            continue
        if law == "laplace":
            scale = math.nextafter(1 / float(size), 0)
            one = pld.from_laplace_mechanism(scale, value_discretization_interval=grid)
        else:
            pure = DifferentialPrivacyParameters(math.nextafter(float(size), math.inf), 0.0)
            one = pld.from_privacy_parameters(pure, value_discretization_interval=grid)
        found.append(one.self_compose(count) if count > 1 else one)
    whole = found[0]
    for one in found[1:]:
        whole = whole.compose(one)
    return whole


def _of_sample(one: Any, share: float, grid: float) -> Any:
    """Return the loss distribution of what has this one for all records, of a sample."""
    from dp_accounting.pld import pld_pmf
    from dp_accounting.pld import privacy_loss_distribution as pld

    share = math.nextafter(share, 2)

    def delta(epsilons: Any) -> Any:
        inner = np.log1p(np.expm1(epsilons) / share)
        deltas = np.asarray(one.get_delta_for_epsilon(inner))
        return np.minimum(share * deltas * (1 + 1e-9), 1.0)

    farthest = 1.0
    while farthest < _FARTHEST and delta(np.array([farthest]))[0] > _RARE:
        farthest *= 2
    steps = np.arange(round(farthest / grid) + 1)
    above = np.minimum.accumulate(delta(steps * grid))
    ratios = np.exp(-steps * grid)
    below = 1 - ratios + ratios * above  # of the other direction, which has the same curve
    return pld.PrivacyLossDistribution(
        pld_pmf.create_pmf_pessimistic_connect_dots(
            grid,
            np.arange(-steps[-1], steps[-1] + 1),
            np.concatenate([below[:0:-1], above]).clip(0, 1),
        )
    )
