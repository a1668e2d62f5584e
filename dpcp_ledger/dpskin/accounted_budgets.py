"""The ε that accountants find of the thesis's trainings, as numbers and as figures."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dpcp_audit.extensions.claims import (
    Figure,
    FigureKind,
    Series,
    number,
)
from dpcp_ledger.dpskin.accountants import Accountant, Sampling, Training, accounted_epsilon

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpcp_audit.extensions.claims import FloatArray


_WORDS = {Sampling.POISSON: "Poisson sampling", Sampling.SHUFFLED: "shuffled batches"}


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


def table_figure(training: Training, printed: Mapping[float, float], delta: float) -> Figure:
    """Return the printed ε of a training, and that of accountants, over σ."""
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


def formula_epsilon(training: Training, delta: float) -> tuple[float, float]:
    """Return the least T·q²α/(2σ²) + log(1/δ)/(α−1) over α > 1, and the order."""
    rate = training.epochs * training.sampling_rate**2 / (2 * training.noise_multiplier**2)
    excess = math.sqrt(math.log(1 / delta) / rate)
    return rate * (1 + excess) + math.log(1 / delta) / excess, 1 + excess


def epochs_figure(training: Training, delta: float) -> Figure:
    """Return the ε of the thesis's formula, and that of accountants, over epochs."""
    epochs: Sequence[int] = (1, 3, 9, 20)
    trainings = [replace(training, epochs=count) for count in epochs]
    sigma = training.noise_multiplier
    curves: dict[str, FloatArray] = {
        "the formula, T in epochs": np.array([formula_epsilon(t, delta)[0] for t in trainings]),
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
