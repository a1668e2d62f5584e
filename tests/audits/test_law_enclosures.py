"""False by one part in 10¹² is never proved, true by as much is; and nastier cases."""

from __future__ import annotations

import math
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from dpcp_audit.audits import exact
from dpcp_audit.audits.exact import enclosed, exact_outcome, rho_bound
from dpcp_audit.laws.laws import FiniteLaw, FinitePair, GaussianPair, LaplacePair, LawPair
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse
from dpcp_audit.stats.enclosures import ends, gaussian_delta, laplace_delta
from dpcp_audit.words.guarantees import (
    ZCDP,
    ApproxDP,
    GaussianDP,
    LocalDP,
    PrivacyGuarantee,
    PureDP,
    RenyiDP,
)
from dpcp_audit.words.results import Verdict

PART = 1e-12
MIN, SUBNORMAL = 2.2250738585072014e-308, 5e-324


def verdict(guarantee: PrivacyGuarantee, pair: LawPair) -> Verdict:
    with mock.patch.object(exact, "law_figures", return_value=()):  # they are slow
        return exact_outcome(guarantee, [pair], argument="The pair is all there is.").verdict


def decided(guarantee: type[PrivacyGuarantee], *of: float, limit: float, pair: LawPair) -> None:
    """Hold claims a part in 10¹² below and above the truth against the pair."""
    below, above = limit * (1 - PART), limit * (1 + PART)
    assert verdict(guarantee(*of, below), pair) is not Verdict.PROVED
    assert verdict(guarantee(*of, above), pair) is Verdict.PROVED


shifts = st.floats(0.05, 8.0)


@given(shifts, st.floats(0.0, 6.0))
def test_gaussian_delta(shift: float, epsilon: float) -> None:
    delta = ends(lambda: gaussian_delta(shift, epsilon))[0]
    if MIN < delta < 1 - PART:
        decided(ApproxDP, epsilon, limit=delta, pair=GaussianPair(shift))


@given(shifts, st.floats(1.05, 40.0))
def test_gaussian_divergences(shift: float, order: float) -> None:
    pair = GaussianPair(shift)
    decided(ZCDP, limit=shift**2 / 2, pair=pair)
    decided(RenyiDP, order, limit=order * shift**2 / 2, pair=pair)


@given(st.lists(shifts, min_size=1, max_size=2), st.floats(0.0, 6.0))
def test_laplace_and_histogram(of: list[float], epsilon: float) -> None:
    pair = LaplacePair(of)
    decided(PureDP, limit=float(sum(map(Fraction, of))), pair=pair)
    delta = ends(lambda: laplace_delta(of, epsilon))[0]
    if MIN < delta < 1 - PART:
        decided(ApproxDP, epsilon, limit=delta, pair=pair)
    divergence = enclosed(pair, RenyiDP(3.0, 1.0))
    assert divergence is not None
    decided(RenyiDP, 3.0, limit=ends(divergence)[0], pair=pair)


@given(st.floats(0.05, 12.0), st.integers(2, 20))
def test_a_channel_of_doubles(epsilon: float, k: int) -> None:
    pair = FinitePair(*KaryRandomizedResponse(epsilon, k).laws()[:2])
    found = [verdict(LocalDP(epsilon * f), pair) for f in (1 - PART, 1.0, 1 + PART)]
    assert found[0] is not Verdict.PROVED
    assert found[1] is Verdict.CONSISTENT  # their rounding alone decides it
    assert found[2] is Verdict.PROVED


FALSE: list[tuple[PrivacyGuarantee, LawPair]] = [
    (ApproxDP(2.58, 0.0), GaussianPair(1.0)),
    (ApproxDP(2.58, 0.0), GaussianPair(1 / 8)),
    (ApproxDP(8.7, 0.0), GaussianPair(1.0)),
    (ApproxDP(8.7, 1e-18), GaussianPair(1.0)),
    (ApproxDP(2.58, 1e-18), GaussianPair(1 / 3)),
    (ApproxDP(2.58, 1e-20), GaussianPair(1 / 3)),
    (ApproxDP(700.0, 0.0), GaussianPair(30.0)),
    (ApproxDP(700.0, 3e-17), GaussianPair(30.0)),
    (ApproxDP(700.0, 0.0), GaussianPair(1.0)),
    (ApproxDP(1.0, 0.0), GaussianPair(0.026)),
    (ApproxDP(0.999, 0.0), LaplacePair((1.0,))),
    (ApproxDP(1 - 2**-53, 0.0), LaplacePair((1.0,))),
    (ApproxDP(1 - 2**-53, 5e-17), LaplacePair((1.0,))),
    (ApproxDP(0.0, 0.0), LaplacePair((1e-300,))),
    (PureDP(1e308), GaussianPair(1e-300)),
    (PureDP(0.3), LaplacePair((0.1, 0.2))),
    (PureDP(1.0), LaplacePair((1.0, 1e-300))),
    (ZCDP(1e-300), GaussianPair(1.5e-150)),
    (ZCDP(0.5), GaussianPair(1e308)),
    (RenyiDP(2.0, 1e308), GaussianPair(1e308)),
    (ZCDP(0.01), GaussianPair(0.1 * math.sqrt(2))),
]
TRUE: list[tuple[PrivacyGuarantee, LawPair]] = [
    (ApproxDP(2.58, 1e-20), GaussianPair(1 / 8)),
    (ApproxDP(8.7, 1.0), GaussianPair(1.0)),
    (ApproxDP(700.0, SUBNORMAL), GaussianPair(1.0)),
    (ApproxDP(1e300, SUBNORMAL), GaussianPair(1.0)),
    (ApproxDP(1.0, 0.0), LaplacePair((1.0,))),
    (ApproxDP(0.75, 0.0), LaplacePair((0.5, 0.25))),
    (PureDP(0.75), LaplacePair((0.5, 0.25))),
    (PureDP(1.0), LaplacePair((1 - 2**-53,))),
    (ZCDP(0.5), GaussianPair(1.0)),
    (ZCDP(math.nextafter(0.5, 1)), GaussianPair(1.0)),
    (ZCDP(0.5), LaplacePair((1.0,))),
    (RenyiDP(2.0, 1.0), GaussianPair(1.0)),
]


