"""The training's samplers and noise against their laws."""

from __future__ import annotations

from itertools import combinations, pairwise, product

import numpy as np
import pytest
import torch
from scipy.stats import chi2, kstest, norm, t
from support.levels import disagreeing_cells
from support.small_trainings import DATA, N, head, settings
from torch import nn

from dpcp_ledger.training import dpsgd as lots
from dpcp_ledger.training.dpsgd import train
from dpcp_ledger.training.examples import DPSGD, Clipping, Examples, Poisson

LEVEL = 1e-7
STILL = Examples(
    inputs=np.zeros((12, 40), dtype=np.float32), labels=np.arange(12) % 10, n_classes=10
)
"""Without inputs a network without biases has no gradient: a step is noise alone."""


def noise_of(**changes: object) -> np.ndarray:
    """Return every step's noise over σC, as it left the training; shape (steps, replicas, d)."""
    settings = DPSGD(
        **{
            "sampling": Poisson(0.5),
            "lot_size": 5,
            "steps": 4,
            "noise_multiplier": 1.7,
            "clip_norm": 0.3,
            "learning_rate": 0.25,
        }
        | changes
    )
    moves: list[np.ndarray] = []
    train(
        nn.Linear(40, 10, bias=False),
        STILL,
        settings,
        rng=11,
        replicas=3,
        initial=np.zeros(400),
        observer=lambda step: moves.append((step.before - step.after).cpu().double().numpy()),
    )
    scale = settings.learning_rate * settings.noise_multiplier * settings.clip_norm
    return np.stack(moves) * settings.lot_size / scale


@pytest.mark.statistical(false_alarm=3e-7)
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"clipping": Clipping.PER_LAYER},
        {"sampling": Poisson(1e-9)},  # lots that are empty have the same noise
    ],
)
def test_noise_is_normal_of_the_stated_scale(changes) -> None:
    """False alarm: 3e-7, for the shape, the scale and the independence of steps and replicas."""
    drawn = noise_of(**changes).reshape(12, 400)
    assert kstest(drawn.ravel(), norm.cdf).pvalue >= LEVEL
    squares = float((drawn**2).sum())
    assert LEVEL / 2 <= chi2.cdf(squares, drawn.size) <= 1 - LEVEL / 2
    pairs = list(combinations(drawn, 2))
    for first, second in pairs:
        r = float(first @ second / np.linalg.norm(first) / np.linalg.norm(second))
        student = r * np.sqrt((400 - 1) / (1 - r * r))  # exactly t with d−1 degrees of freedom
        assert 2 * t.sf(abs(student), 400 - 1) >= LEVEL / len(pairs)


def entered(drawn: lots._PoissonLots) -> np.ndarray:
    """Return which examples entered the next lot of each replica, shape (replicas, n)."""
    places, weights = drawn.draw()
    counts = torch.zeros(drawn.members.shape).scatter_add_(1, places, weights)
    assert set(counts.unique().tolist()) <= {0.0, 1.0}
    return counts.numpy().astype(np.int64)


@pytest.mark.statistical(false_alarm=1e-07)
@pytest.mark.parametrize("rate", [0.03, 0.5, 0.9])
def test_every_set_of_members_is_a_lot_with_its_poisson_probability(rate) -> None:
    """All subsets of four of five: each one's rate, and that they enter on their own.

    False alarm: 1e-7.
    """
    trials, members = 100_000, torch.tensor([True, True, False, True, True])
    generator = torch.Generator().manual_seed(3)
    drawn = lots._PoissonLots(members.expand(trials // 10, -1), rate, generator)
    chosen = np.concatenate([entered(drawn) for _ in range(10)])
    assert not chosen[:, 2].any()
    counts = np.bincount(chosen @ np.array([1, 2, 0, 4, 8]), minlength=16)
    sizes = np.array([sum(bits) for bits in product([0, 1], repeat=4)])
    law = rate**sizes * (1 - rate) ** (4 - sizes)
    assert not disagreeing_cells(counts, law, trials=trials, level=LEVEL).size


@pytest.mark.statistical(false_alarm=1e-07)
def test_lots_of_successive_steps_are_independent() -> None:
    """False alarm: 1e-7."""
    generator, members = torch.Generator().manual_seed(4), torch.ones(50_000, 1, dtype=torch.bool)
    drawn = lots._PoissonLots(members, 0.3, generator)
    steps = [entered(drawn)[:, 0] for _ in range(3)]
    counts = np.bincount(np.stack(steps, axis=1) @ np.array([1, 2, 4]), minlength=8)
    sizes = np.array([sum(bits) for bits in product([0, 1], repeat=3)])
    law = 0.3**sizes * 0.7 ** (3 - sizes)
    assert not disagreeing_cells(counts, law, trials=50_000, level=LEVEL).size


class TestTrained:
    def test_losses_and_probabilities_are_those_of_the_logits(self) -> None:
        trained = train(head(), DATA, settings(), rng=0, replicas=2)
        logits = trained.logits(DATA.inputs.astype(np.float64))
        odds = np.exp(logits)
        np.testing.assert_allclose(
            trained.probabilities(DATA.inputs), odds / odds.sum(axis=2, keepdims=True), rtol=1e-6
        )
        true = trained.probabilities(DATA.inputs)[:, np.arange(N), DATA.labels]
        np.testing.assert_allclose(trained.losses(DATA), -np.log(true), rtol=1e-6)

    def test_many_inputs_are_predicted_in_parts(self, monkeypatch) -> None:
        trained = train(head(), DATA, settings(), rng=0, replicas=3)
        whole = trained.logits(DATA.inputs)
        monkeypatch.setattr("dpcp_ledger.training.networks._PREDICTED_AT_ONCE", 15)
        np.testing.assert_allclose(trained.logits(DATA.inputs), whole, rtol=1e-5, atol=1e-6)

    def test_an_observer_sees_every_step(self) -> None:
        steps = []
        trained = train(head(), DATA, settings(), rng=0, replicas=2, observer=steps.append)
        assert [step.index for step in steps] == list(range(5))
        assert torch.equal(steps[-1].after, trained.parameters)
        for earlier, later in pairwise(steps):
            assert torch.equal(earlier.after, later.before)
