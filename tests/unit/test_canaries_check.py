"""The canary audit on games without a training: chunks, certificates, verdicts, words."""

import json
from dataclasses import dataclass

import numpy as np
import pytest

from dpcp_audit.audits.canaries.check import CanaryAudit
from dpcp_audit.audits.canaries.games import Played
from dpcp_audit.audits.check import Chunked, Context
from dpcp_audit.audits.evidence import EvidenceKind, Verdict
from dpcp_audit.mechanisms.subsampled_gaussian import SubsampledGaussian

Q, STEPS, SIGMA = 0.1, 20, 0.8
CLAIM = SubsampledGaussian(sampling_rate=Q, steps=STEPS, noise_multiplier=SIGMA)


@dataclass(frozen=True)
class Release:
    """The subsampled Gaussian mechanism itself, of noise ``sigma``."""

    sigma: float = SIGMA
    canaries: int = 200

    def play(self, runs: int, *, rng: np.random.Generator) -> Played:
        coins = rng.random((runs, self.canaries)) < 0.5
        scores = np.zeros(coins.shape)
        for _ in range(STEPS):
            hit = coins & (rng.random(coins.shape) < Q)
            seen = self.sigma * rng.standard_normal(coins.shape) + hit
            scores += np.logaddexp(np.log1p(-Q), np.log(Q) + (seen - 0.5) / SIGMA**2)
        return Played(scores, coins)


def context(effort: float = 1.0, significance: float = 1e-4) -> Context:
    return Context(seed=1, name="canaries", significance=significance, effort=effort)


def audit(**changes: object) -> CanaryAudit:
    settings = {"game": Release(), "claim": CLAIM, "delta": 1e-5, "runs": 100}
    return CanaryAudit(**(settings | changes))


@pytest.mark.statistical
def test_a_true_claim_is_not_refuted_and_the_bound_comes_near() -> None:
    """False alarm at most 1e-8, the check's significance.

    The bound is too low to pass with a probability below 1e-10: it is seven standard deviations up.
    """
    outcome = audit(runs=600)(context(significance=1e-8))
    assert outcome.verdict is Verdict.CONSISTENT
    evidence = outcome.evidence
    assert evidence.kind is EvidenceKind.CERTIFIED
    assert evidence.claimed == pytest.approx(CLAIM.epsilon_at(1e-5))
    assert 0.2 * evidence.claimed < evidence.lower < evidence.claimed
    assert evidence.n_samples == 600 * 200


def test_too_little_noise_is_refuted_by_the_claims_own_region() -> None:
    outcome = audit(game=Release(sigma=SIGMA / 2))(context())
    assert outcome.verdict is Verdict.REFUTED
    assert outcome.evidence.lower > outcome.evidence.claimed


def test_a_single_run_is_one_whatever_the_effort() -> None:
    single = audit(game=Release(canaries=20_000), runs=1)
    assert single.chunks(context(effort=20)) == 1
    outcome = single(context(effort=20))
    assert "1 run of 20000 canaries" in outcome.note
    drawn = outcome.figures[0].series[1]
    assert drawn.x[-1] == 20_000
    assert drawn.y[-1] > 1


def test_few_canaries_are_inconclusive() -> None:
    outcome = audit(game=Release(canaries=2), runs=2)(context())
    assert outcome.verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("runs", [80, 500])
def test_chunks_are_plain_data_and_the_order_of_work_does_not_matter(runs) -> None:
    check = audit(runs=runs, game=Release(canaries=20))
    assert isinstance(check, Chunked)
    here = context()
    results = {i: check.chunk(here, i) for i in reversed(range(check.chunks(here)))}
    kept = [json.loads(json.dumps(results[i])) for i in range(check.chunks(here))]
    assert check.combine(here, kept) == check(here)
    assert sum(part["canaries"] for chunk in kept for part in chunk["claim"]) == runs * 20
    assert ("scores" in kept[0]) == (runs >= 500)


def test_more_runs_certify_more() -> None:
    few, many = (audit(runs=runs)(context()).figures[0].series[1].y[-1] for runs in (4, 600))
    assert many > few + 0.3
