"""Networks as they stand after training: their answers, row by row."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from support.small_trainings import (
    DATA,
    N,
    head,
    settings,
)

from dpcp_audit.mechanisms.dpsgd.training import train


class TestTrained:
    def test_losses_probabilities_and_accuracy_are_those_of_the_logits(self) -> None:
        trained = train(head(), DATA, settings(), rng=0, replicas=2)
        logits = trained.logits(DATA.inputs.astype(np.float64))
        odds = np.exp(logits)
        np.testing.assert_allclose(
            trained.probabilities(DATA.inputs), odds / odds.sum(axis=2, keepdims=True), rtol=1e-6
        )
        true = trained.probabilities(DATA.inputs)[:, np.arange(N), DATA.labels]
        np.testing.assert_allclose(trained.losses(DATA), -np.log(true), rtol=1e-6)
        right = (logits.argmax(axis=2) == DATA.labels).mean(axis=1)
        np.testing.assert_array_equal(trained.accuracy(DATA), right)

    def test_many_inputs_are_predicted_in_parts(self, monkeypatch) -> None:
        trained = train(head(), DATA, settings(), rng=0, replicas=3)
        whole = trained.logits(DATA.inputs)
        monkeypatch.setattr("dpcp_audit.mechanisms.dpsgd.networks._PREDICTED_AT_ONCE", 15)
        np.testing.assert_allclose(trained.logits(DATA.inputs), whole, rtol=1e-5, atol=1e-6)

    def test_an_observer_sees_every_step(self) -> None:
        steps = []
        trained = train(head(), DATA, settings(), rng=0, replicas=2, observer=steps.append)
        assert [step.index for step in steps] == list(range(5))
        assert torch.equal(steps[-1].after, trained.parameters)
        for earlier, later in pairwise(steps):
            assert torch.equal(earlier.after, later.before)
