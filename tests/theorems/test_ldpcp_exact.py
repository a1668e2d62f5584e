"""Theorem 4's computed failure probability: what is PROVED is true, to one part in 10¹²."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from flint import ctx
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.samplers import context

from dpcp_audit.laws.populations import Beta, PiecewiseConstant, Population, Uniform, atoms
from dpcp_audit.mechanisms.local_labels import LDPCPLabels
from dpcp_audit.mechanisms.local_scores import Debiasing, OnMiss, Window, threshold_law
from dpcp_audit.theorems.ldpcp import (
    ScoreTheorem,
    enclosed_failure,
)
from dpcp_audit.words.results import Proof, Verdict
from dpcp_ledger.claims.tightest_cases import ConfidentLabels, NoiselessEvent

if TYPE_CHECKING:
    from dpcp_audit.mechanisms.local_scores import LDPCPScores
    from dpcp_audit.words.validate import FloatArray


HEAP = atoms([0.25, 0.5, 0.5625, 1.0], [3, 4, 1, 2], name="heap")
MIXED = PiecewiseConstant(cells=(0.7,), atoms=((0.6, 0.3),))
LAWS = (Uniform(), Beta(2, 5), Beta(5, 0.2), HEAP, MIXED)
THEOREM = ScoreTheorem(population=Uniform(), n=11_080, epsilon=4.0, delta=0.1)


class Known(Population):
    """The uniform law, where F is known in floating point alone."""

    @property
    def name(self) -> str:
        """A name."""
        return "known"

    def cdf(self, x: FloatArray) -> FloatArray:
        """Return F(x)."""
        return Uniform().cdf(x)

    def quantile(self, u: FloatArray) -> FloatArray:
        """Return u."""
        return u


@dataclass(frozen=True, slots=True, kw_only=True)
class Claiming(ScoreTheorem):
    """Theorem 4 with another failure probability in the place of δ, and the same Δ_S."""

    allowed: float

    @property
    def allowed_failure(self) -> float:
        """What is claimed."""
        return self.allowed


@given(
    population=st.sampled_from(LAWS),
    n=st.integers(3, 60),
    rounds=st.integers(1, 3),
    alpha=st.floats(0.05, 0.6),
    epsilon=st.floats(2.0, 8.0),
    delta=st.floats(0.5, 0.99),
    on_miss=st.sampled_from(OnMiss),
    window=st.sampled_from(Window),
    starred=st.booleans(),
    two_sided=st.booleans(),
)
@settings(max_examples=60)
def test_claims_off_by_one_part_in_a_million_million_are_told_apart(**case: Any) -> None:
    theorem = Claiming(allowed=0.5, **case)
    with ctx.workprec(200):
        failure = enclosed_failure(theorem)
    assume(failure > 1e-250 and failure < 1 - 1e-9)
    true = replace(theorem, allowed=float(failure) * (1 + 1e-12)).exact()
    false = replace(theorem, allowed=float(failure) * (1 - 1e-12)).exact()
    assert true.verdict is Verdict.PROVED
    assert false.verdict is Verdict.REFUTED
    assert true.evidence.lower <= float(failure) <= true.evidence.upper
    assert theorem.failure_probability() == pytest.approx(float(failure), rel=1e-6, abs=1e-20)


@pytest.mark.parametrize("n", [2_400, 11_080, 10**9])
def test_so_are_claims_about_large_n(n: int) -> None:
    """Failure probabilities from 1e-50 to 1e-8, of tails with up to 10⁸ trials."""
    theorem = Claiming(population=Beta(2, 5), n=n, epsilon=4.0, delta=0.1, allowed=0.1)
    with ctx.workprec(200):
        failure = float(enclosed_failure(theorem))
    true = replace(theorem, allowed=failure * (1 + 1e-12)).exact()
    false = replace(theorem, allowed=failure * (1 - 1e-12)).exact()
    assert (true.verdict, false.verdict) == (Verdict.PROVED, Verdict.REFUTED)


def test_the_proof_names_the_case_and_its_one_comparison() -> None:
    proof = THEOREM.exact().proof
    assert isinstance(proof, Proof)
    assert proof.parameters == {
        "n": 11_080,
        "alpha": 0.1,
        "rounds": 10,
        "window": "final",
        "on_miss": "last-midpoint",
        "starred": False,
        "delta": 0.1,
        "epsilon": 4.0,
        "debiasing": "corrected",
        "blocks": "corrected",
        "population": "uniform",
    }
    (premise,) = proof.premises
    assert premise.says == "P(F(q̂) < 1−α−Δ_S) ≤ δ"
    starred = replace(THEOREM, starred=True, two_sided=True).exact().proof
    assert starred is not None
    assert starred.premises[0].says == "P(F(q̂) < 1−α or F(q̂) > 1−α+2Δ_S) ≤ δ"


@pytest.mark.parametrize("on_miss", OnMiss)
def test_a_planted_mechanism_is_not_proved_in_the_name_of_the_right_one(on_miss: OnMiss) -> None:
    """Division by n, as printed, puts the threshold at the end of the range."""
    sound = replace(THEOREM, n=10**6, two_sided=True, on_miss=on_miss)
    printed = replace(sound, debiasing=Debiasing.PRINTED)
    assert sound.exact().verdict is Verdict.PROVED
    assert printed.exact().verdict is Verdict.REFUTED


def test_without_an_enclosure_of_f_nothing_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    theorem = replace(THEOREM, population=Known())
    found = theorem.exact()
    assert found.proof is None
    assert found.verdict is Verdict.CONSISTENT
    assert found.value == THEOREM.exact().value
    monkeypatch.setattr(
        "dpcp_audit.theorems.ldpcp.threshold_law", partial(threshold_law, prune=1.0)
    )
    pruned = theorem.exact()
    assert pruned.value < THEOREM.delta < pruned.value + pruned.slack
    assert pruned.verdict is Verdict.INCONCLUSIVE  # it may hide more than twice the claim


def test_what_the_float_engine_cuts_off_is_enclosed_still() -> None:
    """Of a billion users the branch that fails has a probability below 1e-25, and is pruned."""
    theorem = replace(THEOREM, n=10**9, population=Beta(2, 5))
    found = theorem.exact()
    assert 0 < found.evidence.lower <= found.evidence.upper < 1e-40
    assert theorem.failure_probability() == found.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrow(ScoreTheorem):
    """A planted window that is narrower than Δ_S, with the bounds that follow from it."""

    @property
    def mechanism(self) -> LDPCPScores:
        """The algorithm with 0.6 Δ_S."""
        sound = super(Narrow, self).mechanism
        return replace(sound, window_width=0.6 * sound.window_width)


def test_a_planted_width_is_enclosed_as_it_is() -> None:
    planted = Narrow(population=Uniform(), n=2_400, epsilon=4.0, delta=0.1)
    with ctx.workprec(96):
        found = float(enclosed_failure(planted))
        sound = float(enclosed_failure(replace(THEOREM, n=2_400)))
    assert found == pytest.approx(planted.failure_probability(), rel=1e-9)
    assert found > 1.1 * sound


def test_a_law_that_meets_its_bound_is_neither_proved_nor_refuted() -> None:
    """F(1/2) = 1/2 = 1−α of Beta(2, 2), which no precision shows: it may fail half of the time."""
    theorem = replace(THEOREM, population=Beta(2, 2), alpha=0.5, starred=True, rounds=1, n=40)
    found = theorem.exact()
    assert (found.evidence.lower, found.evidence.upper) == (0.0, 1.0)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert replace(theorem, population=Uniform()).exact().verdict is Verdict.PROVED


def test_a_thousand_million_million_million_users_take_no_longer() -> None:
    """Nearly every trial ends just below the bound's level or far from it: no sum is a long one."""
    found = replace(THEOREM, n=10**18, on_miss=OnMiss.UPPER_END).exact()
    assert found.verdict is Verdict.PROVED
    assert found.evidence.upper <= 5e-324


