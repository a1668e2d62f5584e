"""What an accountant was told: the noise, the sampling rate and the number of steps."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING

from dpcp_audit.laws.loss_distributions import epsilon_of
from dpcp_audit.mechanisms.dpsgd.subsampled_gaussian import (
    SubsampledGaussian,
    composed_loss,
    loss_interval,
)

if TYPE_CHECKING:
    from collections.abc import Iterable


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
        return epsilon_of(whole, delta + rounding)
