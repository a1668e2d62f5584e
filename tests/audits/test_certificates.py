"""Verdicts of certificates: when what is not refuted was tried hard enough."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from dpcp_audit.audits.certificates import (
    Hits,
    _side,
    _turn_near,
    bounding_event,
    certify,
    smallest_violation,
)
from dpcp_audit.audits.search.pilot_hypotheses import best_event
from dpcp_audit.stats.curve_test import CurveTest
from dpcp_audit.stats.ratio_test import RatioTest
from dpcp_audit.words.evidence import decide, refutes
from dpcp_audit.words.guarantees import ZCDP, ApproxDP, LocalDP, PureDP, RenyiDP
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.audits.search.event_search import Event
    from dpcp_audit.words.guarantees import PrivacyGuarantee
    from dpcp_audit.words.validate import FloatArray


GUARANTEES = (PureDP(1.0), ApproxDP(1.0, 1e-5), LocalDP(2.0), ZCDP(0.5), RenyiDP(8.0, 1.0))


def verdict(guarantee: PrivacyGuarantee, hits: Hits) -> Verdict:
    found = certify(guarantee, hits, significance=1e-3)
    power = smallest_violation(guarantee, hits.trials, significance=1e-3)
    return decide(found.evidence, power=power)


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=str)
def test_few_draws_say_so_and_many_do_not(guarantee: PrivacyGuarantee) -> None:
    """Twenty outputs let a mechanism with half of the noise pass; ten thousand do not."""
    assert verdict(guarantee, Hits(0, 0, 20)) is Verdict.INCONCLUSIVE
    assert verdict(guarantee, Hits(10, 8, 20)) is Verdict.INCONCLUSIVE
    assert verdict(guarantee, Hits(5000, 4900, 10_000)) is Verdict.CONSISTENT
    assert verdict(guarantee, Hits(10_000, 0, 10_000)) is Verdict.REFUTED


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_consistent_is_said_only_where_twice_the_claim_would_be_refuted(epsilon: float) -> None:
    """Randomised response of 2ε, 1.6 standard deviations unlucky on either side, is refuted."""
    claim = PureDP(epsilon)
    trials = next(
        n
        for n in (50, 100, 200, 400, 800, 1600)
        if verdict(claim, Hits(n // 2, n // 2, n)) is Verdict.CONSISTENT
    )
    q = np.geomspace(1e-4, 0.5, 25)
    p = np.minimum(np.exp(2 * epsilon) * q, 1 - np.exp(-2 * epsilon) * (1 - q))
    unlucky = [1.6 * np.sqrt(rate * (1 - rate) / trials) for rate in (p, q)]
    high = np.floor(trials * (p - unlucky[0])).astype(int).tolist()
    low = np.ceil(trials * (q + unlucky[1])).astype(int).tolist()
    assert any(
        verdict(claim, Hits(x, y, trials)) is Verdict.REFUTED
        for x, y in zip(high, low, strict=True)
        if x > y
    )
    assert trials >= 100


def test_a_claim_that_nothing_is_lost_can_be_consistent() -> None:
    assert verdict(ApproxDP(0.0, 0.0), Hits(50, 50, 100)) is Verdict.INCONCLUSIVE
    assert verdict(ApproxDP(0.0, 0.0), Hits(9_980, 10_000, 20_000)) is Verdict.CONSISTENT


def test_the_outputs_of_both_inputs_are_counted() -> None:
    found = certify(PureDP(1.0), Hits(30, 10, 100), significance=0.01)
    assert found.evidence.n_samples == 200


@pytest.mark.parametrize(
    "guarantee", [PureDP(1.0), ApproxDP(1.0, 0.01), ZCDP(0.5), RenyiDP(2.0, 1.0)]
)
@pytest.mark.parametrize("hits", [Hits(100, 0, 100), Hits(0, 100, 100), Hits(0, 0, 100)])
def test_no_number_of_outputs_shows_an_infinite_loss(
    guarantee: PrivacyGuarantee, hits: Hits
) -> None:
    found = certify(guarantee, hits, significance=0.01).evidence
    assert 0 <= found.value < math.inf
    assert hits.successes < 100 or found.value >= found.lower


def test_where_the_condition_holds_everywhere_the_turn_is_0() -> None:
    assert _turn_near(lambda value: True, 2.0) == 0.0
    assert _turn_near(lambda value: True, 0.0) == 0.0
    assert _turn_near(lambda value: value > 0.3, 2.0) == pytest.approx(0.3, rel=0.011)
    assert _turn_near(lambda value: value > 5.0, 2.0) == pytest.approx(5.0, rel=0.011)


def test_two_intervals_part_where_a_difference_shows() -> None:
    """Of two normal variables with the same variance, at √2 standard deviations of either."""
    assert _side(1.96 * math.sqrt(2)) == pytest.approx(0.05, rel=1e-3)
    assert _side(-1.0) < 1


@pytest.mark.parametrize("guarantee", [PureDP(1.0), ApproxDP(1.0, 0.01), ZCDP(0.5)], ids=str)
@pytest.mark.parametrize("above", [False, True])
def test_a_p_value_of_the_significance_itself_refutes(
    guarantee: PrivacyGuarantee, above: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of any test of that level: P(p-value ≤ α) ≤ α, with equality allowed."""
    value = math.nextafter(0.01, 1.0) if above else 0.01
    for test in (RatioTest, CurveTest):
        monkeypatch.setattr(test, "p_value", lambda *_, **__: value)
    found = certify(guarantee, Hits(50, 40, 100), significance=0.01)
    assert refutes(found.evidence) is not above


