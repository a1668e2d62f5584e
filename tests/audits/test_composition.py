from __future__ import annotations

import math

import pytest
from scipy.special import ndtr

from dpcp_audit.audits.composition import compose, pipeline_budget
from dpcp_audit.laws.laws import FiniteLaw, FinitePair, GaussianPair, LaplacePair
from dpcp_audit.laws.losses import guarantee_pair
from dpcp_audit.mechanisms.pcoqs.release import PCOQS, released_pair
from dpcp_audit.words.guarantees import ZCDP, ApproxDP, PureDP
from dpcp_audit.words.results import Verdict

EPSILONS = (0.0, 0.5, 1.0)
SEARCH = PCOQS(alpha=0.1, rho=0.5)


def bits(chance: float, slack: float = 0.0) -> FinitePair:
    laws = [FiniteLaw.from_mass([p, 1 - p]) for p in (0.5, chance)]
    return FinitePair(*(FiniteLaw(law.log_mass, law.log_multiplicity, slack) for law in laws))


def test_sixteen_gaussians_are_one_of_four_times_the_shift() -> None:
    composed, closed = compose([GaussianPair(0.3)], [16]), GaussianPair(1.2)
    for epsilon in (*EPSILONS, 4.0):
        exact = closed.delta_at(epsilon)
        assert composed.delta_below(epsilon) <= exact <= composed.delta_at(epsilon) + 1e-14
        assert composed.delta_at(epsilon) == pytest.approx(exact, rel=1e-6)
    assert composed.epsilon_below(1e-5) <= closed.epsilon_at(1e-5) <= composed.epsilon_at(1e-5)
    assert composed.epsilon_at(1e-5) - composed.epsilon_below(1e-5) < 2e-3
    assert composed.renyi(3.0) == pytest.approx(closed.renyi(3.0))


def test_bits_compose_to_the_released_thresholds_law() -> None:
    released = released_pair(SEARCH, 50)
    composed = compose([bits(float(ndtr(1 / SEARCH.noise_scale)))], [SEARCH.rounds])
    for epsilon in EPSILONS:
        exact = max(released.delta_at(epsilon), released.reversed().delta_at(epsilon))
        assert composed.delta_below(epsilon) <= exact <= composed.delta_at(epsilon)
        assert composed.delta_at(epsilon) - composed.delta_below(epsilon) < 2e-3


def test_two_laplace_coordinates() -> None:
    pair = LaplacePair((0.5, 0.7))
    composed = compose([pair], [1])
    for epsilon in EPSILONS:
        exact = pair.delta_at(epsilon)
        assert composed.delta_below(epsilon) <= exact <= composed.delta_at(epsilon) + 1e-12
        assert composed.delta_at(epsilon) == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize("guarantee", [PureDP(1.0), ApproxDP(1.0, 1e-3), ApproxDP(0.0, 0.1)])
def test_the_pair_of_a_guarantee_has_its_largest_profile(guarantee) -> None:
    pair = guarantee_pair(guarantee)
    for epsilon in EPSILONS:
        assert pair.delta_at(epsilon) == pytest.approx(guarantee.delta_at(epsilon), abs=1e-15)
        reverse = pair.reversed().delta_at(epsilon)
        assert reverse == pytest.approx(guarantee.delta_at(epsilon), abs=1e-15)


@pytest.mark.known_bad
def test_both_directions_of_an_asymmetric_pair_count() -> None:
    """Handed over as if it were symmetric, a pair's worse direction would be missed."""
    pair = FinitePair(FiniteLaw.from_mass([0.999, 0.001]), FiniteLaw.from_mass([0.99, 0.01]))
    ways = [way.delta_at(1.0) for way in (pair, pair.reversed())]
    assert max(ways) > 3 * min(ways)
    for way in (pair, pair.reversed()):
        assert compose([way], [1]).delta_at(1.0) >= max(ways) - 1e-15


def test_pruned_mass_counts_as_revealed_in_every_release() -> None:
    clean, pruned = compose([bits(0.6)], [5]), compose([bits(0.6, 1e-4)], [5])
    assert pruned.slack == pytest.approx(5e-4)
    assert pruned.delta_at(0.5) == pytest.approx(clean.delta_at(0.5) + 5e-4)
    assert pruned.epsilon_at(4e-4) == math.inf


def test_the_pipeline_costs_less_than_the_textbook_sum() -> None:
    result = pipeline_budget(ApproxDP(1.0, 1e-6), SEARCH, thresholds=3)
    assert result.verdict is Verdict.PROVED
    assert result.witness["epsilon_of_thresholds_alone"] < result.value
    assert result.witness["epsilon_from_below"] == pytest.approx(result.value, abs=2e-3)
    single = pipeline_budget(PureDP(1.0), SEARCH, thresholds=1)
    assert single.value < result.value


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: compose([], []), "counts must hold one number for each pair"),
        (lambda: compose([GaussianPair(1.0)], [1, 2]), "counts must hold one number"),
        (lambda: compose([GaussianPair(1.0)], [0]), "counts must be an integer >= 1"),
        (lambda: compose([GaussianPair(1.0)], [1], interval=0.0), "interval must be finite"),
        (lambda: compose(["pair"], [1]), "pairs must hold FinitePair"),
        (lambda: guarantee_pair(ZCDP(1.0)), "guarantee must be PureDP"),
    ],
)
def test_bad_input_is_named(call, message) -> None:
    with pytest.raises(ValueError, match=message):
        call()
