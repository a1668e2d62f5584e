"""Settings, networks and examples: what they hold, and what they refuse."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from dpcp_ledger.training import networks
from dpcp_ledger.training.examples import DPSGD, SGD, Flaw, Poisson, digits

GOOD = {"sampling": Poisson(0.1), "lot_size": 4, "steps": 3, "noise_multiplier": 1.0}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"clip_norm": math.inf}, "noise_multiplier must be 0 where clip_norm is infinite"),
        ({"flaw": Flaw.UNNOISED_MOMENTS, "optimiser": SGD()}, "optimiser must be Adam"),
    ],
)
def test_settings_that_contradict_each_other_are_named(changes, message) -> None:
    DPSGD(**GOOD)
    with pytest.raises(ValueError, match=message):
        DPSGD(**GOOD | changes)


@pytest.mark.parametrize(
    ("network", "shape", "size"),
    [
        (networks.logistic(7, 3), (7,), 7 * 3 + 3),
        (networks.head(7, 3), (7,), 7 * 28 + 28 + 28 * 3 + 3),
        (networks.resnet18(3, 3), (3, 32, 32), 11_168_832 + 512 * 3 + 3),
    ],
)
def test_networks_give_a_logit_for_each_class(network, shape, size) -> None:
    assert network(torch.zeros(2, *shape)).shape == (2, 3)
    assert sum(p.numel() for p in network.parameters()) == size


def test_the_resnet_has_no_batch_normalisation() -> None:
    kinds = [type(part).__name__ for part in networks.resnet18(1, 2, width=16).modules()]
    assert kinds.count("GroupNorm") == 20
    assert kinds.count("Conv2d") == 20
    assert not [kind for kind in kinds if "BatchNorm" in kind]


def test_some_examples_are_taken_and_others_joined() -> None:
    data = digits()
    assert (len(data), data.n_classes, data.inputs.shape[1:]) == (1797, 10, (64,))
    assert data.inputs.min() == 0
    assert data.inputs.max() == 1
    fives = data.take(data.labels == 5)
    assert set(fives.labels.tolist()) == {5}
    both = fives.joined(data.take(np.array([0])))
    assert len(both) == len(fives) + 1
    assert both.labels[-1] == data.labels[0]
    assert both.inputs.dtype == np.float32
