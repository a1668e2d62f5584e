"""Rows of estimates: one for each privacy claim, one for a target without."""

from __future__ import annotations

from dpcp_audit.target_checks.check_spec import CheckSpec
from dpcp_audit.target_checks.trace_rows import privacy_alone, rows_of_estimates
from dpcp_audit.targets import Kind, TargetSpec
from dpcp_audit.words.guarantees import Coverage, PureDP
from dpcp_audit.words.options import plain


def _spec(*guarantees) -> CheckSpec:  # noqa: ANN002
    target = TargetSpec(target="mine.py:f", kind=Kind.QUANTILE)
    return CheckSpec.of(target, guarantees, {}, spell=plain)


def test_each_privacy_claim_has_a_row() -> None:
    spec = privacy_alone(_spec(PureDP(1.0), PureDP(2.0), Coverage(at_least=0.9)))
    rows = rows_of_estimates([spec], paths=7)
    assert [row.check.guarantee for row in rows] == [PureDP(1.0), PureDP(2.0)]
    assert {row.check.paths for row in rows} == {7}


def test_a_target_without_a_claim_has_one_row_that_says_so() -> None:
    (row,) = rows_of_estimates([_spec()])
    assert row.claim.id == "mine.py:f[loss]"
    assert row.claim.source.section == "nothing is claimed"
