"""The comparison's cases, measures and rows."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from support.absences import output_without
from support.comparisons import compare, measure

from dpcp_audit.laws.pools import Classifier, Dataset, classifier_pool, hps
from dpcp_audit.mechanisms.calibrators import calibrators
from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.mechanisms.quantiles import ExponQ
from dpcp_audit.words.guarantees import ApproxDP
from dpcp_ledger.comparison import calibrator_study
from dpcp_ledger.comparison.calibrator_study import (
    Grid,
    method,
    methods,
    released_one_by_one,
)
from dpcp_ledger.comparison.method import (
    FAILURE,
    MEAN_COVERAGE,
    Case,
    SkippedMethod,
    known_name,
    log_score,
    subject,
)
from dpcp_ledger.mechanisms.label_scores import prediction_sets

OWN = tuple(m.key for m in methods() if m.key not in ("diffprivlib", "opendp"))
SMALL = Grid(
    methods=("split", "exponq-full", "histlap", "ldpcp-s-shuffled*"),
    subjects=("uniform", "breast-cancer-gaussian-nb"),
    sizes=(100, 200),
    epsilons=(1.0, 4.0),
    alphas=(0.2,),
    trials=40,
)
POOL = "digits-gaussian-nb"


def case(name="uniform", *, n=200, alpha=0.2, epsilon=4.0) -> Case:
    return Case(subject=subject(name), n=n, alpha=alpha, budget=ApproxDP(epsilon, 1e-6))


def test_set_sizes_are_those_of_prediction_sets() -> None:
    pool = classifier_pool(Dataset.DIGITS, Classifier.GAUSSIAN_NB)
    labelled = subject(POOL).labelled
    thresholds = np.array([-0.1, 0.0, 0.3, 0.999999, 1.0, math.inf])
    expected = [prediction_sets(hps(pool.probabilities), t).sum(axis=1).mean() for t in thresholds]
    np.testing.assert_allclose(labelled.mean_set_size(thresholds), expected, rtol=1e-12)


def test_the_log_score_orders_labels_as_the_hinge_score_does() -> None:
    p = np.array([[1.0, 0.9, 0.5, 1e-3, 1e-40, 1e-299]])
    scores = log_score(p)[0]
    assert (np.diff(scores) > 0).all()
    assert scores[0] == 0
    assert (scores[1], scores[-1]) == pytest.approx(
        (math.log(1 - math.log(0.9)) / math.log(1 + 300 * math.log(10)), 0.9995), rel=1e-3
    )
    assert log_score(np.array([[0.0]]))[0, 0] == 1.0


def test_the_log_score_gives_the_same_sets_without_privacy() -> None:
    plain, log = (
        measure(method("split"), case(name), trials=50, seed=0) for name in (POOL, f"{POOL}:log")
    )
    fresh = np.random.default_rng(0).random(50)
    levels = [subject(name).population for name in (POOL, f"{POOL}:log")]
    sizes = [
        subject(name).labelled.mean_set_size(law.quantile(fresh))
        for name, law in zip((POOL, f"{POOL}:log"), levels, strict=True)
    ]
    spread = fresh < 0.8  # beyond, scores of 1 − p < 2^−53 coincide
    np.testing.assert_allclose(sizes[0][spread], sizes[1][spread])
    assert plain.set_size == pytest.approx(log.set_size, rel=0.05)


@pytest.mark.parametrize("key", OWN)
@pytest.mark.parametrize("name", ["uniform", "breast-cancer-gaussian-nb"])
def test_every_method_runs_on_every_kind_of_subject(key, name) -> None:
    row = measure(method(key), case(name, n=1000), trials=30, seed=1)
    if key.startswith("ldpcp-l") and name == "uniform":
        assert row == SkippedMethod("LDP-CP-L needs labelled data; a law of scores has no labels")
        return
    assert not isinstance(row, SkippedMethod)
    assert 0 <= row.failure_rate <= 1
    assert row.trials == 30
    assert (row.set_size is None) == (name == "uniform")
    assert (row.epsilon, row.delta) == ((math.inf, 1.0) if key == "split" else (4.0, 1e-6))


def test_a_library_that_raises_is_left_out_and_an_own_method_is_not(monkeypatch) -> None:
    def fails(scores, rng) -> float:
        raise RuntimeError("Can't find a candidate to return. More: nan")

    raising = replace(
        method("split"), build=lambda case: released_one_by_one(case, fails, parameter="")
    )
    with pytest.raises(RuntimeError, match="candidate"):
        measure(raising, case(), trials=40, seed=0)
    monkeypatch.setattr(calibrator_study, "THIRD_PARTY", (raising,))
    found = measure(raising, case(), trials=40, seed=0)
    assert isinstance(found, SkippedMethod)
    assert "raises an error on these scores: Can't find a candidate to return" in str(found)


def test_measures_are_those_of_the_drawn_thresholds() -> None:
    drawn = np.array([0.7, 0.8, 0.9, 1.0])
    calibrated = method("split").build(case())
    fixed = replace(calibrated, draw=lambda trials, rng: drawn[:trials])
    chosen = replace(method("split"), build=lambda _: fixed)
    row = measure(chosen, case(alpha=0.15), trials=4, seed=0)
    assert row.coverage == pytest.approx(0.85)
    assert row.coverage_error == pytest.approx(np.std(drawn, ddof=1) / 2)
    assert row.failure_rate == 0.5
    assert row.distance == pytest.approx(0.1)
    assert row.covers
    assert not replace(row, coverage=0.65).covers


def test_where_the_correction_eats_alpha_starred_pcoqs_is_left_out() -> None:
    skipped = method("pcoqs-claimed*").build(case(n=100, epsilon=0.5))
    assert isinstance(skipped, SkippedMethod)
    assert "α* = 0" in skipped.reason


def test_other_libraries_are_left_out_with_a_line_where_they_are_missing(tmp_path) -> None:
    names = ("diffprivlib", "opendp")
    program = f"""
