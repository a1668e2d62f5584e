"""Power and draws, asked for beforehand: what an audit says of itself afterwards."""

from __future__ import annotations

import pytest
from support.messages import require_line_and_hint

import dpcp_audit as dp
from dpcp_audit.words.evidence import reaches

CASES = [
    ("quantile", dp.ZCDP(0.5), {}),
    ("quantile", dp.PureDP(1.0), {"detect": 1.5}),
    ("quantile", dp.ApproxDP(1.0, 1e-3), {}),
    ("vector", dp.GaussianDP(1.0), {}),
    ("randomizer", dp.LocalDP(1.0), {"domain": 4}),
]


def quantile(scores, *, rng) -> float:
    return float(scores.mean() + rng.laplace(scale=3.0 / len(scores)))


@pytest.mark.parametrize(("kind", "guarantee", "given"), CASES)
def test_so_many_draws_are_enough_and_half_of_them_are_not(kind, guarantee, given) -> None:
    draws = dp.draws_needed(kind, guarantee, **given)
    detect = given.get("detect", 2.0)
    assert reaches(dp.power(kind, guarantee, draws=draws, **given), detect)
    if draws >= 1200:
        half = dp.power(kind, guarantee, draws=draws // 2, **given)
        assert not reaches(half, detect)


def test_the_power_is_the_one_that_the_audit_states() -> None:
    given = {"n": 20, "draws": 2000, "trace": False, "prove": False}
    planned = dp.power(quantile, dp.ZCDP(0.9), **given)
    found = dp.audit(quantile, dp.ZCDP(0.9), **given)[0]
    assert found.power is not None
    assert (found.power.quantity, found.power.claimed) == (planned.quantity, planned.claimed)
    assert planned.smallest == pytest.approx(found.power.smallest, rel=0.5)


def test_more_draws_see_more_and_a_rarer_false_alarm_less() -> None:
    few, many = (dp.power("quantile", dp.ZCDP(0.5), draws=n).smallest for n in (2000, 200_000))
    assert many < few
    rarer = dp.power("quantile", dp.ZCDP(0.5), draws=2000, false_alarm=1e-6).smallest
    assert few < rarer
    assert dp.draws_needed("quantile", dp.Coverage(0.9)) >= 100


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dp.power("quantil", dp.ZCDP(1)), r"target must be one of quantile, .*'quantil'"),
        (lambda: dp.power("quantile", dp.ZCDP), "guarantee must be one such as ZCDP"),
        (lambda: dp.power("quantile", dp.ZCDP(1), budget="5s"), "power takes no budget"),
        (lambda: dp.power("quantile", dp.ZCDP(1), kind="vector"), "kind must be 'quantile'"),
        (lambda: dp.draws_needed("quantile", dp.ZCDP(1), draws=9), "takes no draws"),
        (lambda: dp.draws_needed("quantile", dp.ZCDP(1), detect=1), "detect must be finite and"),
    ],
)
def test_mistakes_are_named(call, message) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        call()
    require_line_and_hint(str(caught.value))
