"""The thesis's trainings: the ε that it prints, and the ε that an accountant finds.

A training is a ``SubsampledGaussian``: under Poisson sampling with its own rate and steps, under
fixed shuffled batches as one step of full participation an epoch.

At whole orders the Rényi divergence of the Poisson-subsampled Gaussian mechanism is a finite
binomial sum, so that a composed ε has a rigorous bound where privacy loss distributions have
Fourier transforms in doubles.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from flint import arb, fmpq

from dpcp_audit.extensions.claims import (
    Computation,
    Proof,
    ProofMethod,
    Quantity,
    Relation,
    Standing,
    Verdict,
)
from dpcp_audit.extensions.laws import GaussianPair
from dpcp_audit.extensions.mechanisms import SubsampledGaussian
from dpcp_audit.extensions.statistics import (
    all_at_most,
    at_most,
    ball,
    decimal,
    ends,
    exact,
    gaussian_delta,
)
from dpcp_ledger.paper import Paper

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcp_audit.extensions.claims import PlainData
    from dpcp_audit.extensions.statistics import Exact


def sampled_renyi(rate: Exact, noise: Exact, order: int) -> arb:
    """Return D_α of (1−q)·N(0, σ²) + q·N(1, σ²) against N(0, σ²), for a whole order α ≥ 2.

    log(Σ_k C(α, k)·(1−q)^(α−k)·q^k·exp((k²−k)/(2σ²)))/(α−1); the reverse direction is no larger
    (Mironov, Talwar and Zhang 2019, Theorem 5 and Section 3.3).

    Examples
    --------
    >>> print(sampled_renyi(1, 2, 4).str(5))  # without sampling: α/(2σ²)
    [0.50000 +/- 3e-10]
    """
    q, variance = exact(rate), exact(noise) ** 2
    total = arb(0)
    for k in range(order + 1):
        weight = fmpq(math.comb(order, k)) * (1 - q) ** (order - k) * q**k
        total += ball(weight) * ball((k * k - k) / (2 * variance)).exp()
    return total.log() / (order - 1)


def renyi_epsilon(divergence: arb, order: int, delta: Exact) -> arb:
    """Return an ε at which D_α gives (ε, δ)-DP (Canonne, Kamath and Steinke 2020, Prop. 12)."""
    spent = (ball(delta) * order).log()
    return divergence + (ball(fmpq(order - 1, order))).log() - spent / (order - 1)


def substituted_renyi(rate: Exact, noise: Exact, order: int) -> arb:
    """Return a bound of D_α between (1−q)·N(0, σ²) + q·N(±1, σ²), for a whole order α ≥ 2.

    With r = N(−1, σ²)/N(0, σ²), the second mixture is at least r^q·N(0, σ²), by concavity of the
    logarithm; what remains is Σ_k C(α, k)·(1−q)^(α−k)·q^k·exp((c² − k + (α−1)q)/(2σ²)), of which
    c = k + (α−1)q. Where σ is large, the bound is above D_α by about q(1−q)/(2σ²).

    Examples
    --------
    >>> print(substituted_renyi(1, 2, 4).str(5))  # without sampling: α·2²/(2σ²)
    [2.0000 +/- 3e-9]
    """
    q, variance = exact(rate), exact(noise) ** 2
    total = arb(0)
    for k in range(order + 1):
        moved = (order - 1) * q
        weight = fmpq(math.comb(order, k)) * (1 - q) ** (order - k) * q**k
        total += ball(weight) * ball(((k + moved) ** 2 - k + moved) / (2 * variance)).exp()
    return total.log() / (order - 1)


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
        """Return the guarantee of the training; shuffled batches are not amplified.

        Raises
        ------
        ValueError
            Under ADD_REMOVE for shuffled batches (:meth:`SubsampledGaussian.shuffled`).
        """
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


def formula_epsilon(training: Training, delta: float) -> tuple[float, float]:
    """Return the least T·q²α/(2σ²) + log(1/δ)/(α−1) over α > 1, and the order."""
    rate = training.epochs * training.sampling_rate**2 / (2 * training.noise_multiplier**2)
    excess = math.sqrt(math.log(1 / delta) / rate)
    return rate * (1 + excess) + math.log(1 / delta) / excess, 1 + excess


paper = Paper(title="DP-SKIN", subject="DP-SKIN, privacy of training")
_DELTA = 1e-5
_PRINTED = {8.1: 0.59812, 8.3: 0.58371, 8.5: 0.56997, 8.7: 0.55687, 8.9: 0.54436}
_TRAININGS = {
    name: Training(n=10_015, batch_size=20, epochs=epochs, noise_multiplier=8.1)
    for name, epochs in (
        ("DP-SGD, ResNet50", 9),
        ("DP-SGD, ResNet18", 20),
        ("DP-Adam, ResNet50", 10),
        ("DP-Adam, ResNet18", 7),
    )
}


THESIS = _TRAININGS["DP-SGD, ResNet50"]
_TABLES = {"epsilon": list(_PRINTED.values()), "noise_multiplier": list(_PRINTED), "delta": _DELTA}
_DIGIT = 1e-5
_ORDERS = (32, 64, 128, 160, 192, 224, 256)
"""Orders of Rényi divergences that bound ε; the best of them is shown."""


def single_release_epsilon(noise_multiplier: float, delta: float) -> float:
    """Return √(2·log(1.25/δ))/σ, the classic ε of one Gaussian release."""
    return math.sqrt(2 * math.log(1.25 / delta)) / noise_multiplier


@paper.claim(
    "dpskin.epsilon-table[formula]",
    "Chapter 4, all tables",
    Verdict.PROVED,
    "The printed ε are those of a single Gaussian release.",
    "ε = √(2·log(1.25/δ))/σ",
    standing=Standing.READING,
    parameters=_TABLES,
    printed=_PRINTED,
    delta=_DELTA,
)
def printed_formula(printed: Mapping[float, float], *, delta: float) -> Computation:
    """Compute how far the printed ε are from the classic ε of one release with the same σ.

    ``printed``: ε by σ, with five decimals. Digits cut off or rounded differ by at most 1e-5.
    """
    gaps = {
        sigma: abs(epsilon - single_release_epsilon(sigma, delta))
        for sigma, epsilon in printed.items()
    }
    compared = all_at_most(
        "|ε − √(2·log(1.25/δ))/σ| ≤ 10⁻⁵",
        [partial(_printed_gap, sigma, epsilon, delta) for sigma, epsilon in printed.items()],
        decimal(_DIGIT),
    )
    found = Computation(
        quantity=Quantity.DIFFERENCE,
        detail="the largest of a printed ε from √(2·log(1.25/δ))/σ",
        value=max(gaps.values()),
        claimed=_DIGIT,
        witness={"noise_multipliers": list(printed), "delta": delta},
        note="The number of steps, the sampling rate and the epochs enter none of them.",
    )
    return found.between(
        compared,
        method=ProofMethod.ENUMERATION,
        argument="Every printed pair of σ and ε is compared, as decimal numbers.",
        parameters={
            "noise_multiplier": list(printed),
            "epsilon": list(printed.values()),
            "delta": delta,
        },
    )


def _printed_gap(noise_multiplier: float, epsilon: float, delta: float) -> arb:
    release = ball(2).sqrt() * ball(decimal(1.25) / decimal(delta)).log().sqrt()
    return abs(ball(decimal(epsilon)) - release / ball(decimal(noise_multiplier)))


def table_budget(
    training: Training, printed: Mapping[float, float], *, delta: float, sampling: Sampling
) -> Computation:
    """Compute the ε of a training at the printed (σ, ε) where it is the largest share of it.

    Under zero-out neighbours: with Poisson sampling by privacy loss distributions, between two
    bounds, and with shuffled batches, where the steps compose to one Gaussian pair, by its δ(ε).

    Parameters
    ----------
    printed : mapping of float to float
        ε by noise multiplier σ.
    """
    runs = {sigma: replace(training, noise_multiplier=sigma) for sigma in printed}
    found = {s: run.guarantee(sampling=sampling).epsilon_at(delta) for s, run in runs.items()}
    sigma = max(printed, key=lambda s: found[s] / printed[s])
    worst = runs[sigma]
    poisson = sampling is Sampling.POISSON
    below = (
        worst.guarantee(sampling=sampling).epsilon_below(delta)
        if poisson
        else GaussianPair(math.sqrt(training.epochs) / sigma).epsilon_at(delta)
    )
    substituted = worst.guarantee(sampling=sampling, relation=Relation.SUBSTITUTION)
    proof = (_poisson_proof if poisson else _shuffled_proof)(training, printed, delta)
    most = proof.premises[list(printed).index(sigma)].left[1] if poisson else printed[sigma]
    accounted = (
        f" At σ = {sigma:g} it is {found[sigma]:.4g}; the proof, from a single Rényi order, allows "
        "a little more."
    )
    return Computation(
        quantity=Quantity.EPSILON,
        at={"delta": delta},
        detail=f"of the whole training, σ = {sigma:g}",
        value=below,
        claimed=printed[sigma],
        slack=found[sigma] - below if poisson else 0.0,
        upper=most if proof.holds else None,
        proof=proof,
        witness=worst.parameters
        | {"delta": delta, "sampling": str(sampling), "relation": str(Relation.ZERO_OUT)},
        note=(
            f"Over the table's σ the accounted ε is {_range(found, printed)} times the "
            "printed one, which is that of a single Gaussian release."
            f"{accounted if poisson and proof.holds else ''} Where a person is replaced and not "
            f"zeroed out, ε is {substituted.epsilon_at(delta):.4g}."
        ),
    )


_NO_BATCH_STATISTICS = (
    "a step is a Gaussian mechanism of sensitivity C: no layer mixes the images of a batch, as the "
    "batch normalisation of Table 2.1 does; without it one image moves the clipped sum by C at most"
)
for _place, (_name, _training) in enumerate(_TRAININGS.items(), start=1):
    for _sampling, _words, _standing, _expected in (
        (Sampling.POISSON, "Poisson sampling", Standing.PAPER, Verdict.PROVED),
        (
            Sampling.SHUFFLED,
            "fixed shuffled batches without amplification",
            Standing.READING,
            Verdict.REFUTED,
        ),
    ):
        paper.claim(
            f"dpskin.epsilon-table[training={'-'.join(_name.lower().split(', '))},"
            f"sampling={_sampling}]",
            f"Section 4.{_place}",
            _expected,
            f"{_name.replace(', ', ' on ')} is (ε, δ)-DP with each of the five printed ε, "
            f"with {_words}.",
            "ε = √(2·log(1.25/δ))/σ",
            standing=_standing,
            assumptions=_NO_BATCH_STATISTICS if _sampling is Sampling.POISSON else "",
            parameters=_training.parameters
            | _TABLES
            | {"training": _name, "sampling": str(_sampling), "relation": str(Relation.ZERO_OUT)},
            training=_training,
            printed=_PRINTED,
            delta=_DELTA,
            sampling=_sampling,
        )(table_budget)


def _poisson_proof(training: Training, printed: Mapping[float, float], delta: float) -> Proof:
    """Return the proof that every printed ε is enough, by Rényi divergences of a whole order."""
    rate = Fraction(training.batch_size, training.n)
    bounds = {
        order: [partial(_renyi_bound, rate, s, training.steps, order, delta) for s in printed]
        for order in _ORDERS
    }
    order = min(_ORDERS, key=lambda order: ends(bounds[order][0])[1])
    premises = tuple(
        at_most(f"ε of the training with σ = {sigma:g} ≤ {epsilon:g}", bound, decimal(epsilon))
        for bound, (sigma, epsilon) in zip(bounds[order], printed.items(), strict=True)
    )
    return Proof(
        method=ProofMethod.CLOSED_FORM,
        argument=(
            "A step is dominated by (1−q)·N(0, σ²) + q·N(1, σ²) against N(0, σ²), whose Rényi "
            f"divergence of the whole order {order} is a binomial sum, and the larger of both "
            "directions. Divergences of the steps add up, and bound ε at δ."
        ),
        premises=premises,
        parameters=_table_parameters(training, printed, delta, Sampling.POISSON),
    )


def _table_parameters(
    training: Training, printed: Mapping[float, float], delta: float, sampling: Sampling
) -> PlainData:
    return training.parameters | {
        "noise_multiplier": list(printed),
        "epsilon": list(printed.values()),
        "delta": delta,
        "sampling": str(sampling),
        "relation": str(Relation.ZERO_OUT),
    }


def _shuffled_proof(training: Training, printed: Mapping[float, float], delta: float) -> Proof:
    """Return the proof that every printed ε is enough where each example enters once an epoch."""
    return Proof(
        method=ProofMethod.CLOSED_FORM,
        argument=(
            "An example enters one step an epoch, without amplification. Gaussian steps compose "
            "to one Gaussian pair, of shift μ = √epochs/σ."
        ),
        premises=tuple(
            at_most(
                f"δ({epsilon:g}) of the training with σ = {sigma:g} ≤ δ",
                partial(_shuffled_delta, training.epochs, sigma, epsilon),
                decimal(delta),
            )
            for sigma, epsilon in printed.items()
        ),
        parameters=_table_parameters(training, printed, delta, Sampling.SHUFFLED),
    )


def _shuffled_delta(epochs: int, noise_multiplier: float, epsilon: float) -> arb:
    return gaussian_delta(ball(epochs).sqrt() / ball(noise_multiplier), epsilon)


def _renyi_bound(
    rate: Fraction, noise_multiplier: float, steps: int, order: int, delta: float
) -> arb:
    divergence = sampled_renyi(rate, noise_multiplier, order)
    return renyi_epsilon(steps * divergence, order, decimal(delta))


def _range(found: Mapping[float, float], printed: Mapping[float, float]) -> str:
    ratios = [found[sigma] / printed[sigma] for sigma in printed]
    low, high = f"{min(ratios):.3g}", f"{max(ratios):.3g}"
    return low if low == high else f"{low} to {high}"


@paper.claim(
    "dpskin.rdp-total[epsilon]",
    "Theorem 2, last equation",
    Verdict.REFUTED,
    "A training is (ε, δ)-DP under Poisson sampling, with the ε that T epochs and the best order "
    "give.",
    "ε = T·q²α/(2σ²) + log(1/δ)/(α−1)",
    parameters=THESIS.parameters | {"delta": _DELTA},
    training=THESIS,
    delta=_DELTA,
)
def formula_budget(training: Training, *, delta: float) -> Computation:
    """Compute a training's ε, from below, against the thesis's last formula with T in epochs.

    ε = T·q²α/(2σ²) + log(1/δ)/(α−1), at its best order α, under Poisson sampling.
    """
    claimed, order = formula_epsilon(training, delta)
    guarantee = training.guarantee(sampling=Sampling.POISSON)
    value = guarantee.epsilon_below(delta)
    return Computation(
        quantity=Quantity.EPSILON,
        at={"delta": delta},
        detail="of the training",
        value=value,
        claimed=claimed,
        slack=guarantee.epsilon_at(delta) - value,
        witness=training.parameters | {"delta": delta, "alpha": order},
        note=(
            f"At its best order, α = {order:.4g}, the formula gives ε = {claimed:.4g}, a number "
            f"that the thesis does not print; the true ε lies between {value:.4g} and "
            f"{guarantee.epsilon_at(delta):.4g}, at least {value / claimed:.3g} times as much. The "
            f"ε that it prints for this σ, {_PRINTED[training.noise_multiplier]:g}, is that of a "
            "single Gaussian release, and holds (dpskin.epsilon-table, sampling=poisson)."
        ),
    )
