"""Privacy audits of foreign code: neighbours searched, certified on fresh samples, shrunk."""

from dpcp_audit.audits.blackbox.check import BlackBoxPrivacy, confirm
from dpcp_audit.audits.blackbox.other_pairs import RecordPairs, ValuePairs
from dpcp_audit.audits.blackbox.pairs import Candidate, FixedPairs, PairSpace
from dpcp_audit.audits.blackbox.score_pairs import ScorePairs

__all__ = [
    "BlackBoxPrivacy",
    "Candidate",
    "FixedPairs",
    "PairSpace",
    "RecordPairs",
    "ScorePairs",
    "ValuePairs",
    "confirm",
]
