"""The reference training held against Opacus."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
import torch
from opacus import GradSampleModule
from opacus.optimizers import DPOptimizer, DPPerLayerOptimizer
from torch import nn
from torch.nn.functional import cross_entropy

from dpcp_ledger.training import networks
from dpcp_ledger.training.examples import Clipping, Examples, digits
from dpcp_ledger.training.gradients import FlatModel, clipped_sum
from dpcp_ledger.training.networks import _Block

DIGITS = digits().take(np.arange(40))
PICTURES = Examples(
    inputs=DIGITS.inputs.reshape(-1, 1, 8, 8), labels=DIGITS.labels, n_classes=DIGITS.n_classes
)


def residual() -> nn.Module:
    return nn.Sequential(_Block(1, 16, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))


def without_bias() -> nn.Module:
    """A layer is one tensor here, so that Opacus's clipping by tensors is clipping by layers."""
    return nn.Sequential(
        nn.Linear(64, 9, bias=False), nn.Tanh(), nn.Linear(9, 5, bias=False), nn.ReLU(),
        nn.Linear(5, 10, bias=False),
    )  # fmt: skip


def sum_by_opacus(module: nn.Module, data: Examples, limit: float, clip: Clipping) -> torch.Tensor:
    wrapped = GradSampleModule(copy.deepcopy(module))
    plain = torch.optim.SGD(wrapped.parameters(), lr=1.0)
    common = {"noise_multiplier": 0.0, "expected_batch_size": 1}
    if clip is Clipping.FLAT:
        optimiser = DPOptimizer(plain, max_grad_norm=limit, **common)
    else:
        tensors = len(list(module.parameters()))
        optimiser = DPPerLayerOptimizer(
            plain, max_grad_norm=[limit / math.sqrt(tensors)] * tensors, **common
        )
    logits = wrapped(torch.tensor(data.inputs).requires_grad_())
    cross_entropy(logits, torch.tensor(data.labels)).backward()
    optimiser.clip_and_accumulate()
    return torch.cat([p.summed_grad.reshape(-1) for p in wrapped.parameters()])


@pytest.mark.parametrize(
    ("module", "data", "clip"),
    [
        (networks.logistic(64, 10), DIGITS, Clipping.FLAT),
        (networks.head(64, 10, dropout=0.0), DIGITS, Clipping.FLAT),
        (residual(), PICTURES, Clipping.FLAT),
        (nn.Linear(64, 10, bias=False), DIGITS, Clipping.PER_LAYER),
        (without_bias(), DIGITS, Clipping.PER_LAYER),
    ],
)
@pytest.mark.parametrize("limit", [0.05, 1.0, 1e4])
def test_the_clipped_sums_are_those_of_opacus(module, data, clip, limit) -> None:
    """To 1e-6 of C an example: Opacus's factor has 1e-6 beside the norm."""
    model = FlatModel(module)
    flat = torch.cat([p.detach().reshape(-1) for p in module.parameters()]).unsqueeze(0)
    lot = (
        torch.tensor(data.inputs).unsqueeze(0),
        torch.tensor(data.labels).unsqueeze(0),
        torch.ones(1, len(data)),
    )
    opacus = sum_by_opacus(module, data, limit, clip)
    ours = clipped_sum(model, flat, lot, clip=clip, limit=limit)[0]
    assert float(opacus.norm()) > 1e-3
    np.testing.assert_allclose(ours, opacus, rtol=1e-5, atol=1e-6 * min(limit, 1) * len(data))
