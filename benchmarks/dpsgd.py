"""Time DP-SGD: models side by side against one by one, and clipped sums against Opacus's.

    python benchmarks/dpsgd.py [--check]

Every ratio's sides take turns in one process. ``--check`` exits with 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from dpcp_ledger.training import networks
from dpcp_ledger.training.dpsgd import train
from dpcp_ledger.training.examples import DPSGD, Clipping, Poisson, digits
from dpcp_ledger.training.gradients import FlatModel, clipped_sum, linear_layers, linear_sum

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor, nn

    from dpcp_ledger.training.examples import Examples

REPEATS = 3
REPLICAS, STEPS, LOT, LIMIT = 64, 20, 64, 1.0
DIGITS = digits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """How many times as long the first side takes, and the least that it should."""

    name: str
    ours: float
    theirs: float
    at_least: float = 0.0

    @property
    def met(self) -> bool:
        """Whether the target is kept."""
        return self.theirs / self.ours >= self.at_least

    def __str__(self) -> str:
        target = f">= {self.at_least:<4g}" + ("met" if self.met else "MISSED")
        return (
            f"{self.name:<58} {self.theirs / self.ours:7.2f} "
            f"{target if self.at_least else '':<14} "
            f"{self.theirs * 1e3:.2f} ms / {self.ours * 1e3:.2f} ms"
        )


def fastest(*work: Callable[[], object]) -> list[float]:
    """Return each callable's best time in seconds, taking turns so that all share the weather."""
    times = np.empty((REPEATS, len(work)))
    for row in times:
        for i, call in enumerate(work):
            start = time.perf_counter()
            call()
            row[i] = time.perf_counter() - start
    return [float(best) for best in times.min(axis=0)]


def side_by_side(name: str, module: nn.Module, data: Examples) -> Figure:
    """Compare training R models at once with training them one after the other."""
    settings = DPSGD(
        sampling=Poisson(LOT / len(data)), lot_size=LOT, steps=STEPS, noise_multiplier=1.0
    )

    def together() -> object:
        return train(module, data, settings, rng=0, replicas=REPLICAS)

    def alone() -> object:
        return train(module, data, settings, rng=0)

    ours, theirs = fastest(together, alone)
    return Figure(
        name=f"{name}: {REPLICAS} models one by one / side by side",
        ours=ours,
        theirs=theirs * REPLICAS,
        at_least=4.0 if name == "logistic regression" else 0.0,
    )


def steps_of(name: str, module: nn.Module, data: Examples) -> list[Figure]:
    """Compare a clipped sum by the linear rule, by ``vmap(grad)`` and by Opacus."""
    part = data.take(np.arange(LOT))
    inputs = torch.tensor(part.inputs)
    labels = torch.tensor(part.labels)
    lot = (inputs[None], labels[None], torch.ones(1, LOT))
    flat = torch.cat([p.detach().reshape(-1) for p in module.parameters()])[None]
    model, layers = FlatModel(module), linear_layers(module) or ()

    def mapped() -> Tensor:
        return clipped_sum(model, flat, lot, clip=Clipping.FLAT, limit=LIMIT)

    def by_the_rule() -> Tensor:
        return linear_sum(layers, flat, lot, clip=Clipping.FLAT, limit=LIMIT)

    ours, by_map, opacus = fastest(by_the_rule, mapped, by_opacus(module, inputs, labels))
    return [
        Figure(name=f"{name}: vmap(grad) / linear rule", ours=ours, theirs=by_map, at_least=2.0),
        Figure(name=f"{name}: Opacus / linear rule", ours=ours, theirs=opacus, at_least=1.5),
    ]


def by_opacus(module: nn.Module, inputs: Tensor, labels: Tensor) -> Callable[[], object]:
    """Return Opacus's clipped sum of the same lot."""
    from opacus import GradSampleModule  # noqa: PLC0415  (slow to import)
    from opacus.optimizers import DPOptimizer  # noqa: PLC0415  (slow to import)

    wrapped = GradSampleModule(deepcopy(module))
    optimiser = DPOptimizer(
        torch.optim.SGD(wrapped.parameters(), lr=1.0),
        noise_multiplier=0.0,
        max_grad_norm=LIMIT,
        expected_batch_size=LOT,
    )

    def step() -> None:
        optimiser.zero_grad()
        loss: Any = cast("Any", cross_entropy(wrapped(inputs.requires_grad_()), labels))
        loss.backward()
        optimiser.clip_and_accumulate()

    return step


def main() -> int:
    """Print the figures; return 1 where ``--check`` is given and a target is missed."""
    parser = argparse.ArgumentParser(description="Time DP-SGD.")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a target is missed")
    options = parser.parse_args()
    subjects: list[tuple[str, Callable[[], nn.Module], Examples]] = [
        ("logistic regression", lambda: networks.logistic(64, 10), DIGITS),
        ("head", lambda: networks.head(64, 10, dropout=0.0), DIGITS),
    ]
    figures = [side_by_side(name, build(), data) for name, build, data in subjects]
    for name, build, data in subjects:
        figures += steps_of(name, build(), data)
    print(f"digits, lots of {LOT}, {STEPS} steps, {torch.get_num_threads()} threads")
    for figure in figures:
        print(figure)
    return int(options.check and not all(figure.met for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
