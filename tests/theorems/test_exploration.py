"""What a theorem promises over a grid: levels, coverages and the smallest n, in other ways."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import beta as beta_law
from scipy.stats import binom

from dpcp_audit.theorems.ldpcp import ScoreTheorem
from dpcp_audit.theorems.pcoqs_coverage import CoverageTheorem
from dpcp_audit.theorems.statement import (
    Tightness,
    least_multiple,
    tightness_of,
    with_tightness,
)
from dpcp_audit.theorems.theorem_case import TheoremCase, TheoremGrid, reached
from dpcp_audit.words.errors import UsageError
from dpcp_ledger.claims.tightest_cases import NoiselessEvent


def grid(name: str, **given: object) -> list:
    """Return the promises of a theorem over a grid."""
    return list(TheoremGrid.of(name, given).promises())


def test_the_level_is_the_theorems_own() -> None:
    """Of each case: 1 − α − Δ_S, by the bound of the very theorem that is tested there."""
    cells = grid("ldpcp-4", n=[200, 5000], epsilon=[0.5, 2.0], delta=0.1, alpha=0.2, rounds=5)
    assert [tuple(each.case.values()) for each in cells] == [
        (epsilon, n) for epsilon in (0.5, 2.0) for n in (200, 5000)
    ]
    for each in cells:
        n, epsilon = each.case["n"], each.case["epsilon"]
        ratio = (math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)
        width = ratio * math.sqrt(5 * math.log(2 * 5 / 0.1) / (2 * n))
        assert each.name == "1−α−Δ_S"
        assert each.level == pytest.approx(1 - 0.2 - width, abs=1e-12)
        assert each.vacuous == (each.level <= 0)
        assert each.slack == each.reached.value - each.level


@pytest.mark.statistical(false_alarm=2e-9)
@pytest.mark.parametrize("delta", [0.001, 0.1, 0.5])
def test_a_computed_coverage_is_the_quantile(delta: float) -> None:
    """Trials fall below it with probability δ at most, and reach no further with δ at least."""
    theorem = TheoremCase.of(
        "ldpcp-4", {"scores": "beta(2,3)", "n": 900, "epsilon": 2.0, "delta": delta}
    ).theorem()
    found = reached(theorem, rng=np.random.default_rng(0))
    coverage = theorem.trials(200_000, rng=np.random.default_rng(1)).statistic
    assert isinstance(theorem, ScoreTheorem)
    assert not found.sampled
    least, most = binom.ppf([1e-9, 1 - 1e-9], len(coverage), delta)
    assert np.sum(coverage < found.value - 1e-12) <= most
    assert np.sum(coverage <= found.value + 1e-12) >= least


@pytest.mark.statistical(false_alarm=2e-9)
def test_sampled_coverages_lie_beside_the_order_statistics_own_law() -> None:
    """P-COQS all but without noise is the r-th smallest score, whose coverage is a beta variable.

    Of 1,000 trials, 120 to 290 lie below a 20 % quantile but for a probability of 2e-9.
    """
    case = {"rho": 1e12, "alpha": 0.1, "beta": 0.2, "n": 99, "reading": "conditional"}
    (cell,) = grid("pcoqs-theorem-1", **case)
    low, high = beta_law(90, 10).ppf([0.12, 0.29])
    assert cell.reached.sampled
    assert low < cell.reached.value < high
    assert cell.reached.low <= cell.reached.value <= cell.reached.high


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("k", [2, 10])
def test_the_smallest_n_of_theorem_3_by_its_formula(epsilon: float, k: int) -> None:
    """Δ_L < 1 − α, solved for n."""
    (cell,) = grid("ldpcp-3", k=k, n=50, epsilon=epsilon, delta=0.05, alpha=0.1)
    keep = math.exp(epsilon) / (math.exp(epsilon) + k - 1)
    mixing = k * (1 - keep) / (k - 1)
    h = (1 - mixing) / (1 + mixing)
    least = math.log(4 / 0.05) / (2 * (0.9 * h) ** 2)
    assert cell.least_n == math.floor(least) + 1
    assert cell.vacuous == (cell.least_n > 50)


def test_the_smallest_n_is_the_first_that_says_something() -> None:
    (cell,) = grid("ldpcp-4-starred", n=100, epsilon=2.0, delta=0.05)
    said = [each.vacuous for each in grid("ldpcp-4-starred", n=[cell.least_n - 1, cell.least_n])]
    assert said == [True, False]


def test_scores_that_are_not_admitted_are_named() -> None:
    """Half of the mass of Beta(5, 0.2) lies within 2⁻¹⁰ of 1."""
    near, far = grid("ldpcp-4", scores="beta(5,0.2)", n=[100, 100_000])
    assert near.unmet == ""
    assert "T = " in far.unmet
    assert far.slack < 0


def test_the_window_count_is_what_the_scores_need() -> None:
    """M(Δ) of 10⁴ scores at Δ = 0.001 is far above 1; where it is given, it is used."""
    given = {"rho": 1.0, "alpha": 0.1, "beta": 0.2, "n": 2000, "resolution": 0.001}
    given |= {"reading": "conditional"}
    (needed,) = grid("pcoqs-theorem-1", **given)
    (told,) = grid("pcoqs-theorem-1", **given, window_count=1)
    assert needed.unmet == ""
    assert "M(Δ)" in told.unmet
    assert needed.level < told.level


@pytest.mark.parametrize(
    ("name", "given", "told"),
    [
        ("split-conformal", {"n": [9, 99]}, "split-conformal has no level that depends on n"),
        ("ldpcp-3", {"n": [9, 99]}, "k must be given for ldpcp-3"),
        ("ldpcp-4", {"n": [9, 99], "epsilom": 1}, "unknown key 'epsilom'"),
        ("ldpcp-4", {"n": list(range(100, 2000))}, "the grid must have at most 1,440 cells"),
        ("ldpcp-4", {"n": 100, "k": 3, "scores": "uniform"}, "two laws of the scores"),
        ("ldpcp-4", {"n": 5}, "n must be an integer >= 10, got 5"),
    ],
)
def test_mistakes_are_named(name: str, given: dict[str, object], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        grid(name, **given)


def test_a_theorem_object_of_a_grid_is_that_of_a_case() -> None:
    found = TheoremGrid.of("pcoqs-theorem-1", {"n": [50, 60], "rho": 1.0})
    assert found.varied == ("n",)
    assert found.fixed["beta"] == 0.05
    assert found.named.kind is CoverageTheorem
    with pytest.raises(UsageError):
        TheoremGrid.of("nosuch", {})


def test_the_least_multiple_is_that_of_the_quantile() -> None:
    """erfc(c·x) = δ at c = quantile/x."""
    found = least_multiple(lambda c: math.erfc(c * 3), 0.05)
    exact = -ndtri(0.025) / math.sqrt(2) / 3
    assert exact <= found <= exact + 2 / 512


def test_no_correction_or_none_that_is_enough() -> None:
    assert least_multiple(lambda _: 0.05, 0.05) == 0
    assert least_multiple(lambda _: 0.06, 0.05) == math.inf
    with pytest.raises(ValueError, match="allowed must lie in"):
        least_multiple(lambda _: 0.0, 1.5)


def test_massarts_constant() -> None:
    """One-sided, log(1/δ) would do for log(4/δ); two-sided, log(2/δ) (Massart 1990)."""
    delta = 1e-12
    for two_sided, constant in ((False, 1), (True, 2)):
        event = NoiselessEvent(n=10_000, epsilon=80.0, delta=delta, two_sided=two_sided)
        found = tightness_of(event)
        would_do = math.sqrt(math.log(constant / delta) / math.log(4 / delta))
        assert would_do - 0.01 < found.multiple < would_do + 1 / 256
        assert 0.5 * constant / 4 < found.ratio < constant / 4


def test_it_stands_in_the_note_and_in_a_table() -> None:
    event = NoiselessEvent(n=1000, epsilon=40.0, delta=0.1)
    computed = with_tightness(event)
    (table,) = computed.tables
    assert "Δ_L × 0.79 would do." in computed.note
    assert table.columns[1].values == [computed.value]
    assert table.columns[4].values[0] == pytest.approx(0.79, abs=0.005)


def test_a_failure_probability_that_rises_at_first() -> None:
    """Without a correction it is allowed, and again from 0.6 on."""
    found = least_multiple(lambda c: 0.04 if c == 0 else 0.1 * (c < 0.6), 0.05)
    assert 0.6 <= found <= 0.6 + 2 / 512


def test_none_that_was_tried_would_do() -> None:
    tight = Tightness(correction="τ*", failure=0.2, allowed=0.1, multiple=math.inf)
    assert tight.words == "No multiple of τ* up to 2 would do."
    assert tight.shown == "none up to 2"
