"""Rows on the published training are listed without PyTorch, and say what they expect."""

from __future__ import annotations

from dpcp_audit.words.checks import Context
from dpcp_audit.words.results import Verdict
from dpcp_ledger.training.published_script import rows


def test_all_is_refuted_but_the_correction() -> None:
    expected = {row.claim.id: row.claim.expected for row in rows()}
    right = [name for name, verdict in expected.items() if verdict is not Verdict.REFUTED]
    assert right == ["dpskin.as-published[seed=fresh,clipping=examples,sees=steps]"]


def test_its_exact_budget_is_far_beyond_the_printed_one() -> None:
    budget = rows()[0]
    outcome = budget.check(Context(name=budget.claim.id, seed=0, significance=1e-3))
    assert outcome.verdict is Verdict.REFUTED
    assert "66 tensors that all move: 134" in outcome.note
