"""Laws: exact output distributions, and pairs of them for privacy analysis.

A pair of laws on two neighbouring inputs has a privacy profile δ(ε), Rényi divergences,
a total variation and a trade-off curve. ``FinitePair`` holds any pair that can be
enumerated; ``GaussianPair`` and ``LaplacePair`` are additive noise in closed form.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from dpcp_audit.stats.roots import find_least, find_root
from dpcp_audit.words import validate as _validate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from dpcp_audit.words.validate import FloatArray


_TOTAL = 1e-6
"""The largest rounding error of a law's mass, or of the logarithm of a whole number."""
_NEAR = 1e-3
"""The largest (α − 1)·|loss| at which a moment is summed as its distance from 1."""


@dataclass(frozen=True, slots=True, eq=False)
class FiniteLaw:
    """A law over outcomes, some of which stand for many equally likely outputs.

    Parameters
    ----------
    log_mass : ndarray, shape (m,)
        Natural logarithm of each outcome's total probability.
    log_multiplicity : ndarray, shape (m,)
        Logarithm of the number of equally likely outputs that the outcome stands for.
    slack : float
        Mass of outcomes that lump together outputs which are *not* equally likely, because
        the enumeration pruned them. Divergences from the law are lower bounds; an upper
        bound on δ adds the slack.
    """

    log_mass: FloatArray
    log_multiplicity: FloatArray
    slack: float = 0.0

    def __post_init__(self) -> None:
        _validate.non_negative(slack=self.slack)
        if self.log_mass.ndim != 1 or self.log_mass.shape != self.log_multiplicity.shape:
            raise ValueError(
                "log_multiplicity must have the shape of log_mass, (m,), got shapes "
                f"{self.log_multiplicity.shape} and {self.log_mass.shape}"
            )
        least = 0.0 if self.slack else 1 - _TOTAL  # what is cut off may weigh more than the slack
        if not least <= self.total <= 1 + _TOTAL + self.slack:
            raise ValueError(f"log_mass must hold masses that sum to 1, got {self.total!r}")
        if not (self.log_multiplicity >= -_TOTAL).all():
            raise ValueError("log_multiplicity must hold logarithms of numbers >= 1")

    @classmethod
    def from_mass(cls, mass: ArrayLike) -> FiniteLaw:
        """Build the law of single outputs from their probabilities, shape (m,)."""
        values = _validate.array(mass, name="mass", ndim=1)
        if (values < 0).any() or abs(values.sum() - 1) > 1e-9:
            raise ValueError(f"mass must be >= 0 and sum to 1, got a sum of {values.sum()!r}")
        with np.errstate(divide="ignore"):
            return cls(np.log(values), np.zeros_like(values))

    @property
    def total(self) -> float:
        """The total mass, 1 up to rounding."""
        return float(np.exp(_log_sum(self.log_mass)))


class LawPair(ABC):
    """The laws P and Q of a mechanism's output on two neighbouring inputs."""

    @property
    def slack(self) -> float:
        """Mass that an enumeration pruned: δ is known up to this much."""
        return 0.0

    @abstractmethod
    def reversed(self) -> LawPair:
        """Return the pair (Q, P)."""

    @abstractmethod
    def delta_at(self, epsilon: float) -> float:
        """Return δ(ε) = sup_E P(E) − e^ε Q(E), the hockey-stick divergence."""

    @abstractmethod
    def renyi(self, alpha: float) -> float:
        """Return the Rényi divergence D_α(P‖Q) in nats, for ``alpha`` >= 1 (1 is KL)."""

    @abstractmethod
    def max_divergence(self) -> float:
        """Return D_∞(P‖Q), the largest log-ratio."""

    def total_variation(self) -> float:
        """Return the total variation distance, the best membership advantage."""
        return self.delta_at(0.0)

    def epsilon_at(self, delta: float) -> float:
        """Return the smallest ε >= 0 with δ(ε) <= ``delta`` (in this direction)."""
        _validate.closed_unit(delta=delta)
        if delta == 0:
            return max(0.0, self.max_divergence())
        profile = self.profile()
        if profile(0.0) <= delta:
            return 0.0
        high = min(self.max_divergence(), 700.0)
        if profile(high) > delta:
            return math.inf if high == 700.0 else high
        return find_root(lambda e: profile(e) - delta, 0.0, high, xtol=1e-12)

    def profile(self) -> Callable[[float], float]:
        """Return δ as a function of ε, for many calls."""
        return self.delta_at

    def rho(self) -> float:
        """Return sup over α > 1 of D_α(P‖Q)/α, the smallest ρ of zCDP for the pair."""
        divergences = self.renyi_of_orders()

        def negative(log_excess: float) -> float:
            alpha = 1 + math.exp(log_excess)
            return -float(divergences(np.array([alpha]))[0]) / alpha

        grid = np.linspace(math.log(1e-6), math.log(1e6), 57)
        alphas = 1 + np.exp(grid)
        values = divergences(alphas) / alphas
        best = int(np.argmax(values))
        low, high = float(grid[max(0, best - 1)]), float(grid[min(grid.size - 1, best + 1)])
        refined = find_least(negative, low, high)
        return max(float(values[best]), -refined, self.renyi(1.0))

    def renyi_of_orders(self) -> Callable[[FloatArray], FloatArray]:
        """Return D_α(P‖Q) as a function of several orders, shape (k,), all of them > 1."""
        return lambda alphas: np.array([self.renyi(float(alpha)) for alpha in alphas])


