"""The rows on P-COQS's tables: what refutes them, and that they could have held."""

from __future__ import annotations

import numpy as np
import pytest

from dpcp_audit.words.checks import Context
from dpcp_audit.words.results import Outcome, Verdict
from dpcp_ledger.paper import mean_of_runs, share_of_runs
from dpcp_ledger.pcoqs import published_tables
from dpcp_ledger.reproduce import pcoqs_experiments
from dpcp_ledger.reproduce.simulation import Scored


@pytest.fixture(autouse=True)
def few_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few trials are enough to refute: what is shown does not hang on precision."""
    monkeypatch.setattr(published_tables, "TRIALS", 12)
    trials = published_tables.trials_of(12)
    monkeypatch.setattr(published_tables, "trials_of", lambda: trials)


def outcome(id_: str) -> Outcome:
    (row,) = [row for row in published_tables.paper.rows if row.claim.id == id_]
    return row.check(Context(seed=0, name=id_, significance=1e-6))


def test_ids_are_unique_and_private_models_stand_apart() -> None:
    rows = [*published_tables.paper.rows, *published_tables.models.rows]
    assert len({row.claim.id for row in rows}) == len(rows) == 10


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


def test_rank_errors_are_whole_numbers_and_distances_are_what_is_printed() -> None:
    found = outcome("pcoqs.table-15[unit=ranks]")
    assert found.evidence.value > 1
    assert found.evidence.claimed == 0.0040


def test_privacy_at_the_same_budget_is_not_the_same() -> None:
    losses = outcome("pcoqs.tables[privacy=equal]").witness["delta"]
    assert losses["P-COQS"] == pytest.approx(0.0641, abs=1e-4)
    assert losses["HistLap"] > losses["P-COQS"] > losses["ExponQ"]
