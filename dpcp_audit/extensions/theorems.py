"""Coverage theorems as objects, their checks, and the search for laws on which they fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcp_audit.theorems.catalogue import admissible_rounds as admissible_rounds
from dpcp_audit.theorems.catalogue import likely_crowd as likely_crowd
from dpcp_audit.theorems.catalogue import standing_of as standing_of
from dpcp_audit.theorems.catalogue import window_count_for as window_count_for
from dpcp_audit.theorems.coverage_audit import CoverageAudit as CoverageAudit
from dpcp_audit.theorems.law_space import PLAIN_LAWS as PLAIN_LAWS
from dpcp_audit.theorems.law_space import BoundedWindows as BoundedWindows
from dpcp_audit.theorems.law_space import LawSpace as LawSpace
from dpcp_audit.theorems.ldpcp import LabelTheorem as LabelTheorem
from dpcp_audit.theorems.ldpcp import ScoreTheorem as ScoreTheorem
from dpcp_audit.theorems.ldpcp import UniformEvent as UniformEvent
from dpcp_audit.theorems.pcoqs_coverage import CoverageReading as CoverageReading
from dpcp_audit.theorems.pcoqs_coverage import CoverageTheorem as CoverageTheorem
from dpcp_audit.theorems.pcoqs_coverage import NoiseBound as NoiseBound
from dpcp_audit.theorems.pcoqs_coverage import RankError as RankError
from dpcp_audit.theorems.pcoqs_coverage import noise_rank_error as noise_rank_error
from dpcp_audit.theorems.pcoqs_coverage import planted as planted
from dpcp_audit.theorems.pcoqs_coverage import with_errors as with_errors
from dpcp_audit.theorems.split import Calibrator as Calibrator
from dpcp_audit.theorems.split import MarginalCoverage as MarginalCoverage
from dpcp_audit.theorems.split import split_miscoverage as split_miscoverage
from dpcp_audit.theorems.split import split_overcoverage as split_overcoverage
from dpcp_audit.theorems.statement import Stated as Stated
from dpcp_audit.theorems.statement import Statement as Statement
from dpcp_audit.theorems.statement import Tightness as Tightness
from dpcp_audit.theorems.statement import claim_of as claim_of
from dpcp_audit.theorems.statement import failure_evidence as failure_evidence
from dpcp_audit.theorems.statement import tightness_of as tightness_of
from dpcp_audit.theorems.statement import with_tightness as with_tightness
from dpcp_audit.theorems.theorem import FailureRate as FailureRate
from dpcp_audit.theorems.theorem import MeanBound as MeanBound
from dpcp_audit.theorems.theorem import TheoremTrials as TheoremTrials
from dpcp_audit.theorems.theorem import outside as outside

if TYPE_CHECKING:
    from dpcp_audit.theorems.statement import Scalable as Scalable
