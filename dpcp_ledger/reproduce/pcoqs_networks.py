"""P-COQS, Figures 1 to 3: calibration of networks with and without private training, in kind."""

from __future__ import annotations

import importlib.util
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpcp_audit.extensions.laws import Dataset, Pool, hps
from dpcp_audit.extensions.mechanisms import (
    PCOQS,
    Network,
    SplitConformal,
    dpsgd_pool,
    tuned_exponq,
)
from dpcp_ledger.reproduce.simulation_study import stream
from dpcp_ledger.reproduce.table_cells import Experiment, Inputs, ReproducedNumber, TableCell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcp_audit.extensions.claims import FloatArray
    from dpcp_audit.extensions.laws import Population, ProbabilityPool
    from dpcp_audit.extensions.mechanisms import ExponQ


_ALPHA, _EPSILON, _MODEL_EPSILON, _MODEL_DELTA = 0.1, 1.0, 8.0, 1e-5
_METHODS = ("Standard", "ExponQ", "P-COQS")
_IN_KIND = (
    "In kind: neither the data nor the models are at hand. The networks are trained on half of "
    "scikit-learn's digits by DP-Adam at ε = 8, δ = 1e-5 (zero-out neighbours, Poisson lots, "
    "accounted by PLD), or without noise and clipping; calibration scores, 1 − p_y, are drawn "
    "with replacement from the other half, and coverage and set sizes are over all of it. "
    "--pool FILE.npz (probabilities and labels) adds models of your own."
)
_TUNED = (
    "ExponQ has the corrected normaliser, and m and γ chosen without a look at the data, at the "
    "same ε (1 where none is named); P-COQS has ρ = ε²/2."
)
_NO_NUMBERS = "The figure prints no numbers; the text gives accuracies, {printed}."
_BUDGETS = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)
"""The ε of Figure 2; the paper names none of its own."""
_IMAGENET = (
    "In kind: a ResNet-152's scores on ImageNet are not at hand. --pool FILE.npz (probabilities "
    "and labels of its 50,000 validation images) takes the place of scikit-learn's digits; "
    "n = 30,000 calibration scores, 1 − p_y, are drawn with replacement, and coverage and set "
    "sizes are over all. The figure prints no numbers, and the text not the ε."
)
_MISSING = "Needs PyTorch: pip install 'dpcp-audit[dpsgd]'"


class _Figure(NamedTuple):
    """A figure of the paper, and what stands in for its network."""

    number: int
    data: str
    network: Network
    n: int
    printed: str


_FIGURES = (
    _Figure(
        1, "CIFAR-10", Network.CNN, 5000, "0.77 without and 0.60 with DP (a convolutional network)"
    ),
    _Figure(
        3,
        "CoronaHack",
        Network.LOGISTIC,
        1000,
        "0.70 without and 0.64 with DP (the last layer of a ResNet-18)",
    ),
)


def experiments() -> tuple[Experiment, ...]:
    """Return Figures 1 to 3."""
    first, third = (_experiment(figure) for figure in _FIGURES)
    return (first, _imagenet(), third)


def _imagenet() -> Experiment:
    return Experiment(
        id="pcoqs-figure-2",
        title="A network at several budgets of calibration, in kind for ImageNet",
        source="P-COQS, Figure 2",
        compute=lambda inputs: [
            cell
            for build in inputs.pools
            for epsilon in _BUDGETS
            for cell in _pool_cells(build(), 30_000, inputs, epsilon=epsilon)
        ],
        notes=(_IMAGENET, _TUNED),
    )


def _experiment(figure: _Figure) -> Experiment:
    return Experiment(
        id=f"pcoqs-figure-{figure.number}",
        title=f"Networks with and without DP training, in kind for {figure.data}",
        source=f"P-COQS, Figure {figure.number}",
        compute=lambda inputs: list(_cells(figure, inputs)),
        notes=(_IN_KIND, _TUNED, _NO_NUMBERS.format(printed=figure.printed)),
    )


def _cells(figure: _Figure, inputs: Inputs) -> Iterator[TableCell]:
    if importlib.util.find_spec("torch") is None:
        for how in ("without DP", "with DP"):
            for method in _METHODS:
                yield TableCell(
                    row=f"{figure.network} {how}, {method}", column="coverage", note=_MISSING
                )
    else:
        for epsilon in (math.inf, _MODEL_EPSILON):
            pool = dpsgd_pool(Dataset.DIGITS, figure.network, epsilon=epsilon, delta=_MODEL_DELTA)
            yield from _pool_cells(pool, figure.n, inputs)
    for build in inputs.pools:
        yield from _pool_cells(build(), figure.n, inputs)


def _pool_cells(
    pool: ProbabilityPool, n: int, inputs: Inputs, *, epsilon: float | None = None
) -> Iterator[TableCell]:
    """Yield the cells of a pool; where ε is given, the rows name it."""
    name = pool.name if epsilon is None else f"{pool.name}, ε = {epsilon:g}"
    budget = _EPSILON if epsilon is None else epsilon
    scores = hps(pool.probabilities)
    true = Pool(scores[np.arange(pool.labels.size), pool.labels], pool.name)
    every = Pool(scores.ravel(), pool.name)
    first, second = (Pool(column, pool.name) for column in np.sort(scores, axis=1)[:, :2].T)
    accuracy = float((pool.probabilities.argmax(axis=1) == pool.labels).mean())
    yield TableCell(row=name, column="accuracy", as_written=ReproducedNumber(value=accuracy))
    for method in _METHODS:
        rng = stream(inputs.seed, "networks", name, method, n)
        threshold = _thresholds(method, true, n, inputs.trials, rng, epsilon=budget)
        found = {
            "coverage": true.cdf(threshold),
            "size": scores.shape[1] * every.cdf(threshold),
            "informativeness": first.cdf(threshold) - second.cdf(threshold),
        }
        for column, values in found.items():
            yield TableCell(
                row=f"{name}, {method}", column=column, as_written=ReproducedNumber.of(values)
            )


def _thresholds(
    method: str,
    population: Population,
    n: int,
    trials: int,
    rng: np.random.Generator,
    *,
    epsilon: float,
) -> FloatArray:
    calibrators: dict[str, SplitConformal | ExponQ | PCOQS] = {
        "Standard": SplitConformal(alpha=_ALPHA),
        "ExponQ": tuned_exponq(epsilon, n=n, alpha=_ALPHA),
        "P-COQS": PCOQS(alpha=_ALPHA, rho=epsilon**2 / 2),
    }
    return calibrators[method].trials(population, n=n, trials=trials, rng=rng).threshold