EVENT = NoiselessEvent(n=100, epsilon=50.0, delta=0.9)
CONFIDENT = ConfidentLabels(n=400, epsilon=2.0, delta=0.9, alpha=0.4, correction=0.4)


@pytest.mark.statistical(false_alarm=2e-9)
@pytest.mark.parametrize("two_sided", [False, True])
def test_the_event_happens_as_often_as_computed(*, two_sided: bool) -> None:
    """Six standard deviations of a binomial rate, twice: 4e-9."""
    event = replace(EVENT, two_sided=two_sided)
    chance = event.failure_probability()
    run = event.trials(20_000, rng=np.random.default_rng(0))
    assert 0.05 < chance < 0.5
    assert abs(run.failed.mean() - chance) < 6 * np.sqrt(chance * (1 - chance) / 20_000)


def test_changed_labels_widen_the_interval() -> None:
    certain, open_ = EVENT.exact().evidence, replace(EVENT, epsilon=5.0).exact().evidence
    assert certain.upper - certain.lower < 1e-9
    assert open_.upper == 1
    outcome = replace(EVENT, epsilon=5.0, delta=0.1).check()(context(0))
    assert outcome.verdict is Verdict.INCONCLUSIVE


@pytest.mark.statistical(false_alarm=2e-9)
@pytest.mark.parametrize("k", [2, 5])
def test_the_algorithm_itself_fails_as_often_as_computed(k: int) -> None:
    """LDP-CP-L on a pool as the docstring describes it; 6 standard deviations, twice: 4e-9.

    The search also jumps over its window, which comes on top: in 5 % of the runs with two classes.
    """
    users, theorem = 1000, replace(CONFIDENT, k=k)
    low = round(users * theorem.covered)
    near = np.linspace(0, 0.24, users)
    scores = np.tile(np.linspace(0.76, 1, users)[:, None], (1, k))
    scores[:, 0] = near
    labels = (np.arange(users) >= low).astype(np.int64)
    wide = theorem.scaled(1.0).width
    exact = replace(theorem, correction=(1 - 0.4 - low / users) / wide)
    search = LDPCPLabels(
        alpha=0.4, epsilon=2.0, k=k, rounds=theorem.rounds, window_width=exact.width
    )
    run = search.trials(scores, labels, n=400, trials=2000, rng=np.random.default_rng(1))
    rate = (run.coverage <= low / users + 1e-12).mean()
    chance = exact.failure_probability()
    assert 0.02 < chance < 0.98
    room = 6 * np.sqrt(chance * (1 - chance) / 2000)
    assert chance - room < rate < chance + room + 0.1


@pytest.mark.statistical(false_alarm=2e-9)
def test_trials_of_the_reports_fail_as_computed() -> None:
    """Six standard deviations of a binomial rate: 2e-9."""
    chance = CONFIDENT.failure_probability()
    run = CONFIDENT.trials(20_000, rng=np.random.default_rng(2))
    assert abs(run.failed.mean() - chance) < 6 * np.sqrt(chance * (1 - chance) / 20_000)


def test_there_are_at_least_two_classes() -> None:
    with pytest.raises(ValueError, match="k must be an integer >= 2, got 1"):
        replace(CONFIDENT, k=1)
