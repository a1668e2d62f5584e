"""A check that plans its draws states its power by two names, one the inverse of the other."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from support.samplers import context, pair, response

from dpcp_audit.audits.blackbox import BlackBoxPrivacy
from dpcp_audit.audits.local import LocalPrivacy
from dpcp_audit.audits.release_membership import MembershipInference
from dpcp_audit.audits.search.score_pairs import ScorePairs
from dpcp_audit.mechanisms.randomized_response import KaryRandomizedResponse
from dpcp_audit.targets.kinds import Kind
from dpcp_audit.theorems.coverage_audit import CoverageAudit
from dpcp_audit.words.checks import Planned
from dpcp_audit.words.guarantees import Coverage, LocalDP, PureDP
from dpcp_audit.words.quantities import Bound

LEVEL = 1e-4
SIDES = {"sample": response(1.0), "neighbours": pair(0, 1)}


@dataclass(frozen=True, kw_only=True)
class Case:
    """A check, and the field that holds its budget."""

    check: Planned
    budget: str


CASES = [
    Case(check=MembershipInference(guarantee=PureDP(1.0), **SIDES), budget="n_samples"),  # type: ignore[arg-type]
    Case(
        check=BlackBoxPrivacy(
            sample=response(1.0), guarantee=PureDP(1.0), pairs=ScorePairs(sizes=(20,)), draws=40_000
        ),
        budget="draws",
    ),
    Case(
        check=LocalPrivacy(
            randomizer=KaryRandomizedResponse(1.0, 4).sample,
            guarantee=LocalDP(1.0),
            n_inputs=4,
            n_outputs=4,
        ),
        budget="n_samples",
    ),
    Case(
        check=CoverageAudit(
            calibrate=response(1.0), kind=Kind.QUANTILE, guarantee=Coverage(at_least=0.9), n=50
        ),
        budget="draws",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: type(case.check).__name__)
def test_the_draws_needed_for_the_smallest_violation_are_those_of_the_check(case: Case) -> None:
    assert isinstance(case.check, Planned)
    power = case.check.smallest_violation(context(0, significance=LEVEL))
    assert power.detection == 0.95
    worse = power.smallest < power.claimed
    assert worse == (power.bound is Bound.AT_LEAST)
    assert 1 < power.factor < 2
    needed = case.check.draws_needed(power.smallest, significance=LEVEL)
    assert needed == pytest.approx(getattr(case.check, case.budget), rel=0.05)
