"""LDP-CP's sentences on widths, shuffled features and its table: recounted by other means."""

from __future__ import annotations

import copy
import math
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcp_audit.laws.pools import ProbabilityPool
from dpcp_audit.mechanisms import local_labels as cell_counts
from dpcp_audit.mechanisms.local_scores import LDPCPScores
from dpcp_audit.mechanisms.randomized_response import (
    BinaryRandomizedResponse,
    KaryRandomizedResponse,
    debiased_cdf,
)
from dpcp_audit.words.results import Verdict
from dpcp_ledger.ldpcp import ldpcp_scores, shuffling, table_rows, widths
from dpcp_ledger.ldpcp.reports import _channel_difference, estimate_bias, noise_model_error
from dpcp_ledger.ldpcp.widths import Widths
from dpcp_ledger.reproduce import experiments


@pytest.mark.parametrize(("features", "gains"), [((0, 1, 2), False), ((0, 0, 0), True)])
def test_shuffled_reports_with_distinct_features_hide_nothing(
    features: tuple[int, ...], gains: bool
) -> None:
    """δ(ε/√3) of three shuffled (x, ỹ), over all orders and answers, against one report's."""
    response = KaryRandomizedResponse(1.0, 2)
    channel = np.exp([law.log_mass for law in response.laws()])
    effective = 1.0 / math.sqrt(3)
    laws = []
    for label in (0, 1):
        mass: dict[tuple[tuple[int, int], ...], float] = defaultdict(float)
        for answers in product((0, 1), repeat=3):
            chance = math.prod(
                channel[true, given] for true, given in zip((label, 0, 0), answers, strict=True)
            )
            for order in permutations(zip(features, answers, strict=True)):
                mass[order] += chance / 6
        laws.append(mass)
    delta = sum(max(0.0, laws[0][o] - math.exp(effective) * laws[1][o]) for o in laws[0])
    alone = shuffling._own_report(1.0, 2).delta_at(effective)
    assert bool(delta < 0.99 * alone) is gains
    if not gains:
        assert delta == pytest.approx(alone)


def test_widths_are_those_of_their_formulas() -> None:
    widths = Widths(rounds=7, delta=0.1)
    x = math.exp(8.0)
    for k, expected in ((100, 2.87), (1000, 1.83)):
        by_hand = (
            (x + 1)
            / (x - 1)
            * math.sqrt(7 * math.log(140))
            / (math.sqrt(math.log(40)) * (2 * k - 1 + x) / (x - 1))
        )
        assert widths.ratio(n=10**5, k=k, epsilon=8.0) == pytest.approx(by_hand)
        assert by_hand == pytest.approx(expected, abs=5e-3)


@pytest.mark.known_bad
def test_sentences_that_hold_are_not_refuted() -> None:
    """At T = 25 Δ_S > Δ_L throughout; at ε = 2 and 4 S does dominate where k is large."""
    wide = Widths(rounds=25, delta=0.1)
    epsilons = tuple(map(float, range(1, 9)))
    assert widths.scores_wider(wide, epsilons=epsilons).verdict is not Verdict.REFUTED
    narrow = Widths(rounds=24, delta=0.1)
    assert widths.scores_wider(narrow, epsilons=epsilons).verdict is Verdict.REFUTED
    found = widths.many_labels(Widths(rounds=7, delta=0.1), labels=(100, 1000), epsilons=(2.0, 4.0))
    assert found.verdict is not Verdict.REFUTED
    small = widths.negligible_widths(wide, epsilon=3.0, share=0.5, alpha=0.1)
    assert small.verdict is not Verdict.REFUTED


def test_the_plain_quantile_is_a_rank_too_low() -> None:
    """The coverage of the 9th smallest of 10 uniform scores, by the mean of its law."""
    found = ldpcp_scores.plain_quantile(n=10, alpha=0.1)
    assert (found.witness["rank"], found.witness["conformal_rank"]) == (9, 10)
    scores = np.sort(np.random.default_rng(0).random((40_000, 10)), axis=1)
    assert 1 - found.value == pytest.approx(scores[:, 8].mean(), abs=5e-3)


def test_interpolation_covers_what_numpy_says() -> None:
    scores = np.random.default_rng(1).random((40_000, 10))
    mean = np.quantile(scores, 0.9, axis=1).mean()
    assert ldpcp_scores._interpolated(10, Fraction(9, 10)) == pytest.approx(mean, abs=5e-3)


@pytest.mark.known_bad
def test_two_calibrations_that_differ_are_not_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    others = {
        name: table_rows.equal_rows(name, ("LDP-CP-S", "LDP-CP-S*")).value
        for name in widths.datasets()
    }
    assert others == {name: float(name == "TissueMNIST") for name in others}
    twin = copy.deepcopy(experiments.published_table())
    twin["TissueMNIST"]["rows"]["LDP-CP-S"] = "5.94±0.06 93.52±0.45 5.61±0.09 90.32±0.91"
    monkeypatch.setattr(experiments, "published_table", lambda: twin)
    found = table_rows.equal_rows("TissueMNIST", ("LDP-CP-S", "LDP-CP-S*"))
    assert found.verdict is not Verdict.REFUTED


SEARCH = LDPCPScores(alpha=0.1, epsilon=2.0, rounds=10, window_width=0.05)
POOL = ProbabilityPool(
    name="three",
    probabilities=np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.3, 0.4, 0.3]]),
    labels=np.array([0, 2, 0]),
)


@given(st.integers(2, 50), st.fractions(Fraction(11, 10), 100))
def test_the_channel_is_the_mixture_at_rational_x(k: int, x: Fraction) -> None:
    """The identity behind Equation (2), at values of e^ε where everything is rational."""
    kept, moved, beta = x / (x + k - 1), 1 / (x + k - 1), k / (x + k - 1)
    assert kept == (1 - beta) + beta / k
    assert moved == beta / k
    assert _channel_difference(k) == 0


def test_a_small_bias_of_the_code_is_not_proved_away(monkeypatch: pytest.MonkeyPatch) -> None:
    assert estimate_bias(SEARCH, n=1000).verdict is Verdict.PROVED
    debias = BinaryRandomizedResponse.debias
    monkeypatch.setattr(
        BinaryRandomizedResponse, "debias", lambda self, mean: debias(self, mean) + 1e-7
    )
    assert estimate_bias(SEARCH, n=1000).verdict is Verdict.REFUTED


def test_a_bias_that_rounding_hides_is_not_proved_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sum of 10¹³ reports that is divided by one more: floating point takes it for none."""
    monkeypatch.setattr(LDPCPScores, "divisor", lambda _, asked, __: asked + 1)
    found = estimate_bias(replace(SEARCH, rounds=2), n=2 * 10**13)
    assert found.evidence.lower > 0
    assert found.verdict is Verdict.REFUTED


def test_a_wrong_mixture_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    compute = partial(noise_model_error, lambda: POOL, KaryRandomizedResponse(2.0, 3))
    found = compute()
    assert found.verdict is Verdict.PROVED
    assert found.proof is not None
    assert found.proof.parameters == {"epsilon": 2.0, "k": 3, "population": "three"}
    monkeypatch.setattr(
        cell_counts,
        "debiased_cdf",
        lambda noisy, uniform, *, beta: debiased_cdf(noisy, uniform, beta=beta * 1.001),
    )
    assert compute().verdict is Verdict.REFUTED
