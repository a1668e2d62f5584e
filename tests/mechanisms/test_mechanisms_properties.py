from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dpcp_audit.laws.laws import FinitePair
from dpcp_audit.mechanisms.pcoqs_budget import Calibration, GaussianMechanism
from dpcp_audit.mechanisms.quantiles import ExponQ, HistLap, Normaliser
from dpcp_ledger.mechanisms.mechanism_proofs import worst_log_ratio


def plain_law(mechanism: ExponQ, scores: np.ndarray) -> np.ndarray:
    """Return the probability of every edge, by loops; both bounds are edges."""
    low, high = mechanism.bounds
    m, n, alpha, gamma = (
        mechanism.n_candidates, len(scores), mechanism.alpha, mechanism.gamma
    )  # fmt: skip
    edges = np.linspace(low, high, m)
    target = (n + 1) * (1 - alpha) / (n * (1 - gamma * alpha))
    target += 2 / (mechanism.epsilon * n) * math.log(m / (gamma * alpha))
    published = mechanism.normaliser is Normaliser.PUBLISHED
    if published:
        target, scale = min(target, 1 - 1e-12), min(alpha, 1 - alpha)
    elif target >= 1:
        return np.eye(m)[-1]
    else:
        scale = min(target, 1 - target)
    rounded = [next((e for e in edges if s < e), high) for s in scores]
    worse = []
    for edge in edges:
        below = sum(s < edge for s in rounded)
        if published and edge == high:
            below = n
        worse.append(max(below / target, sum(s > edge for s in rounded) / (1 - target)))
    weight = np.exp(-mechanism.epsilon / 2 * scale * (np.array(worse) - min(worse)))
    return weight / weight.sum()


exponqs = st.builds(
    ExponQ,
    alpha=st.floats(0.05, 0.95),
    epsilon=st.floats(0.1, 200),
    n_candidates=st.integers(2, 40),
    gamma=st.floats(0.05, 0.95),
    bounds=st.sampled_from([(0.0, 1.0), (-3.0, 1.5)]),
    normaliser=st.sampled_from(Normaliser),
)
units = st.lists(st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1)), min_size=2,
                 max_size=30)  # fmt: skip


def within(mechanism: ExponQ, fractions: list[float]) -> np.ndarray:
    low, high = mechanism.bounds
    return np.minimum(low + (high - low) * np.array(fractions), high)


@given(exponqs, units)
def test_exponq_law_is_that_of_the_plain_loops(mechanism: ExponQ, fractions: list[float]) -> None:
    scores = within(mechanism, fractions)
    (law,) = mechanism.laws(scores)
    assert law.total == pytest.approx(1, abs=1e-12)
    assert np.exp(law.log_mass) == pytest.approx(plain_law(mechanism, scores), rel=1e-8, abs=1e-300)


@given(exponqs, units)
def test_no_neighbours_exceed_the_bound(mechanism: ExponQ, fractions: list[float]) -> None:
    """The first score of the array is replaced by its last, which is then dropped."""
    scores = within(mechanism, fractions)
    pair = FinitePair(*mechanism.laws(scores[:-1], np.append(scores[1:-1], scores[-1])))
    worst = max(pair.max_divergence(), pair.reversed().max_divergence())
    n = scores.size - 1
    bound = mechanism.log_ratio_bound(n)
    assert worst <= bound * (1 + 1e-9) + 1e-9
    if mechanism.normaliser is Normaliser.CORRECTED:
        assert bound <= mechanism.epsilon * (1 + 1e-12)


@given(exponqs, st.integers(1, 60))
def test_the_worst_pair_never_exceeds_the_bound(mechanism: ExponQ, n: int) -> None:
    if mechanism.n_candidates < 3 or mechanism.normalisation(n) == 0:
        return
    worst = worst_log_ratio(mechanism, n)
    assert 0 <= worst.log_ratio <= mechanism.log_ratio_bound(n) * (1 + 1e-9)
    pair = FinitePair(*mechanism.laws(worst.scores, worst.neighbour_scores))
    assert pair.max_divergence() >= worst.log_ratio * (1 - 1e-9)


