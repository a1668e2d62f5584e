"""Auditors of trainings, on games without training: laws that meet the claim with equality."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from level_case import CheckTrial, LevelCase
from scipy.special import expit

from dpcp_audit.audits.training.canaries.canary_audit import CanaryAudit
from dpcp_audit.audits.training.canaries.canary_games import GameResults
from dpcp_audit.audits.training.membership.cohorts import Cohort
from dpcp_audit.audits.training.membership.model_attacks import LossThreshold
from dpcp_audit.audits.training.membership.model_membership import ModelMembership
from dpcp_audit.audits.training.membership.views import View
from dpcp_audit.audits.training.one_run import Guesses, OneRunTheorem, binomial_p_value, refutes
from dpcp_audit.checks import Context
from dpcp_audit.guarantees import ApproxDP, PureDP
from dpcp_audit.mechanisms.dpsgd.subsampled_gaussian import SubsampledGaussian
from dpcp_audit.neighbours import Relation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcp_audit.guarantees import PrivacyGuarantee

_TRAINING = SubsampledGaussian(sampling_rate=1.0, steps=1, noise_multiplier=1.0)
_DELTA = 1e-3


@dataclass(frozen=True, slots=True)
class NoisySums:
    """One noisy sum a canary: every canary meets the claim of its noise with equality."""

    noise_multiplier: float
    canaries: int

    def play(self, runs: int, *, rng: np.random.Generator) -> GameResults:
        """Play independent runs."""
        return self._play(runs, self.noise_multiplier, rng)

    def play_noiseless(self, runs: int, *, rng: np.random.Generator) -> GameResults:
        """Play the same without noise."""
        return self._play(runs, 0.0, rng)

    def _play(self, runs: int, noise: float, rng: np.random.Generator) -> GameResults:
        members = rng.random((runs, self.canaries)) < 0.5
        return GameResults(members + noise * rng.standard_normal(members.shape), members)


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryTrial:
    """The canary audit of a step of DP-SGD, without the figures that take most of its time."""

    runs: int
    canaries: int

    def __call__(self, seed: int, /, *, level: float, twice: bool = False) -> bool:
        """Play the runs and return whether either certificate refutes."""
        audit = CanaryAudit(
            game=NoisySums(0.5 if twice else 1.0, self.canaries),
            claim=_TRAINING,
            delta=_DELTA,
            runs=self.runs,
        )
        context = Context(seed=seed, name="level", significance=level)
        results = [audit.chunk(context, index) for index in range(audit.chunks(context))]
        bound, by_claim = audit.certificates(context, results)
        return by_claim or bound > _TRAINING.epsilon_at(_DELTA)


@dataclass(frozen=True, slots=True)
class OneRunTrial:
    """Guesses of the coins of one run, each right with probability e^ε/(1+e^ε)."""

    theorem: OneRunTheorem
    guesses: int = 150

    def __call__(self, seed: int, /, *, level: float, twice: bool = False) -> bool:
        """Draw the right guesses and test ε-DP."""
        epsilon = 1.0
        rng = np.random.default_rng([seed, self.guesses])
        right = int(rng.binomial(self.guesses, expit(2 * epsilon if twice else epsilon)))
        counts = Guesses(correct=right, guesses=self.guesses, canaries=self.guesses)
        if self.theorem is OneRunTheorem.BINOMIAL:
            return binomial_p_value(PureDP(epsilon), counts) <= level
        return refutes(PureDP(epsilon), counts, significance=level)


@dataclass(frozen=True, slots=True)
class Answers:
    """Models that answer about every target by randomised response, or give all away at once.

    Parameters
    ----------
    epsilon : float
        Of the response.
    leak : float
        The probability with which a model tells all of its coins, and else nothing: (0, δ)-DP.
    """

    epsilon: float = 0.0
    leak: float = 0.0
    targets: int = 20
    name: str = "answers"
    relation: Relation = Relation.ADD_REMOVE

    @property
    def parameters(self) -> dict[str, Any]:
        """What describes the models."""
        return {"epsilon": self.epsilon, "leak": self.leak}

    def without_noise(self) -> None:
        """There is no such training."""

    def __call__(self, models: int, /, *, rng: np.random.Generator) -> Cohort:
        """Return a cohort of so many models."""
        coins = rng.random((models, self.targets)) < 0.5
        kept = rng.random(coins.shape) < expit(self.epsilon)
        answers = np.where(coins == kept, 0.9, 0.1)
        if self.leak:
            tells = rng.random((models, 1)) < self.leak
            answers = np.where(tells, np.where(coins, 0.9, 0.1), 0.5)
        return Cohort(
            members=coins,
            labels=np.zeros(self.targets, dtype=np.int64),
            probabilities=np.stack([answers, 1 - answers], axis=2),
            thresholds=np.full(models, 0.5),
        )


def training_cases() -> Iterator[LevelCase]:
    """Yield the auditors of trainings."""
    for theorem in OneRunTheorem:
        yield LevelCase(
            auditor=f"one run, by the {theorem}",
            claim="ε-DP, randomised response",
            trial=OneRunTrial(theorem),
        )
    for auditor, runs, canaries in (("canaries of one run", 1, 1000), ("canaries", 500, 20)):
        yield LevelCase(
            auditor=auditor,
            claim="a step of DP-SGD, Gaussian",
            trial=CanaryTrial(runs=runs, canaries=canaries),
        )
    yield _models("ε-DP, randomised response", PureDP(1.0), Answers(1.0), Answers(2.0))
    yield _models(
        "(0, δ)-DP, all coins at once", ApproxDP(0.0, 0.2), Answers(leak=0.2), Answers(leak=0.4)
    )


def _models(claim: str, guarantee: PrivacyGuarantee, tight: Answers, twice: Answers) -> LevelCase:
    checks = [
        ModelMembership(
            models=models,
            attack=LossThreshold(),
            view=View.PROBABILITIES,
            guarantee=guarantee,
            n_models=200,
        )
        for models in (tight, twice)
    ]
    return LevelCase(
        auditor="membership in models",
        claim=claim,
        trial=CheckTrial(tight=checks[0], twice=checks[1]),
    )
