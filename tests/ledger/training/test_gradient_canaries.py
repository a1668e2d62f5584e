"""Canaries in the gradients, beside the examples."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from support.small_trainings import (
    DATA,
    N,
    beginning,
    head,
    settings,
)

from dpcp_ledger.training.dpsgd import train
from dpcp_ledger.training.examples import DPSGD, Clipping, Flaw, GradientCanaries, Poisson


class TestCanaries:
    def canaries(self, **changes: object) -> GradientCanaries:
        kept = {
            "coordinates": np.array([1, 8]),
            "members": np.array([[True, False], [True, True]]),
            "norm": 5.0,
        }
        return GradientCanaries(**kept | changes)

    def trained(self, module, **changes: object) -> np.ndarray:
        full = settings(sampling=Poisson(1.0), steps=1, noise_multiplier=0, learning_rate=1.0)
        chosen = DPSGD(**{f: getattr(full, f) for f in full.__slots__} | changes)
        start = beginning(module)
        nobody = np.zeros((2, N), dtype=np.bool_)
        left = train(
            module, DATA, chosen, members=nobody, canaries=self.canaries(), initial=start
        ).parameters
        return (np.float32(start) - left.cpu().numpy()) * chosen.lot_size

    @pytest.mark.parametrize(
        ("changes", "left"),
        [
            ({}, 0.6),
            ({"clipping": Clipping.PER_LAYER}, 0.6 / math.sqrt(2)),
            ({"clip_norm": 7.0}, 5.0),
            ({"flaw": Flaw.NO_CLIPPING}, 5.0),
            ({"flaw": Flaw.DIVIDES_BY_SIZE}, np.array([[0.6 * 4], [0.6 * 4 / 2]])),
        ],
    )
    def test_they_are_clipped_as_any_other_example(self, changes, left) -> None:
        moved = self.trained(head(), **changes)
        expected = np.zeros_like(moved)
        expected[[0, 1, 1], [1, 1, 8]] = np.broadcast_to(left, (2, 1))[[0, 1, 1], 0]
        np.testing.assert_allclose(moved, expected, atol=1e-5)

    def test_they_are_sampled_as_any_other_example(self) -> None:
        module, lots = head(), []
        chosen = settings(sampling=Poisson(0.5), steps=40, noise_multiplier=0, clip_norm=1.0)
        train(
            module,
            DATA,
            chosen,
            rng=0,
            members=np.zeros((2, N), dtype=np.bool_),
            canaries=self.canaries(),
            observer=lambda step: lots.append((step.before - step.after) != 0),
        )
        seen = torch.stack(lots).float().mean(dim=0).cpu().numpy()
        assert (seen[[0, 1, 1], [1, 1, 8]] > 0.1).all()
        assert (seen[[0, 1, 1], [1, 1, 8]] < 0.9).all()
        assert seen[0, 8] == 0
