from __future__ import annotations

import math

import numpy as np
import pytest

from dpcp_audit.laws.laws import FinitePair
from dpcp_audit.laws.populations import Beta, Uniform, atoms
from dpcp_audit.mechanisms.quantiles import (
    ExponQ,
    Normaliser,
    bin_index,
    bin_probabilities,
    optimal_gamma,
)
from dpcp_ledger.mechanisms.published_variants import ExponQSearch, Tuning
from dpcp_ledger.mechanisms.releases import worst_log_ratio

GOOD = {"alpha": 0.1, "epsilon": 1.0, "n_candidates": 10_000, "gamma": 0.01}
CORRECTED = ExponQ(**GOOD)
PUBLISHED = ExponQ(**GOOD, normaliser=Normaliser.PUBLISHED)


def largest_log_ratio(mechanism: ExponQ, first: np.ndarray, second: np.ndarray) -> float:
    pair = FinitePair(*mechanism.laws(first, second))
    return max(pair.max_divergence(), pair.reversed().max_divergence())


def test_scores_are_rounded_up_and_the_top_edge_stays() -> None:
    edges = np.linspace(0, 1, 5)
    assert bin_index(np.array([0.0, 0.1, 0.25, 0.99, 1.0]), edges).tolist() == [0, 0, 1, 3, 3]
    concentrated = ExponQ(alpha=0.3, epsilon=1e4, n_candidates=5, gamma=0.4)
    assert (concentrated.sample([0.25] * 9, 20, rng=0) == 0.5).all()
    assert (concentrated.sample([0.2499] * 9, 20, rng=0) == 0.25).all()
    assert (concentrated.sample([1.0] * 9, 20, rng=0) == 1.0).all()


def test_target_is_the_formula_of_the_paper() -> None:
    by_hand = 501 * 0.9 / (500 * 0.999) + 2 / 500 * math.log(1e4 / 0.001)
    assert CORRECTED.target(500) == pytest.approx(by_hand, rel=1e-14)
    assert CORRECTED.normalisation(500) == pytest.approx(1 - by_hand, rel=1e-12)
    assert PUBLISHED.target(500) == CORRECTED.target(500)
    assert PUBLISHED.normalisation(500) == 0.1
    assert PUBLISHED.target(10) == 1 - 1e-12


def test_optimal_gamma_minimises_the_target() -> None:
    best = optimal_gamma(500, alpha=0.1, epsilon=1.0)

    def target(gamma: float) -> float:
        return ExponQ(alpha=0.1, epsilon=1.0, n_candidates=100, gamma=gamma).target(500)

    assert target(best) < min(target(best * 0.99), target(best * 1.01))
    assert optimal_gamma(1, alpha=0.1, epsilon=0.01) == 1 - 1e-12


def test_corrected_without_room_releases_the_top_edge_whatever_the_scores() -> None:
    """q̃ >= 1: nothing of the scores is released."""
    tight, n = ExponQ(alpha=0.1, epsilon=0.1, n_candidates=100, gamma=0.1), 100
    assert tight.target(n) > 1
    first, second = tight.laws(np.zeros(n), np.ones(n))
    assert first.log_mass[-1] == second.log_mass[-1] == 0
    assert (tight.sample(np.zeros(n), 10, rng=0) == 1).all()
    assert (tight.trials(Uniform(), n=n, trials=10, rng=0).coverage == 1).all()
    assert tight.log_ratio_bound(n) == 0
    with pytest.raises(ValueError, match="n must give a target below 1"):
        worst_log_ratio(tight, n)