from {method.__module__} import method
for name in {names}:
    print(method(name).build(None).reason)"""
    assert output_without(*names, program=program, folder=tmp_path).splitlines() == [
        f"{name} is not installed; install it with: pip install {name}" for name in names
    ]


@pytest.mark.parametrize("key", ["diffprivlib", "opendp"])
def test_other_libraries_calibrate_where_they_are_installed(key) -> None:
    pytest.importorskip(key)
    row = measure(method(key), case(n=2000), trials=20, seed=0)
    assert row.coverage == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize("starred", [False, True])
def test_the_calibrators_of_dp_calibrate_are_compared(starred: bool) -> None:
    """Each that ``calibrators`` returns runs under a key of its own, with the coverage proved."""
    asked = case(n=5_000)
    found = calibrators(
        asked.budget,
        n=asked.n,
        alpha=asked.alpha,
        confidence=1 - FAILURE if starred else 1.0,
    )
    keys = {PCOQS: "pcoqs-proved", ExponQ: "exponq-proved"}
    assert {type(each.mechanism) for each in found} == set(keys)
    for each in found:
        key = keys[type(each.mechanism)] + "*" * starred
        drawn = method(key).build(asked).draw(20, np.random.default_rng(3))
        own = each.trials(asked.subject.population, trials=20, rng=np.random.default_rng(3))
        np.testing.assert_array_equal(drawn, own)
        assert (method(key).promise == MEAN_COVERAGE) is not starred


def test_rows_do_not_depend_on_what_runs_beside() -> None:
    alone = compare(replace(SMALL, methods=("histlap",), sizes=(200,)))
    assert set(alone.rows) <= set(compare(SMALL).rows)


def test_another_seed_gives_other_rows() -> None:
    grid = replace(SMALL, methods=("histlap",), sizes=(100,))
    assert compare(grid).rows != compare(replace(grid, seed=1)).rows


def test_rows_stand_in_the_grids_order_and_the_reference_once_a_case() -> None:
    result = compare(SMALL)
    assert len(result.rows) == 2 * 2 * (2 * 3 + 1)
    assert [row.subject for row in result.rows] == sorted(
        (row.subject for row in result.rows), key=SMALL.subjects.index
    )


def test_a_users_pool_is_a_subject(tmp_path) -> None:
    path = tmp_path / "mine.npz"
    np.savez(path, probabilities=np.array([[0.7, 0.3], [0.2, 0.8]]), labels=np.array([0, 1]))
    grid = replace(SMALL, methods=("split",), subjects=(str(path), f"{path}:log"), trials=5)
    assert {row.subject for row in compare(grid).rows} == {"mine", "mine:log"}


@pytest.mark.parametrize(
    ("name", "message"),
    [("iris", "name must be one of uniform"), ("absent.npz", "readable .npz")],
)
def test_subjects_that_there_are_not_are_refused(name, message) -> None:
    with pytest.raises(ValueError, match=message):
        known_name(name)


@pytest.mark.parametrize("name", ["uniform", POOL, f"{POOL}:log"])
def test_a_subject_is_known_by_the_name_that_its_rows_have(name) -> None:
    assert known_name(name) == subject(name).name
