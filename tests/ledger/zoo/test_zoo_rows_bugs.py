"""The zoo, run: every planted bug is caught by every check that is meant to see it.

No true claim is refuted but with probability 1e-6 in all. The effort is that of ``smoke``, and a
few paths where noise is followed: what a path loses is exact. ``-m study`` has the bugs that take
longest to sample, at the effort of the default profile, and ``dpcp-audit selftest`` runs it all.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from dpcp_audit.engine.run_settings import Profile, RunSettings
from dpcp_audit.engine.runner import check_row
from dpcp_audit.engine.suites import suite
from dpcp_audit.target_checks.target_rows import TargetTrace
from dpcp_audit.words.results import Verdict

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet

    from dpcp_audit.words.checks import Row

pytestmark = pytest.mark.known_bad

ROWS = [row for row in suite("zoo") if row.claim.expected is not None]
SIGNIFICANCE = 1e-6 / len(ROWS)
PATHS = 20
SEEDED = ("fixed-seed[check=black-box]", "seed-of-data[check=black-box]")
"""On few draws these return one value on every input, which is an error."""
SLOW = (
    *("laplace-noise-0.8", "laplace-noise-0.9", "gaussian-noise-0.8", "gaussian-noise-0.9"),
    *("laplace-for-gaussian", "one-draw", "ldpcp"),
)


def marked(row: Row) -> ParameterSet:
    name = row.claim.id.removeprefix("zoo.")
    traced = isinstance(row.check, TargetTrace)
    if traced:
        row = replace(row, check=replace(row.check, paths=PATHS))
    if row.check.sampled and not traced and name.startswith(SLOW):
        return pytest.param(row, Profile.CI, id=row.claim.id, marks=pytest.mark.study)
    profile = Profile.CI if name in SEEDED else Profile.SMOKE
    return pytest.param(row, profile, id=row.claim.id)


@pytest.mark.parametrize(("row", "profile"), [marked(row) for row in ROWS])
def test_false_claims_are_refuted_and_true_ones_are_not(row: Row, profile: Profile) -> None:
    false = row.claim.expected is Verdict.REFUTED
    finding = check_row(row, RunSettings(profile=profile), significance=SIGNIFICANCE)
    assert not finding.error
    assert (finding.verdict is Verdict.REFUTED) == false, finding