@pytest.mark.parametrize(("guarantee", "pair"), FALSE, ids=str)
def test_what_is_false_is_never_proved(guarantee: PrivacyGuarantee, pair: LawPair) -> None:
    assert verdict(guarantee, pair) is not Verdict.PROVED


@pytest.mark.parametrize(("guarantee", "pair"), TRUE, ids=str)
def test_what_is_true_is_proved(guarantee: PrivacyGuarantee, pair: LawPair) -> None:
    assert verdict(guarantee, pair) is Verdict.PROVED


def test_delta_that_is_exactly_a_rational() -> None:
    """P gives mass 1/4 where Q gives none: δ = 1/4 at any ε where nothing else counts."""
    pair = FinitePair(
        FiniteLaw.from_mass([0.25, 0.75, 0.0]), FiniteLaw.from_mass([0.0, 0.75, 0.25])
    )
    for epsilon in (0.5, 5.0, 700.0):
        assert verdict(ApproxDP(epsilon, 0.25), pair) is Verdict.CONSISTENT
        assert verdict(ApproxDP(epsilon, 0.25 * (1 + PART)), pair) is Verdict.PROVED
        assert verdict(ApproxDP(epsilon, 0.25 * (1 - PART)), pair) is Verdict.REFUTED
    assert verdict(PureDP(1e308), pair) is Verdict.REFUTED
    assert verdict(RenyiDP(2.0, 1e308), pair) is Verdict.REFUTED
    assert verdict(ZCDP(1e308), pair) is Verdict.REFUTED


@given(st.lists(st.floats(0.01, 1.0), min_size=2, max_size=6), st.integers(0, 5))
def test_tables_are_enclosed_with_their_rounding(mass: list[float], turn: int) -> None:
    p = np.array(mass) / sum(mass)
    pair = FinitePair(FiniteLaw.from_mass(p), FiniteLaw.from_mass(np.roll(p, turn)))
    for guarantee, found in (
        (ApproxDP(0.3, 0.1), pair.delta_at(0.3)),
        (PureDP(1.0), max(pair.max_divergence(), 0.0)),
        (RenyiDP(3.0, 1.0), pair.renyi(3.0)),
    ):
        side = enclosed(pair, guarantee)
        assert side is not None
        low, high = ends(side)
        assert low - 1e-13 <= found <= high + 1e-13
        assert high - low < 1e-12 * max(1.0, abs(high))


def test_the_bound_of_rho_is_a_bound() -> None:
    pair = LaplacePair((1.0,))
    truth = pair.rho()
    for claimed in (1.001 * truth, 1.1 * truth, 0.5, 2.0):
        side = enclosed(pair, ZCDP(claimed))
        assert side is not None
        assert truth < ends(side)[1] <= claimed
    beyond = enclosed(pair, ZCDP(0.999 * truth))
    assert beyond is not None
    assert ends(beyond)[1] == math.inf
    with ctx.workprec(64):
        assert rho_bound(lambda _: arb(0), arb(math.inf), 1.0) == math.inf


def test_tables_that_are_not_laws_are_not_proved() -> None:
    first, second = np.array([0.9, 0.1]), np.array([0.5, 0.5])
    for off in (9e-10, 9e-12, 5e-15):
        pair = FinitePair(
            FiniteLaw.from_mass(first * (1 + off)), FiniteLaw.from_mass(second * (1 - off))
        )
        assert verdict(PureDP(math.log(5) + 1e-8), pair) is Verdict.CONSISTENT
        assert verdict(PureDP(math.log(5) - off), pair) is not Verdict.PROVED
    with pytest.raises(ValueError, match="^log_mass must hold masses that sum to 1"):
        FiniteLaw(np.log([0.5, 0.25]), np.zeros(2))
    pruned = FiniteLaw(np.log([0.5, 0.25]), np.zeros(2), slack=0.25)
    assert verdict(ApproxDP(1.0, 0.26), FinitePair(pruned, pruned)) is Verdict.PROVED


def test_what_is_not_enclosed_is_not_proved() -> None:
    wide = FiniteLaw.from_mass(np.full(2**14 + 1, 1 / (2**14 + 1)))
    assert enclosed(FinitePair(wide, wide), PureDP(1.0)) is None
    assert verdict(PureDP(1.0), FinitePair(wide, wide)) is Verdict.CONSISTENT
    for pair in (GaussianPair(1.0), LaplacePair((1.0,))):
        assert enclosed(pair, GaussianDP(1.0)) is None
