"""Accounting of DP-SGD: the ε of a training, by three accountants, under named neighbours.

A training is a :class:`~dpcp_audit.mechanisms.dpsgd.subsampled_gaussian.SubsampledGaussian`: under
Poisson sampling with its own rate and steps, under fixed shuffled batches as one step of full
participation an epoch.

What an accountant was told: the noise, the sampling rate and the number of steps.

Lots that a loader's sampler draws, and whether each record enters each one on its own.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache, reduce
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy.stats import binom

from dpcp_audit.laws.loss_distributions import epsilon_of
from dpcp_audit.mechanisms.dpsgd.subsampled_gaussian import (
    SubsampledGaussian,
    composed_loss,
    loss_interval,
)
from dpcp_audit.stats.intervals import clopper_pearson
from dpcp_audit.words import hints
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.evidence import of_mean, of_rate
from dpcp_audit.words.guarantees import Relation
from dpcp_audit.words.quantities import Bound, Quantity
from dpcp_audit.words.results import Count
from dpcp_audit.words.whole_files import require_package

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpcp_audit.words.arrays import BoolArray, FloatArray
    from dpcp_audit.words.results import Evidence, PlainData


PRV_ERROR = 0.01
"""The margin of Opacus's PRV accountant: its upper bound lies this far above its estimate of ε."""


class Accountant(StrEnum):
    """The accountants for a training; each gives an upper bound on ε."""

    RDP = "rdp"
    """Rényi divergences added up, dp-accounting's (Mironov, Talwar and Zhang 2019)."""
    PLD = "pld"
    """Privacy loss distributions, dp-accounting's (Doroshenko et al. 2022)."""
    PRV = "prv"
    """Privacy loss random variables, Opacus's (Gopi, Lee and Wutschitz 2021)."""


class Sampling(StrEnum):
    """The sampling of a step's examples."""

    POISSON = "poisson"
    """Each example enters each step independently, with probability q."""
    SHUFFLED = "shuffled"
    """Fixed batches of shuffled data: each example enters one step an epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """A run of DP-SGD: ``batch_size`` of ``n`` examples a step, for ``epochs`` passes.

    ``noise_multiplier`` is σ, the noise's standard deviation over the clipping norm.
    """

    n: int
    batch_size: int
    epochs: int
    noise_multiplier: float

    def __post_init__(self) -> None:
        _validate.integer(n=self.n, batch_size=self.batch_size, epochs=self.epochs, at_least=1)
        _validate.positive(noise_multiplier=self.noise_multiplier)
        if self.batch_size > self.n:
            raise hints.value_error(
                f"batch_size must not exceed n = {self.n}, got {self.batch_size}",
                "n counts the examples of the training set",
            )

    @property
    def sampling_rate(self) -> float:
        """q, the share of the examples in a step."""
        return self.batch_size / self.n

    @property
    def steps(self) -> int:
        """Steps in all: ``epochs``/q, rounded up."""
        return math.ceil(self.epochs * self.n / self.batch_size)

    @property
    def parameters(self) -> PlainData:
        """The case, as plain data."""
        return {
            "n": self.n,
            "batch_size": self.batch_size,
            "epochs": self.epochs,
            "noise_multiplier": self.noise_multiplier,
        }

    def guarantee(
        self, *, sampling: Sampling, relation: Relation = Relation.ZERO_OUT
    ) -> SubsampledGaussian:
        """Return what the training promises; shuffled batches are not amplified.

        Raises
        ------
        ValueError
            Under ADD_REMOVE for shuffled batches (:meth:`SubsampledGaussian.shuffled`).
        """
        _validate.choice(Sampling, sampling=sampling)
        if sampling is Sampling.SHUFFLED:
            return SubsampledGaussian.shuffled(
                epochs=self.epochs, noise_multiplier=self.noise_multiplier, relation=relation
            )
        return SubsampledGaussian(
            sampling_rate=self.sampling_rate,
            steps=self.steps,
            noise_multiplier=self.noise_multiplier,
            relation=relation,
        )


def accounted_epsilon(
    training: SubsampledGaussian, *, delta: float, accountant: Accountant = Accountant.PLD
) -> float:
    """Return the ε at which a training is (ε, ``delta``)-DP, from above.

    Parameters
    ----------
    training : SubsampledGaussian
        Sampling rate, steps, noise multiplier and neighbour relation; also
        ``Training(...).guarantee(sampling=...)`` or ``SubsampledGaussian.shuffled(...)``.
    delta : float
        δ in (0, 1).
    accountant : Accountant
        PLD knows every relation. RDP knows no substitution under Poisson sampling below
        q = 1, PRV none at all, nor full participation.

    Raises
    ------
    ValueError
        If the accountant does not know the relation or the sampling rate.
    RuntimeError
        If PRV is asked for and Opacus is not installed.
    """
    _validate.open_unit(delta=delta)
    _validate.choice(Accountant, accountant=accountant)
    if accountant is Accountant.PLD:
        return training.epsilon_at(delta)
    return (_rdp if accountant is Accountant.RDP else _prv)(training, delta)


def _rdp(training: SubsampledGaussian, delta: float) -> float:
    from dp_accounting.rdp import compute_epsilon  # noqa: PLC0415  (slow to import)

    q, substituted = training.sampling_rate, training.relation is Relation.SUBSTITUTION
    if substituted and q < 1:
        raise ValueError("accountant must be pld for substitution under Poisson sampling, got rdp")
    moved = 2.0 if substituted else 1.0
    orders, divergences = _rdp_of_a_step(q, training.noise_multiplier / moved)
    return float(
        compute_epsilon(orders.tolist(), (training.steps * divergences).tolist(), delta)[0]
    )


@lru_cache(maxsize=64)
def _rdp_of_a_step(sampling_rate: float, noise_multiplier: float) -> tuple[FloatArray, FloatArray]:
    """Return orders and a step's Rényi divergences, which those of all steps are multiples of."""
    from dp_accounting import (  # noqa: PLC0415  (slow to import)
        GaussianDpEvent,
        NeighboringRelation,
        PoissonSampledDpEvent,
    )
    from dp_accounting.rdp import RdpAccountant  # noqa: PLC0415

    accountant = RdpAccountant(neighboring_relation=NeighboringRelation.ADD_OR_REMOVE_ONE)
    accountant.compose(PoissonSampledDpEvent(sampling_rate, GaussianDpEvent(noise_multiplier)))
    return np.asarray(accountant.orders, dtype=np.float64), accountant.rdp


def _prv(training: SubsampledGaussian, delta: float) -> float:
    if training.relation is Relation.SUBSTITUTION or training.sampling_rate == 1:
        raise ValueError(
            "accountant must be pld or rdp for substitution and for full participation, got prv"
        )
    require_package("opacus", "dpsgd", name="Opacus")
    from opacus.accountants import PRVAccountant  # noqa: PLC0415  (an extra)

    accountant = cast("Any", PRVAccountant())
    accountant.history = [(training.noise_multiplier, training.sampling_rate, training.steps)]
    with warnings.catch_warnings():  # its Rényi orders only set how wide its grid is
        warnings.filterwarnings("ignore", "Optimal order", UserWarning)
        return float(accountant.get_epsilon(delta, eps_error=PRV_ERROR))


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
