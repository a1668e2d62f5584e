"""P-COQS's sentences: recomputed by other means, and with the mistake mended."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.transcripts import transcript_pair

from dpcp_audit.laws.laws import FinitePair, GaussianPair
from dpcp_audit.laws.populations import Uniform
from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.theorems.pcoqs_coverage import NoiseBound, noise_rank_error
from dpcp_audit.words.guarantees import ZCDP, PureDP
from dpcp_audit.words.results import Verdict
from dpcp_ledger.claims.papers_suite import listed_statements
from dpcp_ledger.ldpcp import ldpcp_scores
from dpcp_ledger.pcoqs import pcoqs_theorems, privacy, remarks, zcdp
from dpcp_ledger.pcoqs.algorithm import noise_exceeds
from dpcp_ledger.pcoqs.privacy import pipeline_budget, zcdp_supremum

MECHANISM = PCOQS(alpha=0.1, rho=0.5)


@pytest.mark.parametrize(("rho", "delta"), [(0.5, 1e-5), (0.02, 1e-2), (4.0, 1e-9)])
def test_the_printed_budget_is_what_markovs_inequality_gives(rho: float, delta: float) -> None:
    """The least exp((α−1)(αρ−ε)) over orders at the printed ε is δ; the exact ε is smaller."""
    epsilon = rho + 2 * math.sqrt(rho * math.log(1 / delta))
    orders = 1 + np.logspace(-3, 3, 200_001)
    bound = ((orders - 1) * (orders * rho - epsilon)).min()
    assert bound == pytest.approx(math.log(delta), rel=1e-6)
    assert ZCDP(rho).epsilon_at(delta) <= epsilon


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_the_response_divergence_is_that_of_its_laws(epsilon: float) -> None:
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    for order in (1.5, 2.0, 7.0):
        summed = sum(p**order * q ** (1 - order) for p, q in ((keep, 1 - keep), (1 - keep, keep)))
        share = zcdp._response_ball(epsilon, order)
        found = float(share.mid()) * order * epsilon**2 / 2
        assert found == pytest.approx(math.log(summed) / (order - 1))


def test_a_private_bound_spends_what_its_noise_says() -> None:
    bound = PCOQS(alpha=0.01, rho=0.05, bounds=(0.0, 1e3), resolution=1e-3)
    found = zcdp.private_bound_budget(bound, MECHANISM)
    orders = (1.001, 2.0, 1e4)
    spent = max(sum(m.renyi_supremum(a) for m in (bound, MECHANISM)) / a for a in orders)
    assert 0.999 * 0.55 < spent <= found.value <= 0.55 * (1 + 1e-12)


@pytest.mark.known_bad
def test_a_bound_with_less_noise_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    original = PCOQS.noise_scale.fget
    assert original is not None
    monkeypatch.setattr(PCOQS, "noise_scale", property(lambda self: original(self) * 0.99))
    bound = PCOQS(alpha=0.01, rho=0.05, bounds=(0.0, 1e3), resolution=1e-3)
    found = zcdp.private_bound_budget(bound, MECHANISM)
    assert found.verdict is Verdict.REFUTED


@pytest.mark.known_bad
def test_half_of_what_pure_dp_implies_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    original = zcdp._response_ball
    monkeypatch.setattr(zcdp, "_response_ball", lambda e, order: 2 * original(e, order))
    assert zcdp.pure_to_zcdp((0.1, 1.0)).verdict is Verdict.REFUTED


def test_a_rare_class_is_left_out() -> None:
    """The class's coverage by drawn thresholds, where it is common enough to be seen."""
    found = remarks.one_class(PCOQS(alpha=0.1, rho=0.5), n=100, beta=0.5, share=0.1)
    drawn = MECHANISM.trials(Uniform(), n=100, trials=20_000, rng=np.random.default_rng(0))
    assert found.value == pytest.approx((drawn.threshold > 0.9).mean(), abs=0.015)


@pytest.mark.known_bad
def test_a_class_of_everything_is_covered() -> None:
    found = remarks.one_class(MECHANISM, n=2400, beta=0.01, share=0.5)
    assert found.verdict is Verdict.REFUTED


