"""Reconstruction: priors, the likelihood of a trace, and the verdicts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from dpcp_audit.words.checks import Context
from dpcp_audit.words.guarantees import PureDP
from dpcp_audit.words.results import Verdict
from dpcp_ledger.training.dpsgd import Step
from dpcp_ledger.training.examples import DPSGD, Clipping, Examples, Poisson, digits
from dpcp_ledger.training.gradients import FlatModel, clipped
from dpcp_ledger.training.networks import logistic
from dpcp_ledger.training.reconstruction import (
    Prior,
    Reconstruction,
    TraceAttack,
    _Trace,
    simplex_prior,
)

DIGITS = digits()
KNOWN = DIGITS.take(np.arange(5))
TRAINING = DPSGD(
    sampling=Poisson(0.4), lot_size=3, steps=2, noise_multiplier=0.0, learning_rate=0.7
)
ATTACK = TraceAttack(training=TRAINING, assumed_noise=1.5, known=KNOWN)


def prior(size: int, radius: float = 0.0) -> Prior:
    return Prior(name="digits", candidates=DIGITS.take(np.arange(50, 50 + size)), radius=radius)


class TestPrior:
    def test_without_a_radius_the_target_alone_counts(self) -> None:
        np.testing.assert_array_equal(prior(8).hits, np.eye(8))
        assert prior(8).baseline == 1 / 8

    def test_the_baseline_is_the_share_near_the_best_guess(self) -> None:
        inputs = np.array([[0.0], [1.0], [2.0], [9.0]], dtype=np.float32)
        on_a_line = Prior(
            name="line",
            candidates=Examples(inputs=inputs, labels=np.zeros(4, dtype=np.int64), n_classes=2),
            radius=1.0,
        )
        assert on_a_line.baseline == 3 / 4
        assert replace(on_a_line, radius=9.0).baseline == 1.0

    @pytest.mark.parametrize("size", [2, 3, 64])
    def test_the_corners_of_a_simplex_are_equally_far_apart(self, size) -> None:
        inputs = simplex_prior(size, n_features=64).candidates.inputs.astype(np.float64) / 100
        expected = np.full((size, size), -1 / (size - 1))
        np.fill_diagonal(expected, 1.0)
        np.testing.assert_allclose(inputs @ inputs.T, expected, atol=1e-5)


class TestTrace:
    @pytest.mark.parametrize("rate", [0.4, 1.0])
    def test_the_evidence_is_the_likelihood_ratio_of_every_step(self, rate) -> None:
        """Against per-example gradients by autograd and Gaussian densities by torch."""
        attack = replace(ATTACK, training=replace(TRAINING, sampling=Poisson(rate)))
        candidates, model = prior(6).candidates, FlatModel(logistic(64, 10))
        everyone = KNOWN.joined(candidates)
        trace = _Trace(model.module, attack, candidates, 3)
        expected = np.zeros((3, 6))
        generator = torch.Generator().manual_seed(0)
        for index in range(2):
            before, after = torch.randn(2, 3, model.size, generator=generator)
            trace(Step(index=index, before=before, after=after))
            total = (before - after) * (3 / 0.7)
            inputs = torch.tensor(everyone.inputs).expand(3, -1, -1)
            labels = torch.tensor(everyone.labels).expand(3, -1)
            own = clipped(
                model.gradients(before, inputs, labels), model.layers, Clipping.FLAT, 1.0
            ).double()
            left = total.double() - rate * own[:, :5].sum(dim=1)
            absent = -(left**2).sum(dim=1) / (2 * 1.5**2)
            present = -((left[:, None] - own[:, 5:]) ** 2).sum(dim=2) / (2 * 1.5**2)
            ratios = (present - absent[:, None]).numpy()
            expected += np.logaddexp(
                math.log1p(-rate) if rate < 1 else -np.inf, math.log(rate) + ratios
            )
        np.testing.assert_allclose(trace._evidence.numpy(), expected, rtol=1e-3, atol=1e-3)

    def test_a_guess_takes_the_ball_of_most_posterior_mass(self) -> None:
        trace = _Trace(logistic(64, 10), ATTACK, prior(3).candidates, 1)
        trace._evidence += torch.log(torch.tensor([[0.4, 0.35, 0.25]]))
        assert trace.guesses(np.eye(3, dtype=bool)).tolist() == [0]
        near = np.array([[1, 0, 0], [0, 1, 1], [0, 1, 1]], dtype=bool)
        assert trace.guesses(near).tolist() == [1]

    @pytest.mark.parametrize("size", [2, 7])
    def test_without_noise_every_target_is_found(self, size) -> None:
        full = replace(ATTACK, training=replace(TRAINING, sampling=Poisson(1.0)))
        assert full.hits(prior(size), trainings=30, rng=np.random.default_rng(0)).all()

    def test_a_target_that_never_enters_is_not_found(self) -> None:
        never = replace(
            ATTACK, training=replace(TRAINING, sampling=Poisson(1e-9), noise_multiplier=1.0)
        )
        found = never.hits(prior(64), trainings=200, rng=np.random.default_rng(0))
        assert found.mean() < 0.2  # 1/64 by chance: 40 of 200 have probability below 1e-30


@dataclass(frozen=True)
class Succeeds(TraceAttack):
    """An attack that succeeds in a given share of the trainings."""

    share: float = 1.0

    def hits(self, prior, *, trainings, rng) -> np.ndarray:
        return np.arange(trainings) < self.share * trainings


def check(share: float, epsilon: float, *, trainings: int = 1000) -> Reconstruction:
    return Reconstruction(
        attack=Succeeds(training=TRAINING, assumed_noise=1.0, known=KNOWN, share=share),
        guarantee=PureDP(epsilon),
        priors=(prior(4), prior(10)),
        trainings=trainings,
    )


CONTEXT = Context(seed=0, name="reconstruction", significance=1e-4)


class TestVerdict:
    @pytest.mark.parametrize(
        ("share", "epsilon", "verdict"),
        [
            (0.4, 1.0, Verdict.REFUTED),  # of the ten; of the four 0.68 is allowed
            (0.2, 1.0, Verdict.CONSISTENT),
            (0.28, 1.0, Verdict.CONSISTENT),  # above e/10 by less than chance
            (1.0, 12.0, Verdict.INCONCLUSIVE),
            (0.1, 0.1, Verdict.INCONCLUSIVE),  # too few trainings to show ε = 0.2
        ],
    )
    def test_success_is_held_against_the_power_at_kappa(self, share, epsilon, verdict) -> None:
        assert check(share, epsilon)(CONTEXT).verdict is verdict

    def test_the_evidence_is_of_the_prior_that_says_most(self) -> None:
        evidence = check(0.4, 1.0)(CONTEXT).evidence
        assert evidence.claimed == pytest.approx(math.e / 10)
        assert evidence.value == 0.4
        assert evidence.n_samples == 1000

    def test_effort_buys_trainings(self) -> None:
        more = replace(CONTEXT, effort=3.0)
        assert [one.trainings for one in check(0.4, 1.0).successes(more)] == [3000, 3000]
