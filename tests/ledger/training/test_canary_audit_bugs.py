"""Every planted bug of DP-SGD and DP-Adam is refuted by canaries; the correct twins are not."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from dpcp_audit.audits.training.canary_audit import CanaryAudit
from dpcp_audit.audits.training.canary_games import GameResults
from dpcp_audit.words.checks import Context
from dpcp_audit.words.quantities import Bound
from dpcp_audit.words.results import Verdict
from dpcp_ledger.claims.training_canaries import black_box, flawed, one_run, white_box
from dpcp_ledger.training.canary_games import BlackBoxGame, OutsideCanaries, WhiteBoxGame
from dpcp_ledger.training.examples import SGD, Adam, Flaw

pytestmark = pytest.mark.known_bad
FLAWS = [flaw for flaw in Flaw if flaw is not Flaw.NONE]


@pytest.mark.parametrize("flaw", FLAWS)
def test_a_planted_bug_is_refuted(flaw) -> None:
    """At the significance of a row of the suite, and half of the smoke profile's runs."""
    context = Context(seed=0, name=flaw.name, significance=5e-5, effort=0.5)
    outcome = flawed(flaw)(context)
    assert outcome.verdict is Verdict.REFUTED
    evidence = outcome.evidence
    if evidence.bound is Bound.AT_LEAST:
        assert evidence.value <= evidence.claimed < 1e-4
    else:
        assert evidence.lower > evidence.claimed


@dataclass(frozen=True)
class Bare:
    """A row's game, its training without noise and its attacker as before."""

    game: WhiteBoxGame | BlackBoxGame

    @property
    def canaries(self) -> int:
        return self.game.canaries

    def play(self, runs: int, *, rng: np.random.Generator) -> GameResults:
        if isinstance(self.game, BlackBoxGame):
            bare = replace(self.game.settings, noise_multiplier=0.0)
            return replace(self.game, settings=bare).play(runs, rng=rng)
        return self.game.play_noiseless(8 * runs, rng=rng)

    def play_noiseless(self, runs: int, *, rng: np.random.Generator) -> GameResults:
        return self.game.play_noiseless(runs, rng=rng)


def _name(check: CanaryAudit) -> str:
    return f"{type(check.game).__name__}-{check.runs}-{check.game.settings.optimiser}"


@pytest.mark.parametrize(
    "check",
    [
        white_box(SGD(), runs=40),
        pytest.param(white_box(Adam(), runs=40), marks=pytest.mark.study),
        one_run(SGD()),
        pytest.param(one_run(Adam()), marks=pytest.mark.study),
        *(
            pytest.param(
                black_box(optimiser, OutsideCanaries.LONE_PIXELS, runs=512), marks=pytest.mark.study
            )
            for optimiser in (SGD(), Adam())
        ),
    ],
    ids=_name,
)
def test_what_is_called_consistent_would_be_refuted_without_noise(check) -> None:
    """At a row's significance; white-box and one-run audits are decided with few runs already."""
    context = Context(seed=0, name="bare", significance=1e-3 / 54)
    assert check(context).verdict is Verdict.CONSISTENT
    assert replace(check, game=Bare(check.game))(context).verdict is Verdict.REFUTED


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
