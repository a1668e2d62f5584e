"""An audit of a target that covers exactly as claimed refutes it as seldom as it says."""

from __future__ import annotations

import pytest
from support.calibrators import split
from support.samplers import context

from dpcp_audit.guarantees import Coverage
from dpcp_audit.results import Verdict
from dpcp_audit.targets.kinds import Kind
from dpcp_audit.theorems.coverage.coverage_audit import CoverageAudit
from dpcp_audit.theorems.coverage.trial_laws import LawCatalogue

pytestmark = pytest.mark.statistical
AUDITS, SIGNIFICANCE = 60, 0.05
MOST = 14
"""P(Binomial(60, 0.05) > 14) is below 1e-6."""


@pytest.mark.parametrize("ties", [True, False])
def test_a_true_claim_is_refuted_as_seldom_as_said(ties) -> None:
    """False alarm below 1e-6 each: nine scores cover 0.9 on average, as is claimed.

    Everything is searched, and an audit refutes with probability at most 0.05.
    """
    check = CoverageAudit(
        calibrate=split(),
        kind=Kind.QUANTILE,
        guarantee=Coverage(at_least=0.9),
        n=9,
        draws=500,
        laws=LawCatalogue(ties=ties, classifiers=False),
    )
    verdicts = [check(context(seed, significance=SIGNIFICANCE)).verdict for seed in range(AUDITS)]
    assert sum(verdict is Verdict.REFUTED for verdict in verdicts) <= MOST
