"""Guarantees: what a mechanism promises, what that still allows, and between which neighbours.

Every privacy guarantee is a region of event probabilities. If an event has probability
``q`` on one input, the guarantee allows it a probability of at most ``power(q)`` on a
neighbour, in both directions. The trade-off function is ``1 - power``, the largest δ(ε)
is ``sup_q power(q) - e^ε q``, and the largest membership advantage is δ(0).

For ``ZCDP`` and ``RenyiDP`` the region is exact, not a conversion bound: telling an event
from its complement is post-processing, which cannot raise a Rényi divergence, so the
largest δ(ε) over all pairs of laws is attained by a pair of Bernoulli laws.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, Generic, Literal, TypeVar

import numpy as np

from dpcp_audit.words import hints
from dpcp_audit.words import validate as _validate
from dpcp_audit.words.privacy_regions import (
    LARGEST_EPSILON,
    SAME,
    bernoulli_bounds,
    concave_maximum,
    cut_rates,
    linear_epsilon,
    linear_power,
    linear_profile,
    rates,
    smallest_epsilon,
)
from dpcp_audit.words.values import Choice

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpcp_audit.words.arrays import FloatArray


@dataclass(frozen=True, slots=True)
class Coverage:
    """at_least ≤ P(Y ∈ C(X)) ≤ at_most, with probability at least ``confidence``.

    With ``per_class`` the bounds are those of P(Y ∈ C(X) | Y = y), for each class y.
    """

    of_one_report: ClassVar[bool] = False

    at_least: float
    at_most: float = 1.0
    confidence: float = 1.0
    per_class: bool = False

    def __post_init__(self) -> None:
        _validate.finite(at_least=self.at_least, at_most=self.at_most)
        if not self.at_least <= self.at_most:
            raise hints.value_error(
                f"at_least must not exceed at_most, got {self.at_least!r} and {self.at_most!r}",
                hints.for_probability(self.at_least) if self.at_most == 1 else "swap the two",
            )
        _validate.closed_unit(confidence=self.confidence)

    @property
    def parameters(self) -> dict[str, float]:
        """The parameters by name, as the constructor takes them."""
        return {
            "at_least": self.at_least,
            "at_most": self.at_most,
            "confidence": self.confidence,
        }

    def holds(self, coverage: ArrayLike) -> np.ndarray:
        """Tell, elementwise, which coverages lie within the bounds."""
        values = np.asarray(coverage, dtype=np.float64)
        return (values >= self.at_least) & (values <= self.at_most)


__all__ = [
    "ZCDP",
    "ApproxDP",
    "Coverage",
    "GaussianDP",
    "LocalDP",
    "PrivacyGuarantee",
    "PureDP",
    "RenyiDP",
]
_ORDERS = 1 + np.logspace(-3, 3, 193)


class PrivacyGuarantee(ABC):
    """A promise about the output laws on any two neighbouring inputs."""

    adjective: ClassVar[str] = ""
    """The adjective for a mechanism, with parameters in braces; "" if the notion has none."""
    of_one_report: ClassVar[bool] = False
    """True if it is a promise to each user, of the report that leaves their device."""

    @property
    @abstractmethod
    def parameters(self) -> dict[str, float]:
        """The parameters by name, as the constructor takes them."""

    @abstractmethod
    def power(self, fpr: ArrayLike) -> FloatArray:
        """Return the largest probability an event may have where a neighbour gives it ``fpr``.

        Parameters
        ----------
        fpr : array_like
            Event probabilities on the neighbour, in [0, 1], of any shape.
        """

    def tradeoff(self, fpr: ArrayLike) -> FloatArray:
        """Return the smallest false-negative rate of any test at false-positive rate ``fpr``."""
        return 1 - self.power(fpr)

    def delta_at(self, epsilon: float) -> float:
        """Return the largest δ(ε) that the guarantee allows, for ``epsilon`` >= 0.

        Beyond ε = 600, where e^ε nears the end of the doubles, δ(600) is returned: an upper
        bound, since δ decreases.
        """
        _validate.non_negative(epsilon=epsilon)
        factor = math.exp(min(epsilon, LARGEST_EPSILON))
        return concave_maximum(lambda q: self.power(q) - factor * q)

    def epsilon_at(self, delta: float) -> float:
        """Return the smallest ε at which the guarantee implies (ε, ``delta``)-DP.

        Infinity where no ε up to 600 does.
        """
        _validate.closed_unit(delta=delta)
        return smallest_epsilon(self.delta_at, delta)

    def advantage(self) -> float:
        """Return the largest membership advantage, TPR − FPR, of any attack."""
        return self.delta_at(0.0)

    def allows(self, probability: float, neighbour_probability: float) -> bool:
        """Tell whether an event may have these probabilities on two neighbours.

        The event and its complement are held to the guarantee in both directions, with
        1e-12 of slack for rounding.
        """
        _validate.closed_unit(probability=probability, neighbour_probability=neighbour_probability)
        p, q = probability, neighbour_probability
        pairs = np.array([[p, q], [q, p], [1 - p, 1 - q], [1 - q, 1 - p]])
        return bool((pairs[:, 0] <= self.power(pairs[:, 1]) + 1e-12).all())

    def __str__(self) -> str:
        inside = ", ".join(f"{name}={value:.6g}" for name, value in self.parameters.items())
        return f"{type(self).__name__}({inside})"


@dataclass(frozen=True, slots=True)
class PureDP(PrivacyGuarantee):
    """ε-DP: P(E) ≤ e^ε Q(E) for every event E (Dwork 2006)."""

    adjective: ClassVar[str] = "{epsilon}-differentially private"

    epsilon: float

    def __post_init__(self) -> None:
        _validate.positive(epsilon=self.epsilon)

    @property
    def parameters(self) -> dict[str, float]:
        """The claimed ε."""
        return {"epsilon": self.epsilon}

    def power(self, fpr: ArrayLike) -> FloatArray:
        """Return min(e^ε q, 1 − e^(−ε)(1 − q))."""
        return linear_power(fpr, self.epsilon, 0.0)

    def delta_at(self, epsilon: float) -> float:
        """Return the profile of randomised response, max(0, (e^ε₀ − e^ε)/(1 + e^ε₀))."""
        return linear_profile(epsilon, self.epsilon, 0.0)

    def epsilon_at(self, delta: float) -> float:
        """Return the ε at which that profile falls to ``delta``."""
        return linear_epsilon(delta, self.epsilon, 0.0)


@dataclass(frozen=True, slots=True)
class LocalDP(PureDP):
    """ε-LDP: ε-DP of one user's report, where any two values of that user are neighbours."""

    adjective: ClassVar[str] = "{epsilon}-locally differentially private"
    of_one_report: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class ApproxDP(PrivacyGuarantee):
    """(ε, δ)-DP: P(E) ≤ e^ε Q(E) + δ for every event E (Dwork 2006).

    Its largest profile is that of randomised response mixed with a mass δ that reveals
    everything (Kairouz, Oh and Viswanath 2015).
    """

    adjective: ClassVar[str] = "({epsilon}, {delta})-differentially private"

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        _validate.non_negative(epsilon=self.epsilon)
        _validate.closed_unit(delta=self.delta)

    @property
    def parameters(self) -> dict[str, float]:
        """The claimed ε and δ."""
        return {"epsilon": self.epsilon, "delta": self.delta}

    def power(self, fpr: ArrayLike) -> FloatArray:
        """Return min(1, e^ε q + δ, 1 − e^(−ε)(1 − δ − q))."""
        return linear_power(fpr, self.epsilon, self.delta)

    def delta_at(self, epsilon: float) -> float:
        """Return δ + (1−δ)·max(0, (e^ε₀ − e^ε)/(1 + e^ε₀))."""
        return linear_profile(epsilon, self.epsilon, self.delta)

    def epsilon_at(self, delta: float) -> float:
        """Return the ε at which that profile falls to ``delta``; infinity below the claimed δ."""
        return linear_epsilon(delta, self.epsilon, self.delta)


