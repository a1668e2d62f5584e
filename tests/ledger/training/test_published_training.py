"""The published training does what its script does, step by step."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from dpcp_ledger.mechanisms.thesis_training import (  # noqa: E402
    PublishedGradients,
    PublishedStep,
    slices,
    train_as_published,
)
from dpcp_ledger.training.examples import (  # noqa: E402
    Examples,
    digits,
)
from dpcp_ledger.training.networks import copied  # noqa: E402
from dpcp_ledger.training.published_script import (  # noqa: E402
    PublishedTraining,
    as_published,
)

DATA = digits().take(np.arange(40))
SHORT = replace(as_published, epochs=2)


def network() -> nn.Module:
    return nn.Sequential(
        nn.Linear(64, 28),
        nn.BatchNorm1d(28, track_running_stats=False),
        nn.ReLU(),
        nn.Linear(28, 10),
    )


def plain() -> nn.Module:
    return nn.Sequential(nn.Linear(64, 28), nn.ReLU(), nn.Linear(28, 10))


class Steps:
    def __init__(self) -> None:
        self.seen: list[tuple[int, torch.Tensor, torch.Tensor]] = []

    def __call__(self, step: PublishedStep, /) -> None:
        self.seen.append((step.batch, step.before, step.noisy))


def batch(data: Examples, index: int) -> tuple[torch.Tensor, torch.Tensor]:
    at = slice(20 * index, 20 * (index + 1))
    return torch.tensor(data.inputs[at]), torch.tensor(data.labels[at])


def test_a_fixed_seed_makes_every_training_the_same_and_a_fresh_one_none() -> None:
    def final(settings: PublishedTraining, rng: int) -> torch.Tensor:
        return train_as_published(network(), DATA, settings, rng=rng, replicas=2).parameters

    fixed, again = final(SHORT, 1), final(SHORT, 2)
    assert torch.equal(fixed, again)
    assert torch.equal(fixed[0], fixed[1])
    fresh = final(replace(SHORT, noise_seed=None), 1)
    assert not torch.equal(fresh[0], fresh[1])


def test_batches_are_slices_in_the_order_of_the_file_and_the_rest_is_left_out() -> None:
    assert slices(7, 3).tolist() == [[0, 1, 2], [3, 4, 5]]
    steps = Steps()
    train_as_published(network(), DATA, SHORT, observer=steps)
    assert [index for index, _, _ in steps.seen] == [0, 1, 0, 1]


def test_the_mean_is_clipped_tensor_by_tensor_and_the_noise_is_not_divided() -> None:
    steps = Steps()
    settings = replace(SHORT, clip_norm=0.01, epochs=4)
    train_as_published(network(), DATA, settings, observer=steps)
    gradients = PublishedGradients(copied(network()), settings)
    left: list[torch.Tensor] = []
    for index, before, noisy in steps.seen:
        clean = gradients.clipped(before, *batch(DATA, index))
        parts = torch.split(clean[0], gradients.tensors)
        lengths = [float(part.norm()) for part in parts]
        assert max(lengths) == pytest.approx(0.01, rel=1e-5)
        assert len(parts) == 6
        left.append((noisy - clean)[0])
    assert float(torch.stack(left).std()) == pytest.approx(0.081, rel=0.02)


def test_the_correction_clips_every_example_and_divides_by_the_batch() -> None:
    settings = replace(SHORT, per_example=True, clip_norm=0.1)
    model = copied(plain())
    gradients = PublishedGradients(model, settings)
    flat, (inputs, labels) = model.initial(1), batch(DATA, 0)
    every = model.gradients(flat, inputs[None], labels[None])[0]
    by_hand = sum(g * min(1.0, 0.1 / float(g.norm())) for g in every) / 20
    assert torch.allclose(gradients.clipped(flat, inputs, labels)[0], by_hand, atol=1e-6)
    assert gradients.noise_scale(20) == pytest.approx(8.1 * 0.1 / 20)


def test_adam_is_applied_to_its_own_direction() -> None:
    """Both start with a step of one sign: the first step has size η in every coordinate."""
    steps = Steps()
    train_as_published(network(), DATA, SHORT, observer=steps)
    (_, first, noisy), (_, second, _) = steps.seen[:2]
    moved = (first - second) / as_published.learning_rate
    assert torch.allclose(moved, noisy.sign(), atol=1e-3)


def test_what_it_spends_is_a_gaussian_composition_over_tensors_and_epochs() -> None:
    fresh = replace(as_published, noise_seed=None)
    assert fresh.guarantee(66).mu == pytest.approx(2 * math.sqrt(66 * 40) / 8.1)
    assert fresh.guarantee(66).epsilon_at(1e-5) == pytest.approx(133.72, abs=0.01)
    assert replace(fresh, per_example=True).guarantee(66).mu == pytest.approx(
        2 * math.sqrt(40) / 8.1
    )
    with pytest.raises(ValueError, match="noise_seed must be None"):
        as_published.guarantee(66)
