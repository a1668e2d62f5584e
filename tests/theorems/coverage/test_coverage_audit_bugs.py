"""Calibrators with planted bugs are refuted within a budget, and their correct twins are not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.calibrators import (
    dropping,
    largest_below,
    of_rows,
    randomised,
    rounded_down,
    rounded_up,
    score_where_right,
    shifted_label_score,
    split,
    top_score,
    true_score,
    without_correction,
)
from support.piecewise_laws import grid_points, piecewise_laws
from support.samplers import context

from dpcp_audit.laws.populations import Pool
from dpcp_audit.mechanisms.local_scores import LDPCPScores, OnMiss
from dpcp_audit.targets.kinds import Kind
from dpcp_audit.theorems.calibration_sources import LabelledSource, ScoreSource
from dpcp_audit.theorems.coverage_audit import CoverageAudit
from dpcp_audit.theorems.row_laws import LawCatalogue
from dpcp_audit.words.guarantees import Coverage
from dpcp_audit.words.results import Verdict
from dpcp_ledger.mechanisms.histlap import HistLap
from dpcp_ledger.mechanisms.label_scores import aps_as_printed

SIGNIFICANCE = 1e-7
SYNTHETIC = LawCatalogue(classifiers=False)
SMOOTH = LawCatalogue(ties=False)


def verdict(calibrate, *, n: int = 50, draws: int, seed: int = 0, **changes: object) -> Verdict:
    settings = {"kind": Kind.QUANTILE, "guarantee": Coverage(at_least=0.9), "laws": SYNTHETIC}
    check = CoverageAudit(calibrate=calibrate, n=n, draws=draws, **(settings | changes))
    return check(context(seed, significance=SIGNIFICANCE)).verdict


BUGS = {
    "rank off by one": (split(shift=-1), {"draws": 8000}),
    "rank off by one, n = 500": (split(shift=-1), {"draws": 20_000, "n": 500}),
    "no finite-sample correction": (without_correction, {"draws": 8000}),
    "strictly below": (largest_below, {"draws": 2000}),
    "rounded to two decimals": (split(change=rounded_down), {"draws": 2000}),
    "clipped at 0.95": (split(change=lambda q: min(q, 0.95)), {"draws": 2000}),
    "clipped to the open interval": (split(change=lambda q: min(q, 1 - 1e-12)), {"draws": 2000}),
    "bins, on atoms": (HistLap(alpha=0.1, epsilon=1.0).sample, {"draws": 2000}),
    "bins, without atoms": (
        HistLap(alpha=0.1, epsilon=1.0).sample,
        {"draws": 4000, "laws": SMOOTH},
    ),
    "scores lost": (dropping(0.55, 0.6), {"draws": 60_000}),
}
TWINS = {
    "right rank": (split(), {}),
    "right rank without ties": (split(), {"laws": SMOOTH}),
    "rounded up": (split(change=rounded_up), {}),
    "randomised": (randomised, {}),
    "the mean is the level itself": (split(), {"n": 9}),
    "more is claimed to be infinite": (split(), {"n": 8}),
}
ROW_BUGS = {
    "another label's score": shifted_label_score,
    "the largest probability": top_score,
    "only where the classifier is right": score_where_right,
    "the first class's": lambda probabilities, labels: 1 - probabilities[:, 0],
}


@pytest.mark.known_bad
@pytest.mark.parametrize("name", BUGS)
def test_a_bug_is_refuted(name) -> None:
    calibrate, changes = BUGS[name]
    assert verdict(calibrate, **changes) is Verdict.REFUTED


@pytest.mark.known_bad
@pytest.mark.parametrize("name", TWINS)
@pytest.mark.statistical(false_alarm=1e-7)
def test_a_correct_twin_is_not(name) -> None:
    """False alarm below 1e-7: the significance of the check."""
    calibrate, changes = TWINS[name]
    assert verdict(calibrate, draws=4000, **changes) is Verdict.CONSISTENT


@pytest.mark.known_bad
@pytest.mark.parametrize("name", ROW_BUGS)
def test_a_bug_of_a_calibrator_is_refuted(name) -> None:
    calibrate = of_rows(ROW_BUGS[name])
    assert verdict(calibrate, kind=Kind.CALIBRATOR, draws=2000) is Verdict.REFUTED


@pytest.mark.known_bad
@pytest.mark.statistical(false_alarm=1e-7)
def test_a_correct_calibrator_is_not() -> None:
    """False alarm below 1e-7: the significance of the check."""
    calibrate = of_rows(true_score)
    assert verdict(calibrate, kind=Kind.CALIBRATOR, draws=3000) is Verdict.CONSISTENT


@pytest.mark.known_bad
@pytest.mark.statistical(false_alarm=2e-7)
def test_a_miss_of_the_window_is_refuted_and_its_correction_is_not() -> None:
    """False alarm below 1e-7, the significance of the check, and as seldom a bug is missed."""
    claim = Coverage(at_least=0.8, confidence=0.9)
    printed, corrected = (
        LDPCPScores(alpha=0.1, rounds=7, window_width=0.05, epsilon=4.0, on_miss=on_miss).sample
        for on_miss in (OnMiss.LAST_MIDPOINT, OnMiss.UPPER_END)
    )
    settings = {"guarantee": claim, "n": 2500, "draws": 1500}
    assert verdict(printed, **settings) is Verdict.REFUTED
    assert verdict(corrected, **settings) is Verdict.CONSISTENT


@pytest.mark.known_bad
def test_scores_beyond_the_range_that_is_searched_are_refuted() -> None:
    """APS as printed reaches 2; a search on [0, 1] ends at 1, below most scores."""

    def searched_on_unit(scores, size, /, *, rng) -> np.ndarray:
        inside = np.append(np.minimum(scores, 1.0), 1.0)
        return split()(inside, size, rng=rng)

    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.full(10, 0.5), size=400)
    printed = aps_as_printed(rows, u=rng.random(400)).max(axis=1)
    pool = LawCatalogue(classifiers=False, own=(Pool(printed, "aps-as-printed"),))
    settings = {"bounds": (0.0, 2.0), "draws": 2000, "laws": pool}
    assert verdict(searched_on_unit, **settings) is Verdict.REFUTED
    assert verdict(split(), **settings) is Verdict.CONSISTENT


@pytest.mark.known_bad
def test_the_search_matters(monkeypatch) -> None:
    """Scores lost where no law of the catalogue has its quantile go unseen without it."""
    bad = dropping(0.72, 0.78)
    assert verdict(bad, draws=30_000, laws=SMOOTH) is Verdict.REFUTED
    monkeypatch.setattr("dpcp_audit.theorems.worst_law._MOVES", 0)
    assert verdict(bad, draws=30_000, laws=SMOOTH) is Verdict.CONSISTENT


ends = st.floats(-1e3, 1e3, allow_subnormal=False)


@given(law=piecewise_laws(points=grid_points), low=ends, high=ends, seed=st.integers(0, 99))
def test_thresholds_at_drawn_scores_cover_them(law, low, high, seed) -> None:
    """F(s) and F(s−) of drawn scores enclose their empirical ranks, whatever the rounding."""
    assume(high - low > 1e-3)
    source = ScoreSource(law=law, bounds=(low, high))
    (scores,) = source.draw(400, 1, rng=np.random.default_rng(seed))
    assert scores.min() >= low
    assert scores.max() <= high
    values, counts = np.unique(scores, return_counts=True)
    mass = source.coverage(values) - source.coverage(values, strict=True)
    heavy = counts > 20  # an atom
    assert (mass[heavy] > 0).all()
    upto = np.cumsum(counts) / 400
    assert np.abs(source.coverage(values) - upto).max() < 0.2


@given(law=piecewise_laws(), classes=st.integers(2, 12))
def test_rows_cover_as_the_law_does(law, classes) -> None:
    """1 − (1 − s) differs from s by a rounding, and no atom is lost by it."""
    source = LabelledSource(law=law, classes=classes)
    for place, _ in law.atoms:
        computed = np.array([1 - (1 - place)])
        assert source.coverage(computed)[0] >= law.cdf(np.array([place]))[0] - 1e-12
        assert source.coverage(computed, strict=True)[0] <= law.cdf_left(computed)[0] + 1e-12
