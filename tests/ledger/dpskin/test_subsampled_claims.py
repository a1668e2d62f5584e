"""Claims about the Rényi divergence of DP-SGD: the subsampled step, epochs against steps."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad

from dpcp_audit.words.results import FigureKind, Verdict
from dpcp_ledger.dpskin import subsampled_claims
from dpcp_ledger.dpskin.accountants import Training
from dpcp_ledger.dpskin.subsampled_claims import (
    batch_bound,
    batch_map,
    epochs_for_steps,
    subsampled_renyi,
)

NOISY = Training(n=10_015, batch_size=20, epochs=9, noise_multiplier=8.1)


@pytest.mark.parametrize(("alpha", "q", "sigma"), [(2, 0.01, 1.0), (3, 0.2, 2.0), (8, 0.5, 0.8)])
def test_the_step_is_the_integral_of_its_definition(alpha: int, q: float, sigma: float) -> None:
    def term(x: float) -> float:
        base = math.exp(-(x**2) / (2 * sigma**2)) / (sigma * math.sqrt(2 * math.pi))
        ratio = 1 - q + q * math.exp((2 * x - 1) / (2 * sigma**2))
        return base * ratio**alpha

    moment = quad(term, -15 * sigma, alpha + 15 * sigma, limit=400, epsabs=0)[0]
    expected = math.log(moment) / (alpha - 1)
    assert subsampled_renyi(alpha, q=q, noise_multiplier=sigma) == pytest.approx(expected, rel=1e-6)


def test_every_example_in_every_step_is_the_gaussian_mechanism() -> None:
    almost_all = subsampled_renyi(4, q=1 - 1e-12, noise_multiplier=2.0)
    assert almost_all == pytest.approx(4 / (2 * 2.0**2), rel=1e-9)


@pytest.mark.parametrize(
    ("training", "alpha", "ratio"),
    [
        (NOISY, 2, 1.0077),
        (Training(n=100, batch_size=1, epochs=1, noise_multiplier=1.0), 2, 1.72),
        (Training(n=100, batch_size=1, epochs=1, noise_multiplier=1.0), 16, 3.9e3),
    ],
)
def test_the_claimed_step_is_too_small(training: Training, alpha: int, ratio: float) -> None:
    result = batch_bound(training, alpha=alpha)
    assert result.verdict is Verdict.REFUTED
    assert result.value / result.claimed == pytest.approx(ratio, rel=0.02)


def test_the_claimed_step_is_too_small_everywhere() -> None:
    result = batch_map()
    assert result.verdict is Verdict.REFUTED
    assert 1 < result.value < 1.01
    maps = [figure for figure in result.figures if figure.kind is FigureKind.HEATMAP]
    assert len(maps) == 3
    second_order = math.expm1(1.0)  # σ²(e^(1/σ²) − 1) at σ = 1
    (row,) = [series for series in maps[0].series if series.name == "σ = 1"]
    assert 10 ** row.y[0] == pytest.approx(second_order, rel=1e-3)


@pytest.mark.known_bad
def test_a_bound_that_holds_somewhere_is_not_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Had the thesis printed twice the bound, it would hold where σ is large."""
    true = subsampled_renyi
    monkeypatch.setattr(subsampled_claims, "subsampled_renyi", lambda *a, **k: true(*a, **k) / 2)
    assert batch_map().verdict is Verdict.CONSISTENT


def test_epochs_are_not_steps() -> None:
    result = epochs_for_steps(NOISY, alpha=2)
    assert result.verdict is Verdict.REFUTED
    assert result.value / result.claimed == pytest.approx(1.0077 * 10_015 / 20, rel=0.01)


def test_bad_orders_are_refused() -> None:
    with pytest.raises(ValueError, match="^alpha must"):
        subsampled_renyi(1, q=0.1, noise_multiplier=1.0)
    with pytest.raises(ValueError, match="^q must"):
        subsampled_renyi(2, q=float(np.float64(0)), noise_multiplier=1.0)
