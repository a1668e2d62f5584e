"""The abstract of P-COQS against its tables, with the contradicting rows and without."""

from __future__ import annotations

import copy
from fractions import Fraction

import numpy as np
import pytest

from dpcp_audit.mechanisms.pcoqs import PCOQS
from dpcp_audit.words.checks import Context
from dpcp_audit.words.results import Outcome, Verdict
from dpcp_ledger.paper import mean_of_runs, share_of_runs
from dpcp_ledger.pcoqs import algorithm, printed_settings, published_tables
from dpcp_ledger.reproduce import pcoqs_experiments
from dpcp_ledger.reproduce.simulation import Scored


@pytest.mark.known_bad
def test_settings_without_the_contradicting_rows_are_not_refuted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert len(printed_settings.printed_settings()) == 68
    twin = copy.deepcopy(pcoqs_experiments.published())
    del twin["11"]["rows"]["1"], twin["6"]["rows"]["100"], twin["8"]["rows"]["100"]
    monkeypatch.setattr(pcoqs_experiments, "published", lambda: twin)
    assert printed_settings.smaller_everywhere().verdict is not Verdict.REFUTED
    assert printed_settings.targeted_everywhere(short=0.02).verdict is not Verdict.REFUTED


@pytest.mark.known_bad
def test_a_search_that_took_a_tenth_of_a_second_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    found = printed_settings.faster_in_print()
    assert found.value == pytest.approx(50 * 0.00765 / 0.75215)
    assert found.verdict is Verdict.PROVED
    twin = copy.deepcopy(pcoqs_experiments.published())
    twin["4"]["seconds"]["plain"] = "0.7522±0.0075 0.0002±0.0001 0.0760±0.0001"
    monkeypatch.setattr(pcoqs_experiments, "published", lambda: twin)
    assert printed_settings.faster_in_print().verdict is Verdict.REFUTED


@pytest.mark.known_bad
def test_a_method_that_moves_as_much_as_exponq_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Had P-COQS ExponQ's coverages, it would be as sensitive, and further off than HistLap."""
    assert printed_settings.less_sensitive().value == pytest.approx(0.0261 / 0.0966)
    twin = copy.deepcopy(pcoqs_experiments.published())
    for row, line in twin["1"]["rows"].items():
        cells = line.split()
        shifted = f"{2 * float(cells[0].partition('±')[0]) - 1:.4f}±0.01"
        twin["1"]["rows"][row] = " ".join([*cells[:2], shifted, *cells[3:]])
    monkeypatch.setattr(pcoqs_experiments, "published", lambda: twin)
    assert printed_settings.less_sensitive().verdict is Verdict.REFUTED
    assert printed_settings.nearer_at_small_budgets().verdict is Verdict.REFUTED


@pytest.fixture(autouse=True)
def few_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few trials are enough to refute: what is shown does not hang on precision."""
    monkeypatch.setattr(published_tables, "TRIALS", 12)
    trials = published_tables.trials_of(12)
    monkeypatch.setattr(published_tables, "trials_of", lambda: trials)


def outcome(id_: str) -> Outcome:
    (row,) = [row for row in published_tables.paper.rows if row.claim.id == id_]
    return row.check(Context(seed=0, name=id_, significance=1e-6))


@pytest.mark.known_bad
@pytest.mark.parametrize(
    ("id_", "table"),
    [("pcoqs.table-4[budget=stated]", "4"), ("pcoqs.table-10[model=naive-bayes]", "10")],
)
def test_sound_tables_are_not_refuted(
    id_: str, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Had Table 4 the numbers of Tables 1 and 12, and Table 10 numbers of its own."""
    printed = {
        key: {"rows": dict(entry["rows"])} for key, entry in pcoqs_experiments.published().items()
    }
    if table == "4":
        for which, other in (("plain", "12"), ("private", "1")):
            cells = printed[other]["rows"]["1.0"].split()[2::3]
            printed["4"]["rows"][f"{which} p-coqs"] = " ".join([*cells, "0.8±0.1"])
    else:
        for label in printed["10"]["rows"]:
            printed["10"]["rows"][label] = "0.9±0.1 1.2±0.1 0.8±0.1 0.82±0.1"
    monkeypatch.setattr(pcoqs_experiments, "published", lambda: printed)
    assert outcome(id_).verdict is not Verdict.REFUTED


@pytest.mark.known_bad
def test_clipping_equal_counts_gains_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = (np.arange(2_400) + 0.5) / 2_400
    even = published_tables._Trial(
        Scored(calibration=scores, true=scores, lowest=scores, second=scores, accuracy=1.0),
        np.zeros(34),
    )
    monkeypatch.setattr(published_tables, "trials_of", lambda: (even,) * 12)
    found = outcome("histlap.tables[bias=none]")
    assert found.verdict is not Verdict.REFUTED
    assert found.evidence.value == 0


@pytest.mark.known_bad
def test_a_spread_that_a_variance_can_be_is_not_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A coverage that is 0 or 1 has the variance m(1−m), the largest; no rounding refutes it."""
    row = " ".join(["0.9000±0.0901", *["0.5±0.1"] * 8])
    monkeypatch.setattr(pcoqs_experiments, "published", lambda: {"2": {"rows": {"100": row}}})
    found = outcome("pcoqs.tables[spread=variance]")
    assert found.verdict is not Verdict.REFUTED
    assert found.evidence.value == pytest.approx(1, abs=2e-3)


@pytest.mark.statistical(false_alarm=3e-8)
def test_limits_over_runs_lie_below_the_mean_and_about_the_share() -> None:
    values = np.random.default_rng(0).beta(1, 9, size=60)
    mean = mean_of_runs(5 * values, most=5.0, significance=1e-8)
    assert 0 < mean["lower"] < 0.5 < mean["upper"]
    assert mean["confidence"] == 1 - 1e-8
    share = share_of_runs(int((values > 0.1).sum()), 60, significance=1e-8)
    assert share["lower"] < 0.9**9 < share["upper"]


MECHANISM = PCOQS(alpha=0.1, rho=0.5)


@pytest.mark.parametrize("n", [1, 7, 40])
def test_the_counted_search_is_the_mechanisms(n: int) -> None:
    """Without noise both end at the same threshold, to what doubles round."""
    scores = np.sort(np.random.default_rng(n).random(n))
    done = algorithm.printed_search(
        [Fraction(s) for s in scores], rank=MECHANISM.rank(n), resolution=Fraction(1e-10)
    )
    noise = np.zeros((MECHANISM.rounds, 1))
    (released,) = MECHANISM.search(scores, MECHANISM.rank(n), noise)
    assert float(done.result) == pytest.approx(float(released), abs=1e-12)
    assert (done.rounds, done.comparisons) == (34, 34 * n)


def test_the_mechanism_itself_passes_the_end_of_the_interval() -> None:
    noise = np.full((34, 1), -1e9)
    (released,) = MECHANISM.search(np.array([0.5]), 1, noise)
    expected = algorithm.beyond_the_end(1e-10).value
    assert (float(released) - 1) / 1e-10 == pytest.approx(expected, rel=1e-4)
