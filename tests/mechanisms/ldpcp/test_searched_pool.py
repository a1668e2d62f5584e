"""Trials of LDP-CP-L that draw estimates only where the search's answer is open."""

from __future__ import annotations

import numpy as np
import pytest
from support.levels import differing_cells

from dpcp_audit.laws.pools import hps
from dpcp_audit.mechanisms.local_labels import (
    CellCounts,
    LDPCPLabels,
    NoiseAwareLabels,
    estimate_error,
)
from dpcp_audit.mechanisms.local_labels import (
    _SearchedPool as SearchedPool,
)
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse

TRIALS = 20_000


def pool(users: int, k: int, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return HPS scores and labels of a calibrated classifier."""
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet(np.full(k, 0.4), size=users)
    labels = (np.cumsum(chances, axis=1) < rng.random((users, 1))).sum(axis=1)
    return hps(chances), np.minimum(labels, k - 1)


def search(**more: object) -> LDPCPLabels:
    arguments = {"alpha": 0.2, "epsilon": 2.0, "k": 4, "rounds": 8, "window_width": 1e-3} | more
    return LDPCPLabels(**arguments)  # type: ignore[arg-type]


def thresholds_of_all_estimates(
    mechanism: LDPCPLabels, scores: np.ndarray, labels: np.ndarray, *, n: int, seed: int
) -> np.ndarray:
    """Return thresholds of trials in which every estimate is drawn."""
    cells = CellCounts(scores, labels, mechanism.response)
    drawn = cells.estimates(n, TRIALS, rng=np.random.default_rng(seed))
    padded = np.column_stack([np.zeros(TRIALS), drawn])

    def estimate(_: int, q: np.ndarray, which: np.ndarray) -> np.ndarray:
        return padded[which, np.searchsorted(cells.points, q, side="right")]

    return mechanism.search(estimate, runs=TRIALS).threshold


CASES = [(300, 1e-3), (5_000, 1e-3), (5_000, 0.05), (100_000, 1e-6)]


@pytest.mark.statistical(false_alarm=1e-8)
@pytest.mark.parametrize(("n", "width"), CASES)
def test_thresholds_have_the_law_of_a_search_on_all_estimates(n: int, width: float) -> None:
    """False alarm: at most 1e-8."""
    mechanism, (scores, labels) = search(window_width=width), pool(30, 4, seed=1)
    quick = mechanism.trials(scores, labels, n=n, trials=TRIALS, rng=2).threshold
    plain = thresholds_of_all_estimates(mechanism, scores, labels, n=n, seed=3)
    assert np.unique(plain).size > 1
    assert differing_cells(plain, quick, cells=40, level=1e-8).size == 0


@pytest.mark.statistical(false_alarm=1e-8)
def test_thresholds_of_a_search_that_compares_estimates_with_each_other() -> None:
    """NACP's returns the least estimate above 1−α. False alarm: at most 1e-8."""
    mechanism = NoiseAwareLabels(alpha=0.3, epsilon=2.0, k=4, rounds=6, window_width=1e-3)
    scores, labels = pool(30, 4, seed=1)
    quick = mechanism.trials(scores, labels, n=3_000, trials=TRIALS, rng=2).threshold
    plain = thresholds_of_all_estimates(mechanism, scores, labels, n=3_000, seed=3)
    assert np.unique(plain).size > 1
    assert differing_cells(plain, quick, cells=40, level=1e-8).size == 0


def asked_by_hand(
    mechanism: LDPCPLabels, points: np.ndarray, lowest: np.ndarray, highest: np.ndarray
) -> set[int]:
    """Return the points whose answers are open, following every answer that is possible."""
    bottom, top = mechanism.limits
    found = set()

    def follow(low: float, high: float, rounds: int) -> None:
        if not rounds:
            return
        middle = (low + high) / 2
        place = int((points <= middle).sum()) - 1
        least, most = (lowest[place], highest[place]) if place >= 0 else (0.0, 0.0)
        answers = {"above"} if most > top else set()
        answers |= {"below"} if least < bottom else set()
        answers |= {"inside"} if least <= top and most >= bottom else set()
        if len(answers) > 1:
            found.add(place)
        if "above" in answers:
            follow(low, middle, rounds - 1)
        if "below" in answers:
            follow(middle, high, rounds - 1)

    follow(0.0, 1.0, mechanism.rounds)
    return found


@pytest.mark.parametrize("width", [1e-3, 0.3])
def test_open_places_are_those_of_every_possible_path(width: float) -> None:
    rng = np.random.default_rng(4)
    for _ in range(200):
        mechanism = search(window_width=width, rounds=int(rng.integers(1, 8)))
        size = int(rng.integers(1, 30))
        points = np.unique(np.round(rng.random(size), int(rng.integers(1, 4))))
        centre = np.sort(rng.random(points.size))
        lowest, highest = centre - 0.2 * rng.random(points.size), centre + 0.1
        asked = mechanism.open_places(points, lowest, highest)
        assert set(np.flatnonzero(asked)) == asked_by_hand(mechanism, points, lowest, highest)


def test_some_points_have_the_estimates_that_all_have() -> None:
    """Users and scores that are alike between the points are one cell: less is drawn."""
    scores, labels = pool(200, 6, seed=5)
    response = KaryRandomizedResponse(1.0, 6)
    whole = CellCounts(scores, labels, response)
    some = CellCounts(scores, labels, response, whole.points[[300, 600, 900]])
    assert some.chunk > 3 * whole.chunk
    expected = whole.expected_estimate()[[300, 600, 900]]
    np.testing.assert_allclose(some.expected_estimate(), expected, atol=1e-12)
    np.testing.assert_array_equal(some.true_cdf, whole.true_cdf[[300, 600, 900]])


@pytest.mark.statistical(false_alarm=1e-8)
def test_differences_of_estimates_have_one_law_on_some_points_and_on_all() -> None:
    """Sums and differences of three estimates; false alarm at most 1e-8."""
    scores, labels = pool(40, 3, seed=6)
    response = KaryRandomizedResponse(2.0, 3)
    whole = CellCounts(scores, labels, response)
    which = [30, 50, 70]
    some = CellCounts(scores, labels, response, whole.points[which])
    first = whole.estimates(500, TRIALS, rng=np.random.default_rng(7))[:, which]
    second = some.estimates(500, TRIALS, rng=np.random.default_rng(8))
    for weights in ([1, 0, 0], [1, -1, 0], [0, 1, -1], [1, 1, 1]):
        sums = [(part @ weights).round(9) for part in (first, second)]
        assert differing_cells(*sums, cells=30, level=2e-9).size == 0


@pytest.mark.parametrize(("k", "epsilon"), [(2, 0.2), (4, 2.0), (50, 1.0), (50, 6.0)])
def test_the_error_is_at_least_eight_standard_errors(k: int, epsilon: float) -> None:
    """Exactly computed: Bernstein's bound allows for more than the normal law at 1e-18 does."""
    scores, labels = pool(60, k, seed=9)
    response = KaryRandomizedResponse(epsilon, k)
    cells = CellCounts(scores, labels, response)
    uniform = np.searchsorted(np.sort(scores, axis=None), cells.points, "right") / scores.size
    channel = np.exp([law.log_mass for law in response.laws()])
    inside = scores[None] <= cells.points[:, None, None]
    noise = response.beta * inside.mean(axis=2)
    reported = (inside * channel[labels]).sum(axis=2)
    second = (reported * (1 - noise) ** 2 + (1 - reported) * noise**2).mean(axis=1)
    variance = second / (1 - response.beta) ** 2 - cells.true_cdf**2
    error = estimate_error(cells.true_cdf, uniform, n=10_000, beta=response.beta)
    assert (error >= 8.7 * np.sqrt(np.maximum(variance, 0) / 10_000)).all()


def test_nothing_is_drawn_where_all_answers_are_sure() -> None:
    mechanism = search()
    certain = SearchedPool(
        mechanism, mechanism.response, np.full((3, 4), 0.3), np.zeros(3, dtype=np.int64), n=10**6
    )
    thresholds = certain.run(5, rng=np.random.default_rng(0)).threshold
    assert np.unique(thresholds).size == 1
