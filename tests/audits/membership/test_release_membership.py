"""Membership inference: attacks, p-values, operating points, games, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.special import expit
from support.membership import game, played
from support.samplers import context, gaussian, laplace, response

from dpcp_audit.audits import release_membership
from dpcp_audit.audits.certificates import Hits
from dpcp_audit.audits.release_membership import (
    CellLikelihood,
)
from dpcp_audit.laws.laws import GaussianPair
from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.words.guarantees import ZCDP, ApproxDP, PureDP
from dpcp_audit.words.results import EvidenceKind, Verdict
from dpcp_ledger.mechanisms.releases import (
    labels_in_sets,
    pcoqs_threshold,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcp_audit.audits.search.pair_space import Sampler


@pytest.mark.parametrize(
    ("sample", "guarantee", "exact"),
    [
        (laplace(1.0), PureDP(1.0), 1 - math.exp(-0.5)),
        (response(1.0), PureDP(1.0), math.tanh(0.5)),
        (gaussian(1.0), ZCDP(0.5), GaussianPair(1.0).delta_at(0.0)),
    ],
    ids=["laplace", "response", "gaussian"],
)
def test_a_true_claim_holds_and_the_attack_comes_close(
    sample: Sampler, guarantee: PureDP | ZCDP, exact: float
) -> None:
    outcome = played(game(sample, guarantee, n_samples=40_000))
    assert outcome.verdict is Verdict.CONSISTENT
    evidence = outcome.evidence
    assert evidence.kind is EvidenceKind.CERTIFIED
    assert evidence.lower <= exact <= guarantee.advantage() + 1e-9
    assert evidence.lower > 0.85 * exact
    assert evidence.claimed == pytest.approx(guarantee.advantage())
    assert evidence.n_samples == 80_000  # half of the games are pilots


def test_an_advantage_that_is_too_large_is_the_evidence() -> None:
    outcome = played(game(response(2.0), PureDP(1.0)))
    assert outcome.verdict is Verdict.REFUTED
    assert outcome.evidence.quantity == "membership-advantage"
    assert outcome.evidence.lower > math.tanh(0.5)


def test_a_threshold_of_low_false_positives_refutes_where_the_advantage_does_not() -> None:
    """One release in twenty gives the target away; the advantage stays small."""

    def leaks(value: float, size: int, *, rng: np.random.Generator) -> np.ndarray:
        return np.where(rng.random(size) < 0.05 * value, 9.0, rng.random(size))

    outcome = played(game(leaks, PureDP(1.0), n_samples=20_000))
    assert outcome.verdict is Verdict.REFUTED
    assert outcome.evidence.quantity == "epsilon"
    assert outcome.evidence.detail == "of the attack"
    assert outcome.evidence.lower > 1.0


def test_points_are_held_at_their_own_rates() -> None:
    check = game(gaussian(1.0), ApproxDP(1.0, 0.2), n_samples=20_000)
    result = check.play(context(3, significance=1e-3))
    assert [point.purpose for point in result.points] == [
        "largest advantage",
        "FPR near 0.01",
        "FPR near 0.001",
        "most telling",
    ]
    for point in result.points:
        assert point.fpr.lower <= point.fpr.value <= point.fpr.upper
        assert point.allowed == pytest.approx(float(check.guarantee.power(point.fpr.upper)))
        assert point.advantage.lower == point.tpr.lower - point.fpr.upper
    assert abs(result.points[1].fpr.value - 0.01) < 0.005
    assert (np.diff(result.roc_fpr) >= 0).all()
    assert (np.diff(result.roc_tpr) >= 0).all()


def test_the_figure_shows_allowed_exact_measured_and_certified() -> None:
    outcome = played(pcoqs_threshold(PCOQS(alpha=0.1, rho=0.5), n=50, n_samples=4000))
    figure = outcome.figures[0]
    assert figure.log_x
    assert figure.log_y
    allowed, exact, measured, certified = figure.series
    assert (np.array(exact.y) <= np.array(allowed.y) + 1e-9).all()
    assert measured.name == "measured"
    assert len(certified.x) <= 4
    assert all(min(series.x) > 0 and min(series.y) > 0 for series in figure.series)


def test_the_bits_of_pcoqs_tell_more_than_its_value() -> None:
    check = pcoqs_threshold(PCOQS(alpha=0.1, rho=0.5), n=50, n_samples=20_000)
    by_value = replace(check, attacks=(CellLikelihood(),))
    assert check.exact is not None
    variation = check.exact().total_variation()
    reached, reached_by_value = (
        one.play(context(0, significance=1e-3)).advantage for one in (check, by_value)
    )
    assert reached_by_value.upper < reached.lower
    assert 0.8 * variation < reached.value
    assert reached.lower <= variation <= check.guarantee.advantage()


def test_sets_show_only_which_queries_they_hold() -> None:
    sample = partial(
        labels_in_sets, lambda value, size, *, rng: np.array([0.1, 0.5, 0.7]), [0.7, 0.5]
    )
    assert sample(None, 3, rng=np.random.default_rng(0)).tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        (lambda value, size, *, rng: np.zeros(3), "sample must return shape"),
        (lambda value, size, *, rng: np.full(size, np.nan), "sample must return numbers"),
    ],
)
def test_odd_samples_are_refused(sample: Sampler, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        played(game(sample, PureDP(1.0)))


def test_odd_arguments_are_refused() -> None:
    check = game(laplace(1.0), PureDP(1.0))
    with pytest.raises(ValueError, match="attacks must hold at least one"):
        replace(check, attacks=())
    with pytest.raises(ValueError, match="n_samples must be an integer >= 400"):
        replace(check, n_samples=100)


@pytest.mark.parametrize(("level", "side"), [(0.25, False), (0.75, True)])
def test_what_is_counted_at_a_threshold(monkeypatch, level, side) -> None:
    """P-values that equal it count as below; the pilot suggests the side, of what is expected."""
    certified: list[tuple[Hits, bool, float]] = []
    monkeypatch.setattr(
        release_membership,
        "certify",
        lambda _, hits, *, significance, complement: certified.append(
            (hits, complement, significance)
        ),
    )
    seen: list[Hits] = []
    monkeypatch.setattr(
        release_membership,
        "prefers_complement",
        lambda _, expected: seen.append(expected) or side,
    )
    pvalues = np.array([0.1, 0.25, 0.5, 0.75, 0.9, 0.25])
    game(laplace(1.0), PureDP(1.0))._test(level, pvalues, pvalues[1:], pvalues[::-1], 1e-3)
    below = {0.25: 3, 0.75: 5}[level]
    assert seen == [Hits(below, round(6 * level), 6)]
    assert certified == [(Hits(below - 1, below, 5), side, 1e-3)]


@pytest.mark.parametrize("power", [3.3, 2.0])
def test_the_threshold_that_tells_most_by_hand(power) -> None:
    """Of 200 pilot p-values: (TPR − allowed) in standard errors of both rates, at each level."""
    pilot = ((np.arange(200) + 0.5) / 200) ** power
    claim = PureDP(1.0)

    def allowed(rate: float) -> float:
        return min(math.e * rate, 1 - (1 - rate) / math.e)

    excess: dict[float, float] = {}
    for level in expit(np.linspace(-7, 7, 57)).tolist():
        tpr = float((pilot <= level).mean())
        shifted = allowed(min(1.0, level + math.sqrt(level * (1 - level) / 200)))
        variance = max(tpr * (1 - tpr), 1 / 200) / 200
        spread = math.sqrt(variance + (shifted - allowed(level)) ** 2)
        excess[level] = (tpr - allowed(level)) / spread
    advantage = {level: float((pilot <= level).mean()) - level for level in excess}
    assert game(laplace(1.0), claim)._thresholds(pilot) == {
        "largest advantage": max(advantage, key=advantage.__getitem__),
        "FPR near 0.01": 0.01,
        "FPR near 0.001": 0.001,
        "most telling": max(excess, key=excess.__getitem__),
    }


def test_an_attack_is_fitted_on_half_of_the_pilot_and_the_rest_chooses() -> None:
    """One that tells the first of each two releases is no better than chance on the second."""
    seen: list[tuple[list[float], list[float]]] = []

    class Attack:
        def __init__(self, name: str, sign: float) -> None:
            self.name, self.sign = name, sign

        def fit(self, member, other) -> Callable[[np.ndarray], np.ndarray]:
            seen.append((member.tolist(), other.tolist()))
            return lambda releases: self.sign * releases

    check = replace(
        game(laplace(1.0), PureDP(1.0)), attacks=(Attack("worse", -1.0), Attack("better", 1.0))
    )
    member, other = np.arange(8.0) + 4, np.arange(8.0)
    fitted = check._fit(member, other, np.random.default_rng(0))
    assert seen == [([4.0, 6.0, 8.0, 10.0], [0.0, 2.0, 4.0, 6.0])] * 2
    assert fitted.name == "better"
    assert fitted.reference.tolist() == [1.0, 3.0, 5.0, 7.0]
    assert fitted.pilot.shape == (4,)