class _RenyiBounded(PrivacyGuarantee):
    """A guarantee that bounds Rényi divergences, D_α ≤ limit(α) for some orders α."""

    __slots__ = ()

    @abstractmethod
    def _limits(self) -> tuple[FloatArray, FloatArray]:
        """Return the orders and the largest D_α at each."""

    def power(self, fpr: ArrayLike) -> FloatArray:
        """Return the largest p for which Bernoulli(p) and Bernoulli(q) keep every D_α in bounds.

        The orders are a grid, which can only enlarge the region: what is refused here is
        refused by the guarantee. One bound at a time cuts p down, the one most broken first,
        until none is broken.
        """
        q = rates(fpr)
        high = np.where(q > 0, 1.0, 0.0)  # mass where a neighbour has none: D_α is infinite
        left = np.flatnonzero(high)
        flat, below = high.reshape(-1), q.reshape(-1)
        bounds = bernoulli_bounds(*self._limits())
        flat[left] = cut_rates(flat[left], below[left], bounds.of(np.full(left.size, bounds.start)))
        while left.size:
            p = flat[left]
            cut = cut_rates(p, below[left], bounds.of(bounds.most_broken(p, below[left])))
            flat[left] = cut
            left = left[p - cut > SAME * cut]
        return high

    def epsilon_at(self, delta: float) -> float:
        """Return the smallest ε at which the guarantee implies (ε, ``delta``)-DP.

        Infinity where no ε up to 600 does; so at δ = 0, since no log-ratio is excluded.
        """
        return math.inf if delta == 0 else PrivacyGuarantee.epsilon_at(self, delta)


