"""The power of a canary audit before it runs: it is what games played at that noise show."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import binom, norm

from dpcp_audit.audits.training.canary_audit import CanaryAudit
from dpcp_audit.audits.training.canary_games import GameResults, blocks, grouped, guessed
from dpcp_audit.audits.training.canary_power import CanaryPlan, right_share
from dpcp_audit.audits.training.one_run import refutes, total
from dpcp_audit.mechanisms.dpsgd.subsampled_gaussian import SubsampledGaussian
from dpcp_audit.stats.roots import turn
from dpcp_audit.words.checks import Context, Planned
from dpcp_audit.words.guarantees import GaussianDP

CLAIM = SubsampledGaussian(sampling_rate=1.0, steps=1, noise_multiplier=1.0)
DELTA, LEVEL = 1e-3, 1e-3


@dataclass(frozen=True)
class NoisySums:
    """One noisy sum a canary."""

    noise: float = 1.0
    canaries: int = 50

    def play(self, runs: int, *, rng: np.random.Generator) -> GameResults:
        members = rng.random((runs, self.canaries)) < 0.5
        return GameResults(members + self.noise * rng.standard_normal(members.shape), members)

    def play_noiseless(self, runs: int, *, rng: np.random.Generator) -> GameResults:
        return NoisySums(0.0, self.canaries).play(runs, rng=rng)


def audit(noise: float = 1.0, runs: int = 60, canaries: int = 50) -> CanaryAudit:
    game = NoisySums(noise, canaries)
    return CanaryAudit(game=game, claim=CLAIM, delta=DELTA, runs=runs, side_by_side=16)


def context(seed: int = 0) -> Context:
    return Context(seed=seed, name="canaries", significance=LEVEL)


def noise_of(epsilon: float) -> float:
    """Return the noise of a step that has this ε: a step of all records is a Gaussian release."""
    return 1 / turn(lambda mu: GaussianDP(mu).epsilon_at(DELTA) >= epsilon, 0.5, 20.0).holds


def test_the_best_guesses_are_right_as_often_as_a_gaussian_allows() -> None:
    share = float(norm.sf(1.5) + norm.sf(0.5)) / 2  # of scores above 1.5 with and without a shift
    assert right_share(CLAIM, share) == pytest.approx(norm.sf(0.5) / (2 * share), rel=1e-3)
    assert right_share(CLAIM, 1.0) == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize(("runs", "canaries"), [(60, 50), (33, 200), (1, 3000)])
def test_the_planned_guesses_are_those_that_are_made(runs: int, canaries: int) -> None:
    check = audit(runs=runs, canaries=canaries)
    found = [
        guessed(part, 0.1)
        for start in range(0, runs, 16)
        for part in blocks(check.game.play(min(16, runs - start), rng=np.random.default_rng(start)))
    ]
    plan = CanaryPlan(
        claim=CLAIM, delta=DELTA, canaries=canaries, runs=runs, side_by_side=16, share=0.1
    )
    made = [(each.guesses, each.canaries) for each in plan.groups()]
    assert made == [(each.guesses, each.canaries) for each in grouped(found)]
    assert total(plan.groups()).correct == 0


@pytest.mark.statistical(false_alarm=1e-6)
def test_the_smallest_violation_is_refuted_by_games_of_its_noise() -> None:
    """False alarm below 1e-6 where each of 30 refutes with probability 0.9."""
    check = audit()
    assert isinstance(check, Planned)
    power = check.smallest_violation(context())
    assert power.claimed == CLAIM.epsilon_at(DELTA) < power.smallest < 4 * power.claimed
    broken = audit(noise_of(power.smallest))
    seen = 0
    for seed in range(30):
        here = context(seed)
        parts = [
            part
            for index in range(broken.chunks(here))
            for part in broken.chunk(here, index)["claim"]
        ]
        seen += refutes(CLAIM, *grouped(parts), significance=LEVEL / 2)
    assert seen >= binom.isf(1 - 1e-6, 30, 0.9)
    assert binom.isf(1 - 1e-6, 30, 0.9) > 15


def test_the_draws_needed_invert_it() -> None:
    check = audit()
    smallest = check.smallest_violation(context()).smallest
    assert check.draws_needed(smallest, significance=LEVEL) == pytest.approx(60, abs=6)
    assert check.draws_needed(1.5 * smallest, significance=LEVEL) < 55
    with pytest.raises(ValueError, match="violation must exceed"):
        check.draws_needed(check.claim.epsilon_at(DELTA), significance=LEVEL)


def test_of_a_single_run_it_is_the_canaries() -> None:
    check = audit(runs=1, canaries=20_000)
    smallest = check.smallest_violation(context()).smallest
    assert check.draws_needed(smallest, significance=LEVEL) == pytest.approx(20_000, rel=0.05)
    assert math.isinf(audit(runs=1, canaries=20).smallest_violation(context()).smallest)
