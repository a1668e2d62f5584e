"""DP-SGD and DP-Adam against a plain float64 loop, and what a training leaves as it was."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
import torch
from support.plain_dpsgd import plain_train
from support.small_trainings import (
    CLASSES,
    DATA,
    FEATURES,
    POISSON,
    RNG,
    N,
    beginning,
    head,
    settings,
)
from torch import nn

from dpcp_ledger.training import gradients, networks
from dpcp_ledger.training.dpsgd import train
from dpcp_ledger.training.examples import (
    DPSGD,
    SGD,
    Adam,
    Augmentation,
    Clipping,
    Examples,
    Flaw,
    Poisson,
)
from dpcp_ledger.training.gradients import FlatModel, clipped_sum
from dpcp_ledger.training.networks import resnet18

IMAGES = Examples(
    inputs=RNG.normal(size=(N, 1, 4, 4)).astype(np.float32), labels=DATA.labels, n_classes=CLASSES
)
MEMBERS = np.ones((2, N), dtype=np.bool_)
MEMBERS[1, ::3] = False
ONE = IMAGES.take(np.array([0]))
MIRRORED = Augmentation.MIRRORED
ADAM = Adam(beta1=0.8, beta2=0.9, smoothing=1e-3)


def against_the_plain_loop(module: nn.Module, data: Examples, chosen: DPSGD) -> None:
    start = beginning(module)
    ours = train(module, data, chosen, rng=7, members=MEMBERS, initial=start)
    plain = plain_train(module, data, chosen, seed=7, initial=start, members=MEMBERS)
    np.testing.assert_allclose(ours.parameters.numpy(), plain.numpy(), rtol=1e-4, atol=1e-5)


class TestAlgorithms:
    @pytest.mark.parametrize("clipping", list(Clipping))
    @pytest.mark.parametrize("optimiser", [SGD(), ADAM])
    @pytest.mark.parametrize("network", [head, lambda: networks.logistic(FEATURES, CLASSES)])
    def test_every_line_is_the_printed_one(self, clipping, optimiser, network) -> None:
        chosen = settings(clipping=clipping, optimiser=optimiser)
        against_the_plain_loop(network(), DATA, chosen)

    def test_infinite_clipping_norm_is_training_without_privacy(self) -> None:
        against_the_plain_loop(head(), DATA, settings(clip_norm=math.inf, noise_multiplier=0))

    @pytest.mark.parametrize(
        ("flaw", "optimiser"),
        [
            *((flaw, SGD()) for flaw in Flaw if flaw is not Flaw.UNNOISED_MOMENTS),
            *((flaw, ADAM) for flaw in Flaw),
        ],
    )
    def test_a_flaw_is_what_it_says(self, flaw, optimiser) -> None:
        against_the_plain_loop(head(), DATA, settings(flaw=flaw, optimiser=optimiser))

    def test_lots_may_all_be_empty(self) -> None:
        start, chosen = beginning(head()), settings(sampling=Poisson(1e-9), noise_multiplier=0)
        left = train(head(), DATA, chosen, rng=0, replicas=2, initial=start)
        np.testing.assert_array_equal(left.parameters, np.float32([start, start]))

    def test_a_replica_without_members_gets_noise_alone(self) -> None:
        start = beginning(head())
        nobody = np.zeros((1, N), dtype=np.bool_)
        left = train(head(), DATA, settings(noise_multiplier=0), members=nobody, initial=start)
        np.testing.assert_array_equal(left.parameters.cpu()[0], np.float32(start))

    def test_noise_scales_with_the_clipping_norm(self) -> None:
        chosen = settings(noise_multiplier=2.0, clip_norm=3.0)
        assert chosen.noise_scale == 6.0
        assert settings(noise_multiplier=2.0, flaw=Flaw.HALF_NOISE).noise_scale == 0.6


class TestAugmentation:
    @pytest.mark.statistical(false_alarm=1e-8)
    def test_each_replica_mirrors_each_image_by_a_coin_of_its_own(self) -> None:
        """Of 400 fair coins between 140 and 260 fall on one side but with probability 1e-9."""
        module = nn.Sequential(nn.Flatten(), nn.Linear(16, CLASSES, bias=False))
        chosen = settings(
            sampling=Poisson(1.0), steps=1, noise_multiplier=0.0, augmentation=MIRRORED
        )
        steps = []
        train(module, ONE, chosen, rng=3, replicas=400, observer=steps.append)
        moved = (steps[0].after - steps[0].before).reshape(400, CLASSES, 16)[:, 0]
        directions = moved / moved.norm(dim=1, keepdim=True)
        image = torch.tensor(ONE.inputs[0])
        sides = [view.reshape(16) / view.norm() for view in (image, image.flip(-1))]
        shown = torch.stack([(directions @ side).abs() > 1 - 1e-5 for side in sides])
        assert (shown.sum(dim=0) == 1).all()
        assert 140 < int(shown[1].sum()) < 260


class TestRandomness:
    def test_same_seed_same_result(self) -> None:
        first, again, other = (
            train(
                networks.head(FEATURES, CLASSES), DATA, settings(), rng=seed, replicas=3
            ).parameters
            for seed in (5, 5, 6)
        )
        assert torch.equal(first, again)
        assert not torch.equal(first, other)

    def test_replicas_have_lots_noise_and_beginnings_of_their_own(self) -> None:
        full = settings(sampling=Poisson(1.0), noise_multiplier=0, learning_rate=1e-9, steps=1)
        drawn = train(head(), DATA, full, rng=0, replicas=2).parameters
        assert not torch.allclose(drawn[0], drawn[1])
        for sampling, sigma in ((POISSON, 0.0), (Poisson(1.0), 1.0)):
            chosen = settings(sampling=sampling, noise_multiplier=sigma)
            start = beginning(head())
            left = train(head(), DATA, chosen, rng=0, replicas=2, initial=start).parameters
            assert not torch.allclose(left[0], left[1])

    def test_lots_do_not_depend_on_the_noise(self) -> None:
        """The noise of σ and of 2σ differ by a factor where gradients are zero: same lots."""
        still = Examples(inputs=np.zeros((N, FEATURES)), labels=DATA.labels, n_classes=CLASSES)
        module = nn.Linear(FEATURES, CLASSES, bias=False)
        start = beginning(module)
        once, twice = (
            train(
                module, still, settings(noise_multiplier=sigma), rng=3, initial=start
            ).parameters.numpy()
            - start
            for sigma in (1.0, 2.0)
        )
        np.testing.assert_allclose(twice, 2 * once, rtol=1e-4, atol=1e-6)

    def test_global_generators_are_left_as_they_were(self) -> None:
        module = networks.head(FEATURES, CLASSES, dropout=0.5)
        before, legacy = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
        train(module, DATA, settings(), rng=0)
        assert torch.equal(torch.get_rng_state(), before)
        np.testing.assert_array_equal(np.random.get_state()[1], legacy)  # noqa: NPY002

    def test_dropout_is_on_in_training_and_off_after(self) -> None:
        module = networks.head(FEATURES, CLASSES, hidden=16, dropout=0.5)
        start = beginning(module)
        full = settings(sampling=Poisson(1.0), noise_multiplier=0, steps=1)
        left = train(module, DATA, full, rng=0, replicas=2, initial=start)
        assert not torch.allclose(left.parameters[0], left.parameters[1])
        np.testing.assert_array_equal(left.logits(DATA.inputs), left.logits(DATA.inputs))

    def test_dropout_differs_between_examples_and_replicas(self) -> None:
        inner = nn.Sequential(nn.Linear(FEATURES, 40), nn.Dropout(0.5), nn.Linear(40, CLASSES))
        model = FlatModel(nn.Sequential(inner))
        alike = torch.tensor(beginning(model.module), dtype=torch.float32).expand(2, -1)
        inputs = torch.ones(2, 3, FEATURES)
        of_pairs = model.gradients(alike, inputs, torch.zeros(2, 3, dtype=torch.int64))
        for first, second in combinations(of_pairs.flatten(0, 1), 2):
            assert not torch.allclose(first, second)

    def test_a_lot_is_summed_in_parts(self, monkeypatch) -> None:
        model = FlatModel(nn.Sequential(nn.Flatten(), nn.Linear(16, CLASSES)))
        flat, weights = model.initial(2), torch.tensor(MEMBERS, dtype=torch.float32)
        inputs = torch.tensor(IMAGES.inputs).expand(2, -1, -1, -1, -1)
        lot = (inputs, torch.tensor(IMAGES.labels).expand(2, -1), weights)
        whole = clipped_sum(model, flat, lot, clip=Clipping.FLAT, limit=1.0)
        monkeypatch.setattr(gradients, "_FLOATS_AT_ONCE", 5 * flat.numel())
        parts = clipped_sum(model, flat, lot, clip=Clipping.FLAT, limit=1.0)
        np.testing.assert_allclose(parts, whole, rtol=1e-4, atol=1e-6)


class TestTheCallersNetwork:
    def test_its_parameters_and_modes_stay(self) -> None:
        module = networks.head(FEATURES, CLASSES).eval()
        module[2].train()
        before = [p.detach().clone() for p in module.parameters()]
        trained = train(module, DATA, settings(), rng=0, replicas=2)
        trained.logits(DATA.inputs)
        FlatModel(module).initial(2)
        assert all(torch.equal(p, q) for p, q in zip(module.parameters(), before, strict=True))
        assert [part.training for part in module] == [False, False, True, False]
        assert not module.training

    def test_initial_parameters_are_drawn_by_each_layer(self) -> None:
        drawn = FlatModel(resnet18(3, 10)).initial(1)[0]
        assert drawn.shape == (11_173_962,)
        large = FlatModel(nn.Linear(400, 300)).initial(2)
        assert not torch.equal(large[0], large[1])
        assert float(large.abs().max()) <= 1 / math.sqrt(400)


def test_divergence_is_an_error() -> None:
    wild = settings(learning_rate=1e38, clip_norm=math.inf, noise_multiplier=0)
    with pytest.raises(FloatingPointError, match="2 of 2 replicas diverged"):
        train(head(), DATA, wild, rng=0, replicas=2)