def test_the_largest_of_many_noises_is_the_median_that_is_said() -> None:
    coarse = PCOQS(alpha=0.1, rho=0.5, resolution=1e-3)
    found = remarks.crowd_histogram(coarse, beta=0.01, spent=0.1)
    scale, tau = found.witness["noise_scale"], found.witness["tau"]
    assert scale == pytest.approx(math.sqrt(2 / (2 * 0.05)))
    largest = np.random.default_rng(0).normal(0, scale, (4_000, 1_000)).max(axis=1)
    assert found.value * tau == pytest.approx(np.median(largest), rel=0.02)


@pytest.mark.known_bad
def test_sharp_resolutions_behave_alike() -> None:
    found = remarks.coarse_tail(MECHANISM, n=2400, beta=0.01, multiples=(0.01, 0.1, 1.0))
    assert found.verdict is not Verdict.REFUTED


def test_a_pipeline_whose_classifier_tells_nothing_is_its_thresholds() -> None:
    found = pipeline_budget(PureDP(1e-12), MECHANISM, thresholds=2, delta=1e-5)
    thresholds = GaussianPair(math.sqrt(2) * transcript_pair(MECHANISM).shift)
    assert found.value == pytest.approx(thresholds.epsilon_at(1e-5), rel=1e-6)


@pytest.mark.parametrize("rho", [0.5, 1.0])
def test_the_output_of_the_equivalences_witness_loses_what_the_pair_does(rho: float) -> None:
    found = privacy.epsilon_equivalence(PCOQS(alpha=0.1, rho=rho), "")
    here, there = found.witness["probability"], found.witness["neighbour_probability"]
    assert math.log(here / there) == pytest.approx(found.value, rel=1e-9)
    assert sorted(found.witness["scores"]).count(0.0) == 46


def test_the_readme_and_the_statements_tell_the_delta_of_the_equivalences_instance() -> None:
    pair, _ = privacy._pair_of(PCOQS(alpha=0.1, rho=1.0))
    told = f"{max(pair.delta_at(1.0), pair.reversed().delta_at(1.0)):.3g}"
    readme = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
    assert f"δ(1) = {told}" in readme
    (note,) = (s.note for s in listed_statements() if s.rows == ("pcoqs.epsilon-equivalence",))
    assert f"δ(1) is {told}" in note


def test_the_witness_of_the_rank_error_is_reached_by_hand() -> None:
    """At 1/2 the search counts 17,991 < 18,001 and jumps to 1/2 + Δ; then it moves down to it."""
    mechanism = PCOQS(alpha=0.1, rho=1e9)
    scores = pcoqs_theorems.crowded(20_000, crowd=2_010, first=17_991, place=0.5, width=4e-10)
    left, right = 0.0, 1.0
    for _ in range(mechanism.rounds):
        middle = (left + right) / 2
        below = int((scores <= middle).sum()) < 18_001
        left, right = (middle + 1e-10, right) if below else (left, middle)
    count = int((scores <= (left + right) / 2).sum())
    quiet = pcoqs_theorems.FixedRankError(mechanism=mechanism, scores=scores, beta=0.01)
    witness = quiet.exact().witness
    assert (witness["rank"], witness["count"]) == (18_001, count)
    assert witness["error"] == count - 18_001 > quiet.window_count == 503
    assert witness["probability"] == pytest.approx(1.0)


def test_no_pair_loses_more_than_the_largest_loss_and_one_loses_as_much() -> None:
    """Over all neighbours whose 50 scores lie at a, at b or between, by the search's exact laws."""
    mechanism = PCOQS(alpha=0.1, rho=2e-3, resolution=1 / 8)
    largest, _ = privacy._largest_loss(mechanism)
    losses = {}
    for left in range(50):
        for middle in range(50 - left):
            rest = np.repeat([0.0, 0.4, 1.0], [left, middle, 49 - left - middle])
            for old, new in ((0.0, 1.0), (0.0, 0.4), (0.4, 1.0)):
                laws = mechanism.laws(np.append(rest, old), np.append(rest, new))
                pair = FinitePair(*laws)
                loss = max(pair.max_divergence(), pair.reversed().max_divergence())
                losses[left, middle, old, new] = loss
    assert max(losses.values()) == pytest.approx(largest, rel=1e-8)
    assert max(losses, key=lambda case: losses[case])[::3] == (0, 1.0)