@dataclass(frozen=True, slots=True)
class FinitePair(LawPair):
    """Two finite laws over the same outcomes.

    Parameters
    ----------
    outcomes : tuple
        The outcomes themselves, in the order of the masses, as plain data; empty where they are
        not known.
    """

    law: FiniteLaw
    neighbour_law: FiniteLaw
    outcomes: tuple[Any, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        if self.law.log_mass.shape != self.neighbour_law.log_mass.shape:
            raise ValueError(
                "neighbour_law must have the outcomes of law, got shapes "
                f"{self.neighbour_law.log_mass.shape} and {self.law.log_mass.shape}"
            )

    @property
    def slack(self) -> float:
        """Mass that an enumeration pruned, the larger of the two laws'."""
        return max(self.law.slack, self.neighbour_law.slack)

    @property
    def loss(self) -> FloatArray:
        """The privacy loss log(P/Q) of each outcome, shape (m,); −inf where P has no mass."""
        p, q = self.law.log_mass, self.neighbour_law.log_mass
        with np.errstate(invalid="ignore"):
            return np.where(np.isneginf(p), -np.inf, p - q)

    def reversed(self) -> FinitePair:
        """Return the pair (Q, P)."""
        return FinitePair(self.neighbour_law, self.law, outcomes=self.outcomes)

    def delta_at(self, epsilon: float) -> float:
        """Return δ(ε); with slack, a lower bound that is at most ``slack`` too small."""
        return self.profile()(epsilon)

    def profile(self) -> Callable[[float], float]:
        """Return δ as a function of ε; with slack, a lower bound."""
        p, loss = np.exp(self.law.log_mass), self.loss

        def delta(epsilon: float) -> float:
            with np.errstate(over="ignore"):
                return float(np.sum(p * -np.expm1(np.minimum(0.0, epsilon - loss))))

        return delta

    def renyi(self, alpha: float) -> float:
        """Return D_α(P‖Q); with slack, a lower bound."""
        _validate.order(alpha=alpha)
        if alpha > 1:
            return float(self.renyi_of_orders()(np.array([float(alpha)]))[0])
        mass, loss = np.exp(self.law.log_mass), self.loss
        return float(np.sum(mass[mass > 0] * loss[mass > 0]))

    def renyi_of_orders(self) -> Callable[[FloatArray], FloatArray]:
        """Return D_α(P‖Q) as a function of several orders; with slack, a lower bound."""
        live = ~np.isneginf(self.law.log_mass)
        p, loss = self.law.log_mass[live], self.loss[live]
        largest = float(np.max(np.abs(loss)))

        def divergences(alphas: FloatArray) -> FloatArray:
            excess = alphas - 1
            near = excess * largest < _NEAR  # no cancellation near α = 1
            logs = np.empty_like(excess)
            if near.any():
                moments = np.exp(p) * np.expm1(excess[near, None] * loss)
                logs[near] = np.log1p(np.sum(moments, axis=-1))
            if not near.all():
                logs[~near] = _log_sum(p + excess[~near, None] * loss)
            return logs / excess

        return divergences

    def max_divergence(self) -> float:
        """Return the largest log-ratio over outcomes that P can produce."""
        return float(np.max(self.loss))

    def tradeoff(self) -> tuple[FloatArray, FloatArray]:
        """Return the Neyman–Pearson curve of Q (null) against P: FPR and FNR, shape (m+1,)."""
        order = np.argsort(-self.loss, kind="stable")
        q = np.exp(self.neighbour_law.log_mass[order])
        p = np.exp(self.law.log_mass[order])
        return (
            np.concatenate([[0.0], np.minimum(1.0, np.cumsum(q))]),
            np.concatenate([[1.0], np.maximum(0.0, 1 - np.cumsum(p))]),
        )


@dataclass(frozen=True, slots=True)
class GaussianPair(LawPair):
    """N(0, σ²) against N(Δ, σ²), with ``shift`` = Δ/σ (Balle and Wang 2018, Theorem 8)."""

    shift: float

    def __post_init__(self) -> None:
        _validate.positive(shift=self.shift)

    def reversed(self) -> GaussianPair:
        """Return the pair itself, by symmetry."""
        return self

    def delta_at(self, epsilon: float) -> float:
        """Return Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) for μ = shift."""
        mu = self.shift
        first = scipy.special.log_ndtr(mu / 2 - epsilon / mu)
        if first == -math.inf:  # beyond the doubles' exponents
            return 0.0
        second = epsilon + scipy.special.log_ndtr(-mu / 2 - epsilon / mu)
        return float(np.exp(first) * -np.expm1(min(0.0, second - first)))

    def renyi(self, alpha: float) -> float:
        """Return αμ²/2."""
        return alpha * self.rho()

    def max_divergence(self) -> float:
        """Return infinity: the log-ratio of two shifted Gaussians has no bound."""
        return math.inf

    def rho(self) -> float:
        """Return μ²/2; infinity beyond the doubles."""
        return self.shift * self.shift / 2

    def tradeoff(self, fpr: ArrayLike) -> FloatArray:
        """Return Φ(Φ⁻¹(1 − fpr) − μ) (Dong, Roth and Su 2022)."""
        return scipy.special.ndtr(
            scipy.special.ndtri(1 - np.asarray(fpr, dtype=np.float64)) - self.shift
        )


@dataclass(frozen=True, slots=True)
class LaplacePair(LawPair):
    """Independent Laplace noise on coordinates that move by ``shifts`` (in noise scales).

    One coordinate is the Laplace mechanism; two are a histogram under substitution, where
    one person leaves a bin and enters another.
    """

    shifts: Sequence[float] = field(default=(1.0,))

    def __post_init__(self) -> None:
        if len(self.shifts) not in (1, 2):
            raise ValueError(f"shifts must hold one or two numbers, got {self.shifts!r}")
        for shift in self.shifts:
            _validate.positive(shifts=shift)

    def reversed(self) -> LaplacePair:
        """Return the pair itself, by symmetry."""
        return self

    def delta_at(self, epsilon: float) -> float:
        """Return δ(ε) = E_P[(1 − e^(ε−L))₊] over the loss L, a sum over the coordinates."""
        if len(self.shifts) == 1:
            return _laplace_delta(epsilon, self.shifts[0])
        from scipy.integrate import quad  # noqa: PLC0415  (slow to import)

        first, second = self.shifts
        # Under P the loss of a coordinate is ±a with atoms, and has a density in between.
        atoms = 0.5 * _laplace_delta(epsilon - first, second) + 0.5 * math.exp(
            -first
        ) * _laplace_delta(epsilon + first, second)
        kinks = sorted({min(max(epsilon + s, -first), first) for s in (-second, second)})
        edges = [-first, *kinks, first]
        inner = sum(
            quad(
                lambda x: math.exp((x - first) / 2) / 4 * _laplace_delta(epsilon - x, second),
                low,
                high,
                epsabs=1e-14,
                epsrel=1e-12,
                full_output=1,  # the last digits may be out of reach; no warning of that
            )[0]
            for low, high in pairwise(edges)
            if high > low
        )
        return atoms + inner

    def renyi(self, alpha: float) -> float:
        """Return the sum over coordinates of Mironov's (2017, Proposition 6) closed form."""
        return sum(_laplace_renyi(alpha, shift) for shift in self.shifts)

    def max_divergence(self) -> float:
        """Return the sum of the shifts."""
        return float(sum(self.shifts))


def _laplace_delta(epsilon: float, shift: float) -> float:
    """Return δ(ε) of one Laplace coordinate, for any real ε."""
    if epsilon >= shift:
        return 0.0
    if epsilon <= -shift:
        return -math.expm1(epsilon)
    return -math.expm1((epsilon - shift) / 2)


def _laplace_renyi(alpha: float, shift: float) -> float:
    if alpha == 1:
        return shift + math.expm1(-shift)
    weight = alpha / (2 * alpha - 1)
    terms = [math.log(weight) + (alpha - 1) * shift, math.log1p(-weight) - alpha * shift]
    return float(scipy.special.logsumexp(terms)) / (alpha - 1)


def _log_sum(exponents: FloatArray) -> FloatArray:
    """Return log Σ e^x over the last axis; the largest terms stand apart, for the last digit.

    As SciPy's ``logsumexp``, whose checks take longer than these sums.
    """
    largest = np.max(exponents, axis=-1, keepdims=True)
    if not np.isfinite(largest).all():
        return np.asarray(scipy.special.logsumexp(exponents, axis=-1))
    top = exponents == largest
    count = top.sum(axis=-1)
    rest = np.sum(np.exp(np.where(top, -np.inf, exponents - largest)), axis=-1)
    return np.asarray(np.log1p(rest / count) + np.log(count) + largest[..., 0])
