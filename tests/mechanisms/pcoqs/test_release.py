from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, norm
from support.plain_pcoqs import plain_law

from dpcp_audit.laws.laws import FinitePair
from dpcp_audit.laws.populations import Pool, Uniform
from dpcp_audit.mechanisms.pcoqs import PCOQS

FINE = PCOQS(alpha=0.1, rho=0.5)
COARSE = PCOQS(alpha=0.2, rho=2.0, resolution=0.2)


def worst(mechanism: PCOQS, n: int) -> FinitePair:
    return FinitePair(*mechanism.laws(*mechanism.worst_pair(n)))


def test_rounds_and_noise_scale() -> None:
    assert FINE.rounds == 34
    assert FINE.noise_scale == pytest.approx(math.sqrt(34))
    assert [PCOQS(alpha=0.1, rho=1.0, resolution=2.0**-k).rounds for k in (1, 2, 10)] == [1, 2, 10]
    assert PCOQS(alpha=0.1, rho=1.0, bounds=(-2, 6), resolution=0.5).rounds == 4
    assert COARSE.rounds == 3
    assert FINE.guarantee.rho == 0.5


@pytest.mark.parametrize("mechanism", [FINE, PCOQS(alpha=0.05, rho=3.0, resolution=1e-4)])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 2.5])
def test_worst_pair_is_iid_bernoulli_bits(mechanism, epsilon) -> None:
    """P(below) is 1/2 with r scores at a, and Φ(1/σ) with r − 1."""
    ones, rounds = np.arange(mechanism.rounds + 1), mechanism.rounds
    p = binom.pmf(ones, rounds, 0.5)
    q = binom.pmf(ones, rounds, norm.cdf(1 / mechanism.noise_scale))
    pair = worst(mechanism, 300)
    forward = np.maximum(0, p - math.exp(epsilon) * q).sum()
    backward = np.maximum(0, q - math.exp(epsilon) * p).sum()
    assert pair.delta_at(epsilon) == pytest.approx(forward, abs=1e-9)
    assert pair.reversed().delta_at(epsilon) == pytest.approx(backward, abs=1e-9)


def test_renyi_supremum_is_reached() -> None:
    mechanism, n = PCOQS(alpha=0.5, rho=4.0, resolution=0.1), 40
    best = 0.0
    for count in range(n):
        scores = np.where(np.arange(n) < count, 0.0, 1.0)
        neighbour = np.where(np.arange(n) < count + 1, 0.0, 1.0)
        pair = FinitePair(*mechanism.laws(scores, neighbour))
        best = max(best, pair.renyi(8.0), pair.reversed().renyi(8.0))
    # the last midpoint passes b on one path in 2^N, where the bits reveal less
    assert 0.97 * mechanism.renyi_supremum(8.0) <= best <= mechanism.renyi_supremum(8.0)


def test_law_of_a_large_input_sums_to_one() -> None:
    scores = np.random.default_rng(1).random(100_000)
    neighbour = np.where(np.arange(100_000) == 7, 1.0, scores)
    for law in FINE.laws(scores, neighbour):
        assert law.total == pytest.approx(1, abs=1e-10)
        assert 0 <= law.slack < 1e-12


def test_law_sees_a_score_just_past_a_midpoint() -> None:
    """With Δ = 0.01 the last midpoint can pass ``right`` = 1/2 by 0.0019, and meet 0.501 there."""
    mechanism = PCOQS(alpha=0.5, rho=0.2, resolution=0.01)
    scores = np.full(9, 0.501)
    (law,) = mechanism.laws(scores)
    plain = np.array(list(plain_law(mechanism, scores).values()))
    sum_of_squares = np.exp(2 * law.log_mass - law.log_multiplicity).sum()
    assert sum_of_squares == pytest.approx(np.exp(2 * plain).sum(), rel=1e-9)


@pytest.mark.parametrize("n", [1, 2, 2**53])
def test_trials_at_the_ends_of_n(n) -> None:
    result = FINE.trials(Uniform(), n=n, trials=100, rng=0)
    assert np.isfinite(result.threshold).all()
    assert ((result.rank_error >= 0) & (result.rank_error <= n + 1)).all()


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: PCOQS(alpha=1.0, rho=1.0), "alpha"),
        (lambda: PCOQS(alpha="0.1", rho=1.0), "alpha"),
        (lambda: PCOQS(alpha=0.1, rho=0.0), "rho"),
        (lambda: PCOQS(alpha=0.1, rho=1.0, bounds=(1, 0)), "bounds"),
        (lambda: PCOQS(alpha=0.1, rho=1.0, resolution=1.0), "resolution"),
        (lambda: PCOQS(alpha=0.1, rho=1.0, resolution=-1.0), "resolution"),
        (lambda: FINE.sample([0.5, 1.5], 1), "scores"),
        (lambda: FINE.sample([], 1), "scores"),
        (lambda: FINE.sample([0.5], 0), "size"),
        (FINE.laws, "inputs"),
        (lambda: FINE.laws([0.5], [2.0]), r"inputs\[1\]"),
        (lambda: FINE.worst_pair(5), "n"),
        (lambda: PCOQS(alpha=0.0, rho=1.0).worst_pair(5), "n"),
        (lambda: FINE.renyi_supremum(1.0), "alpha"),
        (lambda: FINE.renyi_supremum(math.inf), "alpha"),
        (lambda: FINE.trials(Uniform(), n=0, trials=5), "n"),
        (lambda: FINE.trials(Uniform(), n=2**53 + 1, trials=5), "n"),
        (lambda: FINE.trials(Uniform(), n=5, trials=0), "trials"),
        (lambda: FINE.trials(Pool([0.1, 1.1], "p"), n=5, trials=2), "population"),
        (lambda: FINE.trials(Pool([0.1, -0.1], "p"), n=5, trials=2), "population"),
        (lambda: FINE.trials(Uniform(), n=5, trials=2, rng="x"), "rng"),
    ],
)
def test_bad_input_names_the_argument(call, name) -> None:
    with pytest.raises(ValueError, match=f"^{name} must "):
        call()
