"""Every privacy finding shows its loss in the claim's unit: with two sides, or says why with one.

The rows of the suites are gone through by the kind of their check, of which each runs here on a
small case; the kinds of targets by what a user's functions are put to.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.cohorts import Responses
from support.samplers import context, on_pair

from dpcp_audit.audits.local import LocalPrivacy
from dpcp_audit.audits.loss_bracket import asked_of
from dpcp_audit.audits.release_membership import MembershipInference
from dpcp_audit.audits.training.canary_audit import CanaryAudit
from dpcp_audit.audits.training.canary_games import GameResults
from dpcp_audit.engine.suites import suite
from dpcp_audit.faces.keywords import spec_of
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse
from dpcp_audit.mechanisms.subsampled_gaussian import SubsampledGaussian
from dpcp_audit.target_checks.loss_rows import TargetTrace, rows_of_traces
from dpcp_audit.target_checks.target_claims import TargetPrivacy
from dpcp_audit.target_checks.target_rows import rows_of_targets
from dpcp_audit.words.evidence import Computed
from dpcp_audit.words.guarantees import (
    ZCDP,
    ApproxDP,
    GaussianDP,
    LocalDP,
    Neighbours,
    PrivacyGuarantee,
    PureDP,
    Relation,
    RenyiDP,
)
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import Estimate, EvidenceKind, Outcome
from dpcp_ledger.training.examples import DPSGD, Poisson, digits
from dpcp_ledger.training.model_attacks import LossThreshold, View
from dpcp_ledger.training.model_membership import ModelMembership
from dpcp_ledger.training.reconstruction import Prior, Reconstruction, TraceAttack

if TYPE_CHECKING:
    from dpcp_audit.words.checks import Check

PAIR: Neighbours[Any] = Neighbours(relation=Relation.SUBSTITUTION, value=1, neighbour=0)
TRAINING = SubsampledGaussian(sampling_rate=0.5, steps=4, noise_multiplier=2.0)
CLAIMS = (
    PureDP(1.0),
    ApproxDP(1.0, 0.01),
    ZCDP(0.5),
    RenyiDP(2.0, 1.0),
    GaussianDP(1.0),
)
OF_SHARES = {"HarderToExtract"}
"""Checks of claims about a share of successes, which is what they show."""


def noise(value: Any, size: int, /, *, rng: np.random.Generator) -> Any:
    return value + rng.laplace(size=size)


def response(values: Any, *, rng: np.random.Generator) -> Any:
    return KaryRandomizedResponse(1.0, 2).sample(values, rng=rng)


class Coins:
    """A game whose canaries answer by randomised response."""

    canaries = 40

    def play(self, runs: int, *, rng: np.random.Generator) -> GameResults:
        coins = rng.random((runs, self.canaries)) < 0.5
        lies = rng.random(coins.shape) < 0.2
        return GameResults((coins ^ lies) + 0.1 * rng.random(coins.shape), coins)

    def play_noiseless(self, runs: int, *, rng: np.random.Generator) -> GameResults:
        return self.play(runs, rng=rng)


def shown(outcome: Outcome, claim: PrivacyGuarantee) -> Estimate:
    """Return what shows the loss in the unit of a claim; of one without a unit, ε(δ) or μ."""
    unit = asked_of(claim).quantity
    units = {unit} | ({Quantity.EPSILON} if unit is Quantity.MU else set())
    if outcome.evidence.kind is EvidenceKind.EXACT and outcome.evidence.quantity.is_loss:
        return outcome.evidence
    (found,) = (each for each in outcome.estimates if each.quantity in units)
    return found


def is_two_sided(loss: Estimate) -> bool:
    """Return True if data bound both sides; from above, of the release or of a partition."""
    return math.isfinite(loss.upper) or loss.partition_upper is not None


def says_why(loss: Estimate) -> bool:
    return loss.detail.removeprefix("from below alone: ") != loss.detail


def checks() -> dict[str, tuple[Check, PrivacyGuarantee]]:
    """Return a small case of every check of the suites that tests a guarantee."""
    prior = Prior(name="two digits", candidates=digits().take(np.arange(2)), radius=0.0)
    found: dict[str, tuple[Any, PrivacyGuarantee]] = {
        f"BlackBoxPrivacy {claim}": (on_pair(noise, claim, PAIR, draws=2000), claim)
        for claim in CLAIMS
    }
    found |= {
        f"MembershipInference {claim}": (
            MembershipInference(sample=noise, guarantee=claim, neighbours=PAIR, n_samples=1000),
            claim,
        )
        for claim in (*CLAIMS, TRAINING)
    }
    found |= {
        f"ModelMembership {claim}": (
            ModelMembership(
                models=Responses(1.0),
                attack=LossThreshold(),
                view=View.PROBABILITIES,
                guarantee=claim,
                n_models=200,
            ),
            claim,
        )
        for claim in (PureDP(1.0), ApproxDP(1.0, 0.01), TRAINING)
    }
    found |= {
        f"CanaryAudit {runs}": (CanaryAudit(game=Coins(), claim=TRAINING, runs=runs), TRAINING)
        for runs in (1, 20)
    }
    plain = DPSGD(
        sampling=Poisson(0.4), lot_size=3, steps=2, noise_multiplier=2.0, learning_rate=0.7
    )
    attack = TraceAttack(training=plain, assumed_noise=2.0, known=digits().take(np.arange(5, 10)))
    found["Reconstruction"] = (
        Reconstruction(attack=attack, guarantee=PureDP(1.0), priors=(prior,), trainings=100),
        PureDP(1.0),
    )
    found["LocalPrivacy"] = (
        LocalPrivacy(
            randomizer=response, guarantee=LocalDP(1.0), n_inputs=2, n_outputs=2, n_samples=1000
        ),
        LocalDP(1.0),
    )
    return found


CHECKS = checks()


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_shows_the_loss_in_the_unit_of_its_claim(name: str) -> None:
    check, claim = CHECKS[name]
    loss = shown(check(context(1)), claim)
    assert 0 <= loss.lower <= loss.value <= loss.upper
    assert loss.confidence >= 0.95
    if name.startswith("CanaryAudit"):
        assert says_why(loss)
    else:
        assert is_two_sided(loss)


def test_no_check_of_the_suites_is_left_out() -> None:
    """Exact numbers have two ends; what else tests a guarantee runs in the tests of this file."""
    exact = {Computed.__name__}
    covered = {name.split()[0] for name in CHECKS} | {TargetPrivacy.__name__, TargetTrace.__name__}
    privacy = {
        type(row.check).__name__
        for name in ("papers", "training", "zoo", "tables")
        for row in suite(name)
        if isinstance(
            getattr(row.check, "guarantee", getattr(row.check, "claim", None)), PrivacyGuarantee
        )
    }
    assert privacy - exact == covered
    attacks = {
        type(row.check).__name__
        for row in suite("training")
        if type(row.check).__name__ not in privacy
    }
    assert attacks == OF_SHARES | {Computed.__name__}


def mean(scores: Any, *, rng: np.random.Generator, size: int) -> Any:
    return scores.mean() + rng.normal(scale=1 / len(scores), size=size)


def bits(values: Any, *, rng: np.random.Generator) -> Any:
    return (rng.random(np.shape(values)) < np.where(values, 0.7, 0.3)).astype(int)


def slow_mean(scores: Any, *, rng: np.random.Generator) -> float:
    return float(scores.mean() + rng.normal(scale=1 / len(scores)))


def noisy(value: float, *, rng: np.random.Generator) -> float:
    return value + rng.laplace()


def both_halves(scores: Any, *, rng: np.random.Generator) -> Any:
    return np.array([np.sum(scores < 0.5), np.sum(scores >= 0.5)]) + rng.laplace(size=2)


def of_clients(clients: Any, *, rng: np.random.Generator) -> float:
    return float(sum(np.sum(each) for each in clients) + rng.laplace())


def threshold(probabilities: Any, labels: Any, *, rng: np.random.Generator) -> float:
    return float(np.mean(1 - probabilities[np.arange(len(labels)), labels]) + rng.laplace())


def sloppy_fit(features: Any, labels: Any, new: Any, *, rng: np.random.Generator) -> Any:
    return np.full(len(new), np.mean(labels) + rng.laplace())


KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "randomizer": (bits, {"domain": 2, "vectorised": True}),
    "quantile": (slow_mean, {"n": 2}),
    "local": (noisy, {"bounds": (0.0, 1.0)}),
    "vector": (both_halves, {"n": 2}),
    "federated": (of_clients, {"n": 4}),
    "calibrator": (threshold, {"n": 4}),
    "model": (sloppy_fit, {"n": 4}),
}


@pytest.mark.parametrize("trace", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_target_shows_it_for_every_kind(kind: str, trace: bool) -> None:
    function, given = KINDS[kind]
    given = {"draws": 600, "kind": kind, "trace": trace} | given
    claim = LocalDP(1.0) if kind in {"randomizer", "local"} else PureDP(1.0)
    (row,) = rows_of_targets([spec_of(function, [claim], given, file="m.py")])
    loss = shown(row.check(context(1, significance=1e-4)), claim)
    assert is_two_sided(loss) or says_why(loss)


@pytest.mark.parametrize("claim", [PureDP(1.0), GaussianDP(1.0)])
def test_a_trace_shows_it_with_two_sides_or_says_why(claim: PrivacyGuarantee) -> None:
    spec = spec_of(slow_mean, [claim], {"n": 2, "draws": 600}, file="mine.py")
    (row,) = rows_of_traces([spec])
    assert isinstance(row.check, TargetTrace)
    loss = shown(replace(row.check, paths=20)(context(1, significance=1e-4)), claim)
    assert math.isfinite(loss.upper) or says_why(loss)