@dataclass(frozen=True, slots=True)
class ZCDP(_RenyiBounded):
    """ρ-zCDP: D_α(P‖Q) ≤ ρα for every α > 1 (Bun and Steinke 2016, Definition 1.1)."""

    adjective: ClassVar[str] = "{rho}-zCDP"

    rho: float

    def __post_init__(self) -> None:
        _validate.positive(rho=self.rho)

    @property
    def parameters(self) -> dict[str, float]:
        """The claimed ρ."""
        return {"rho": self.rho}

    def _limits(self) -> tuple[FloatArray, FloatArray]:
        return _ORDERS, self.rho * _ORDERS

    def standard_delta_at(self, epsilon: float) -> float:
        """Return exp(−(ε−ρ)²/(4ρ)), the textbook conversion (Bun and Steinke 2016, Lemma 3.5)."""
        _validate.non_negative(epsilon=epsilon)
        return math.exp(-(max(0.0, epsilon - self.rho) ** 2) / (4 * self.rho))

    def standard_epsilon_at(self, delta: float) -> float:
        """Return ρ + 2·sqrt(ρ·log(1/δ)), the textbook conversion."""
        _validate.open_unit(delta=delta)
        return self.rho + 2 * math.sqrt(self.rho * math.log(1 / delta))


@dataclass(frozen=True, slots=True)
class RenyiDP(_RenyiBounded):
    """(α, ε)-RDP: D_α(P‖Q) ≤ ε at one order α > 1 (Mironov 2017, Definition 4)."""

    adjective: ClassVar[str] = "({alpha}, {epsilon})-Rényi differentially private"

    alpha: float
    epsilon: float

    def __post_init__(self) -> None:
        _validate.finite(alpha=self.alpha)
        if not self.alpha > 1:
            raise hints.value_error(
                f"alpha must be finite and > 1, got {self.alpha!r}",
                "an order of 1 is the mean loss, which promises little; such as 2",
            )
        _validate.non_negative(epsilon=self.epsilon)

    @property
    def parameters(self) -> dict[str, float]:
        """The order α and the claimed ε."""
        return {"alpha": self.alpha, "epsilon": self.epsilon}

    def _limits(self) -> tuple[FloatArray, FloatArray]:
        return np.array([self.alpha]), np.array([self.epsilon])


@dataclass(frozen=True, slots=True)
class GaussianDP(PrivacyGuarantee):
    """μ-GDP: no test does better than that of N(μ, 1) against N(0, 1) (Dong, Roth and Su 2022)."""

    adjective: ClassVar[str] = "{mu}-Gaussian differentially private"

    mu: float

    def __post_init__(self) -> None:
        _validate.positive(mu=self.mu)

    @property
    def parameters(self) -> dict[str, float]:
        """The claimed μ."""
        return {"mu": self.mu}

    def power(self, fpr: ArrayLike) -> FloatArray:
        """Return Φ(Φ⁻¹(q) + μ)."""
        from scipy.special import ndtr, ndtri  # noqa: PLC0415  (slow to import)

        return np.asarray(ndtr(ndtri(rates(fpr)) + self.mu))

    def delta_at(self, epsilon: float) -> float:
        """Return Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ), the privacy profile."""
        from scipy.special import log_ndtr, ndtr  # noqa: PLC0415  (slow to import)

        _validate.non_negative(epsilon=epsilon)
        centre = epsilon / self.mu
        tail = math.exp(epsilon + float(log_ndtr(-self.mu / 2 - centre)))
        return max(0.0, float(ndtr(self.mu / 2 - centre)) - tail)

    def epsilon_at(self, delta: float) -> float:
        """Return the ε at which the profile falls to ``delta``; infinity at δ = 0."""
        return math.inf if delta == 0 else PrivacyGuarantee.epsilon_at(self, delta)


T = TypeVar("T")


class Relation(StrEnum):
    """The change of the data that one person can make."""

    SUBSTITUTION = "substitution"
    """One record is replaced by another; n is public and fixed (Hamming distance 1)."""
    ADD_REMOVE = "add-remove"
    """One record is added or taken away."""
    ZERO_OUT = "zero-out"
    """One record is replaced by one that contributes nothing; n is public and fixed."""
    ONE_LABEL = "one-label"
    """One record keeps its features and changes its label."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Neighbours(Generic[T]):
    """Two inputs that differ in one person.

    Parameters
    ----------
    relation : Relation or str
        The difference between the two: "substitution", "add-remove", "zero-out" or "one-label".
    value, neighbour : object
        The two inputs, as the mechanism takes them.

    Examples
    --------
    >>> import dpcp_audit as dp
    >>> pair = dp.Neighbours(relation="substitution", value=[0.0, 1.0], neighbour=[0.0, 0.0])
    >>> pair.relation
    <Relation.SUBSTITUTION: 'substitution'>
    """

    relation: Relation
    value: T
    neighbour: T

    def __init__(
        self,
        *,
        relation: Literal["substitution", "add-remove", "zero-out", "one-label"] | Relation,
        value: T,
        neighbour: T,
    ) -> None:
        read = Choice(Relation).read(relation, "relation")
        object.__setattr__(self, "relation", read)
        object.__setattr__(self, "value", value)
        object.__setattr__(self, "neighbour", neighbour)
