"""Accounts of an engine, step by step, and the lots that its loader draws.

Each record must enter each lot on its own: the theorem of amplification speaks of that alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import binom

from dpcp_audit.mechanisms.subsampled_gaussian import (
    SubsampledGaussian,
    composed_loss,
    loss_interval,
)
from dpcp_audit.stats.rates import clopper_pearson
from dpcp_audit.words.evidence import of_mean, of_rate
from dpcp_audit.words.quantities import Bound, Quantity
from dpcp_audit.words.results import Count

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpcp_audit.words.results import Evidence
    from dpcp_audit.words.validate import BoolArray


_LEAST_NOISE = 1e-3
"""A noise multiplier below it is none: ε is larger than a million."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountedSteps:
    """Steps of the Poisson-subsampled Gaussian mechanism, one group after the other.

    Examples
    --------
    >>> found = AccountedSteps.of([(1.0, 0.1, 60), (1.0, 0.1, 40)])
    >>> found.total, round(found.epsilon(1e-5, pessimistic=True), 2)
    (100, 7.05)
    """

    parts: tuple[SubsampledGaussian, ...]

    @classmethod
    def of(cls, history: Iterable[tuple[float, float, int]]) -> AccountedSteps:
        """Return the steps of an Opacus accountant: (noise multiplier, sampling rate, steps)."""
        counts: dict[tuple[float, float], int] = {}
        for noise, rate, steps in history:
            key = float(noise), float(rate)
            counts[key] = counts.get(key, 0) + int(steps)
        return cls(
            parts=tuple(
                SubsampledGaussian(
                    sampling_rate=min(rate, 1.0),
                    steps=steps,
                    noise_multiplier=max(noise, _LEAST_NOISE),
                )
                for (noise, rate), steps in counts.items()
            )
        )

    @property
    def total(self) -> int:
        """T, the number of steps."""
        return sum(each.steps for each in self.parts)

    @property
    def rate(self) -> float:
        """The smallest sampling rate."""
        return min(each.sampling_rate for each in self.parts)

    @property
    def noise_multiplier(self) -> float:
        """The largest noise multiplier."""
        return max(each.noise_multiplier for each in self.parts)

    def times(self, steps: int) -> AccountedSteps:
        """Return the same, each group ``steps`` times as long."""
        return AccountedSteps(
            parts=tuple(replace(each, steps=each.steps * steps) for each in self.parts)
        )

    def epsilon(self, delta: float, *, pessimistic: bool) -> float:
        """Return ε at δ from above or from below, by privacy loss distributions."""
        if not self.parts:
            return 0.0
        if min(each.noise_multiplier for each in self.parts) <= _LEAST_NOISE:
            return math.inf
        if len(self.parts) == 1:
            (only,) = self.parts
            return only.epsilon_at(delta) if pessimistic else only.epsilon_below(delta)
        width = min(loss_interval(each, pessimistic=pessimistic) for each in self.parts)
        losses = [
            composed_loss(each, pessimistic=pessimistic, interval=width) for each in self.parts
        ]
        rounding = sum(each.rounding for each in self.parts) * (-1 if pessimistic else 1)
        whole = reduce(lambda one, other: one.compose(other), losses)
        return float(whole.get_epsilon_for_delta(delta + rounding))


_RATES = 9
"""Sampling rates within their interval for which the law of a lot's size is tried."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DrawnLots:
    """The lots of whole passes over a sampler.

    Parameters
    ----------
    members : ndarray of bool, shape (lots, N)
        True where a lot has a member.
    first : ndarray of bool, shape (lots,)
        True where it and the next one are a pair of one pass; pairs do not overlap.
    """

    members: BoolArray
    first: BoolArray

    @classmethod
    def of(cls, sampler: Any, *, size: int, at_least: int) -> DrawnLots:
        """Draw so many lots or more, of records 0 … ``size`` − 1, in whole passes."""
        rows: list[BoolArray] = []
        first: list[bool] = []
        while len(rows) < at_least:
            start = len(rows)
            for lot in sampler:
                row = np.zeros(size, dtype=np.bool_)
                row[np.asarray(lot, dtype=np.int64)] = True
                rows.append(row)
            count = len(rows) - start
            if count == 0:
                raise ValueError("loader must draw a lot in a pass, got none")
            first += [i % 2 == 0 and i + 1 < count for i in range(count)]
        return cls(members=np.array(rows), first=np.array(first))

    @property
    def entries(self) -> Count:
        """The share of lots that hold a record."""
        hits, trials = int(self.members.sum()), int(self.members.size)
        return Count(of="a record is in a lot", hits=hits, trials=trials)

    def rate(self, *, significance: float) -> tuple[float, float]:
        """Return limits of the probability that a record is in a lot."""
        return clopper_pearson(self.entries.hits, self.entries.trials, significance=significance)

    def rate_evidence(self, claimed: float, *, significance: float) -> Evidence:
        """Return evidence of the sampling rate, which the claim bounds from above."""
        return of_rate(
            Quantity.PROBABILITY,
            self.rate(significance=significance),
            self.entries,
            claimed=claimed,
            confidence=1 - significance,
            detail="that a record is in a lot",
        )

    def size_evidence(self, *, significance: float) -> Evidence:
        """Return evidence of how often lots have one size: at most the mode of a binomial law.

        Half of the significance is for the rate, half for the sizes, any of which may be chosen.
        """
        sizes, counts = np.unique(self.members.sum(axis=1), return_counts=True)
        n, lots = self.members.shape[1], len(self.members)
        rates = np.linspace(*self.rate(significance=significance / 2), _RATES)
        modes = np.floor((n + 1) * rates)
        claimed = float(np.max(binom.pmf(modes, n, rates)))
        commonest = int(counts.max())
        each = significance / 2 / (n + 1)
        return of_rate(
            Quantity.PROBABILITY,
            clopper_pearson(commonest, lots, significance=each),
            Count(of=f"a lot has {sizes[counts.argmax()]} records", hits=commonest, trials=lots),
            claimed=min(claimed, 1.0),
            confidence=1 - significance,
            detail="that a lot has its commonest size",
        )

    def overlap_evidence(self, *, significance: float) -> Evidence:
        """Return evidence of how often a record is in two lots that follow: at least q².

        Half of the significance is for the rate q.
        """
        at = np.flatnonzero(self.first)
        both = self.members[at] & self.members[at + 1]
        trials, hits = max(1, both.size), int(both.sum())
        share = hits / trials
        return of_mean(
            Quantity.PROBABILITY,
            share,
            clopper_pearson(hits, trials, significance=significance / 2),
            claimed=self.rate(significance=significance / 2)[0] ** 2,
            confidence=1 - significance,
            trials=trials,
            variance=share * (1 - share),
            bound=Bound.AT_LEAST,
            detail="that a record is in a lot and in the next one",
        )
