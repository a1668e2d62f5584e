"""Settings, networks and examples: what they hold, and what they refuse."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

from dpcp_ledger.mechanisms import thesis_training
from dpcp_ledger.training import linear, networks
from dpcp_ledger.training.dpsgd import train
from dpcp_ledger.training.examples import DPSGD, SGD, Examples, Flaw, Poisson, digits

GOOD = {"sampling": Poisson(0.1), "lot_size": 4, "steps": 3, "noise_multiplier": 1.0}


class TestSettings:
    @pytest.mark.parametrize("rate", [0, -0.1, 1.5, math.nan, "0.1", None])
    def test_rates(self, rate) -> None:
        with pytest.raises(ValueError, match="rate must"):
            Poisson(rate)
        assert Poisson(1.0).rate == 1

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"sampling": 0.1}, "sampling must be Poisson, got 0.1"),
            ({"lot_size": 0}, "lot_size must be an integer >= 1, got 0"),
            ({"lot_size": 2.5}, "lot_size must be an integer, got 2.5"),
            ({"steps": 0}, "steps must be an integer >= 1"),
            ({"noise_multiplier": -1}, "noise_multiplier must be finite and >= 0"),
            ({"noise_multiplier": math.nan}, "noise_multiplier must be a number"),
            ({"clip_norm": 0}, "clip_norm must be finite and > 0, got 0"),
            ({"clip_norm": math.nan}, "clip_norm must be a number"),
            ({"clip_norm": "1"}, "clip_norm must be a number"),
            ({"clip_norm": math.inf}, "noise_multiplier must be 0 where clip_norm is infinite"),
            ({"learning_rate": 0}, "learning_rate must be finite and > 0"),
            ({"optimiser": "adam"}, "optimiser must be SGD or Adam, got 'adam'"),
            ({"clipping": "flat"}, "clipping must be a Clipping"),
            ({"flaw": "none"}, "flaw must be a Flaw"),
            ({"flaw": Flaw.UNNOISED_MOMENTS, "optimiser": SGD()}, "optimiser must be Adam"),
        ],
    )
    def test_bad_settings_are_named(self, changes, message) -> None:
        DPSGD(**GOOD)
        with pytest.raises(ValueError, match=message):
            DPSGD(**GOOD | changes)


class TestNetworks:
    @pytest.mark.parametrize(
        ("network", "shape", "size"),
        [
            (networks.logistic(7, 3), (7,), 7 * 3 + 3),
            (networks.head(7, 3), (7,), 7 * 28 + 28 + 28 * 3 + 3),
            (networks.small_cnn(3, 3), (3, 4, 4), 27 * 16 + 16 + 144 * 32 + 32 + 128 * 3 + 3),
            (thesis_training.resnet18(3, 3), (3, 32, 32), 11_168_832 + 512 * 3 + 3),
        ],
    )
    def test_they_give_a_logit_for_each_class(self, network, shape, size) -> None:
        assert network(torch.zeros(2, *shape)).shape == (2, 3)
        assert sum(p.numel() for p in network.parameters()) == size

    def test_the_resnet_has_no_batch_normalisation(self) -> None:
        kinds = [type(part).__name__ for part in thesis_training.resnet18(1, 2, width=16).modules()]
        assert kinds.count("GroupNorm") == 20
        assert kinds.count("Conv2d") == 20
        assert not [kind for kind in kinds if "BatchNorm" in kind]

    def test_a_step_of_the_resnet_is_taken(self) -> None:
        pictures = Examples(
            inputs=np.random.default_rng(0).normal(size=(2, 3, 8, 8)),
            labels=np.array([0, 1]),
            n_classes=2,
        )
        one = DPSGD(**GOOD | {"sampling": Poisson(1.0), "steps": 1, "noise_multiplier": 0.0})
        steps = []
        network = thesis_training.resnet18(3, 2, width=16)
        train(network, pictures, one, rng=0, observer=steps.append)
        length = float((steps[0].after - steps[0].before).norm())
        assert 0 < length <= one.learning_rate * 2 * one.clip_norm / one.lot_size * (1 + 1e-4)

    def test_only_stacks_of_linear_layers_go_without_gradients_of_examples(self) -> None:
        twice = nn.Linear(3, 3)
        assert linear.stack_of(networks.logistic(3, 2)) is not None
        assert linear.stack_of(networks.head(3, 2)) is not None
        for other in (
            networks.small_cnn(1, 2),
            nn.ReLU(),
            nn.Sequential(twice, nn.ReLU(), twice),
            nn.Sequential(nn.Linear(3, 3), nn.ReLU(inplace=True), nn.Linear(3, 2)),
            nn.Sequential(nn.Linear(3, 3), nn.Softmax(dim=1)),
            nn.Sequential(nn.Sequential(nn.Linear(3, 2))),
        ):
            assert linear.stack_of(other) is None

    def test_layers_in_place_and_tied_layers_are_trained(self) -> None:
        tied = nn.Linear(64, 64)
        steps = DPSGD(**GOOD | {"noise_multiplier": 0.0, "steps": 20, "lot_size": 20})
        for module in (
            nn.Sequential(nn.Linear(64, 9), nn.ReLU(inplace=True), nn.Linear(9, 10)),
            nn.Sequential(tied, nn.Tanh(), tied, nn.Linear(64, 10)),
        ):
            trained = train(module, digits().take(np.arange(200)), steps, rng=0)
            assert trained.accuracy(digits())[0] > 0.2


class TestExamples:
    @pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int32, np.uint8])
    def test_real_numbers_become_float32(self, dtype) -> None:
        given = np.arange(6, dtype=dtype)[::-1].reshape(3, 2)
        given.flags.writeable = False
        data = Examples(inputs=given, labels=np.array([0, 1, 0], dtype=np.uint8), n_classes=2)
        assert data.inputs.dtype == np.float32
        assert data.labels.dtype == np.int64
        np.testing.assert_array_equal(data.inputs, given)
        train(networks.logistic(2, 2), data, DPSGD(**GOOD), rng=0)

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"inputs": np.zeros(3)}, r"inputs must have shape \(n, ...\), got shape \(3,\)"),
            ({"inputs": np.zeros((3, 0))}, "inputs must have shape"),
            ({"inputs": np.full((3, 2), np.nan)}, "inputs must be finite in float32, got .nan"),
            ({"inputs": np.full((3, 2), 1e300)}, r"finite in float32, got \[1\.e\+300"),
            ({"inputs": np.full((3, 2), "a")}, "inputs must be real numbers, got <U1"),
            ({"inputs": np.zeros((3, 2), dtype=complex)}, "real numbers, got complex128"),
            ({"labels": np.array([0, 1])}, r"labels must have shape \(3,\), got shape \(2,\)"),
            ({"labels": np.array([0, 1, 2])}, r"labels must lie in 0\.\.1"),
            ({"labels": np.array([0.0, 1, 1])}, "labels must hold integers"),
            ({"n_classes": 1}, "n_classes must be an integer >= 2"),
        ],
    )
    def test_bad_ones_are_refused(self, changes, message) -> None:
        good = {"inputs": np.zeros((3, 2)), "labels": np.array([0, 1, 1]), "n_classes": 2}
        Examples(**good)
        with pytest.raises(ValueError, match=message):
            Examples(**good | changes)

    def test_some_are_taken_and_others_joined(self) -> None:
        data = digits()
        assert (len(data), data.n_classes, data.inputs.shape[1:]) == (1797, 10, (64,))
        assert data.inputs.min() == 0
        assert data.inputs.max() == 1
        fives = data.take(data.labels == 5)
        assert set(fives.labels.tolist()) == {5}
        both = fives.joined(data.take(np.array([0])))
        assert len(both) == len(fives) + 1
        assert both.labels[-1] == data.labels[0]
