"""Figures drawn from exact laws, against closed forms."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dpcp_audit.audits.exact import law_figures, tradeoff_figure
from dpcp_audit.laws.laws import FiniteLaw, FinitePair, GaussianPair
from dpcp_audit.laws.populations import Beta, Uniform
from dpcp_audit.theorems.ldpcp import ScoreTheorem, exact_failure
from dpcp_audit.words.guarantees import ZCDP, PureDP
from dpcp_ledger.ldpcp.ldpcp_theorems import failure_region, failure_with_regions

THEOREM = ScoreTheorem(population=Beta(5, 0.2), n=11_080, epsilon=4.0, delta=0.1, rounds=25)


def test_the_trade_off_of_a_gaussian_pair_is_its_closed_form_from_above() -> None:
    claimed, exact = tradeoff_figure(ZCDP(0.5), GaussianPair(1.0)).series
    power = 1 - GaussianPair(1.0).tradeoff(np.array(exact.x))
    assert np.all(np.array(exact.y) >= power - 1e-12)
    assert np.abs(np.array(exact.y) - power).max() < 2e-3
    assert exact.x[1:11] == pytest.approx(np.geomspace(1e-3, 0.1, 10))
    assert exact.x[11:] == pytest.approx(np.linspace(0.125, 1.0, 36))
    assert np.all(np.array(claimed.y) >= power - 1e-9)


def test_the_trade_off_of_randomised_response_is_what_its_guarantee_allows() -> None:
    p = math.e / (1 + math.e)
    pair = FinitePair(FiniteLaw.from_mass([p, 1 - p]), FiniteLaw.from_mass([1 - p, p]))
    claimed, exact = tradeoff_figure(PureDP(1.0), pair).series
    assert exact.y == pytest.approx(claimed.y, abs=1e-12)
    half = tradeoff_figure(PureDP(0.5), pair).series[0]
    assert max(np.array(exact.y) - np.array(half.y)) > 0.1  # the broken claim shows


@pytest.mark.parametrize(("loss", "last"), [(6.0, 6.3), (9.0, 8.4), (1.0, 3.15)])
def test_a_profile_reaches_beyond_the_claim_and_the_loss(loss: float, last: float) -> None:
    """By a twentieth; to four times the claim at most, and to one and a half at least."""
    p = 1 / (1 + math.exp(-loss))
    pair = FinitePair(FiniteLaw.from_mass([p, 1 - p]), FiniteLaw.from_mass([1 - p, p]))
    claimed, exact = law_figures(PureDP(2.0), pair)[0].series
    assert claimed.x[-1] == exact.x[-1] == pytest.approx(last)


def test_both_directions_of_a_pair_count() -> None:
    pair = FinitePair(FiniteLaw.from_mass([0.9, 0.1, 0.0]), FiniteLaw.from_mass([0.5, 0.1, 0.4]))
    there, back = (law_figures(PureDP(1.0), way)[1].series[1] for way in (pair, pair.reversed()))
    assert there.y == pytest.approx(back.y, abs=1e-6)
    assert there.y[0] == pytest.approx(0.4, abs=1e-9)  # δ(∞) of the worse direction


def test_regions_hold_the_exact_failure_probabilities() -> None:
    computed = failure_with_regions(THEOREM, compared_rounds=10)
    assert computed.value == exact_failure(THEOREM).value
    over_rounds, over_epsilon = computed.figures[1:]
    assert over_rounds.marks == {"above δ = 0.1": 0.1}
    cell = over_rounds.series[-1].y[over_rounds.series[-1].x.index(11_080)]
    assert cell == computed.value
    larger = over_rounds.series[-1].y[over_rounds.series[-1].x.index(100_000)]
    assert larger == exact_failure(replace(THEOREM, n=100_000)).value != cell
    ten = {row.name: row.y for row in over_rounds.series}["T = 10"]
    assert ten == {row.name: row.y for row in over_epsilon.series}["ε = 4"]
    assert min(ten) > 0.1 > max(over_rounds.series[-1].y)


def test_a_region_of_two_populations_is_refused() -> None:
    other = replace(THEOREM, population=Uniform())
    with pytest.raises(ValueError, match="theorems must share one population and one delta, got"):
        failure_region({"a": THEOREM, "b": other}, over="n", given="")
    with pytest.raises(ValueError, match=r"got \[\]"):
        failure_region({}, over="n", given="")
