"""Auditors of trainings, on games without training: laws that meet the claim with equality."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from level_case import CheckTrial, LevelCase
from scipy.special import expit, ndtr

from dpcp_audit.audits.training.canary_audit import CanaryAudit
from dpcp_audit.audits.training.canary_games import (
    GameResults,
    Guesses,
    refutes,
    top_guesses,
)
from dpcp_audit.mechanisms.subsampled_gaussian import SubsampledGaussian
from dpcp_audit.words.checks import Context
from dpcp_audit.words.guarantees import ApproxDP, GaussianDP, PureDP, Relation
from dpcp_ledger.training.model_attacks import Cohort, LossThreshold, View
from dpcp_ledger.training.model_membership import ModelMembership

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcp_audit.words.guarantees import PrivacyGuarantee
    from dpcp_audit.words.validate import BoolArray, FloatArray

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

    guesses: int = 150

    def __call__(self, seed: int, /, *, level: float, twice: bool = False) -> bool:
        """Draw the right guesses and test ε-DP."""
        epsilon = 1.0
        rng = np.random.default_rng([seed, self.guesses])
        right = int(rng.binomial(self.guesses, expit(2 * epsilon if twice else epsilon)))
        counts = Guesses(correct=right, guesses=self.guesses, canaries=self.guesses)
        return refutes(PureDP(epsilon), counts, significance=level)


def surest_guesses(log_odds: FloatArray, members: BoolArray, *, guesses: int) -> Guesses:
    """Guess the canaries whose log-odds of being in are largest in size, "in" or "out".

    Parameters
    ----------
    log_odds : ndarray of float
        Positive where a canary is rather in; of any shape.
    members : ndarray of bool
        Which canaries were in, of the same shape.
    guesses : int
        How many to guess.
    """
    said = log_odds > 0
    return top_guesses(np.abs(log_odds), said == members, guesses=guesses)


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianRun:
    """Log-odds and coins of the canaries of one run that is μ-GDP for each of them.

    Parameters
    ----------
    mu : float
    canaries : int
        m.
    together : float
        0: every canary has a noise of its own. Else the probability with which a random part of
        the canaries is shown at once, at the largest losses that μ-GDP leaves for so rare a case;
        the law of each canary's release is the same.
    part : int
        How many are shown then.
    """

    mu: float
    canaries: int
    together: float = 0.0
    part: int = 0

    def __call__(self, rng: np.random.Generator) -> tuple[FloatArray, BoolArray]:
        """Return the log-odds of being in, and the coins."""
        coins = rng.random(self.canaries) < 0.5
        if not self.together:
            noisy = rng.standard_normal(coins.shape) + self.mu * (coins - 0.5)
            return self.mu * noisy, coins
        rare = self.together * self.part / self.canaries
        ranks = rng.random(coins.shape) * (1 - rare)
        if rng.random() < self.together:
            shown = rng.permutation(self.canaries)[: self.part]
            ranks[shown] = 1 - rare * rng.random(self.part)
        size = self.mu * np.interp(ranks, *_sizes(self.mu))
        right = rng.random(coins.shape) < expit(size)
        return np.where(coins == right, size, -size), coins


@lru_cache(maxsize=4)
def _sizes(mu: float) -> tuple[FloatArray, FloatArray]:
    """Return the law of |N(μ/2, 1)|: probabilities and quantiles."""
    sizes = np.linspace(0.0, 9.0 + mu, 20_001)
    return ndtr(sizes - mu / 2) - ndtr(-sizes - mu / 2), sizes


@dataclass(frozen=True, slots=True, kw_only=True)
class OneRunBoundTrial:
    """The bound of one run by the claim's trade-off, against 1-GDP."""

    together: bool = False
    canaries: int = 400
    guesses: int = 60

    def __call__(self, seed: int, /, *, level: float, twice: bool = False) -> bool:
        """Play one run and test 1-GDP."""
        rng = np.random.default_rng([seed, self.guesses])
        claim = GaussianDP(1.0)
        run = GaussianRun(
            mu=2.0 if twice else 1.0,
            canaries=self.canaries,
            together=level * self.together,
            part=self.guesses,
        )
        log_odds, coins = run(rng)
        seen = surest_guesses(log_odds, coins, guesses=self.guesses)
        return refutes(claim, seen, significance=level)


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
    yield LevelCase(
        auditor="one run, by the region",
        claim="ε-DP, randomised response",
        trial=OneRunTrial(),
    )
    trials = {
        "μ-GDP, Gaussian": OneRunBoundTrial(),
        "μ-GDP, many canaries at once": OneRunBoundTrial(together=True),
    }
    for claim, trial in trials.items():
        yield LevelCase(auditor="one run, trade-off", claim=claim, trial=trial)
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
    checks = [models_attacked(models, guarantee) for models in (tight, twice)]
    return LevelCase(
        auditor="membership in models",
        claim=claim,
        trial=CheckTrial(tight=checks[0], twice=checks[1]),
    )


def models_attacked(models: Answers, guarantee: PrivacyGuarantee) -> ModelMembership:
    """Return the audit of such models by their losses."""
    return ModelMembership(
        models=models,
        attack=LossThreshold(),
        view=View.PROBABILITIES,
        guarantee=guarantee,
        n_models=200,
    )
