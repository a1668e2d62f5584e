"""Every theorem object states its theorem, and hands out its check."""

from __future__ import annotations

import pytest

from dpcp_audit.mechanisms.pcoqs.release import PCOQS
from dpcp_audit.papers.computations.pcoqs_rank import FixedRankError
from dpcp_audit.theorems.calibrator_coverage import MarginalCoverage
from dpcp_audit.theorems.ldpcp_coverage import LabelTheorem, ScoreTheorem
from dpcp_audit.theorems.ldpcp_uniform import UniformEvent
from dpcp_audit.theorems.pcoqs_coverage import CoverageTheorem, RankError
from dpcp_audit.theorems.statement import Stated
from dpcp_audit.theorems.theorem import FailureRate

THEOREMS = (
    CoverageTheorem,
    FixedRankError,
    LabelTheorem,
    MarginalCoverage,
    RankError,
    ScoreTheorem,
    UniformEvent,
)


@pytest.mark.parametrize("theorem", THEOREMS)
def test_a_theorem_states_itself(theorem: type[Stated]) -> None:
    about = theorem.about
    for text in (about.words, about.formula, about.assumptions, about.bound):
        assert text.strip()
    assert about.source.paper
    assert about.source.section


def test_no_theorem_is_left_out() -> None:
    names = {theorem.__name__ for theorem in Stated.__subclasses__()}
    assert names == {theorem.__name__ for theorem in THEOREMS}


def test_a_theorem_hands_out_its_check() -> None:
    theorem = RankError(mechanism=PCOQS(alpha=0.1, rho=0.5), n=100, beta=0.1)
    assert theorem.check(n_trials=200) == FailureRate(theorem=theorem, n_trials=200)