@given(exponqs, units)
def test_exponq_law_rises_to_its_mode_and_falls(mechanism: ExponQ, fractions: list[float]) -> None:
    (law,) = mechanism.laws(within(mechanism, fractions))
    mode = int(np.argmax(law.log_mass))
    with np.errstate(invalid="ignore"):
        steps = np.nan_to_num(np.diff(law.log_mass))
    assert (steps[:mode] >= 0).all()
    if mechanism.normaliser is Normaliser.CORRECTED:
        assert (steps[mode:] <= 0).all()


@given(exponqs, st.lists(st.integers(0, 10**6), min_size=1, max_size=20), st.randoms())
def test_exponq_law_moves_with_the_scale_and_forgets_the_order(
    mechanism: ExponQ, draws: list[int], random: object
) -> None:
    """Scores stand at the middle of bins, where rounding cannot move them across an edge."""
    m = mechanism.n_candidates
    middle = (np.array(draws) % (m - 1) + 0.5) / (m - 1)
    moved = ExponQ(
        alpha=mechanism.alpha,
        epsilon=mechanism.epsilon,
        n_candidates=m,
        gamma=mechanism.gamma,
        bounds=(5.0, 25.0),
        normaliser=mechanism.normaliser,
    )
    (law,) = mechanism.laws(within(mechanism, middle.tolist()))
    (other,) = moved.laws(within(moved, middle[::-1].tolist()))
    assert (law.log_mass == other.log_mass).all()


histograms = arrays(np.float64, (3, 8), elements=st.floats(-20, 50, width=32))


@given(histograms, st.floats(0.02, 0.9), st.floats(0.01, 0.09))
def test_histlap_threshold_falls_with_alpha(noisy: np.ndarray, alpha: float, step: float) -> None:
    high, low = (HistLap(alpha=a, epsilon=1.0, n_bins=8) for a in (alpha, alpha + step))
    assert (high.threshold(noisy) >= low.threshold(noisy)).all()


@given(histograms, st.floats(0.02, 0.9), st.integers(0, 7), st.integers(0, 7), st.floats(0, 1))
def test_histlap_threshold_rises_as_mass_moves_up(
    noisy: np.ndarray, alpha: float, first: int, second: int, share: float
) -> None:
    counts = np.maximum(noisy, 0)
    moved = counts.copy()
    low, high = sorted((first, second))
    step = share * counts[:, low]
    moved[:, low] -= step
    moved[:, high] += step
    mechanism = HistLap(alpha=alpha, epsilon=1.0, n_bins=8)
    assert (mechanism.threshold(moved) >= mechanism.threshold(counts) - 1e-9).all()


@given(histograms, st.floats(0.02, 0.9))
def test_histlap_threshold_holds_its_share_and_moves_with_the_scale(
    noisy: np.ndarray, alpha: float
) -> None:
    mechanism = HistLap(alpha=alpha, epsilon=1.0, n_bins=8)
    counts = np.maximum(noisy, 0)
    thresholds = mechanism.threshold(noisy)
    for row, threshold in zip(counts, thresholds, strict=True):
        if row.sum() == 0:
            assert threshold == 1
        else:
            held = np.interp(threshold, mechanism.edges, np.append(0, np.cumsum(row)) / row.sum())
            assert held == pytest.approx(1 - alpha, abs=1e-6)
    moved = HistLap(alpha=alpha, epsilon=1.0, n_bins=8, bounds=(-2.0, 6.0))
    assert moved.threshold(noisy) == pytest.approx(-2 + 8 * thresholds, abs=1e-9)


@given(st.floats(1e-3, 30), st.floats(1e-12, 0.99))
def test_analytic_noise_is_enough_and_never_more_than_classic_needs(
    epsilon: float, delta: float
) -> None:
    classic, analytic = (
        GaussianMechanism(epsilon=epsilon, delta=delta, calibration=c) for c in Calibration
    )
    assert analytic.pair().delta_at(epsilon) <= delta
    if epsilon < 1:
        assert classic.pair().delta_at(epsilon) <= delta
        assert analytic.noise_scale <= classic.noise_scale
