"""Table 1's low rows, and that another rule or other rounds do not give them."""

from __future__ import annotations

import pytest

from dpcp_audit.mechanisms.local_scores import LDPCPScores, OnMiss
from dpcp_audit.words.results import Verdict
from dpcp_ledger.ldpcp import table_rows

CASES = [(name, score) for name in ("OrganCMNIST", "OrganSMNIST") for score in ("HPS", "APS")]


def test_means_and_spreads_come_out_within_half_a_point() -> None:
    found = table_rows.explained_rows(CASES, rounds=4, delta=0.05, within=0.005)
    assert found.verdict is Verdict.CONSISTENT
    jump = table_rows.best_jump("OrganSMNIST", "HPS", rounds=4, delta=0.05)
    assert jump.mean == pytest.approx(0.8481, abs=0.001)
    assert jump.spread == pytest.approx(0.0448, abs=0.001)


@pytest.mark.known_bad
def test_other_rounds_do_not_explain_them() -> None:
    found = table_rows.explained_rows(CASES, rounds=10, delta=0.1, within=0.005)
    assert found.verdict is Verdict.REFUTED


@pytest.mark.known_bad
def test_the_upper_end_would_have_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    def upper(**settings: object) -> LDPCPScores:
        return LDPCPScores(**settings, on_miss=OnMiss.UPPER_END)  # type: ignore[arg-type]

    monkeypatch.setattr(table_rows, "LDPCPScores", upper)
    for case in CASES:
        jump = table_rows.best_jump(*case, rounds=4, delta=0.05)
        assert jump.mean >= 0.9
        assert jump.gap > 0.05
