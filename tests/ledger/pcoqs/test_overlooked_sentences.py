"""The sentences beside the theorems: each verdict as expected, and the numbers behind some."""

from __future__ import annotations

import pytest

from dpcp_audit.words.results import Verdict
from dpcp_ledger.ldpcp import ldpcp_scores, table_rows
from dpcp_ledger.pcoqs import printed_settings


def test_the_numbers_of_the_tables() -> None:
    assert printed_settings.lower_errors_of_exponq().value == 2
    assert printed_settings.shortfall((2,), from_n=200, errors=3.0).value == pytest.approx(
        6.8, abs=0.05
    )
    assert table_rows.starred_short().value == pytest.approx(90 - 91.68)


def test_enough_rounds_cover() -> None:
    """A finer grid than ⌈ln(1/τ)⌉ needs is no violation: the search then ends in its window."""
    found = ldpcp_scores.natural_rounds(alpha=0.05, width=0.05, spacing=0.001)
    assert found.verdict is not Verdict.REFUTED
