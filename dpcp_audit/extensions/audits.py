"""Audits of privacy claims: exact, sampled, local, of membership and of compositions."""

from __future__ import annotations

from dpcp_audit.audits.blackbox import BlackBoxPrivacy as BlackBoxPrivacy
from dpcp_audit.audits.certificates import power_of_twice as power_of_twice
from dpcp_audit.audits.exact import exact_outcome as exact_outcome
from dpcp_audit.audits.exact import law_figures as law_figures
from dpcp_audit.audits.local import LocalPrivacy as LocalPrivacy
from dpcp_audit.audits.loss_bracket import SIGNIFICANCE as SIGNIFICANCE
from dpcp_audit.audits.loss_bracket import Rate as Rate
from dpcp_audit.audits.loss_bracket import attack_loss as attack_loss
from dpcp_audit.audits.release_membership import AttackResult as AttackResult
from dpcp_audit.audits.release_membership import CellLikelihood as CellLikelihood
from dpcp_audit.audits.release_membership import MembershipInference as MembershipInference
from dpcp_audit.audits.release_membership import OperatingPoint as OperatingPoint
from dpcp_audit.audits.release_membership import roc_figure as roc_figure
from dpcp_audit.audits.search.event_search import bisected as bisected
from dpcp_audit.audits.search.pair_space import FixedPairs as FixedPairs
from dpcp_audit.audits.search.pair_space import Sampler as Sampler
from dpcp_audit.audits.search.score_pairs import ScorePairs as ScorePairs
from dpcp_audit.audits.traced_privacy import Scope as Scope
from dpcp_audit.audits.training.canary_audit import CanaryAudit as CanaryAudit
from dpcp_audit.audits.training.canary_games import GameResults as GameResults