SIZE, PILOT, LEVEL = 5000, 1650, 0.05


def laplace(value: float, size: int, rng: np.random.Generator) -> FloatArray:
    return np.asarray(value + rng.laplace(scale=0.2, size=size))


def tree(value: float, size: int, rng: np.random.Generator) -> FloatArray:
    """Three nodes, each with noise for the whole budget: three times the loss."""
    return 3 * value + rng.laplace(size=(3, size)).sum(axis=0)


def gaussian(value: float, size: int, rng: np.random.Generator) -> FloatArray:
    return 2 * value + rng.normal(size=size)


def certified(
    guarantee: PrivacyGuarantee, event: Event, fresh: list[FloatArray], *, swapped: bool
) -> float:
    x, y = (int(event.contains(z).sum()) for z in (fresh[::-1] if swapped else fresh))
    return certify(guarantee, Hits(x, y, len(fresh[0])), significance=LEVEL).evidence.lower


@pytest.mark.parametrize(
    ("draw", "guarantee", "gain"),
    [
        (laplace, PureDP(1.0), 1.08),
        (tree, PureDP(1.0), 1.05),
        (gaussian, ApproxDP(1.0, 1e-5), 1.15),
        (gaussian, ZCDP(0.5), 0.97),
    ],
)
def test_it_certifies_more_than_the_event_of_largest_excess(
    draw: Callable[[float, int, np.random.Generator], FloatArray],
    guarantee: PrivacyGuarantee,
    gain: float,
) -> None:
    """On average over three repetitions, of the same outputs."""
    bounds: list[tuple[float, float]] = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        samples = [draw(value, SIZE, rng) for value in (1.0, 0.0)]
        pilot, fresh = samples[0][:PILOT], [sample[PILOT:] for sample in samples]
        pilots = pilot, samples[1][:PILOT]
        likeliest, swapped, _ = best_event(guarantee, pilots)
        best = bounding_event(guarantee, likeliest, pilots, trials=SIZE - PILOT, significance=LEVEL)
        assert best is not None
        assert best.refutes
        bounds.append(
            (
                certified(guarantee, best.event, fresh, swapped=best.swapped),
                certified(guarantee, likeliest, fresh, swapped=swapped),
            )
        )
    ours, theirs = np.mean(bounds, axis=0)
    assert ours >= gain * theirs


def test_where_nothing_is_lost_nothing_is_promised() -> None:
    rng = np.random.default_rng(0)
    pilots = rng.normal(size=1000), rng.normal(size=1000)
    event = best_event(PureDP(1.0), pilots).event
    best = bounding_event(PureDP(1.0), event, pilots, trials=2000, significance=LEVEL)
    assert best is None or not best.refutes


def test_an_event_that_only_one_input_gives_is_kept() -> None:
    """No half-line beats an infinite loss, whose event is not one."""
    rng = np.random.default_rng(1)
    first = rng.choice([0.0, 2.0], size=1000)
    second = np.where(rng.random(1000) < 0.5, 1.0, rng.choice([0.0, 2.0], size=1000))
    claim = PureDP(0.5)
    event = best_event(claim, (second, first)).event
    best = bounding_event(claim, event, (second, first), trials=2000, significance=LEVEL)
    assert best is not None
    assert best.event.contains(np.array([0.0, 1.0, 2.0])).tolist() == [False, True, False]