@pytest.mark.parametrize("mechanism", [CORRECTED, PUBLISHED])
@pytest.mark.parametrize("n", [500, 2400])
def test_worst_pair_reaches_the_bound_that_no_pair_exceeds(mechanism: ExponQ, n: int) -> None:
    worst = worst_log_ratio(mechanism, n)
    assert (worst.scores != worst.neighbour_scores).sum() == 1
    assert worst.scores.shape == (n,)
    pair = FinitePair(*mechanism.laws(worst.scores, worst.neighbour_scores))
    at = np.flatnonzero(mechanism.edges == worst.released)
    assert pair.loss[at] == pytest.approx(worst.log_ratio, rel=1e-9)
    assert np.exp(pair.law.log_mass[at]) == pytest.approx(worst.probability, rel=1e-9)
    assert np.exp(pair.neighbour_law.log_mass[at]) == pytest.approx(
        worst.neighbour_probability, rel=1e-9
    )
    bound = mechanism.log_ratio_bound(n)
    assert 0.995 * bound < worst.log_ratio <= bound * (1 + 1e-12)


def test_worst_pair_is_the_worst_of_all_pairs_of_a_small_case() -> None:
    """Every pair of neighbouring count vectors of 4 scores in 4 bins is enumerated."""
    mechanism = ExponQ(alpha=0.6, epsilon=12.0, n_candidates=5, gamma=0.1)
    points = (np.arange(4) + 0.5) / 4
    grid = [np.array(s) for s in np.ndindex(4, 4, 4, 4) if list(s) == sorted(s)]
    exhaustive = max(
        largest_log_ratio(mechanism, points[s], points[np.append(s[1:], moved)])
        for s in (np.roll(g, k) for g in grid for k in range(4))
        for moved in range(4)
    )
    found = worst_log_ratio(mechanism, 4).log_ratio
    assert found <= exhaustive * (1 + 1e-12)
    assert found >= 0.999 * exhaustive
    assert exhaustive <= mechanism.log_ratio_bound(4) <= mechanism.epsilon


def test_bin_probabilities_put_an_atom_at_an_edge_into_the_bin_above() -> None:
    edges = np.linspace(0, 1, 5)
    mass = bin_probabilities(atoms([0.0, 0.25, 0.3, 1.0], [1, 2, 3, 4], name="atoms"), edges)
    assert mass == pytest.approx([0.1, 0.5, 0, 0.4])
    assert bin_probabilities(Beta(5, 0.2), edges).sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("n", [1000, 10**12])
def test_trials_report_the_coverage_of_their_thresholds(n: int) -> None:
    result = CORRECTED.trials(Beta(2, 3), n=n, trials=500, rng=3)
    assert result.threshold.shape == result.coverage.shape == (500,)
    assert np.isin(result.threshold, CORRECTED.edges).all()
    assert (result.coverage == Beta(2, 3).cdf(result.threshold)).all()
    assert 0.89 < result.coverage.mean() < 1


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("alpha", 0.0),
        ("alpha", math.nan),
        ("epsilon", 0.0),
        ("epsilon", "1"),
        ("n_candidates", 1),
        ("n_candidates", 2.5),
        ("gamma", 1.0),
        ("bounds", (1.0, 0.0)),
        ("normaliser", "corrected"),
    ],
)
def test_bad_parameter_is_named(argument: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"^{argument} must"):
        ExponQ(**GOOD | {argument: value})


def test_bad_calls_name_the_argument() -> None:
    with pytest.raises(ValueError, match=r"^scores must lie in \[0, 1\]"):
        CORRECTED.sample([0.5, 1.5], 3)
    with pytest.raises(ValueError, match=r"^inputs\[1\] must not be empty"):
        CORRECTED.laws([0.5], [])
    with pytest.raises(ValueError, match=r"^inputs must"):
        CORRECTED.laws()
    with pytest.raises(ValueError, match=r"^size must"):
        CORRECTED.sample([0.5], 0)
    with pytest.raises(ValueError, match=r"^n must"):
        CORRECTED.target(0)
    with pytest.raises(ValueError, match=r"^n must be at most"):
        CORRECTED.trials(Uniform(), n=2**53 + 1, trials=1)
    with pytest.raises(ValueError, match=r"^trials must"):
        CORRECTED.trials(Uniform(), n=5, trials=0)
    with pytest.raises(ValueError, match=r"^population must lie"):
        ExponQ(**GOOD, bounds=(0.0, 0.9)).trials(Uniform(), n=5, trials=1)
    with pytest.raises(ValueError, match=r"^rng must"):
        CORRECTED.sample([0.5], 1, rng="x")
    with pytest.raises(ValueError, match=r"^n_candidates must be >= 3"):
        worst_log_ratio(ExponQ(**GOOD | {"n_candidates": 2}), 500)


