"""The thesis's trainings: the ε that it prints, and the ε that an accountant finds."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.extensions.audits import Accountant, Sampling, Training, accounted_epsilon
from dpcp_audit.extensions.claims import (
    Computation,
    Figure,
    FigureKind,
    Proof,
    ProofMethod,
    Quantity,
    Relation,
    Series,
    number,
)
from dpcp_audit.extensions.claims import validate as _validate
from dpcp_audit.extensions.laws import GaussianPair
from dpcp_audit.extensions.statistics import (
    all_at_most,
    at_most,
    ball,
    decimal,
    ends,
    gaussian_delta,
    renyi_epsilon,
    sampled_renyi,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flint import arb

    from dpcp_audit.extensions.claims import FloatArray, PlainData


_DIGIT = 1e-5
_ORDERS = (32, 64, 128, 160, 192, 224, 256)
"""Orders of Rényi divergences that bound ε; the best of them is shown."""
_WORDS = {Sampling.POISSON: "Poisson sampling", Sampling.SHUFFLED: "shuffled batches"}


def single_release_epsilon(noise_multiplier: float, delta: float) -> float:
    """Return √(2·log(1.25/δ))/σ, the classic ε of one Gaussian release."""
    _validate.positive(noise_multiplier=noise_multiplier)
    _validate.open_unit(delta=delta)
    return math.sqrt(2 * math.log(1.25 / delta)) / noise_multiplier


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
    return Computation(
        quantity=Quantity.DIFFERENCE,
        detail="the largest of a printed ε from √(2·log(1.25/δ))/σ",
        value=max(gaps.values()),
        lower=compared.left[0],
        upper=compared.left[1],
        claimed=_DIGIT,
        proof=Proof(
            method=ProofMethod.ENUMERATION,
            argument="Every printed pair of σ and ε is compared, as decimal numbers.",
            premises=(compared,),
            parameters={
                "noise_multiplier": list(printed),
                "epsilon": list(printed.values()),
                "delta": delta,
            },
        ),
        witness={"noise_multipliers": list(printed), "delta": delta},
        note="The number of steps, the sampling rate and the epochs enter none of them.",
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
    _validate.open_unit(delta=delta)
    found = {sigma: budget(training, sigma, delta=delta, sampling=sampling) for sigma in printed}
    sigma = max(printed, key=lambda s: found[s] / printed[s])
    worst = replace(training, noise_multiplier=sigma)
    poisson = sampling is Sampling.POISSON
    shift = math.sqrt(training.epochs) / sigma
    below = (
        worst.guarantee(sampling=sampling).epsilon_below(delta)
        if poisson
        else GaussianPair(shift).epsilon_at(delta)
    )
    substituted = worst.guarantee(sampling=sampling, relation=Relation.SUBSTITUTION)
    proof = (_poisson_proof if poisson else _shuffled_proof)(training, printed, delta)
    most = proof.premises[list(printed).index(sigma)].left[1] if poisson else printed[sigma]
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
            "printed one, which is that of a single Gaussian release. Where a person is replaced "
            f"and not zeroed out, ε is {substituted.epsilon_at(delta):.4g}."
        ),
        figures=(_table_figure(training, printed, delta),),
    )


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


@lru_cache(maxsize=256)
def budget(
    training: Training,
    noise_multiplier: float,
    *,
    delta: float,
    sampling: Sampling,
    accountant: Accountant = Accountant.PLD,
) -> float:
    """Return the accounted ε of a training with another noise multiplier, zero-out neighbours."""
    guarantee = replace(training, noise_multiplier=noise_multiplier).guarantee(sampling=sampling)
    return accounted_epsilon(guarantee, delta=delta, accountant=accountant)


def _table_figure(training: Training, printed: Mapping[float, float], delta: float) -> Figure:
    sigmas = sorted(printed)

    def accounted(sampling: Sampling, accountant: Accountant) -> list[float]:
        return [
            budget(training, sigma, delta=delta, sampling=sampling, accountant=accountant)
            for sigma in sigmas
        ]

    return Figure(
        kind=FigureKind.LINES,
        title=f"ε of {training.epochs} epochs at δ = {number(delta)}: printed and accounted",
        x_label="noise multiplier σ",
        y_label="ε",
        log_y=True,
        series=[
            Series(name="printed", x=sigmas, y=[printed[sigma] for sigma in sigmas]),
            Series(
                name="shuffled batches, PLD",
                x=sigmas,
                y=accounted(Sampling.SHUFFLED, Accountant.PLD),
            ),
            Series(
                name="Poisson sampling, RDP",
                x=sigmas,
                y=accounted(Sampling.POISSON, Accountant.RDP),
            ),
            Series(
                name="Poisson sampling, PLD",
                x=sigmas,
                y=accounted(Sampling.POISSON, Accountant.PLD),
            ),
        ],
        description=(
            "The table's ε beside that of the whole training: with batches of fixed size cut from "
            "shuffled data, which nothing amplifies, and with Poisson sampling, by two accountants."
        ),
    )


def budgets_map(
    trainings: Mapping[str, Training],
    printed: Mapping[float, float],
    *,
    delta: float,
    sampling: Sampling,
) -> Figure:
    """Return ε accounted over ε printed as a heat map: trainings in rows, σ in columns."""
    sigmas = sorted(printed)
    series: list[Series] = []
    for name, training in trainings.items():
        found = [budget(training, s, delta=delta, sampling=sampling) for s in sigmas]
        ratios = [e / printed[s] for e, s in zip(found, sigmas, strict=True)]
        series.append(
            Series(
                name=f"{name}, {training.epochs} epochs",
                x=sigmas,
                y=ratios,
                texts=[f"{e:.3g}" for e in found],
            )
        )
    return Figure(
        kind=FigureKind.HEATMAP,
        title=f"ε of every training of the table, {_WORDS[sampling]}",
        x_label="printed ε",
        y_label="",
        columns=[f"{printed[sigma]:g}" for sigma in sigmas],
        series=series,
        marks={"more than printed": 1.0},
        description=(
            "The accounted ε of each training (rows) at each printed ε (columns); the colour is "
            "their ratio."
        ),
    )


def formula_budget(training: Training, *, delta: float) -> Computation:
    """Compute a training's ε, from below, against the thesis's last formula with T in epochs.

    ε = T·q²α/(2σ²) + log(1/δ)/(α−1), at its best order α, under Poisson sampling.
    """
    claimed, order = _formula(training, delta)
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
            f"At its best order, α = {order:.4g}, the formula gives ε = {claimed:.4g}; the true ε "
            f"lies between {value:.4g} and {guarantee.epsilon_at(delta):.4g}, at least "
            f"{value / claimed:.3g} times as much."
        ),
        figures=(_epochs_figure(training, delta),),
    )


def _formula(training: Training, delta: float) -> tuple[float, float]:
    """Return the least T·q²α/(2σ²) + log(1/δ)/(α−1) over α > 1, and the order."""
    rate = training.epochs * training.sampling_rate**2 / (2 * training.noise_multiplier**2)
    excess = math.sqrt(math.log(1 / delta) / rate)
    return rate * (1 + excess) + math.log(1 / delta) / excess, 1 + excess


def _epochs_figure(training: Training, delta: float) -> Figure:
    epochs: Sequence[int] = (1, 3, 9, 20)
    trainings = [replace(training, epochs=count) for count in epochs]
    sigma = training.noise_multiplier
    curves: dict[str, FloatArray] = {
        "the formula, T in epochs": np.array([_formula(t, delta)[0] for t in trainings]),
        "Poisson sampling, from below": np.array(
            [t.guarantee(sampling=Sampling.POISSON).epsilon_below(delta) for t in trainings]
        ),
    }
    for name, sampling in (
        ("Poisson sampling, from above", Sampling.POISSON),
        ("shuffled batches", Sampling.SHUFFLED),
    ):
        curves[name] = np.array(
            [budget(t, sigma, delta=delta, sampling=sampling) for t in trainings]
        )
    return Figure(
        kind=FigureKind.LINES,
        title=f"ε over epochs at δ = {number(delta)}, σ = {sigma:g}: the formula and the "
        "accountants",
        x_label="epochs",
        y_label="ε",
        log_x=True,
        log_y=True,
        series=[
            Series(name=name, x=[float(count) for count in epochs], y=values.tolist())
            for name, values in curves.items()
        ],
        description=(
            "What the thesis's formula says of a training of so many epochs, and what accountants "
            "find: with Poisson sampling between two bounds, with shuffled batches exactly."
        ),
    )
