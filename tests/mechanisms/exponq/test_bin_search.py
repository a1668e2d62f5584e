"""The search over runs of edges against a release over all edges."""

from __future__ import annotations

import numpy as np
import pytest

from dpcp_audit.mechanisms.quantiles import ExponQ, Normaliser
from dpcp_ledger.mechanisms.published_variants import ExponQSearch, Tuning

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


def test_a_wrong_number_of_draws_is_refused() -> None:
    with pytest.raises(ValueError, match=r"draws must have shape \(100,\), got shape \(3,\)"):
        ExponQSearch(alpha=0.1, epsilon=1.0).tune(np.linspace(0, 1, 9), np.zeros(3))
