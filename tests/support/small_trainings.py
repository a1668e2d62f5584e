"""Small data and networks to train by DP-SGD."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcp_ledger.training import networks
from dpcp_ledger.training.examples import DPSGD, Examples, Poisson
from dpcp_ledger.training.gradients import FlatModel

if TYPE_CHECKING:
    from torch import nn

RNG = np.random.default_rng(1)
N, FEATURES, CLASSES = 12, 5, 3
DATA = Examples(
    inputs=RNG.normal(size=(N, FEATURES)).astype(np.float32),
    labels=RNG.integers(CLASSES, size=N),
    n_classes=CLASSES,
)
POISSON = Poisson(0.4)


def settings(**changes: object) -> DPSGD:
    return DPSGD(
        **{
            "sampling": POISSON,
            "lot_size": 4,
            "steps": 5,
            "noise_multiplier": 0.7,
            "clip_norm": 0.6,
            "learning_rate": 0.3,
        }
        | changes
    )


def head() -> nn.Module:
    return networks.head(FEATURES, CLASSES, hidden=4, dropout=0.0)


def beginning(module: nn.Module) -> np.ndarray:
    return np.random.default_rng(2).normal(size=FlatModel(module).size) / 3
