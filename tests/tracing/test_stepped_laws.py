"""Laws with jumps against closed forms: moments, losses, δ, and comparisons of two draws."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from dpcp_audit.tracing.declared_laws import CutLaplaceLaw, StaircaseLaw
from dpcp_audit.tracing.draws import JoinedBit, NoiseDraw, Ordering
from dpcp_audit.tracing.joined_draws import component_log_probability

if TYPE_CHECKING:
    from dpcp_audit.tracing.noise_laws import NoiseLaw
    from dpcp_audit.words.arrays import FloatArray

STAIRS = [StaircaseLaw(1.0, 1 / (1 + math.exp(0.5))), StaircaseLaw(0.2, 0.7), StaircaseLaw(3, 0)]
CUTS = [CutLaplaceLaw(-1.5, 1.5), CutLaplaceLaw(0.0, 2.0), CutLaplaceLaw(-900.0, 0.25)]
LAWS = [*STAIRS, *CUTS, StaircaseLaw(2.0, 1.0)]


def pieces(law: NoiseLaw) -> tuple[FloatArray, FloatArray]:
    """Return the jumps, and the density halfway between them."""
    edges = np.unique([0.0, *law.corners])
    return edges, np.exp(law.log_point((edges[1:] + edges[:-1]) / 2))


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_an_intervals_probability_is_the_integral_of_the_density(law: NoiseLaw) -> None:
    steps = np.linspace(-3.3, 4.1, 22 * 5000 + 1)
    middle = (steps[1:] + steps[:-1]) / 2
    below = np.concatenate([[0], np.cumsum(np.exp(law.log_point(middle)) * np.diff(steps))])
    low, high = (each.ravel() for each in np.meshgrid(*[np.arange(0, steps.size, 5000)] * 2))
    found = np.exp(law.log_interval(steps[low], steps[high]))
    expected = np.maximum(0.0, below[high] - below[low])
    assert found == pytest.approx(expected, abs=2e-4)
    whole = law.log_interval(np.array([-np.inf]), np.array([np.inf]))
    assert whole == pytest.approx([0.0], abs=1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_best_staircase_has_the_magnitude_of_the_theorem(epsilon: float) -> None:
    """E|Z| = e^(ε/2)/(e^ε − 1) at γ = 1/(1 + e^(ε/2)): Geng and Viswanath's theorem for ℓ₁."""
    law = StaircaseLaw(epsilon, 1 / (1 + math.exp(epsilon / 2)))
    edges, density = pieces(law)
    magnitude = (density * np.abs(np.diff(edges * np.abs(edges))) / 2).sum()
    assert magnitude == pytest.approx(math.exp(epsilon / 2) / math.expm1(epsilon), rel=1e-9)


@pytest.mark.parametrize("law", STAIRS[:2], ids=str)
def test_a_shift_by_the_sensitivity_costs_epsilon_and_a_longer_one_more(law: StaircaseLaw) -> None:
    z = np.linspace(-20.03, 20.07, 4001)
    losses = law.log_point(z) - law.log_point(z + 1)
    assert np.abs(losses).max() == pytest.approx(law.epsilon)
    longer = law.log_point(z) - law.log_point(z + 1.5)
    assert np.abs(longer).max() == pytest.approx(2 * law.epsilon)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.1), (0.3, 1e-5), (4.0, 0.01)])
def test_bounded_noise_has_the_delta_of_its_theorem(epsilon: float, delta: float) -> None:
    """Beyond a shift of ε there is what lies within ε of the end: δ, and losses of ε elsewhere."""
    end = math.log1p(math.expm1(epsilon) / (2 * delta))
    law = CutLaplaceLaw(-end, end)
    beyond = np.exp(law.log_interval(np.array([end - epsilon]), np.array([np.inf])))
    assert beyond == pytest.approx([delta], rel=1e-10)
    z = np.linspace(-end, end - epsilon, 999)[1:-1]
    losses = law.log_point(z) - law.log_point(z + epsilon)
    assert np.abs(losses).max() <= epsilon + 1e-12


@pytest.mark.statistical(false_alarm=1e-8)
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_draws_have_the_law(law: NoiseLaw) -> None:
    """Eleven shares of 4,000 draws, seven laws: each within √(log(2·77/1e-8)/(2·4000))."""
    rng = np.random.default_rng(3)
    drawn = np.array([law.drawn(rng) for _ in range(4000)])
    for limit in np.linspace(-2.3, 2.6, 11):
        (chance,) = np.exp(law.log_interval(np.array([-np.inf]), np.array([limit])))
        assert (drawn < limit).mean() == pytest.approx(chance, abs=0.0542)


@pytest.mark.parametrize("offset", [0.0, 0.3, 1.0, 2.45])
@pytest.mark.parametrize("law", [STAIRS[0], StaircaseLaw(0.5, 0.2)], ids=str)
def test_two_staircases_are_compared_exactly(law: StaircaseLaw, offset: float) -> None:
    """Between all jumps of either the integrand is linear: its value halfway is its mean."""
    draws = [NoiseDraw(index=i, law=law, name=law.name, line=("", i)) for i in (0, 1)]
    terms = ((draws[0], 1.0), (draws[1], -1.0))
    bit = JoinedBit(offset=-offset, terms=terms, how=Ordering.GREATER)
    _, found = component_log_probability([bit])
    corners = np.array([0.0, *law.corners])
    edges = np.unique(np.concatenate([corners, corners + offset]))
    middle = (edges[1:] + edges[:-1]) / 2
    below = np.exp(law.log_interval(np.full_like(middle, -np.inf), middle - offset))
    expected = (np.exp(law.log_point(middle)) * below * np.diff(edges)).sum()
    assert found == pytest.approx(math.log(expected), abs=1e-9)


@pytest.mark.parametrize("ends", [(1.0, 2.0), (-2.0, -1.0), (0.0, 0.0)])
def test_ends_must_enclose_zero(ends: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="low and high must enclose 0"):
        CutLaplaceLaw(*ends)