def test_enough_rounds_cover() -> None:
    """A finer grid than ⌈ln(1/τ)⌉ needs is no violation: the search then ends in its window."""
    found = ldpcp_scores.natural_rounds(alpha=0.05, width=0.05, spacing=0.001)
    assert found.verdict is not Verdict.REFUTED


@dataclass(frozen=True, slots=True, kw_only=True)
class WeakerNoise(PCOQS):
    """Adds ``factor`` times the noise that it should."""

    factor: float = 1.0

    @property
    def noise_scale(self) -> float:
        return self.factor * PCOQS.noise_scale.fget(self)  # type: ignore[attr-defined,no-any-return]


@pytest.mark.known_bad
@pytest.mark.parametrize("factor", [0.999998, 1 - 1e-9, 1 - 1e-12, 1 - 2**-52])
def test_a_little_less_noise_is_not_proved(factor: float) -> None:
    found = zcdp_supremum(WeakerNoise(alpha=0.1, rho=0.5, factor=factor), n=50)
    assert found.verdict is Verdict.CONSISTENT
    assert found.proof is not None
    assert not found.proof.holds


@pytest.mark.known_bad
def test_less_noise_is_refuted_by_the_worst_pair() -> None:
    assert zcdp_supremum(WeakerNoise(alpha=0.1, rho=0.5, factor=0.999), n=50).verdict is (
        Verdict.REFUTED
    )


@pytest.mark.parametrize("factor", [1.0, 1 + 1e-12, 2.0])
def test_enough_noise_is_proved(factor: float) -> None:
    found = zcdp_supremum(WeakerNoise(alpha=0.1, rho=0.5, factor=factor), n=50)
    assert found.verdict is Verdict.PROVED
    assert found.evidence.upper == pytest.approx(0.5 / factor**2, rel=1e-14)


@given(st.floats(1e-6, 100.0), st.integers(1, 60))
def test_the_noise_in_doubles_is_enough(rho: float, rounds: int) -> None:
    search = PCOQS(alpha=0.1, rho=rho, resolution=2.0**-rounds * 1.01)
    assert search.noise_scale == pytest.approx(math.sqrt(search.rounds / (2 * rho)), rel=1e-15)
    assert search.rounds * 0.5 / search.noise_scale**2 <= rho * (1 + 1e-15)


@pytest.mark.parametrize("beta", [0.1, 1e-6, 1e-18, 1e-300])
def test_noise_beyond_its_bound(beta: float) -> None:
    mechanism = PCOQS(alpha=0.1, rho=0.5)
    union, exact = (noise_exceeds(mechanism, beta=beta, bound=bound) for bound in NoiseBound)
    assert union.verdict is Verdict.PROVED
    assert union.evidence.upper < exact.evidence.upper
    assert exact.evidence.upper == pytest.approx(-math.expm1(34 * math.log1p(-beta / 34)))
    proved = exact.evidence.upper <= beta
    assert exact.verdict is (Verdict.PROVED if proved else Verdict.CONSISTENT)  # τ* is rounded


@pytest.mark.known_bad
@pytest.mark.parametrize("bound", NoiseBound)
def test_a_bound_of_noise_that_falls_short(
    bound: NoiseBound, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Remark 3's τ* is as small as it can be; Proposition 1's has room for 5 % at β = 1e-6."""

    def short(mechanism: PCOQS, *, beta: float, bound: NoiseBound) -> float:
        return 0.95 * noise_rank_error(mechanism, beta=beta, bound=bound)

    name = "dpcp_ledger.pcoqs.algorithm.noise_rank_error"
    monkeypatch.setattr(name, short)
    found = noise_exceeds(PCOQS(alpha=0.1, rho=0.5), beta=1e-6, bound=bound)
    tight = bound is NoiseBound.GAUSSIAN
    assert found.verdict is (Verdict.REFUTED if tight else Verdict.PROVED)
