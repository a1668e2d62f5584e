"""Bets against a privacy claim: fair under it, quick against it, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.samplers import context, gaussian, laplace, pair, response

from dpcp_audit.audits.sequential import SequentialPrivacy
from dpcp_audit.checks import Check
from dpcp_audit.guarantees import ZCDP, ApproxDP, LocalDP, PureDP
from dpcp_audit.results import Verdict
from dpcp_audit.stats.betting import BettingTest, betting_lower_bound


def mean_factors(test: BettingTest, p: float, p_prime: float) -> np.ndarray:
    law = np.outer([1 - p, p], [1 - p_prime, p_prime]).ravel()
    return np.exp(test.log_factors()) @ law


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.0), (0.0, 0.1), (2.0, 0.05)])
def test_a_bet_is_fair_on_the_boundary_and_loses_inside(epsilon: float, delta: float) -> None:
    test = BettingTest(epsilon=epsilon, delta=delta)
    for q in np.linspace(0, (1 - delta) / math.exp(epsilon), 9):
        p = min(1.0, math.exp(epsilon) * q + delta)
        assert mean_factors(test, p, q) == pytest.approx(np.ones(test.bets.size), abs=1e-12)
        assert (mean_factors(test, 0.9 * p, q) <= 1 + 1e-12).all()
    assert (mean_factors(test, 0.9, 0.05)[-1] > 1) == (math.exp(epsilon) * 0.05 + delta < 0.9)


def test_stopping_times_are_those_of_the_counts() -> None:
    rng = np.random.default_rng(0)
    inside, neighbour = rng.random((5, 400)) < 0.6, rng.random((5, 400)) < 0.1
    test = BettingTest(epsilon=0.5)
    times = test.stopping_time(inside, neighbour, significance=1e-3)
    assert times.shape == (5,)
    for row, time in enumerate(times):
        assert time < 400
        for length, reached in ((time, True), (time - 1, False)):
            index = 2 * inside[row, :length] + neighbour[row, :length]
            capital = test.log_capital(np.bincount(index, minlength=4))
            assert (capital >= -math.log(1e-3)) is np.bool_(reached)
    assert (test.stopping_time(neighbour, inside, significance=0.05) == 401).all()


def test_the_bound_inverts_the_bets() -> None:
    counts = np.array([400, 50, 500, 50])
    bound = betting_lower_bound(counts, significance=0.01)
    limit = -math.log(0.01)
    assert BettingTest(epsilon=bound).log_capital(counts) >= limit
    assert BettingTest(epsilon=bound + 2e-4).log_capital(counts) < limit
    assert 1 < bound < math.log(550 / 100)
    assert betting_lower_bound(counts[[0, 2, 1, 3]], significance=0.01) == -math.inf


def check(sample: object, guarantee: object, **keywords: int) -> SequentialPrivacy:
    return SequentialPrivacy(sample=sample, guarantee=guarantee, neighbours=pair(), **keywords)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("bad", "good", "guarantee"),
    [
        (laplace(0.5), laplace(1.0), PureDP(1.0)),
        (response(1.5), response(1.0), LocalDP(1.0)),
        (gaussian(0.5), gaussian(1.0), ApproxDP(1.0, 0.1269)),
    ],
)
@pytest.mark.known_bad
def test_it_stops_early_on_half_the_noise_and_never_on_enough(
    bad: object, good: object, guarantee: object
) -> None:
    outcome = check(bad, guarantee)(context(0, significance=1e-6))
    assert outcome.verdict is Verdict.REFUTED
    assert outcome.evidence.n_samples is not None
    assert outcome.evidence.n_samples < 12_000
    assert outcome.evidence.claimed is not None
    assert outcome.evidence.claimed < outcome.evidence.lower <= outcome.evidence.value
    outcome = check(good, guarantee)(context(0, significance=1e-6))
    assert outcome.verdict is Verdict.CONSISTENT
    assert outcome.evidence.n_samples == 40_000
    assert outcome.evidence.lower <= guarantee.epsilon  # type: ignore[attr-defined]


def test_the_complement_is_bet_on_where_it_speaks_louder() -> None:
    """The output 1 is sure on one input and has probability 0.9 on the other."""

    def rare(value: float, size: int, *, rng: np.random.Generator) -> np.ndarray:
        return (rng.random(size) < 0.9 + 0.1 * value).astype(float)

    outcome = check(rare, PureDP(1.0))(context(0, significance=1e-6))
    assert outcome.verdict is Verdict.REFUTED


def test_a_tiny_budget_is_inconclusive() -> None:
    few = check(laplace(1.0), PureDP(5.0), n_pilot=100, n_samples=100)
    assert isinstance(few, Check)
    assert few.sampled
    assert few(context(0, significance=1e-9)).verdict is Verdict.INCONCLUSIVE


def test_what_it_cannot_judge_is_refused() -> None:
    with pytest.raises(ValueError, match="guarantee must be PureDP or ApproxDP, got ZCDP"):
        check(laplace(1.0), ZCDP(0.5))
    with pytest.raises(ValueError, match="must have delta < 1"):
        check(laplace(1.0), ApproxDP(1.0, 1.0))
    with pytest.raises(ValueError, match="n_pilot must be an integer >= 100"):
        check(laplace(1.0), PureDP(1.0), n_pilot=50)
    with pytest.raises(ValueError, match=r"bets must lie in \(0, 1\)"):
        BettingTest(epsilon=1.0, bets=np.array([0.5, 1.0]))
