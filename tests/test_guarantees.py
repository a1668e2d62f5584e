from __future__ import annotations

import math

import numpy as np
import pytest

from dpcp_audit.words.guarantees import (
    ZCDP,
    ApproxDP,
    Coverage,
    LocalDP,
    PureDP,
    RenyiDP,
)

ALL = [PureDP(0.7), LocalDP(2.0), ApproxDP(0.7, 0.01), ZCDP(0.5), RenyiDP(4.0, 0.3)]


@pytest.mark.parametrize("guarantee", ALL, ids=str)
def test_power_of_the_extremes(guarantee) -> None:
    delta = guarantee.parameters.get("delta", 0.0)
    assert guarantee.power(np.array([0.0, 1.0])) == pytest.approx([delta, 1.0], abs=1e-15)
    assert (guarantee.tradeoff([0.3]) == 1 - guarantee.power([0.3])).all()


@pytest.mark.parametrize("guarantee", ALL, ids=str)
def test_parameters_rebuild_the_guarantee(guarantee) -> None:
    assert type(guarantee)(**guarantee.parameters) == guarantee


def test_pure_dp_is_randomised_response() -> None:
    epsilon = 1.3
    p, q = math.exp(epsilon) / (1 + math.exp(epsilon)), 1 / (1 + math.exp(epsilon))
    guarantee = PureDP(epsilon)
    assert float(guarantee.power(q)) == pytest.approx(p, abs=1e-15)
    assert guarantee.advantage() == pytest.approx(p - q, abs=1e-15)
    assert guarantee.delta_at(0.4) == pytest.approx(p - math.exp(0.4) * q, abs=1e-15)
    assert guarantee.allows(p, q)
    assert not guarantee.allows(p + 1e-9, q)
    assert guarantee.delta_at(epsilon) == 0


@pytest.mark.parametrize(
    ("guarantee", "delta", "epsilon"),
    [
        (PureDP(1.5), 0.0, 1.5),
        (ApproxDP(1.5, 0.01), 0.01, 1.5),
        (ApproxDP(1.5, 0.01), 0.0, math.inf),
        (ApproxDP(1.5, 1.0), 1.0, 0.0),
        (PureDP(1.5), 1.0, 0.0),
        (ZCDP(0.5), 0.0, math.inf),
        (ZCDP(0.5), 1.0, 0.0),
    ],
    ids=str,
)
def test_epsilon_at_the_edges(guarantee, delta, epsilon) -> None:
    assert guarantee.epsilon_at(delta) == pytest.approx(epsilon, abs=1e-12)


def test_profile_beyond_the_doubles_is_an_upper_bound() -> None:
    assert ZCDP(0.5).delta_at(800) >= 0
    assert ZCDP(400.0).delta_at(5000) == ZCDP(400.0).delta_at(600)
    assert PureDP(900.0).delta_at(0.0) == 1.0


def test_coverage_holds_within_both_bounds() -> None:
    claim = Coverage(at_least=0.9, at_most=0.95)
    assert claim.holds([0.89, 0.9, 0.95, 0.96]).tolist() == [False, True, True, False]


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda: PureDP(0.0), "epsilon"),
        (lambda: PureDP(math.nan), "epsilon"),
        (lambda: ApproxDP(1.0, 1.5), "delta"),
        (lambda: ApproxDP(-1.0, 0.1), "epsilon"),
        (lambda: ZCDP(-0.5), "rho"),
        (lambda: RenyiDP(1.0, 0.5), "alpha"),
        (lambda: RenyiDP("2", 0.5), "alpha"),
        (lambda: RenyiDP(math.inf, 0.5), "alpha"),
        (lambda: Coverage(at_least=0.9, at_most=0.8), "at_least"),
        (lambda: Coverage(at_least="0.9"), "at_least"),
        (lambda: Coverage(at_least=0.9, confidence=2), "confidence"),
        (lambda: ZCDP(0.5).delta_at(-1), "epsilon"),
        (lambda: ZCDP(0.5).epsilon_at(2), "delta"),
        (lambda: PureDP(0.5).epsilon_at(-1), "delta"),
        (lambda: ZCDP(0.5).power(1.2), "fpr"),
        (lambda: PureDP(0.5).power(math.nan), "fpr"),
        (lambda: PureDP(0.5).allows(0.5, 1.2), "neighbour_probability"),
    ],
)
def test_bad_input_names_the_argument(build, name) -> None:
    with pytest.raises(ValueError, match=f"^{name} must "):
        build()


def test_text_of_a_guarantee() -> None:
    assert str(ApproxDP(1.0, 1e-5)) == "ApproxDP(epsilon=1, delta=1e-05)"


def bisected_power(guarantee, rates) -> np.ndarray:
    """Return the largest rates by bisection at every order, in long doubles."""
    orders, limits = (each.astype(np.longdouble)[:, None, None] for each in guarantee._limits())
    a = np.concatenate([orders, orders], axis=1)
    q = np.asarray(rates, dtype=np.longdouble)
    low, high = (
        np.broadcast_to(q, (*a.shape[:2], q.size)).copy(),
        np.ones((*a.shape[:2], q.size), dtype=np.longdouble),
    )
    with np.errstate(divide="ignore"):
        for _ in range(70):
            p = (low + high) / 2
            ratios = np.log(p / q), np.log((1 - p) / (1 - q))
            terms = [
                np.stack([a[:, 0] * x[:, 0] + y, (1 - a[:, 1]) * x[:, 1] + y], axis=1)
                for x, y in zip(ratios, (np.log(q), np.log(1 - q)), strict=True)
            ]
            inside = np.logaddexp(*terms) / (a - 1) <= limits
            low, high = np.where(inside, p, low), np.where(inside, high, p)
    return high.min(axis=(0, 1))


@pytest.mark.parametrize("guarantee", [ZCDP(0.01), ZCDP(0.5), RenyiDP(1.5, 0.2)], ids=str)
def test_the_power_is_that_of_a_bisection_in_long_doubles(guarantee) -> None:
    rates = np.concatenate([np.logspace(-12, -1, 4), np.linspace(0.15, 0.99, 4)])
    exact = bisected_power(guarantee, rates).astype(float)
    assert guarantee.power(rates) == pytest.approx(exact, rel=1e-9, abs=0)


@pytest.mark.parametrize(("rho", "epsilon"), [(0.01, 0.3), (0.5, 1.0)])
def test_the_profile_is_the_largest_of_a_fine_grid_in_long_doubles(rho, epsilon) -> None:
    guarantee = ZCDP(rho)
    rates, factor = np.logspace(-15, -0.01, 60), np.exp(np.longdouble(epsilon))
    for _ in range(8):
        values = bisected_power(guarantee, rates) - factor * rates
        peak = int(np.argmax(values))
        rates = np.geomspace(rates[max(0, peak - 1)], rates[min(rates.size - 1, peak + 1)], 12)
    assert guarantee.delta_at(epsilon) == pytest.approx(float(values.max()), rel=1e-9)
