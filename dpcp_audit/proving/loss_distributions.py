"""δ(ε) of an account, by composing the distributions of its privacy losses, samples amplified.

What is released of a sample, which holds a record with probability q, is one mechanism: its
hockey-stick divergence at 1 + q·(α - 1) is at most q times that of the same releases of all records
at α >= 1, in both directions. That curve is the loss distribution of the sample's releases. Where a
release is not of one known sample, all count in full: it may depend on a sample in another way.

References
----------
Distributions of the loss: Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022, "Connect the dots".
Samples: Balle, Barthe and Gaboardi 2018, "Privacy amplification by subsampling", Theorems 2 and 9;
their curves compose: Zhu, Dong and Wang 2022, "Optimal accounting of differential privacy via
characteristic function", Theorem 10. Samples that are used in turn: Vadhan and Zhang 2023,
"Concurrent composition theorems for differential privacy".
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import math
from collections import Counter, defaultdict
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcp_audit.proving.exact_numbers import root_above

if TYPE_CHECKING:
    from dpcp_audit.proving.charges import Account
    from dpcp_audit.proving.distances import Subsample

_GRID = 1e-4
"""Width of the grid of losses on which mechanisms are composed; of samples, which take longer, 5
times as wide."""
_ROUNDING = 1e-12
"""A bound on the rounding error of that composition's transforms, added to δ."""
_FARTHEST = 8.0
"""Loss of a sample's releases beyond which it counts as infinite."""
_RARE = 1e-15

_Uses = frozenset[tuple[str, Fraction, int]]
"""Laws, their sizes, and how often each is used."""
_Block = tuple[Fraction | None, _Uses]
"""The share of a sample, and the uses of noise on it; of all records the share is None."""


def delta_of(account: Account, epsilon: float) -> Fraction:
    """Return δ(ε) of an account without parts, from above."""
    in_full = any(each.sample is None for each in account)
    uses: dict[Subsample | None, Counter[tuple[str, Fraction]]] = defaultdict(Counter)
    for charge, count in account.items():
        if charge.size:
            uses[None if in_full else charge.sample][charge.law, charge.size] += count
    blocks: Counter[_Block] = Counter()
    for sample, counts in uses.items():
        each = frozenset((law, size, count) for (law, size), count in counts.items())
        blocks[None if sample is None else sample.share, each] += 1
    return _delta(frozenset(blocks.items()), epsilon)


@lru_cache(maxsize=64)
def _delta(blocks: frozenset[tuple[_Block, int]], epsilon: float) -> Fraction:
    grid = _GRID if all(share is None for (share, _), _ in blocks) else 5 * _GRID
    whole: Any = None
    for (share, uses), times in blocks:
        one = _of_uses(uses, grid)
        one = one if share is None else _of_sample(one, float(share), grid)
        composed = one.self_compose(times) if times > 1 else one
        whole = composed if whole is None else whole.compose(composed)
    found = 0.0 if whole is None else float(whole.get_delta_for_epsilon(epsilon))
    return Fraction(found) + Fraction(_ROUNDING)


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