SCORES = {
    "spread": np.linspace(0.003, 0.997, 200),
    "ends": np.repeat([0.0, 1.0], [150, 50]),
    "one": np.full(40, 0.5),
    "edges": np.repeat(np.linspace(0, 1, 11), 7),
    "top": np.repeat([0.2, 0.999999, 1.0], [30, 5, 5]),
    "skewed": np.sort(np.round(np.linspace(0, 1, 300) ** 6, 4)),
}


def over_all_edges(
    scores: np.ndarray, m: int, gamma: float, draws: np.ndarray, search: ExponQSearch
) -> np.ndarray:
    mechanism = ExponQ(
        alpha=search.alpha,
        epsilon=search.epsilon,
        n_candidates=m,
        gamma=gamma,
        normaliser=search.normaliser,
    )
    mass = np.exp(mechanism.laws(scores)[0].log_mass)
    cumulative = np.cumsum(mass) / mass.sum()
    return mechanism.edges[np.searchsorted(cumulative, draws, side="right")]


@pytest.mark.parametrize("normaliser", Normaliser)
@pytest.mark.parametrize("scores", SCORES.values(), ids=SCORES)
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 30.0])
def test_a_release_is_that_of_the_law_over_all_edges(
    scores: np.ndarray, normaliser: Normaliser, epsilon: float
) -> None:
    search = ExponQSearch(alpha=0.1, epsilon=epsilon, normaliser=normaliser)
    for m in (2, 3, 11, 50, 777):
        draws = np.linspace(0.0005, 0.9995, 41)
        found = [search.release(scores, Tuning(m, 0.3), draw) for draw in draws.tolist()]
        assert found == pytest.approx(over_all_edges(scores, m, 0.3, draws, search), abs=1e-9)


@pytest.mark.parametrize("normaliser", Normaliser)
@pytest.mark.parametrize(("n", "epsilon"), [(24, 1.0), (300, 0.4), (2400, 1.0)])
def test_tuning_is_the_pair_of_the_smallest_release(
    normaliser: Normaliser, n: int, epsilon: float
) -> None:
    rng = np.random.default_rng(3)
    search = ExponQSearch(
        alpha=0.1, epsilon=epsilon, normaliser=normaliser, grid=(15, 40, 200, 1001)
    )
    for _ in range(5):
        scores, draws = rng.random(n), rng.random(search.n_draws)
        released = {
            Tuning(m, gamma): float(
                over_all_edges(np.sort(scores), m, gamma, draws[2 * place + which], search)
            )
            for place, m in enumerate(search.grid)
            for which, gamma in enumerate(search.gammas(n))
        }
        best = min(released.values())
        found = search.tune(scores, draws)
        if best >= 1:
            assert found.n_candidates == 10
        else:
            assert released[found] == best


def test_nothing_below_one_gives_the_public_codes_fallback() -> None:
    search = ExponQSearch(alpha=0.1, epsilon=1e-6, grid=(15, 40))
    assert search.tune(np.full(30, 0.5), np.full(4, 0.5)) == Tuning(10, 1 - 1e-12)


def test_gammas_are_the_roots_of_the_derivative() -> None:
    larger, smaller = ExponQSearch(alpha=0.1, epsilon=1.0).gammas(2400)
    linear = 0.1 * 2401 * 0.9 / 2 + 0.2
    assert larger == 1 - 1e-12
    assert 0.01 * smaller**2 - linear * smaller + 1 == pytest.approx(0, abs=1e-9)
