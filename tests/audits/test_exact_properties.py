"""Properties that hold of every event, computation, verdict and piece of plain data."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.proofs import PROOF

from dpcp_audit.audits.exact import exact_outcome, law_figures, tradeoff_figure, worst_measurement
from dpcp_audit.audits.search.pilot_hypotheses import best_event
from dpcp_audit.engine.tasks import plain_data
from dpcp_audit.laws.laws import FiniteLaw, FinitePair, GaussianPair
from dpcp_audit.reports.document import agree
from dpcp_audit.words.evidence import Computation
from dpcp_audit.words.guarantees import ZCDP, ApproxDP, PureDP, RenyiDP
from dpcp_audit.words.quantities import Quantity
from dpcp_audit.words.results import Verdict

reals = st.floats(-1e6, 1e6)
samples = st.lists(st.integers(-5, 5).map(float) | reals, min_size=5, max_size=60).map(np.array)
masses = st.lists(st.floats(0.01, 1.0), min_size=4, max_size=4)
guarantees = st.one_of(
    st.builds(PureDP, st.floats(0.1, 5.0)),
    st.builds(ApproxDP, st.floats(0.0, 5.0), st.floats(0.0, 1.0)),
    st.builds(ZCDP, st.floats(0.01, 5.0)),
    st.builds(RenyiDP, st.floats(1.1, 20.0), st.floats(0.01, 5.0)),
)


def law(mass: list[float]) -> FiniteLaw:
    values = np.array(mass)
    return FiniteLaw.from_mass(values / values.sum())


@given(samples, samples, st.floats(0.1, 3.0))
def test_a_chosen_event_is_its_intervals(
    outputs: np.ndarray, others: np.ndarray, epsilon: float
) -> None:
    event = best_event(PureDP(epsilon), (outputs, others)).event
    everything = np.concatenate([outputs, others])
    intervals = event.as_intervals()
    inside = [any(low < x <= high for low, high in intervals) for x in everything]
    assert event.contains(everything).tolist() == inside
    ends = [end for interval in intervals for end in interval]
    assert ends == sorted(set(ends))  # increasing, and no two intervals touch


@given(guarantees, masses, masses)
def test_holding_a_guarantee_does_not_depend_on_the_order_of_the_neighbours(
    guarantee: Any, p: list[float], q: list[float]
) -> None:
    pair = FinitePair(law(p), law(q))
    there, back = (worst_measurement(guarantee, [way])[0] for way in (pair, pair.reversed()))
    assert math.isclose(there.value, back.value, rel_tol=1e-9, abs_tol=1e-12)


@given(masses, masses, st.floats(0.05, 4.0), st.floats(0.01, 0.3))
def test_exact_verdicts_agree_with_the_definition(
    p: list[float], q: list[float], epsilon: float, delta: float
) -> None:
    """The subsets of four outcomes are tried one by one."""
    pair = FinitePair(law(p), law(q))
    a, b = np.exp(pair.law.log_mass), np.exp(pair.neighbour_law.log_mass)
    events = [[bool(code >> i & 1) for i in range(4)] for code in range(16)]
    factor = math.exp(epsilon)
    excess = max(
        max(a[e].sum() - factor * b[e].sum(), b[e].sum() - factor * a[e].sum()) for e in events
    )
    verdict = exact_outcome(ApproxDP(epsilon, delta), [pair], argument="All.").verdict
    if abs(excess - delta) > 1e-6:
        assert verdict is (Verdict.REFUTED if excess > delta else Verdict.PROVED)
    if excess > 1e-6:
        assert exact_outcome(PureDP(epsilon), [pair]).verdict is Verdict.REFUTED


@given(reals, reals, st.floats(0, 10), st.booleans())
def test_more_value_or_slack_never_improves_a_verdict(
    value: float, claimed: float, more: float, covered: bool
) -> None:
    def verdict(value: float, slack: float) -> Verdict:
        proof = PROOF if covered else None
        return Computation(
            quantity=Quantity.VALUE, value=value, claimed=claimed, slack=slack, proof=proof
        ).verdict

    order = [Verdict.PROVED, Verdict.CONSISTENT, Verdict.INCONCLUSIVE, Verdict.REFUTED]
    rank = order.index
    assert rank(verdict(value, 0.0)) <= rank(verdict(value + more, 0.0))
    assert rank(verdict(value, 0.0)) <= rank(verdict(value, more))
    if not covered:
        assert verdict(value, 0.0) is not Verdict.PROVED


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=3), inner, max_size=4)
        | st.tuples(inner, inner)
    ),
    max_leaves=10,
)


@given(plain)
def test_plain_data_is_json_and_settles(value: object) -> None:
    once = plain_data(value)
    assert plain_data(once) == once
    assert json.loads(json.dumps(once, allow_nan=False)) == once
    assert agree(once, json.loads(json.dumps(once)))


@given(plain, plain)
def test_sameness_is_symmetric_and_sees_differences(first: object, second: object) -> None:
    a, b = plain_data(first), plain_data(second)
    assert agree(a, b) == agree(b, a)
    if a == b:
        assert agree(a, b)
    assert not agree(a, [a])


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
