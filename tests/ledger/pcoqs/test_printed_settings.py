"""The abstract of P-COQS against its tables, with the contradicting rows and without."""

from __future__ import annotations

import copy

import pytest

from dpcp_audit.words.results import Verdict
from dpcp_ledger.pcoqs import printed_settings
from dpcp_ledger.reproduce import pcoqs_experiments


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
