"""Inversion of updates and of trained models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from dpcp_audit.words.checks import Context
from dpcp_audit.words.results import Verdict
from dpcp_ledger.training.examples import DPSGD, Poisson, digits
from dpcp_ledger.training.extraction import (
    class_images,
    class_inversion,
    invert_updates,
    ratio_of_gradients,
    recognised,
)
from dpcp_ledger.training.gradients import FlatModel
from dpcp_ledger.training.networks import Trained, head, logistic

DIGITS = digits()
CONTEXT = Context(seed=0, name="inversion", significance=1e-5)


class TestRatio:
    @pytest.mark.parametrize("network", [logistic(64, 10), head(64, 10, dropout=0.0)])
    def test_a_linear_first_layer_gives_its_input_away(self, network) -> None:
        model = FlatModel(network)
        torch.manual_seed(0)
        example = torch.tensor(DIGITS.inputs[:1])
        flat = model.gradients(model.initial(1), example[None], torch.tensor([[3]]))[0, 0].numpy()
        units = model.layers[0] // 65
        weights = flat[: 64 * units].reshape(units, 64)
        found = ratio_of_gradients(weights, flat[64 * units : 65 * units])
        np.testing.assert_allclose(found, DIGITS.inputs[0], atol=1e-5)

    def test_the_scale_does_not_matter_and_noise_does(self) -> None:
        rng = np.random.default_rng(0)
        backward, example = rng.normal(size=(7, 4)), rng.normal(size=(7, 3))
        weights = backward[:, :, None] * example[:, None]
        for scale in (1e-6, 1.0, 1e6):
            found = ratio_of_gradients(scale * weights, scale * backward)
            np.testing.assert_allclose(found, example)
        noisy = ratio_of_gradients(weights + 0.1, backward)
        assert np.abs(noisy - example).max() > 0.01

    def test_nothing_comes_back_where_no_bias_moves(self) -> None:
        assert np.isnan(ratio_of_gradients(np.zeros((2, 3)), np.zeros(2))).all()


class TestUpdates:
    def test_without_noise_every_example_is_had_exactly(self) -> None:
        few = DIGITS.take(np.arange(40))
        found = invert_updates(few, noise_multiplier=0.0, rng=np.random.default_rng(0))
        np.testing.assert_array_equal(found.inputs, few.inputs)
        np.testing.assert_allclose(found.guesses, few.inputs, atol=1e-4)

    def test_noise_of_the_gradients_size_leaves_nothing(self) -> None:
        few = DIGITS.take(np.arange(40))
        found = invert_updates(few, noise_multiplier=1.0, rng=np.random.default_rng(0))
        errors = np.sqrt(((found.guesses - found.inputs) ** 2).mean(axis=1))
        assert errors.min() > 0.2


class TestClasses:
    def test_an_image_is_recognised_by_its_own_mean(self) -> None:
        means = np.random.default_rng(0).random((4, 9))
        assert recognised(3 * means + 1, means).all()
        assert not recognised(means[[1, 0, 3, 2]], means).any()

    def test_the_images_follow_the_weights(self) -> None:
        """A logistic model whose class c looks at pixel c alone."""
        module = logistic(6, 3)
        weights = torch.zeros(3, 6)
        weights[range(3), range(3)] = 20.0
        trained = Trained(
            model=FlatModel(module), parameters=torch.cat([weights.flatten(), torch.zeros(3)])[None]
        )
        images = class_images(trained, n_features=6, n_classes=3)
        assert images.shape == (1, 3, 6)
        assert (images[0, :, :3].argmax(axis=1) == np.arange(3)).all()
        assert (images >= 0).all()
        assert (images <= 1).all()

    def test_a_model_shows_its_classes_and_noise_alone_does_not(self) -> None:
        training = DPSGD(
            sampling=Poisson(0.1), lot_size=180, steps=40, noise_multiplier=1.0, learning_rate=1.0
        )
        shown = class_inversion(DIGITS, training)
        assert shown(CONTEXT).verdict is Verdict.REFUTED
        drowned = class_inversion(DIGITS, replace(training, noise_multiplier=1e4))
        assert drowned(CONTEXT).verdict is Verdict.CONSISTENT
