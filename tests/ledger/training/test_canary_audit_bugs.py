"""Canary audits say CONSISTENT with power alone, and do not refute correct twins."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from dpcp_audit.audits.training.canary_games import GameResults
from dpcp_audit.words.checks import Context
from dpcp_audit.words.results import Verdict
from dpcp_ledger.claims.training_canaries import black_box, flawed
from dpcp_ledger.training.canary_games import BlackBoxGame, OutsideCanaries
from dpcp_ledger.training.examples import SGD, Adam, Flaw

pytestmark = pytest.mark.known_bad


@dataclass(frozen=True)
class Bare:
    """A row's game, its training without noise and its attacker as before."""

    game: BlackBoxGame

    @property
    def canaries(self) -> int:
        return self.game.canaries

    def play(self, runs: int, *, rng: np.random.Generator) -> GameResults:
        bare = replace(self.game.settings, noise_multiplier=0.0)
        return replace(self.game, settings=bare).play(runs, rng=rng)

    def play_noiseless(self, runs: int, *, rng: np.random.Generator) -> GameResults:
        return self.game.play_noiseless(runs, rng=rng)


@pytest.mark.parametrize(
    "optimiser", [SGD(), pytest.param(Adam(), marks=pytest.mark.study)], ids=str
)
def test_a_training_without_noise_is_not_consistent_where_the_attack_is_too_weak(optimiser) -> None:
    check = black_box(optimiser, OutsideCanaries.MISLABELLED, runs=64)
    context = Context(seed=0, name="weak", significance=1e-3 / 54)
    assert replace(check, game=Bare(check.game))(context).verdict is Verdict.INCONCLUSIVE


@pytest.mark.statistical(false_alarm=1e-7)
@pytest.mark.parametrize("optimiser", [SGD(), Adam()])
def test_the_correct_twin_is_not_refuted(optimiser) -> None:
    """A true claim is refuted with probability at most 1e-7, the check's significance."""
    context = Context(seed=0, name="twin", significance=1e-7, effort=0.25)
    outcome = flawed(Flaw.NONE, optimiser)(context)
    assert outcome.verdict is not Verdict.REFUTED
    assert outcome.evidence.lower <= outcome.evidence.claimed
