"""Every computed row comes out as expected; what is proved holds strictly and names its case."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest import mock

import pytest
from support.samplers import context

from dpcp_audit.words.checks import Context
from dpcp_audit.words.evidence import Computed
from dpcp_audit.words.formatting import setting
from dpcp_audit.words.results import EvidenceKind, Outcome, Verdict
from dpcp_ledger.claims import papers_suite
from dpcp_ledger.pcoqs import published_tables

if TYPE_CHECKING:
    from dpcp_audit.words.checks import Row

ROWS = [row for row in papers_suite.rows() if isinstance(row.check, Computed)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.claim.id)
def test_a_computed_row_comes_out_as_expected(row: Row) -> None:
    asked = mock.Mock(side_effect=AssertionError)
    with (
        mock.patch.object(Context, "rng", asked),
        mock.patch.object(published_tables, "sample", asked),  # of the papers' simulations
    ):
        published_tables.trials_of.cache_clear()
        outcome: Outcome = row.check(context(0))
    expected = Verdict.PROVED if row.claim.vacuous else row.claim.expected  # the run: VACUOUS
    assert outcome.verdict is expected
    assert outcome.evidence.kind is not EvidenceKind.CERTIFIED
    assert outcome.evidence.n_samples is None
    assert outcome.evidence.confidence == 1
    assert not row.check.sampled
    if expected is Verdict.PROVED:
        assert outcome.proof is not None
        for premise in outcome.proof.premises:
            assert premise.holds
            assert premise.left[1] <= premise.right[0]
        assert outcome.evidence.claimed is not None
        assert outcome.evidence.upper <= outcome.evidence.claimed
        assert outcome.proof.parameters.items() <= row.claim.parameters.items()
        assert setting(row.claim.parameters) in row.claim.statement


def test_all_rows_that_are_expected_to_be_proved_are_computed() -> None:
    expected = {r.claim.id for r in papers_suite.rows() if r.claim.expected is Verdict.PROVED}
    computed = {row.claim.id for row in ROWS}
    assert expected <= computed
    assert len(expected) >= 28
