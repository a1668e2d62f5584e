"""Coverage for every law: what is proved is what leaving one score out shows on any scores."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from proving import correct_functions_coverage as functions

import dpcp_audit as dp
from dpcp_audit.proving import coverage_reader as reading
from dpcp_audit.proving.coverage import CoverageSetting, bounds_of, prove_coverage
from dpcp_audit.proving.distances import Refusal

CALLS, SPREAD = 4_000, 6
"""A mean over calls is off by 6 standard errors with a chance below 1e-8."""


def left_out(function, scores) -> Fraction:
    """Return the share of scores that the threshold of all others covers."""
    covered = [each <= function(np.delete(scores, i)) for i, each in enumerate(scores)]
    return Fraction(sum(map(bool, covered)), len(scores))


def named(function) -> str:
    return function.__name__


@pytest.mark.parametrize("function", functions.RIGHT, ids=named)
@pytest.mark.parametrize("n", [9, 20, 31])
def test_what_is_proved_is_the_coverage_of_scores_without_ties(function, n) -> None:
    """Leaving one out gives the mean coverage of exchangeable scores, given their values."""
    found = bounds_of(function, CoverageSetting(n=n, ties=False), {})
    scores = np.random.default_rng(n).random(n + 1)
    low, high = found.of_all_laws
    if function is not functions.of_one_half:  # whose half depends on who is left out
        assert low <= left_out(function, scores) <= high
    assert function in functions.BETWEEN or low == high
    assert found.uniform[0] <= found.uniform[1]


@settings(max_examples=60, deadline=None)
@given(
    function=st.sampled_from([f for f in functions.RIGHT if f is not functions.of_one_half]),
    scores=st.lists(st.sampled_from([0.0, 0.2, 0.5, 1.0]) | st.floats(0, 1), min_size=10,
                    max_size=25),
)  # fmt: skip
def test_tied_scores_cover_no_less_than_is_proved(function, scores) -> None:
    n = len(scores) - 1
    low, high = bounds_of(function, CoverageSetting(n=n), {}).of_all_laws
    assert low <= left_out(function, np.array(scores)) <= high == 1


METHODS = (
    *("inverted_cdf", "averaged_inverted_cdf", "closest_observation", "weibull", "hazen"),
    *("interpolated_inverted_cdf", "linear", "median_unbiased", "lower", "higher", "nearest"),
)


def quantile(scores, *, q, method, more) -> float:
    padded = np.append(scores, np.inf) if more else scores
    return np.quantile(padded, q, method=method)


@settings(max_examples=150, deadline=None)
@given(
    n=st.integers(2, 20),
    q=st.floats(0, 1) | st.fractions(0, 1, max_denominator=21).map(float),
    method=st.sampled_from(METHODS),
    more=st.booleans(),
    power=st.sampled_from([1, 40]),
)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_each_quantile_of_numpy_covers_as_is_proved(n, q, method, more, power) -> None:
    options = {"q": q, "method": method, "more": more}
    try:
        low, high = bounds_of(quantile, CoverageSetting(n=n, ties=False), options).of_all_laws
    except Refusal:
        low, high = Fraction(0), Fraction(int(more))  # between a score and infinity alone
    scores = np.random.default_rng(n).random(n + 1) ** power
    assert high > 0
    assert low <= left_out(lambda x: quantile(x, **options), scores) <= high


@pytest.mark.statistical(false_alarm=1e-8)
@pytest.mark.parametrize("function", functions.DRAWN, ids=named)
def test_the_sum_over_drawn_ranks_is_the_mean_coverage(function) -> None:
    n = 12
    found = bounds_of(function, CoverageSetting(n=n, ties=False), {})
    low, high = found.of_all_laws
    assert high - low < 1e-9
    rng = np.random.default_rng(3)
    covered = np.array([function(rng.random(n), rng=rng) for _ in range(CALLS)])
    assert abs(covered.mean() - float(low)) < SPREAD * covered.std() / CALLS**0.5


def test_a_smoothed_rank_covers_exactly_what_is_claimed() -> None:
    assert dp.prove(functions.smoothed, dp.Coverage(0.9), n=500).proved
    assert not dp.prove(functions.smoothed, dp.Coverage(0.9001), n=500).proved


@pytest.mark.parametrize("n", [19, 20, 100, 500])
def test_a_split_calibrator_and_its_twin_are_told_apart(n) -> None:
    right = dp.prove(functions.by_sorting, dp.Coverage(0.9), n=n)
    assert right.proved
    twin = dp.prove(functions.off_by_one, dp.Coverage(0.9), n=n)
    assert twin.proved is (n == 19)  # ceil(0.9·19) is ceil(0.9·20)
    if n > 19:
        assert twin.hint == f"rank {-(-9 * (n + 1) // 10)} of {n} would prove it"


@pytest.mark.known_bad
@pytest.mark.parametrize("function", functions.REFUTED, ids=named)
def test_a_rank_that_is_too_low_is_refuted_without_a_draw(function) -> None:
    found = dp.audit(function, dp.Coverage(0.9), n=20)[0]
    assert str(found.verdict) == "REFUTED"
    assert found.estimate.upper < 0.9
    exact = bounds_of(function, CoverageSetting(n=20), {}).uniform
    assert found.estimate.value == pytest.approx(float(exact[0]))


@pytest.mark.parametrize("function", [functions.by_sorting, functions.smoothed], ids=named)
def test_a_check_of_a_right_calibrator_is_proved(function) -> None:
    found = dp.audit(function, dp.Coverage(0.9), n=(20, 50))[0]
    assert str(found.verdict) == "PROVED"
    assert found.estimate.lower >= 0.9
    assert found.estimate.detail == "of the worst law"


@pytest.mark.known_bad
@pytest.mark.parametrize("function", functions.WRONG, ids=named)
def test_what_is_no_order_statistic_is_not_proved(function) -> None:
    assert not dp.prove(function, dp.Coverage(0.01), n=20).proved


@pytest.mark.known_bad
def test_a_number_below_the_range_covers_nothing() -> None:
    assert not dp.prove(functions.returns_the_rank, dp.Coverage(0.01), n=20, bounds=(0, 21)).proved
    assert dp.prove(functions.returns_the_rank, dp.Coverage(0.99), n=20).proved


@pytest.mark.known_bad
def test_a_changed_function_of_numpy_is_not_known(monkeypatch) -> None:
    monkeypatch.setattr(np, "sort", lambda x: x * 0)
    assert not dp.prove(functions.by_sorting, dp.Coverage(0.9), n=20).proved


def test_single_calibrations_have_the_beta_law() -> None:
    """P(Beta(19, 2) < 0.8) = 0.0692 (Vovk 2012, Proposition 2a)."""
    assert dp.prove(functions.by_sorting, dp.Coverage(0.8, confidence=0.93), n=20).proved
    assert not dp.prove(functions.by_sorting, dp.Coverage(0.8, confidence=0.931), n=20).proved


def of_a_slice(scores, *, rank=44) -> float:
    return np.sort(scores[:50])[rank - 1]


def of_all(scores, *, rank=91) -> float:
    return np.sort(scores)[rank - 1]


@pytest.mark.parametrize(
    ("function", "claim", "hint"),
    [(of_a_slice, dp.Coverage(0.9), "rank 46 of 50 would prove it"),
     (of_all, dp.Coverage(0.9, confidence=0.9), "rank 94 of 99 would prove it"),
     (of_a_slice, dp.Coverage(0.9, confidence=0.9), "rank 49 of 50 would prove it")],
)  # fmt: skip
def test_the_rank_that_a_hint_names_is_the_least_that_is_proved(function, claim, hint) -> None:
    assert dp.prove(function, claim, n=99).hint == hint
    rank = int(hint.split()[1])
    assert dp.prove(function, claim, n=99, options={"rank": rank}).proved
    assert not dp.prove(function, claim, n=99, options={"rank": rank - 1}).proved


def test_a_hint_of_open_sets_names_ties_where_these_alone_are_missing() -> None:
    tied = CoverageSetting(n=20, open_sets=True)
    proof = prove_coverage(functions.by_sorting, dp.Coverage(0.9), tied, {})
    assert proof.hint == "of scores without ties it is proved: --no-ties"
    apart = CoverageSetting(n=20, open_sets=True, ties=False)
    assert prove_coverage(functions.by_sorting, dp.Coverage(0.9), apart, {}).proved
    assert not prove_coverage(functions.off_by_one, dp.Coverage(0.9), tied, {}).hint


def test_sets_without_their_end_cover_nothing_of_tied_scores() -> None:
    tied = CoverageSetting(n=20, open_sets=True)
    assert bounds_of(functions.by_sorting, tied, {}).of_all_laws[0] == 0
    apart = CoverageSetting(n=20, open_sets=True, ties=False)
    assert bounds_of(functions.by_sorting, apart, {}).of_all_laws[0] == Fraction(19, 21)


def test_a_coverage_from_above_is_not_decided() -> None:
    proof = dp.prove(functions.by_sorting, dp.Coverage(0.9, at_most=0.95), n=20)
    assert "upper bound" in proof.reason


@pytest.mark.known_bad
@pytest.mark.parametrize("planted", ["sorted", "rank"])
def test_a_planted_error_in_the_reading_is_noticed(planted, monkeypatch) -> None:
    """Of a rank that is one too high, leaving one out shows less than is proved."""
    if planted == "sorted":
        made = reading.CoverageReader.ranked
        monkeypatch.setattr(
            reading.CoverageReader, "ranked",
            lambda self, data, low, high, weight: made(self, data, low + 1, high + 1, weight),
        )  # fmt: skip
    else:
        monkeypatch.setattr(reading, "_last", lambda holds, size: size - 1)
    scores = np.random.default_rng(1).random(21)
    shown = []
    for function in functions.RIGHT:
        try:
            low, _ = bounds_of(function, CoverageSetting(n=20), {}).of_all_laws
        except Refusal:
            continue
        shown.append(low > left_out(function, scores))
    assert any(shown)


def test_claims_of_coverage_stand_alone() -> None:
    with pytest.raises(ValueError, match="alone"):
        dp.prove(functions.by_sorting, dp.Coverage(0.9), dp.PureDP(1.0))


@pytest.mark.parametrize(
    "claim", [dp.LocalDP(1.0), dp.Coverage(0.9, per_class=True)], ids=["local", "each class"]
)
def test_what_is_not_read_is_said(claim) -> None:
    if isinstance(claim, dp.LocalDP):
        with pytest.raises(ValueError, match=r"one user's report(.|\n)*domain=K"):
            dp.prove(functions.by_sorting, claim)
    else:
        assert "each class" in dp.prove(functions.by_sorting, claim, n=20).reason


def test_scores_whose_differences_may_be_infinite_are_refused() -> None:
    def median(scores) -> float:
        return np.median(scores)

    assert dp.prove(median, dp.Coverage(0.45), n=20).proved
    wide = dp.prove(median, dp.Coverage(0.45), n=20, bounds=(-1.7e308, 1.7e308))
    assert "may be infinite" in wide.reason
